"""The commands of one phase: start, done, fail-phase, retry-phase."""

from typing import Annotated

import typer

from journal.cli import parsing
from journal.cli.options import read_count
from journal.cli.pipeline.reach import Actor, Index, Root, Run, opened, put_state


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(app, "start", start, "journal pipeline start RUN 0")
    parsing.add(app, "done", done, "journal pipeline done RUN 0 --output plan.md")
    parsing.add(
        app, "fail-phase", fail_phase, "journal pipeline fail-phase RUN 0 --error 'no answer'"
    )
    parsing.add(app, "retry-phase", retry_phase, "journal pipeline retry-phase RUN 0")


def start(run: Run, index: Index, root: Root = None, actor: Actor = "") -> None:
    """Start a pending phase."""
    with opened(run, root) as found:
        found.start(read_count(index, "I"), actor=actor)
        put_state(found)


def done(
    run: Run,
    index: Index,
    outputs: Annotated[
        list[str] | None,
        typer.Option(
            "--output", metavar="PATH", help="What it made (repeatable).", show_default=False
        ),
    ] = None,
    root: Root = None,
    actor: Actor = "",
) -> None:
    """Finish a running phase."""
    with opened(run, root) as found:
        found.done(read_count(index, "I"), outputs or (), actor=actor)
        put_state(found)


def fail_phase(
    run: Run,
    index: Index,
    error: Annotated[str, typer.Option(metavar="T", help="What went wrong.", show_default=False)],
    root: Root = None,
    actor: Actor = "",
) -> None:
    """Fail a running phase."""
    with opened(run, root) as found:
        found.fail_phase(read_count(index, "I"), error, actor=actor)
        put_state(found)


def retry_phase(run: Run, index: Index, root: Root = None, actor: Actor = "") -> None:
    """Make a failed phase pending again."""
    with opened(run, root) as found:
        found.retry_phase(read_count(index, "I"), actor=actor)
        put_state(found)
