"""What the tests of the checkpointed loop are made of: a desk with a clock, and checkpoints."""

import hashlib
from pathlib import Path
from typing import Any

import orjson

import journal
from journal.event import Event, time_to_ms
from projections.checkpointed_loop.loop import CheckpointedLoop

NOON = "2026-03-01T12:00:00.000Z"
ROADS: dict[str, list[tuple[str, ...]]] = {
    "planned": [],
    "running": [("running",)],
    "verifying": [("running",), ("verifying",)],
    "succeeded": [("running",), ("verifying",), ("pass",), ("succeeded",)],
    "failed": [("running",), ("failed", "no way")],
    "blocked": [("running",), ("verifying",), ("blocked", "no owner")],
}


class Desk:
    """A folder with a checkpoint `task.json` in it, and a clock that goes on by a second a verb."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "task.json"
        self.private = folder / "task.journal"
        self.ms = time_to_ms(NOON)
        self.step_ms = 1000
        self.said: list[str] = []
        self.loop = CheckpointedLoop(self.file, clock=self._clock, on_message=self.said.append)

    def _clock(self) -> int:
        return self.ms

    def begin(self, **over: Any) -> Any:
        """Begin the checkpoint, with what is given instead of the usual."""
        usual: dict[str, Any] = {
            "task": "migration",
            "objective": "Move the users",
            "max_attempts": 3,
            "next_action": "Inspect the fixture",
        }
        return self.loop.init(**usual | over)

    def go(self, *steps: tuple[str, ...]) -> Any:
        """Take steps: a state with a reason, if it needs one, or `pass` and `miss` for evidence."""
        found: Any = None
        for step, *rest in steps:
            self.ms += self.step_ms
            if step in ("pass", "miss"):
                found = self.loop.evidence("npm test", {"pass": "passed", "miss": "failed"}[step])
            else:
                found = self.loop.transition(step, reason=rest[0] if rest else None)
        return found

    def stand_at(self, state: str) -> Any:
        """Begin the checkpoint and bring it to a state."""
        found = self.begin()
        return self.go(*ROADS[state]) or found

    def read(self) -> Any:
        """What the file holds."""
        return orjson.loads(self.file.read_bytes())

    def write(self, state: Any) -> None:
        """Write the file as another tool does."""
        self.file.write_bytes(state if isinstance(state, bytes) else orjson.dumps(state))

    def events(self) -> list[Event]:
        """The events of the journal, the engine's first one left out."""
        with journal.open(self.private, read_only=True) as engine:
            return list(engine.events(after=1))

    def types(self) -> list[str]:
        """The types of those events."""
        return [event.type for event in self.events()]

    def bytes(self) -> dict[str, str]:
        """Every path here with its mode and the hash of its bytes; the witness is left out."""
        return {
            str(path.relative_to(self.folder)): (
                f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
                if path.is_file()
                else "folder"
            )
            for path in sorted(self.folder.rglob("*"))
            if path.name != "witness.json"
        }


def foreign(**over: Any) -> dict[str, Any]:
    """A checkpoint as the tool before us wrote it: verifying, in its second attempt."""
    state: dict[str, Any] = {
        "schemaVersion": 1,
        "taskId": "migration",
        "objective": "Move the users",
        "state": "verifying",
        "attempts": 2,
        "maxAttempts": 3,
        "nextAction": "Run the focused test",
        "createdAt": "2026-02-28T09:00:00.000Z",
        "updatedAt": "2026-02-28T09:40:00.000Z",
        "history": [
            {"from": "planned", "to": "running", "at": "2026-02-28T09:10:00.000Z"},
            {"from": "running", "to": "verifying", "at": "2026-02-28T09:20:00.000Z"},
            {
                "from": "verifying",
                "to": "running",
                "at": "2026-02-28T09:30:00.000Z",
                "reason": "a null row",
            },
            {"from": "running", "to": "verifying", "at": "2026-02-28T09:40:00.000Z"},
        ],
        "evidence": [
            {"check": "npm test", "outcome": "passed", "at": "2026-02-28T09:25:00.000Z"},
        ],
    }
    return state | over
