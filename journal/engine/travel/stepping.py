"""Going through history event by event, forwards, backwards and by jumps, with what each changed.

I1  A step forwards costs one event. Backwards and by a jump the state before is folded from the
    nearest snapshot.
"""

from typing import Any

import msgspec

from journal.engine.core import Core
from journal.engine.states import Live
from journal.engine.travel.comparing import diff_states
from journal.engine.travel.looking import Place
from journal.engine.travel.places import check_seq
from journal.engine.travel.walking import find_event, walk
from journal.errors import UsageError
from journal.event import Event
from projections.patch import copy


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """An event and what it changed, as `diff` gives it."""

    event: Event
    changes: list[dict[str, Any]]


class Stepper:
    """See this file's docstring; from `Engine.stepper`. `seq` is where it stands, 0 at first."""

    def __init__(self, core: Core, pointer: str = "") -> None:
        """Stand before the first event; changes are those at `pointer` or below it."""
        self._core = core
        self._place = Place(pointer)
        self._live: Live | None = None
        self.seq = 0

    @property
    def last(self) -> int:
        """The last seq there is."""
        return self._core.history.tail.seq

    def go_to(self, seq: int) -> Step:
        """Stand at event `seq` and return it; raises `UsageError`, `Corrupt` where it is lost."""
        if seq < 1:
            raise UsageError("there is no event before the first one", key="seq")
        check_seq(seq, self.last)
        core, live = self._core, self._live
        if live is None or live.seq != seq - 1:
            live = core.states.at(core.history, seq - 1)
        self._live = None
        before = copy(live.state)
        ((_, after),) = walk(core, live, seq)
        event = find_event(core, seq)
        self._live = Live(after, seq, event.time)
        self.seq = seq
        return Step(event=event, changes=self._changes(before, after))

    def state(self) -> Any:
        """Return a copy of the state where it stands, narrowed to the pointer; UNSET for none."""
        live = self._live or self._core.states.at(self._core.history, self.seq)
        there, value = self._place.find(live.state)
        return copy(value) if there else msgspec.UNSET

    def _changes(self, before: Any, after: Any) -> list[dict[str, Any]]:
        if not self._place.find(before)[0] and not self._place.find(after)[0]:
            return []
        return diff_states(before, after, self._place.pointer)
