"""The tasks of a plan brought together with those that the loop has.

I1  A task of the same id keeps what the loop knows of it (status, result, verification, and
    members that the plan does not name) and takes the plan's texts.
I2  A task that the plan has no more goes if it is pending; else it stays, behind the others, so
    that nothing that was done is lost or done again.
"""

from typing import Any, NamedTuple

from projections.agloop.schema import TASK_MEMBERS, order
from projections.patch import equal

Json = dict[str, Any]


class Merged(NamedTuple):
    """The tasks after adoption, and the ids of what became of each."""

    tasks: list[Json]
    new: list[str]
    changed: list[str]
    gone: list[str]
    staying: list[str]


def merge_tasks(known: list[Json], planned: list[Json]) -> Merged:
    """Return the tasks that a loop with the tasks `known` has after it adopted `planned`."""
    by_id = {task["id"]: task for task in known}
    found = Merged([], [], [], [], [])
    for plan_task in planned:
        before = by_id.pop(plan_task["id"], None)
        if before is None:
            task = {**plan_task, "status": "pending", "result": None, "verification": None}
            found.new.append(plan_task["id"])
        else:
            task = {**before, **plan_task}
            if not equal(task, before):
                found.changed.append(task["id"])
        found.tasks.append(order(task, TASK_MEMBERS))
    for task_id, task in by_id.items():
        if task["status"] == "pending":
            found.gone.append(task_id)
        else:
            found.staying.append(task_id)
            found.tasks.append(task)
    _drop_dangling(found)
    return found


def _drop_dangling(found: Merged) -> None:
    """Take ids that are gone out of what the staying tasks depend on."""
    there = {task["id"] for task in found.tasks}
    staying = set(found.staying)
    for index, task in enumerate(found.tasks):
        if task["id"] in staying and not there.issuperset(task["depends_on"]):
            kept = [needed for needed in task["depends_on"] if needed in there]
            found.tasks[index] = {**task, "depends_on": kept}
