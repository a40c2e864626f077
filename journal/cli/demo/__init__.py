"""`journal demo`: what a journal is good for, shown on a real history and checked on the way.

    play.py     the five scenes
    victim.py   the process that is killed in the middle of an append
    session-state.jsonl.gz   171 versions of a state file, as `journal import versions` reads them

The history was kept in git by an agent at work. Its structure, numbers and times are real; names
and free texts were replaced by neutral words.
"""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from journal.cli import output, parsing
from journal.errors import UsageError


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    parsing.add(app, "demo", demo, "journal demo", "journal demo demo-run")


def demo(
    folder: Annotated[
        str | None,
        typer.Argument(metavar="DIR", help="Keep the journal here.", show_default=False),
    ] = None,
) -> None:
    """Show all of it on a real history, and check it.

    The history of a state file is played into a journal, a writer is killed in the middle of an
    append, state.json is scribbled over, everything but the log is deleted; each time the journal
    comes back whole. The exit code is 0 only if every check held.
    """
    from journal.cli.demo.play import play

    if folder is None:
        with tempfile.TemporaryDirectory(prefix="journal-demo-") as temporary:
            play(Path(temporary) / "run", output.put)
        output.put("The journal was in a temporary folder; `journal demo DIR` keeps it.")
        return
    path = Path(folder)
    if path.exists() and any(path.iterdir()):
        raise UsageError(f"{path} is not empty", advice="Name a folder that is not there yet.")
    play(path, output.put)
    output.put(output.plain(f"Look around: journal log -d {path} -n 5; journal status -d {path}"))
