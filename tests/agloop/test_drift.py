"""state.json changed by others: the row of this system in the table of the five, each cell.

deleted  cut short  NULs  conflict markers  valid edit  invalid edit
rebuilt  rebuilt    rebuilt  rebuilt        adopted     Drift (exit 7)
"""

import json
from pathlib import Path
from typing import Any

import pytest

from journal.errors import Drift
from tests.agloop.life import (
    actions,
    begin,
    executing,
    folder_of,
    foreign_state,
    read_log,
    read_state,
    reopen,
    task,
    types,
)


def state_of(tmp_path: Path) -> Path:
    return folder_of(tmp_path) / "state.json"


def edit(tmp_path: Path, **members: Any) -> bytes:
    state = read_state(tmp_path)
    state.update(members)
    state_of(tmp_path).write_text(json.dumps(state, indent=2))
    return state_of(tmp_path).read_bytes()


def quarantined(tmp_path: Path) -> list[bytes]:
    folder = folder_of(tmp_path) / "journal" / "quarantine"
    return [path.read_bytes() for path in sorted(folder.iterdir())] if folder.is_dir() else []


DAMAGE: dict[str, bytes | None] = {
    "deleted": None,
    "emptied": b"",
    "cut short": b'{\n  "$schema": "agloop-state-v1",\n  "feature_n',
    "NULs": b"\0" * 512,
    "conflict markers": b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n",
    "text behind": b'{"$schema": "agloop-state-v1"}\n"text" }',
    "no json at all": b"oops",
    "a key twice": b'{"$schema": "agloop-state-v1", "$schema": "x"}',
    "utf-16": b"\xff\xfe{\0}\0",
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_state_that_is_gone_or_cannot_be_read_is_rebuilt_said_and_logged(
    tmp_path: Path, kind: str
) -> None:
    with executing(tmp_path, task(1)) as loop:
        loop.start_task("task-001")
        seq = loop.engine.seq
    whole = read_state(tmp_path)
    damage = DAMAGE[kind]
    if damage is None:
        state_of(tmp_path).unlink()
    else:
        state_of(tmp_path).write_bytes(damage)
    with reopen(tmp_path) as loop:
        assert loop.messages[-1] == f"State recovered from the journal (seq {seq})"
        assert {**loop.state, "last_action": 0} == {**whole, "last_action": 0}
        assert loop.engine.verify().ok
    assert quarantined(tmp_path) == ([] if damage is None else [damage])
    last = read_log(tmp_path)[-1]
    assert last["action"] == "state_recovered"
    assert last["output_summary"] == f"State recovered from the journal (seq {seq})"
    assert read_state(tmp_path)["last_action"]["action"] == "state_recovered"
    with reopen(tmp_path) as loop:
        assert loop.messages == []


@pytest.mark.parametrize("kind", DAMAGE)
def test_the_same_while_the_loop_is_open(tmp_path: Path, kind: str) -> None:
    with begin(tmp_path) as loop:
        damage = DAMAGE[kind]
        if damage is None:
            state_of(tmp_path).unlink()
        else:
            state_of(tmp_path).write_bytes(damage)
        seq = loop.engine.seq
        loop.enter_phase("research")
        assert f"State recovered from the journal (seq {seq})" in loop.messages
        assert loop.state["current_phase"] == "research"
    assert read_state(tmp_path)["current_phase"] == "research"
    assert actions(tmp_path)[-3:] == ["state_recovered", "phase_entered", "checkpoint_created"]
    assert quarantined(tmp_path) == ([] if damage is None else [damage])


@pytest.mark.parametrize("while_open", [False, True])
def test_a_valid_edit_is_adopted_and_undoes_no_later_event(
    tmp_path: Path, while_open: bool
) -> None:
    if while_open:
        with begin(tmp_path) as loop:
            edit(tmp_path, feature_description="by hand", mine=[1])
            loop.enter_phase("research")
            found = types(loop.engine.events())
    else:
        begin(tmp_path).close()
        edit(tmp_path, feature_description="by hand", mine=[1])
        with reopen(tmp_path) as loop:
            loop.enter_phase("research")
            found = types(loop.engine.events())
    assert found[-3:] == ["journal.adopted", "phase_entered", "checkpoint_created"]
    state = read_state(tmp_path)
    assert (state["feature_description"], state["mine"]) == ("by hand", [1])
    assert state["current_phase"] == "research"
    assert quarantined(tmp_path) == []


def test_an_edit_by_an_old_script_may_go_through_phases_and_close_the_history(
    tmp_path: Path,
) -> None:
    begin(tmp_path, "research").close()
    history = read_state(tmp_path)["phase_history"]
    history[-1]["exited_at"] = "2026-03-01T15:00:00.000Z"
    history.append({"phase": "plan", "entered_at": "2026-03-01T15:00:00.000Z", "exited_at": None})
    edit(tmp_path, current_phase="plan", phase_history=history, retry_count={"task-001": 1})
    with reopen(tmp_path) as loop:
        assert loop.state["current_phase"] == "plan"
        assert loop.state["phase_history"] == history


def test_a_file_from_the_template_reads_with_the_fields_it_lacks(tmp_path: Path) -> None:
    begin(tmp_path).close()
    state_of(tmp_path).write_text(json.dumps(foreign_state(feature_name="From the template")))
    with reopen(tmp_path) as loop:
        assert loop.state["feature_name"] == "From the template"
        assert loop.state["complexity_level"] == "medium"
        assert loop.state["compaction_context"]["compaction_count"] == 0
    assert "complexity_level" in read_state(tmp_path)


INVALID: dict[str, dict[str, Any]] = {
    "another schema": {"$schema": "agloop-state-v2"},
    "no such phase": {"current_phase": "done"},
    "a name too long": {"feature_name": "x" * 501},
    "a task that is not there": {"current_task_id": "task-404"},
    "a dependency that is not there": {"tasks": [{"id": "task-001", "depends_on": ["task-2"]}]},
    "history shortened": {"phase_history": []},
    "history rewritten": {
        "phase_history": [{"phase": "plan", "entered_at": "x", "exited_at": None}]
    },
}


@pytest.mark.parametrize("kind", INVALID)
def test_an_edit_that_breaks_a_rule_stops_a_writer_and_is_kept_as_it_is(
    tmp_path: Path, kind: str
) -> None:
    begin(tmp_path, "research").close()
    raw = edit(tmp_path, **INVALID[kind])
    with pytest.raises(Drift, match="allowed: ") as raised:
        reopen(tmp_path)
    assert raised.value.exit_code == 7
    assert "journal agloop recover" in raised.value.advice
    assert "journal adopt" not in raised.value.advice, "it would refuse this edit too"
    assert state_of(tmp_path).read_bytes() == raw
    with reopen(tmp_path, read_only=True) as loop:
        assert loop.state["current_phase"] == "research"
    with reopen(tmp_path, on_drift="replace") as loop:  # as `recover` opens it
        assert loop.state["current_phase"] == "research"
        assert loop.messages[-1].startswith("State recovered from the journal (seq ")
    assert quarantined(tmp_path) == [raw]


@pytest.mark.parametrize("kind", INVALID)
def test_while_the_loop_is_open_it_is_replaced_and_kept_in_quarantine(
    tmp_path: Path, kind: str
) -> None:
    with begin(tmp_path, "research") as loop:
        raw = edit(tmp_path, **INVALID[kind])
        loop.note("goes on")
        assert any("is not adopted" in text for text in loop.messages)
    assert quarantined(tmp_path) == [raw]
    assert read_state(tmp_path)["current_phase"] == "research"


def test_retries_that_an_edit_forgets_are_drift(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        loop.start_task("task-001")
        loop.retry_task("task-001")
    edit(tmp_path, retry_count={})
    with pytest.raises(Drift, match=r"retry_count\.task-001 was 1"):
        reopen(tmp_path)


def test_an_earlier_state_is_brought_back_as_a_new_event(tmp_path: Path) -> None:
    with begin(tmp_path, "research", "plan") as loop:
        seq = loop.engine.seq
        earlier = loop.engine.state_at(2)
        loop.engine.restore(2, reason="wrong turn")
        assert loop.state == earlier
        assert types(loop.engine.events())[-1] == "journal.restored"
        assert loop.engine.state_at(seq)["current_phase"] == "plan"
    assert read_state(tmp_path) == earlier


def test_without_a_witness_the_state_is_rebuilt_and_nothing_adopted(tmp_path: Path) -> None:
    begin(tmp_path, "research").close()
    raw = edit(tmp_path, feature_name="By hand, or left by a power cut")
    (folder_of(tmp_path) / "journal" / "witness.json").unlink()
    with reopen(tmp_path) as loop:
        assert "journal.adopted" not in types(loop.engine.events())
    assert quarantined(tmp_path) == [raw]


def test_a_link_that_nobody_recorded_gets_the_advice_for_links(tmp_path: Path) -> None:
    begin(tmp_path).close()
    state_of(tmp_path).rename(tmp_path / "real.json")
    state_of(tmp_path).symlink_to(tmp_path / "real.json")
    with pytest.raises(Drift, match="symlink") as raised:
        reopen(tmp_path)
    assert "`journal adopt` records where it leads" in raised.value.advice
