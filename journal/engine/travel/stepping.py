"""Going through history event by event, forwards, backwards and by jumps, with what each changed.

I1  A step forwards costs one event, which was read with those around it. Backwards and by a jump
    the state before is folded from the nearest snapshot.
"""

from collections import deque
from typing import Any

import msgspec

from journal import codec
from journal.engine.core import Core
from journal.engine.states import Live
from journal.engine.travel.comparing import diff_states
from journal.engine.travel.looking import Place
from journal.engine.travel.places import check_seq
from journal.engine.travel.walking import lost
from journal.errors import Corrupt, UsageError
from journal.event import Event
from projections.projection import Hole

_READ_AHEAD = 100


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
        self._ahead: deque[tuple[Event, Any]] = deque()
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
        event, typed = self._read(seq)
        if live is None or live.seq != seq - 1:
            live = core.states.at(core.history, seq - 1)
        self._live = None
        before = codec.copy_value(live.state)
        try:
            ((_, after),) = core.projection.apply_each(live.state, [typed])
        except Hole:
            raise lost(core, seq) from None
        self._live = Live(after, seq, event.time)
        self.seq = seq
        return Step(event=event, changes=self._changes(before, after))

    def _read(self, seq: int) -> tuple[Event, Any]:
        """Return the event as it stands in the log, and decoded typed; raises `Corrupt`."""
        if not self._ahead or self._ahead[0][0].seq != seq:
            try:
                self._read_ahead(seq, min(seq + _READ_AHEAD, self.last))
            except Corrupt:  # Of what comes later, perhaps.
                self._read_ahead(seq, seq)
        return self._ahead.popleft()

    def _read_ahead(self, seq: int, upto: int) -> None:
        core = self._core
        block = next(core.history.blocks(seq - 1, upto), None)
        if block is None or seq <= block.before.seq:
            raise lost(core, seq)
        try:
            plain, typed = codec.decode_events(block.data), core.projection.decode(block.data)
        except ValueError as error:
            raise core.history.malformed(block) from error
        self._ahead = deque(zip(plain, typed, strict=True))

    def state(self) -> Any:
        """Return a copy of the state where it stands, narrowed to the pointer; UNSET for none."""
        live = self._live or self._core.states.at(self._core.history, self.seq)
        there, value = self._place.find(live.state)
        return codec.copy_value(value) if there else msgspec.UNSET

    def _changes(self, before: Any, after: Any) -> list[dict[str, Any]]:
        if not self._place.find(before)[0] and not self._place.find(after)[0]:
            return []
        return diff_states(before, after, self._place.pointer)
