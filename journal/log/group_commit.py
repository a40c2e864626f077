"""One sync at a time, shared by all who wait for it.

I1  `synced` only grows, and only after a sync that returned success.
I2  One sync is in flight at a time: the kernel tells a lost write to one caller of a descriptor
    only, and a second call would return success over lost bytes.
I3  After one failure nothing is synced again (`dead`): a later success would prove nothing. So it
    is where Ctrl-C comes between the failure and our word of it: what is known by its context.
I4  The place of the one who syncs is taken by putting a token there, in one step, and given up by
    whoever finds that token his: Ctrl-C between any two steps leaves it free.

Who comes while another one syncs waits for that sync to end. Those whose events it covered go on;
of the others one syncs for all of them.
"""

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from journal.durable import SyncFailed, is_of_a_sync
from journal.errors import JournalError
from journal.witness import Synced

_Result = TypeVar("_Result")

_LOOK_AGAIN_S = 0.05
"""How long a waiter sleeps at most: who was to wake it may have been stopped by Ctrl-C."""

_ANY_SEQ = 2**64


class GroupCommit:
    """The gate through which every sync of one log goes."""

    def __init__(self, path: Path, run: Callable[[], Synced]) -> None:
        """`run` syncs what is written by now and says up to where; `path` is for messages."""
        self.synced = Synced(0, "", 0)
        self.dead: BaseException | None = None
        self._path = path
        self._run = run
        self._place: dict[None, object] = {}
        self._waiting: deque[tuple[int, threading.Lock]] = deque()

    def wait_for(self, seq: int) -> None:
        """Return once everything up to `seq` is synced.

        Raises `OSError` to the caller whose sync failed, `JournalError` to all others.
        """
        while self.synced.seq < seq:
            self.refuse_if_dead()
            if not self._sync():
                self._wait(seq)

    def _sync(self) -> bool:
        """Sync for all who wait; False where another one is at it."""
        token = object()
        try:
            return self._sync_at(token)
        except BaseException as error:
            self._end(
                token, error, OSError
            )  # once more: Ctrl-C may have come while an error was handled
            raise

    def _sync_at(self, token: object) -> bool:
        try:
            if self._place.setdefault(None, token) is not token:
                return False
            self.note(self._run())
            self._give_up(token)
        except BaseException as error:
            self._end(token, error, OSError)
            raise
        return True

    def _end(
        self, token: object, error: BaseException, failure: type[OSError] = SyncFailed
    ) -> None:
        """Give up one's place after an error; the log is dead if a sync has failed (I3)."""
        if isinstance(error, failure) or is_of_a_sync(error):
            self.dead = error
        self._give_up(token)

    def _wait(self, seq: int) -> None:
        """Sleep until a sync that covers `seq` is done, or one is needed and nobody is at it."""
        bell = threading.Lock()
        bell.acquire()
        self._waiting.append((seq, bell))
        # Looked at once more: the one at it may have looked for sleepers just before.
        if self._place and self.synced.seq < seq:
            bell.acquire(timeout=_LOOK_AGAIN_S)

    def _give_up(self, token: object) -> None:
        """Leave the place, if it is one's own, and wake who can go on, and one to sync next."""
        if self._place.get(None) is token:
            del self._place[None]
        reached = self.synced.seq if self.dead is None else _ANY_SEQ
        next_one_woken = False
        for _ in range(len(self._waiting)):
            try:
                seq, bell = self._waiting.popleft()
            except IndexError:  # another one wakes them, too
                break
            if seq <= reached:
                bell.release()
            elif not next_one_woken:
                next_one_woken = True
                bell.release()
            else:
                self._waiting.append((seq, bell))

    def note(self, reached: Synced) -> None:
        """Take in that a sync of the caller's reached this place (I1)."""
        if reached.seq >= self.synced.seq:
            self.synced = reached

    def die(self, error: BaseException) -> None:
        """Let nothing be acknowledged any more (I3)."""
        self.dead = error

    def refuse_if_dead(self) -> None:
        """Raise `JournalError` after a failure."""
        if self.dead is not None:
            raise JournalError(
                f"{self._path}: a write or a sync failed before ({self.dead}); "
                "this engine appends nothing more",
                advice="Close it and open the journal again: opening checks what is on disk.",
            ) from self.dead

    def alone(self, work: Callable[[], _Result]) -> _Result:
        """Keep every sync out while `work` runs, which may sync and exchange the file itself.

        `SyncFailed` out of it leaves the log dead (I3); what else fails can be done again.
        """
        return self._keep_out(work, dead_too=False)

    def idle(self, work: Callable[[], _Result]) -> _Result:
        """Keep every sync out while `work` runs, dead or not."""
        return self._keep_out(work, dead_too=True)

    def _keep_out(self, work: Callable[[], _Result], *, dead_too: bool) -> _Result:
        token = object()
        try:
            return self._keep_out_at(token, work, dead_too=dead_too)
        except BaseException as error:
            self._end(token, error)  # once more, as in `_sync`
            raise

    def _keep_out_at(
        self, token: object, work: Callable[[], _Result], *, dead_too: bool
    ) -> _Result:
        try:
            while self._place.setdefault(None, token) is not token:
                self._wait(_ANY_SEQ)
            if not dead_too:
                self.refuse_if_dead()
            result = work()
            self._give_up(token)
        except BaseException as error:
            self._end(token, error)
            raise
        return result
