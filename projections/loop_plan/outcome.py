"""What the events from the drift check to the end do to the state of a plan.

The invariants are those of `applying`, which holds the table of all events.
"""

from collections.abc import Callable
from typing import Any

from projections.loop_plan import events as e
from projections.loop_plan.states import Json, grow, move, part, put


def _check_drift(state: Json, event: Any) -> Json:
    data: e.DriftChecked = event.data
    found: Any = "clean"
    if data.status != "clean":
        report = data.report if isinstance(data.report, dict) else {}
        found = {"status": "drift", "report": report}
    put(state, "drift_check", found)
    return state


def _override_drift(state: Json, event: Any) -> Json:
    data: e.DriftOverridden = event.data
    entry = {
        "timestamp": event.time,
        "category": data.category,
        "justification": data.justification,
    }
    grow(state, "drift_check_overrides", entry)
    return state


def _start_execution(state: Json, event: Any) -> Json:
    """Phase 7b; a verdict on what was executed before says nothing about what now begins."""
    move(state, "7b")
    execution = part(state, "execution")
    if execution.get("started_at") is None:
        execution["started_at"] = event.time
    if event.data.log_path:
        execution["execution_log_path"] = event.data.log_path
    put(state, "verification", {"status": None, "score": None, "gaps": []})
    return state


def _stage(state: Json, stage_id: str) -> Json:
    for stage in state.get("stages", []):
        if stage["id"] == stage_id:
            found: Json = stage
            return found
    return {}  # a stage that is not there any more: nothing to note


def _start_stage(state: Json, event: Any) -> Json:
    _stage(state, event.data.id).setdefault("started_at", event.time)
    return state


def _verify_stage(state: Json, event: Any) -> Json:
    _stage(state, event.data.id)["verification"] = _verdict(event.data)
    return state


def _sign_off_stage(state: Json, event: Any) -> Json:
    verdict = _stage(state, event.data.id).get("verification")
    if verdict is not None:
        verdict["signed_off"] = _signature(event)
    return state


def _record_verification(state: Json, event: Any) -> Json:
    put(state, "verification", _verdict(event.data))
    return state


def _sign_off(state: Json, event: Any) -> Json:
    part(state, "verification")["signed_off"] = _signature(event)
    return state


def _verdict(data: Any) -> Json:
    return {"status": data.status, "score": data.score, "gaps": data.gaps}


def _signature(event: Any) -> Json:
    return {"by": event.data.by, "at": event.time, "note": event.data.note}


def _ship(state: Json, event: Any) -> Json:
    move(state, "done")
    put(state, "completion_state", "shipped")
    part(state, "execution")["completed_at"] = event.time
    return state


def _abort(state: Json, event: Any) -> Json:
    move(state, "aborted")
    put(state, "completion_state", "aborted")
    put(state, "exit_signal", event.data.signal)
    put(state, "exit_signal_source", "abort")
    return state


def _abandon(state: Json, event: Any) -> Json:  # noqa: ARG001 - the shape of an apply function
    put(state, "completion_state", "abandoned")
    return state


OUTCOME: dict[type[Any], Callable[[Any, Any], Any]] = {
    e.DriftChecked: _check_drift,
    e.DriftOverridden: _override_drift,
    e.ExecutionStarted: _start_execution,
    e.StageStarted: _start_stage,
    e.StageVerified: _verify_stage,
    e.StageSignedOff: _sign_off_stage,
    e.VerificationRecorded: _record_verification,
    e.VerificationSignedOff: _sign_off,
    e.Shipped: _ship,
    e.Aborted: _abort,
    e.Abandoned: _abandon,
}
"""Event -> what it does to the state."""
