"""`PipelineRun`: one run of a pipeline, as a Python program uses it.

    from projections.pipeline_state.run import PipelineRun

    with PipelineRun.init("review", pattern="1", phases=[{"name": "plan", "agent": "planner"}],
                          tier="claude", profile={}, plugin_version="2.1.0") as run:
        run.start(0)
        run.done(0, ["plan.md"])
        run.complete()

I1  A state file of another tool is read as it is; the first verb that changes something takes it
    over. A verb that is refused takes nothing over and leaves every byte as it was.
I2  A verb runs inside the journal's lock on the newest state: of verbs at the same time each is
    applied once, or refused with its reason.
I3  `init` and `resume` hold the start lock of the name, and look at the other runs under it.
"""

import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import msgspec

import journal
from journal import codec, durable, regular
from journal.errors import JournalError, UsageError
from journal.event import Clock, Event, now_ms
from projections.pipeline_state import commands, facts, places, resuming, standing, starting
from projections.pipeline_state.events import Normalized
from projections.pipeline_state.places import Place
from projections.pipeline_state.resuming import Wish

NAME = "pipeline_state"
Command = Callable[..., Sequence[msgspec.Struct]]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How the journal of a run is opened; see `journal.open`."""

    clock: Clock = now_ms
    lock_timeout_s: float = 10.0
    on_message: Callable[[str], None] | None = None

    def for_engine(self) -> dict[str, Any]:
        """Return them as the keywords of `journal.open` and `journal.init`."""
        return {
            "clock": self.clock,
            "lock_timeout_s": self.lock_timeout_s,
            "on_message": self.on_message,
        }


class PipelineRun:
    """One run, from `init` or `open`; a context manager."""

    def __init__(self, place: Place, options: Options) -> None:
        """Take up a run; used by `init` and `open`."""
        self.place = place
        self._options = options
        self._engine: journal.Engine | None = None
        self._found: standing.Found | None = None

    @classmethod
    def init(
        cls,
        name: str,
        *,
        pattern: str,
        phases: Any,
        tier: str,
        profile: Any,
        root: str | None = None,
        layout: str = "data",
        run_id: str | None = None,
        pipeline_id: str | None = None,
        plugin_version: str | None = None,
        manifest: str | None = None,
        actor: str = "",
        options: Options = Options(),  # noqa: B008 - frozen, and never changed
    ) -> "PipelineRun":
        """Begin a new run of the pipeline `name`.

        `phases`: objects with name and agent; `profile`: the platform profile of `tier`, an
        object; `root`: the scope root, by default `.superpipelines` here. Without `plugin_version`
        and `manifest` (a file) the version is read from the manifest that the profile names.
        Raises `UsageError` for what does not fit, and where a run of the name is live, crashed or
        unreadable; `Locked` where another start holds the name.
        """
        place, event = starting.prepare(
            name,
            pattern=pattern,
            phases=phases,
            tier=tier,
            profile=profile,
            root=root,
            layout=layout,
            run_id=run_id,
            pipeline_id=pipeline_id,
            plugin_version=plugin_version,
            manifest=manifest,
        )
        run = cls(place, options)
        starting.refuse_new(place, options.clock)
        durable.make_folder(place.lock.parent, mode=0o777)
        with starting.holding(place, options.lock_timeout_s):
            starting.refuse_new(place, options.clock)
            durable.make_folder(place.file.parent, mode=0o777)
            first = journal.Draft(type="run_initialized", data=event, actor=actor)
            run._engine = run._make_journal(events=[first])
        return run

    @classmethod
    def open(
        cls,
        run: str,
        *,
        root: str | None = None,
        options: Options = Options(),  # noqa: B008 - frozen, and never changed
    ) -> "PipelineRun":
        """Open a run by its file, its folder, or its id under `root`.

        An `init` that was cut off is completed; a file without a journal is only read. Raises
        `JournalError` where there is none, `Corrupt` for a file that cannot be read (it names the
        offset or the field), `Drift` for one that others changed in a way that is not adopted.
        """
        found = cls(places.find(run, root), options)
        place = found.place
        regular.check_folder(place.private)
        if place.is_taken_over:
            found._engine = journal.open(place.private, **options.for_engine())
        elif os.path.lexists(place.file):
            found._found = standing.read_file(place)
        else:
            found._engine = found._make_journal()
        if found._engine is not None:
            standing.refuse_unbegun(place, found._engine.state)
        return found

    # --- what it is ------------------------------------------------------------------------------

    @property
    def engine(self) -> "journal.Engine":
        """The journal of the run; raises `JournalError` where it has none yet."""
        if self._engine is None:
            raise JournalError(
                f"{self.place.file}: this run has no journal yet",
                advice="Its first change takes the file over.",
            )
        return self._engine

    @property
    def is_taken_over(self) -> bool:
        """Whether the run has a journal."""
        return self._engine is not None

    @property
    def state(self) -> Any:
        """A copy of the state, what `pipeline-state.json` holds."""
        if self._engine is not None:
            return self._engine.state
        return None if self._found is None else codec.copy_value(self._found.state)

    def facts(self) -> facts.Facts:
        """Return how old the run is, and whether its file was found damaged."""
        now = self._options.clock()
        if self._engine is None and self._found is not None:
            return facts.of_file(self._found.state, self._found.modified, now)
        return facts.of_engine(self.engine, now)

    # --- verbs -----------------------------------------------------------------------------------

    def start(self, index: int, *, actor: str = "") -> list[Event]:
        """Start a pending phase."""
        return self._execute(commands.start, index, actor=actor)

    def done(self, index: int, outputs: Sequence[str] = (), *, actor: str = "") -> list[Event]:
        """Finish a running phase, with the paths of what it made."""
        return self._execute(commands.done, index, outputs, actor=actor)

    def fail_phase(self, index: int, error: str, *, actor: str = "") -> list[Event]:
        """Fail a running phase."""
        return self._execute(commands.fail_phase, index, error, actor=actor)

    def retry_phase(self, index: int, *, actor: str = "") -> list[Event]:
        """Make a failed phase pending again."""
        return self._execute(commands.retry_phase, index, actor=actor)

    def beat(self, *, actor: str = "") -> list[Event]:
        """Say that the run is alive; changes no field."""
        return self._execute(commands.beat, actor=actor)

    def complete(self, *, actor: str = "") -> list[Event]:
        """Complete the run; every phase must be done."""
        return self._execute(commands.complete, actor=actor)

    def escalate(self, reason: str, *, actor: str = "") -> list[Event]:
        """Hand the run to a person."""
        return self._execute(commands.escalate, reason, actor=actor)

    def fail(self, reason: str, *, actor: str = "") -> list[Event]:
        """End the run as failed."""
        return self._execute(commands.fail, reason, actor=actor)

    def set_metadata(self, key: str, value: Any, *, actor: str = "") -> list[Event]:
        """Set a member of `metadata` that is not the schema's own."""
        return self._execute(commands.set_metadata, key, value, actor=actor)

    def record_models(self, models: Any, tiers_version: str, *, actor: str = "") -> list[Event]:
        """Record which model each step gets; `tiers_version` is an ISO date."""
        return self._execute(commands.record_models, models, tiers_version, actor=actor)

    def record_preferences(
        self, user: str | None = None, workspace: str | None = None, *, actor: str = ""
    ) -> list[Event]:
        """Record which preference files were consulted, with their hashes."""
        return self._execute(commands.record_preferences, user, workspace, actor=actor)

    def resume(
        self,
        *,
        choose: str | None = None,
        confirm: bool = False,
        tier: str | None = None,
        profile: Any = None,
        reason: str | None = None,
        actor: str = "",
    ) -> list[Event]:
        """Resume the run as the table of `resuming` says; return no event for a completed one.

        `choose`: resume, restart or abort, for a crashed run; `confirm`: a person's word;
        `tier` and its platform `profile`: the tier that runs now; `reason`: of an abort.
        """
        wish = Wish(choose, confirm, tier, profile, reason)

        def decide(state: Any) -> list[msgspec.Struct]:
            moved = places.say_moved(self.place, state)
            events = resuming.resume(state, self.facts(), wish, moved=moved)
            if events and choose != "abort":
                starting.refuse_live_others(self.place, self._options.clock)
            return events

        if self._engine is not None:
            self._engine.refresh()
        if not decide(self.state):
            return []
        with starting.holding(self.place, self._options.lock_timeout_s):
            return self._execute(decide, actor=actor)

    def take_over(self) -> bool:
        """Take a state file of another tool over now; say whether there was something to do."""
        if self._engine is not None:
            return False
        self._engine = self._take_over()
        return True

    # --- how -------------------------------------------------------------------------------------

    def _execute(self, command: Command, *args: Any, actor: str) -> list[Event]:
        if self._engine is None:
            # Asked first on the state as it is read, so that a refusal takes nothing over (I1).
            if not command(self.state, *args):
                return []
            self._engine = self._take_over()
        return self._engine.execute(command, *args, actor=actor)

    def _take_over(self) -> "journal.Engine":
        found = self._found
        if found is None:
            raise AssertionError("a run without a journal was opened without its file")
        take_over = journal.TakeOver(
            path=self.place.file.name,
            sha256=found.sha256,
            state=found.raw,
            modified=found.modified,
            events=[Normalized(found.changes)] if found.changes else [],
        )
        return self._make_journal(take_over=take_over)

    def _make_journal(self, **first: Any) -> "journal.Engine":
        """Make the journal, or complete one whose making was cut off."""
        regular.check_folder(self.place.private)
        try:
            return journal.init(
                self.place.private,
                projection=NAME,
                view_files={"state": f"../{self.place.file.name}"},
                **first,
                **self._options.for_engine(),
            )
        except UsageError:
            if not self.place.is_taken_over:
                raise
            # Another process finished it just now; what it did stands, and we go on from there.
            return journal.open(self.place.private, **self._options.for_engine())

    def close(self) -> None:
        """Close the journal; safe to call again."""
        if self._engine is not None:
            self._engine.close()

    def __enter__(self) -> "PipelineRun":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
