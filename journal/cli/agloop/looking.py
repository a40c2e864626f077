"""The commands that look: status, checkpoints, log. `log add` makes an entry."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journal.cli import given, output, parsing
from journal.cli.agloop import reach
from journal.cli.options import AsJson, read_count
from journal.errors import Drift, JournalError, UsageError

if TYPE_CHECKING:
    from projections.agloop.standing import Standing


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(app, "status", status, "journal agloop status", "journal agloop status --json")
    parsing.add(app, "checkpoints", checkpoints, "journal agloop checkpoints --json")
    log = typer.Typer(
        cls=parsing.Group,
        help="List the entries of log.json; `log add` makes one.",
        invoke_without_command=True,
        rich_markup_mode=None,
        epilog="\b\nExamples:\n  journal agloop log -n 20 --agent executor\n"
        "  journal agloop log add searched --output '42 files' --agent researcher",
    )
    log.callback()(list_entries)
    app.add_typer(log, name="log")
    parsing.add(
        log,
        "add",
        add_entry,
        "journal agloop log add searched --output '42 files' --agent researcher",
    )


# --- status --------------------------------------------------------------------------------------


def status(folder: reach.Dir = None, as_json: AsJson = False) -> None:
    """Say where the loop stands.

    A state.json that is missing or damaged, and a plan.yaml that is gone, are mended and told.
    """
    found = _look(folder)
    if as_json:
        output.put_report(found)
        return
    for line in _describe(found):
        output.put(output.plain(line))


def _look(folder: str | None) -> "Standing":
    from projections.agloop import standing
    from projections.agloop.agloop import AgLoop
    from projections.agloop.opening import JOURNAL_FOLDER

    place = reach.find(folder)
    if not (place / JOURNAL_FOLDER).is_dir():
        output.say(f"{place}: no journal yet; the first change takes the folder over")
        return standing.stand_untaken(place)
    with AgLoop.open(place, read_only=True, on_message=output.say) as loop:
        found = loop.status()
        if not standing.needs_mending(loop):
            return found
    try:
        with AgLoop.open(place, on_message=output.say) as loop:
            loop.settle_plan()
            return loop.status()
    except Drift as error:
        output.say_error(str(error))
        return found


def _describe(found: "Standing") -> list[str]:
    counts = found.tasks
    states = [
        f"{counts[name]} {name}" for name in ("in_progress", "pending", "failed") if counts[name]
    ]
    last = found.last_action
    lines = [
        f"{found.folder}: phase {found.phase}, iteration {found.iteration}",
        f"feature: {found.feature or 'not named yet'} ({found.complexity})",
        f"tasks: {counts['done']}/{counts['total']} done"
        + (f" ({', '.join(states)})" if states else ""),
        f"next: {found.next} ({found.next_why})" if found.next else f"next: none, {found.next_why}",
        f"last action: {last['action']} by {last['agent']} at {last['timestamp']}",
    ]
    if found.plan is not None:
        lines.append(f"plan: {found.plan['plan_id']}, status {found.plan['status']}")
    if found.plan_note:
        lines.append(f"plan: {found.plan_note}")
    lines += [
        f"{one} waits for {', '.join(failed)}, which failed"
        for one, failed in found.blocked.items()
    ]
    lines += [f"circle: {' → '.join([*cycle, cycle[0]])}" for cycle in found.cycles]
    if found.open_objections:
        lines.append(f"objections without an end: {found.open_objections}")
    if found.pending_decision is not None:
        lines.append(f"pending decision: {found.pending_decision}")
    lines.append(f"checkpoints: {found.checkpoints}; compactions: {found.compactions}")
    return lines


# --- checkpoints ---------------------------------------------------------------------------------


def checkpoints(folder: reach.Dir = None, as_json: AsJson = False) -> None:
    """List the files in checkpoints/, the newest first, whoever wrote them."""
    from projections.agloop.checkpoint import FOLDER
    from projections.agloop.checkpoints import list_folder

    found = list_folder(reach.find(folder) / FOLDER)
    if as_json:
        output.put_report(found)
        return
    for one in found:
        if one.problem:
            output.put(output.plain(f"{one.file}: no checkpoint: {one.problem}"))
        else:
            words = (
                f"{one.timestamp}  {one.type:<16}  {output.size(one.size_bytes):>9}  {one.trigger}"
            )
            output.put(output.plain(words))
    if not found:
        output.say("no checkpoints yet; each phase transition makes one")


# --- log -----------------------------------------------------------------------------------------


def list_entries(
    *,
    context: typer.Context,
    folder: reach.Dir = None,
    newest: Annotated[
        str | None, typer.Option("-n", metavar="N", help="Only the newest N of these.")
    ] = None,
    agent: Annotated[
        str, typer.Option("--agent", metavar="NAME", help="By this agent.", show_default=False)
    ] = "",
    action: Annotated[
        str, typer.Option("--action", metavar="NAME", help="Of this action.", show_default=False)
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List the entries of log.json; `log add` makes one.

    A log.json that is missing is written again from the journal, and that is told.
    """
    if context.invoked_subcommand is not None:
        if folder or newest or agent or action or as_json:
            raise UsageError("options for `log add` stand after `add`", key="log")
        return
    from projections.agloop import entries
    from projections.agloop.takeover import LOG_FILE

    count = None if newest is None else read_count(newest, "-n")
    place = reach.find(folder)
    path = place / LOG_FILE
    if not path.exists():
        _write_again(place, path)
    found, passed_over = entries.read_all(path)
    if passed_over:
        words = output.count(passed_over, "line")
        output.say(f"{path}: {words} passed over, as damaged; `journal agloop recover` mends it")
    for entry in entries.select(found, newest=count, agent=agent, action=action):
        if as_json:
            output.put_json(entry)
        else:
            output.put(output.plain(_describe_entry(entry)))


def _write_again(place: Path, path: Path) -> None:
    """Let the journal write a log.json that is missing, which it says; raises where it cannot.

    A list without entries would be a wrong answer, and look like a right one.
    """
    from projections.agloop.agloop import AgLoop
    from projections.agloop.opening import JOURNAL_FOLDER

    if not (place / JOURNAL_FOLDER).is_dir():
        raise JournalError(
            f"{path} is missing, and there is no journal that could write it",
            advice=f"`journal agloop init -d {shlex.quote(str(place))}` begins one, or takes over "
            "what is there.",
        )
    with AgLoop.open(place, on_message=output.say):
        pass
    if not path.exists():
        raise JournalError(
            f"{path} is missing, and could not be written again from the journal",
            advice="What stands in the way is said above; `journal agloop recover` tries again.",
        )


def _describe_entry(entry: dict[str, Any]) -> str:
    words = [str(entry.get(name) or "-") for name in ("timestamp", "agent", "phase", "action")]
    if entry.get("task_id"):
        words.append(str(entry["task_id"]))
    if entry.get("status") not in ("success", None):
        words.append(str(entry["status"]))
    said = [str(entry[name]) for name in ("input_summary", "output_summary") if entry.get(name)]
    return "  ".join([*words, " → ".join(said)]).rstrip()


def add_entry(
    *,
    action: Annotated[str, typer.Argument(metavar="ACTION", show_default=False)],
    folder: reach.Dir = None,
    task: Annotated[str | None, typer.Option(metavar="ID", show_default=False)] = None,
    given_input: Annotated[
        str, typer.Option("--input", metavar="TEXT", help="What was given.", show_default=False)
    ] = "",
    result: Annotated[
        str, typer.Option("--output", metavar="TEXT", help="What came of it.", show_default=False)
    ] = "",
    outcome: Annotated[
        str, typer.Option("--status", metavar="success|failure|skipped")
    ] = "success",
    metadata: Annotated[
        str | None, typer.Option(metavar="JSON", help="An object.", show_default=False)
    ] = None,
    agent: reach.Agent = "agloop",
) -> None:
    """Make an entry of log.json."""
    extra = None if metadata is None else given.read_data(metadata)
    if extra is not None and not isinstance(extra, dict):
        raise UsageError("--metadata is no JSON object", key="metadata")
    reach.change(
        folder,
        lambda loop: loop.note(
            action,
            task_id=task,
            input_summary=given_input,
            output_summary=result,
            status=outcome,
            metadata=extra,
            agent=agent,
        ),
    )
