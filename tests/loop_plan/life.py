"""What the tests of plans stand on: a clock that ticks, states in any phase, files of before."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import orjson

from journal.errors import JournalError
from projections.loop_plan.events import PhaseEntered
from projections.loop_plan.plan import LoopPlan
from projections.loop_plan.rehearsal import rehearse
from projections.loop_plan.states import Json, new_state
from projections.patch import copy

STATEMENT = "Add offline caching"
SLUG = "add-offline-caching"
TIME = "2026-03-01T14:45:00.000Z"
START_MS = 1_772_376_300_000  # 2026-03-01T14:45:00Z
DAY_MS = 86_400_000

GOAL: Json = {
    "goal": "The feed works offline.",
    "success_criteria": ["SC1. The feed shows 20 entries without a network"],
    "must_haves": {
        "truths": ["A cold start without a network shows the feed"],
        "artifacts": [{"path": "feed/cache.kt", "provides": "a cache of the feed"}],
        "key_links": [{"from": "feed", "to": "cache", "via": "import"}],
    },
}


class Clock:
    """A clock that goes on by one second with each look at it."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        self.now_ms += 1000
        return self.now_ms


def state_in(phase: str, **fields: Any) -> Json:
    """A state that stands in a phase; other fields as given."""
    state = new_state(SLUG, STATEMENT, f"~/.claude/plans/{SLUG}.md", TIME)
    return {**state, "current_phase": phase, **fields}


def ready_in(phase: str, **fields: Any) -> Json:
    """A state in a phase, with a rigor and a goal that open the way out of phase 2."""
    return state_in(phase, **{"rigor": "tdd-only", **copy(GOAL), **fields})


def after(state: Json, events: Sequence[msgspec.Struct]) -> Json:
    """The state after events, as the engine would make it."""
    return rehearse(copy(state), events)


def begin(folder: Path, phase: str = "0", **options: Any) -> LoopPlan:
    """A plan on disk that stands in a phase, whatever the gates say."""
    options = {"clock": Clock(), **options}
    plan = LoopPlan.init(STATEMENT, slug=SLUG, plans_dir=folder, **options)
    if phase != "0":
        assert plan.engine is not None
        plan.engine.append(PhaseEntered(phase=phase))
    return plan


def write_old(folder: Path, state: Json, slug: str = SLUG) -> Path:
    """A state file that no journal keeps."""
    path = folder / f"{slug}.state.json"
    path.write_bytes(orjson.dumps(state, option=orjson.OPT_INDENT_2))
    return path


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes, folders with none."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }


def read_state(folder: Path, slug: str = SLUG) -> Json:
    """The state as others read it."""
    found: Json = orjson.loads((folder / f"{slug}.state.json").read_bytes())
    return found


def says(error: JournalError, *parts: str) -> bool:
    """Whether an error names all of these."""
    return all(part in str(error) for part in parts)
