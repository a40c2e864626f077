"""A mutex and a lock between processes, held by one thread, and never kept by accident.

I1  Ctrl-C may come wherever Python lets a signal in: when a function of ours is entered, and when
    a call has returned. Whichever step of a holder it cuts off, the lock is free afterwards.
I2  What a thread has already it neither takes again nor gives back too early.

It says who waits for whom, and not what for: see `journal.engine.core`.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from journal.errors import Locked
from journal.locks import FolderLock

if TYPE_CHECKING:
    from journal.engine.core import Core


class Hold:
    """A mutex between threads and a lock between processes, to be held by one thread at a time.

    Ctrl-C may come between any two steps. `take` leaves nothing held when it raises, and `free`
    can be called as often as one likes, so who holds it writes

        try:
            try:
                hold.take()
                ...
            finally:
                hold.free()
        except BaseException:
            hold.free()
            raise

    and whichever step is cut off, one of the two sets it free. A `with` on an object of ours cannot
    do that: an `__exit__` that is stopped before its first step is not called again.
    """

    def __init__(self, core: "Core", mutex: "threading.RLock", lock: FolderLock) -> None:
        self._core = core
        self._mutex = mutex
        self._lock = lock
        self._has_mutex: Callable[[], bool] = mutex._is_owned  # type: ignore[attr-defined]
        self._is_held = False  # by the thread that has the mutex
        self._nested = False  # that thread had the mutex before (see `take`)

    def take(self, *, wait: bool = True) -> bool:
        """Hold it, raising `Locked` after the lock timeout; without `wait` say whether it does."""
        core = self._core
        if core.closed:
            core.check_usable()
        # What one has need not be taken again, and so not be given back either.
        nested = self._has_mutex()
        if nested and self._is_held:
            core.refuse_nested()
        try:
            if not nested and not self._mutex.acquire(False):
                if not wait:
                    return False
                self._wait_for_mutex()
            self._nested = nested
            self._is_held = True
            if core.closed:
                core.check_usable()
            if wait:
                self._lock.acquire(core.lock_timeout_s)
            elif not self._lock.try_acquire():
                self.free()
                return False
        except BaseException as error:
            with contextlib.suppress(OSError):  # Where locks fail, this fails, and hides why.
                self.free()
            if not nested and self._has_mutex():
                self._mutex.release()
            if isinstance(error, Locked):
                raise core.name_holder(error) from None
            raise
        return True

    def _wait_for_mutex(self) -> None:
        timeout_s = self._core.lock_timeout_s
        if not self._mutex.acquire(timeout=timeout_s):
            raise Locked(
                f"{self._lock.path}: another thread of this process holds it",
                path=self._lock.path,
                timeout_s=timeout_s,
            )

    def free(self) -> None:
        """Give back what this thread holds of it; nothing, if it holds nothing."""
        if self._is_held and self._has_mutex():
            try:
                self._lock.release()
            finally:
                # From here to the release nothing is called, so nothing comes in between.
                self._is_held = False
                if not self._nested:
                    self._mutex.release()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold it for a block. (Cut off at its very end, it is freed with this generator.)"""
        try:
            try:
                self.take()
                yield
            finally:
                self.free()
        except BaseException:
            self.free()
            raise
