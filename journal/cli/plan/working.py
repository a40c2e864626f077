"""The commands of a plan from its beginning to the drift check."""

import os
from typing import Annotated, Any

import typer

from journal import regular
from journal.cli import output, parsing
from journal.cli.plan.reach import Actor, File, PlansDir, Slug, change, locating, read_value


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(app, "init", init, "journal plan init 'Add offline caching to the feed screen'")
    parsing.add(app, "phase", phase, "journal plan phase feed 1")
    parsing.add(app, "rigor", rigor, "journal plan rigor feed full", "journal plan rigor feed")
    parsing.add(app, "goal", goal, "journal plan goal feed goal.json")
    parsing.add(
        app,
        "add",
        add,
        "journal plan add feed exploration - < exploration.json",
        """echo '{"reason": "stalled at 600 s", "fallback": "searched inline"}' | """
        "journal plan add feed gap -",
    )
    parsing.add(
        app,
        "set",
        set_part,
        "journal plan set feed stages stages.json",
        "journal plan set feed constitution .claude/constitution.md",
    )
    parsing.add(
        app,
        "gate",
        gate,
        "journal plan gate feed 'More research'",
        "journal plan gate feed 'looks good, go' --source keyword",
    )
    parsing.add(
        app,
        "inventory",
        inventory,
        "journal plan inventory feed ok",
        "journal plan inventory feed failed --error 'no tool answered'",
    )
    parsing.add(
        app, "drift", drift, "journal plan drift feed clean", "journal plan drift feed report.json"
    )
    parsing.add(
        app,
        "override",
        override,
        "journal plan override feed --category scope --why 'the rest comes next week'",
    )


def init(
    statement: Annotated[
        str, typer.Argument(metavar="STATEMENT", help="What is to be done.", show_default=False)
    ],
    slug: Annotated[
        str,
        typer.Option(
            metavar="SLUG", help="The plan's name; else made from STATEMENT.", show_default=False
        ),
    ] = "",
    plans_dir: PlansDir = None,
    actor: Actor = "",
) -> None:
    """Begin a plan, in phase 0 of iteration 1.

    One that is there already is taken up again by `resume`.
    """
    from projections.loop_plan.plan import LoopPlan

    with (
        locating(plans_dir),
        LoopPlan.init(
            statement, slug=slug, plans_dir=plans_dir, actor=actor, on_message=output.say
        ) as plan,
    ):
        path = plan.place.state_file
        name = plan.place.slug
    output.put(output.plain(f"{name}: a plan begins, {path} (phase 0, iteration 1)"))


def phase(
    slug: Slug,
    to: Annotated[str, typer.Argument(metavar="PHASE", show_default=False)],
    plans_dir: PlansDir = None,
    actor: Actor = "",
) -> None:
    """Take a step: 0, 1, 2, 3, 3b, 4, 5; then the gate; 6, 7a, 7b, done; aborted from anywhere.

    2 is left for 3 only with a rigor, and with criteria and truths that can be checked.
    """
    change(slug, plans_dir, actor, lambda plan: plan.enter_phase(to))


def rigor(
    slug: Slug,
    value: Annotated[
        str | None,
        typer.Argument(
            metavar="RIGOR",
            help="minimal, tdd-only or full; none: the question went unanswered, tdd-only.",
            show_default=False,
        ),
    ] = None,
    plans_dir: PlansDir = None,
    actor: Actor = "",
) -> None:
    """Set how strictly the plan is executed: once, before anything else of phase 2."""
    change(slug, plans_dir, actor, lambda plan: plan.set_rigor(value))


def goal(slug: Slug, file: File, plans_dir: PlansDir = None, actor: Actor = "") -> None:
    """Set the goal, its criteria and what it must have.

    FILE is {"goal"?, "success_criteria"?, "must_haves"?: {"truths", "artifacts", "key_links"}};
    what is left out stays as it is.
    """
    value = read_value(file)
    change(slug, plans_dir, actor, lambda plan: plan.set_goal(value))


def add(
    slug: Slug,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="exploration, clarification, research, gap, adr, test, blocker or agent.",
            show_default=False,
        ),
    ],
    file: File,
    plans_dir: PlansDir = None,
    actor: Actor = "",
) -> None:
    """Add an entry to one of the plan's lists; they only grow.

    The iteration (of a gap the phase, too) and the time are the plan's own where FILE does not say
    them. `test` adds what is new about one task: its times are set once.
    """
    value = read_value(file)
    change(slug, plans_dir, actor, lambda plan: plan.add(kind, value))


def set_part(
    slug: Slug,
    part: Annotated[
        str,
        typer.Argument(
            metavar="PART",
            help="decisions, patterns, date-filter, constitution or stages.",
            show_default=False,
        ),
    ],
    file: File,
    plans_dir: PlansDir = None,
    actor: Actor = "",
) -> None:
    """Set a part of the plan whole.

    For `constitution` FILE is the constitution that was read, or, as .json or -,
    {"consulted": true|false, "path"?}.
    """
    value = _read_constitution(file) if part == "constitution" else read_value(file)
    change(slug, plans_dir, actor, lambda plan: plan.set_part(part, value))


def _read_constitution(file: str) -> Any:
    if file == "-" or file.lower().endswith(".json"):
        return read_value(file)
    # It says that it was read, so it must be there: a file, and no device or FIFO.
    os.close(regular.open_given(file))
    return {"consulted": True, "path": file}


def gate(
    slug: Slug,
    choice: Annotated[
        str,
        typer.Argument(
            metavar="CHOICE",
            help="Ship it, More research, More exploration or More clarification.",
            show_default=False,
        ),
    ],
    source: Annotated[
        str,
        typer.Option(
            metavar="gate|keyword", help="keyword: CHOICE is any text that means to ship."
        ),
    ] = "gate",
    plans_dir: PlansDir = None,
    actor: Actor = "",
) -> None:
    """Record the user's choice at the gate of phase 5, and go where it leads.

    To ship leads to 6; the others raise the iteration and lead to 3, 1 and 2.
    """
    change(slug, plans_dir, actor, lambda plan: plan.choose_gate(choice, source))


def inventory(
    slug: Slug,
    result: Annotated[str, typer.Argument(metavar="ok|failed", show_default=False)],
    error: Annotated[
        str, typer.Option(metavar="TEXT", help="Why it failed.", show_default=False)
    ] = "",
    plans_dir: PlansDir = None,
    actor: Actor = "",
) -> None:
    """Record how the scan of phase 3b went: ok goes on to 4, failed stays, until a choice.

    The choice is `journal plan resume SLUG --choose retry|skip`.
    """
    change(slug, plans_dir, actor, lambda plan: plan.record_inventory(result, error))


def drift(
    slug: Slug,
    report: Annotated[
        str,
        typer.Argument(
            metavar="clean|FILE",
            help="clean, or a file with the report (an object); - is stdin.",
            show_default=False,
        ),
    ],
    plans_dir: PlansDir = None,
    actor: Actor = "",
) -> None:
    """Record what the drift check of phase 6 found; it opens 7a, or 5 where there is drift."""
    value = report if report == "clean" else read_value(report)
    change(slug, plans_dir, actor, lambda plan: plan.check_drift(value))


def override(
    slug: Slug,
    category: Annotated[str, typer.Option(metavar="C", help="Of the drift.", show_default=False)],
    why: Annotated[str, typer.Option(metavar="TEXT", help="Why it is right.", show_default=False)],
    plans_dir: PlansDir = None,
    actor: Actor = "",
) -> None:
    """Ship in spite of a drift that phase 6 found; it opens 7a."""
    change(slug, plans_dir, actor, lambda plan: plan.override_drift(category, why))
