"""A plan in short."""

import pytest

from projections.loop_plan.phases import GATE
from projections.loop_plan.schema import PHASES
from projections.loop_plan.states import Json
from projections.loop_plan.summary import find_next, summarize
from tests.loop_plan.life import DAY_MS, SLUG, START_MS, STATEMENT, ready_in, state_in


def test_summary_says_where_a_plan_stands() -> None:
    verdict: Json = {"status": "human_needed", "score": None, "gaps": []}
    state = ready_in(
        "7b",
        verification=verdict,
        stages=[{"id": "s1", "verification": verdict, "started_at": "2026-03-01"}],
    )
    found = summarize(state, START_MS + 8 * DAY_MS)
    assert (found.slug, found.task_statement, found.phase) == (SLUG, STATEMENT, "7b")
    assert (found.kind, found.idle_days) == ("stalled-7+", 8.0)
    assert found.stages[0].approval == "is human_needed and not signed off"
    assert found.verification == "human_needed"


def test_summary_of_phase_2_names_what_is_missing() -> None:
    found = summarize(state_in("2", rigor="full"), START_MS)
    assert found.missing == ["success_criteria is empty", "must_haves.truths is empty"]
    assert found.next == [f"journal plan goal {SLUG} FILE"]


@pytest.mark.parametrize("phase", PHASES)
def test_there_is_always_a_way_on(phase: str) -> None:
    for state in (state_in(phase), ready_in(phase), ready_in(phase, drift_check="clean")):
        assert all(SLUG in words for words in find_next(state))
        assert find_next(state)


@pytest.mark.parametrize(
    ("state", "first"),
    [
        (state_in("2"), "rigor"),
        (state_in("3b", **{"3b_status": "failed"}), "resume"),
        (ready_in("4", completion_state="abandoned"), "resume"),
        (ready_in("6"), "drift"),
        (ready_in("6", drift_check="clean"), "phase"),
        (ready_in("7b", verification={"status": "passed"}), "ship"),
        (ready_in("done"), "resume"),
    ],
)
def test_next_command_fits_the_state(state: Json, first: str) -> None:
    assert find_next(state)[0].startswith(f"journal plan {first} {SLUG}")


def test_gate_offers_its_four_choices() -> None:
    assert len(find_next(ready_in("5"))) == len(GATE)
