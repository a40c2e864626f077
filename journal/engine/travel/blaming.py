"""Which events changed a value: the newest first, or for every value of the state the last one.

I1  An event counts if the value at the pointer, or below it, is another one after it: a write of
    an equal value is no change.
I2  It goes back by the stretches between snapshots, so the last change is found soon.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from journal import codec
from journal.engine.core import Core
from journal.engine.travel.comparing import find
from journal.engine.travel.walking import stretches, walk
from journal.event import Event
from projections.patch import format as format_pointer

_ABSENT = b""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """An event that changed a value; `old` or `new` is left out where there was, or is, none."""

    seq: int
    time: str
    actor: str
    type: str
    old: Any = msgspec.UNSET
    new: Any = msgspec.UNSET


class LastChange(msgspec.Struct, frozen=True, kw_only=True):
    """A value of the state, and the event that last changed it (seq 0: it was there at first)."""

    pointer: str
    seq: int
    time: str
    actor: str
    type: str
    value: Any


def blame(core: Core, pointer: str, *, after: int, upto: int) -> Iterator[Change]:
    """Yield every event that changed the value at `pointer`, newest first (I1, I2)."""
    find({}, pointer)  # raises for what is not a pointer
    for stretch in stretches(core, after, upto):
        start = core.states.at(core.history, stretch.after)
        before = _look(start.state, pointer)
        found: list[Change] = []
        for event, state in walk(core, stretch.after, stretch.upto, start=start):
            now = _look(state, pointer)
            if now != before:
                found.append(_change(event, before, now))
                before = now
        yield from reversed(found)


def _look(state: Any, pointer: str) -> bytes:
    """Return the value at a pointer as JSON with sorted keys: equal bytes are equal values."""
    there, value = find(state, pointer)
    return codec.encode_sorted(value) if there else _ABSENT


def _change(event: Event, before: bytes, now: bytes) -> Change:
    return Change(
        seq=event.seq,
        time=event.time,
        actor=event.actor,
        type=event.type,
        old=codec.decode_value(before) if before else msgspec.UNSET,
        new=codec.decode_value(now) if now else msgspec.UNSET,
    )


def blame_all(core: Core, *, depth: int, upto: int) -> list[LastChange]:
    """Return each value of the state at `upto`, `depth` levels down, with its last change."""
    state = core.states.at(core.history, upto).state
    wanted = {format_pointer(tokens): value for tokens, value in _values(state, depth, [])}
    waiting = set(wanted)
    last: dict[str, Event] = {}
    for stretch in stretches(core, 0, upto):
        if not waiting:
            break
        start = core.states.at(core.history, stretch.after)
        before = {pointer: _look(start.state, pointer) for pointer in waiting}
        for event, now in walk(core, stretch.after, stretch.upto, start=start):
            for pointer in waiting:
                seen = _look(now, pointer)
                if seen != before[pointer]:
                    before[pointer] = seen
                    last[pointer] = event
        waiting -= set(last)
    return [_last_change(pointer, value, last.get(pointer)) for pointer, value in wanted.items()]


def _values(value: Any, depth: int, tokens: list[str | int]) -> Iterator[tuple[list[str | int], Any]]:
    if depth and isinstance(value, dict) and value:
        for name, child in value.items():
            yield from _values(child, depth - 1, [*tokens, name])
    elif depth and isinstance(value, list) and value:
        for index, child in enumerate(value):
            yield from _values(child, depth - 1, [*tokens, index])
    else:
        yield tokens, value


def _last_change(pointer: str, value: Any, event: Event | None) -> LastChange:
    return LastChange(
        pointer=pointer,
        seq=0 if event is None else event.seq,
        time="" if event is None else event.time,
        actor="" if event is None else event.actor,
        type="" if event is None else event.type,
        value=value,
    )
