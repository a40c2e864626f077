"""Running a command of the command line in this process."""

from collections.abc import Callable
from typing import Any, NamedTuple

import orjson
from typer.testing import CliRunner

from journal.cli import app


class Ran(NamedTuple):
    """What a command did: its exit code, its stdout and its stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its stdout, which is one line of JSON."""
        assert self.out.count("\n") == 1, self.out
        return orjson.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Its stdout, which is JSON line by line."""
        return [orjson.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Ran]


def run(*args: str, stdin: str | bytes = b"") -> Ran:
    """Run `journal` with these arguments; `stdin` is what it reads."""
    result = CliRunner().invoke(app, list(args), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)
