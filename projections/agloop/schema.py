"""The fields of `state.json`: their order, what each may hold, and what a missing one reads as.

I1  Members stand in the order of the system's text; unknown ones come after those, and survive.
I2  What is refused is named by its place, its value and what is allowed.
I3  Fields that the text's own template lacks read as their defaults where they are missing
    (`complete`); every state that is written has them all.

It judges a state as it stands, and one that others wrote against the one before; what the verbs
may do is said by `phases` and `tasks`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from journal.errors import UsageError
from projections.agloop import shape
from projections.agloop.shape import (
    ANY,
    OBJECT,
    TEXT,
    TRUTH,
    ListOf,
    MapOf,
    Members,
    is_list,
    is_object,
)
from projections.agloop.utf16 import units
from projections.patch import equal

Json = dict[str, Any]

SCHEMA = "agloop-state-v1"
COMPLEXITIES = ("simple", "medium", "complex")
PHASES = ("init", "research", "plan", "critique", "execute", "verify", "complete")
STATUSES = ("pending", "in_progress", "done", "failed")
MOST_NAME_UNITS = 500
MOST_ITERATIONS = 3
AGENT = "agloop"
CONTEXT_TEXTS = (
    "last_delegation",
    "last_result_summary",
    "research_digest",
    "plan_digest",
    "critique_digest",
    "pending_decision",
)
"""The fields of the compaction context that a verb sets; its count only compactions raise."""

TASK_ID = shape.matching("task- and at least three digits, such as task-001", r"task-[0-9]{3,}")
FAILURE_MODE = Members({"mode": ANY, "likelihood": ANY, "impact": ANY, "mitigation": ANY})

_TASK = Members(
    {
        "id": TASK_ID,
        "title": TEXT,
        "description": TEXT,
        "status": shape.one_of(*STATUSES),
        "depends_on": ListOf(TEXT),
        "acceptance_criteria": ListOf(TEXT, at_least=1),
        "failure_modes": ListOf(FAILURE_MODE),
        "result": shape.or_null(OBJECT),
        "verification": shape.or_null(OBJECT),
    }
)
OBJECTION = Members(
    {
        "iteration": shape.integer(0),
        "objection": TEXT,
        "response": shape.or_null(TEXT),
        "resolved": TRUTH,
        "objection_category": shape.or_null(TEXT),
        "severity": shape.or_null(TEXT),
    }
)
_STATE = Members(
    {
        "$schema": shape.one_of(SCHEMA),
        "feature_name": shape.text(most_units=MOST_NAME_UNITS),
        "feature_description": TEXT,
        "complexity_level": shape.one_of(*COMPLEXITIES),
        "current_phase": shape.one_of(*PHASES),
        "iteration": shape.integer(0, MOST_ITERATIONS),
        "current_task_id": shape.or_null(TEXT),
        "tasks": ListOf(_TASK),
        "stop_hook_active": TRUTH,
        "last_action": Members(
            {
                "agent": TEXT,
                "action": TEXT,
                # Empty as in the text's template, before its first write.
                "timestamp": shape.time(or_empty=True),
                "task_id": shape.or_null(TEXT),
            }
        ),
        "phase_history": ListOf(
            Members(
                {"phase": shape.one_of(*PHASES)},
                {"entered_at": TEXT, "exited_at": shape.or_null(TEXT)},
            )
        ),
        "retry_count": MapOf(shape.integer(0)),
        "previous_objections": ListOf(OBJECTION),
        "compaction_context": Members(
            {**dict.fromkeys(CONTEXT_TEXTS, ANY), "compaction_count": shape.integer(0)}
        ),
    }
)
MEMBERS = tuple(_STATE.needed)
TASK_MEMBERS = tuple(_TASK.needed)
CONTEXT_MEMBERS = (*CONTEXT_TEXTS, "compaction_count")


def initial() -> Json:
    """Return the state before the loop begins."""
    return {
        "$schema": SCHEMA,
        "feature_name": "",
        "feature_description": "",
        "complexity_level": "medium",
        "current_phase": "init",
        "iteration": 0,
        "current_task_id": None,
        "tasks": [],
        "stop_hook_active": False,
        "last_action": {
            "agent": AGENT,
            "action": "initialized",
            "timestamp": "",
            "task_id": None,
        },
        "phase_history": [],
        "retry_count": {},
        "previous_objections": [],
        "compaction_context": initial_context(),
    }


def initial_context() -> Json:
    """Return the compaction context before the first compaction."""
    return {**dict.fromkeys(CONTEXT_TEXTS), "compaction_count": 0}


def order(members: Json, names: Iterable[str]) -> Json:
    """Return an object with these members first, in this order, and the others behind (I1)."""
    known = {name: members[name] for name in names if name in members}
    if list(members)[: len(known)] == list(known):
        return members
    return {**known, **members}


def ordered(state: Any) -> Any:
    """Return a state whose members, its tasks' and its context's stand in order (I1)."""
    if not is_object(state):
        return state
    found = dict(order(state, MEMBERS))
    if is_list(found.get("tasks")):
        found["tasks"] = [
            order(task, TASK_MEMBERS) if is_object(task) else task for task in found["tasks"]
        ]
    if is_object(found.get("compaction_context")):
        found["compaction_context"] = order(found["compaction_context"], CONTEXT_MEMBERS)
    return found


def complete(state: Any) -> Any:
    """Return a state with the fields that may be missing in a file filled in (I3).

    A copy where it changes; anything that is no object comes back as it is, for `check` to refuse.
    """
    if not is_object(state):
        return state
    defaults: Json = {
        "feature_description": "",
        "complexity_level": "medium",
        "previous_objections": [],
        "compaction_context": initial_context(),
    }
    found = _filled(state, defaults)
    context = found["compaction_context"]
    if is_object(context):
        found["compaction_context"] = _filled(context, initial_context())
    if is_list(found.get("tasks")):
        found["tasks"] = [_complete_task(task) for task in found["tasks"]]
    return ordered(found)


def _complete_task(task: Any) -> Any:
    if not is_object(task):
        return task
    defaults: Json = {
        "status": "pending",
        "depends_on": [],
        "failure_modes": [],
        "result": None,
        "verification": None,
    }
    return _filled(task, defaults)


def _filled(members: Json, defaults: Mapping[str, Any]) -> Json:
    return {**members, **{name: v for name, v in defaults.items() if name not in members}}


# --- judging -------------------------------------------------------------------------------------


def check(state: Any) -> None:
    """Raise `UsageError` for a state that breaks a rule of the text's table (I2)."""
    shape.refuse(_STATE, state, "state.json")
    phase, name = state["current_phase"], state["feature_name"]
    if phase != "init" and not name.strip():
        raise UsageError(
            f"state.json: feature_name is {shape.show(name)} in phase {phase}; allowed: a text of "
            f"1 to {MOST_NAME_UNITS} characters once the loop has left init",
            key="feature_name",
        )
    ids: set[str] = set()
    for index, task in enumerate(state["tasks"]):
        if task["id"] in ids:
            raise UsageError(
                f"state.json: tasks[{index}].id is {task['id']!r}, as of another task; "
                "allowed: an id of its own",
                key=f"tasks[{index}].id",
            )
        ids.add(task["id"])
    for index, task in enumerate(state["tasks"]):
        for needed in task["depends_on"]:
            if needed not in ids:
                raise UsageError(
                    f"state.json: tasks[{index}].depends_on names {needed!r}, which is no task; "
                    f"allowed: {_some(ids)}",
                    key=f"tasks[{index}].depends_on",
                )
    current = state["current_task_id"]
    if current is not None and current not in ids:
        raise UsageError(
            f"state.json: current_task_id is {current!r}, which is no task; allowed: null or "
            f"{_some(ids)}",
            key="current_task_id",
        )


def _some(ids: Iterable[str]) -> str:
    found = sorted(ids)
    if not found:
        return "nothing, as there are no tasks"
    return ", ".join(found[:10]) + (f" … ({len(found)} tasks)" if len(found) > 10 else "")


def check_name(name: str, key: str = "feature_name") -> str:
    """Return a feature's name; raises `UsageError` for one that is empty or too long."""
    if not name.strip():
        raise UsageError(f"{key} is empty; allowed: 1 to {MOST_NAME_UNITS} characters", key=key)
    if (length := units(name)) > MOST_NAME_UNITS:
        raise UsageError(
            f"{key} has {length} characters (UTF-16 units); allowed: at most {MOST_NAME_UNITS}",
            key=key,
        )
    return name


def check_complexity(level: str) -> str:
    """Return a level of complexity; raises `UsageError` for any other text."""
    if level not in COMPLEXITIES:
        raise UsageError(
            f"complexity_level is {shape.show(level)}; allowed: {' | '.join(COMPLEXITIES)}",
            key="complexity_level",
        )
    return level


def check_adoption(old: Json, new: Json) -> None:
    """Raise `UsageError` where a file that somebody else changed may not be adopted.

    The history of phases only grows (its last entry may be closed), and no retry is forgotten.
    """
    before, after = old["phase_history"], new["phase_history"]
    for index, entry in enumerate(before):
        if index >= len(after) or not _continues(entry, after[index]):
            raise UsageError(
                f"state.json: phase_history[{index}] was {shape.show(entry)}; the history of "
                "phases only grows, allowed: the same entry, or the same closed",
                key=f"phase_history[{index}]",
            )
    for task, count in old["retry_count"].items():
        if new["retry_count"].get(task, 0) < count:
            raise UsageError(
                f"state.json: retry_count.{task} was {count} and is "
                f"{shape.show(new['retry_count'].get(task))}; allowed: {count} or more",
                key=f"retry_count.{task}",
            )


def _continues(before: Json, after: Any) -> bool:
    if equal(before, after):
        return True
    return before.get("exited_at") is None and equal(
        {**before, "exited_at": None}, {**after, "exited_at": None}
    )
