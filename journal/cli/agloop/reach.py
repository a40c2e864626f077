"""Which loop a command means, how it is opened, and what these commands' options have in common.

    --dir (the .agloop/, its project, or its journal/), then JOURNAL_DIR, then .agloop/ here or in
    a folder above; `init` begins one here

I1  What a change prints, it prints after the loop is closed: only then is it on disk.
"""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journal.cli import output, parsing
from journal.cli.finding import VARIABLE
from journal.errors import JournalError

if TYPE_CHECKING:
    from journal.event import Event
    from projections.agloop.agloop import AgLoop

NAME = ".agloop"

Dir = Annotated[
    str | None,
    typer.Option(
        "--dir",
        "-d",
        metavar="DIR",
        help="The loop's .agloop/ or its project; else the nearest one from here upwards.",
        show_default=False,
    ),
]
Agent = Annotated[
    str, typer.Option("--agent", metavar="NAME", help="Who does it.", show_default="agloop")
]
Id = Annotated[str, typer.Argument(metavar="ID", help="The task.", show_default=False)]
File = Annotated[
    str, typer.Argument(metavar="FILE", help="A JSON file; - is stdin.", show_default=False)
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why.", show_default=False)]


def group(app: typer.Typer, name: str, about: str, example: str) -> typer.Typer:
    """Add a group of commands and return it."""
    found = typer.Typer(
        cls=parsing.Group,
        help=about,
        no_args_is_help=True,
        rich_markup_mode=None,
        epilog=f"\b\nExample:\n  {example}",
    )
    app.add_typer(found, name=name)
    return found


def find(named: str | None) -> Path:
    """Return the `.agloop/` that a command means; raises `JournalError` where there is none."""
    wanted = named or os.environ.get(VARIABLE)
    if wanted:
        return _resolve(Path(wanted))
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / NAME).is_dir():
            return Path(NAME) if folder == here else folder / NAME
    raise JournalError(
        f"no {NAME}/ in {here}, nor in a folder above it",
        advice="`journal agloop init` begins a loop here; or name one with --dir.",
    )


def find_new(named: str | None) -> Path:
    """Return the `.agloop/` that `init` is to begin, or take over."""
    if named is None:
        return Path(NAME)
    place = Path(named)
    return place if place.name == NAME or _is_loop(place) else place / NAME


def _resolve(place: Path) -> Path:
    if (place / NAME).is_dir():
        return place / NAME
    if place.name == "journal" and (place / "log").is_dir():
        return place.parent
    return place


def _is_loop(place: Path) -> bool:
    return (place / "journal" / "log").is_dir() or (place / "state.json").is_file()


@contextmanager
def opened(named: str | None, **options: Any) -> Generator["AgLoop"]:
    """Open a loop to change it; what was mended is said."""
    from projections.agloop.agloop import AgLoop

    with AgLoop.open(find(named), on_message=output.say, **options) as loop:
        yield loop


def change(named: str | None, run: Callable[["AgLoop"], "list[Event]"]) -> None:
    """Change a loop, and say what became of it."""
    with opened(named) as loop:
        events = run(loop)
        state = loop.state
    put_change(events, state)


def put_change(events: "list[Event]", state: dict[str, Any]) -> None:
    """Print what a change was, and where the loop now stands."""
    shown = [event.type for event in events if not event.type.startswith("checkpoint")]
    did = ", ".join(shown) or "nothing to do, it is so already"
    done = sum(task["status"] == "done" for task in state["tasks"])
    words = (
        f"{did}: phase {state['current_phase']}, iteration {state['iteration']}, "
        f"{done}/{len(state['tasks'])} tasks done"
    )
    if state["current_task_id"]:
        words += f", current task {state['current_task_id']}"
    output.put(output.plain(words))
