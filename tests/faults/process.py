"""A forked process that says lines to its parent, until it is done or killed.

I1  A line counts once it is whole: what a kill cut off was never said.
I2  The process never returns into its parent's program: it ends by itself, whatever it raises.
I3  Every process that was started is waited for; what it raised is told as `Violation`.

Forked, not started anew, because a thousand starts of an interpreter would take longer than a
thousand kills.
"""

import os
import select
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from tests.faults.row import Violation

Say = Callable[[str], None]
"""Says one line to the parent; returns when it has been handed to the kernel."""

_FAILED = b"!"
_PIECE_BYTES = 1 << 16


class Process:
    """A process at work on `work(say)`; leave it by `join` or by `kill`."""

    def __init__(self, work: Callable[[Say], None]) -> None:
        """Fork and start."""
        self._raw = b""
        self._ended = self._reaped = False
        self.fd, writing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self.fd)
            _work(work, writing)
        os.close(writing)
        self._poll = select.poll()
        self._poll.register(self.fd, select.POLLIN)

    @property
    def lines(self) -> list[str]:
        """The whole lines that were read so far (I1)."""
        return self._raw.decode().split("\n")[:-1]

    def read(self, timeout_s: float = 0.0) -> bool:
        """Take in what was said, waiting for the first byte; say whether there was any."""
        if self._ended or not self._poll.poll(timeout_s * 1000):
            return False
        piece = os.read(self.fd, _PIECE_BYTES)
        self._raw += piece
        self._ended = not piece
        return bool(piece)

    def read_until(self, count: int, timeout_s: float = 60.0) -> list[str]:
        """Wait until `count` lines were said, or the process ended; return all of them."""
        deadline = time.monotonic() + timeout_s
        while self._raw.count(b"\n") < count and not self._ended:
            if not self.read(0.5) and time.monotonic() > deadline:
                self.kill()
                raise Violation(f"{len(self.lines)} of {count} lines were said in {timeout_s:g} s")
        return self.lines

    def kill(self, *, may_have_failed: bool = False) -> list[str]:
        """Kill it as the kernel does when memory runs out; return what it had said."""
        if not self._reaped:
            os.kill(self.pid, signal.SIGKILL)
        self._reap()
        return self._drain(may_have_failed=may_have_failed)

    def join(self, timeout_s: float = 120.0) -> list[str]:
        """Wait until it ends by itself; return what it said."""
        deadline = time.monotonic() + timeout_s
        while not self._ended:
            if not self.read(0.5) and time.monotonic() > deadline:
                self.kill()
                raise Violation(
                    f"a process did not end in {timeout_s:g} s; it said {self.lines[-3:]}"
                )
        self._reap()
        return self._drain()

    def _reap(self) -> None:
        if not self._reaped:
            os.waitpid(self.pid, 0)
            self._reaped = True

    def _drain(self, *, may_have_failed: bool = False) -> list[str]:
        while not self._ended:
            self.read(1.0)
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        said = self.lines
        if said and said[-1].startswith(_FAILED.decode()):
            if may_have_failed:
                return said[:-1]
            raise Violation(f"a process failed:\n{said[-1][1:].replace(chr(0), chr(10))}")
        return said

    def __enter__(self) -> "Process":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._reaped:
            os.kill(self.pid, signal.SIGKILL)
            self._reap()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _work(work: Callable[[Say], None], writing: int) -> None:
    """Run in the child, and end there (I2)."""
    status = 1
    try:
        work(lambda line: _write_line(writing, line.encode()))
        status = 0
    except BaseException:  # noqa: BLE001 - it is told to the parent, which raises it (I3)
        with suppress(OSError):
            told = traceback.format_exc().strip().replace("\n", "\0")
            _write_line(writing, _FAILED + told.encode())
    finally:
        os._exit(status)


def _write_line(fd: int, line: bytes) -> None:
    rest = line + b"\n"
    while rest:
        rest = rest[os.write(fd, rest) :]
