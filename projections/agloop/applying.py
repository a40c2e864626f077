"""What each event makes of the state.

I1  Total on every state that passes `check`: what needs a task that is not there is refused when
    it is appended, so it never gets into the log.
I2  Each event is the loop's last action, but for those of hooks, of adoption and of the log, and
    for checkpoints, which only keep what the event before them made.
I3  A checkpoint event leaves the state alone: the state at its seq is the one in its file.
"""

import functools
from collections.abc import Callable
from typing import Any

from journal.errors import UsageError
from projections.agloop import events, phases, schema
from projections.agloop.merging import merge_tasks
from projections.patch import apply_patch

Json = dict[str, Any]
Apply = Callable[[Any, Any], Any]


def find_task(state: Json, task_id: str) -> Json:
    """Return a task by its id; raises `UsageError` where there is none."""
    for task in state["tasks"]:
        if task["id"] == task_id:
            found: Json = task
            return found
    known = ", ".join(task["id"] for task in state["tasks"][:10]) or "none yet"
    raise UsageError(f"there is no task {task_id!r}; tasks: {known}", key="task_id")


def _acting(apply: Apply) -> Apply:
    """Make an event the loop's last action (I2)."""

    @functools.wraps(apply)
    def act(state: Any, event: Any) -> Any:
        state = apply(state, event)
        state["last_action"] = {
            "agent": event.actor or schema.AGENT,
            "action": event.type,
            "timestamp": event.time,
            "task_id": getattr(event.data, "task_id", None),
        }
        return state

    return act


def _leave(state: Any, event: Any) -> Any:  # noqa: ARG001 - the shape of an apply function
    return state


# --- the loop ------------------------------------------------------------------------------------


def _initialize(state: Any, event: Any) -> Any:
    data: events.Initialized = event.data
    state["feature_name"] = data.feature_name
    state["feature_description"] = data.feature_description
    state["complexity_level"] = data.complexity_level
    return state


def _normalize(state: Any, event: Any) -> Any:
    return schema.ordered(apply_patch(state, event.data.changes, take=True))


def _set_feature(state: Any, event: Any) -> Any:
    data: events.FeatureSet = event.data
    for name in ("feature_name", "feature_description", "complexity_level"):
        value = getattr(data, name)
        if value is not events.UNSET:
            state[name] = value
    return state


def _enter_phase(state: Any, event: Any) -> Any:
    data: events.PhaseEntered = event.data
    if data.phase not in schema.PHASES:
        raise UsageError(f"there is no phase {data.phase!r}", key="phase")
    if data.task_id is not None:
        state["current_task_id"] = find_task(state, data.task_id)["id"]
    phases.enter(state, data.phase, event.time)
    return state


def _reset(state: Any, event: Any) -> Any:
    fresh = {**schema.initial(), "phase_history": state["phase_history"]}
    unknown = {name: value for name, value in state.items() if name not in fresh}
    fresh.update(unknown)
    phases.open_entry(fresh, "init", event.time)
    return fresh


def _set_context(state: Any, event: Any) -> Any:
    state["compaction_context"][event.data.field] = event.data.value
    return state


def _recover_state(state: Any, event: Any) -> Any:
    data: events.StateRecovered = event.data
    return state if data.state is events.UNSET else data.state


# --- the plan ------------------------------------------------------------------------------------


def _adopt_plan(state: Any, event: Any) -> Any:
    state["tasks"] = merge_tasks(state["tasks"], event.data.tasks).tasks
    current = state["current_task_id"]
    if current is not None and all(task["id"] != current for task in state["tasks"]):
        state["current_task_id"] = None
    return state


def _miss_plan(state: Any, event: Any) -> Any:
    if state["current_phase"] == "critique":
        # No round of critique has ended: what it counts, and said, stays.
        phases.open_entry(state, "plan", event.time)
    else:
        phases.enter(state, "plan", event.time)
    return state


# --- tasks ---------------------------------------------------------------------------------------


def _start_task(state: Any, event: Any) -> Any:
    task = find_task(state, event.data.task_id)
    task.update(status="in_progress", result=None, verification=None)
    state["current_task_id"] = task["id"]
    return state


def _record_result(state: Any, event: Any) -> Any:
    find_task(state, event.data.task_id)["result"] = event.data.result
    return state


def _verify_task(state: Any, event: Any) -> Any:
    task = find_task(state, event.data.task_id)
    task["verification"] = event.data.verification
    if event.data.verification.get("verdict") == "PASS":
        task["status"] = "done"
        if task["result"] is not None:
            task["result"]["verified"] = True
        _leave_task(state, task)
    return state


def _fail_task(state: Any, event: Any) -> Any:
    task = find_task(state, event.data.task_id)
    task["status"] = "failed"
    _leave_task(state, task)
    return state


def _retry_task(state: Any, event: Any) -> Any:
    task = find_task(state, event.data.task_id)
    task.update(status="pending", result=None, verification=None)
    counts = state["retry_count"]
    counts[task["id"]] = counts.get(task["id"], 0) + 1
    _leave_task(state, task)
    return state


def _leave_task(state: Json, task: Json) -> None:
    if state["current_task_id"] == task["id"]:
        state["current_task_id"] = None


# --- objections ----------------------------------------------------------------------------------


def _raise_objection(state: Any, event: Any) -> Any:
    state["previous_objections"].append(event.data.objection)
    return state


def _answer_objection(state: Any, event: Any) -> Any:
    data: events.ObjectionAnswered = event.data
    found = state["previous_objections"]
    if not 1 <= data.number <= len(found):
        raise UsageError(
            f"there is no objection {data.number}; allowed: 1 to {len(found)}", key="number"
        )
    found[data.number - 1].update(response=data.response, resolved=data.resolved)
    return state


# --- hooks ---------------------------------------------------------------------------------------


def _compact(state: Any, event: Any) -> Any:  # noqa: ARG001 - the shape of an apply function
    state["compaction_context"]["compaction_count"] += 1
    return state


def _raise_flag(state: Any, event: Any) -> Any:  # noqa: ARG001 - the shape of an apply function
    state["stop_hook_active"] = True
    return state


def _clear_flag(state: Any, event: Any) -> Any:  # noqa: ARG001 - the shape of an apply function
    state["stop_hook_active"] = False
    return state


APPLY: dict[type[Any], Apply] = {
    events.Initialized: _acting(_initialize),
    events.Normalized: _normalize,
    events.FeatureSet: _acting(_set_feature),
    events.PhaseEntered: _acting(_enter_phase),
    events.UserDecided: _acting(_leave),
    events.Reset: _acting(_reset),
    events.ContextSet: _acting(_set_context),
    events.StateRecovered: _acting(_recover_state),
    events.PlanAdopted: _acting(_adopt_plan),
    events.PlanMissing: _acting(_miss_plan),
    events.PlanRestored: _acting(_leave),
    events.TaskStarted: _acting(_start_task),
    events.TaskResultRecorded: _acting(_record_result),
    events.TaskVerified: _acting(_verify_task),
    events.TaskFailed: _acting(_fail_task),
    events.TaskRetried: _acting(_retry_task),
    events.ObjectionRaised: _acting(_raise_objection),
    events.ObjectionAnswered: _acting(_answer_objection),
    events.CheckpointCreated: _leave,
    events.CheckpointAdopted: _leave,
    events.CheckpointsPruned: _leave,
    events.LogNoted: _leave,
    events.LogLineAdopted: _leave,
    events.LogRecovered: _leave,
    events.SessionStarted: _clear_flag,
    events.PromptReceived: _leave,
    events.SubagentStarted: _leave,
    events.SubagentCompleted: _leave,
    events.Compacted: _compact,
    events.StopBlocked: _raise_flag,
    events.StopAllowed: _clear_flag,
}
