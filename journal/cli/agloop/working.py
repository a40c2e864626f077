"""The commands for tasks: next, task start|retry|result|verify|fail."""

from typing import Annotated

import typer

from journal.cli import given, output, parsing
from journal.cli.agloop import reach
from journal.cli.options import AsJson


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(app, "next", find_next, "journal agloop next --json")
    task = reach.group(
        app, "task", "Work on the tasks of the plan.", "journal agloop task start task-001"
    )
    parsing.add(task, "start", start, "journal agloop task start task-001 --agent executor")
    parsing.add(task, "retry", retry, "journal agloop task retry task-001 --reason 'wrong index'")
    parsing.add(
        task,
        "result",
        result,
        "journal agloop task result task-001 result.json --agent executor",
    )
    parsing.add(
        task,
        "verify",
        verify,
        "journal agloop task verify task-001 verification.json --agent verifier",
    )
    parsing.add(task, "fail", fail, "journal agloop task fail task-001 --reason 'no such API'")


def find_next(folder: reach.Dir = None, as_json: AsJson = False) -> None:
    """Say which task is next: the one in progress, else the readiest that is pending.

    Tasks that wait for failed ones, and circles among tasks, are told on stderr.
    """
    from projections.agloop.agloop import AgLoop

    with AgLoop.open(reach.find(folder), read_only=True, on_message=output.say) as loop:
        found = loop.next()
    if as_json:
        output.put_report(found)
        return
    if found.task is None:
        output.put(output.plain(f"none: {found.why}"))
    else:
        output.put(output.plain(f"{found.task['id']}: {found.task['title']} ({found.why})"))
    for task_id, failed in found.blocked.items():
        output.say(f"{task_id} waits for {', '.join(failed)}, which failed")
    for cycle in found.cycles:
        output.say(f"tasks wait for each other in a circle: {' → '.join([*cycle, cycle[0]])}")


def start(task_id: reach.Id, folder: reach.Dir = None, agent: reach.Agent = "agloop") -> None:
    """Begin an attempt at a task: a pending one, or the one in progress once more."""
    reach.change(folder, lambda loop: loop.start_task(task_id, agent=agent))


def retry(
    task_id: reach.Id,
    folder: reach.Dir = None,
    reason: reach.Reason = "",
    agent: reach.Agent = "agloop",
) -> None:
    """Put a task that is in progress or failed back to pending; its retries are counted."""
    reach.change(folder, lambda loop: loop.retry_task(task_id, reason, agent=agent))


def result(
    task_id: reach.Id,
    path: reach.File,
    folder: reach.Dir = None,
    agent: reach.Agent = "agloop",
) -> None:
    """Record what the executor of a task hands in.

    {"files_modified", "files_deleted", "acceptance_criteria_confirmation": [{"criterion", "met",
    "evidence"}], "summary", "warnings", "verified": false}
    """
    found = given.read_value(path)
    reach.change(folder, lambda loop: loop.record_result(task_id, found, agent=agent))


def verify(
    task_id: reach.Id,
    path: reach.File,
    folder: reach.Dir = None,
    agent: reach.Agent = "agloop",
) -> None:
    """Record the verdict on a task: PASS makes it done, FAIL leaves it in progress.

    {"verdict": "PASS"|"FAIL", "criteria_results": [{"criterion", "result": "pass"|"fail",
    "evidence"}], "specification_compliance": {"required_patterns", "forbidden_patterns",
    "tech_choices": {"compliant", "violations"}}, "overall_summary", "failure_details" with FAIL}
    """
    found = given.read_value(path)
    reach.change(folder, lambda loop: loop.verify_task(task_id, found, agent=agent))


def fail(
    task_id: reach.Id,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.", show_default=False)],
    folder: reach.Dir = None,
    agent: reach.Agent = "agloop",
) -> None:
    """Give a task up."""
    reach.change(folder, lambda loop: loop.fail_task(task_id, reason, agent=agent))
