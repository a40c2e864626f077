"""How a plan begins, and what a refusal leaves on disk."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

import journal
from journal.config import FILE_NAME
from journal.errors import JournalError, UsageError
from projections.loop_plan.events import PlanStarted
from projections.loop_plan.plan import LoopPlan
from projections.loop_plan.schema import check
from projections.loop_plan.states import Json
from tests.loop_plan.life import (
    GOAL,
    SLUG,
    STATEMENT,
    TIME,
    Clock,
    begin,
    read_state,
    says,
    tree,
    write_old,
)


def test_plan_begins_in_phase_0_with_its_file_and_private_part(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "plans"
    with LoopPlan.init(STATEMENT, plans_dir=folder, clock=Clock(), actor="ann") as plan:
        assert plan.engine is not None
        first = list(plan.engine.events())
        assert [event.type for event in first] == ["journal.created", "plan_started"]
        assert first[1].actor == "ann"
        time = first[1].time
    state = read_state(folder)
    check(state)
    assert (state["slug"], state["current_phase"], state["iteration"]) == (SLUG, "0", 1)
    assert state["created_at"] == state["last_update_at"] == state["last_active_at"] == time
    assert state["plan_path"] == str(folder / f"{SLUG}.md")
    assert stat.S_IMODE(os.stat(folder / f"{SLUG}.journal").st_mode) == 0o700
    assert sorted(os.listdir(folder)) == [f"{SLUG}.journal", f"{SLUG}.state.json"]


def test_file_is_indented_by_two_with_a_final_newline(tmp_path: Path) -> None:
    begin(tmp_path).close()
    data = (tmp_path / f"{SLUG}.state.json").read_bytes()
    wanted = orjson.dumps(
        orjson.loads(data), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    )
    assert data == wanted
    assert data.startswith(b'{\n  "slug"')


def test_default_folder_is_written_with_a_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with LoopPlan.init("Ship", clock=Clock()) as plan:
        assert plan.state["plan_path"] == "~/.claude/plans/ship.md"
        assert plan.missing_text() == "~/.claude/plans/ship.md"
        (tmp_path / ".claude/plans/ship.md").write_text("# plan\n")
        assert plan.missing_text() == ""
    assert (tmp_path / ".claude/plans/ship.state.json").is_file()


def test_init_on_a_plan_that_is_there_points_to_resume(tmp_path: Path) -> None:
    begin(tmp_path).close()
    before = tree(tmp_path)
    with pytest.raises(UsageError) as caught:
        LoopPlan.init("Something else", slug=SLUG, plans_dir=tmp_path)
    assert says(caught.value, repr(SLUG), f"journal plan resume {SLUG}")
    assert tree(tmp_path) == before


def test_init_on_a_plan_whose_file_was_deleted_points_to_resume(tmp_path: Path) -> None:
    begin(tmp_path).close()
    (tmp_path / f"{SLUG}.state.json").unlink()
    with pytest.raises(UsageError, match="resume"):
        begin(tmp_path)


def test_init_on_a_file_of_before_points_to_resume(tmp_path: Path) -> None:
    write_old(tmp_path, {"slug": SLUG, "version": 1, "iteration": 1, "current_phase": "3"})
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="resume"):
        begin(tmp_path)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(("statement", "slug"), [("", ""), (" \n", ""), ("x", "Not A Slug")])
def test_init_that_is_refused_makes_nothing(tmp_path: Path, statement: str, slug: str) -> None:
    with pytest.raises(UsageError):
        LoopPlan.init(statement, slug=slug, plans_dir=tmp_path / "plans")
    assert tree(tmp_path) == {}


def cut_off(folder: Path, statement: str) -> None:
    """What an init leaves that was killed before its last step."""
    plan = LoopPlan.init(statement, slug=SLUG, plans_dir=folder, clock=Clock())
    plan.close()
    (folder / f"{SLUG}.journal" / FILE_NAME).unlink()
    (folder / f"{SLUG}.journal" / "witness.json").unlink()
    (folder / f"{SLUG}.state.json").unlink()


def test_init_that_was_cut_off_is_completed_by_the_next_one(tmp_path: Path) -> None:
    cut_off(tmp_path, STATEMENT)
    with pytest.raises(UsageError, match="no plan"):
        LoopPlan.open(SLUG, tmp_path)
    with begin(tmp_path) as plan:
        assert plan.engine is not None
        assert [event.type for event in plan.engine.events()] == ["journal.created", "plan_started"]
    assert read_state(tmp_path)["task_statement"] == STATEMENT


def test_init_that_was_cut_off_with_another_statement_is_not_mixed_up(tmp_path: Path) -> None:
    cut_off(tmp_path, "Another task")
    with pytest.raises(UsageError, match="resume"):
        begin(tmp_path)
    assert read_state(tmp_path)["task_statement"] == "Another task"


def test_plan_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        LoopPlan.open("no-such", tmp_path)
    assert says(caught.value, "'no-such'", str(tmp_path), "journal plan list")
    assert tree(tmp_path) == {}


# --- refusals ------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[str, Callable[[LoopPlan], Any]]] = {
    "step": ("0", lambda plan: plan.enter_phase("5")),
    "goal not yet": ("2", lambda plan: plan.enter_phase("3")),
    "rigor first": ("2", lambda plan: plan.set_goal(GOAL)),
    "rigor too early": ("1", lambda plan: plan.set_rigor("full")),
    "rigor": ("2", lambda plan: plan.set_rigor("strict")),
    "goal too early": ("1", lambda plan: plan.set_goal(GOAL)),
    "entry": ("1", lambda plan: plan.add("exploration", {})),
    "part": ("1", lambda plan: plan.set_part("stages", [{}])),
    "gate": ("5", lambda plan: plan.choose_gate("More coffee")),
    "gate elsewhere": ("4", lambda plan: plan.choose_gate("Ship it")),
    "inventory": ("3b", lambda plan: plan.record_inventory("failed")),
    "drift": ("6", lambda plan: plan.check_drift({})),
    "override": ("6", lambda plan: plan.override_drift("a", "b")),
    "execute": ("6", lambda plan: plan.start_execution()),
    "task": ("7a", lambda plan: plan.complete_task("T1")),
    "stage": ("7b", lambda plan: plan.start_stage("s1")),
    "stage verdict": ("7b", lambda plan: plan.verify_stage("s1", {"status": "passed"})),
    "stage signature": ("7b", lambda plan: plan.sign_off_stage("s1", "Ann", "ok")),
    "verdict": ("7b", lambda plan: plan.record_verification({"status": "ok"})),
    "signature": ("7b", lambda plan: plan.sign_off("Ann", "ok")),
    "ship": ("7b", lambda plan: plan.ship()),
    "abort": ("done", lambda plan: plan.abort()),
    "resume": ("4", lambda plan: plan.resume("retry")),
    "abandon": ("1", lambda plan: plan.abandon()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal_changes_nothing_on_disk(tmp_path: Path, name: str) -> None:
    phase, run = REFUSED[name]
    with begin(tmp_path, phase) as plan:
        before = tree(tmp_path)
        with pytest.raises(UsageError, match="Allowed"):
            run(plan)
        assert tree(tmp_path) == before


@pytest.mark.parametrize("name", REFUSED)
def test_refusal_takes_no_file_of_before_over(tmp_path: Path, name: str) -> None:
    phase, run = REFUSED[name]
    write_old(
        tmp_path,
        {"slug": SLUG, "version": 1, "iteration": 1, "current_phase": phase, "created_at": TIME},
    )
    before = tree(tmp_path)
    with LoopPlan.open(SLUG, tmp_path) as plan, pytest.raises(UsageError, match="Allowed"):
        run(plan)
    assert tree(tmp_path) == before


def test_event_that_would_break_the_schema_is_refused_by_the_journal(tmp_path: Path) -> None:
    with begin(tmp_path) as plan:
        assert plan.engine is not None
        before = tree(tmp_path)
        with pytest.raises(UsageError, match="current_phase"):
            plan.engine.append("phase_entered", {"phase": "8"})
        with pytest.raises(UsageError, match="slug"):
            plan.engine.append(PlanStarted(slug="a/b", task_statement="x", plan_path="y"))
        assert tree(tmp_path) == before


def test_journal_made_by_the_general_command_takes_the_same_events(tmp_path: Path) -> None:
    data = {"slug": "a", "task_statement": "b", "plan_path": "c"}
    with journal.init(tmp_path / "run", projection="loop_plan") as engine:
        with pytest.raises(JournalError):
            engine.append("task_completed", {"task_id": "T1"})
        engine.append("plan_started", data)
        state: Json = engine.state
    check(state)
