"""Running `journal plan …` in this process."""

from pathlib import Path

import typer
from typer.testing import CliRunner

from journal.cli import failing
from journal.cli.plan import app as plan_app
from tests.cli.command import Ran

_app = typer.Typer(cls=failing.Commands)
_app.add_typer(plan_app, name="plan")


@_app.callback()
def _options() -> None:
    """Make it a group, as the whole command line is."""


def run(*args: str, folder: Path, stdin: str | bytes = b"") -> Ran:
    """Run `journal plan` with these arguments in a folder of plans."""
    wanted = ["plan", *args, "--plans-dir", str(folder)]
    result = CliRunner().invoke(_app, wanted, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def help_of(*args: str) -> str:
    """Return the help of a command of the group."""
    return CliRunner().invoke(_app, ["plan", *args, "--help"]).stdout
