"""How the journal of a loop comes into being, and how it is opened.

I1  A folder that other tools have written becomes a journal in one append: the file as it was,
    then how it is read. Two who take it over at once make one journal.
I2  A `state.json` that is written again while it is taken over is no recovery from the journal.
I3  Of many that make the journal of one folder at once, one knows that it made it (`Opening.made`).
"""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import journal
from journal import regular
from journal.config import FILE_NAME
from journal.errors import Drift, JournalError, UsageError
from journal.event import Clock, Draft, now_ms
from projections.agloop import takeover
from projections.agloop.projection import LOG_VIEW, PROJECTION, STATE_VIEW, note_rebuild
from projections.agloop.schema import AGENT
from projections.projection import Projection
from projections.typed_lines import event_type

if TYPE_CHECKING:
    from journal import Engine

Say = Callable[[str], None]

JOURNAL_FOLDER = "journal"
_VIEW_FILES = {STATE_VIEW: "../state.json", LOG_VIEW: "../log.json"}


class Watch:
    """The projection of one opened loop, which notices when `state.json` is written again."""

    def __init__(self) -> None:
        self.rebuilt = 0
        self.is_quiet = False
        self.projection: Projection = copy.copy(PROJECTION)
        self.projection.note_rebuild = self._note

    def _note(self, why: str, data: bytes) -> tuple[str, Any] | None:
        if self.is_quiet:
            return None
        self.rebuilt += 1
        return note_rebuild(why, data)


class Opening(msgspec.Struct, kw_only=True):
    """How a loop is opened: as the options of `AgLoop.open` say.

    `made`: the journal was made, or its making completed, by this one (I3).
    """

    folder: Path
    watch: Watch
    lock_timeout_s: float = 10.0
    on_message: Say | None = None
    clock: Clock = now_ms
    made: bool = False

    @property
    def path(self) -> Path:
        """The journal's folder."""
        return self.folder / JOURNAL_FOLDER

    @property
    def has_journal(self) -> bool:
        """Whether there is a journal, and a finished one."""
        return (self.path / FILE_NAME).exists()

    @property
    def has_log(self) -> bool:
        """Whether there is a log: a journal, be it one that is not finished."""
        folder = self.path / "log"
        return folder.is_dir() and any(folder.glob("*.jsonl"))

    def open(self, *, read_only: bool = False, on_drift: str = "refuse") -> "Engine":
        """Open the journal that is there; see `journal.open`."""
        regular.check_folder(self.path)
        return journal.open(
            self.path,
            projection=self.watch.projection,
            read_only=read_only,
            on_drift=on_drift,
            lock_timeout_s=self.lock_timeout_s,
            on_message=self.on_message,
            clock=self.clock,
        )

    def make(
        self,
        taken: "journal.TakeOver | None" = None,
        *,
        events: Sequence[msgspec.Struct] = (),
        agent: str = AGENT,
    ) -> "Engine":
        """Make a journal, or complete one whose making was cut off, and open it (I1).

        `events` are the first, in the write that makes it.
        """
        regular.check_folder(self.path)
        try:
            engine = journal.init(
                self.path,
                projection=self.watch.projection,
                view_files=_VIEW_FILES,
                take_over=taken or False,
                events=[draft(event, actor=agent or AGENT) for event in events],
                lock_timeout_s=self.lock_timeout_s,
                on_message=self.on_message,
                clock=self.clock,
            )
        except UsageError:
            if not self.has_journal:
                raise
            return self.open()  # another process was quicker
        self.made = True
        return engine

    def take_over(self) -> tuple["Engine", takeover.Found]:
        """Make a journal of what other tools wrote (I1, I2)."""
        found = takeover.find(self.folder)
        taken = None
        if found.path is not None:
            taken = journal.TakeOver(
                path=found.path,
                sha256=found.sha256,
                state=found.state,
                modified=found.modified,
                events=[draft(event) for event in found.further],
            )
        self.watch.is_quiet = True
        try:
            return self.make(taken), found
        finally:
            self.watch.is_quiet = False

    def refuse_missing(self) -> JournalError:
        """Return the error for a folder without a loop."""
        return JournalError(
            f"{self.folder}: there is no loop here",
            advice="`journal agloop init` begins one, or takes over what is there.",
        )

    def explain(self, drift: Drift) -> Drift:
        """Return the error for a `state.json` that cannot be adopted, with this system's ways out.

        One that can be is adopted at opening, so it is never met here.
        """
        return Drift(
            drift.why,
            path=drift.path,
            pointer=drift.pointer,
            adoptable=drift.adoptable,
            advice="Nothing was changed. Mend the file by hand, and the next command adopts it; or "
            f"`journal agloop recover --dir {self.folder}` puts it back as the log has it (the "
            "bytes that stand there are kept in quarantine).",
        )

    def refuse_present(self) -> UsageError:
        """Return the error for a folder that has a loop where one is to begin."""
        return UsageError(
            f"{self.folder}: there is a loop here already",
            key="folder",
            advice="Go on with it (`journal agloop status`), or begin anew: "
            "`journal agloop reset`.",
        )


def draft(event: msgspec.Struct, time: str = "", *, actor: str = "") -> Draft:
    """Return an event to append; `time` as the log writes it, empty for the clock's."""
    return Draft(type=event_type(type(event)), data=event, time=time, actor=actor)
