"""The commands for plan.yaml: plan check, plan adopt."""

from typing import TYPE_CHECKING, Annotated

import typer

from journal.cli import output, parsing
from journal.cli.agloop import reach
from journal.cli.options import AsJson

if TYPE_CHECKING:
    from projections.agloop.adoption import PlanReport

_MOST_WARNINGS = 20
_File = Annotated[
    str | None,
    typer.Argument(metavar="FILE", help="The loop's plan.yaml, if not given.", show_default=False),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    plan = reach.group(
        app, "plan", "Read plan.yaml into the tasks of the loop.", "journal agloop plan adopt"
    )
    parsing.add(
        plan, "check", check, "journal agloop plan check", "journal agloop plan check p.yaml"
    )
    parsing.add(plan, "adopt", adopt, "journal agloop plan adopt --agent planner")


def check(path: _File = None, folder: reach.Dir = None, as_json: AsJson = False) -> None:
    """Read a plan, and say what is wrong with it and what its adoption would do.

    Every fault is told at once, with its line; nothing is changed.
    """
    from projections.agloop.agloop import AgLoop

    with AgLoop.open(reach.find(folder), read_only=True, on_message=output.say) as loop:
        found = loop.check_plan(path)
    _put(found, as_json=as_json)


def adopt(
    path: _File = None,
    folder: reach.Dir = None,
    agent: reach.Agent = "agloop",
    as_json: AsJson = False,
) -> None:
    """Adopt a plan: its tasks become the loop's.

    A task that the loop has already keeps its status, result, verification and retries, and takes
    the plan's texts. One that is not in the plan any more goes if it is pending, else it stays.
    """
    with reach.opened(folder) as loop:
        found = loop.adopt_plan(path, agent=agent)
    _put(found, as_json=as_json)


def _put(found: "PlanReport", *, as_json: bool) -> None:
    if as_json:
        output.put_report(found)
        return
    for text in found.warnings[:_MOST_WARNINGS]:
        output.say(f"warning: {text}")
    if len(found.warnings) > _MOST_WARNINGS:
        output.say(f"and {len(found.warnings) - _MOST_WARNINGS} warnings more (--json has all)")
    words = f"{found.plan_id}: {output.count(found.tasks, 'task')}, status {found.status}"
    parts = [
        f"{len(ids)} {what}: {', '.join(ids[:8])}{' …' if len(ids) > 8 else ''}"
        for what, ids in (
            ("new", found.new),
            ("changed", found.changed),
            ("gone", found.gone),
            ("staying though not in the plan", found.staying),
        )
        if ids
    ]
    output.put(output.plain("; ".join([words, *parts])))
