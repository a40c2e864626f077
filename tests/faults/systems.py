"""The five systems as a fault meets them: how each begins, what its verbs are, and what it keeps.

    begun        an empty folder, in which the first verb makes everything
    kept         what the first verbs made, which the others work on
    taken over   files of another tool, without a journal; the first verb that changes takes over

I1  Verbs run in the working folder, with names relative to it, as a person would.
I2  `FOLDERS` are those that a person names; what lies in them is the system's own.
"""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.faults.commanding import Act, run_command

RUN = "review-20260301-144500"
RUN_FOLDER = f".superpipelines/temp/review/{RUN}"
LOOP = ".agent/checkpoints/task.json"
BEGAN_MS = 1_772_376_300_000  # 2026-03-01T14:45:00.000Z

Files = Mapping[str, Any]
"""A path relative to the working folder -> JSON that lies there, or text."""


class Verb(NamedTuple):
    """One command: its words, and what it reads from standard input."""

    words: tuple[str, ...]
    stdin: bytes = b""

    def __str__(self) -> str:
        return " ".join(self.words)


class System(NamedTuple):
    """One of the five: what a person brings, the verbs, and where its journal lies."""

    name: str
    folders: frozenset[str]
    """Those that a person names (I2)."""
    private: str
    views: frozenset[str]
    """The files that are kept equal to a state or a log."""
    given: Files
    foreign: Files
    begin: tuple[Verb, ...]
    verbs: tuple[Verb, ...]
    check: Verb


def verb(text: str, given: Any = None) -> Verb:
    """Return a verb; words are split at spaces, `given` is JSON for standard input."""
    return Verb(tuple(text.split()), b"" if given is None else json.dumps(given).encode())


def put(work: Path, files: Files) -> None:
    """Write files into the working folder."""
    for name, content in files.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))


def acting(verbs: tuple[Verb, ...]) -> dict[str, Act]:
    """Return what runs verbs in a working folder (I1); the same words twice are told apart."""

    def act(one: Verb) -> Act:
        def run(work: Path) -> str:
            os.chdir(work)
            return run_command(list(one.words), one.stdin)

        return run

    return {f"{number} {one}": act(one) for number, one in enumerate(verbs, 1)}


def copy(made: Path, work: Path) -> None:
    """Copy a working folder that was made, with the modes and times that it has."""
    shutil.copytree(made, work, symlinks=True)


_TASK = {
    "id": "task-001",
    "title": "Search endpoint",
    "description": "GET /api/search",
    "depends_on": [],
    "acceptance_criteria": ["returns 200"],
    "estimated_effort": "small",
    "failure_modes": [],
}
_PLAN = {
    "plan_id": "plan-20260301-144500",
    "feature": "Add search",
    "created_at": "2026-03-01T14:45:00Z",
    "updated_at": "2026-03-01T14:45:00Z",
    "status": "approved",
    "pre_mortem": {
        "overall_risk_level": "low",
        "critical_failure_modes": ["it is slow"],
        "assumptions": ["titles are short"],
    },
    "tasks": [_TASK],
    "dag_edges": [],
    "critique_history": [],
}
_RESULT = {
    "files_modified": ["search.py"],
    "files_deleted": [],
    "acceptance_criteria_confirmation": [
        {"criterion": "returns 200", "met": True, "evidence": "a test"}
    ],
    "summary": "GET /api/search",
    "warnings": [],
    "verified": False,
}
_AGLOOP_STATE = {
    "$schema": "agloop-state-v1",
    "feature_name": "Add search",
    "feature_description": "",
    "current_phase": "plan",
    "iteration": 1,
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
}
_CHECKPOINT = "checkpoints/phase-transition-2026-02-{day:02d}T09-00-00-000Z.json"
_MANY_CHECKPOINTS = {
    f".agloop/{_CHECKPOINT.format(day=day)}": {
        "checkpoint_type": "phase-transition",
        "timestamp": f"2026-02-{day:02d}T09:00:00.000Z",
        "state": _AGLOOP_STATE,
        "trigger": "by hand",
        "human_summary": "Phase: plan",
        "plan_summary": {},
    }
    for day in range(1, 24)
}
"""More than are kept, so that the next checkpoint prunes."""

AGLOOP = System(
    "agloop",
    frozenset({".agloop"}),
    ".agloop/journal",
    frozenset({".agloop/state.json", ".agloop/log.json"}),
    {},
    {
        ".agloop/state.json": _AGLOOP_STATE,
        ".agloop/plan.yaml": json.dumps(_PLAN, indent=1),
        ".agloop/log.json": '{"timestamp":"2026-02-01T09:00:00.000Z","agent":"a","action":"b"}\n',
        **_MANY_CHECKPOINTS,
    },
    (
        verb("agloop init --feature Search"),
        verb("agloop phase research"),
        verb("agloop phase plan"),
    ),
    (
        verb("agloop status"),
        verb("agloop hook session-start", {}),
        verb("agloop plan adopt"),
        verb("agloop phase critique"),
        verb("agloop phase execute --task task-001"),
        verb("agloop task start task-001"),
        verb("agloop task result task-001 -", _RESULT),
        verb("agloop hook pre-compact", {"transcript_path": "transcript.jsonl"}),
        verb("agloop hook stop", {}),
        verb("agloop checkpoints"),
        verb("agloop log -n 5"),
        verb("agloop next"),
        verb("agloop recover"),
        verb("agloop reset"),
    ),
    verb("agloop status"),
)

_PHASES = [{"name": "plan", "agent": "planner"}, {"name": "build", "agent": "builder"}]
PIPELINE = System(
    "pipeline",
    frozenset({".superpipelines"}),
    f"{RUN_FOLDER}/pipeline-state.journal",
    frozenset({f"{RUN_FOLDER}/pipeline-state.json"}),
    {"phases.json": _PHASES, "profile.json": {"scope_root": {"workspace": ".claude"}}},
    {
        f"{RUN_FOLDER}/pipeline-state.json": {
            "pipeline_id": "7d1c0b3e-54c2-4b7a-8f39-0a1b2c3d4e5f",
            "pipeline_name": "review",
            "plugin_version": "2.0.3",
            "scope_root_dir": ".superpipelines",
            "run_id": RUN,
            "started_at": "2026-03-01T14:30:00+00:00",
            "pattern": "1",
            "status": "running",
            "current_phase": 0,
            "phases": [
                {**phase, "index": index, "status": "pending", "outputs": [], "error": None}
                for index, phase in enumerate(_PHASES)
            ],
            "metadata": {
                "source_tier": "claude",
                "runtime_tier": "claude",
                "platform_profile": {"name": "claude"},
                "tier_changes": [],
                "source_scope_root": ".claude",
                "isolation_warning": None,
                "resolved_models": {},
                "preference_files_consulted": {
                    "user_path": None,
                    "user_hash": None,
                    "workspace_path": None,
                    "workspace_hash": None,
                },
            },
        }
    },
    (
        verb(
            "pipeline init review --pattern 1 --phases phases.json --tier claude "
            f"--profile profile.json --plugin-version 2.1.0 --run-id {RUN}"
        ),
        verb(f"pipeline start {RUN} 0"),
    ),
    (
        verb(f"pipeline status {RUN}"),
        verb("pipeline list"),
        verb(f"pipeline start {RUN} 0"),
        verb(f"pipeline done {RUN} 0 --output plan.md"),
        verb(f"pipeline beat {RUN}"),
        verb(f"pipeline meta {RUN} note 1"),
        verb(f"pipeline prefs {RUN} --user preferences.md"),
        verb(f"pipeline resume {RUN} --choose resume --confirm"),
        verb(f"pipeline escalate {RUN} --reason x"),
    ),
    verb(f"pipeline status {RUN}"),
)

_PLAN_STATE = {
    "slug": "feed",
    "version": 1,
    "task_statement": "Cache the feed",
    "current_phase": "1",
    "iteration": 1,
    "created_at": "2026-03-01T09:00:00Z",
    "last_update_at": "2026-03-01T09:00:00Z",
    "plan_path": "plans/feed.md",
}
PLAN = System(
    "plan",
    frozenset({"plans"}),
    "plans/feed.journal",
    frozenset({"plans/feed.state.json"}),
    {"plans/feed.md": "# Feed\n"},
    {"plans/feed.state.json": _PLAN_STATE},
    (verb("plan init Cache --slug feed --plans-dir plans"),),
    (
        verb("plan status feed --plans-dir plans"),
        verb("plan phase feed 1 --plans-dir plans"),
        verb("plan phase feed 2 --plans-dir plans"),
        verb("plan rigor feed tdd-only --plans-dir plans"),
        verb("plan resume feed --choose fresh --plans-dir plans"),
        verb("plan list --plans-dir plans"),
        verb("plan audit --plans-dir plans"),
        verb("plan abort feed --plans-dir plans"),
    ),
    verb("plan status feed --plans-dir plans"),
)

_LOOP_STATE = {
    "schemaVersion": 1,
    "taskId": "t",
    "objective": "o",
    "state": "planned",
    "attempts": 0,
    "maxAttempts": 3,
    "nextAction": "n",
    "createdAt": "2026-03-01T09:00:00.000Z",
    "updatedAt": "2026-03-01T09:00:00.000Z",
    "history": [],
    "evidence": [],
}
LOOP_SYSTEM = System(
    "loop",
    frozenset({".agent", ".agent/checkpoints"}),
    ".agent/checkpoints/task.journal",
    frozenset({LOOP}),
    {},
    {LOOP: _LOOP_STATE},
    (
        verb(
            f"loop init --file {LOOP} --task t --objective o --max-attempts 3 --next-action inspect"
        ),
    ),
    (
        verb(f"loop status --file {LOOP}"),
        verb(f"loop transition --file {LOOP} --to running"),
        verb(f"loop transition --file {LOOP} --to verifying"),
        verb(f"loop evidence --file {LOOP} --check c --outcome passed"),
        verb(f"loop rebuild --file {LOOP}"),
        verb(f"loop transition --file {LOOP} --to succeeded"),
        verb(
            f"loop init --force --file {LOOP} --task u --objective o --max-attempts 3 "
            "--next-action inspect"
        ),
    ),
    verb(f"loop status --file {LOOP}"),
)

_THREAD = ".task-state/layers/task-state/main"
TASK = System(
    "task",
    frozenset({".task-state"}),
    f"{_THREAD}/journal",
    frozenset(
        {
            f"{_THREAD}/state.json",
            ".task-state/layers/task-state/worker/state.json",
            ".task-state/storage/state.json",
        }
    ),
    {},
    {f"{_THREAD}/state.json": {"checkpoints": [], "files": ["a"], "data": {}}},
    (verb("task init --thread main"),),
    (
        verb("task status --thread main"),
        verb("task store --thread main --depth 0"),
        verb("task artifact a.md --thread main"),
        verb("task set phase 1 --thread main"),
        verb("task spawn worker --thread main"),
        verb("task set result 2 --thread worker"),
        verb("task return worker --thread main"),
        verb("task recall --thread main"),
        verb("task threads"),
        verb("task storage set plan 3 --thread main"),
        verb("task storage get plan --thread main"),
        verb("task complete success --thread main --depth 0"),
    ),
    verb("task status --thread main"),
)

SYSTEMS: Mapping[str, System] = MappingProxyType(
    {system.name: system for system in (AGLOOP, PIPELINE, PLAN, LOOP_SYSTEM, TASK)}
)
