"""What may be done with the loop as a whole: feature, phase, objections, context, log entries.

I1  Each function returns events, or raises `UsageError` that names the rule, the value and what
    would be allowed; it changes nothing. Tasks have `tasks`, the plan has `plan_file`.
"""

from typing import Any

import msgspec

from journal.errors import UsageError
from projections.agloop import events, line, phases
from projections.agloop.applying import find_task
from projections.agloop.schema import CONTEXT_TEXTS, check_complexity, check_name
from projections.agloop.shape import show
from projections.agloop.task_papers import check_objection
from projections.patch import equal

Json = dict[str, Any]
Events = list[msgspec.Struct]


def initialize(
    feature_name: str = "", feature_description: str = "", complexity_level: str = ""
) -> Events:
    """Begin a loop; a name may come later, before the loop leaves init."""
    if feature_name:
        check_name(feature_name)
    return [
        events.Initialized(
            feature_name=feature_name,
            feature_description=feature_description,
            complexity_level=check_complexity(complexity_level or "medium"),
        )
    ]


def set_feature(
    state: Json,
    name: str | None = None,
    description: str | None = None,
    complexity: str | None = None,
) -> Events:
    """Set what the loop is about; what is None stays."""
    if name is None and description is None and complexity is None:
        raise UsageError(
            "nothing to set; allowed: a name, a description, a complexity", key="feature_name"
        )
    event = events.FeatureSet()
    if name is not None:
        event.feature_name = check_name(name)
    if description is not None:
        event.feature_description = description
    if complexity is not None:
        event.complexity_level = check_complexity(complexity)
    given = msgspec.structs.asdict(event)
    same = all(value in (events.UNSET, state[field]) for field, value in given.items())
    return [] if same else [event]


def enter_phase(
    state: Json, phase: str, task_id: str | None = None, user_decision: str = ""
) -> Events:
    """Go on to another phase, perhaps for one task."""
    phases.check_transition(state, phase, user_decision=user_decision)
    if task_id is not None:
        find_task(state, task_id)
        if phase == "complete":
            raise UsageError("complete has no current task; allowed: no task", key="task_id")
    found: Events = []
    if user_decision:
        found.append(events.UserDecided(decision=user_decision, iteration=state["iteration"]))
    current = state["current_phase"]
    found.append(events.PhaseEntered(phase=phase, from_phase=current, task_id=task_id))
    return found


def describe_transition(state: Json, phase: str) -> str:
    """Return the trigger of the checkpoint that a transition makes."""
    return f"phase: {state['current_phase']} → {phase}"


def raise_objection(state: Json, objection: Any) -> Events:
    """Record what the critic objects to."""
    return [events.ObjectionRaised(objection=check_objection(objection, state["iteration"]))]


def answer_objection(state: Json, number: int, response: str, *, resolved: bool = False) -> Events:
    """Record the response to objection `number`, counted from 1."""
    count = len(state["previous_objections"])
    if not 1 <= number <= count:
        allowed = f"1 to {count}" if count else "none, as there are no objections"
        raise UsageError(f"there is no objection {number}; allowed: {allowed}", key="number")
    if not response.strip():
        raise UsageError("the response is empty; allowed: any text", key="response")
    return [events.ObjectionAnswered(number=number, response=response, resolved=resolved)]


def set_context(state: Json, field: str, value: Any) -> Events:
    """Set a field of the compaction context; its count only compactions raise."""
    if field not in CONTEXT_TEXTS:
        raise UsageError(
            f"compaction_context has no field {show(field)} that can be set; allowed: "
            f"{' | '.join(CONTEXT_TEXTS)}",
            key="field",
        )
    if equal(state["compaction_context"].get(field), value):
        return []
    return [events.ContextSet(field=field, value=value)]


def note(
    state: Json,
    action: str,
    *,
    task_id: str | None = None,
    input_summary: str = "",
    output_summary: str = "",
    status: str = "success",
    metadata: Json | None = None,
) -> Events:
    """Make an entry of the log."""
    if not action.strip():
        raise UsageError("the action is empty; allowed: any name", key="action")
    if status not in line.STATUSES:
        allowed = " | ".join(line.STATUSES)
        raise UsageError(f"status is {show(status)}; allowed: {allowed}", key="status")
    if task_id is not None:
        find_task(state, task_id)
    return [
        events.LogNoted(
            action=action,
            task_id=task_id,
            input_summary=input_summary,
            output_summary=output_summary,
            status=status,
            metadata=events.UNSET if metadata is None else metadata,
        )
    ]
