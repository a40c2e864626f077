"""The commands of a plan from its execution to the end."""

from typing import Annotated

import typer

from journal.cli import parsing
from journal.cli.plan.reach import Actor, File, PlansDir, Slug, change, read_value
from journal.errors import UsageError

_By = Annotated[str, typer.Option(metavar="NAME", help="The person who signs.", show_default=False)]
_Note = Annotated[
    str, typer.Option(metavar="TEXT", help="What that person saw.", show_default=False)
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(app, "execute", execute, "journal plan execute feed --log feed.log.md")
    parsing.add(app, "task-done", task_done, "journal plan task-done feed T7")
    parsing.add(
        app,
        "stage",
        stage,
        "journal plan stage start feed stage-1",
        "journal plan stage verify feed stage-1 verdict.json",
        "journal plan stage sign-off feed stage-1 --by Ann --note 'saw it work'",
    )
    parsing.add(
        app,
        "verify",
        verify,
        "journal plan verify feed verdict.yaml",
        """echo '{"status": "passed", "score": "5/5"}' | journal plan verify feed -""",
    )
    parsing.add(
        app, "sign-off", sign_off, "journal plan sign-off feed --by Ann --note 'tried it offline'"
    )
    parsing.add(app, "ship", ship, "journal plan ship feed")
    parsing.add(app, "abort", abort, "journal plan abort feed")


def execute(
    slug: Slug,
    log: Annotated[
        str, typer.Option(metavar="PATH", help="Where it is logged.", show_default=False)
    ] = "",
    plans_dir: PlansDir = None,
    actor: Actor = "",
) -> None:
    """Begin the execution that the user approved: phase 7a to 7b."""
    change(slug, plans_dir, actor, lambda plan: plan.start_execution(log))


def task_done(
    slug: Slug,
    task: Annotated[str, typer.Argument(metavar="ID", show_default=False)],
    plans_dir: PlansDir = None,
    actor: Actor = "",
) -> None:
    """Record that a task of the plan passed its gate."""
    change(slug, plans_dir, actor, lambda plan: plan.complete_task(task))


def stage(
    *,
    action: Annotated[str, typer.Argument(metavar="start|verify|sign-off", show_default=False)],
    slug: Slug,
    name: Annotated[str, typer.Argument(metavar="ID", help="The stage.", show_default=False)],
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="The verdict; - is stdin.", show_default=False),
    ] = None,
    by: _By = "",
    note: _Note = "",
    plans_dir: PlansDir = None,
    actor: Actor = "",
) -> None:
    """Start, verify or sign off a stage.

    A stage starts once the one before it passed, or was signed off where it is human_needed.
    """
    match action:
        case "start":
            change(slug, plans_dir, actor, lambda plan: plan.start_stage(name))
        case "verify" if file is not None:
            verdict = read_value(file)
            change(slug, plans_dir, actor, lambda plan: plan.verify_stage(name, verdict))
        case "verify":
            raise UsageError("stage verify: the verdict's FILE is missing", key="file")
        case "sign-off":
            change(slug, plans_dir, actor, lambda plan: plan.sign_off_stage(name, by, note))
        case _:
            raise UsageError(
                f"stage: {action!r} is none",
                key="action",
                advice="Allowed: start, verify, sign-off.",
            )


def verify(slug: Slug, file: File, plans_dir: PlansDir = None, actor: Actor = "") -> None:
    """Record the verifier's verdict on the plan.

    FILE is {"status": "passed|gaps_found|human_needed", "score"?: "4/5", "gaps"?: [...]}.
    """
    verdict = read_value(file)
    change(slug, plans_dir, actor, lambda plan: plan.record_verification(verdict))


def sign_off(
    slug: Slug, by: _By, note: _Note, plans_dir: PlansDir = None, actor: Actor = ""
) -> None:
    """Sign for a plan whose verification is human_needed."""
    change(slug, plans_dir, actor, lambda plan: plan.sign_off(by, note))


def ship(slug: Slug, plans_dir: PlansDir = None, actor: Actor = "") -> None:
    """Ship the plan: only where its verification passed, or was signed off."""
    change(slug, plans_dir, actor, lambda plan: plan.ship())


def abort(slug: Slug, plans_dir: PlansDir = None, actor: Actor = "") -> None:
    """Give the plan up, from any phase."""
    change(slug, plans_dir, actor, lambda plan: plan.abort())
