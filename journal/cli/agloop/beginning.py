"""The commands for the loop as a whole: init, feature, phase, reset, context, objection."""

from typing import Annotated, Any

import typer

from journal.cli import given, output, parsing
from journal.cli.agloop import reach
from journal.cli.options import read_count

_Text = Annotated[str | None, typer.Option(metavar="TEXT", show_default=False)]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(app, "init", init, "journal agloop init --feature 'Add search API'")
    parsing.add(app, "feature", feature, "journal agloop feature 'Add search API'")
    parsing.add(
        app,
        "phase",
        phase,
        "journal agloop phase research",
        "journal agloop phase execute --task task-001 --agent coordinator",
        "journal agloop phase plan --user-decision 'plan once more, without caching'",
    )
    parsing.add(app, "reset", reset, "journal agloop reset --reason 'another feature first'")
    context = reach.group(
        app,
        "context",
        "What survives a compaction of the client's context.",
        "journal agloop context set pending_decision 'Postgres or SQLite?'",
    )
    parsing.add(
        context,
        "set",
        set_context,
        "journal agloop context set pending_decision 'Postgres or SQLite?'",
        """journal agloop context set last_delegation '{"agent": "executor"}'""",
        "journal agloop context set pending_decision null",
    )
    objection = reach.group(
        app,
        "objection",
        "What the critic objects to, and the responses.",
        """echo '{"objection": "no index"}' | journal agloop objection add -""",
    )
    parsing.add(
        objection,
        "add",
        add_objection,
        """echo '{"objection": "no index"}' | journal agloop objection add -""",
    )
    parsing.add(
        objection,
        "answer",
        answer_objection,
        "journal agloop objection answer 1 --response 'an index is task-004' --resolved",
    )


def init(
    folder: reach.Dir = None,
    feature: _Text = None,
    description: _Text = None,
    complexity: Annotated[
        str | None, typer.Option(metavar="simple|medium|complex", show_default="medium")
    ] = None,
    agent: reach.Agent = "agloop",
) -> None:
    """Begin a loop in .agloop/, or take over what other tools wrote there.

    Taken over are the state as it stands, the lines of log.json and the checkpoints; each becomes
    an event. A damaged state.json gives way to the newest valid checkpoint.
    """
    from projections.agloop.agloop import AgLoop

    place = reach.find_new(folder)
    with AgLoop.init(
        place,
        feature_name=feature or "",
        feature_description=description or "",
        complexity_level=complexity or "",
        agent=agent,
        on_message=output.say,
    ) as loop:
        state = loop.state
    name = f", feature {state['feature_name']!r}" if state["feature_name"] else ""
    output.put(output.plain(f"{place}: a loop in phase {state['current_phase']}{name}"))


def feature(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="At most 500 characters.")
    ] = None,
    folder: reach.Dir = None,
    description: _Text = None,
    complexity: Annotated[
        str | None, typer.Option(metavar="simple|medium|complex", show_default=False)
    ] = None,
    agent: reach.Agent = "agloop",
) -> None:
    """Say what the loop is about: its name, its description, how complex it is."""
    reach.change(folder, lambda loop: loop.set_feature(name, description, complexity, agent=agent))


def phase(
    name: Annotated[str, typer.Argument(metavar="PHASE", show_default=False)],
    folder: reach.Dir = None,
    task: Annotated[
        str | None, typer.Option(metavar="ID", help="The task it is for.", show_default=False)
    ] = None,
    user_decision: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="What a person decided, to plan again after the third iteration.",
            show_default=False,
        ),
    ] = "",
    agent: reach.Agent = "agloop",
) -> None:
    """Go on to another phase; the state after it is kept as a checkpoint.

    init, research, plan, critique, execute, verify, complete. Critique and verify may go back to
    plan, execute too, and verify to execute; `reset` goes back to init from anywhere.
    """
    reach.change(
        folder,
        lambda loop: loop.enter_phase(name, task_id=task, user_decision=user_decision, agent=agent),
    )


def reset(
    folder: reach.Dir = None, reason: reach.Reason = "", agent: reach.Agent = "agloop"
) -> None:
    """Begin anew; the history of phases and plan.yaml stay, the state before it as a checkpoint."""
    reach.change(folder, lambda loop: loop.reset(reason=reason, agent=agent))


def set_context(
    field: Annotated[str, typer.Argument(metavar="FIELD", show_default=False)],
    value: Annotated[
        str,
        typer.Argument(
            metavar="VALUE",
            help="A text; null, a JSON object or a list as such.",
            show_default=False,
        ),
    ],
    folder: reach.Dir = None,
    agent: reach.Agent = "agloop",
) -> None:
    """Set a field of the compaction context.

    last_delegation, last_result_summary, research_digest, plan_digest, critique_digest,
    pending_decision.
    """
    found: Any = given.read_data(value) if value[:1] in ("{", "[") or value == "null" else value
    reach.change(folder, lambda loop: loop.set_context(field, found, agent=agent))


def add_objection(
    path: reach.File, folder: reach.Dir = None, agent: reach.Agent = "agloop"
) -> None:
    """Record an objection: {"objection", "objection_category"?, "severity"?}."""
    found = given.read_value(path)
    reach.change(folder, lambda loop: loop.raise_objection(found, agent=agent))


def answer_objection(
    number: Annotated[str, typer.Argument(metavar="N", help="Counted from 1.", show_default=False)],
    response: Annotated[str, typer.Option(metavar="TEXT", show_default=False)],
    folder: reach.Dir = None,
    resolved: Annotated[bool, typer.Option("--resolved", help="It is settled by that.")] = False,
    agent: reach.Agent = "agloop",
) -> None:
    """Record the response to an objection."""
    index = read_count(number, "N")
    reach.change(
        folder,
        lambda loop: loop.answer_objection(index, response, resolved=resolved, agent=agent),
    )
