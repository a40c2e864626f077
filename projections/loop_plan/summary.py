"""A plan in short: where it stands, what is missing, and what may come next."""

from typing import Any

import msgspec

from projections.loop_plan import audit
from projections.loop_plan.execution import lacks_approval
from projections.loop_plan.guards import phase_of, slug_of
from projections.loop_plan.phases import GATE, STEPS, missing_of_goal
from projections.loop_plan.resuming import last_action
from projections.loop_plan.states import Json


class StageSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A stage; `approval` says what it lacks to let the next one begin, empty where nothing."""

    id: str
    started: bool
    verification: str | None
    approval: str


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants to know of a plan; `class` is that of the audit.

    `missing` is what phase 2 still lacks to be left, `next` what may come next.
    """

    slug: str
    task_statement: str
    phase: str
    iteration: int
    completion_state: str
    kind: str = msgspec.field(name="class")
    idle_days: float | None
    rigor: str | None
    goal: str | None
    last_action: str
    exit_signal: str | None
    verification: str | None
    stages: list[StageSummary]
    tasks_completed: int
    blockers: int
    missing: list[str]
    next: list[str]


def summarize(state: Json, now_ms: int) -> Summary:
    """Return a plan in short, as of a time in milliseconds since 1970."""
    execution: Json = state.get("execution") or {}
    idle_ms, _ = audit.find_idle(state, now_ms)
    return Summary(
        slug=slug_of(state),
        task_statement=state.get("task_statement", ""),
        phase=phase_of(state),
        iteration=state["iteration"],
        completion_state=state.get("completion_state", "active"),
        kind=audit.classify(state, now_ms),
        idle_days=None if idle_ms is None else round(idle_ms / 86_400_000, 2),
        rigor=state.get("rigor"),
        goal=state.get("goal"),
        last_action=last_action(state),
        exit_signal=state.get("exit_signal"),
        verification=_status(state.get("verification")),
        stages=[_summarize_stage(stage) for stage in state.get("stages", [])],
        tasks_completed=len(execution.get("tasks_completed", [])),
        blockers=len(execution.get("blockers", [])),
        missing=missing_of_goal(state) if phase_of(state) == "2" else [],
        next=find_next(state),
    )


def _summarize_stage(stage: Json) -> StageSummary:
    return StageSummary(
        id=stage["id"],
        started=stage.get("started_at") is not None,
        verification=_status(stage.get("verification")),
        approval=lacks_approval(stage.get("verification")),
    )


def _status(verdict: Any) -> str | None:
    return verdict.get("status") if verdict else None


def find_next(state: Json) -> list[str]:
    """Return the commands that may come next, in the order in which they are likely."""
    slug, phase = slug_of(state), phase_of(state)
    if phase in ("done", "aborted") or state.get("completion_state") in ("shipped", "aborted"):
        return [f"journal plan resume {slug} --choose fresh"]
    if state.get("completion_state") == "abandoned":
        return [f"journal plan resume {slug} --choose resume|restart|fresh"]
    if phase == "3b" and state.get("3b_status") == "failed":
        return [f"journal plan resume {slug} --choose retry|skip"]
    match phase:
        case "2" if state.get("rigor") is None:
            return [f"journal plan rigor {slug} minimal|tdd-only|full"]
        case "2" if missing_of_goal(state):
            return [f"journal plan goal {slug} FILE"]
        case "3b":
            return [f"journal plan inventory {slug} ok|failed"]
        case "5":
            return [f'journal plan gate {slug} "{choice}"' for choice in GATE]
        case "6":
            return _after_drift_check(state, slug)
        case "7a":
            return [f"journal plan execute {slug}"]
        case "7b" if lacks_approval(state.get("verification")):
            return [f"journal plan task-done {slug} ID", f"journal plan verify {slug} FILE"]
        case "7b":
            return [f"journal plan ship {slug}"]
        case _:
            return [f"journal plan phase {slug} {step}" for step in STEPS.get(phase, ())]


def _after_drift_check(state: Json, slug: str) -> list[str]:
    found = state.get("drift_check")
    if found is None:
        return [f"journal plan drift {slug} clean|FILE"]
    if found == "clean" or state.get("exit_signal_source") == "drift_override":
        return [f"journal plan phase {slug} 7a"]
    return [f"journal plan phase {slug} 5", f"journal plan override {slug} --category C --why T"]
