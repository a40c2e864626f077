"""What the tests of the command line stand on: a folder of their own, and a journal in it."""

import sys
from pathlib import Path

import orjson
import pytest

from tests.cli import command
from tests.cli.command import Ran, Run


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in an empty folder, with nothing said about journals or colours."""
    monkeypatch.chdir(tmp_path)
    for name in ("JOURNAL_DIR", "JOURNAL_DEBUG", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def run() -> Run:
    """Run `journal` with these arguments."""
    return command.run


@pytest.fixture
def journal(run: Run) -> Run:
    """Make a journal `run` here with three events behind the first, and run commands on it."""
    assert run("init", "run").code == 0
    for number in range(3):
        data = orjson.dumps({"path": "/n", "value": number}).decode()
        assert run("append", "-d", "run", "set", data, "--actor", f"a{number}").code == 0

    def run_on(name: str, *args: str, stdin: str | bytes = b"") -> Ran:
        return run(name, "-d", "run", *args, stdin=stdin)

    return run_on
