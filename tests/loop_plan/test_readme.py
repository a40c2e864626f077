"""The page of the system is true: its session runs, and so does its Python."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from projections import loop_plan
from tests.cli.command import run as whole
from tests.loop_plan import command
from tests.loop_plan.life import read_state
from tests.loop_plan.test_commands import COMMANDS

PAGE = (Path(str(loop_plan.__file__)).parent / "README.md").read_text()


def block(language: str) -> str:
    [found] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


@pytest.mark.slow
def test_session_of_the_page_runs_from_start_to_end(tmp_path: Path) -> None:
    ran = 0
    for line in block("console").splitlines():
        assert line.startswith("$ journal plan "), line
        words, _, stdin = line.removeprefix("$ journal plan ").partition("<<<")
        found = command.run(*shlex.split(words), folder=tmp_path, stdin="".join(shlex.split(stdin)))
        assert found.code == 0, (line, found.err)
        ran += 1
    assert ran > 30
    state = read_state(tmp_path, "feed")
    assert (state["current_phase"], state["completion_state"]) == ("done", "shipped")
    assert state["iteration"] == 2
    place = str(tmp_path / "feed.journal")
    looks = block("sh").splitlines()
    assert looks[0].startswith("J=")
    for line in looks[1:]:
        looked = whole(*shlex.split(line.replace("$J", place))[1:])
        assert (looked.code, bool(looked.out)) == (0, True), (line, looked.err)


def test_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(block("python"), names)
    state = read_state(tmp_path / "plans", "feed")
    assert (state["current_phase"], state["rigor"]) == ("2", "full")


def test_session_shows_nearly_every_command() -> None:
    shown = set(re.findall(r"^\$ journal plan ([a-z-]+)", block("console"), re.MULTILINE))
    assert set(COMMANDS) - shown == {"abort", "override", "sign-off"}
