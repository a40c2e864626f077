"""Loops for the tests: a clock that is fixed, papers that are right, and ways to look at files."""

import copy
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from projections.agloop.agloop import AgLoop

Json = dict[str, Any]

FEATURE = "Add search API"
BEGIN_MS = 1_772_376_300_000  # 2026-03-01T14:45:00.000Z

RESULT: Json = {
    "files_modified": ["src/api/search.ts"],
    "files_deleted": [],
    "acceptance_criteria_confirmation": [
        {"criterion": "returns 200", "met": True, "evidence": "the handler does"}
    ],
    "summary": "Search endpoint with pagination",
    "warnings": [],
    "verified": False,
}
COMPLIANT: Json = {"compliant": True, "violations": []}
PASS: Json = {
    "verdict": "PASS",
    "criteria_results": [
        {"criterion": "returns 200", "result": "pass", "evidence": "Response: 42 results"}
    ],
    "specification_compliance": {
        "required_patterns": COMPLIANT,
        "forbidden_patterns": COMPLIANT,
        "tech_choices": COMPLIANT,
    },
    "overall_summary": "All criteria met",
}
FAIL: Json = {**PASS, "verdict": "FAIL", "failure_details": "page 2 is empty"}
OBJECTION: Json = {
    "objection": "no index on title",
    "objection_category": "performance",
    "severity": "major",
}


class Clock:
    """A clock that goes on by `step_ms` each time it is asked."""

    def __init__(self, step_ms: int = 1000, now_ms: int = BEGIN_MS) -> None:
        self.now_ms = now_ms
        self.step_ms = step_ms

    def __call__(self) -> int:
        self.now_ms += self.step_ms
        return self.now_ms


def folder_of(tmp_path: Path) -> Path:
    return tmp_path / ".agloop"


def begin(tmp_path: Path, *phases: str, feature: str = FEATURE, **options: Any) -> AgLoop:
    """Begin a loop and go through some phases."""
    loop = AgLoop.init(folder_of(tmp_path), feature_name=feature, **{"clock": Clock(), **options})
    for phase in phases:
        loop.enter_phase(phase)
    return loop


def reopen(tmp_path: Path, **options: Any) -> AgLoop:
    return AgLoop.open(folder_of(tmp_path), **{"clock": Clock(now_ms=BEGIN_MS * 2), **options})


def task(number: int, *needs: int, **members: Any) -> Json:
    """A task as plan.yaml has it."""
    return {
        "id": f"task-{number:03d}",
        "title": f"Deliver part {number}",
        "description": f"What part {number} is",
        "depends_on": [f"task-{need:03d}" for need in needs],
        "acceptance_criteria": ["returns 200"],
        "estimated_effort": "small",
        "failure_modes": [],
        **members,
    }


def plan_of(*tasks: Json, **members: Any) -> Json:
    """A plan without faults and without warnings."""
    return {
        "plan_id": "plan-20260301-144500",
        "feature": FEATURE,
        "created_at": "2026-03-01T14:45:00Z",
        "updated_at": "2026-03-01T14:45:00Z",
        "status": "approved",
        "pre_mortem": {
            "overall_risk_level": "low",
            "critical_failure_modes": ["it is slow"],
            "assumptions": ["there is data"],
        },
        "tasks": list(tasks),
        "dag_edges": [[need, one["id"]] for one in tasks for need in one.get("depends_on") or ()],
        "critique_history": [],
        **members,
    }


def write_plan(tmp_path: Path, *tasks: Json, **members: Any) -> Path:
    """Write plan.yaml; JSON is YAML."""
    path = folder_of(tmp_path) / "plan.yaml"
    text = json.dumps(
        plan_of(*(tasks or (task(1), task(2, 1), task(3, 1, 2))), **members), indent=1
    )
    path.write_text(text + "\n")
    return path


def executing(tmp_path: Path, *tasks: Json, **options: Any) -> AgLoop:
    """Begin a loop that has a plan and is in phase execute."""
    loop = begin(tmp_path, "research", "plan", **options)
    write_plan(tmp_path, *tasks)
    loop.adopt_plan()
    loop.enter_phase("critique")
    loop.enter_phase("execute")
    return loop


def finish(loop: AgLoop, *ids: str) -> None:
    """Take tasks from pending to done."""
    for task_id in ids:
        loop.start_task(task_id)
        loop.record_result(task_id, RESULT)
        loop.verify_task(task_id, PASS)


def task_of(state: Json, task_id: str) -> Json:
    found: Json = next(one for one in state["tasks"] if one["id"] == task_id)
    return found


def read_state(tmp_path: Path) -> Json:
    found: Json = json.loads((folder_of(tmp_path) / "state.json").read_text())
    return found


def read_log(tmp_path: Path) -> list[Json]:
    lines = (folder_of(tmp_path) / "log.json").read_bytes().split(b"\n")[:-1]
    return [json.loads(line) for line in lines]


def actions(tmp_path: Path) -> list[str]:
    return [entry["action"] for entry in read_log(tmp_path)]


def checkpoints(tmp_path: Path) -> list[str]:
    folder = folder_of(tmp_path) / "checkpoints"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes, but for the witness, which is only a record."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "witness.json"
    }


def foreign_state(**members: Any) -> Json:
    """A state as the text's template makes it, which lacks the fields of the table's later rows."""
    return {
        "$schema": "agloop-state-v1",
        "feature_name": FEATURE,
        "feature_description": "",
        "current_phase": "init",
        "iteration": 0,
        "current_task_id": None,
        "tasks": [],
        "stop_hook_active": False,
        "last_action": {
            "agent": "agloop",
            "action": "initialized",
            "timestamp": "2026-03-01T09:00:00.000Z",
            "task_id": None,
        },
        "phase_history": [],
        "retry_count": {},
        **members,
    }


def state_task(number: int, status: str = "pending", *needs: int, **members: Any) -> Json:
    """A task as state.json has it."""
    return {
        "id": f"task-{number:03d}",
        "title": f"Part {number}",
        "description": "",
        "status": status,
        "depends_on": [f"task-{need:03d}" for need in needs],
        "acceptance_criteria": ["it works"],
        "failure_modes": [],
        "result": None,
        "verification": None,
        **members,
    }


def full_state(**members: Any) -> Json:
    """A state with every field of the table."""
    return copy.deepcopy(
        {
            **foreign_state(),
            "complexity_level": "medium",
            "previous_objections": [],
            "compaction_context": {
                "last_delegation": None,
                "last_result_summary": None,
                "research_digest": None,
                "plan_digest": None,
                "critique_digest": None,
                "pending_decision": None,
                "compaction_count": 0,
            },
            **members,
        }
    )


def put_state(tmp_path: Path, state: Any) -> Path:
    folder_of(tmp_path).mkdir(exist_ok=True)
    path = folder_of(tmp_path) / "state.json"
    path.write_text(json.dumps(state, indent=2))
    return path


def put_checkpoint(
    tmp_path: Path,
    timestamp: str,
    state: Json,
    *,
    kind: str = "phase-transition",
    shape: int = 1,
) -> str:
    """Write a checkpoint as other tools do, in the first or the second shape."""
    folder = folder_of(tmp_path) / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    words: Json = {"trigger": "by hand", "human_summary": "Phase: …", "plan_summary": {}}
    if shape == 1:
        body = {"checkpoint_type": kind, "timestamp": timestamp, "state": state, **words}
    else:
        body = {**state, "_checkpoint": {"type": kind, "created_at": timestamp, **words}}
    name = f"{kind}-{timestamp.replace(':', '-').replace('.', '-')}.json"
    (folder / name).write_text(json.dumps(body, indent=2))
    return name


def types(found: Iterable[Any]) -> list[str]:
    return [event.type for event in found]
