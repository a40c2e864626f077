"""What may be done with a task when, and which is next.

    pending → in_progress → done | failed; in_progress or failed → pending by a retry

I1  At most one task is in progress.
I2  Each function returns the event, or raises `UsageError` that names the rule, the value and
    what would be allowed; it changes nothing.
"""

import re
from typing import Any

import msgspec

from journal.errors import UsageError
from projections.agloop import events
from projections.agloop.applying import find_task
from projections.agloop.graph import find_cycles
from projections.agloop.task_papers import check_result, check_verification

Json = dict[str, Any]


def start(state: Json, task_id: str) -> list[events.TaskStarted]:
    """Begin an attempt at a task that is pending, or in progress: then a fresh one."""
    task = find_task(state, task_id)
    _check_status(task, ("pending", "in_progress"), "start")
    for other in state["tasks"]:
        if other["status"] == "in_progress" and other["id"] != task_id:
            raise UsageError(
                f"task {other['id']} is in progress, and at most one may be; allowed: verify, "
                f"retry or fail it before {task_id} is started",
                key="task_id",
            )
    return [events.TaskStarted(task_id=task_id)]


def record_result(state: Json, task_id: str, result: Any) -> list[events.TaskResultRecorded]:
    """Record what the executor of the task in progress hands in."""
    _check_status(find_task(state, task_id), ("in_progress",), "a result")
    return [events.TaskResultRecorded(task_id=task_id, result=check_result(result))]


def verify(state: Json, task_id: str, verification: Any) -> list[events.TaskVerified]:
    """Record the verdict on the task in progress; a PASS needs its result."""
    task = find_task(state, task_id)
    _check_status(task, ("in_progress",), "a verification")
    found = check_verification(verification)
    if found["verdict"] == "PASS" and task["result"] is None:
        raise UsageError(
            f"task {task_id} has no result that could pass; allowed: record it first",
            key="result",
            advice=f"journal agloop task result {task_id} FILE",
        )
    return [events.TaskVerified(task_id=task_id, verification=found)]


def fail(state: Json, task_id: str, reason: str) -> list[events.TaskFailed]:
    """Give up a task that is pending or in progress."""
    _check_status(find_task(state, task_id), ("pending", "in_progress"), "giving up")
    if not reason.strip():
        raise UsageError("a task is given up for a reason; allowed: --reason TEXT", key="reason")
    return [events.TaskFailed(task_id=task_id, reason=reason)]


def retry(state: Json, task_id: str, reason: str = "") -> list[events.TaskRetried]:
    """Put a task that is in progress or failed back to pending."""
    _check_status(find_task(state, task_id), ("in_progress", "failed"), "a retry")
    return [events.TaskRetried(task_id=task_id, reason=reason)]


def _check_status(task: Json, allowed: tuple[str, ...], what: str) -> None:
    if task["status"] not in allowed:
        raise UsageError(
            f"task {task['id']} is {task['status']}; {what} is allowed where it is "
            f"{' or '.join(allowed)}",
            key="status",
        )


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """The task that is next, if there is one, and what stands in the way of others.

    `blocked` maps a pending task to the failed ones it waits for; `cycles` are lists of ids.
    """

    task: Json | None
    why: str
    blocked: dict[str, list[str]]
    cycles: list[list[str]]


def find_next(state: Json) -> Next:
    """Return the next task: the one in progress, else the readiest of those pending.

    That is one whose dependencies are all done: of these the one with the fewest, then the
    lowest number.
    """
    tasks = state["tasks"]
    status = {task["id"]: task["status"] for task in tasks}
    pending = [task for task in tasks if task["status"] == "pending"]
    blocked = {
        task["id"]: failed
        for task in pending
        if (failed := [need for need in task["depends_on"] if status.get(need) == "failed"])
    }
    waiting = {task["id"]: task["depends_on"] for task in tasks if task["status"] != "done"}
    cycles = find_cycles(waiting)
    found = next((task for task in tasks if task["status"] == "in_progress"), None)
    why = "it is in progress"
    if found is None:
        ready = [
            task for task in pending if all(status.get(n) == "done" for n in task["depends_on"])
        ]
        found = min(ready, key=_rank, default=None)
        why = "its dependencies are done" if found and found["depends_on"] else "it needs no other"
    if found is None:
        why = _why_none(tasks, pending)
    return Next(task=found, why=why, blocked=blocked, cycles=cycles)


def _rank(task: Json) -> tuple[int, int, str]:
    number = re.search(r"[0-9]+", task["id"])
    return len(task["depends_on"]), int(number[0]) if number else 0, task["id"]


def _why_none(tasks: list[Json], pending: list[Json]) -> str:
    if not tasks:
        return "there are no tasks yet"
    if not pending:
        return "every task is done or failed"
    return "every pending task waits for one that is not done"
