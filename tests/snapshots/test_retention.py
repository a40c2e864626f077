"""Which snapshots go: thinning keeps its promises for any arrivals, rules express the systems'."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from journal.errors import UsageError
from snapshots.retention import ANY_TYPE, Candidate, Rule, expired, thin

GAPS = st.lists(st.integers(1, 20) | st.sampled_from([1, 1000]), min_size=1, max_size=150)
DAY_MS = 86_400_000


def widest(seqs: list[int]) -> int:
    return max(b - a for a, b in pairwise([0, *seqs]))


# --- thinning ------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(GAPS, st.integers(1, 12))
def test_snapshots_that_come_one_by_one_stay_even_and_the_newer_half_stays_dense(
    gaps: list[int], keep: int
) -> None:
    taken: list[int] = []
    kept: list[int] = []
    for seq in accumulate(gaps):
        taken.append(seq)
        kept.append(seq)
        gone = thin(kept, keep)
        assert len(gone) == max(0, len(kept) - keep)
        assert len(gone) <= 1
        assert gone <= set(kept)
        kept = [each for each in kept if each not in gone]
        dense = min(len(kept), keep // 2 + 1)
        assert kept[-dense:] == taken[-dense:]
        assert widest(kept) <= max(widest(taken), 4 * seq / keep)


@settings(max_examples=60)
@given(GAPS, st.integers(1, 40))
@example([1] * 150, 1)
def test_thinning_many_at_once_keeps_the_same_promises(gaps: list[int], keep: int) -> None:
    taken = list(accumulate(gaps))
    kept = sorted(set(taken) - thin(reversed(taken), keep))
    assert len(kept) == min(len(taken), keep)
    assert kept[-1] == taken[-1]
    dense = min(len(kept), keep // 2 + 1)
    assert kept[-dense:] == taken[-dense:]
    assert widest(kept) <= max(widest(taken), 4 * taken[-1] / keep)
    assert thin(kept, keep) == set()


def test_a_removal_that_a_crash_prevented_is_made_the_next_time() -> None:
    seqs = list(range(10, 210, 10))
    gone = thin(seqs, 10)
    done = set(sorted(gone)[:4])
    left = set(seqs) - done
    kept = left - thin(left, 10)
    assert len(kept) == 10
    assert widest(sorted(kept)) <= 4 * 200 / 10


def test_a_long_even_history_is_kept_within_twice_to_four_times_the_even_gap() -> None:
    kept: list[int] = []
    for seq in range(100, 100 * 1500, 100):
        kept.append(seq)
        kept = sorted(set(kept) - thin(kept, 50))
    assert len(kept) == 50
    assert widest(kept) <= 4 * kept[-1] / 50
    older = [b - a for a, b in pairwise([0, *kept[:25]])]
    assert max(older) <= 4 * min(older)


def test_of_few_none_goes_and_none_can_be_kept_only_by_asking_for_one() -> None:
    assert thin([], 1) == set()
    assert thin([5], 1) == set()
    assert thin([5, 9], 1) == {5}
    assert thin([9, 5, 9, 5], 2) == set()
    with pytest.raises(UsageError, match="the newest one always stays"):
        thin([5], 0)


def test_ten_thousand_are_thinned_to_a_thousand_in_one_short_walk() -> None:
    seqs = range(1, 10_001)
    kept = sorted(set(seqs) - thin(seqs, 1000))
    assert len(kept) == 1000
    assert widest(kept) <= 40


# --- rules by type -------------------------------------------------------------------------------

TEN_AND_FIVE_RESETS = {ANY_TYPE: Rule(keep_newest=10), "reset": Rule(min_keep=5)}


@settings(max_examples=80)
@given(st.lists(st.sampled_from(["reset", "phase-transition", "pre-compact"]), max_size=40))
def test_the_ten_newest_and_at_least_five_resets_are_kept(types: list[str]) -> None:
    found = [Candidate(f"{i}", kind, time_ms=i) for i, kind in enumerate(types)]
    newest_first = found[::-1]
    kept = newest_first[:10]
    missing = 5 - sum(each.type == "reset" for each in kept)
    older_resets = [each for each in newest_first[10:] if each.type == "reset"]
    kept += older_resets[: max(0, missing)]
    gone = expired(found, TEN_AND_FIVE_RESETS, now_ms=0)
    assert {each.name for each in found} - gone == {each.name for each in kept}


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        ({}, "abcdef"),
        ({"manual": Rule()}, "abcdef"),
        ({"manual": Rule(keep_newest=2)}, "bdef"),
        ({"manual": Rule(keep_newest=0)}, "bd"),
        ({"manual": Rule(max_age_ms=2 * DAY_MS)}, "bdef"),
        ({"manual": Rule(max_age_ms=0)}, "bdf"),
        ({"manual": Rule(max_age_ms=0, min_keep=2)}, "bdef"),
        ({ANY_TYPE: Rule(max_age_ms=DAY_MS)}, "ef"),
        ({ANY_TYPE: Rule(max_age_ms=DAY_MS), "nightly": Rule(min_keep=1)}, "def"),
        ({ANY_TYPE: Rule(min_keep=1), "manual": Rule(keep_newest=0)}, "bdf"),
        ({"manual": Rule(keep_newest=1), "nightly": Rule(keep_newest=1)}, "df"),
    ],
)
def test_one_rule_condemns_and_any_rule_saves(rules: dict[str, Rule], kept: str) -> None:
    types = {"a": "manual", "b": "nightly", "c": "manual", "d": "nightly"}
    found = [
        Candidate(name, types.get(name, "manual"), time_ms=day * DAY_MS)
        for day, name in enumerate("abcdef")
    ]
    gone = expired(found, rules, now_ms=5 * DAY_MS)
    assert "".join(sorted(set("abcdef") - gone)) == kept


def test_of_equal_times_the_highest_seq_is_the_newest() -> None:
    found = [Candidate("b", "t", 5, seq=2), Candidate("a", "t", 5, seq=9), Candidate("c", "t", 4)]
    assert expired(found, {"t": Rule(keep_newest=1)}, now_ms=9) == {"b", "c"}


@pytest.mark.parametrize("key", ["keep_newest", "max_age_ms", "min_keep"])
def test_a_negative_rule_is_refused_by_name(key: str) -> None:
    with pytest.raises(UsageError, match=key):
        Rule(**{key: -1})
