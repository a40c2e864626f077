"""Phases: which follows which, what entering one does, and what it needs."""

from pathlib import Path

import pytest

from journal.errors import UsageError
from projections.agloop.phases import FOLLOWING
from projections.agloop.schema import PHASES
from tests.agloop.life import (
    OBJECTION,
    begin,
    executing,
    files,
    finish,
    full_state,
    put_state,
    read_log,
    read_state,
    reopen,
    task,
    write_plan,
)

TABLE = {
    "init": {"research"},
    "research": {"plan"},
    "plan": {"critique"},
    "critique": {"execute", "plan"},
    "execute": {"verify", "plan"},
    "verify": {"execute", "complete", "plan"},
    "complete": set(),
}


def test_the_table_of_phases_is_the_one_decided() -> None:
    assert {phase: set(found) for phase, found in FOLLOWING.items()} == TABLE


@pytest.mark.parametrize("phase", PHASES)
def test_every_step_outside_of_the_table_is_refused_with_what_is_allowed(
    tmp_path: Path, phase: str
) -> None:
    put_state(tmp_path, full_state(current_phase=phase))
    write_plan(tmp_path)
    with reopen(tmp_path) as loop:
        before = files(tmp_path)
        for wanted in [*PHASES, "rest", ""]:
            if wanted in TABLE[phase]:
                continue
            with pytest.raises(UsageError, match="allowed: ") as raised:
                loop.enter_phase(wanted)
            assert raised.value.key == "phase"
        assert files(tmp_path) == before


@pytest.mark.parametrize("phase", [one for one in PHASES if TABLE[one]])
def test_every_step_of_the_table_is_taken_and_remembered(tmp_path: Path, phase: str) -> None:
    for wanted in sorted(TABLE[phase]):
        place = tmp_path / wanted
        place.mkdir()
        put_state(place, full_state(current_phase=phase, iteration=1))
        write_plan(place)
        with reopen(place) as loop:
            loop.enter_phase(wanted)
            assert loop.state["current_phase"] == wanted
            assert loop.state["phase_history"][-1]["phase"] == wanted


def test_entering_a_phase_closes_the_last_entry_and_opens_one(tmp_path: Path) -> None:
    with begin(tmp_path, "research", "plan") as loop:
        history = loop.state["phase_history"]
    first, second = history
    assert (first["phase"], second["phase"]) == ("research", "plan")
    assert first["exited_at"] == second["entered_at"]
    assert second["exited_at"] is None
    assert second["entered_at"] == read_state(tmp_path)["last_action"]["timestamp"]


def test_leaving_init_needs_a_feature_name(tmp_path: Path) -> None:
    with begin(tmp_path, feature="") as loop:
        with pytest.raises(UsageError, match="feature_name is empty"):
            loop.enter_phase("research")
        loop.set_feature("Named")
        loop.enter_phase("research")


def test_planning_anew_forgets_objections_and_counts_from_one(tmp_path: Path) -> None:
    for phase in ("research", "execute", "verify"):
        place = tmp_path / phase
        place.mkdir()
        kept = [{**OBJECTION, "iteration": 2, "response": None, "resolved": False}]
        put_state(place, full_state(current_phase=phase, iteration=3, previous_objections=kept))
        write_plan(place)
        with reopen(place) as loop:
            loop.enter_phase("plan")
            assert loop.state["iteration"] == 1
            assert loop.state["previous_objections"] == []


def test_critique_sends_back_twice_and_then_a_person_decides(tmp_path: Path) -> None:
    with begin(tmp_path, "research", "plan") as loop:
        write_plan(tmp_path)
        loop.adopt_plan()
        for iteration in (2, 3):
            loop.enter_phase("critique")
            loop.raise_objection(OBJECTION)
            loop.enter_phase("plan")
            assert loop.state["iteration"] == iteration
        assert len(loop.state["previous_objections"]) == 2
        loop.enter_phase("critique")
        before = files(tmp_path)
        with pytest.raises(UsageError, match="iteration is 3, the last one") as raised:
            loop.enter_phase("plan")
        assert "--user-decision" in raised.value.advice
        assert files(tmp_path) == before
        loop.enter_phase("plan", user_decision="once more, without caching")
        assert loop.state["iteration"] == 3
        assert len(loop.state["previous_objections"]) == 2
    decided = [entry for entry in read_log(tmp_path) if entry["action"] == "user_decided"]
    assert [entry["input_summary"] for entry in decided] == ["once more, without caching"]


def test_a_decision_where_none_is_asked_for_is_refused(tmp_path: Path) -> None:
    with begin(tmp_path, "research") as loop, pytest.raises(UsageError, match="decision is for"):
        loop.enter_phase("plan", user_decision="why not")


def test_a_phase_for_a_task_makes_it_the_current_one(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        loop.enter_phase("verify", task_id="task-001")
        assert loop.state["current_task_id"] == "task-001"
        assert loop.state["last_action"]["task_id"] == "task-001"
        with pytest.raises(UsageError, match="no task 'task-404'; tasks: task-001"):
            loop.enter_phase("execute", task_id="task-404")
        finish(loop, "task-001")
        with pytest.raises(UsageError, match="complete has no current task"):
            loop.enter_phase("complete", task_id="task-001")


def test_complete_waits_for_every_task_and_clears_task_and_flag(tmp_path: Path) -> None:
    with executing(tmp_path, task(1), task(2)) as loop:
        finish(loop, "task-001")
        loop.start_task("task-002")
        loop.enter_phase("verify")
        with pytest.raises(UsageError, match=r"left: task-002 \(in_progress\)"):
            loop.enter_phase("complete")
        loop.fail_task("task-002", "no such API")
        loop.engine.append("stop_blocked", {"reason": "one task left"})
        loop.enter_phase("complete", agent="coordinator")
        state = loop.state
    assert state["current_task_id"] is None
    assert state["stop_hook_active"] is False


@pytest.mark.parametrize("phase", PHASES)
def test_a_reset_leads_back_to_init_from_any_phase_and_keeps_the_history(
    tmp_path: Path, phase: str
) -> None:
    history = [{"phase": phase, "entered_at": "2026-03-01T09:00:00Z", "exited_at": None}]
    put_state(
        tmp_path,
        {
            **full_state(
                current_phase=phase, phase_history=history, iteration=2, retry_count={"task-1": 2}
            ),
            "mine": 1,
        },
    )
    plan = write_plan(tmp_path)
    text = plan.read_bytes()
    with reopen(tmp_path) as loop:
        loop.reset(reason="another feature", agent="coordinator")
        state = loop.state
    found = state["phase_history"]
    assert [entry["phase"] for entry in found] == [phase, "init"]
    assert found[0]["exited_at"] == found[1]["entered_at"]
    assert state["last_action"]["action"] == "reset"
    assert state["mine"] == 1
    fresh = full_state(feature_name="")
    rest = {k: v for k, v in state.items() if k not in ("phase_history", "last_action", "mine")}
    assert rest == {k: v for k, v in fresh.items() if k in rest}
    assert plan.read_bytes() == text
