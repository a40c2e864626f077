"""How large the state may have become since it was last measured, told without looking at it.

I1  A state grows by no more than the lines of its events, but where a patch copies. So it is
    measured when lines and last measure together could be over what is allowed, after every
    append that copies, and between the stretches of one that copies very often.
I2  What is measured is refused before it is written. Where a view is made with every append that
    is done anyway; this is for the appends between two views.

An apply function of one's own that makes much of little is caught when a view is written.
"""

from collections.abc import Callable
from typing import Any

from journal.codec import MAX_STATE_BYTES
from journal.engine.checks import check_state
from projections.projection import Projection

_COPIES = b'"copy"'
_STRETCH = 128
"""Events: a patch may copy 64 KiB before it is looked at by itself, so 8 MiB."""


class Growth:
    """The most that the state of one open journal can have, in bytes; unknown at first."""

    def __init__(self, projection: Projection) -> None:
        """Measure nothing yet."""
        self._projection = projection
        self._most_bytes = MAX_STATE_BYTES

    def take_in(self, lines: bytes) -> None:
        """Count the lines of events that were folded."""
        self._count(lines, _COPIES in lines)

    def _count(self, lines: bytes, copies: bool) -> None:
        self._most_bytes += MAX_STATE_BYTES if copies else len(lines)

    def apply(self, state: Any, events: list[Any], lines: bytes, *, measured: bool) -> Any:
        """Apply new events, whose lines these are; `measured`: the caller measures what comes out.

        Raises `UsageError` for a state that is too large, and as `Projection.apply_new` does.
        """
        apply: Callable[..., Any] = self._projection.apply_new
        many = len(events) > _STRETCH
        copies = (many or not measured) and _COPIES in lines  # once: it reads all of a batch
        if many and copies:
            while len(events) > _STRETCH:
                state = apply(state, events[:_STRETCH], check=False)
                check_state(state, self._projection)
                events = events[_STRETCH:]
        state = apply(state, events)
        if not measured:
            self._count(lines, copies)
            if self._most_bytes > MAX_STATE_BYTES:
                self._most_bytes = len(check_state(state, self._projection))
        return state
