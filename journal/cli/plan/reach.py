"""Which plan a command means, how it is opened, and what these commands' options have in common.

I1  What a change prints, it prints after the plan is closed: only then is it on disk.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journal.cli import given, output
from journal.errors import Corrupt, UsageError

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


@contextmanager
def opened(slug: str, plans_dir: str | None, actor: str = "") -> Generator["LoopPlan"]:
    """Open a plan to change it."""
    from projections.loop_plan.plan import LoopPlan

    with LoopPlan.open(slug, plans_dir, actor=actor, on_message=output.say) as plan:
        yield plan


@contextmanager
def looked_at(slug: str, plans_dir: str | None) -> Generator["LoopPlan"]:
    """Open a plan to look at it."""
    from projections.loop_plan.plan import LoopPlan

    with LoopPlan.look(slug, plans_dir, on_message=output.say) as plan:
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
        found = read_yaml(Path(path).read_bytes(), path=path)
    except Corrupt as error:
        raise UsageError(error.message, advice=error.advice) from error
    for warning in found.warnings:
        output.say(warning)
    return found.value
