"""The phases of a plan: every step of the graph, the gate, the inventory, the drift check."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from journal.errors import UsageError
from projections.loop_plan import execution as ex
from projections.loop_plan import phases as ph
from projections.loop_plan.schema import PHASES
from projections.loop_plan.states import Json
from tests.loop_plan.life import after, ready_in, says, state_in

VERDICT: Json = {"status": "passed", "score": "1/1", "gaps": []}

# What opens every gate: an inventory that did not fail, a clean drift check, a verdict.
STEPS = {
    ("0", "1"),
    ("1", "2"),
    ("2", "3"),
    ("3", "3b"),
    ("3", "4"),
    ("3b", "4"),
    ("4", "5"),
    ("6", "7a"),
    ("7a", "7b"),
    ("7b", "done"),
}


def open_state(phase: str, **fields: Any) -> Json:
    return ready_in(phase, **{"drift_check": "clean", "verification": VERDICT, **fields})


@pytest.mark.parametrize("to", PHASES)
@pytest.mark.parametrize("here", PHASES)
def test_only_the_steps_of_the_graph_are_taken(here: str, to: str) -> None:
    state = open_state(here)
    ended = here in ("done", "aborted")
    if (here, to) in STEPS or (to == "aborted" and not ended):
        assert after(state, ph.enter_phase(state, to))["current_phase"] == to
        return
    with pytest.raises(UsageError) as caught:
        ph.enter_phase(state, to)
    assert "Allowed" in str(caught.value)
    assert "has ended" in str(caught.value) or f"phase {here}" in str(caught.value)


@pytest.mark.parametrize("name", ["7c", "8", "", "Done", "03"])
def test_phase_that_is_none_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        ph.enter_phase(state_in("0"), name)
    assert says(caught.value, repr(name), "0, 1, 2, 3, 3b, 4, 5, 6, 7a, 7b, done, aborted")


def test_step_that_is_none_says_from_where_to_where_one_may_go() -> None:
    with pytest.raises(UsageError) as caught:
        ph.enter_phase(ready_in("3"), "5")
    assert says(caught.value, "phase 3 → 5", "3b or 4 or aborted")


# --- out of phase 2 ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"rigor": None}, "rigor is null"),
        ({"success_criteria": []}, "success_criteria is empty"),
        ({"must_haves": {"truths": []}}, "must_haves.truths is empty"),
        ({"success_criteria": ["3 pass", "TBD"]}, 'success_criteria[1] "TBD": "TBD" is a plac'),
        ({"must_haves": {"truths": ["it is better"]}}, 'must_haves.truths[0] "it is better"'),
    ],
)
def test_phase_2_is_not_left_forward_before_the_goal_stands(fields: Json, fault: str) -> None:
    state = ready_in("2", **fields)
    with pytest.raises(UsageError) as caught:
        ph.enter_phase(state, "3")
    assert says(caught.value, "phase 2 → 3", fault, "Allowed")


def test_all_faults_of_a_goal_are_said_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        ph.enter_phase(state_in("2"), "3")
    assert says(caught.value, "rigor is null", "success_criteria is empty", "truths is empty")


def test_missing_fields_of_a_file_of_before_count_as_empty() -> None:
    state = state_in("2")
    for name in ("rigor", "success_criteria", "must_haves"):
        del state[name]
    assert len(ph.missing_of_goal(state)) == 3


# --- the gate ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "phase"),
    [("More research", "3"), ("More exploration", "1"), ("More clarification", "2")],
)
def test_choice_for_more_raises_the_iteration_and_leads_back(choice: str, phase: str) -> None:
    state = ready_in("5", iteration=2)
    found = after(state, ph.choose_gate(state, choice))
    assert (found["current_phase"], found["iteration"]) == (phase, 3)
    assert found["loop_gate_history"][-1] == {
        "iteration": 2,
        "choice": choice,
        "timestamp": found["last_active_at"],
    }
    assert found["exit_signal"] is None


@pytest.mark.parametrize(
    ("choice", "source", "signal"),
    [("Ship it", "gate", "Ship it"), ("ship IT", "gate", "Ship it"), ("go", "keyword", "go")],
)
def test_choice_to_ship_leads_to_6_and_says_what_triggered_it(
    choice: str, source: str, signal: str
) -> None:
    state = ready_in("5", drift_check={"status": "drift", "report": {"old": 1}})
    found = after(state, ph.choose_gate(state, choice, source))
    assert (found["current_phase"], found["iteration"]) == ("6", 1)
    assert (found["exit_signal"], found["exit_signal_source"]) == (signal, source)
    assert found["loop_gate_history"][-1]["choice"] == signal
    assert found["drift_check"] is None, "it is null until phase 6 has run"


@pytest.mark.parametrize(
    ("choice", "source", "says_what"),
    [
        ("More coffee", "gate", '"More research"'),
        ("", "gate", "choice"),
        ("go", "abort", "journal plan abort"),
        ("go", "drift_override", "journal plan override"),
    ],
)
def test_choice_that_is_none_is_refused(choice: str, source: str, says_what: str) -> None:
    with pytest.raises(UsageError) as caught:
        ph.choose_gate(ready_in("5"), choice, source)
    assert says_what in str(caught.value)


@pytest.mark.parametrize("phase", [phase for phase in PHASES if phase != "5"])
def test_gate_stands_in_phase_5_only(phase: str) -> None:
    with pytest.raises(UsageError):
        ph.choose_gate(ready_in(phase), "Ship it")


# --- the inventory -------------------------------------------------------------------------------


def test_failed_inventory_stays_with_its_error_until_it_is_settled() -> None:
    state = ready_in("3b")
    failed = after(state, ph.record_inventory(state, "failed", "no tool answered"))
    assert (failed["current_phase"], failed["3b_status"]) == ("3b", "failed")
    assert failed["3b_error"] == "no tool answered"
    with pytest.raises(UsageError) as caught:
        ph.enter_phase(failed, "4")
    assert says(caught.value, "no tool answered", "--choose retry")
    done = after(failed, ph.record_inventory(failed, "ok"))
    assert done["current_phase"] == "4"
    assert "3b_status" not in done
    assert "3b_error" not in done


def test_inventory_that_went_well_goes_on_to_4() -> None:
    state = ready_in("3b")
    assert after(state, ph.record_inventory(state, "ok"))["current_phase"] == "4"


@pytest.mark.parametrize(
    ("phase", "result", "error"),
    [("3b", "failed", ""), ("3b", "maybe", ""), ("3b", "ok", "but"), ("3", "ok", "")],
)
def test_inventory_that_says_nothing_sensible_is_refused(
    phase: str, result: str, error: str
) -> None:
    with pytest.raises(UsageError, match="Allowed"):
        ph.record_inventory(ready_in(phase), result, error)


# --- drift ---------------------------------------------------------------------------------------


def test_phase_6_is_not_left_before_its_check_has_run() -> None:
    for to in ("5", "7a"):
        with pytest.raises(UsageError, match="drift_check is null"):
            ph.enter_phase(ready_in("6"), to)


def test_clean_check_leads_to_7a_only() -> None:
    state = ready_in("6")
    clean = after(state, ex.check_drift(state, "clean"))
    assert clean["drift_check"] == "clean"
    with pytest.raises(UsageError, match="only where there is drift"):
        ph.enter_phase(clean, "5")
    assert after(clean, ph.enter_phase(clean, "7a"))["current_phase"] == "7a"


@pytest.mark.parametrize("wrapped", [False, True])
def test_drift_leads_back_to_5_where_the_loop_was_not_left(wrapped: bool) -> None:
    report = {"scope": "grew"}
    state = ready_in("6", exit_signal="Ship it", exit_signal_source="gate")
    given = {"status": "drift", "report": report} if wrapped else report
    found = after(state, ex.check_drift(state, given))
    assert found["drift_check"] == {"status": "drift", "report": report}
    with pytest.raises(UsageError, match="nobody has overridden it"):
        ph.enter_phase(found, "7a")
    back = after(found, ph.enter_phase(found, "5"))
    assert (back["exit_signal"], back["exit_signal_source"]) == (None, None)


def test_overridden_drift_leads_to_7a() -> None:
    state = ready_in("6", drift_check={"status": "drift", "report": {"a": 1}})
    found = after(state, ex.override_drift(state, "scope", "agreed with the team"))
    assert found["drift_check_overrides"] == [
        {
            "timestamp": found["last_active_at"],
            "category": "scope",
            "justification": "agreed with the team",
        }
    ]
    assert found["exit_signal"] == "Ship anyway"
    assert found["exit_signal_source"] == "drift_override"
    assert after(found, ph.enter_phase(found, "7a"))["current_phase"] == "7a"


def test_override_of_an_earlier_round_opens_nothing() -> None:
    state = ready_in("6", drift_check={"status": "drift", "report": {"a": 1}})
    state = after(state, ex.override_drift(state, "scope", "agreed"))
    state = after(state, ph.enter_phase(state, "5"))
    state = after(state, ph.choose_gate(state, "Ship it"))
    state = after(state, ex.check_drift(state, {"b": 2}))
    with pytest.raises(UsageError, match="nobody has overridden it"):
        ph.enter_phase(state, "7a")


@pytest.mark.parametrize("report", [{}, [], "drift", None, 1, {"status": "drift"}])
def test_drift_without_a_report_is_refused(report: Any) -> None:
    with pytest.raises(UsageError, match="drift_check"):
        ex.check_drift(ready_in("6"), report)


@pytest.mark.parametrize("found", [None, "clean"])
def test_override_without_a_drift_is_refused(found: Any) -> None:
    with pytest.raises(UsageError, match="no drift to override"):
        ex.override_drift(ready_in("6", drift_check=found), "scope", "agreed")


@pytest.mark.parametrize(("category", "why"), [("", "agreed"), ("scope", " ")])
def test_override_says_which_and_why(category: str, why: str) -> None:
    state = ready_in("6", drift_check={"status": "drift", "report": {"a": 1}})
    with pytest.raises(UsageError, match="it is empty"):
        ex.override_drift(state, category, why)


# --- the end -------------------------------------------------------------------------------------


def test_execution_begins_once_without_a_verdict_of_before() -> None:
    state = ready_in("7a", verification=VERDICT)
    found = after(state, ex.start_execution(state, "log.md"))
    assert found["current_phase"] == "7b"
    assert found["execution"]["started_at"] == found["last_active_at"]
    assert found["execution"]["execution_log_path"] == "log.md"
    assert found["verification"] == {"status": None, "score": None, "gaps": []}


@pytest.mark.parametrize(
    "verdict", [{"status": None}, {"status": "gaps_found"}, {"status": "human_needed"}, {}]
)
def test_plan_without_approval_does_not_ship(verdict: Json) -> None:
    state = ready_in("7b", verification=verdict)
    for command in (ex.ship, lambda state: ph.enter_phase(state, "done")):
        with pytest.raises(UsageError, match="cannot ship"):
            command(state)


@pytest.mark.parametrize("signed", [False, True])
def test_approved_plan_ships_in_one_event(signed: bool) -> None:
    state = ready_in("7b", verification=VERDICT)
    if signed:
        state = ready_in("7b", verification={**VERDICT, "status": "human_needed"})
        state = after(state, ex.sign_off(state, "Ann", "saw it"))
        assert state["verification"]["signed_off"] == {
            "by": "Ann",
            "at": state["last_active_at"],
            "note": "saw it",
        }
    events = ex.ship(state)
    assert len(events) == 1
    found = after(state, events)
    assert (found["current_phase"], found["completion_state"]) == ("done", "shipped")
    assert found["execution"]["completed_at"] == found["last_active_at"]


@pytest.mark.parametrize("phase", [p for p in PHASES if p not in ("done", "aborted")])
def test_plan_is_aborted_from_any_phase(phase: str) -> None:
    state = ready_in(phase)
    found = after(state, ex.abort(state))
    assert (found["current_phase"], found["completion_state"]) == ("aborted", "aborted")
    assert (found["exit_signal"], found["exit_signal_source"]) == ("/abort", "abort")


CHANGES: dict[str, Callable[[Json], list[msgspec.Struct]]] = {
    "phase": lambda state: ph.enter_phase(state, "1"),
    "gate": lambda state: ph.choose_gate(state, "Ship it"),
    "inventory": lambda state: ph.record_inventory(state, "ok"),
    "drift": lambda state: ex.check_drift(state, "clean"),
    "ship": ex.ship,
    "task": lambda state: ex.complete_task(state, "T1"),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize(
    "fields",
    [
        {"completion_state": "shipped"},
        {"completion_state": "aborted"},
        {"completion_state": "abandoned"},
        {"current_phase": "done"},
        {"current_phase": "aborted"},
    ],
    ids=str,
)
def test_plan_that_has_ended_or_was_given_up_is_not_changed(name: str, fields: Json) -> None:
    with pytest.raises(UsageError) as caught:
        CHANGES[name](ready_in("0", **fields))
    assert "journal plan resume" in str(caught.value)


def test_every_event_moves_both_times_of_the_last_write() -> None:
    state = ready_in("0", last_update_at="2020-01-01", last_active_at="2020-01-01")
    found = after(state, ph.enter_phase(state, "1"))
    assert found["last_update_at"] == found["last_active_at"] != "2020-01-01"
