"""What becomes of a state file that something else than us wrote: the row of the table."""

import os
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

import journal
from journal.errors import Drift
from projections.loop_plan.plan import LoopPlan
from projections.loop_plan.projection import PROJECTION
from projections.loop_plan.states import Json
from tests.loop_plan.life import GOAL, SLUG, TIME, Clock, begin, read_state
from tests.loop_plan.test_history import EXPLORATION, GAP, RESEARCH

ENTRIES = (("exploration", EXPLORATION), ("research", RESEARCH), ("gap", GAP))


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A plan in phase 3 with an entry in its lists, a rigor and a goal; its state file."""
    with begin(tmp_path, "2") as made:
        made.set_rigor("full")
        made.set_goal(GOAL)
        made.add("clarification", {"questions": [{"question": "Why?"}]})
        made.enter_phase("3")
        for kind, value in ENTRIES:
            made.add(kind, value)
        made.add("test", {"task_id": "T1", "red_confirmed_at": TIME})
        assert made.engine is not None
        made.engine.append("task_completed", {"task_id": "T1"})
        made.engine.append("gate_chosen", {"iteration": 1, "choice": "More research"})
    return tmp_path / f"{SLUG}.state.json"


def opened(path: Path, said: list[str] | None = None) -> LoopPlan:
    words: list[str] = [] if said is None else said
    return LoopPlan.look(SLUG, path.parent, clock=Clock(), on_message=words.append)


def quarantine(path: Path) -> list[bytes]:
    folder = path.parent / f"{SLUG}.journal" / "quarantine"
    return [kept.read_bytes() for kept in sorted(folder.glob("*"))]


POWER_CUT: dict[str, Callable[[bytes], bytes | None]] = {
    "deleted": lambda data: None,
    "emptied": lambda data: b"",
    "cut short": lambda data: data[: len(data) // 2],
    "NUL bytes": lambda data: b"\0" * len(data),
    "NUL bytes at the end": lambda data: data[:100] + b"\0" * (len(data) - 100),
}


@pytest.mark.parametrize("name", POWER_CUT)
def test_what_a_power_cut_may_leave_is_rebuilt_at_once_and_said(plan: Path, name: str) -> None:
    data = plan.read_bytes()
    damaged = POWER_CUT[name](data)
    if damaged is None:
        plan.unlink()
    else:
        plan.write_bytes(damaged)
    said: list[str] = []
    with opened(plan, said) as found:
        assert found.state["current_phase"] == "3"
    assert plan.read_bytes() == data
    assert any("written again" in words for words in said)
    if damaged is not None:
        assert quarantine(plan) == [damaged]


def edit(path: Path, change: Callable[[Json], None]) -> Json:
    """Change the file as a user with jq would: a whole new file renamed over it."""
    state: Json = orjson.loads(path.read_bytes())
    change(state)
    new = path.with_suffix(".tmp")
    new.write_bytes(orjson.dumps(state, option=orjson.OPT_INDENT_2))
    os.replace(new, path)
    return state


VALID: dict[str, Callable[[Json], None]] = {
    "a phase, gates or not": lambda s: s.update(current_phase="7b", iteration=4),
    "a new entry": lambda s: s["loop_gate_history"].append(
        {"iteration": 2, "choice": "Ship it", "timestamp": TIME}
    ),
    "a goal": lambda s: s.update(goal="Another goal"),
    "a statement": lambda s: s.update(task_statement="Add offline caching, too"),
    "an unknown field": lambda s: s.update(note={"by": "ann"}),
    "a field taken out": lambda s: s.pop("pattern_candidates"),
    "a task undone": lambda s: s["execution"].update(tasks_completed=[]),
    "a time of a task": lambda s: s["tests_state"][0].update(green_confirmed_at=TIME),
    "a shipped plan": lambda s: s.update(completion_state="shipped", current_phase="done"),
}


@pytest.mark.parametrize("name", VALID)
def test_valid_edit_is_adopted_and_is_no_work_on_the_plan(plan: Path, name: str) -> None:
    before = read_state(plan.parent)["last_active_at"]
    wanted = edit(plan, VALID[name])
    said: list[str] = []
    with opened(plan, said) as found:
        assert found.state == wanted
        assert found.state["last_active_at"] == before
        assert found.engine is not None
        assert list(found.engine.events())[-1].type == "journal.adopted"
    assert any("adopted" in words for words in said)


def test_text_for_jq_keeps_the_next_command_working(plan: Path) -> None:
    edit(plan, lambda s: s.update(current_phase="5"))
    with LoopPlan.open(SLUG, plan.parent) as found:
        found.choose_gate("Ship it")
    assert read_state(plan.parent)["current_phase"] == "6"


INVALID: dict[str, tuple[Callable[[Json], None], str]] = {
    "no such phase": (lambda s: s.update(current_phase="8"), "current_phase"),
    "another name": (lambda s: s.update(slug="another"), "slug"),
    "another start": (lambda s: s.update(created_at=TIME.replace("2026", "2025")), "created_at"),
    "no start": (lambda s: s.pop("created_at"), "created_at"),
    "another version": (lambda s: s.update(version=2), "version"),
    "another rigor": (lambda s: s.update(rigor="minimal"), "rigor"),
    "no rigor": (lambda s: s.update(rigor=None), "rigor"),
    "shorter exploration": (lambda s: s.update(exploration_history=[]), "exploration_history"),
    "no clarifications": (lambda s: s.pop("clarifications"), "clarifications"),
    "shorter research": (lambda s: s["research_history"].pop(), "research_history"),
    "rewritten gate": (
        lambda s: s["loop_gate_history"][0].update(choice="Ship it"),
        "loop_gate_history",
    ),
    "shorter gaps": (lambda s: s["gap_acknowledged"].clear(), "gap_acknowledged"),
    "no tests": (lambda s: s["tests_state"].clear(), "tests_state"),
    "time set twice": (
        lambda s: s["tests_state"][0].update(red_confirmed_at="2026-03-02"),
        "red_confirmed_at",
    ),
    "a wrong kind": (lambda s: s.update(iteration="3"), "iteration"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_edit_is_drift_with_its_field_and_left_as_it_is(plan: Path, name: str) -> None:
    change, field = INVALID[name]
    edit(plan, change)
    data = plan.read_bytes()
    with pytest.raises(Drift) as caught:
        opened(plan)
    assert field in str(caught.value)
    assert "adopt" in str(caught.value)
    assert "rebuild" in str(caught.value)
    assert plan.read_bytes() == data


def test_conflict_markers_are_drift_with_their_lines(plan: Path) -> None:
    data = plan.read_bytes()
    marked = data.replace(
        b'  "iteration": 1,\n',
        b'<<<<<<< ours\n  "iteration": 1,\n=======\n  "iteration": 2,\n>>>>>>> theirs\n',
        1,
    )
    assert marked != data
    plan.write_bytes(marked)
    with pytest.raises(Drift, match="conflict markers"):
        opened(plan)
    assert plan.read_bytes() == marked


def test_rebuild_puts_the_file_back_and_keeps_the_bytes(plan: Path) -> None:
    data = plan.read_bytes()
    edit(plan, lambda s: s.update(slug="another"))
    foreign = plan.read_bytes()
    folder = plan.parent / f"{SLUG}.journal"
    with journal.open(folder, projection=PROJECTION, on_drift="replace") as engine:
        engine.rebuild()
    assert plan.read_bytes() == data
    assert foreign in quarantine(plan)


def test_rewriting_the_same_value_is_no_drift(plan: Path) -> None:
    plan.write_bytes(orjson.dumps(orjson.loads(plan.read_bytes())))
    with opened(plan) as found:
        assert found.engine is not None
        assert "journal.adopted" not in [event.type for event in found.engine.events()]


def test_edit_during_a_run_is_adopted_before_the_next_command_decides(plan: Path) -> None:
    with LoopPlan.open(SLUG, plan.parent) as found:
        edit(plan, lambda s: s.update(current_phase="5"))
        found.choose_gate("More research")
        assert found.state["current_phase"] == "3"
