"""The difference of two states, and of what two projections make of the same history."""

from collections.abc import Callable
from typing import Any

import msgspec

from journal import codec
from journal.engine.core import Core
from journal.errors import ProjectionError
from projections.patch import diff_with_old, equal, get, parse
from projections.projection import Projection

Progress = Callable[[int, int], None]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Where two projections part: the first event after which their states differ, and how.

    `seq` is None where they never do. `changes` lead from the old state to the new one.
    """

    seq: int | None
    type: str = ""
    time: str = ""
    changes: list[dict[str, Any]] = []
    events: int = 0


def diff_states(a: Any, b: Any, pointer: str = "") -> list[dict[str, Any]]:
    """Return the operations, with old values, that lead from `a` to `b`; none if they are equal.

    `pointer` narrows both to the value there; where it is in one only, that is one operation.
    Raises `UsageError` where it is in neither.
    """
    if not pointer:
        return diff_with_old(a, b)
    in_a, value_a = find(a, pointer)
    in_b, value_b = find(b, pointer)
    if not in_a and not in_b:
        get(b, pointer)  # raises with the first place that is missing
    if not in_a:
        return [{"op": "add", "path": pointer, "value": value_b}]
    if not in_b:
        return [{"op": "remove", "path": pointer, "old": value_a}]
    changes = diff_with_old(value_a, value_b)
    return [{**change, "path": pointer + change["path"]} for change in changes]


def find(value: Any, pointer: str) -> tuple[bool, Any]:
    """Return (whether there is a value at the pointer, the value)."""
    for token in parse(pointer):
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return False, None
    return True, value


def compare(core: Core, other: Projection, progress: Progress | None = None) -> Difference:
    """Fold the whole history with the journal's projection and with `other`, side by side.

    States are compared after every event. A projection that fails on an event differs there.
    """
    ours, theirs = core.states.initial().state, other.initial()
    last = core.history.tail.seq
    if not equal(ours, theirs):
        return Difference(seq=0, changes=diff_with_old(ours, theirs), events=last)
    for block in core.history.blocks(0, last):
        pairs = zip(
            core.projection.decode(block.data),
            other.decode(block.data),
            codec.decode_events(block.data),
            strict=True,
        )
        for our_event, their_event, plain in pairs:
            ours = core.projection.apply(ours, [our_event])
            try:
                theirs = other.apply(theirs, [their_event])
            except ProjectionError as error:
                changes = [{"op": "fails", "path": "", "value": error.message}]
                return _differ(plain.seq, plain.type, plain.time, changes)
            if ours != theirs or not equal(ours, theirs):
                changes = diff_with_old(ours, theirs)
                return _differ(plain.seq, plain.type, plain.time, changes)
        if progress is not None:
            progress(block.after.seq, last)
    return Difference(seq=None, events=last)


def _differ(seq: int, kind: str, time: str, changes: list[dict[str, Any]]) -> Difference:
    return Difference(seq=seq, type=kind, time=time, changes=changes, events=seq)
