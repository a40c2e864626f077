"""The benchmark's table: what is met, what is broken, and what a busy moment cannot break."""

from typing import Any

import pytest

from bench import markdown, table
from bench.measures import MEASURES, Measure
from bench.wants import Wanted


def rounds(*costs: tuple[float, float]) -> list[table.Round]:
    """Rounds of two systems, the journal first."""
    return [{"journal": {"value": ours}, "floor": {"value": theirs}} for ours, theirs in costs]


def judged(wanted: Wanted, found: list[table.Round]) -> table.Judged:
    one = table.judge(wanted, found)
    assert one is not None
    return one


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(1.19, "met"), (1.21, "not met"), (1.79, "not met"), (1.81, "BROKEN")]
)
def test_a_ratio_is_broken_only_when_worse_than_wanted_by_more_than_half(
    ratio: float, verdict: str
) -> None:
    assert judged(Wanted("journal", "floor", 1.2), rounds((ratio, 1.0))).verdict == verdict


@pytest.mark.parametrize(("ratio", "verdict"), [(2.9, "not met"), (3.1, "BROKEN"), (1.1, "met")])
def test_what_is_reached_today_is_the_guard_where_it_is_less_than_wanted(
    ratio: float, verdict: str
) -> None:
    wanted = Wanted("journal", "floor", 1.2, today=2.0, why="a reason")
    assert judged(wanted, rounds((ratio, 1.0))).verdict == verdict


def test_the_measured_ratio_is_the_median_of_those_within_the_rounds() -> None:
    one = judged(Wanted("journal", "floor", 1.2), rounds((1, 1), (30, 10), (2, 1)))
    assert one.measured == 2


def test_one_good_round_saves_a_run_in_which_the_machine_was_busy() -> None:
    one = judged(Wanted("journal", "floor", 1.2), rounds((9, 1), (9, 1), (1.1, 1)))
    assert (one.met, one.broken) == (False, False)


def test_a_broken_ratio_is_broken_in_the_best_round_too() -> None:
    assert judged(Wanted("journal", "floor", 1.2), rounds((9, 1), (9, 1), (2, 1))).broken


def test_busy_rounds_count_only_where_there_is_no_other() -> None:
    wanted = Wanted("journal", "floor", 1.2)
    measure = Measure(
        name="m", title="t", unit="us", job="j", systems={}, full={}, quick={}, wanted=(wanted,)
    )
    found = rounds((9, 1), (1, 1), (9, 1))
    some = table.make_line(measure, found, busy=[True, False, True], parameters={})
    assert (some.judged[0].measured, some.busy, len(some.left_out)) == (1, False, 2)
    none = table.make_line(measure, found, busy=[True] * 3, parameters={})
    assert (none.judged[0].measured, none.busy, none.judged[0].broken) == (9, True, False)


def test_what_no_busy_machine_changes_breaks_a_busy_run_too() -> None:
    found = [{"journal": {"value": 40.0}}]
    one = table.judge(Wanted("journal", "", 20), found, busy=True)
    assert one is not None
    assert one.broken


def test_a_difference_is_told_in_its_unit_and_held_to_a_ratio() -> None:
    wanted = Wanted("journal", "floor", 60, beyond=True, today=1.8)
    assert judged(wanted, rounds((150, 100))).met
    far = judged(wanted, rounds((260, 100)))
    assert (far.met, far.measured, far.broken) == (False, 160, False)
    assert judged(wanted, rounds((280, 100))).broken


def test_what_is_only_told_breaks_nothing() -> None:
    assert not judged(Wanted("journal", "floor", 1, told=True), rounds((99, 1))).broken


def test_a_detail_can_be_wanted_by_itself() -> None:
    found = [{"journal": {"value": 1.0, "detail": {"mb": 70.0}}}]
    assert judged(Wanted("journal", "", 80, key="mb"), found).met
    assert judged(Wanted("journal", "", 40, key="mb"), found).broken


def test_a_peer_that_is_missing_leaves_nothing_to_judge() -> None:
    found: list[table.Round] = [{"journal": {"value": 1.0}, "redis": {"missing": "no server"}}]
    assert table.judge(Wanted("journal", "redis", 1), found) is None


def line(found: list[table.Round], *wanted: Wanted) -> table.Line:
    measure = Measure(
        name="m", title="a title", unit="us", job="j", systems={}, full={}, quick={}, wanted=wanted
    )
    return table.make_line(
        measure, found, busy=[False] * len(found), parameters={"events": 1_000_000}
    )


def test_the_text_names_what_is_broken_and_the_missing_peer_with_its_reason() -> None:
    found = rounds((3, 1))
    found[0]["redis"] = {"missing": "no server here"}
    one = line(found, Wanted("journal", "floor", 1.2))
    assert "no server here" in table.text(one)
    said = table.summary([one])
    assert said.startswith("0 of 1 met, 1 broken by more than half")
    assert "m: journal / floor: 3.000" in said


def test_a_measurement_that_failed_is_named_in_the_end() -> None:
    failed: dict[str, Any] = {"missing": "replay FAILED", "failed": True}
    one = line([{"journal": failed, "floor": {"value": 1.0}}], Wanted("journal", "floor", 1.2))
    assert one.judged == []
    assert one.failed == ["journal"]
    assert table.summary([one]).endswith("  m: journal FAILED")


def test_the_markdown_has_a_row_a_measure_and_says_why_something_is_not_met() -> None:
    why = "the reason in words"
    one = line(rounds((2, 1)), Wanted("journal", "floor", 1.2, today=2, why=why))
    about: dict[str, Any] = dict.fromkeys(
        ("command", "cores", "processor", "system", "python", "sqlite", "redis-server"), "x"
    )
    about |= {"eventsourcing": "9", "langgraph-checkpoint-sqlite": "3"}
    rows = markdown.render([one], about).splitlines()
    assert rows[2].startswith("| a title (1,000,000 events), us | 2 | floor 1 | ≤ 1.2 × floor |")
    assert rows[2].endswith(f"| 2 × | not yet: {why} |")


def test_each_measure_wants_only_of_systems_that_it_has_in_either_size() -> None:
    for measure in MEASURES:
        known = {*measure.systems, *(measure.quick_systems or {}), ""}
        for wanted in measure.wanted:
            assert {wanted.system, wanted.other} <= known, (measure.name, wanted)


def test_whatever_is_not_reached_today_says_why() -> None:
    for measure in MEASURES:
        for wanted in measure.wanted:
            assert wanted.beyond or (wanted.today is None) == (not wanted.why), wanted
