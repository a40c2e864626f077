"""One sync at a time, shared by all who wait for it.

I1  `synced` only grows, and only after a sync that returned success.
I2  One sync is in flight at a time: the kernel tells a lost write to one caller of a descriptor
    only, and a second call would return success over lost bytes.
I3  After one failure nothing is synced again (`dead`): a later success would prove nothing.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from journal.durable import SyncFailed
from journal.errors import JournalError
from journal.witness import Synced


class GroupCommit:
    """The gate through which every sync of one log goes."""

    def __init__(self, path: Path, run: Callable[[], Synced]) -> None:
        """`run` syncs what is written by now and says up to where; `path` is for messages."""
        self.synced = Synced(0, "", 0)
        self.dead: BaseException | None = None
        self._path = path
        self._run = run
        self._gate = threading.Condition()
        self._busy = False

    def wait_for(self, seq: int) -> None:
        """Return once everything up to `seq` is synced.

        Raises `OSError` to the caller whose sync failed, `JournalError` to all others.
        """
        if self.synced.seq >= seq:
            return
        with self._gate:
            while self.synced.seq < seq:
                self.refuse_if_dead()
                if self._busy:
                    self._gate.wait()
                else:
                    self._lead()

    def _lead(self) -> None:
        """Sync for all who wait, letting go of the gate meanwhile."""
        self._busy = True
        self._gate.release()
        reached: Synced | None = None
        try:
            reached = self._run()
        except OSError as error:
            self.dead = error
            raise
        finally:
            self._gate.acquire()
            self._busy = False
            if reached is not None:
                self.note(reached)
            self._gate.notify_all()

    def note(self, reached: Synced) -> None:
        """Take in that a sync of the caller's reached this place (I1)."""
        if reached.seq >= self.synced.seq:
            self.synced = reached

    def die(self, error: BaseException) -> None:
        """Let nothing be acknowledged any more (I3)."""
        self.dead = error
        with self._gate:
            self._gate.notify_all()

    def refuse_if_dead(self) -> None:
        """Raise `JournalError` after a failure."""
        if self.dead is not None:
            raise JournalError(
                f"{self._path}: a write or a sync failed before ({self.dead}); "
                "this engine appends nothing more",
                advice="Close it and open the journal again: opening checks what is on disk.",
            ) from self.dead

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep every sync out for a block, which may sync and exchange the file itself.

        `SyncFailed` out of the block leaves the log dead (I3); what else fails can be done again.
        """
        with self.idle():
            self.refuse_if_dead()
            try:
                yield
            except SyncFailed as error:
                self.dead = error
                raise

    @contextlib.contextmanager
    def idle(self) -> Iterator[None]:
        """Keep every sync out for a block, dead or not."""
        with self._gate:
            while self._busy:
                self._gate.wait()
            try:
                yield
            finally:
                self._gate.notify_all()
