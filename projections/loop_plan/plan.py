"""`LoopPlan`: one plan, as Python programs and the command line use it.

    with LoopPlan.init("Add offline caching to the feed screen") as plan:
        plan.enter_phase("1")
    with LoopPlan.open("add-offline-caching-to-the-feed-screen") as plan:
        plan.add("exploration", {"agents_dispatched": [...], "domains": [...], ...})
        plan.state["current_phase"]

I1  Every change is one append: all of its events or none. A rule that is broken raises
    `UsageError` and changes nothing on disk.
I2  A file that no journal keeps yet is taken over by its first change, and only if that change
    is allowed; until then it is read as it stands, in today's words.
I3  A damaged file of that kind is kept beside its place by the first change, byte for byte, and
    `init` is asked for. Looking at it touches nothing.
"""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

import journal
from journal import durable, regular
from journal.errors import Corrupt, JournalError, UsageError
from journal.event import Clock, Draft, Event, now_ms
from projections.loop_plan import resuming
from projections.loop_plan.events import Normalized, PlanStarted
from projections.loop_plan.guards import check_filled
from projections.loop_plan.old_file import BrokenField, OldFile, read_old_file
from projections.loop_plan.places import Place, folder_of, may_not_write, place_of
from projections.loop_plan.projection import NAME, PROJECTION
from projections.loop_plan.rehearsal import rehearse
from projections.loop_plan.slug import check_new_slug, make_slug
from projections.loop_plan.states import Json
from projections.loop_plan.verbs import Command, Verbs
from projections.patch import copy
from projections.typed_lines import event_type
from projections.view_kinds import render_json

Say = Callable[[str], None]


class LoopPlan(Verbs):
    """One plan; from `LoopPlan.init`, `LoopPlan.open` or `LoopPlan.look`."""

    def __init__(self, place: Place, *, on_message: Say | None, clock: Clock, actor: str) -> None:
        """Hold nothing yet; used by the class methods only."""
        self.place, self.actor = place, actor
        self._on_message = on_message
        self._clock = clock
        self._engine: journal.Engine | None = None
        self._read_only = False
        self._old: OldFile | None = None
        self._damage: Corrupt | None = None

    # --- coming to one ---------------------------------------------------------------------------

    @classmethod
    def init(
        cls,
        statement: str,
        *,
        slug: str = "",
        plans_dir: str | Path | None = None,
        actor: str = "",
        on_message: Say | None = None,
        clock: Clock = now_ms,
    ) -> "LoopPlan":
        """Begin a plan: phase 0, iteration 1.

        Without `slug` it is made from the statement. A damaged state file in its place is kept
        aside first. Raises `UsageError` where the plan is there already: resume it.
        """
        check_filled(statement, "statement")
        chosen = check_new_slug(slug) if slug else make_slug(statement)
        plan = cls(
            Place(folder_of(plans_dir), chosen), on_message=on_message, clock=clock, actor=actor
        )
        plan._begin(statement)
        return plan

    def _begin(self, statement: str) -> None:
        place = self.place
        event = PlanStarted(slug=place.slug, task_statement=statement, plan_path=place.plan_path)
        rehearse({}, [event])
        if place.has_journal:
            raise _already(place)
        if place.state_file.exists():
            try:
                read_old_file(place.state_file, place.slug)
            except BrokenField:
                raise
            except Corrupt as error:
                kept = self._set_damage_aside()
                self._say(f"{error.message}; the bytes are kept as {kept}")
            else:
                raise _already(place)
        draft = Draft(type=event_type(PlanStarted), data=event, actor=self.actor)
        self._engine = self._make(events=[draft])
        # An init that was cut off may have left a log, which is then completed, not begun anew.
        if self._engine.state.get("task_statement") != statement:
            self.close()
            raise _already(place)

    def _make(self, **options: Any) -> "journal.Engine":
        """Make the journal; raises `UsageError` where another process was faster."""
        place = self.place
        regular.check_folder(place.journal)
        try:
            return journal.init(
                place.journal,
                projection=NAME,
                view_files=place.view_files,
                on_message=self._on_message,
                clock=self._clock,
                **options,
            )
        except UsageError as error:
            if place.has_journal:
                raise _already(place) from error
            raise

    @classmethod
    def open(
        cls,
        slug: str,
        plans_dir: str | Path | None = None,
        *,
        actor: str = "",
        read_only: bool = False,
        on_message: Say | None = None,
        clock: Clock = now_ms,
    ) -> "LoopPlan":
        """Open a plan, whether a journal keeps it or a file of before only (I2).

        Raises `UsageError` where there is none, `BrokenField` where a field breaks a rule,
        `UnsupportedFormat` for a newer version, and what `journal.open` raises.
        """
        plan = cls(place_of(slug, plans_dir), on_message=on_message, clock=clock, actor=actor)
        plan._find(read_only=read_only)
        return plan

    @classmethod
    def look(cls, slug: str, plans_dir: str | Path | None = None, **options: Any) -> "LoopPlan":
        """Open a plan to look at it; what a crash or another hand did to its file is settled.

        Where nothing may be written it is opened read-only.
        """
        try:
            return cls.open(slug, plans_dir, **options)
        except OSError as error:
            if not may_not_write(error):
                raise
            return cls.open(slug, plans_dir, read_only=True, **options)

    def _find(self, *, read_only: bool) -> None:
        place = self.place
        self._read_only = read_only
        if place.has_journal:
            self._engine = self._open_journal(read_only=read_only)
            if not self._engine.state:
                self.close()
                raise JournalError(
                    f"{place.journal}: no plan was begun in this journal",
                    advice="Move it away, and begin the plan: `journal plan init STATEMENT`.",
                )
        elif place.state_file.exists():
            try:
                self._old = read_old_file(place.state_file, place.slug)
            except BrokenField:
                raise
            except Corrupt as error:
                self._damage = error
        else:
            raise UsageError(
                f"there is no plan {place.slug!r} in {place.folder}",
                key="slug",
                advice="`journal plan list` names those that are there; `journal plan init "
                "STATEMENT` begins one.",
            )

    def _open_journal(self, *, read_only: bool = False) -> "journal.Engine":
        regular.check_folder(self.place.journal)
        return journal.open(
            self.place.journal,
            read_only=read_only,
            projection=PROJECTION,
            on_message=self._on_message,
            clock=self._clock,
        )

    # --- looking ---------------------------------------------------------------------------------

    @property
    def engine(self) -> "journal.Engine | None":
        """The journal's engine; None until the plan is taken over."""
        return self._engine

    @property
    def state(self) -> Json:
        """A copy of the plan's state, in today's words. Raises `Corrupt` for a damaged file."""
        if self._engine is not None:
            found: Json = self._engine.state
            return found
        return dict(copy(self._unkept().state))

    def _unkept(self) -> OldFile:
        if self._damage is not None:
            raise Corrupt(
                self._damage.why,
                path=self._damage.path,
                line=self._damage.line,
                offset=self._damage.offset,
                advice="Mend the file by hand; or begin anew: `journal plan init STATEMENT "
                f"--slug {self.place.slug}` keeps these bytes beside it.",
            )
        assert self._old is not None, "a plan is kept by a journal, old, or damaged"
        return self._old

    def announce(self) -> str:
        """Say where the plan stands and what was last chosen, as before taking it up again."""
        return resuming.announce(self.state)

    def missing_text(self) -> str:
        """Return the path of the plan's text where no file is there, else an empty text."""
        named = self.state.get("plan_path", self.place.plan_path)
        return "" if self.place.find_text(named).is_file() else str(named)

    # --- changing: the other verbs are those of `Verbs` ----------------------------------------

    def resume(self, choice: str) -> list[Event]:
        """Take the plan up again; see `resuming.resume`. `fresh` first keeps the state beside."""
        if choice != "fresh":
            return self._run(resuming.resume, choice)
        data = None if self._old is None else self._old.data

        def start_afresh(state: Json) -> list[msgspec.Struct]:
            kept = self.place.keep_aside("bak", data or self._file_or(state), self._clock())
            return resuming.resume(state, "fresh", backup=kept.name)

        return self._taken_over().execute(start_afresh, actor=self.actor)

    def _file_or(self, state: Json) -> bytes:
        try:
            return regular.read_file(self.place.state_file)
        except FileNotFoundError:
            return render_json(state)

    def _run(self, command: Command, *args: Any) -> list[Event]:
        if self._engine is None and self._damage is None:
            state = self.state
            # Whatever refuses refuses here, before anything is on disk (I1, I2).
            rehearse(state, command(state, *args))
        return self._taken_over().execute(command, *args, actor=self.actor)

    # --- taking over -----------------------------------------------------------------------------

    def _taken_over(self) -> "journal.Engine":
        """Return the engine of the plan, which is taken over where no journal keeps it yet."""
        if self._read_only:
            raise JournalError(
                f"{self.place.state_file}: opened read-only",
                advice="Open it without read_only to change it.",
            )
        if self._engine is not None:
            return self._engine
        if self._damage is not None:
            kept = self._set_damage_aside()
            raise Corrupt(
                f"{self._damage.why}; the bytes are kept as {kept}",
                path=self._damage.path,
                line=self._damage.line,
                offset=self._damage.offset,
                advice="The plan has no state any more. Begin anew: `journal plan init STATEMENT "
                f"--slug {self.place.slug}`; or mend the kept file and put it back.",
            )
        old = self._unkept()
        events = [Normalized(changes=old.changes)] if old.changes else []
        name = self.place.state_file.name
        try:
            self._engine = self._make(
                take_over=journal.TakeOver(
                    path=name,
                    sha256=old.sha256,
                    state=old.found,
                    modified=old.modified,
                    events=events,
                )
            )
        except UsageError:
            if not self.place.has_journal:
                raise
            self._engine = self._open_journal()  # another process took it over just now
        self._old = None
        return self._engine

    def _set_damage_aside(self) -> Path:
        """Keep the bytes of a damaged file beside it and free its place (I3).

        A crash in between is safe: then both are there, and the next one does it again.
        """
        path = self.place.state_file
        kept = self.place.keep_aside("corrupt", regular.read_file(path), self._clock())
        durable.remove(path)
        return kept

    def _say(self, text: str) -> None:
        if self._on_message is not None:
            self._on_message(text)

    # --- leaving ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Bring everything to disk and close; safe to call again."""
        if self._engine is not None:
            self._engine.close()

    def __enter__(self) -> "LoopPlan":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _already(place: Place) -> UsageError:
    return UsageError(
        f"there is a plan {place.slug!r} in {place.folder} already",
        key="slug",
        advice=f"Take it up again: `journal plan resume {place.slug}`; or give the new one another "
        "name with --slug.",
    )
