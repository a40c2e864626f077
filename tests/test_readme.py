"""README is true: what it shows to type runs as it stands there, in the order it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "README.md").read_text()


def blocks(language: str, heading: str) -> list[str]:
    """The blocks of a section, in order."""
    [section] = re.findall(
        rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE
    )
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which `journal` is this checkout's."""
    commands = tmp_path / "bin"
    commands.mkdir()
    command = commands / "journal"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m journal "$@"\n')
    command.chmod(0o755)
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("JOURNAL_")},
        "PATH": f"{commands}:{os.environ['PATH']}",
        "PYTHONPATH": ":".join(filter(None, paths)),
    }


def type_in(command: list[str], there: Path, environment: dict[str, str]) -> str:
    """Run a command as its reader would; return what it printed, errors included."""
    done = subprocess.run(
        command,
        cwd=there,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_first_hour_can_be_typed_as_it_stands(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    _, session = blocks("sh", "Sixty seconds")
    [python] = blocks("python", "Sixty seconds")
    [travel] = blocks("sh", "Find out what happened")
    [query] = blocks("python", "Find out what happened")

    said = type_in(["bash", "-e", "-c", session], tmp_path, environment)
    assert "state.json: it ends before its JSON value does; it is written again" in said
    assert "ok: 5 events in 1 segment" in said
    assert (tmp_path / "run/state.json").read_text().count("execute") == 1

    said = type_in(["bash", "-e", "-c", travel], tmp_path / "run", environment)
    assert '~ /phase  "plan" -> "execute"' in said
    assert "~ /tasks/0/done  true -> false" in said
    assert (tmp_path / "run/audit.html").read_text().startswith("<!doctype html>")

    said = type_in([sys.executable, "-c", python], tmp_path, environment)
    assert said.splitlines()[-1].endswith("set  {'path': '/phase', 'value': 'done'}")

    said = type_in([sys.executable, "-c", query], tmp_path, environment)
    assert "planner" in said
    assert "journal.restored" in said


@pytest.mark.slow
def test_a_projection_of_ones_own_is_used_as_it_stands(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    [python] = blocks("python", "Projections of your own")
    (tmp_path / "phases.py").write_text(python)
    type_in(["journal", "init", "run", "--projection", "phases:PHASES"], tmp_path, environment)
    event = ["append", "-d", "run", "phase_entered", '{"phase": "plan"}']
    type_in(["journal", *event], tmp_path, environment)
    assert type_in(["journal", "state", "-d", "run"], tmp_path, environment) == (
        '{\n  "phase": "plan"\n}\n'
    )
