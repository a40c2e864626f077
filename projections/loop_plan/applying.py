"""What each event does to the state of a plan.

I1  An apply function takes what the event says as it is: whether it was allowed was asked before
    it was appended, and is never asked again.
I2  Times come from the event. Every event of a plan moves `last_update_at` and `last_active_at`,
    but `normalized`, which is no work on the plan.
I3  States of before may lack fields; what an event needs is made at its place.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from projections.loop_plan import events as e
from projections.loop_plan.outcome import OUTCOME
from projections.loop_plan.rules import is_list
from projections.loop_plan.states import (
    TEST_TIMES,
    Json,
    grow,
    move,
    new_state,
    new_test,
    part,
    put,
    touch,
)
from projections.patch import parse

Apply = Callable[[Any, Any], Any]


def touching(apply: Apply) -> Apply:
    """Make `apply` one that also moves the times of the last write (I2)."""

    def run(state: Json, event: Any) -> Json:
        changed: Json = apply(state, event)
        touch(changed, event.time)
        return changed

    return run


# --- the plan and its phases ---------------------------------------------------------------------


def _start(state: Json, event: Any) -> Json:  # noqa: ARG001 - the shape of an apply function
    data: e.PlanStarted = event.data
    return new_state(data.slug, data.task_statement, data.plan_path, event.time)


def _normalize(state: Json, event: Any) -> Json:
    apply_changes(state, event.data.changes)
    return state


def apply_changes(state: Json, changes: list[Json]) -> None:
    """Make the changes of a `normalized` event in the state."""
    for change in changes:
        *outer, name = parse(change["path"])
        holder = state
        for token in outer:
            holder = holder[token]
        if "new" not in change:
            holder.pop(name, None)
        elif outer:
            holder[name] = change["new"]
        else:
            put(holder, name, change["new"])


def _enter(state: Json, event: Any) -> Json:
    data: e.PhaseEntered = event.data
    move(state, data.phase)
    return state


def _begin_iteration(state: Json, event: Any) -> Json:
    put(state, "iteration", event.data.iteration)
    return state


def _choose(state: Json, event: Any) -> Json:
    data: e.GateChosen = event.data
    entry = {"iteration": data.iteration, "choice": data.choice, "timestamp": event.time}
    grow(state, "loop_gate_history", entry)
    return state


def _signal(state: Json, event: Any) -> Json:
    put(state, "exit_signal", event.data.signal)
    put(state, "exit_signal_source", event.data.source)
    return state


def _fail_inventory(state: Json, event: Any) -> Json:
    put(state, "3b_status", "failed")
    put(state, "3b_error", event.data.error)
    return state


def _retry_inventory(state: Json, event: Any) -> Json:  # noqa: ARG001 - see above
    move(state, "3b")
    return state


def _skip_inventory(state: Json, event: Any) -> Json:  # noqa: ARG001 - see above
    move(state, "4")
    return state


def _resume(state: Json, event: Any) -> Json:  # noqa: ARG001 - see above
    if state.get("completion_state") == "abandoned":
        state["completion_state"] = "active"
    return state


def _restart(state: Json, event: Any) -> Json:
    move(state, "1")
    return _resume(state, event)


def _start_afresh(state: Json, event: Any) -> Json:
    statement, path = state.get("task_statement"), state.get("plan_path")
    fresh = new_state(state.get("slug", ""), statement or "", path or "", event.time)
    for name, value in (("task_statement", statement), ("plan_path", path)):
        if value is None:
            del fresh[name]
    return fresh


# --- goal ----------------------------------------------------------------------------------------


def _set_rigor(state: Json, event: Any) -> Json:
    put(state, "rigor", event.data.rigor)
    return state


def _set_goal(state: Json, event: Any) -> Json:
    data: e.GoalSet = event.data
    for name in ("goal", "success_criteria"):
        if (value := getattr(data, name)) is not e.UNSET:
            put(state, name, value)
    if isinstance(data.must_haves, e.MustHaves):
        kept = part(state, "must_haves")
        kept["truths"] = data.must_haves.truths
        kept["artifacts"] = _to_json(data.must_haves.artifacts)
        kept["key_links"] = _to_json(data.must_haves.key_links)
    return state


# --- lists that grow -----------------------------------------------------------------------------


def _adding(name: str) -> Apply:
    """Make an apply function that appends an entry with the event's fields and a timestamp."""

    def run(state: Json, event: Any) -> Json:
        entry = _fields(event.data)
        entry["timestamp"] = event.data.timestamp or event.time
        grow(state, name, entry)
        return state

    return run


def _fields(data: msgspec.Struct) -> Json:
    """Return the fields of an event's data as JSON, defaults too, in their written order."""
    found: Json = {}
    for field in msgspec.structs.fields(type(data)):
        value = getattr(data, field.name)
        if value is not e.UNSET:
            found[field.encode_name] = _to_json(value)
    return found


def _to_json(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _fields(value)
    if is_list(value):
        return [_to_json(item) for item in value]
    return value


def _add_adr(state: Json, event: Any) -> Json:
    grow(state, "adrs_created", _fields(event.data))
    return state


def _record_test(state: Json, event: Any) -> Json:
    """One entry a task: times stay once they are set, files only grow, all else is the newest."""
    told = _fields(event.data)
    if "tests_state" not in state:
        put(state, "tests_state", [])
    for entry in state["tests_state"]:
        if entry["task_id"] == told["task_id"]:
            break
    else:
        entry = new_test(told["task_id"])
        state["tests_state"].append(entry)
    for name, value in told.items():
        if name == "test_files":
            known = entry.setdefault(name, [])
            known.extend(file for file in dict.fromkeys(value) if file not in known)
        elif name not in TEST_TIMES or entry.get(name) is None:
            entry[name] = value
    return state


def _executing(name: str, field: str) -> Apply:
    """Make an apply function that appends a field of the event to a list of the execution."""

    def run(state: Json, event: Any) -> Json:
        part(state, "execution").setdefault(name, []).append(getattr(event.data, field))
        return state

    return run


# --- what is set whole ---------------------------------------------------------------------------


def _consult_constitution(state: Json, event: Any) -> Json:
    put(state, "constitution_consulted", event.data.consulted)
    put(state, "constitution_path", event.data.path)
    return state


def _load_decisions(state: Json, event: Any) -> Json:
    put(state, "project_decisions", _to_json(event.data.decisions))
    return state


def _set_patterns(state: Json, event: Any) -> Json:
    put(state, "pattern_candidates", _to_json(event.data.patterns))
    return state


def _set_date_filter(state: Json, event: Any) -> Json:
    put(state, "date_filter", _fields(event.data))
    return state


def _set_stages(state: Json, event: Any) -> Json:
    """Stages that were started or verified keep what is known of them, by their id."""
    known = {stage["id"]: stage for stage in state.get("stages", [])}
    fresh: list[Json] = []
    for stage in event.data.stages:
        kept = known.get(stage.id)
        if kept is not None and is_under_way(kept):
            fresh.append(kept)
        else:
            criteria = stage.exit_criteria
            fresh.append({"id": stage.id, "exit_criteria": criteria, "verification": None})
    put(state, "stages", fresh)
    return state


def is_under_way(stage: Json) -> bool:
    """Say whether a stage was started or verified."""
    return stage.get("started_at") is not None or stage.get("verification") is not None


_TOUCHING: dict[type[Any], Apply] = {
    **OUTCOME,
    e.PlanStarted: _start,
    e.PhaseEntered: _enter,
    e.IterationStarted: _begin_iteration,
    e.GateChosen: _choose,
    e.ExitSignalled: _signal,
    e.InventoryFailed: _fail_inventory,
    e.InventoryRetried: _retry_inventory,
    e.InventorySkipped: _skip_inventory,
    e.Resumed: _resume,
    e.IterationRestarted: _restart,
    e.StartedAfresh: _start_afresh,
    e.RigorSet: _set_rigor,
    e.GoalSet: _set_goal,
    e.ExplorationAdded: _adding("exploration_history"),
    e.ClarificationAdded: _adding("clarifications"),
    e.ResearchAdded: _adding("research_history"),
    e.GapAcknowledged: _adding("gap_acknowledged"),
    e.AdrCreated: _add_adr,
    e.TestRecorded: _record_test,
    e.BlockerAdded: _executing("blockers", "blocker"),
    e.AgentDispatched: _executing("agents_dispatched", "agent"),
    e.ConstitutionConsulted: _consult_constitution,
    e.DecisionsLoaded: _load_decisions,
    e.PatternsSet: _set_patterns,
    e.DateFilterSet: _set_date_filter,
    e.StagesSet: _set_stages,
    e.TaskCompleted: _executing("tasks_completed", "task_id"),
}

APPLY: dict[type[Any], Apply] = {
    e.Normalized: _normalize,
    **{event: touching(apply) for event, apply in _TOUCHING.items()},
}
"""Event -> what it does to the state."""
