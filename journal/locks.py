"""Locks between processes: the kernel's own, which vanish with the process that holds them.

I1  A lock is on a folder or file that is never deleted.
I2  Ctrl-C never finds a lock half taken or half given back.

Threads of one process are told apart by `journal.engine.hold`, not here.
"""

import contextlib
import errno
import functools
import os
import random
import time
from collections.abc import Callable, Iterator
from types import TracebackType

from journal import regular
from journal.errors import Locked

try:
    import fcntl
except ImportError:  # Windows: reading works, a lock cannot be had (see `FolderLock`).
    fcntl = None  # type: ignore[assignment]

_PRIVATE_FILE = 0o600


class FolderLock:
    """The kernel's exclusive `flock` on a folder (I1): across processes, not between threads.

    `release` gives it back, and does nothing where it is not held. It is a call into C and no
    function of ours: Ctrl-C comes before it or after it, and never finds it half done.
    """

    release: Callable[[], None]

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the folder; raises `OSError` where locks are not supported."""
        self.path = os.fspath(path)
        if fcntl is None:
            raise OSError(
                errno.ENOSYS, "this system has no flock; open the journal read-only", self.path
            )
        self._fd = self._open()
        self.release = functools.partial(fcntl.flock, self._fd, fcntl.LOCK_UN)

    def _open(self) -> int:
        return os.open(self.path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | os.O_CLOEXEC)

    def acquire(self, timeout_s: float) -> None:
        """Take the lock; raises `Locked` after `timeout_s` seconds.

        Asking again after short random waits keeps many writers fair; a waiting call that the
        kernel queues could not be given up.
        """
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._refuse_unless_busy(error)
        else:
            return
        deadline = time.monotonic() + timeout_s
        wait_s = 0.00005
        while not self.try_acquire():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise Locked(
                    f"{self.path}: locked by another process for {timeout_s:g} s",
                    path=self.path,
                    timeout_s=timeout_s,
                    advice="Wait for it, or give a longer lock timeout.",
                )
            time.sleep(min(wait_s * random.uniform(0.5, 1.5), left_s))
            wait_s = min(wait_s * 1.5, 0.002)

    def try_acquire(self) -> bool:
        """Take the lock if it is free; say whether it was."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._refuse_unless_busy(error)
            return False
        return True

    def _refuse_unless_busy(self, error: OSError) -> None:
        if not isinstance(error, BlockingIOError):
            raise OSError(
                error.errno,
                f"locks are not supported here ({error.strerror}); a journal that is written "
                "needs a local file system",
                self.path,
            ) from error

    @contextlib.contextmanager
    def held(self, timeout_s: float) -> Iterator[None]:
        """Hold the lock for a block."""
        try:
            self.acquire(timeout_s)
            yield
            self.release()
        except BaseException:
            with contextlib.suppress(OSError):  # Where locks fail, this fails, and hides why.
                self.release()
            raise

    def close(self) -> None:
        """Close the descriptor; safe to call again."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            self.release = _do_nothing
            try:
                os.close(fd)
            except OSError:
                self._fd = fd  # It may be tried again.
                raise

    def __enter__(self) -> "FolderLock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _do_nothing() -> None:
    """Stand for the calls on a descriptor that is closed: its number may be another file's."""


class FileLock(FolderLock):
    """The same on an empty file, which is made where it is missing and never removed.

    For a name that several journals share: what it guards has no folder of its own.
    """

    def _open(self) -> int:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | regular.SAFE, _PRIVATE_FILE)
        try:
            regular.check(os.fstat(fd), self.path, write=False)
            if os.fstat(fd).st_mode & _PRIVATE_FILE != _PRIVATE_FILE:  # cut by the umask
                with contextlib.suppress(PermissionError):  # another user's, and open all the same
                    os.fchmod(fd, _PRIVATE_FILE)
        except BaseException:
            os.close(fd)
            raise
        return fd
