"""The page of the system is true: its session runs, and so does its Python."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from projections import task_state
from tests.task_state.tasks import read_state, run
from tests.task_state.test_cli import COMMANDS

PAGE = (Path(str(task_state.__file__)).parent / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.slow
def test_session_of_the_page_runs_from_start_to_end(tmp_path: Path) -> None:
    [session] = blocks("console")
    shown: set[str] = set()
    for line in session.splitlines():
        assert line.startswith("journal task "), line
        words = shlex.split(line.removeprefix("journal task "))
        ran = run(*words, root=tmp_path)
        assert ran.code == 0, (line, ran.err)
        shown.add(words[0])
    assert shown == {*COMMANDS, "storage"}
    state = read_state(tmp_path)
    assert state["files"] == ["report.md", "out.txt"]
    assert state["data"]["worker-1"]["result"] == {"ok": True}
    assert state["data"]["__outcome"] == "success"


@pytest.mark.parametrize("index", range(2))
def test_python_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: int
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(blocks("python")[index], names)
    if index == 0:
        assert names["prompt"].startswith("<task_state>")
        state = read_state(tmp_path / ".task-state")
        assert state["data"]["worker-1"] == {"phase": "plan", "result": {"ok": True}}


def test_every_python_block_is_run() -> None:
    assert len(blocks("python")) == 2
