"""The session in the system's README, run as it stands there."""

import json
import re
import shlex
from pathlib import Path

import pytest

from projections.agloop.agloop import AgLoop
from tests.agloop.command import run
from tests.agloop.life import PASS, RESULT, read_state
from tests.cli.command import run as run_journal

README = Path(__file__).parents[2] / "projections" / "agloop" / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.slow
def test_the_session_on_the_command_line_does_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JOURNAL_DIR", raising=False)
    (tmp_path / "result.json").write_text(json.dumps(RESULT))
    (tmp_path / "verification.json").write_text(json.dumps(PASS))
    (plan,) = blocks("yaml")
    session = next(block for block in blocks("") if block.startswith("$ "))
    shown = ""
    for line in session.splitlines():
        if not line.startswith("$ "):
            assert line in shown.splitlines()
            continue
        command = line[2:]
        if command.startswith("$EDITOR"):
            Path(".agloop/plan.yaml").write_text(plan)
            continue
        stdin = ""
        if command.startswith("echo "):
            said, command = command.split(" | ")
            stdin = shlex.split(said)[1]
        words = shlex.split(command)
        assert words[0] == "journal"
        if words[1] == "agloop":
            found = run(*words[2:], stdin=stdin)
        else:
            found = run_journal(*words[1:])
        assert found.code == 0, (command, found)
        assert "warning" not in found.err
        shown = found.out
    assert read_state(tmp_path)["current_phase"] == "verify"


@pytest.mark.slow
def test_the_session_in_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (source,) = blocks("python")
    (plan,) = blocks("yaml")
    source = source.replace(
        'with AgLoop.open(".agloop") as loop:',
        'PLAN_FILE.write_text(PLAN)\nwith AgLoop.open(".agloop") as loop:',
    ).replace("2026-03-01T14:45:00Z", "2126-03-01T14:45:00Z")
    exec(
        compile(source, str(README), "exec"), {"PLAN": plan, "PLAN_FILE": Path(".agloop/plan.yaml")}
    )
    with AgLoop.open(tmp_path / ".agloop") as loop:
        assert loop.state["current_task_id"] == "task-001"


def test_every_verb_of_the_group_is_named_on_the_page_or_has_help() -> None:
    text = README.read_text()
    for verb in ("init", "phase", "plan check", "plan adopt", "task start", "recover", "hook"):
        assert f"agloop {verb}" in text
