"""What an open journal keeps beside its log, and how it stands; `Engine` is made on top of it.

I1  Snapshots and views come from the log and can be made from it again; nothing here changes what
    is in it but by events that say so (`journal.checkpoint`, `journal.pruned`).
I2  Before a checkpoint's file is written, and before one is removed, the event that says so is on
    disk: a crash in between leaves what `rebuild` mends.
"""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from journal import codec
from journal.config import Config
from journal.engine import arguments
from journal.engine.appending import Appender
from journal.engine.core import Core
from journal.engine.drift import DriftKeeper
from journal.engine.looking import look_at_views
from journal.engine.publishing import Publisher
from journal.engine.rebuilding import Rebuilder
from journal.engine.reports import CheckpointInfo, Rebuilt, Status
from journal.engine.snapshotting import Snapshotter
from journal.engine.states import Live
from journal.engine.time_travel import TimeTravel
from journal.engine.viewing import Viewer
from journal.errors import Corrupt, JournalError, UsageError
from journal.event import CHECKPOINT, FORMAT, PRUNED, Event
from projections.projection import Projection
from snapshots import snapshot

Progress = Callable[[int, int], None]
"""(events done, events in all)."""


class Keeping(TimeTravel):
    """The snapshots, views and standing of one open journal."""

    def __init__(self, core: Core, messages: list[str], open_journal: Callable[..., Any]) -> None:
        """Put the parts together; used by `journal.engine.opening` only."""
        super().__init__(core, open_journal)
        self.messages = messages
        self.viewer = Viewer(core)
        self.appender = Appender(core, self.viewer)
        self.snapshotter = Snapshotter(core, self.appender)
        self.publisher = Publisher(core, self.viewer, self.snapshotter)
        self.drift = DriftKeeper(core, self.appender, self.viewer)

    # --- what it is ------------------------------------------------------------------------------

    @property
    def path(self) -> Path:
        """The journal's folder."""
        return self._core.path

    @property
    def config(self) -> Config:
        """What `journal.yaml` says."""
        return self._core.config

    @property
    def projection(self) -> Projection:
        """What the events mean."""
        return self._core.projection

    @property
    def read_only(self) -> bool:
        """Whether it was opened for reading only."""
        return not self._core.write

    @property
    def id(self) -> str:
        """The journal's id, 32 hexadecimal digits."""
        return self._core.reader.journal_id

    @property
    def time(self) -> str:
        """The time of the event at `seq`."""
        return self._core.history.tail.time

    @property
    def synced(self) -> int:
        """The last seq known to be on disk."""
        self._core.check_usable()
        known = self._core.read_witness().synced_seq
        return known if self.read_only else max(known, self._core.log.synced.seq)

    # --- snapshots -------------------------------------------------------------------------------

    def snapshot(self, type: str = "manual", trigger: str = "") -> CheckpointInfo:
        """Take a snapshot of the newest state and record it as an event (`journal.checkpoint`).

        `type`: 1 to 40 of a-z, 0-9 and `-`; `trigger`: any text, why it was taken. Once the event
        is recorded, a file that cannot be written is said, and told as `problem` of what is
        returned: `rebuild` writes it.
        """
        arguments.check(type=type, trigger=trigger)
        snapshot.check_type(type, asked_for=True)
        with self._core.appending():
            self.appender.catch_up()
            live = self._core.fresh()
            live = Live(live.state, live.seq, live.time, dict(live.unknown))
            data = self.snapshotter.encode(live, type, trigger)
            described = self.snapshotter.describe(live, type, trigger, data)
            self.appender.add_engine_event(CHECKPOINT, described)
            seq = self.seq
        self._core.log.sync(seq)
        problem = ""
        try:
            self.snapshotter.write(data)
        except (OSError, JournalError) as error:
            problem = f"its file could not be written: {error}"
            self._core.say(
                f"the checkpoint at event {live.seq} is recorded, but {problem}; "
                "`journal rebuild` writes it"
            )
        self.publisher.commit(seq)
        return CheckpointInfo(
            seq=live.seq,
            type=type,
            time=live.time,
            trigger=trigger,
            file=described["file"],
            size_bytes=len(data),
            problem=problem,
        )

    def snapshots(self) -> list[CheckpointInfo]:
        """Return every snapshot, those asked for and the engine's own (type `auto`), by seq."""
        self._core.check_usable()
        return [
            self._describe(entry.name, entry.seq, entry.type) for entry in self._core.store.list()
        ]

    def _describe(self, name: str, seq: int, kind: str) -> CheckpointInfo:
        path = self._core.store.folder / name
        problem, time, trigger, size = "", "", "", 0
        try:
            header = snapshot.read_header(path)
            time, trigger, size = header.timestamp, header.trigger, header.size_bytes
            wanted = (self.projection.name, self.projection.revision)
            if (header.projection, header.revision) != wanted:
                problem = "made by other code"
        except Corrupt as error:
            problem = error.why
        except OSError as error:
            problem = error.strerror or str(error)
        return CheckpointInfo(
            seq=seq,
            type=kind,
            time=time,
            trigger=trigger,
            file=name,
            size_bytes=size,
            problem=problem,
        )

    def prune(self, files: Sequence[str], *, reason: str = "") -> Event:
        """Delete asked-for checkpoints by file name; recorded first, so they stay away."""
        arguments.check(files=files, reason=reason)
        known = {entry.name for entry in self._core.store.list()}
        for name in files:
            if name not in known:
                raise UsageError(f"there is no checkpoint {name!r}", key="files")
        with self._core.appending():
            self.appender.catch_up()
            data = {"files": list(files), "reason": reason}
            event = self.appender.add_engine_event(PRUNED, data)
        self._core.log.sync(event.seq)
        self._core.store.remove(*files)
        self.publisher.commit(event.seq)
        return event

    # --- keeping ---------------------------------------------------------------------------------

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Fold the whole log from nothing; write views and asked-for checkpoints that differ.

        What is replaced is kept in quarantine. Reads no snapshot.
        """
        arguments.check(progress=progress)
        with self._core.appending():
            self.appender.catch_up()
            self._core.log.sync(self.seq)
            found = Rebuilder(self._core, self.viewer, self.snapshotter).run(progress)
            self.viewer.settle()
            return found

    def flush(self) -> None:
        """Put everything appended on disk and bring every view up to date."""
        self._core.check_usable()
        self.publisher.flush()

    def status(self) -> Status:
        """Return what the journal is and where it stands."""
        core = self._core
        core.check_usable()
        witness = core.read_witness()
        history = core.history
        state_bytes = 0
        views = look_at_views(core, self.viewer, self.drift)
        looked = self.glance()
        messages = [*self.messages, *looked.problems]
        with core.using():
            unfinished_bytes = core.reader.unfinished_bytes()
            with contextlib.suppress(Corrupt, UsageError):  # Said already: the messages name it.
                state_bytes = len(codec.encode_state(core.fresh().state))
        return Status(
            path=str(core.path),
            id=self.id,
            format=FORMAT,
            projection=core.config.projection,
            durability=core.config.durability,
            seq=self.seq,
            time=self.time,
            synced=self.synced,
            segments=len(history.names),
            log_bytes=history.bytes_after(0),
            state_bytes=state_bytes,
            snapshots=len(core.store.list()),
            views=views,
            unfinished_bytes=unfinished_bytes,
            unknown={} if core.live is None else dict(core.live.unknown),
            writer="" if witness.writer is None else str(witness.writer),
            messages=messages,
            healthy=not messages
            and all(view.status in ("healthy", "behind", "reformatted") for view in views),
            read_after=looked.read_after,
        )
