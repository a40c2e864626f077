"""Where a loop stands, as `status` says it.

I1  Nothing is locked or written for it; a folder that is not taken over yet is read as it would
    be.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from projections.agloop import adoption, takeover, tasks
from projections.agloop.checkpoint import FOLDER, Checkpoint
from projections.agloop.checkpoints import read_folder
from projections.agloop.phases import PLANNED
from projections.agloop.schema import STATUSES, initial

if TYPE_CHECKING:
    from projections.agloop.agloop import AgLoop

Json = dict[str, Any]


class Standing(msgspec.Struct, kw_only=True):
    """Where a loop stands.

    `journal`: whether it has one; `seq` its last event. `tasks` counts them by status. `plan`
    holds plan_id, status and sha256 of the adopted plan, null without one; `plan_note` how
    plan.yaml stands to it. `next` is the id of the next task; `blocked` maps a task to the failed
    ones it waits for.
    """

    folder: str
    journal: bool
    seq: int
    phase: str
    iteration: int
    feature: str
    complexity: str
    tasks: dict[str, int]
    current_task_id: str | None
    next: str | None
    next_why: str
    blocked: dict[str, list[str]]
    cycles: list[list[str]]
    retries: int
    open_objections: int
    stop_hook_active: bool
    compactions: int
    pending_decision: Any
    last_action: Json
    plan: Json | None
    plan_note: str
    checkpoints: int


def stand(loop: "AgLoop") -> Standing:
    """Return where an open loop stands."""
    state = loop.state
    known = loop.plan()
    plan = None
    if known is not None and known.is_current:
        plan = {"plan_id": known.plan_id, "status": known.status, "sha256": known.sha256}
    note = adoption.describe_change(loop.folder, known)
    if adoption.is_missing(loop.folder) and state["current_phase"] in PLANNED:
        note = "plan.yaml is missing"
    return _standing(loop.folder, state, seq=loop.engine.seq, plan=plan, note=note)


def stand_untaken(folder: Path) -> Standing:
    """Return where a loop stands that has no journal yet; raises as `takeover.find`."""
    found = takeover.find(folder)
    state: Json = found.completed if found.path is not None else initial()
    return _standing(folder, state, seq=0, plan=None, note="")


def _standing(folder: Path, state: Json, *, seq: int, plan: Json | None, note: str) -> Standing:
    following = tasks.find_next(state)
    counts = dict.fromkeys(STATUSES, 0)
    for task in state["tasks"]:
        counts[task["status"]] += 1
    kept = [found for _, _, found in read_folder(folder / FOLDER) if isinstance(found, Checkpoint)]
    return Standing(
        folder=str(folder),
        journal=seq > 0,
        seq=seq,
        phase=state["current_phase"],
        iteration=state["iteration"],
        feature=state["feature_name"],
        complexity=state["complexity_level"],
        tasks={"total": len(state["tasks"]), **counts},
        current_task_id=state["current_task_id"],
        next=None if following.task is None else following.task["id"],
        next_why=following.why,
        blocked=following.blocked,
        cycles=following.cycles,
        retries=sum(state["retry_count"].values()),
        open_objections=sum(not each["resolved"] for each in state["previous_objections"]),
        stop_hook_active=state["stop_hook_active"],
        compactions=state["compaction_context"]["compaction_count"],
        pending_decision=state["compaction_context"]["pending_decision"],
        last_action=state["last_action"],
        plan=plan,
        plan_note=note,
        checkpoints=len(kept),
    )


def needs_mending(loop: "AgLoop") -> bool:
    """Say whether opening for writing would mend something of a loop opened read-only."""
    if adoption.is_missing(loop.folder) and loop.state["current_phase"] in PLANNED:
        return True
    return any(view.status not in ("healthy", "behind") for view in loop.engine.status().views)
