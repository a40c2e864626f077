"""Running `journal agloop …` in this process."""

from pathlib import Path

import typer
from typer.testing import CliRunner

from journal.cli import failing
from journal.cli.agloop import app as agloop_app
from tests.cli.command import Ran

_app = typer.Typer(cls=failing.Commands)
_app.add_typer(agloop_app, name="agloop")


@_app.callback()
def _options() -> None:
    """Make it a group, as the whole command line is."""


def run(*args: str, stdin: str | bytes = b"") -> Ran:
    """Run `journal agloop` with these arguments."""
    result = CliRunner().invoke(_app, ["agloop", *args], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def at(tmp_path: Path, *args: str, stdin: str | bytes = b"") -> Ran:
    """Run a verb on the loop in `tmp_path`; the option stands behind the verb's own words."""
    return run(*args, "--dir", str(tmp_path), stdin=stdin)


def help_of(*args: str) -> str:
    """Return the help of a command of the group."""
    return CliRunner().invoke(_app, ["agloop", *args, "--help"]).stdout
