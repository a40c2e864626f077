"""The system's page: its session and its Python really work."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from journal.cli import app as whole_app
from projections.pipeline_state import projection
from tests.pipeline_state.making import Desk
from tests.pipeline_state.test_cli import app as pipeline_app

PAGE = (Path(projection.__file__).parent / "README.md").read_text(encoding="utf-8")


def session() -> list[str]:
    """The commands of the page's session, continued lines joined."""
    (block,) = re.findall(r"from start to end\n\n```\n(.*?)```", PAGE, flags=re.DOTALL)
    return [line[2:] for line in block.replace("\\\n", "").splitlines() if line.startswith("$ ")]


@pytest.mark.slow
def test_the_session_of_the_page_works_line_by_line(desk: Desk) -> None:
    run_id, done = "", 0
    for line in session():
        if line.startswith("RUN="):
            run_id = line.partition("=")[2]
            continue
        words = shlex.split(line.replace("$RUN", run_id))
        if words[0] == "echo":
            (desk.folder / words[-1]).write_text(words[1], encoding="utf-8")
            continue
        assert words[0] == "journal"
        app = pipeline_app if words[1] == "pipeline" else whole_app
        result = CliRunner().invoke(app, words[1:])
        if "No such command" in result.stderr:
            pytest.skip(f"journal {words[1]} is not there yet")
        assert result.exit_code == 0, (line, result.stderr)
        assert result.stdout
        done += 1
    assert done > 10


def test_the_python_of_the_page_works(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == "completed 1\n"


def test_the_page_has_a_row_for_each_kind_of_damage() -> None:
    table = PAGE.partition("| the state file was | then |")[2].partition("\n\n")[0]
    rows = ("deleted", "cut short", "NUL bytes", "conflict markers", "and valid", "and invalid")
    assert all(row in table for row in rows)
