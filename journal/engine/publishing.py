"""After the commit point: syncing, and when the witness, the views and a snapshot are written.

I1  Nothing here can refuse an append any more, but a failed sync of its own: a view that cannot
    be written is said, and healed by the next write.
I2  With durability `always` a view or a snapshot never shows an event that is not on disk. Where
    other threads have moved the state past what is synced, the view is left to whoever commits
    the later event; one left so for 100 ms is written after a sync under the append lock.
I4  The witness may be older than what is synced: it then protects less, and never the wrong. It
    is written with every view; where views are coalesced, after a sync, a hundred times a second
    at most, so that an append which comes alone is noted at once. `flush` and `close` write it.
I3  No timers: coalesced views and `batch` syncs happen at the next append, `flush` or `close`.
"""

import contextlib
import time
from collections.abc import Iterator

from journal.engine.core import Core
from journal.engine.snapshotting import Snapshotter
from journal.engine.states import Live
from journal.engine.viewing import Content, Viewer
from journal.errors import JournalError

_OVERDUE_S = 0.1
_NOTE_S = 0.01
"""Where views are coalesced, the witness is written this often at most (I4)."""


class Publisher:
    """Decides when what others look at is brought up to date, for one open journal."""

    def __init__(self, core: Core, viewer: Viewer, snapshotter: Snapshotter) -> None:
        """Take part in `core`; nothing is written yet."""
        self._core = core
        self._viewer = viewer
        self._snapshotter = snapshotter
        self._views_at = self._synced_at = time.monotonic()
        self._noted_at = 0.0
        self._behind_since: float | None = None
        self.published_seq = 0

    def commit(self, seq: int) -> None:
        """Make everything up to `seq` as durable as the journal promises, then publish it."""
        config = self._core.config
        durability, every_ms = config.durability, config.views.every_ms
        now = time.monotonic() if durability == "batch" or every_ms else 0.0
        if durability == "always":
            self._core.log.sync(seq)
        elif durability == "batch" and (now - self._synced_at) * 1000 >= config.batch_ms:
            self._core.log.sync(seq)
            self._synced_at = now
        if not every_ms or (now - self._views_at) * 1000 >= every_ms:
            self.publish()
        elif durability == "always" and now - self._noted_at >= _NOTE_S:
            self._noted_at = now
            try:
                self._viewer.note_synced(wait=False)
            except (OSError, JournalError) as error:
                self._say_unwritten("the witness", error)
        if self._snapshotter.is_due():
            with self._saying("a snapshot"):
                self._snapshotter.take()

    def flush(self) -> None:
        """Sync the log and bring every view up to date."""
        core = self._core
        core.log.sync(core.history.tail.seq)
        self._synced_at = time.monotonic()
        self.publish()
        with self._saying("the witness"):
            self._viewer.note_synced()

    def publish(self) -> None:
        """Write every view as of the newest state, if that may be shown already (I2)."""
        try:
            content = self._content_due()
            if content is not None:
                self._views_at = time.monotonic()
                self._write(content)
        except (OSError, JournalError) as error:
            self._say_unwritten("a view", error)

    def publish_at_opening(self, content: Content) -> None:
        """Write every view, whose content was compared with what stands there."""
        with self._saying("a view"):
            self._write(content)
            self._viewer.settle()

    def _content_due(self) -> Content | None:
        """Return what the views are to show now; None if they do, or may not yet (I2)."""
        core = self._core
        with core.mutex:
            live = core.fresh()
            if live.seq == self.published_seq:
                return None
            if not self._may_show(live):
                if not self._overdue():
                    return None
                with core.appending():
                    core.log.sync(live.seq)
            self._behind_since = None
            return self._viewer.content(live)

    def _write(self, content: Content) -> None:
        hold = self._core.view_hold
        try:
            try:
                hold.take()
                whole = self._viewer.write(content)
            finally:
                hold.free()
        except BaseException:
            hold.free()
            raise
        if whole:
            self.published_seq = max(self.published_seq, content.seq)

    def _may_show(self, live: Live) -> bool:
        return self._core.config.durability != "always" or live.seq <= self._core.log.synced.seq

    def _overdue(self) -> bool:
        now = time.monotonic()
        self._behind_since = self._behind_since or now
        return now - self._behind_since >= _OVERDUE_S

    @contextlib.contextmanager
    def _saying(self, what: str) -> Iterator[None]:
        """Turn what goes wrong into a message (I1)."""
        try:
            yield
        except (OSError, JournalError) as error:
            self._say_unwritten(what, error)

    def _say_unwritten(self, what: str, error: OSError | JournalError) -> None:
        self._core.say(f"{what} could not be written and waits for the next append: {error}")
