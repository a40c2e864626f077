"""Which thread a command means, and what these commands' options have in common."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from journal.cli import output
from journal.cli.options import read_count

if TYPE_CHECKING:
    from projections.task_state.task_state import Answer, TaskState

Root = Annotated[
    str | None,
    typer.Option(
        "--dir",
        "-d",
        metavar="ROOT",
        help="Where threads lie; else JOURNAL_DIR, else .task-state here.",
        show_default=False,
    ),
]
Thread = Annotated[
    str, typer.Option("--thread", metavar="T", help="The thread.", show_default=False)
]
Actor = Annotated[str, typer.Option(metavar="NAME", help="Who does it.", show_default=False)]
Depth = Annotated[
    str, typer.Option("--depth", metavar="N", help="Of the execution.", show_default=False)
]
Merge = Annotated[
    str,
    typer.Option(
        "--merge-data",
        metavar="shallow|namespace",
        help="The child's keys replace ours; or its whole map is stored under its name.",
    ),
]


@contextmanager
def opened(thread: str, root: str | None, actor: str = "") -> Generator["TaskState"]:
    """Open a thread's state; what had to be mended is said."""
    from projections.task_state.task_state import TaskState

    with TaskState(thread, root=root, actor=actor, on_message=output.say) as task:
        yield task


def read_depth(text: str) -> int:
    """Return the depth that a text of digits names; raises `UsageError` for anything else."""
    return read_count(text, "depth")


def put_answer(answer: "Answer") -> None:
    """Print what became of a call."""
    output.put(output.plain(answer.message))
