"""The difference of two JSON values as a JSON Patch (RFC 6902) that is small in bytes.

    diff({"n": 1, "x": [1]}, {"n": 2, "x": [1, 5]})
    [{"op": "replace", "path": "/n", "value": 2}, {"op": "add", "path": "/x/1", "value": 5}]

Invariants
  I1  `apply_patch(copy(a), diff(a, b))` equals b strictly, and `diff(a, b)` is empty if and only
      if a equals b: the order of members makes no operation.
  I2  No object or list is patched in more bytes of compact JSON than replacing it whole takes; but
      `diff_with_old`, which is read by people, always goes down to what differs.
  I3  The same values give the same operations. The time is linear in the size of the values, but
      for sorting, a bounded search in lists without keys and a bounded number of moves.

Operations are add, remove, replace and, for items that only changed their order, move;
`diff_with_old` writes remove and add for a move. Which items of two lists belong together, `align`
decides. Values in the operations are parts of `b` (and of `a` for `old`), not copies.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from journal.errors import UsageError
from projections.patch.align import Aligner
from projections.patch.pointer import escape
from projections.patch.value import Json, equal, size

_CHUNK = 32  # values compared in one call; so many must be looked at one by one where one differs
_DESCENT = 64  # levels below which a change is written as one replace, so that no stack runs out
_MOVE_STEPS = 1_000_000  # items that may be passed while finding the indices of moves (some 10 ms)

# The bytes of an operation in compact JSON without its path and value, with the comma after it.
_REMOVE = len('{"op":"remove","path":},')
_MOVE = len('{"op":"move","from":,"path":},')
_ADD = len('{"op":"add","path":,"value":},')
_REPLACE = len('{"op":"replace","path":,"value":},')


def diff(a: Any, b: Any) -> list[dict[str, Any]]:
    """Return the RFC 6902 operations that lead from `a` to `b`; none if they are equal.

    Raises `UsageError` for what is not a JSON value.
    """
    return [
        {"op": op.name, "from": op.source, "path": op.path}
        if op.name == "move"
        else {"op": op.name, "path": op.path}
        if op.name == "remove"
        else {"op": op.name, "path": op.path, "value": op.new}
        for op in _operations(a, b, moves=True)
    ]


def diff_with_old(a: Any, b: Any) -> list[dict[str, Any]]:
    """Return add, remove and replace operations from `a` to `b`, with `old` where one was there.

    `old` is what stands at the path when the operations before have been applied.
    Raises `UsageError` for what is not a JSON value.
    """
    return [
        {"op": "add", "path": op.path, "value": op.new}
        if op.name == "add"
        else {"op": "remove", "path": op.path, "old": op.old}
        if op.name == "remove"
        else {"op": op.name, "path": op.path, "old": op.old, "value": op.new}
        for op in _operations(a, b, moves=False)
    ]


class _Operation(NamedTuple):
    name: str
    path: str
    old: Json = None
    new: Json = None
    source: str = ""


class _Cost(NamedTuple):
    """What a part of the patch takes, and bytes that the value it makes is known to take."""

    patch: int
    value: int


def _operations(a: Json, b: Json, *, moves: bool) -> list[_Operation]:
    if equal(a, b):
        return []
    walk = _Walk(moves=moves)
    try:
        walk.change(a, b, "", 0)
    except TypeError as error:  # orjson names the reason: a date, a number too large, a surrogate
        raise UsageError(
            f"only JSON values have a difference: {error}",
            advice="Give objects with text keys, lists, text, numbers, booleans and nulls.",
        ) from None
    return walk.operations


class _Walk:
    """One walk down two values that differ; it collects the operations as it goes."""

    def __init__(self, *, moves: bool) -> None:
        self.operations: list[_Operation] = []
        self._moves = moves
        self._aligner = Aligner()

    def change(self, a: Json, b: Json, path: str, level: int) -> _Cost:
        """Write what leads from `a` to `b`, which differ, at `path`."""
        mark = len(self.operations)
        if level >= _DESCENT:
            return self._replace(a, b, path, size(b))
        if isinstance(a, dict) and isinstance(b, dict):
            cost = self._members(a, b, path, level)
        elif isinstance(a, list) and isinstance(b, list):
            cost = self._items(a, b, path, level)
        else:
            return self._replace(a, b, path, size(b))
        # Most often what is known suffices, and the value need not be measured.
        if cost.patch <= cost.value or not self._moves:
            return cost
        whole = size(b)
        if cost.patch <= _REPLACE + size(path) + whole:
            return _Cost(cost.patch, whole)
        del self.operations[mark:]
        return self._replace(a, b, path, whole)

    def _members(self, a: dict[str, Json], b: dict[str, Json], path: str, level: int) -> _Cost:
        patch = value = 0
        for key, old in a.items():
            if key not in b:
                patch += self._remove(old, f"{path}/{escape(key)}")
        common = [key for key in b if key in a]
        for index in _differing([a[key] for key in common], [b[key] for key in common]):
            key = common[index]
            cost = self.change(a[key], b[key], f"{path}/{escape(key)}", level + 1)
            patch, value = patch + cost.patch, value + cost.value
        for key, new in b.items():
            if key not in a:
                cost = self._add(new, f"{path}/{escape(key)}")
                patch, value = patch + cost.patch, value + cost.value
        return _Cost(patch, value)

    def _items(self, a: list[Json], b: list[Json], path: str, level: int) -> _Cost:
        head, tail = _equal_ends(a, b)
        alignment = self._aligner.align(a[head : len(a) - tail], b[head : len(b) - tail])
        stable = [(head + i, head + j) for i, j in alignment.stable]
        moved = [(head + i, head + j) for i, j in alignment.moved]
        matched = [*stable, *moved]
        if not self._moves or len(moved) * len(matched) > _MOVE_STEPS:
            moved, matched = [], stable
        stay_a, stay_b = {i for i, _ in matched}, {j for _, j in matched}
        patch = value = 0
        # From the end, so that the indices before it stay what they are in a.
        for i in range(len(a) - tail - 1, head - 1, -1):
            if i not in stay_a:
                patch += self._remove(a[i], f"{path}/{i}")
        patch += self._move(stable, moved, path, head)
        # From the front, so that everything before it stands where it stands in b.
        for j in range(head, len(b) - tail):
            if j not in stay_b:
                cost = self._add(b[j], f"{path}/{j}")
                patch, value = patch + cost.patch, value + cost.value
        for index in _differing([a[i] for i, _ in matched], [b[j] for _, j in matched]):
            i, j = matched[index]
            cost = self.change(a[i], b[j], f"{path}/{j}", level + 1)
            patch, value = patch + cost.patch, value + cost.value
        return _Cost(patch, value)

    def _move(
        self,
        stable: Sequence[tuple[int, int]],
        moved: Sequence[tuple[int, int]],
        path: str,
        head: int,
    ) -> int:
        """Bring the items that stay into the order of b, each moved one behind its neighbour."""
        if not moved:
            return 0
        order = sorted(i for i, _ in (*stable, *moved))
        wanted = sorted((*stable, *moved), key=lambda pair: pair[1])
        away = {i for i, _ in moved}
        patch = 0
        for place, (i, _) in enumerate(wanted):
            if i not in away:
                continue
            source = order.index(i)
            del order[source]
            target = order.index(wanted[place - 1][0]) + 1 if place else 0
            order.insert(target, i)
            # Never the same place: the stable items are as many as can be, and it is not of them.
            step = _Operation("move", f"{path}/{head + target}", source=f"{path}/{head + source}")
            self.operations.append(step)
            patch += _MOVE + size(step.source) + size(step.path)
        return patch

    def _remove(self, old: Json, path: str) -> int:
        self.operations.append(_Operation("remove", path, old=old))
        return _REMOVE + size(path)

    def _add(self, new: Json, path: str) -> _Cost:
        self.operations.append(_Operation("add", path, new=new))
        value = size(new)
        return _Cost(_ADD + size(path) + value, value)

    def _replace(self, old: Json, new: Json, path: str, value: int) -> _Cost:
        self.operations.append(_Operation("replace", path, old=old, new=new))
        return _Cost(_REPLACE + size(path) + value, value)


def _differing(a: Sequence[Json], b: Sequence[Json]) -> list[int]:
    """Return the indices at which two sequences of one length differ."""
    found: list[int] = []
    for start in range(0, len(a), _CHUNK):
        part_a, part_b = a[start : start + _CHUNK], b[start : start + _CHUNK]
        if len(a) > _CHUNK and equal(part_a, part_b):
            continue
        pairs = enumerate(zip(part_a, part_b, strict=True), start)
        found.extend(index for index, (x, y) in pairs if not equal(x, y))
    return found


def _equal_ends(a: list[Json], b: list[Json]) -> tuple[int, int]:
    """Count the items that are equal from the front and, of the others, from the end."""
    shorter = min(len(a), len(b))
    head = _equal_run(a[:shorter], b[:shorter])
    left = shorter - head
    tail = _equal_run(a[len(a) - left :][::-1], b[len(b) - left :][::-1])
    return head, tail


def _equal_run(a: list[Json], b: list[Json]) -> int:
    for start in range(0, len(a), _CHUNK):
        part_a, part_b = a[start : start + _CHUNK], b[start : start + _CHUNK]
        if not equal(part_a, part_b):
            pairs = enumerate(zip(part_a, part_b, strict=True), start)
            return next(index for index, (x, y) in pairs if not equal(x, y))
    return len(a)
