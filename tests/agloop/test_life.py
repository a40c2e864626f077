"""A whole life in Python, and what its journal can say of it afterwards."""

import json
from pathlib import Path

import pytest

import journal
from projections.agloop.agloop import AgLoop
from projections.agloop.projection import PROJECTION, render
from projections.agloop.schema import check
from tests.agloop.life import (
    FAIL,
    OBJECTION,
    RESULT,
    begin,
    checkpoints,
    executing,
    files,
    finish,
    folder_of,
    read_log,
    read_state,
    reopen,
    task,
    write_plan,
)


def live(tmp_path: Path) -> None:
    """From the first word to the next feature, with every turn that the table has."""
    with begin(tmp_path, "research", "plan", feature="Add search API") as loop:
        loop.set_context("research_digest", "an index exists")
        write_plan(tmp_path, task(1), task(2, 1), task(3))
        loop.adopt_plan(agent="planner")
        loop.enter_phase("critique")
        loop.raise_objection(OBJECTION, agent="critic")
        loop.enter_phase("plan")
        loop.answer_objection(1, "task-004 is an index", resolved=True)
        write_plan(tmp_path, task(1), task(2, 1), task(4))
        loop.adopt_plan(agent="planner")
        loop.enter_phase("critique")
        loop.enter_phase("execute", task_id="task-001")
        loop.start_task("task-001", agent="executor")
        loop.record_result("task-001", RESULT)
        loop.verify_task("task-001", FAIL, agent="verifier")
        loop.retry_task("task-001", "page 2")
        finish(loop, "task-001", "task-002")
        loop.compact(turns=["working"])
        loop.start_task("task-004")
        loop.fail_task("task-004", "no such API")
        loop.enter_phase("verify")
        loop.enter_phase("execute")
        loop.retry_task("task-004")
        finish(loop, "task-004")
        loop.enter_phase("verify")
        loop.enter_phase("complete")
        loop.reset(reason="next feature")
        loop.set_feature("Next feature")


@pytest.fixture
def lived(tmp_path: Path) -> Path:
    live(tmp_path)
    return tmp_path


def test_the_files_show_what_the_journal_says(lived: Path) -> None:
    with reopen(lived, read_only=True) as loop:
        assert loop.messages == []
        assert loop.engine.verify().ok
        assert render(loop.state) == (folder_of(lived) / "state.json").read_bytes()
        assert loop.engine.replay() == loop.state
    check(read_state(lived))


def test_every_state_of_its_history_passes_the_rules(lived: Path) -> None:
    with reopen(lived, read_only=True) as loop:
        for seq in range(2, loop.engine.seq + 1):
            check(loop.engine.state_at(seq))


def test_time_travel_finds_the_phases_again(lived: Path) -> None:
    with reopen(lived, read_only=True) as loop:
        entered = list(loop.engine.events(types=["phase_entered", "reset"]))
        for event in entered:
            wanted = event.data.get("phase", "init")
            assert loop.engine.state_at(event.seq)["current_phase"] == wanted
            assert loop.engine.state_at(event.time)["current_phase"] == wanted
        assert len(read_state(lived)["phase_history"]) == len(entered)


def test_rebuild_finds_everything_equal_or_brings_it_back(lived: Path) -> None:
    before = files(folder_of(lived))
    with reopen(lived) as loop:
        rebuilt = loop.engine.rebuild()
        assert set(rebuilt.equal) >= {"state.json", "log.json"}
        assert rebuilt.written == []
    for name in ("state.json", "log.json", *(f"checkpoints/{n}" for n in checkpoints(lived))):
        (folder_of(lived) / name).unlink()
    with reopen(lived) as loop:
        loop.recover()
    after = files(folder_of(lived))
    assert {n: b for n, b in after.items() if n.startswith("checkpoints/")} == {
        n: b for n, b in before.items() if n.startswith("checkpoints/")
    }
    assert after["log.json"].startswith(before["log.json"])
    same = {**json.loads(before["state.json"]), "last_action": 0}
    assert {**json.loads(after["state.json"]), "last_action": 0} == same


def test_the_log_tells_the_whole_life(lived: Path) -> None:
    told = [entry["action"] for entry in read_log(lived)]
    assert told[0] == "initialized"
    for action in (
        "context_set",
        "plan_adopted",
        "objection_raised",
        "objection_answered",
        "task_started",
        "task_result_recorded",
        "task_verified",
        "task_retried",
        "task_failed",
        "compacted",
        "checkpoint_created",
        "checkpoints_pruned",
        "reset",
        "feature_set",
    ):
        assert action in told


def test_the_journal_is_opened_by_its_name_as_any_other(lived: Path) -> None:
    with journal.open(folder_of(lived) / "journal", read_only=True) as engine:
        assert engine.projection is PROJECTION
        assert engine.state == read_state(lived)
    with journal.open(folder_of(lived) / "journal") as engine:
        engine.append("log_noted", {"action": "by the engine"}, actor="somebody")
    assert read_log(lived)[-1]["action"] == "by the engine"


def test_a_system_without_the_disks_help_replays_to_the_same_bytes(
    lived: Path, tmp_path: Path
) -> None:
    """The log alone, in another place, makes the same files."""
    other = tmp_path / "copy" / ".agloop"
    (other / "journal" / "log").mkdir(parents=True)
    for path in (folder_of(lived) / "journal" / "log").iterdir():
        (other / "journal" / "log" / path.name).write_bytes(path.read_bytes())
    source = folder_of(lived) / "journal" / "journal.yaml"
    (other / "journal" / "journal.yaml").write_bytes(source.read_bytes())
    with AgLoop.open(other) as loop:
        assert loop.engine.verify().ok
        loop.recover()
    for name in ("state.json", "log.json"):
        assert (other / name).read_bytes() == (folder_of(lived) / name).read_bytes()
    assert files(other / "checkpoints") == files(folder_of(lived) / "checkpoints")


def test_read_only_writes_nothing(lived: Path) -> None:
    before = files(lived)
    with reopen(lived, read_only=True) as loop:
        loop.status()
        loop.next()
        loop.log()
        loop.checkpoints()
        assert loop.plan() is not None
    assert files(lived) == before


def test_status_counts_and_names(tmp_path: Path) -> None:
    with executing(tmp_path, task(1), task(2, 1)) as loop:
        finish(loop, "task-001")
        found = loop.status()
        assert found.tasks == {
            "total": 2,
            "pending": 1,
            "in_progress": 0,
            "done": 1,
            "failed": 0,
        }
        assert (found.next, found.checkpoints, found.plan_note) == ("task-002", 4, "")
        assert found.plan is not None
        assert found.plan["status"] == "approved"
        loop.reset()
        assert loop.status().plan is None
        assert loop.status().plan_note == "plan.yaml is not adopted yet"
