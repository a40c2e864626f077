"""Taking a plan up again."""

from typing import Any

import pytest

from journal.errors import UsageError
from projections.loop_plan.resuming import announce, ask, resume
from projections.loop_plan.states import Json, new_state
from tests.loop_plan.life import SLUG, STATEMENT, after, ready_in, says, state_in

FAILED: Json = {"3b_status": "failed", "3b_error": "no tool answered"}


def test_announcement_names_iteration_phase_and_last_action() -> None:
    state = state_in("5", iteration=3)
    assert announce(state) == (f"Resuming {SLUG} from iteration 3, phase 5. Last action: none yet.")
    state["loop_gate_history"] = [{"choice": "More research"}, {"choice": "More clarification"}]
    assert announce(state).endswith("Last action: More clarification.")


def test_question_offers_what_is_allowed() -> None:
    assert "Resume from phase 5, restart the current iteration, or start fresh?" in ask(
        state_in("5")
    )
    assert "retry|skip" in ask(state_in("3b", **FAILED))
    assert "no tool answered" in ask(state_in("3b", **FAILED))
    assert "--choose fresh" in ask(state_in("done", completion_state="shipped"))


def test_resume_goes_on_in_the_phase_and_revives_an_abandoned_plan() -> None:
    state = ready_in("4", iteration=2)
    found = after(state, resume(state, "resume"))
    assert (found["current_phase"], found["iteration"]) == ("4", 2)
    state["completion_state"] = "abandoned"
    assert after(state, resume(state, "resume"))["completion_state"] == "active"
    assert after(state, resume(state, "restart"))["completion_state"] == "active"


@pytest.mark.parametrize("phase", ["0", "3", "5", "6", "7b"])
def test_restart_goes_to_phase_1_of_the_same_iteration(phase: str) -> None:
    state = ready_in(phase, iteration=2, exit_signal=None)
    if phase in ("6", "7b"):
        state |= {"exit_signal": "Ship it", "exit_signal_source": "gate"}
    found = after(state, resume(state, "restart"))
    assert (found["current_phase"], found["iteration"]) == ("1", 2)
    assert (found["exit_signal"], found["exit_signal_source"]) == (None, None)
    assert found["success_criteria"] == state["success_criteria"]


def test_fresh_begins_anew_and_keeps_name_and_statement() -> None:
    state = ready_in("7b", iteration=4, note="unknown", created_at="2020-01-01")
    found = after(state, resume(state, "fresh", backup="x.bak"))
    assert found == new_state(SLUG, STATEMENT, state["plan_path"], found["created_at"])
    assert found["created_at"] == found["last_active_at"] != "2020-01-01"
    assert (found["current_phase"], found["iteration"], found["rigor"]) == ("0", 1, None)


def test_failed_inventory_is_retried_or_skipped() -> None:
    state = state_in("3b", **FAILED)
    retried = after(state, resume(state, "retry"))
    assert retried["current_phase"] == "3b"
    skipped = after(state, resume(state, "skip"))
    assert skipped["current_phase"] == "4"
    for found in (retried, skipped, after(state, resume(state, "restart"))):
        assert not FAILED.keys() & found.keys()


def test_failed_inventory_is_settled_before_the_plan_goes_on() -> None:
    with pytest.raises(UsageError) as caught:
        resume(state_in("3b", **FAILED), "resume")
    assert says(caught.value, "no tool answered", "retry, skip, restart, fresh")


@pytest.mark.parametrize("choice", ["retry", "skip"])
@pytest.mark.parametrize(("phase", "fields"), [("3b", {}), ("4", FAILED), ("4", {})])
def test_choice_for_a_failed_inventory_is_refused_where_none_failed(
    choice: str, phase: str, fields: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match="resume, restart, fresh"):
        resume(state_in(phase, **fields), choice)


@pytest.mark.parametrize("choice", ["", "again", "Resume"])
def test_choice_that_is_none_is_refused(choice: str) -> None:
    with pytest.raises(UsageError, match="resume, restart, fresh, retry, skip"):
        resume(state_in("4"), choice)


@pytest.mark.parametrize(
    "fields",
    [
        {"current_phase": "done"},
        {"current_phase": "aborted"},
        {"completion_state": "shipped"},
        {"completion_state": "aborted"},
    ],
)
def test_plan_that_has_ended_is_only_started_afresh(fields: Json) -> None:
    state = ready_in("7b", **fields)
    for choice in ("resume", "restart"):
        with pytest.raises(UsageError, match="--choose fresh"):
            resume(state, choice)
    assert after(state, resume(state, "fresh"))["completion_state"] == "active"
