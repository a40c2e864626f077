"""A fold that says of each event what it changed, for who goes through the lines of the log.

I1  Every line after the first seq is fed, in order, wanted or not: the state goes on with each.
I2  Where an event cannot have changed the place (`Projection.touched`) nothing is compared.
"""

from typing import Any

import msgspec

from journal.engine.core import Core
from journal.engine.travel.looking import Place, value_of
from journal.engine.travel.tallying import Tally, count_leaves, tally
from journal.engine.travel.walking import lost
from projections.patch.touching import ITEMS
from projections.projection import Hole


class Watch:
    """See this file's docstring; from `Engine.watch`."""

    def __init__(self, core: Core, after: int, *, pointer: str | None, count: bool) -> None:
        """Stand behind event `after`; raises `UsageError` for what is no pointer."""
        self._core = core
        self._place = None if pointer is None else Place(pointer)
        self._count = count
        self._seq: int = after
        self._state = core.states.at(core.history, after).state
        self._seen = b"" if self._place is None else self._place.look(self._state)
        self.changed = False
        self.tally = Tally()

    def feed(self, line: bytes, *, count: bool = True) -> bool:
        """Fold a line of the log and return whether it changed the value at the place (I1).

        `changed` and `tally` then tell of it; without `count` its leaves are not counted.
        Raises `Corrupt` at lost events, `ProjectionError`.
        """
        projection = self._core.projection
        event: Any = projection.decode(line)[0]
        if event.seq != self._seq + 1:
            raise lost(self._core, self._seq + 1)
        self._seq = event.seq
        touched = projection.touched(event)
        count = self._count and count and touched != []
        before = _Before(self._state, touched) if count else None
        try:
            ((_, self._state),) = projection.apply_each(self._state, [event])
        except Hole as hole:
            raise lost(self._core, hole.seq) from None
        self.tally = Tally() if before is None else before.tally(self._state)
        self.changed = False
        if self._place is not None and self._place.may_be_touched(touched):
            now = self._place.look(self._state)
            self.changed = now != self._seen
            self._seen = now
        return self.changed


class _Before:
    """What stood at the places that an event touches, or the whole state where they are unknown."""

    def __init__(self, state: Any, touched: list[str] | None) -> None:
        heads = sorted({place.partition(ITEMS)[0] for place in touched or [""]})
        # Sorted, what lies below another follows it; those above have them in them.
        outer: list[str] = []
        for head in heads:
            if not any(head.startswith(f"{above}/") for above in outer):
                outer.append(head)
        self._looks = [(place, place.look(state)) for place in map(Place, outer)]

    def tally(self, state: Any) -> Tally:
        """Count the leaves that are others in `state`."""
        found = Tally()
        for place, look in self._looks:
            there, now = place.find(state)
            before = value_of(look)
            if before is msgspec.UNSET:
                part = Tally(added=count_leaves(now)) if there else Tally()
            elif not there:
                part = Tally(removed=count_leaves(before))
            else:
                part = tally(before, now)
            found = found.plus(part)
        return found
