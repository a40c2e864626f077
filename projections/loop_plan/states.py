"""What the state of a plan is at its start, where its fields stand, and which lists only grow.

I1  A new state holds every field of the table in the text's order; the deprecated ones, and what
    only a failed inventory brings, are left out.
I2  A field that a state of before lacks is put in at its place of the order; all others stay where
    they stand, unknown ones too.
"""

from collections.abc import Callable
from typing import Any

from projections.loop_plan.schema import STATE, TEST, VERSION

Json = dict[str, Any]

BASELINE_DATE_FILTER: Json = {
    "cutoff": "2025-10-01",
    "current_year_tag": "2026",
    "allowed_domains_default": [
        "arxiv.org",
        "github.com",
        "code.claude.com",
        "claude.com",
        "anthropic.com",
        "platform.claude.com",
        "docs.claude.com",
    ],
}
"""The baseline of the text; a plan whose subject needs older sources sets its own."""

GROWING = (
    "exploration_history",
    "clarifications",
    "research_history",
    "loop_gate_history",
    "gap_acknowledged",
)
"""Append-only and never rewritten, as the text says; `tests_state` has a rule of its own."""

TEST_TIMES = ("red_confirmed_at", "snapshot_at", "green_confirmed_at")
"""Of an entry of `tests_state`: each is set once."""

DEFAULTS: dict[str, Callable[[], Any]] = {
    "exploration_history": list,
    "clarifications": list,
    "research_history": list,
    "loop_gate_history": list,
    "drift_check": lambda: None,
    "drift_check_overrides": list,
    "exit_signal": lambda: None,
    "exit_signal_source": lambda: None,
    "execution": lambda: {
        "started_at": None,
        "completed_at": None,
        "tasks_completed": [],
        "blockers": [],
        "agents_dispatched": [],
        "execution_log_path": None,
    },
    "constitution_consulted": lambda: False,
    "constitution_path": lambda: None,
    "project_decisions": list,
    "adrs_created": list,
    "pattern_candidates": list,
    "rigor": lambda: None,
    "goal": lambda: None,
    "success_criteria": list,
    "must_haves": lambda: {"truths": [], "artifacts": [], "key_links": []},
    "verification": lambda: {"status": None, "score": None, "gaps": []},
    "stages": list,
    "tests_state": list,
    "date_filter": lambda: {
        **BASELINE_DATE_FILTER,
        "allowed_domains_default": list(BASELINE_DATE_FILTER["allowed_domains_default"]),
    },
    "completion_state": lambda: "active",
    "gap_acknowledged": list,
}
"""Field -> what it is where nothing was said yet; a missing field of a state of before reads so."""

_ORDER = {name: place for place, name in enumerate(STATE.members)}


def new_state(slug: str, statement: str, plan_path: str, time: str) -> Json:
    """Return the state of a plan that begins at `time` (I1)."""
    known: Json = {
        "slug": slug,
        "version": VERSION,
        "created_at": time,
        "last_update_at": time,
        "task_statement": statement,
        "iteration": 1,
        "current_phase": "0",
        "plan_path": plan_path,
        "last_active_at": time,
    }
    known |= {name: make() for name, make in DEFAULTS.items()}
    return {name: known[name] for name in _ORDER if name in known}


def new_test(task_id: str) -> Json:
    """Return an entry of `tests_state` of which nothing is known yet."""
    entry: Json = dict.fromkeys(TEST.members)
    return {**entry, "task_id": task_id, "test_files": []}


def put(state: Json, name: str, value: Any) -> None:
    """Set a field of the state in place (I2)."""
    if name in state or name not in _ORDER:
        state[name] = value
        return
    later = [key for key in state if _ORDER.get(key, -1) > _ORDER[name]]
    before = list(state) if not later else list(state)[: list(state).index(later[0])]
    rest = {key: state.pop(key) for key in list(state) if key not in before}
    state[name] = value
    state.update(rest)


def grow(state: Json, name: str, item: Any) -> None:
    """Append an item to a list of the state, which is made where a state of before lacks it."""
    if name not in state:
        put(state, name, [])
    state[name].append(item)


def part(state: Json, name: str) -> Json:
    """Return an object of the state, made as it is by default where a state of before lacks it."""
    if name not in state:
        put(state, name, DEFAULTS[name]())
    found: Json = state[name]
    return found


def touch(state: Json, time: str) -> None:
    """Let both times of the last write move: every event of a plan is one."""
    put(state, "last_update_at", time)
    put(state, "last_active_at", time)


def move(state: Json, phase: str) -> None:
    """Let the plan stand in `phase`, and forget what held only for the one before."""
    before = state.get("current_phase")
    put(state, "current_phase", phase)
    for name in ("3b_status", "3b_error"):
        state.pop(name, None)
    if phase == "6":
        # Null until phase 6 has run: a report of an earlier round says nothing about this one.
        put(state, "drift_check", None)
    if before in ("6", "7a", "7b") and phase in ("1", "5"):
        # Back in the loop: it was not left after all.
        put(state, "exit_signal", None)
        put(state, "exit_signal_source", None)
