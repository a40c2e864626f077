"""When the engine takes a snapshot, and how one that is asked for is recorded.

I1  A snapshot shows only what is on disk: the log is synced up to its seq first, in every mode.
I2  It is a function of the log, its type and its trigger: `timestamp` is the time of the event at
    `seq`. So those asked for, recorded as `journal.checkpoint`, come back with a rebuild.
I3  Those of the policy are only a cache: taken when the log has grown enough, thinned evenly.
"""

from typing import Any

from journal import codec
from journal.engine.appending import Appender
from journal.engine.core import Core
from journal.engine.states import Live
from journal.event import EARLIEST_TIME
from snapshots import policy, retention, snapshot
from snapshots.snapshot import AUTO


class Snapshotter:
    """Takes the snapshots of one open journal."""

    def __init__(self, core: Core, appender: Appender) -> None:
        """Take part in `core`."""
        self._core = core
        self._appender = appender
        self._newest_bytes = 0

    def note_newest(self) -> None:
        """Learn, at opening, how large the newest snapshot is and how much log came after it."""
        core = self._core
        seq = 0
        if (newest := core.store.last()) is not None:
            seq = newest.seq
            self._newest_bytes = (core.store.folder / newest.name).lstat().st_size
        self._appender.bytes_since_snapshot = core.history.bytes_after(seq)
        self._appender.has_caught_up = False

    def is_due(self) -> bool:
        """Say whether the log has grown enough for a snapshot by the policy (I3)."""
        grown = self._appender.bytes_since_snapshot
        if grown < self._core.config.snapshots.min_bytes:
            return False  # `policy.is_due` would say so, too; asked at every append.
        return policy.is_due(grown, self._newest_bytes, self._core.config.snapshots)

    def take(self) -> None:
        """Take a snapshot by the policy and thin the older ones (I3).

        Another process may have taken one meanwhile, and then it may not be due any more.
        """
        core, appender = self._core, self._appender
        with core.mutex:
            if appender.has_caught_up:
                self.note_newest()
            if not self.is_due():  # another thread, or process, has taken it
                return
            live = core.fresh()
            data, seq = self.encode(live, AUTO, ""), live.seq
            grown, appender.bytes_since_snapshot = appender.bytes_since_snapshot, 0
        try:
            core.log.sync(seq)
            with core.viewing():
                core.store.write(data, lasting=False)
                self._newest_bytes = len(data)
                thinned = retention.thin(core.store.seqs_of(AUTO), core.config.snapshots.keep)
                core.store.remove(*(snapshot.name_of(old, AUTO) for old in thinned))
        except BaseException:
            appender.bytes_since_snapshot += grown  # due again, at the next append
            raise

    def encode(self, live: Live, kind: str, trigger: str) -> bytes:
        """Make the snapshot of a state (I2)."""
        projection = self._core.projection
        return snapshot.encode(
            type=kind,
            timestamp=live.time or EARLIEST_TIME,
            trigger=trigger,
            seq=live.seq,
            projection=projection.name,
            revision=projection.revision,
            state_bytes=codec.encode_state(live.state),
            extra={"unknown": live.unknown} if live.unknown else None,
        )

    def describe(self, live: Live, kind: str, trigger: str, data: bytes) -> dict[str, Any]:
        """Return the data of the `journal.checkpoint` that records a snapshot."""
        return {
            "seq": live.seq,
            "type": kind,
            "trigger": trigger,
            "file": snapshot.name_of(live.seq, kind),
            "sha256": codec.sha256(data),
        }

    def write(self, data: bytes) -> None:
        """Write a snapshot of what is synced."""
        with self._core.viewing():
            self._write(data)

    def _write(self, data: bytes) -> None:
        self._core.store.write(data)
        self._appender.bytes_since_snapshot = 0
        self._newest_bytes = len(data)
