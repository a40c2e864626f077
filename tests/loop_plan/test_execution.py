"""Tasks, stages and verdicts."""

from collections.abc import Callable
from typing import Any

import pytest

from journal.errors import UsageError
from projections.loop_plan import execution as ex
from projections.loop_plan.states import Json
from tests.loop_plan.life import after, ready_in, says

STAGES: list[Json] = [
    {"id": f"s{number}", "exit_criteria": [], "verification": None} for number in (1, 2, 3)
]
PASSED: Json = {"status": "passed", "score": "2/2", "gaps": []}
HUMAN: Json = {"status": "human_needed", "gaps": [{"truth": "looks right"}]}


def in_stages(*verdicts: Json | None) -> Json:
    """A plan in 7b with three stages, of which the first ones have verdicts."""
    stages = [
        {**stage, "verification": verdict}
        for stage, verdict in zip(STAGES, [*verdicts, None, None, None], strict=False)
    ]
    return ready_in("7b", stages=stages)


def test_task_is_completed_once() -> None:
    state = ready_in("7b")
    state = after(state, ex.complete_task(state, "T1"))
    assert ex.complete_task(state, "T1") == []
    state = after(state, ex.complete_task(state, "T2"))
    assert state["execution"]["tasks_completed"] == ["T1", "T2"]


def test_task_without_a_name_is_refused() -> None:
    with pytest.raises(UsageError, match="task: it is empty"):
        ex.complete_task(ready_in("7b"), "")


SIGNED: Json = {**HUMAN, "signed_off": {"by": "Ann", "at": "2026-03-01", "note": "ok"}}


@pytest.mark.parametrize(
    ("verdict", "opens"),
    [
        (None, False),
        ({"status": None}, False),
        ({"status": "gaps_found"}, False),
        (HUMAN, False),
        (PASSED, True),
        (SIGNED, True),
    ],
)
def test_next_stage_begins_only_after_the_one_before_was_approved(
    verdict: Json | None, opens: bool
) -> None:
    state = in_stages(verdict)
    if opens:
        found = after(state, ex.start_stage(state, "s2"))
        assert found["stages"][1]["started_at"] == found["last_active_at"]
        return
    with pytest.raises(UsageError) as caught:
        ex.start_stage(state, "s2")
    assert says(caught.value, "'s2' cannot begin", "'s1'", "signed off")


def test_stage_after_one_that_was_passed_over_does_not_begin() -> None:
    with pytest.raises(UsageError, match="'s2' is not verified yet"):
        ex.start_stage(in_stages(PASSED), "s3")


def test_first_stage_begins_and_once_only() -> None:
    state = in_stages()
    state = after(state, ex.start_stage(state, "s1"))
    assert ex.start_stage(state, "s1") == []


def test_stage_that_is_none_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="s1, s2, s3"):
        ex.start_stage(in_stages(), "s9")
    with pytest.raises(UsageError, match="no stages"):
        ex.start_stage(ready_in("7b"), "s1")


def test_stage_is_verified_after_its_start_and_the_newest_verdict_counts() -> None:
    state = in_stages()
    with pytest.raises(UsageError, match="was not started"):
        ex.verify_stage(state, "s1", PASSED)
    state = after(state, ex.start_stage(state, "s1"))
    state = after(state, ex.verify_stage(state, "s1", {"status": "gaps_found", "gaps": ["x"]}))
    state = after(state, ex.verify_stage(state, "s1", PASSED))
    assert state["stages"][0]["verification"] == PASSED


def test_stage_that_only_a_person_can_judge_is_signed_off() -> None:
    state = in_stages()
    state = after(state, ex.start_stage(state, "s1"))
    with pytest.raises(UsageError, match="nothing to sign"):
        ex.sign_off_stage(state, "s1", "Ann", "ok")
    state = after(state, ex.verify_stage(state, "s1", HUMAN))
    state = after(state, ex.sign_off_stage(state, "s1", "Ann", "ok"))
    assert state["stages"][0]["verification"]["signed_off"]["by"] == "Ann"
    state = after(state, ex.verify_stage(state, "s1", HUMAN))
    assert "signed_off" not in state["stages"][0]["verification"], "of another verdict"


@pytest.mark.parametrize("status", [None, "passed", "gaps_found"])
def test_plan_that_needs_no_person_is_not_signed(status: str | None) -> None:
    state = ready_in("7b", verification={"status": status, "score": None, "gaps": []})
    with pytest.raises(UsageError, match="nothing to sign"):
        ex.sign_off(state, "Ann", "ok")


@pytest.mark.parametrize(("by", "note"), [("", "ok"), ("Ann", "")])
def test_signature_without_name_or_note_is_refused(by: str, note: str) -> None:
    with pytest.raises(UsageError, match="it is empty"):
        ex.sign_off(ready_in("7b", verification=HUMAN), by, note)
    with pytest.raises(UsageError, match="it is empty"):
        ex.sign_off_stage(in_stages(HUMAN), "s1", by, note)


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ({}, "needs one"),
        ({"status": None}, "needs one"),
        ({"status": "ok"}, '"passed"'),
        ({"status": "passed", "score": "all"}, "4/5"),
        ({"status": "passed", "gaps": "none"}, "gaps"),
        ({"status": "passed", "mood": 1}, "mood"),
        ({**SIGNED}, "sign-off"),
        ([], "verification"),
        ("passed", "verification"),
    ],
)
def test_verdict_that_is_none_is_refused(verdict: Any, said: str) -> None:
    runs: list[Callable[[], object]] = [
        lambda: ex.record_verification(ready_in("7b"), verdict),
        lambda: ex.verify_stage(in_stages(), "s1", verdict),
    ]
    for run in runs:
        with pytest.raises(UsageError) as caught:
            run()
        assert said in str(caught.value)


@pytest.mark.parametrize("phase", ["0", "2", "5", "6", "7a"])
def test_what_belongs_to_the_execution_is_refused_before_it(phase: str) -> None:
    state = {**in_stages(PASSED), "current_phase": phase}
    runs: list[Callable[[], object]] = [
        lambda: ex.complete_task(state, "T1"),
        lambda: ex.start_stage(state, "s1"),
        lambda: ex.verify_stage(state, "s1", PASSED),
        lambda: ex.sign_off_stage(state, "s1", "Ann", "ok"),
        lambda: ex.record_verification(state, PASSED),
        lambda: ex.sign_off(state, "Ann", "ok"),
        lambda: ex.ship(state),
    ]
    for run in runs:
        with pytest.raises(UsageError, match="Allowed: phase 7b"):
            run()
