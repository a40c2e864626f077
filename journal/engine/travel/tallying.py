"""How many leaves of a value are others after a change.

I1  A leaf is a scalar or an empty object or list. Members of objects belong together by name,
    items of lists as `projections.patch` matches them for a difference; what has no partner is
    added or removed with all its leaves.
"""

from typing import Any, NamedTuple

from projections.patch import Json, equal
from projections.patch.align import Aligner


class Tally(NamedTuple):
    """Leaves added, removed and changed."""

    added: int = 0
    removed: int = 0
    changed: int = 0

    def plus(self, other: "Tally") -> "Tally":
        """Return the sum of two."""
        return Tally(*map(sum, zip(self, other, strict=True)))


def count_leaves(value: Any) -> int:
    """Return how many leaves a value has (I1)."""
    total = 0
    pending: list[Json] = [value]
    while pending:
        one = pending.pop()
        if one and isinstance(one, dict | list):
            pending.extend(one.values() if isinstance(one, dict) else one)
        else:
            total += 1
    return total


def tally(old: Any, new: Any) -> Tally:
    """Count the leaves that lead from `old` to `new` (I1)."""
    aligner = Aligner()
    found = Tally()
    pending: list[tuple[Json, Json]] = [(old, new)]
    while pending:
        a, b = pending.pop()
        gone: list[Json]
        come: list[Json]
        if equal(a, b):
            continue
        if a and b and isinstance(a, dict) and isinstance(b, dict):
            pending += [(a[name], b[name]) for name in a if name in b]
            gone = [a[name] for name in a if name not in b]
            come = [b[name] for name in b if name not in a]
        elif a and b and isinstance(a, list) and isinstance(b, list):
            aligned = aligner.align(a, b)
            pairs = [*aligned.stable, *aligned.moved]
            pending += [(a[i], b[j]) for i, j in pairs]
            kept_a, kept_b = {i for i, _ in pairs}, {j for _, j in pairs}
            gone = [item for i, item in enumerate(a) if i not in kept_a]
            come = [item for j, item in enumerate(b) if j not in kept_b]
        elif _is_leaf(a) and _is_leaf(b):
            found = found.plus(Tally(changed=1))
            continue
        else:
            # An empty object or list that is filled is no leaf that goes.
            gone, come = [a] if a or _is_scalar(a) else [], [b] if b or _is_scalar(b) else []
        found = found.plus(Tally(sum(map(count_leaves, come)), sum(map(count_leaves, gone))))
    return found


def _is_scalar(value: Json) -> bool:
    return not isinstance(value, dict | list)


def _is_leaf(value: Json) -> bool:
    return not value or _is_scalar(value)
