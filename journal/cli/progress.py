"""A bar for long work, on stderr and on a terminal only.

I1  Work of under half a second shows none; what was drawn is wiped away before anything is said.
"""

import sys
import time
from types import TracebackType

from journal.cli import output

_FIRST_AFTER_S = 0.5
_EVERY_S = 0.1
_WIDTH = 30
_WIPE = "\r\x1b[K"


class Bar:
    """Call it with (done, total); a total of None is one that is not known."""

    def __init__(self, what: str) -> None:
        """Name the work, in a word or two."""
        self._what = what
        self._on = output.is_terminal(sys.stderr)
        self._next_s = time.monotonic() + _FIRST_AFTER_S
        self._drawn = False

    def __call__(self, done: int, total: int | None) -> None:
        """Draw how far the work is, unless it was drawn a moment ago."""
        if not self._on or time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + _EVERY_S
        self._drawn = True
        sys.stderr.write(f"{_WIPE}{self._what} {_draw(done, total)}")
        sys.stderr.flush()

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._drawn:
            sys.stderr.write(_WIPE)
            sys.stderr.flush()


def _draw(done: int, total: int | None) -> str:
    if not total:
        return f"{done:,}"
    part = min(done / total, 1.0)
    full = int(part * _WIDTH)
    return f"[{'#' * full}{'.' * (_WIDTH - full)}] {part:4.0%}  {done:,} of {total:,}"
