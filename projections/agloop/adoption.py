"""The plan that the loop works on: adopting plan.yaml, and what to do when it is gone.

I1  An adopted plan's text is in the log, so a plan.yaml that is gone is written again; where no
    plan was adopted since the last reset, the loop goes back to planning.
I2  What adoption changes is said: what is new, changed, gone, and what stays although the plan
    has it no more.
"""

import os
from pathlib import Path
from typing import Any

import msgspec

from journal import codec, durable, locks, regular
from projections.agloop import events
from projections.agloop.merging import merge_tasks
from projections.agloop.phases import PLANNED
from projections.agloop.plan import Plan, read_plan
from projections.agloop.records import AdoptedPlan

Json = dict[str, Any]

PLAN_FILE = "plan.yaml"
MISSING = "Plan missing, returning to plan phase"


class PlanReport(msgspec.Struct, kw_only=True):
    """What a plan says, and what its adoption does, or did, to the tasks of the loop.

    Lists of ids: `new` ones, `changed` texts, `gone` (pending, and not in the plan), `staying`
    (neither, and not in the plan). `adopted`: an event was appended.
    """

    path: str
    plan_id: str
    status: str
    tasks: int
    warnings: list[str]
    new: list[str] = []
    changed: list[str] = []
    gone: list[str] = []
    staying: list[str] = []
    adopted: bool = False


def read(path: Path) -> Plan:
    """Read a plan from a file; raises `PlanError`, `OSError`."""
    return read_plan(regular.read_given(path), path)


def report(state: Json, plan: Plan) -> PlanReport:
    """Return what the adoption of `plan` does to a state."""
    merged = merge_tasks(state["tasks"], plan.tasks)
    return PlanReport(
        path=plan.path,
        plan_id=plan.plan_id,
        status=plan.status,
        tasks=len(plan.tasks),
        warnings=plan.warnings,
        new=merged.new,
        changed=merged.changed,
        gone=merged.gone,
        staying=merged.staying,
    )


def adopt(state: Json, plan: Plan, known: AdoptedPlan | None) -> list[msgspec.Struct]:
    """Return the event of an adoption; none where this plan is the one the loop works on."""
    if known is not None and known.is_current and known.sha256 == plan.sha256:
        merged = merge_tasks(state["tasks"], plan.tasks)
        if not (merged.new or merged.changed or merged.gone):
            return []
    return [
        events.PlanAdopted(
            path=os.path.basename(plan.path),
            sha256=plan.sha256,
            text=plan.text,
            plan_id=plan.plan_id,
            status=plan.status,
            tasks=plan.tasks,
            warnings=len(plan.warnings),
        )
    ]


def is_missing(folder: Path) -> bool:
    """Say whether there is no plan.yaml; one that cannot be read is there."""
    return not os.path.lexists(folder / PLAN_FILE)


def settle_missing(state: Json, known: AdoptedPlan | None) -> list[msgspec.Struct]:
    """Return the event for a plan.yaml that is gone, by I1; none in phases that need no plan."""
    phase = state["current_phase"]
    if phase not in PLANNED:
        return []
    if known is not None and known.is_current:
        return [events.PlanRestored(sha256=known.sha256)]
    # In phase plan there is no plan yet, or the planner is at work on the next.
    return [] if phase == "plan" else [events.PlanMissing(from_phase=phase)]


def write_back(folder: Path, known: AdoptedPlan, lock_timeout_s: float) -> None:
    """Write plan.yaml again, byte for byte as it was adopted.

    Under the kernel's lock on the folder, so that what a killed writer left can be taken away.
    """
    with locks.FolderLock(folder) as lock, lock.held(lock_timeout_s):
        durable.remove_leftovers(folder, PLAN_FILE)
        durable.write_file(folder / PLAN_FILE, known.text.encode())


def describe_change(folder: Path, known: AdoptedPlan | None) -> str:
    """Say how plan.yaml stands to the plan that the loop works on; empty where they are one."""
    try:
        digest = codec.sha256(regular.read_given(folder / PLAN_FILE))
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"plan.yaml cannot be read: {error.strerror}"
    if known is None or not known.is_current:
        return "plan.yaml is not adopted yet"
    if digest != known.sha256:
        return "plan.yaml was changed since it was adopted"
    return ""
