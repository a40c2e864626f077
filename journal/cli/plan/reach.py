"""Which plan a command means, how it is opened, and what these commands' options have in common.

I1  What a change prints, it prints after the plan is closed: only then is it on disk.
"""

import re
import shlex
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journal.cli import given, output
from journal.errors import Corrupt, JournalError, UsageError

if TYPE_CHECKING:
    from journal.event import Event
    from projections.loop_plan.plan import LoopPlan

Slug = Annotated[str, typer.Argument(metavar="SLUG", help="The plan.", show_default=False)]
PlansDir = Annotated[
    str | None,
    typer.Option(
        "--plans-dir",
        metavar="DIR",
        help="The folder of the plans; else ~/.claude/plans.",
        show_default=False,
    ),
]
Actor = Annotated[str, typer.Option(metavar="NAME", help="Who does it.", show_default=False)]
File = Annotated[
    str,
    typer.Argument(metavar="FILE", help="A JSON or YAML file; - is stdin.", show_default=False),
]

_COMMAND = re.compile(r"journal plan [a-z][^`\n]*(?=`)|^journal plan [a-z][^`\n]*$", re.MULTILINE)
"""A command as words give it: in backticks, or a whole line."""


def located(words: str, plans_dir: str | None) -> str:
    """Return words whose `journal plan …` commands name the folder of the plans, as was given."""
    if plans_dir is None:
        return words
    return _COMMAND.sub(lambda found: f"{found[0]} --plans-dir {shlex.quote(plans_dir)}", words)


@contextmanager
def locating(plans_dir: str | None) -> Generator[None]:
    """Let what a refusal advises be pasted as it is: it names the folder of the plans."""
    try:
        yield
    except JournalError as error:
        error.advice = located(error.advice, plans_dir)
        error.args = (f"{error.message}\n{error.advice}" if error.advice else error.message,)
        raise


@contextmanager
def opened(slug: str, plans_dir: str | None, actor: str = "") -> Generator["LoopPlan"]:
    """Open a plan to change it."""
    from projections.loop_plan.plan import LoopPlan

    with (
        locating(plans_dir),
        LoopPlan.open(slug, plans_dir, actor=actor, on_message=output.say) as plan,
    ):
        yield plan


@contextmanager
def looked_at(slug: str, plans_dir: str | None) -> Generator["LoopPlan"]:
    """Open a plan to look at it."""
    from projections.loop_plan.plan import LoopPlan

    with locating(plans_dir), LoopPlan.look(slug, plans_dir, on_message=output.say) as plan:
        yield plan


def change(
    slug: str,
    plans_dir: str | None,
    actor: str,
    run: Callable[["LoopPlan"], "list[Event]"],
) -> None:
    """Change a plan, and say what became of it."""
    with opened(slug, plans_dir, actor) as plan:
        events = run(plan)
        state = plan.state
    put_change(state, events)


def put_change(state: dict[str, Any], events: "list[Event]") -> None:
    """Print what a change was, and where the plan now stands."""
    did = ", ".join(event.type for event in events) or "nothing to do, it is so already"
    words = (
        f"{state['slug']}: {did} (phase {state['current_phase']}, iteration {state['iteration']})"
    )
    output.put(output.plain(words))


def read_value(path: str) -> Any:
    """Return the JSON value in a file, or the YAML value by its suffix; - is JSON on stdin.

    Raises `UsageError` for what is neither, `OSError` where it cannot be read.
    """
    if not path.lower().endswith((".yaml", ".yml")):
        return given.read_value(path)
    from projections.foreign import read_yaml

    try:
        found = read_yaml(given.read_file(path), path=path)
    except Corrupt as error:
        raise UsageError(error.message, advice=error.advice) from error
    for warning in found.warnings:
        output.say(warning)
    return found.value
