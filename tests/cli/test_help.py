"""`--help`: each command has one, it ends with examples, and these call what there is."""

import re
import shlex

import pytest
from typer.main import get_command

from journal import __version__
from journal.cli import app
from tests.cli.command import Run

COMMANDS = [
    *("init", "append", "checkpoint", "state", "head", "checkpoints", "projections", "log"),
    *("diff", "compare", "blame", "bisect", "step", "fork", "restore"),
    *(
        "status",
        "verify",
        "rebuild",
        "adopt",
        "repair",
        "doctor",
        "audit",
        "bench",
        "export",
        "demo",
    ),
]
GROUPS = ["import", "agloop", "task", "pipeline", "plan", "loop"]
IMPORTS = ["versions", "git", "file"]
ALL = [[name] for name in [*COMMANDS, "import"]] + [["import", name] for name in IMPORTS]


def examples(text: str) -> list[str]:
    """The lines under the heading at the end of a help text."""
    _, heading, tail = re.split(r"^ *(Examples?:)$", text, flags=re.MULTILINE)
    lines = [line.strip() for line in tail.strip().splitlines()]
    assert (heading == "Example:") == (len(lines) == 1)
    return lines


def test_the_commands_are_these(run: Run) -> None:
    listed = run("--help").out.partition("Commands:")[2].partition("Example:")[0]
    assert re.findall(r"^  (\S+)", listed, flags=re.MULTILINE) == COMMANDS + GROUPS


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_each_help_ends_with_examples_that_can_be_parsed(run: Run, command: list[str]) -> None:
    shown = run(*command, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(f"Usage: journal {' '.join(command)} ")
    root = get_command(app)
    for example in examples(shown.out):
        words = shlex.split(example, comments=True)
        words = words[words.index("journal") :]
        words = words[: next((n for n, w in enumerate(words) if w in {"|", ">", "<", ";"}), None)]
        assert words[: len(command) + 1] == ["journal", *command] or command == ["import"]
        with root.make_context("journal", words[1:], resilient_parsing=True) as context:
            name, found, rest = root.resolve_command(context, words[1:])  # type: ignore[attr-defined]
            found.make_context(name, rest, parent=context, resilient_parsing=True)


def test_the_list_of_commands_fits_a_narrow_terminal_uncut(run: Run) -> None:
    assert "..." not in run("--help").out.partition("Commands:")[2]


def test_version_is_said(run: Run) -> None:
    assert run("--version").out == f"journal {__version__}\n"


def test_no_command_shows_the_help(run: Run) -> None:
    for args in ((), ("import",)):
        shown = run(*args)
        assert shown.code == 2
        assert "Usage: journal" in shown.out + shown.err
