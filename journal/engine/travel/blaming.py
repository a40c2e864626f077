"""Which events changed a value: the newest first, or for every value of the state the last one.

I1  An event counts if the value at the pointer, or below it, is another one after it: a write of
    an equal value is no change. Items of a list go by their index.
I2  It goes back span by span. Events that cannot have changed the value (`Projection.touched`)
    are passed over without a fold; the others are candidates, and folded to see. So the last
    change is found soon, and of a long history without one only the events are read.
I3  Memory is bounded: a span's candidates are seqs; values are kept for a group of them at a time.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from journal.engine.core import Core
from journal.engine.travel.looking import Place, Places, leaves, value_of
from journal.engine.travel.walking import Span, find_event, spans_backwards, typed, walk
from journal.errors import Corrupt, UsageError
from journal.event import Event

_GROUP_BYTES = 16 << 20
_LARGEST_GROUP = 65_536


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
    """Yield every event that changed the value at `pointer`, newest first (I1, I2).

    Raises `UsageError` for what is no pointer; while it goes on, `Corrupt` behind the changes that
    are known.
    """
    return _blame(core, Place(pointer), after, upto)


def _blame(core: Core, place: Place, after: int, upto: int) -> Iterator[Change]:
    size = 1
    for seqs in _candidates(core, place, after, upto):
        while seqs:
            group = seqs[-size:]
            try:
                changes, held_bytes = _sift(core, group, place)
            except Corrupt:
                if len(group) == 1:
                    raise
                size = len(group) // 2
                continue
            yield from reversed(changes)
            del seqs[-len(group) :]
            fits = held_bytes <= _GROUP_BYTES
            size = min(size * 4, _LARGEST_GROUP) if fits else max(1, size // 4)


def _candidates(core: Core, place: Place, after: int, upto: int) -> Iterator[list[int]]:
    """Yield the seqs of events that may have changed the value, span by span, the newest first.

    Where a part of a span cannot be read, its newer half comes first.
    """
    for span in spans_backwards(after, upto):
        pending = [span]
        while pending:
            part = pending.pop()
            try:
                yield [
                    event.seq
                    for event in typed(core, *part)
                    if place.may_be_touched(core.projection.touched(event))
                ]
            except Corrupt:
                if part.is_single:
                    raise
                pending += part.halves()


def _sift(core: Core, seqs: list[int], place: Place) -> tuple[list[Change], int]:
    """Return the changes among the candidates, in order, and how many bytes their values take."""
    found: list[Change] = []
    held_bytes = 0
    live = core.states.at(core.history, seqs[0] - 1)
    before = place.look(live.state)
    candidates = set(seqs)
    for event, state in walk(core, live, seqs[-1]):
        if event.seq in candidates:
            now = place.look(state)
            if now != before:
                found.append(_change(event, before, now))
                held_bytes += len(before) + len(now)
                before = now
    return found, held_bytes


def _change(event: Any, before: bytes, now: bytes) -> Change:
    return Change(
        seq=event.seq,
        time=event.time,
        actor=event.actor,
        type=event.type,
        old=value_of(before),
        new=value_of(now),
    )


# --- the whole state -----------------------------------------------------------------------------


def blame_all(core: Core, pointer: str, *, depth: int, upto: int) -> list[LastChange]:
    """Return each value at `pointer`, `depth` levels down, with the event that last changed it.

    Raises `UsageError` where nothing is at `pointer`, `Corrupt` where a last change lies in or
    before lost events.
    """
    there, value = Place(pointer).find(core.states.at(core.history, upto).state)
    if not there:
        raise UsageError(f"there is nothing at {pointer!r} as of event {upto}", key=pointer)
    values = {pointer + below: found for below, found in leaves(value, depth).items()}
    waiting = Places(values)
    last: dict[str, int] = {}
    for span in spans_backwards(0, upto):
        if not waiting:
            break
        _settle(core, span, waiting, last)
    events = {seq: find_event(core, seq) for seq in set(last.values())}
    return [
        _last_change(name, found, events.get(last.get(name, 0))) for name, found in values.items()
    ]


def _settle(core: Core, span: Span, waiting: Places, last: dict[str, int]) -> None:
    """Find the last changes in a span; what is found waits no more.

    Where a part of it is unknown, its newer half is settled first, and may be enough.
    """
    try:
        found = _newest_changes(core, span, waiting)
    except Corrupt:
        if span.is_single:
            raise
        older, newer = span.halves()
        _settle(core, newer, waiting, last)
        if waiting:
            _settle(core, older, waiting, last)
        return
    last.update(found)
    waiting.drop(found)


def _newest_changes(core: Core, span: Span, waiting: Places) -> dict[str, int]:
    """Return pointer -> seq of its last change in the span, for those that have one there."""
    candidates: dict[str, int] = {}
    for event in typed(core, *span):
        for pointer in waiting.touched(core.projection.touched(event)):
            candidates[pointer] = event.seq
    if not candidates:
        return {}
    found = _changed_at(core, candidates, waiting)
    # The newest write of these changed nothing; an older one may have.
    unsure = set(candidates) - set(found)
    if unsure:
        upto = max(candidates[pointer] for pointer in unsure)
        found |= _track(core, Span(span.after, upto), Places(unsure))
    return found


def _changed_at(core: Core, candidates: dict[str, int], waiting: Places) -> dict[str, int]:
    """Return those of the candidates, pointer -> seq, at which the value is another one."""
    asked: dict[int, list[str]] = {}
    for pointer, seq in candidates.items():
        asked.setdefault(seq, []).append(pointer)
    live = core.states.at(core.history, min(asked) - 1)
    before = {pointer: waiting[pointer].look(live.state) for pointer in asked[min(asked)]}
    found: dict[str, int] = {}
    for event, state in walk(core, live, max(asked)):
        for pointer in asked.get(event.seq, ()):
            if waiting[pointer].look(state) != before.pop(pointer):
                found[pointer] = event.seq
        for pointer in asked.get(event.seq + 1, ()):
            before[pointer] = waiting[pointer].look(state)
    return found


def _track(core: Core, span: Span, places: Places) -> dict[str, int]:
    """Return pointer -> seq of its last change, looking after each event that may be one."""
    live = core.states.at(core.history, span.after)
    before = {pointer: places[pointer].look(live.state) for pointer in places.touched(None)}
    found: dict[str, int] = {}
    for event, state in walk(core, live, span.upto):
        for pointer in set(places.touched(core.projection.touched(event))):
            now = places[pointer].look(state)
            if now != before[pointer]:
                before[pointer] = now
                found[pointer] = event.seq
    return found


def _last_change(pointer: str, value: Any, event: Event | None) -> LastChange:
    return LastChange(
        pointer=pointer,
        seq=0 if event is None else event.seq,
        time="" if event is None else event.time,
        actor="" if event is None else event.actor,
        type="" if event is None else event.type,
        value=value,
    )
