"""The first event after which something is true of the state.

I1  Without a promise every state is looked at, in order. With `monotone` (once true, it stays
    true) the search halves the history, and looks at some twenty states of a million.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from journal import codec
from journal.engine.core import Core
from journal.engine.travel.walking import walk
from journal.event import Event

Progress = Callable[[int, int], None]
Predicate = Callable[[Any], bool]
"""Says whether a state has it; it must not change the state."""


class Bisected(msgspec.Struct, frozen=True, kw_only=True):
    """The first event after which it is true, None if there is none; and how many states it took.

    `seq` is `after` itself, with no event, where it is true from the start.
    """

    seq: int | None
    event: Event | None
    states: int


def bisect(
    core: Core,
    predicate: Predicate,
    *,
    after: int,
    upto: int,
    monotone: bool,
    progress: Progress | None = None,
) -> Bisected:
    """Return the first event in (`after`, `upto`] after which `predicate` is true (I1)."""
    start = core.states.at(core.history, after)
    if predicate(start.state):
        return Bisected(seq=after, event=None, states=1)
    if monotone:
        return _halve(core, predicate, after, upto)
    looked = 1
    for event, state in walk(core, after, upto, start=start):
        looked += 1
        if predicate(state):
            return Bisected(seq=event.seq, event=event, states=looked)
        if progress is not None and looked % 1000 == 0:
            progress(event.seq - after, upto - after)
    return Bisected(seq=None, event=None, states=looked)


def _halve(core: Core, predicate: Predicate, after: int, upto: int) -> Bisected:
    looked = 1
    low, high = after, upto
    if low == high or not predicate(core.states.at(core.history, high).state):
        return Bisected(seq=None, event=None, states=looked + (low != high))
    looked += 1
    while high - low > 1:
        middle = (low + high) // 2
        looked += 1
        if predicate(core.states.at(core.history, middle).state):
            high = middle
        else:
            low = middle
    blocks = core.history.blocks(high - 1, high)
    found = next((event for block in blocks for event in codec.decode_events(block.data)), None)
    return Bisected(seq=high, event=found, states=looked)
