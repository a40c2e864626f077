"""What the tests of the pipeline state system are made of: runs, a clock, and what lies on disk."""

import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec
import orjson

from journal.event import time_to_ms
from projections.pipeline_state.run import Options, PipelineRun

UUID = "0b6cf0f4-3a6e-4c1e-9d57-1f2a3b4c5d6e"
NOON = "2026-03-01T12:00:00.000Z"
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
PHASES = [{"name": "plan", "agent": "planner"}, {"name": "build", "agent": "builder"}]
PROFILE: dict[str, Any] = {
    "scope_root": {"workspace": ".claude"},
    "model_tiers_version": "2026-02-01",
}


class Clock:
    """A clock that stands until it is set forward."""

    def __init__(self) -> None:
        self.ms = time_to_ms(NOON)

    def __call__(self) -> int:
        return self.ms

    def go(self, ms: int) -> None:
        self.ms += ms


class Desk:
    """A workspace with its clock: where runs are begun, opened and looked at."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / ".superpipelines"
        self.clock = Clock()
        self.said: list[str] = []
        self.options = Options(clock=self.clock, on_message=self.said.append, lock_timeout_s=5)

    def begin(self, name: str = "review", **over: Any) -> PipelineRun:
        """Begin a run of `name`, with what is given instead of the usual."""
        given: dict[str, Any] = {
            "pattern": "1",
            "phases": PHASES,
            "tier": "claude",
            "profile": PROFILE,
            "root": str(self.root),
            "plugin_version": "2.1.0",
            "options": self.options,
        }
        return PipelineRun.init(name, **given | over)

    def open(self, run: str | Path) -> PipelineRun:
        """Open a run that is there."""
        return PipelineRun.open(str(run), root=str(self.root), options=self.options)

    def write(self, state: Any, *, run: str = UUID, name: str = "review", age_ms: int = 0) -> Path:
        """Write a state file as another tool does; its mtime is `age_ms` before now."""
        file = self.root / "temp" / name / run / "pipeline-state.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(state if isinstance(state, bytes) else orjson.dumps(state))
        then_ns = (self.clock.ms - age_ms) * 1_000_000
        os.utime(file, ns=(then_ns, then_ns))
        return file

    def bytes(self) -> dict[str, str]:
        """Every path here with the hash of its bytes, and how a folder is told from a file.

        The witness is left out: it says who opened a journal, and is no part of what is kept.
        """
        return {
            str(path.relative_to(self.folder)): (
                hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
            )
            for path in sorted(self.folder.rglob("*"))
            if path.name != "witness.json"
        }


def edit(file: Path, **changes: Any) -> None:
    """Change members of a state file as somebody else would, by hand; `None` removes nothing."""
    state = orjson.loads(file.read_bytes())
    file.write_bytes(orjson.dumps(state | changes))


def foreign_state(**over: Any) -> dict[str, Any]:
    """A state as another tool of the present version writes it: two phases, the first done."""
    state: dict[str, Any] = {
        "pipeline_id": "7d1c0b3e-54c2-4b7a-8f39-0a1b2c3d4e5f",
        "pipeline_name": "review",
        "plugin_version": "2.0.3",
        "scope_root_dir": ".superpipelines",
        "run_id": UUID,
        "started_at": "2026-03-01T11:30:00+00:00",
        "pattern": "2b",
        "status": "running",
        "current_phase": 1,
        "phases": [
            {
                "index": 0,
                "name": "plan",
                "status": "done",
                "agent": "planner",
                "outputs": ["plan.md"],
                "error": None,
            },
            {
                "index": 1,
                "name": "build",
                "status": "running",
                "agent": "builder",
                "outputs": ["half.txt"],
                "error": None,
            },
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
            "model_tiers_version_at_run": "2026-02-01",
        },
    }
    return state | over


def types(run: PipelineRun) -> list[str]:
    """The types of a run's events, the engine's first one left out."""
    return [event.type for event in run.engine.events(after=1)]


def plain(value: msgspec.Struct) -> Any:
    """A struct as the JSON value it stands for."""
    return msgspec.to_builtins(value)
