"""How a command opens the journal that it means: engine messages go to stderr."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from journal.cli import finding, output
from journal.cli.options import LOCK_TIMEOUT, read_seconds
from journal.errors import JournalError

if TYPE_CHECKING:
    from journal import Engine


@contextmanager
def for_reading(folder: str | None) -> Generator["Engine"]:
    """Open the journal that is meant; nothing is locked, repaired or written.

    What the engine says is printed at the end, but for the message of an error that is raised.
    """
    said: list[str] = []
    raised = ""
    try:
        with open_path(finding.find(folder), read_only=True, on_message=said.append) as engine:
            yield engine
            # Of what it did not read, as much as can be told at once.
            said += engine.glance().problems
    except JournalError as error:
        raised = error.message
        raise
    finally:
        for message in said:
            if message != raised:
                output.say(message)


@contextmanager
def for_reporting(folder: str | None, *, without_code: bool = False) -> Generator["Engine"]:
    """Open the journal that is meant, for a report that has in it what the engine says.

    `without_code`: also where the projection's module does not come; see `journal.open`.
    """
    path = finding.find(folder)
    with open_path(path, read_only=True, on_message=None, without_code=without_code) as engine:
        yield engine


@contextmanager
def for_writing(
    folder: str | None, lock_timeout: str = LOCK_TIMEOUT, **options: Any
) -> Generator["Engine"]:
    """Open the journal that is meant; what opening had to mend is said.

    What a command prints, it prints after this: only then is it on disk in every mode.
    """
    wait_s = read_seconds(lock_timeout)
    with open_path(finding.find(folder), lock_timeout_s=wait_s, **options) as engine:
        yield engine


def open_path(path: Path, **options: Any) -> "Engine":
    """Open the journal in the folder `path`; see `journal.open`."""
    import journal

    let_own_projections_in()
    return journal.open(path, **{"on_message": output.say, **options})


def let_own_projections_in() -> None:
    """Let `module:NAME` name a module of the working directory, after all that are installed."""
    try:
        here = os.getcwd()
    except FileNotFoundError:  # it was deleted under us, and nothing can be in it
        return
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
