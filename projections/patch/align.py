"""Which items of two lists belong together, so that a difference touches as few as it can.

The rule, in this order, for what is left once equal items at both ends are trimmed:

  1. **By key**, if all items of both lists are objects that hold a scalar under one name, and the
     scalars are distinct within each list. The names are tried in this order: `id`, `key`, `name`,
     `number`, `uuid`, `slug`; then names that end in `id` (`task_id`, `issueId`), sorted; then all
     other names whose values are text or numbers: the one with the most values that both lists
     have, of equals the first by name. 1, 1.0, "1" and true are four keys.
  2. **By content** else: equal items that occur once in each list are matched, those of them that
     keep their order stay, and between two such the longest common subsequence is sought, as far
     as `STEPS` allows.

Between two matched neighbours the items left over in both lists are paired in order: they are
taken for the same item, changed. What remains was removed or added.

Cost: O(n log n) for n items, and some `STEPS` steps more for one difference.
"""

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from projections.patch.value import Json, canonical

STEPS = 200_000
"""Steps that one difference may spend on searching common items in lists (some 30 ms)."""

_USUAL_KEYS = ("id", "key", "name", "number", "uuid", "slug")
_SCALARS: frozenset[type] = frozenset({str, int, float, bool, type(None)})
_SPEAKING: frozenset[type] = frozenset({str, int, float})


@dataclass(slots=True)
class Alignment:
    """Index pairs (in a, in b): `stable` ones keep their order, `moved` ones do not."""

    stable: list[tuple[int, int]]
    moved: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


class Aligner:
    """Aligns the lists of one difference; all of them share one allowance of `STEPS`."""

    def __init__(self) -> None:
        self._steps = STEPS

    def align(self, a: Sequence[Json], b: Sequence[Json]) -> Alignment:
        """Match the items of `a` with those of `b`."""
        keys = _keys(a, b)
        if keys is None:
            texts_a, texts_b = [canonical(item) for item in a], [canonical(item) for item in b]
            return Alignment(_pair_rest(self._by_content(texts_a, texts_b), [], len(a), len(b)))
        keys_a, keys_b = keys
        index_a = {key: i for i, key in enumerate(keys_a)}
        common = [(index_a[key], j) for j, key in enumerate(keys_b) if key in index_a]
        kept = set(_increasing([i for i, _ in common]))
        stable = [pair for k, pair in enumerate(common) if k in kept]
        moved = [pair for k, pair in enumerate(common) if k not in kept]
        return Alignment(_pair_rest(stable, moved, len(a), len(b)), moved)

    def _by_content(self, a: Sequence[bytes], b: Sequence[bytes]) -> list[tuple[int, int]]:
        once_a, once_b = _once(a), _once(b)
        common = [(once_a[text], j) for text, j in once_b.items() if text in once_a]
        anchors = [common[k] for k in _increasing([i for i, _ in common])]
        matched: list[tuple[int, int]] = []
        start_a = start_b = 0
        for stop_a, stop_b in [*anchors, (len(a), len(b))]:
            gap = self._common(a[start_a:stop_a], b[start_b:stop_b])
            matched.extend((start_a + i, start_b + j) for i, j in gap)
            if stop_a < len(a):
                matched.append((stop_a, stop_b))
            start_a, start_b = stop_a + 1, stop_b + 1
        return matched

    def _common(self, a: Sequence[bytes], b: Sequence[bytes]) -> list[tuple[int, int]]:
        """Return a longest common subsequence, or only its ends if that takes too long."""
        head = 0
        while head < min(len(a), len(b)) and a[head] == b[head]:
            head += 1
        tail = 0
        while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
            tail += 1
        pairs = [(k, k) for k in range(head)]
        inner_a, inner_b = a[head : len(a) - tail], b[head : len(b) - tail]
        if not set(inner_a).isdisjoint(inner_b):
            # Half of what is left, so that a list that differs too much leaves some to the others.
            found, steps = _shortest_edit(inner_a, inner_b, self._steps // 2)
            self._steps -= steps
            pairs.extend((head + i, head + j) for i, j in found or ())
        pairs.extend((len(a) - k, len(b) - k) for k in range(tail, 0, -1))
        return pairs


def _keys(a: Sequence[Json], b: Sequence[Json]) -> tuple[list[Hashable], list[Hashable]] | None:
    """Return a distinct key for each item by rule 1, or None where it does not apply."""
    items: list[dict[str, Json]] = [item for item in (*a, *b) if isinstance(item, dict)]
    if not items or len(items) < len(a) + len(b):
        return None
    names = items[0].keys()
    usual = [name for name in _USUAL_KEYS if name in names]
    ids = sorted(name for name in names if name not in usual and name.lower().endswith("id"))
    for name in (*usual, *ids):
        keys = _distinct(items, name, len(a), _SCALARS)
        if keys is not None:
            return keys
    best, most = None, 0
    for name in sorted(names - {*usual, *ids}):
        keys = _distinct(items, name, len(a), _SPEAKING)
        shared = len(set(keys[0]).intersection(keys[1])) if keys else 0
        if shared > most:
            best, most = keys, shared
    return best


def _distinct(
    items: Sequence[dict[str, Json]], name: str, split: int, kinds: frozenset[type]
) -> tuple[list[Hashable], list[Hashable]] | None:
    """Return what the items hold under `name`, in a and in b, if that can serve as their key."""
    try:
        values = [item[name] for item in items]
    except KeyError:
        return None
    found = set(map(type, values))
    if not found <= kinds:
        return None
    # Text and integers never equal each other; all else needs its type and spelling to differ.
    keys: list[Any] = (
        values if found <= {str, int} else [(type(value), repr(value)) for value in values]
    )
    keys_a, keys_b = keys[:split], keys[split:]
    if len(set(keys_a)) < len(keys_a) or len(set(keys_b)) < len(keys_b):
        return None
    return keys_a, keys_b


def _pair_rest(
    stable: Sequence[tuple[int, int]], moved: Sequence[tuple[int, int]], len_a: int, len_b: int
) -> list[tuple[int, int]]:
    """Add to the stable pairs the left-over items between each two of them, paired in order."""
    away_a, away_b = {i for i, _ in moved}, {j for _, j in moved}
    pairs: list[tuple[int, int]] = []
    start_a = start_b = 0
    for stop_a, stop_b in [*stable, (len_a, len_b)]:
        rest_a = [i for i in range(start_a, stop_a) if i not in away_a]
        rest_b = [j for j in range(start_b, stop_b) if j not in away_b]
        pairs.extend(zip(rest_a, rest_b, strict=False))
        pairs.append((stop_a, stop_b))
        start_a, start_b = stop_a + 1, stop_b + 1
    pairs.pop()
    return pairs


def _once(texts: Sequence[bytes]) -> dict[bytes, int]:
    """Return the index of each text that occurs once, in the order of the list."""
    seen: dict[bytes, int] = {}
    for index, text in enumerate(texts):
        seen[text] = -1 if text in seen else index
    return {text: index for text, index in seen.items() if index >= 0}


def _increasing(numbers: Sequence[int]) -> list[int]:
    """Return the indices of a longest strictly increasing subsequence."""
    tops: list[int] = []  # the smallest last number of a subsequence of each length
    ends: list[int] = []  # its index
    before: list[int] = []
    for index, number in enumerate(numbers):
        length = bisect_left(tops, number)
        before.append(ends[length - 1] if length else -1)
        tops[length : length + 1] = [number]
        ends[length : length + 1] = [index]
    chosen: list[int] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chosen.append(index)
        index = before[index]
    return chosen[::-1]


def _shortest_edit(
    a: Sequence[bytes], b: Sequence[bytes], allowance: int
) -> tuple[list[tuple[int, int]] | None, int]:
    """Return the index pairs of a longest common subsequence, and the steps that took.

    Greedy search by the number of items left out (Myers, "An O(ND) Difference Algorithm and Its
    Variations", 1986): fast for long lists that differ little. None if the allowance ran out.
    """
    furthest = {1: 0}  # diagonal (index in a minus index in b) -> furthest index in a
    rounds: list[dict[int, int]] = []
    steps = 0
    for left_out in range(len(a) + len(b) + 1):
        rounds.append(furthest.copy())
        for diagonal in range(-left_out, left_out + 1, 2):
            down = furthest.get(diagonal + 1, -1)
            right = furthest.get(diagonal - 1, -1) + 1
            i = down if diagonal == -left_out or (diagonal != left_out and right <= down) else right
            start, j = i, i - diagonal
            while i < len(a) and j < len(b) and a[i] == b[j]:
                i, j = i + 1, j + 1
            furthest[diagonal] = i
            steps += 1 + i - start
            if i >= len(a) and j >= len(b):
                return _walk_back(rounds, len(a), len(b)), steps
            if steps > allowance:
                return None, steps
    return None, steps


def _walk_back(rounds: Sequence[dict[int, int]], i: int, j: int) -> list[tuple[int, int]]:
    """Follow the rounds of the search back to the start and collect the equal pairs on the way."""
    pairs: list[tuple[int, int]] = []
    for left_out in range(len(rounds) - 1, -1, -1):
        before = rounds[left_out]
        diagonal = i - j
        down = before.get(diagonal + 1, -1)
        right = before.get(diagonal - 1, -1) + 1
        came_down = diagonal == -left_out or (diagonal != left_out and right <= down)
        start = down if came_down else right
        while i > max(start, 0) and j > 0:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        if came_down:
            j = start - diagonal - 1
            i = start
        else:
            i = start - 1
            j = start - diagonal
    return pairs[::-1]
