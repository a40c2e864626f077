"""Hooks: the client's JSON on stdin, nothing made where there is no loop, exit 2 only blocks."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from journal import locks
from projections.agloop import hooks
from projections.agloop.agloop import AgLoop
from projections.agloop.hooks import Answer, find_folder
from projections.agloop.transcript import last_turns
from projections.agloop.utf16 import units
from tests.agloop.command import run as run_command
from tests.agloop.life import (
    Clock,
    actions,
    begin,
    checkpoints,
    executing,
    files,
    finish,
    folder_of,
    foreign_state,
    full_state,
    put_checkpoint,
    put_state,
    read_log,
    read_state,
    reopen,
    state_task,
    task,
    types,
)
from tests.cases.made import as_nobody
from tests.cli.command import run


def hook(tmp_path: Path, name: str, **given: Any) -> Answer:
    stdin = json.dumps({"cwd": str(tmp_path), **given}).encode()
    clock = Clock(now_ms=1_900_000_000_000)
    return hooks.run(name, stdin, here=Path("/nonexistent"), clock=clock)


def test_where_there_is_no_agloop_folder_no_hook_creates_anything(tmp_path: Path) -> None:
    for name in hooks.NAMES:
        assert hook(tmp_path, name) == Answer()
    assert list(tmp_path.iterdir()) == []
    folder_of(tmp_path).mkdir()
    for name in hooks.NAMES:
        assert hook(tmp_path, name) == Answer()
    assert list(folder_of(tmp_path).iterdir()) == []


def test_the_folder_is_under_cwd_else_the_workspace_else_here(tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    for place in (one, two, three):
        (place / ".agloop").mkdir(parents=True)
    given = {"cwd": str(one), "workspaceFolder": str(two)}
    assert find_folder(given, three) == one / ".agloop"
    assert find_folder({**given, "cwd": str(tmp_path)}, three) == two / ".agloop"
    assert find_folder({"workspaceFolder": str(two)}, three) == two / ".agloop"
    assert find_folder({}, three) == three / ".agloop"
    assert find_folder({"cwd": 7, "workspaceFolder": "\0"}, three) == three / ".agloop"
    assert find_folder({}, tmp_path) is None


# --- stop ----------------------------------------------------------------------------------------


def test_stop_blocks_once_while_a_task_is_not_done(tmp_path: Path) -> None:
    executing(tmp_path, task(1), task(2)).close()
    first = hook(tmp_path, "stop", stop_hook_active=False)
    assert first.exit_code == 2
    assert first.said[-1].startswith("2 of 2 tasks are not done: task-001 (pending), task-002")
    assert read_state(tmp_path)["stop_hook_active"] is True
    second = hook(tmp_path, "stop", stop_hook_active=False)  # the state's flag is enough
    assert (second.exit_code, second.said) == (0, [])
    assert read_state(tmp_path)["stop_hook_active"] is False
    assert hook(tmp_path, "stop").exit_code == 2
    assert actions(tmp_path)[-3:] == ["stop_blocked", "stop_allowed", "stop_blocked"]


def test_stop_is_allowed_where_stdin_says_that_it_was_blocked(tmp_path: Path) -> None:
    executing(tmp_path, task(1)).close()
    assert hook(tmp_path, "stop", stop_hook_active=True).exit_code == 0
    assert read_state(tmp_path)["stop_hook_active"] is False


def test_failed_tasks_count_as_not_done_and_done_ones_let_it_stop(tmp_path: Path) -> None:
    with executing(tmp_path, task(1), task(2)) as loop:
        finish(loop, "task-001")
        loop.fail_task("task-002", "no")
    found = hook(tmp_path, "stop")
    assert found.exit_code == 2
    assert "task-002 (failed)" in found.said[-1]
    other = tmp_path / "other"
    other.mkdir()
    with executing(other, task(1)) as loop:
        finish(loop, "task-001")
    assert hook(other, "stop").exit_code == 0


def test_stop_is_allowed_in_init_without_tasks_and_without_tasks_at_all(tmp_path: Path) -> None:
    begin(tmp_path).close()
    assert hook(tmp_path, "stop").exit_code == 0
    with reopen(tmp_path) as loop:
        loop.enter_phase("research")
    assert hook(tmp_path, "stop").exit_code == 0


def test_stop_in_init_with_tasks_blocks(tmp_path: Path) -> None:
    put_state(tmp_path, full_state(tasks=[state_task(1)]))
    assert hook(tmp_path, "stop").exit_code == 2


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"$schema": "other"}', None])
def test_stop_is_allowed_and_creates_nothing_where_there_is_no_valid_state(
    tmp_path: Path, raw: bytes | None
) -> None:
    folder_of(tmp_path).mkdir()
    put_checkpoint(tmp_path, "2026-02-01T10:00:00.000Z", full_state(tasks=[state_task(1)]))
    if raw is not None:
        (folder_of(tmp_path) / "state.json").write_bytes(raw)
    before = files(tmp_path)
    assert hook(tmp_path, "stop").exit_code == 0
    assert files(tmp_path) == before


def test_stop_takes_over_a_valid_state_of_an_old_tool(tmp_path: Path) -> None:
    put_state(tmp_path, foreign_state(current_phase="execute", tasks=[state_task(1)]))
    (folder_of(tmp_path) / "plan.yaml").write_text("whatever\n")
    assert hook(tmp_path, "stop").exit_code == 2
    assert read_state(tmp_path)["stop_hook_active"] is True


# --- session-start -------------------------------------------------------------------------------


def test_session_start_tells_where_the_loop_stands_and_clears_the_flag(tmp_path: Path) -> None:
    with executing(tmp_path, task(1), task(2)) as loop:
        finish(loop, "task-001")
        loop.start_task("task-002", agent="executor")
        loop.set_context("pending_decision", "Postgres or SQLite?")
        loop.set_context("last_delegation", {"agent": "executor"})
        loop.compact()
    assert hook(tmp_path, "stop").exit_code == 2
    found = hook(tmp_path, "session-start", source="compact", session_id="s-1")
    assert found.exit_code == 0
    answer = json.loads(found.out)
    assert list(answer) == ["hookSpecificOutput"]
    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert answer["hookSpecificOutput"]["additionalContext"].split("\n") == [
        "AgLoop phase: execute (iteration 1)",
        "Feature: Add search API",
        "Progress: 1/2 tasks",
        "Current task: task-002 (in_progress): Deliver part 2",
        "Last action: context_set by agloop at " + read_state(tmp_path)["last_action"]["timestamp"],
        "Compactions: 1",
        "Pending decision: Postgres or SQLite?",
        'Last delegation: {"agent":"executor"}',
    ]
    assert read_state(tmp_path)["stop_hook_active"] is False
    with reopen(tmp_path) as loop:
        (event,) = loop.engine.events(types=["session_started"])
    assert event.data == {"source": "compact", "session_id": "s-1"}
    assert event.actor == "session-start"


def test_session_start_recovers_a_damaged_state_and_a_missing_plan_and_tells_it(
    tmp_path: Path,
) -> None:
    executing(tmp_path, task(1)).close()
    (folder_of(tmp_path) / "state.json").write_bytes(b"{")
    (folder_of(tmp_path) / "plan.yaml").unlink()
    context = json.loads(hook(tmp_path, "session-start").out)["hookSpecificOutput"]
    assert "Note: State recovered from the journal (seq " in context["additionalContext"]
    assert "Note: plan.yaml was missing" in context["additionalContext"]
    assert (folder_of(tmp_path) / "plan.yaml").exists()


def test_session_start_recovers_an_old_folder_from_its_checkpoint(tmp_path: Path) -> None:
    folder_of(tmp_path).mkdir()
    (folder_of(tmp_path) / "state.json").write_bytes(b"{")
    put_checkpoint(tmp_path, "2026-02-01T10:00:00.000Z", foreign_state(feature_name="Kept"))
    found = hook(tmp_path, "session-start")
    context = json.loads(found.out)["hookSpecificOutput"]["additionalContext"]
    assert "Feature: Kept" in context
    assert "State recovered from checkpoint 2026-02-01T10:00:00.000Z" in context


# --- pre-compact ---------------------------------------------------------------------------------


def said(text: Any, kind: str = "assistant") -> str:
    return json.dumps({"type": kind, "message": {"role": kind, "content": text}})


def test_pre_compact_keeps_the_last_three_assistant_messages_cut_to_300(tmp_path: Path) -> None:
    begin(tmp_path).close()
    transcript = tmp_path / "transcript.jsonl"
    lines = [
        said([{"type": "text", "text": "first"}]),
        said([{"type": "text", "text": "second"}, {"type": "tool_use", "name": "x"}]),
        said("to the user", "user"),
        "not json",
        said([{"type": "tool_use", "name": "x"}]),
        json.dumps({"role": "assistant", "content": "third"}),
        said([{"type": "text", "text": "😀" * 200}]),
    ]
    transcript.write_text("\n".join(lines) + "\n")
    found = hook(tmp_path, "pre-compact", transcript_path=str(transcript), trigger="auto")
    assert (found.exit_code, found.said) == (0, [])
    (name,) = checkpoints(tmp_path)
    body = json.loads((folder_of(tmp_path) / "checkpoints" / name).read_text())
    assert body["checkpoint_type"] == "pre-compact"
    assert body["recent_turns"][:2] == ["second", "third"]
    assert body["recent_turns"][2] == "😀" * 149 + "…"
    assert units(body["recent_turns"][2]) <= 300
    assert body["state"]["compaction_context"]["compaction_count"] == 1
    assert read_state(tmp_path)["compaction_context"]["compaction_count"] == 1


def test_pre_compact_without_a_transcript_says_so_and_keeps_the_state(tmp_path: Path) -> None:
    begin(tmp_path).close()
    found = hook(tmp_path, "pre-compact", transcript_path=str(tmp_path / "none.jsonl"))
    assert found.exit_code == 0
    assert "transcript" in found.said[0]
    assert len(checkpoints(tmp_path)) == 1


def test_a_long_transcript_is_read_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("w") as file:
        for n in range(3000):
            file.write(said(f"turn {n} " + "x" * 200) + "\n")
    assert [text[:9] for text in last_turns(path)] == ["turn 2997", "turn 2998", "turn 2999"]
    with path.open("a") as file:
        file.write(said("y" * 600_000, "user") + "\n")
    assert [text[:9] for text in last_turns(path)] == ["turn 2997", "turn 2998", "turn 2999"]
    path.write_text("")
    assert last_turns(path) == []


# --- the others ----------------------------------------------------------------------------------


def test_prompts_and_subagents_are_logged_and_set_no_last_action(tmp_path: Path) -> None:
    begin(tmp_path).close()
    last = read_state(tmp_path)["last_action"]
    assert hook(tmp_path, "user-prompt", prompt="p" * 600) == Answer()
    assert hook(tmp_path, "subagent-start", agent_type="executor") == Answer()
    assert hook(tmp_path, "subagent-stop", agent_name="executor") == Answer()
    found = read_log(tmp_path)[-3:]
    assert [entry["action"] for entry in found] == [
        "prompt_received",
        "subagent_started",
        "subagent_completed",
    ]
    assert found[0]["input_summary"] == "p" * 499 + "…"
    assert [entry["input_summary"] for entry in found[1:]] == ["executor", "executor"]
    assert read_state(tmp_path)["last_action"] == last
    with reopen(tmp_path) as loop:
        (event,) = loop.engine.events(types=["prompt_received"])
        assert units(event.data["prompt"]) == 500


# --- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", hooks.NAMES)
def test_a_damaged_journal_is_a_message_and_exit_0(tmp_path: Path, name: str) -> None:
    executing(tmp_path, task(1)).close()
    (segment,) = (folder_of(tmp_path) / "journal" / "log").glob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b"research", b"RESEARCH"))
    before = files(tmp_path)
    found = hook(tmp_path, name)
    assert found.exit_code == 0
    assert found.said[-1].startswith(f"hook {name}: ")
    assert files(tmp_path) == before


def test_an_edit_that_breaks_a_rule_is_a_message_and_exit_0(tmp_path: Path) -> None:
    executing(tmp_path, task(1)).close()
    state = read_state(tmp_path)
    state["current_phase"] = "done"
    (folder_of(tmp_path) / "state.json").write_text(json.dumps(state))
    for name in hooks.NAMES:
        found = hook(tmp_path, name)
        assert found.exit_code == 0
        assert "current_phase" in found.said[-1]


def test_a_lock_that_is_held_is_a_message_and_exit_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hooks.LOCK_TIMEOUT_S == 2.0
    monkeypatch.setattr(hooks, "LOCK_TIMEOUT_S", 0.05)
    executing(tmp_path, task(1)).close()
    lock = locks.FolderLock(folder_of(tmp_path) / "journal" / "log")
    with lock, lock.held(1):
        for name in ("stop", "session-start"):
            found = hook(tmp_path, name)
            assert found.exit_code == 0
            assert "locked" in found.said[-1]


def test_whatever_is_raised_is_a_message_and_exit_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path).close()

    def broken(*args: Any, **options: Any) -> AgLoop:
        raise KeyError("a fault of ours")

    monkeypatch.setattr(AgLoop, "open", broken)
    for name in hooks.NAMES:
        found = hook(tmp_path, name)
        assert (found.exit_code, "a fault of ours" in found.said[-1]) == (0, True)


@pytest.mark.parametrize("stdin", [b"", b"no json", b"[1]", b"null", b"\xff", b"{" * 5000])
def test_what_is_no_json_object_on_stdin_is_passed_over(
    tmp_path: Path, stdin: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    executing(tmp_path, task(1)).close()
    found = hooks.run("stop", stdin, here=tmp_path)
    assert found.exit_code == 2


# --- on the command line -------------------------------------------------------------------------


def test_the_command_reads_stdin_prints_the_answer_and_blocks_with_2(tmp_path: Path) -> None:
    executing(tmp_path, task(1)).close()
    stdin = json.dumps({"cwd": str(tmp_path)})
    blocked = run_command("hook", "stop", stdin=stdin)
    assert (blocked.code, blocked.out) == (2, "")
    assert "1 of 1 tasks are not done" in blocked.err
    allowed = run_command("hook", "stop", stdin=stdin)
    assert (allowed.code, allowed.out, allowed.err) == (0, "", "")
    started = run_command("hook", "session-start", "--agent", "client", stdin=stdin)
    assert started.code == 0
    assert started.json["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    with reopen(tmp_path) as loop:
        assert [e.actor for e in loop.engine.events(types=["session_started"])] == ["client"]


@pytest.mark.parametrize(
    "args",
    [
        ["stopp"],
        [],
        ["stop", "--force"],
        ["stop", "extra"],
        ["--what"],
        ["stop", "-x", "1"],
        ["stop", "--agent"],
    ],
)
def test_an_unknown_name_or_option_is_a_message_and_exit_0(tmp_path: Path, args: list[str]) -> None:
    executing(tmp_path, task(1)).close()
    before = files(tmp_path)
    found = run_command("hook", *args, stdin=json.dumps({"cwd": str(tmp_path)}))
    assert (found.code, found.out) == (0, "")
    assert "journal: " in found.err
    assert files(tmp_path) == before


def test_a_hook_finds_the_folder_it_runs_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executing(tmp_path, task(1)).close()
    monkeypatch.chdir(tmp_path)
    assert run_command("hook", "stop", stdin=b"").code == 2
    assert types(reopen(tmp_path).engine.events())[-1] == "stop_blocked"
    assert os.getcwd() == str(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody without rights")
@pytest.mark.parametrize("name", hooks.NAMES)
def test_a_folder_that_may_not_be_written_breaks_no_session(shared_path: Path, name: str) -> None:
    AgLoop.init(folder_of(shared_path), feature_name="x").close()
    for path in (folder_of(shared_path), *folder_of(shared_path).rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = files(shared_path)
    assert as_nobody(lambda: run_hook(shared_path, name)) == 0
    assert files(shared_path) == before


def run_hook(place: Path, name: str) -> int:
    stdin = json.dumps({"cwd": str(place), "stop_hook_active": False})
    return run("agloop", "hook", name, stdin=stdin).code
