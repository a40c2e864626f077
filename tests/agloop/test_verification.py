"""The ten points at the end of the system's text, each by what the files on disk show."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from journal.errors import UsageError
from projections.agloop.schema import PHASES, check
from tests.agloop.life import (
    actions,
    begin,
    checkpoints,
    executing,
    files,
    finish,
    folder_of,
    foreign_state,
    put_checkpoint,
    read_state,
    reopen,
    task,
)


def test_1_every_write_of_state_json_has_all_required_fields_of_the_right_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    replace = os.replace

    def watch(source: Any, target: Any, **options: Any) -> None:
        replace(source, target, **options)
        if str(target).endswith("/state.json"):
            seen.append(read_state(tmp_path))

    monkeypatch.setattr(os, "replace", watch)
    with executing(tmp_path, task(1), task(2)) as loop:
        finish(loop, "task-001")
        loop.reset()
    assert len(seen) >= 10
    for state in seen:
        check(state)


def test_2_the_phase_is_always_one_of_the_seven(tmp_path: Path) -> None:
    assert len(PHASES) == 7
    with begin(tmp_path) as loop:
        for wrong in ("done", "", "Plan"):
            with pytest.raises(UsageError):
                loop.enter_phase(wrong)
            with pytest.raises(UsageError):
                loop.engine.append("phase_entered", {"phase": wrong, "from_phase": "init"})
    assert read_state(tmp_path)["current_phase"] == "init"


def test_3_the_current_task_exists_or_is_null(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        for act in (loop.start_task, lambda one: loop.enter_phase("verify", task_id=one)):
            with pytest.raises(UsageError, match="no task"):
                act("task-404")
        loop.start_task("task-001")
        assert read_state(tmp_path)["current_task_id"] == "task-001"
        finish(loop, "task-001")
    assert read_state(tmp_path)["current_task_id"] is None


def test_4_all_dependencies_exist(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        broken = {**task(2, 9), "status": "pending", "result": None, "verification": None}
        broken.pop("estimated_effort")
        event = {
            "path": "p",
            "sha256": "",
            "text": "",
            "plan_id": "",
            "status": "draft",
            "tasks": [broken],
        }
        before = files(tmp_path)
        with pytest.raises(UsageError, match="'task-009', which is no task"):
            loop.engine.append("plan_adopted", event)
        assert files(tmp_path) == before


def test_5_the_log_is_only_appended_to(tmp_path: Path) -> None:
    log = folder_of(tmp_path) / "log.json"
    with executing(tmp_path, task(1)) as loop:
        inode, before = log.stat().st_ino, log.read_bytes()
        act: Callable[[], object]
        for act in (
            lambda: finish(loop, "task-001"),
            lambda: loop.enter_phase("verify"),
            lambda: loop.note("x"),
            loop.reset,
        ):
            act()
            after = log.read_bytes()
            assert after.startswith(before)
            before = after
        assert log.stat().st_ino == inode


def test_6_state_json_is_replaced_by_a_rename(tmp_path: Path) -> None:
    state = folder_of(tmp_path) / "state.json"
    with begin(tmp_path) as loop:
        old = state.open("rb")
        before = state.read_bytes()
        loop.enter_phase("research")
        with old:
            assert old.read() == before  # a reader keeps a whole file
        assert state.read_bytes() != before
    assert not [name for name in os.listdir(folder_of(tmp_path)) if "tmp" in name]


def test_7_it_is_judged_before_and_after_a_change(tmp_path: Path) -> None:
    with begin(tmp_path) as loop:
        before = files(tmp_path)
        with pytest.raises(UsageError):  # before: the command
            loop.enter_phase("execute")
        with pytest.raises(UsageError):  # after: the state that would be
            loop.engine.append("feature_set", {"complexity_level": "vast"})
        assert files(tmp_path) == before


def test_8_there_is_a_checkpoint_for_every_transition_and_compaction(tmp_path: Path) -> None:
    with begin(tmp_path) as loop:
        acts: list[Callable[[], object]] = [
            lambda: loop.enter_phase("research"),
            loop.compact,
            lambda: loop.enter_phase("plan"),
            loop.reset,
        ]
        for count, act in enumerate(acts, 1):
            act()
            assert len(checkpoints(tmp_path)) == count


def test_9_recovery_works_from_the_journal_and_at_takeover_from_a_checkpoint(
    tmp_path: Path,
) -> None:
    executing(tmp_path, task(1)).close()
    before = read_state(tmp_path)
    (folder_of(tmp_path) / "state.json").unlink()
    reopen(tmp_path).close()
    assert {**read_state(tmp_path), "last_action": 0} == {**before, "last_action": 0}
    other = tmp_path / "other"
    other.mkdir()
    put_checkpoint(other, "2026-02-01T10:00:00.000Z", foreign_state(feature_name="Kept"))
    reopen(other).close()
    assert read_state(other)["feature_name"] == "Kept"


def test_10_history_only_grows_and_retries_only_rise(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        history = read_state(tmp_path)["phase_history"]
        for count in (1, 2, 3):
            loop.start_task("task-001")
            loop.retry_task("task-001")
            assert read_state(tmp_path)["retry_count"] == {"task-001": count}
        loop.enter_phase("verify")
        loop.reset()
    found = read_state(tmp_path)["phase_history"]
    entered = [(entry["phase"], entry["entered_at"]) for entry in history]
    assert [(entry["phase"], entry["entered_at"]) for entry in found[: len(history)]] == entered
    assert "task_retried" in actions(tmp_path)
