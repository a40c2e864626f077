"""Which snapshots go: the policy's own are thinned, those asked for go by rules for their types.

Thinning. While there are more than `keep`, one of the older half goes: the one that leaves the
smallest gap between its neighbours (of equal ones the oldest). Before the first snapshot stands
seq 0, from which everything can be folded.

I1  At most `keep` are left. The newest is never removed; nor is any of the newer half, so that
    recent history stays as dense as it was taken.
I2  No gap is wider than the widest gap at which snapshots were taken, or four times the even gap
    (the newest seq / keep), whichever is more.
    For a gap is one at which they were taken, or was left by a removal. Of n > keep snapshots
    m = n // 2 >= keep / 2 may go; their m pairs of adjoining gaps cover no gap more than twice, so
    they sum up to at most twice the newest seq, and the least of them is at most 2 / m of it:
    four times the even gap of that time, and even gaps only grow.
I3  Snapshots that come one by one cause one removal each, and the outcome depends only on which
    are there: a removal that a crash prevented is made the next time.

Rules by type. I4: a snapshot expires if at least one rule condemns it and no rule saves it.

It removes nothing itself; see `snapshots.store`.
"""

import heapq
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from journal.errors import UsageError

ANY_TYPE = "*"
"""The key of the rule that looks at the snapshots of all types together."""


class Candidate(NamedTuple):
    """A snapshot that a rule judges: its file name, its type, and its time in ms since 1970."""

    name: str
    type: str
    time_ms: int
    seq: int = 0


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long the snapshots of a type stay.

    Condemned are those after the newest `keep_newest`, and those older than `max_age_ms` (None:
    no limit). Saved from this and every other rule are the newest `min_keep`.

    "The 10 most recent of any type, and older `reset` ones until 5 of these are kept" is

        {ANY_TYPE: Rule(keep_newest=10), "reset": Rule(min_keep=5)}
    """

    keep_newest: int | None = None
    max_age_ms: int | None = None
    min_keep: int = 0

    def __post_init__(self) -> None:
        for key in ("keep_newest", "max_age_ms", "min_keep"):
            if (getattr(self, key) or 0) < 0:
                raise UsageError(f"{key} is negative", key=key, advice="Use 0 or more.")


def thin(seqs: Iterable[int], keep: int) -> set[int]:
    """Return which of the policy's snapshots go so that `keep` (at least 1) stay, evenly spread.

    `seqs` are those of all the policy's snapshots, in any order.
    """
    if keep < 1:
        raise UsageError(
            f"cannot keep {keep} snapshots: the newest one always stays",
            key="snapshots.keep",
            advice="Use 1 or more.",
        )
    at = [0, *sorted(set(seqs))]
    count = len(at) - 1
    if count <= keep:
        return set()
    before = [index - 1 for index in range(len(at))]
    after = [index + 1 for index in range(len(at))]
    heap: list[tuple[int, int]] = []
    removed: set[int] = set()
    offered = 0
    for gone in range(count - keep):
        # The older half of what is left; as snapshots go, it reaches up to newer ones.
        while offered < gone + (count - gone) // 2:
            offered += 1
            heapq.heappush(heap, (at[after[offered]] - at[before[offered]], offered))
        index = _pop_narrowest(heap, at, before, after, removed)
        removed.add(index)
        before[after[index]] = before[index]
        after[before[index]] = after[index]
        for neighbour in (before[index], after[index]):
            if 0 < neighbour <= offered:
                width = at[after[neighbour]] - at[before[neighbour]]
                heapq.heappush(heap, (width, neighbour))
    return {at[index] for index in removed}


def _pop_narrowest(
    heap: list[tuple[int, int]],
    at: list[int],
    before: list[int],
    after: list[int],
    removed: set[int],
) -> int:
    """Take the one that leaves the smallest gap; offers that a removal has outdated are dropped."""
    while True:
        width, index = heapq.heappop(heap)
        if index not in removed and width == at[after[index]] - at[before[index]]:
            return index


def expired(found: Iterable[Candidate], rules: Mapping[str, Rule], *, now_ms: int) -> set[str]:
    """Return the names of those that expire (I4); `rules` maps a type, or `ANY_TYPE`, to its rule.

    The newest is the one with the latest time, of equal times the highest seq. Only what the
    rules are about belongs into `found`: the policy's own, for instance, do not. A caller whose
    newest snapshot has to stay although its time is not the latest takes it out of the answer.
    """
    newest_first = sorted(found, key=lambda each: (each.time_ms, each.seq, each.name), reverse=True)
    condemned: set[str] = set()
    saved: set[str] = set()
    for type_name, rule in rules.items():
        ruled = [each for each in newest_first if type_name in (ANY_TYPE, each.type)]
        saved.update(each.name for each in ruled[: rule.min_keep])
        if rule.keep_newest is not None:
            condemned.update(each.name for each in ruled[rule.keep_newest :])
        if rule.max_age_ms is not None:
            oldest_ms = now_ms - rule.max_age_ms
            condemned.update(each.name for each in ruled if each.time_ms < oldest_ms)
    return condemned - saved
