"""Commands that run in a forked child, one after another, and what each of them said.

I1  An outcome is `ok`, the name of an exception of the error tree, `OSError`, or `exit N`; any
    other exception is a fault of the product, and told as `Violation`.
I2  The child has no rights of root, where root starts the row: nothing is forbidden to root.
I3  Nothing is waited for longer than `TIMEOUT_S`: what hangs is killed, and told as `Violation`.
"""

import contextlib
import functools
import io
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main

import journal
from journal.cli import main, systems
from tests.faults.process import Process, Say
from tests.faults.row import Violation

NOBODY = 65534
TIMEOUT_S = 20.0

Act = Callable[[Path], object]
"""Does something in a folder; what it returns is what it said."""

Told = list[tuple[str, str, str]]
"""(command, outcome, what was said), the outcomes as I1 has them."""


class Exited(Exception):
    """A command of the command line ended with another code than 0."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(f"exit {code}: {words}")
        self.code = code
        self.words = words


def run_acts(folder: Path, acts: Mapping[str, Act], where: str) -> Told:
    """Do all of it in a child; raises `Violation`, also where it does not end (I3)."""
    with Process(lambda say: _work(folder, acts, say)) as process:
        try:
            lines = process.join(TIMEOUT_S)
        except Violation as violation:
            raise Violation(f"{where}: {violation}") from None
    return [tuple(line.split("\t", 2)) for line in lines]  # type: ignore[misc]


def give_away(root: Path) -> None:
    """Make it the property of who runs the commands; a hard link's other name goes with it."""
    if os.geteuid() == 0:
        for folder, folders, files in os.walk(root):
            for found in (".", *folders, *files):
                os.chown(os.path.join(folder, found), NOBODY, NOBODY, follow_symlinks=False)


def _work(folder: Path, acts: Mapping[str, Act], say: Say) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    os.environ["NO_COLOR"] = "1"
    for name, act in acts.items():
        start = time.monotonic()
        try:
            outcome, words = "ok", str(act(folder))
        except journal.JournalError as error:
            outcome, words = type(error).__name__, str(error)
        except OSError as error:
            outcome, words = "OSError", f"{error.filename!s}: {error.strerror}"
        except Exited as error:
            outcome, words = f"exit {error.code}", error.words
        if (elapsed_s := time.monotonic() - start) > TIMEOUT_S / 4:
            raise Violation(f"{name} took {elapsed_s:.1f} s")
        said = words.replace("\n", " | ").replace("\t", " ")
        say(f"{name}\t{outcome}\t{said}".encode("utf-8", "replace").decode())


@contextlib.contextmanager
def _built_once() -> Iterator[None]:
    """Build the command line once: three quarters of the time of a command go into that."""
    with (
        mock.patch.object(typer.main, "get_command", _get_command),
        mock.patch.object(systems, "_load", _load),
    ):
        yield


_get_command = functools.cache(typer.main.get_command)
_load = functools.cache(systems._load)


def run_command(argv: list[str], stdin: bytes = b"") -> str:
    """Run the command line in this process; return all that it said. Raises `Exited`."""
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="utf-8")
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    code: Any = 0
    with (
        _built_once(),
        mock.patch.multiple(sys, stdin=given, stdout=out, stderr=out, argv=["journal", *argv]),
        mock.patch("journal.cli.output.open_streams", return_value=True),
    ):
        try:
            main()
        except SystemExit as error:
            code = error.code
        out.flush()
    words = raw.getvalue().decode("utf-8", "replace")
    if code:
        raise Exited(code, words)
    return words
