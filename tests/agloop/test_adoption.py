"""Adopting plans, and what happens when plan.yaml is gone."""

import json
from pathlib import Path

import pytest

from journal.codec import sha256
from journal.errors import UsageError
from tests.agloop.life import (
    FAIL,
    RESULT,
    actions,
    begin,
    checkpoints,
    executing,
    files,
    finish,
    folder_of,
    full_state,
    put_state,
    read_log,
    read_state,
    reopen,
    state_task,
    task,
    task_of,
    types,
    write_plan,
)


def test_an_adopted_plan_makes_the_tasks_and_the_event_holds_text_and_sha256(
    tmp_path: Path,
) -> None:
    with begin(tmp_path, "research", "plan") as loop:
        path = write_plan(tmp_path)
        report = loop.adopt_plan(agent="planner")
        (event,) = loop.engine.events(types=["plan_adopted"])
        state = loop.state
    assert report.new == ["task-001", "task-002", "task-003"]
    assert report.adopted
    assert event.data["text"] == path.read_text()
    assert event.data["sha256"] == sha256(path.read_bytes())
    assert event.actor == "planner"
    first = state["tasks"][0]
    assert list(first)[:9] == list(state_task(1))
    assert (first["status"], first["result"], first["verification"]) == ("pending", None, None)
    assert first["estimated_effort"] == "small"  # unknown to the state's table, and kept


def test_adopting_the_same_plan_again_makes_no_event(tmp_path: Path) -> None:
    with executing(tmp_path) as loop:
        seq = loop.engine.seq
        assert not loop.adopt_plan().adopted
        assert loop.engine.seq == seq


def test_a_task_keeps_what_is_known_of_it_and_takes_the_new_texts(tmp_path: Path) -> None:
    with executing(tmp_path, task(1), task(2), task(3)) as loop:
        finish(loop, "task-001")
        loop.start_task("task-002")
        loop.retry_task("task-002")
        loop.start_task("task-002")
        loop.record_result("task-002", RESULT)
        loop.verify_task("task-002", FAIL)
        before = loop.state
        write_plan(tmp_path, task(2, 1, title="New title"), task(1, description="New"), task(4))
        report = loop.adopt_plan()
        state = loop.state
    assert (report.new, report.gone, report.staying) == (["task-004"], ["task-003"], [])
    assert sorted(report.changed) == ["task-001", "task-002"]
    assert [one["id"] for one in state["tasks"]] == ["task-002", "task-001", "task-004"]
    second = task_of(state, "task-002")
    assert (second["title"], second["depends_on"]) == ("New title", ["task-001"])
    known = ("status", "result", "verification")
    for task_id in ("task-001", "task-002"):
        old, new = task_of(before, task_id), task_of(state, task_id)
        assert {name: old[name] for name in known} == {name: new[name] for name in known}
    assert state["retry_count"] == before["retry_count"] == {"task-002": 1}


def test_q14_a_finished_task_that_the_plan_has_no_more_stays_and_is_told(tmp_path: Path) -> None:
    with executing(tmp_path, task(1), task(2), task(3), task(4, 3)) as loop:
        finish(loop, "task-001", "task-002")
        loop.start_task("task-004")
        write_plan(tmp_path, task(1), task(5))
        assert loop.plan_change() == "plan.yaml was changed since it was adopted"
        report = loop.check_plan()
        assert (report.new, report.gone, report.adopted) == (["task-005"], ["task-003"], False)
        assert report.staying == ["task-002", "task-004"]
        loop.adopt_plan()
        assert loop.plan_change() == ""
        state = loop.state
    assert [one["id"] for one in state["tasks"]] == ["task-001", "task-005", "task-002", "task-004"]
    assert task_of(state, "task-002")["status"] == "done"
    # What it depended on is gone, so it depends on it no more: every id exists.
    assert task_of(state, "task-004")["depends_on"] == []


def test_a_current_task_that_goes_is_current_no_more(tmp_path: Path) -> None:
    with executing(tmp_path, task(1), task(2)) as loop:
        loop.enter_phase("verify", task_id="task-002")
        write_plan(tmp_path, task(1))
        loop.adopt_plan()
        assert loop.state["current_task_id"] is None


def test_a_plan_with_faults_is_not_adopted_and_nothing_changes(tmp_path: Path) -> None:
    with executing(tmp_path) as loop:
        write_plan(tmp_path, task(1, 1))
        before = files(tmp_path)
        with pytest.raises(UsageError, match="depends on itself"):
            loop.adopt_plan()
        with pytest.raises(FileNotFoundError):
            loop.adopt_plan(tmp_path / "none.yaml")
        assert files(tmp_path) == before


def test_a_plan_from_elsewhere_becomes_plan_yaml_where_there_is_none(tmp_path: Path) -> None:
    with begin(tmp_path, "research", "plan") as loop:
        path = write_plan(tmp_path)
        elsewhere = path.rename(tmp_path / "draft.yaml")
        loop.adopt_plan(elsewhere)
    assert (folder_of(tmp_path) / "plan.yaml").read_bytes() == elsewhere.read_bytes()


# --- the plan is gone ----------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["plan", "critique", "execute", "verify"])
def test_an_adopted_plan_that_is_gone_is_written_again_byte_for_byte(
    tmp_path: Path, phase: str
) -> None:
    with begin(tmp_path, "research", "plan") as loop:
        path = write_plan(tmp_path)
        text = path.read_bytes()
        loop.adopt_plan()
        for one in ("critique", "execute", "verify"):
            if loop.state["current_phase"] != phase:
                loop.enter_phase(one)
        path.unlink()
        loop.set_context("plan_digest", "short")
        assert path.read_bytes() == text
        assert loop.state["current_phase"] == phase
        assert "plan.yaml was missing" in loop.messages[-1]
    assert actions(tmp_path)[-2:] == ["plan_restored", "context_set"]


@pytest.mark.parametrize("phase", ["critique", "execute", "verify"])
def test_a_plan_that_was_never_adopted_leads_back_to_planning(tmp_path: Path, phase: str) -> None:
    history = [{"phase": phase, "entered_at": "2026-03-01T09:00:00Z", "exited_at": None}]
    put_state(tmp_path, full_state(current_phase=phase, iteration=2, phase_history=history))
    with reopen(tmp_path) as loop:
        loop.settle_plan()
        state = loop.state
        assert loop.messages[-1] == "Plan missing, returning to plan phase"
        assert loop.settle_plan() == []
    assert state["current_phase"] == "plan"
    assert [entry["phase"] for entry in state["phase_history"]] == [phase, "plan"]
    assert state["iteration"] == (2 if phase == "critique" else 1)
    missing = [entry for entry in read_log(tmp_path) if entry["action"] == "plan_missing"]
    assert [entry["output_summary"] for entry in missing] == [
        "Plan missing, returning to plan phase"
    ]
    assert len(checkpoints(tmp_path)) == 1  # it is a transition


@pytest.mark.parametrize("phase", ["init", "research", "complete", "plan"])
def test_phases_that_need_no_plan_yet_or_no_more_do_not_miss_it(tmp_path: Path, phase: str) -> None:
    put_state(tmp_path, full_state(current_phase=phase))
    with reopen(tmp_path) as loop:
        assert loop.settle_plan() == []
        assert types(loop.set_context("plan_digest", "x")) == ["context_set"]
        assert loop.state["current_phase"] == phase


def test_a_plan_from_before_the_last_reset_is_not_written_back(tmp_path: Path) -> None:
    with executing(tmp_path) as loop:
        loop.reset()
        loop.set_feature("Another")
        (folder_of(tmp_path) / "plan.yaml").unlink()
        for phase in ("research", "plan", "critique"):
            loop.enter_phase(phase)
        loop.set_context("plan_digest", "x")
        assert loop.state["current_phase"] == "plan"
        assert loop.messages[-1] == "Plan missing, returning to plan phase"
    assert not (folder_of(tmp_path) / "plan.yaml").exists()


def test_a_kill_between_the_event_and_the_file_restores_it_the_next_time(tmp_path: Path) -> None:
    with executing(tmp_path) as loop:
        path = folder_of(tmp_path) / "plan.yaml"
        text = path.read_bytes()
        path.unlink()
        loop.engine.append("plan_restored", {"sha256": sha256(text)})
    with reopen(tmp_path) as loop:
        loop.set_context("plan_digest", "x")
    assert path.read_bytes() == text


def test_a_plan_yaml_that_is_there_in_whatever_form_is_not_missing(tmp_path: Path) -> None:
    with executing(tmp_path) as loop:
        path = folder_of(tmp_path) / "plan.yaml"
        path.write_text("no: plan\n")
        assert types(loop.set_context("plan_digest", "x")) == ["context_set"]
        path.unlink()
        path.mkdir()
        assert types(loop.set_context("plan_digest", "y")) == ["context_set"]
        assert "cannot be read" in loop.plan_change()


def test_the_plan_status_of_a_checkpoint_is_the_plans(tmp_path: Path) -> None:
    with executing(tmp_path) as loop:
        write_plan(tmp_path, status="in_progress")
        loop.adopt_plan()
        loop.enter_phase("verify")
        loop.reset()
    folder = folder_of(tmp_path) / "checkpoints"
    found = [json.loads((folder / name).read_text()) for name in checkpoints(tmp_path)]
    status = {one["trigger"]: one["plan_summary"]["status"] for one in found}
    assert status["phase: init → research"] == "research"  # no plan yet: the phase
    assert status["phase: plan → critique"] == "approved"
    assert status["phase: execute → verify"] == "in_progress"
    assert status["reset"] == "in_progress"
    assert read_state(tmp_path)["tasks"] == []
