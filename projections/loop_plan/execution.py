"""Commands from phase 6 to the end: drift, execution, stages, verification, ship and abort.

I1  Stage N+1 begins only after stage N passed, or was signed off where only a person can judge.
I2  A plan ships only where its verification passed, or was signed off; shipping enters `done` and
    sets `completion_state` in one event.
"""

from typing import Any

import msgspec

from journal import codec
from journal.errors import UsageError
from projections.loop_plan import events as e
from projections.loop_plan.given import read_verdict
from projections.loop_plan.guards import check_filled, check_phase, check_working, phase_of, slug_of
from projections.loop_plan.rules import is_record, show
from projections.loop_plan.states import Json

Events = list[msgspec.Struct]

SHIP_ANYWAY = "Ship anyway"
ABORT = "/abort"


# --- drift ---------------------------------------------------------------------------------------


def check_drift(state: Json, report: Any) -> Events:
    """Record what phase 6 found: `"clean"`, or a report (an object) of the drift."""
    check_working(state)
    check_phase(state, ("6",), "the drift check")
    if report == "clean":
        return [e.DriftChecked(status="clean")]
    found = report
    if is_record(report) and report.get("status") == "drift":
        found = report.get("report")
    if not is_record(found) or not found:
        raise UsageError(
            f"drift_check: {show(report)} is not the report of a drift",
            key="drift_check",
            advice="Allowed: clean, or an object that says what drifted, plain or as "
            '{"status": "drift", "report": {…}}.',
        )
    codec.encode_value(found, what="drift_check")
    return [e.DriftChecked(status="drift", report=found)]


def override_drift(state: Json, category: str, justification: str) -> Events:
    """Record that the user ships in spite of the drift, and why."""
    check_working(state)
    check_phase(state, ("6",), "overriding a drift")
    check_filled(category, "category")
    check_filled(justification, "justification")
    found = state.get("drift_check")
    if not isinstance(found, dict):
        raise UsageError(
            f"drift_check is {show(found)}: there is no drift to override",
            key="drift_check",
            advice=f"Allowed: after `journal plan drift {slug_of(state)} FILE`.",
        )
    return [
        e.DriftOverridden(category=category, justification=justification),
        e.ExitSignalled(signal=SHIP_ANYWAY, source="drift_override"),
    ]


# --- execution -----------------------------------------------------------------------------------


def start_execution(state: Json, log_path: str = "") -> Events:
    """Begin the execution that the user approved: phase 7a → 7b."""
    check_working(state)
    check_phase(state, ("7a",), "the start of the execution")
    return [e.ExecutionStarted(log_path=log_path)]


def complete_task(state: Json, task_id: str) -> Events:
    """Record that a task passed its gate; the same task again makes no event."""
    check_working(state)
    check_phase(state, ("7b",), "completing a task")
    check_filled(task_id, "task")
    execution: Json = state.get("execution", {})
    if task_id in execution.get("tasks_completed", []):
        return []
    return [e.TaskCompleted(task_id=task_id)]


# --- stages --------------------------------------------------------------------------------------


def start_stage(state: Json, stage_id: str) -> Events:
    """Begin a stage (I1); one that was started already makes no event."""
    check_working(state)
    check_phase(state, ("7b",), "the start of a stage")
    index, stage = _find_stage(state, stage_id)
    if stage.get("started_at") is not None:
        return []
    if index:
        before: Json = state["stages"][index - 1]
        if fault := lacks_approval(before.get("verification")):
            raise UsageError(
                f"stage {stage_id!r} cannot begin: stage {before['id']!r} {fault}",
                key=f"stages[{index - 1}].verification",
                advice="Allowed: after the stage before it passed, or was signed off where it is "
                "human_needed.",
            )
    return [e.StageStarted(id=stage_id)]


def verify_stage(state: Json, stage_id: str, verdict: Any) -> Events:
    """Record the verdict on a stage that was started; the newest counts."""
    check_working(state)
    check_phase(state, ("7b",), "verifying a stage")
    _, stage = _find_stage(state, stage_id)
    found = read_verdict(verdict)
    if stage.get("started_at") is None and stage.get("verification") is None:
        raise UsageError(
            f"stage {stage_id!r} was not started, so it cannot be verified",
            key="stages",
            advice=f"Allowed: after `journal plan stage start {slug_of(state)} {stage_id}`.",
        )
    return [e.StageVerified(id=stage_id, **found)]


def sign_off_stage(state: Json, stage_id: str, by: str, note: str) -> Events:
    """Record a person's signature under a stage that is `human_needed`."""
    check_working(state)
    check_phase(state, ("7b",), "signing off a stage")
    _, stage = _find_stage(state, stage_id)
    _check_human_needed(stage.get("verification"), f"stage {stage_id!r}")
    return [
        e.StageSignedOff(id=stage_id, by=check_filled(by, "by"), note=check_filled(note, "note"))
    ]


def _find_stage(state: Json, stage_id: str) -> tuple[int, Json]:
    stages: list[Json] = state.get("stages", [])
    for index, stage in enumerate(stages):
        if stage["id"] == stage_id:
            return index, stage
    names = ", ".join(stage["id"] for stage in stages) or "none, the plan has no stages"
    raise UsageError(f"stage: {stage_id!r} is none", key="stage", advice=f"Allowed: {names}.")


# --- verification --------------------------------------------------------------------------------


def record_verification(state: Json, verdict: Any) -> Events:
    """Record the verifier's newest verdict on the plan."""
    check_working(state)
    check_phase(state, ("7b",), "the verification")
    return [e.VerificationRecorded(**read_verdict(verdict))]


def sign_off(state: Json, by: str, note: str) -> Events:
    """Record a person's signature under a plan that is `human_needed`."""
    check_working(state)
    check_phase(state, ("7b",), "signing off")
    _check_human_needed(state.get("verification"), "the plan")
    return [e.VerificationSignedOff(by=check_filled(by, "by"), note=check_filled(note, "note"))]


def _check_human_needed(verdict: Json | None, what: str) -> None:
    status = verdict.get("status") if verdict else None
    if status != "human_needed":
        raise UsageError(
            f"{what}: its verification is {show(status)}, there is nothing to sign",
            key="verification.status",
            advice="Allowed: a signature where it is human_needed.",
        )


def lacks_approval(verdict: Json | None) -> str:
    """Say what a verification lacks to let the plan go on; empty where it passed (I1, I2)."""
    status = verdict.get("status") if verdict else None
    if status == "passed":
        return ""
    if status == "human_needed":
        return "" if verdict and verdict.get("signed_off") else "is human_needed and not signed off"
    return "is not verified yet" if status is None else f"is {status}"


# --- the end -------------------------------------------------------------------------------------


def ship(state: Json) -> Events:
    """Ship the plan (I2)."""
    check_working(state)
    check_phase(state, ("7b",), "shipping")
    if fault := lacks_approval(state.get("verification")):
        slug = slug_of(state)
        raise UsageError(
            f"plan {slug!r} cannot ship: it {fault}",
            key="verification.status",
            advice=f"Allowed: verification passed (`journal plan verify {slug} FILE`), or "
            "human_needed and signed off (`journal plan sign-off`).",
        )
    return [e.Shipped()]


def abort(state: Json, signal: str = ABORT) -> Events:
    """Give the plan up, from any phase."""
    if state.get("completion_state") == "abandoned" and phase_of(state) not in ("done", "aborted"):
        return [e.Aborted(signal=signal)]
    check_working(state)
    return [e.Aborted(signal=signal)]
