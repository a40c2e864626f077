"""System calls that go wrong on purpose: every call below one folder is counted, chosen ones fail.

I1  A call is every use of a function of `os` (and `fcntl.flock`) that reaches the kernel with a
    path below the folder, or a descriptor of a file there. Others pass through uncounted.
I2  A run without faults numbers its calls; a run of the same work with a fault at one of these
    numbers meets the same call there, for up to it nothing is different.
I3  A call that fails has done nothing; one that is shortened has done a part of it.

In this process only, which is why it is fast; `shim.c` does the same to a process from outside.
"""

import errno
import fcntl
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple

SHORT = -1
"""Instead of an errno: a write of half the bytes, which says so."""
KILLED = -2
"""Instead of an errno: the process is killed before the call."""
KILLED_HALFWAY = -3
"""Instead of an errno: the process is killed after a write of half the bytes."""

ERRNOS: Mapping[str, tuple[int, ...]] = {
    "open": (errno.EACCES, errno.EIO, errno.ENOSPC, errno.EROFS, errno.EMFILE),
    "pread": (errno.EIO,),
    "pwrite": (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, SHORT),
    "write": (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, SHORT),
    "fsync": (errno.EIO, errno.ENOSPC),
    "fdatasync": (errno.EIO, errno.ENOSPC),
    "ftruncate": (errno.EACCES, errno.EIO, errno.EROFS),
    "replace": (errno.EACCES, errno.EIO, errno.ENOSPC, errno.EROFS),
    "link": (errno.EACCES, errno.EIO, errno.ENOSPC, errno.EROFS),
    "unlink": (errno.EACCES, errno.EIO, errno.EROFS),
    "mkdir": (errno.EACCES, errno.EIO, errno.ENOSPC, errno.EROFS),
    "listdir": (errno.EACCES, errno.EIO),
    "stat": (errno.EACCES, errno.EIO),
    "lstat": (errno.EACCES, errno.EIO),
    "fstat": (errno.EIO,),
    "readlink": (errno.EACCES, errno.EIO),
    "fchmod": (errno.EIO, errno.EROFS),
    "fchown": (errno.EPERM, errno.EIO),
    "flock": (errno.EIO, errno.ENOLCK),
}
"""What each call can answer, for as far as a journal meets it."""

_WRITES = ("pwrite", "write")
_TEMPORARY = re.compile(r"\.([^/]+)\.[0-9a-f]{16}\.journal-tmp$")


class Call(NamedTuple):
    """One call: its name, and the path relative to the folder that is watched.

    A file under a temporary name is called `NAME (new)`, for that name is another one each time.
    """

    name: str
    path: str


class FaultPoint:
    """Watches the calls below a folder for a `with` block."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        faults: Mapping[int, int] | None = None,
        *,
        each: Callable[[Call], int] | None = None,
    ) -> None:
        """Watch `root`; a fault is an errno, or SHORT and the like.

        `faults` gives some by the number of a call, from 1; `each` says it of any call, 0 for none.
        """
        self.calls: list[Call] = []
        self.hit: list[Call] = []
        self._root = os.path.realpath(root)
        self._faults = dict(faults or {})
        self._each = each
        self._real: dict[str, Callable[..., Any]] = {}
        self._paused = False

    def __enter__(self) -> "FaultPoint":
        for name in ERRNOS:
            module = fcntl if name == "flock" else os
            self._real[name] = getattr(module, name)
            setattr(module, name, self._watched(name, self._real[name]))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, real in self._real.items():
            setattr(fcntl if name == "flock" else os, name, real)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Neither count nor fail for a block: the tester at work, not the engine."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            path = (
                None if self._paused or _always_works(name, arguments) else self._path(arguments[0])
            )
            if path is None:
                return real(*arguments, **options)
            self.calls.append(Call(name, path))
            fault = self._faults.get(len(self.calls), 0)
            if self._each is not None:
                fault = self._each(self.calls[-1])
            if not fault:
                return real(*arguments, **options)
            self.hit.append(self.calls[-1])
            return self._fail(name, real, arguments, options, fault)

        return call

    def _fail(
        self,
        name: str,
        real: Callable[..., Any],
        arguments: tuple[Any, ...],
        options: dict[str, Any],
        fault: int,
    ) -> Any:
        if fault > 0:
            raise OSError(fault, f"{os.strerror(fault)} (on purpose, {name})", self.calls[-1].path)
        done = None
        if fault != KILLED and name in _WRITES:
            half = memoryview(arguments[1])[: len(arguments[1]) // 2]
            done = real(arguments[0], half, *arguments[2:])
        elif fault == SHORT:
            raise ValueError(f"{name} cannot be short")
        if fault != SHORT:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    def _path(self, named: Any) -> str | None:
        """Return where below the folder a path or a descriptor leads, None if it is elsewhere."""
        if isinstance(named, int):
            try:
                path = self._real["readlink"](f"/proc/self/fd/{named}")
            except OSError:
                return None
        else:
            path = os.path.abspath(os.fspath(named))
        if path == self._root:
            return "."
        if not isinstance(path, str) or not path.startswith(self._root + os.sep):
            return None
        return _TEMPORARY.sub(r"\1 (new)", path[len(self._root) + 1 :])


def _always_works(name: str, arguments: tuple[Any, ...]) -> bool:
    """Say whether the kernel never refuses this: to let go of a lock, on a local file system."""
    return not arguments or (name == "flock" and arguments[1] == fcntl.LOCK_UN)
