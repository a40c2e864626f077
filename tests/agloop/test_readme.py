"""The session in the system's README, run as it stands there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from projections.agloop.agloop import AgLoop
from tests.agloop.life import read_state

README = Path(__file__).parents[2] / "projections" / "agloop" / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.slow
def test_the_session_pasted_into_a_shell_in_an_empty_folder_does_what_the_page_says(
    tmp_path: Path,
) -> None:
    shell = shutil.which("bash") or shutil.which("sh")
    assert shell is not None
    (session,) = blocks("sh")
    root = str(README.parents[2])
    program = f'journal() {{ "{sys.executable}" -m journal "$@"; }}\nset -e\n{session}'
    environment = {**os.environ, "PYTHONPATH": root}
    environment.pop("JOURNAL_DIR", None)
    ran = subprocess.run(
        [shell, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    said = ran.stdout.splitlines()
    assert "plan-20260301-144500: 2 tasks, status approved; 2 new: task-001, task-002" in said
    assert any(line.startswith("task-002: Index (") for line in said)
    state = read_state(tmp_path)
    assert state["current_phase"] == "execute"
    assert [task["status"] for task in state["tasks"]] == ["done", "pending"]


@pytest.mark.slow
def test_the_session_in_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (source,) = blocks("python")
    exec(compile(source, str(README), "exec"), {})
    with AgLoop.open(tmp_path / ".agloop") as loop:
        assert loop.state["current_task_id"] == "task-001"


def test_every_verb_of_the_group_is_named_on_the_page_or_has_help() -> None:
    text = README.read_text()
    for verb in ("init", "phase", "plan check", "plan adopt", "task start", "recover", "hook"):
        assert f"agloop {verb}" in text
