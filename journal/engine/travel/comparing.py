"""The difference of two states, and of what two projections make of the same history."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from journal.engine.core import Core
from journal.engine.travel.looking import Place
from journal.engine.travel.walking import find_event
from journal.errors import ProjectionError
from journal.event import CARRIES_STATE, LOST
from projections.patch import diff_with_old, equal, get
from projections.patch.touching import ITEMS
from projections.projection import Projection

Progress = Callable[[int, int], None]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Where two projections part: the first event after which their states differ, and how.

    `seq` is None where they never do, 0 where their initial states differ. `changes` lead from
    the old state to the new one, as `diff` gives them; `failed` is why the new projection fails
    on the event, if it does. `events` is how many were folded.
    """

    seq: int | None
    type: str = ""
    time: str = ""
    changes: list[dict[str, Any]] = []
    failed: str = ""
    events: int = 0


def diff_states(a: Any, b: Any, pointer: str = "") -> list[dict[str, Any]]:
    """Return the operations, with old values, that lead from `a` to `b`; none if they are equal.

    `pointer` narrows both to the value there; where it is in one only, that is one operation.
    Raises `UsageError` where it is in neither.
    """
    if not pointer:
        return diff_with_old(a, b)
    place = Place(pointer)
    in_a, value_a = place.find(a)
    in_b, value_b = place.find(b)
    if not in_a and not in_b:
        get(b, pointer)  # raises with the first place that is missing
    if not in_a:
        return [{"op": "add", "path": pointer, "value": value_b}]
    if not in_b:
        return [{"op": "remove", "path": pointer, "old": value_a}]
    changes = diff_with_old(value_a, value_b)
    return [{**change, "path": pointer + change["path"]} for change in changes]


def compare(core: Core, other: Projection, progress: Progress | None = None) -> Difference:
    """Fold the whole history with the journal's projection and with `other`, side by side.

    States are compared after every event that can have changed one. A projection that fails on an
    event differs there. Between lost events and the next one that carries the whole state there
    is nothing to compare. Raises `ProjectionError` where the journal's own projection fails.
    """
    ours, theirs = core.projection.initial(), other.initial()
    last = core.history.tail.seq
    if not equal(ours, theirs):
        return Difference(seq=0, changes=diff_with_old(ours, theirs))
    known = True
    for our_event, their_event in _decoded_twice(core, other, last, progress):
        seq = our_event.seq
        if our_event.type == LOST:
            known = False
        elif not known and our_event.type in CARRIES_STATE:
            known = our_event.data.state is not msgspec.UNSET
        if not known:
            continue
        ours = core.projection.apply(ours, [our_event])
        try:
            theirs = other.apply(theirs, [their_event])
        except ProjectionError as error:
            return _differ(core, seq, [], failed=error.message)
        if _differ_at(ours, theirs, core.projection.touched(our_event), other.touched(their_event)):
            return _differ(core, seq, diff_with_old(ours, theirs))
    return Difference(seq=None, events=last)


def _decoded_twice(
    core: Core, other: Projection, last: int, progress: Progress | None
) -> Iterator[tuple[Any, Any]]:
    for block in core.history.blocks(0, last):
        try:
            yield from zip(
                core.projection.decode(block.data), other.decode(block.data), strict=True
            )
        except ValueError as error:
            raise core.history.malformed(block) from error
        if progress is not None:
            progress(block.after.seq, last)


def _differ_at(ours: Any, theirs: Any, *touched: list[str] | None) -> bool:
    """Say whether two states that were equal differ after an event; compares what it touched."""
    places: set[str] = set()
    for found in touched:
        if found is None:
            return not equal(ours, theirs)
        places.update(place.partition(ITEMS)[0] for place in found)
    return any(Place(place).look(ours) != Place(place).look(theirs) for place in places)


def _differ(core: Core, seq: int, changes: list[dict[str, Any]], failed: str = "") -> Difference:
    event = find_event(core, seq)
    return Difference(
        seq=seq, type=event.type, time=event.time, changes=changes, failed=failed, events=seq
    )
