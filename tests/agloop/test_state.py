"""state.json: every field of the text's table from the start, judged by its place, value, rule."""

import json
from pathlib import Path
from typing import Any

import pytest

from journal.errors import UsageError
from projections.agloop.agloop import AgLoop
from projections.agloop.projection import PROJECTION, render
from projections.agloop.schema import MEMBERS, check, check_adoption, complete, initial
from projections.agloop.utf16 import cut, units
from tests.agloop.life import (
    FEATURE,
    OBJECTION,
    Clock,
    begin,
    files,
    folder_of,
    foreign_state,
    full_state,
    read_log,
    read_state,
    state_task,
    types,
)

ORDER = [
    "$schema",
    "feature_name",
    "feature_description",
    "complexity_level",
    "current_phase",
    "iteration",
    "current_task_id",
    "tasks",
    "stop_hook_active",
    "last_action",
    "phase_history",
    "retry_count",
    "previous_objections",
    "compaction_context",
]


def test_a_new_loop_has_every_field_of_the_table_in_its_order_and_passes_its_rules(
    tmp_path: Path,
) -> None:
    with begin(tmp_path, feature=""):
        pass
    raw = (folder_of(tmp_path) / "state.json").read_bytes()
    state = json.loads(raw)
    assert list(state) == ORDER == list(MEMBERS)
    assert state["compaction_context"] == {
        "last_delegation": None,
        "last_result_summary": None,
        "research_digest": None,
        "plan_digest": None,
        "critique_digest": None,
        "pending_decision": None,
        "compaction_count": 0,
    }
    assert state["complexity_level"] == "medium"
    assert state["last_action"] == {
        "agent": "agloop",
        "action": "initialized",
        "timestamp": read_log(tmp_path)[0]["timestamp"],
        "task_id": None,
    }
    check(state)
    assert raw == json.dumps(state, indent=2, ensure_ascii=False).encode()  # no LF at the end


def test_init_takes_feature_description_and_complexity(tmp_path: Path) -> None:
    with AgLoop.init(
        folder_of(tmp_path),
        feature_name=FEATURE,
        feature_description="over titles",
        complexity_level="complex",
        agent="coordinator",
        clock=Clock(),
    ) as loop:
        state = loop.state
    assert (state["feature_name"], state["feature_description"]) == (FEATURE, "over titles")
    assert state["complexity_level"] == "complex"
    assert state["last_action"]["agent"] == "coordinator"


def test_init_where_a_loop_is_already_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    begin(tmp_path).close()
    before = files(tmp_path)
    with pytest.raises(UsageError, match="a loop here already"):
        AgLoop.init(folder_of(tmp_path), feature_name="Other")
    assert files(tmp_path) == before


WRONG: list[tuple[str, Any]] = [
    ("$schema", "agloop-state-v2"),
    ("$schema", None),
    ("feature_name", 7),
    ("feature_name", "x" * 501),
    ("feature_name", "😀" * 251),
    ("feature_description", None),
    ("complexity_level", "huge"),
    ("current_phase", "done"),
    ("iteration", 4),
    ("iteration", -1),
    ("iteration", 1.0),
    ("iteration", True),
    ("current_task_id", 1),
    ("current_task_id", "task-009"),
    ("tasks", {}),
    ("tasks[0].id", "task-1"),
    ("tasks[0].id", "TASK-001"),
    ("tasks[0].title", None),
    ("tasks[0].description", 1),
    ("tasks[0].status", "blocked"),
    ("tasks[0].depends_on", "task-002"),
    ("tasks[0].depends_on", ["task-007"]),
    ("tasks[0].acceptance_criteria", []),
    ("tasks[0].acceptance_criteria", [1]),
    ("tasks[0].failure_modes", [{"mode": "x"}]),
    ("tasks[0].result", "done"),
    ("tasks[0].verification", []),
    ("stop_hook_active", "no"),
    ("last_action", None),
    ("last_action.agent", None),
    ("last_action.action", 1),
    ("last_action.timestamp", "yesterday"),
    ("last_action.task_id", 1),
    ("phase_history", {}),
    ("phase_history[0].phase", "rest"),
    ("phase_history[0].entered_at", 1),
    ("phase_history[0].exited_at", 1),
    ("retry_count", []),
    ("retry_count.task-001", -1),
    ("retry_count.task-001", 1.5),
    ("previous_objections", {}),
    ("previous_objections[0].resolved", "yes"),
    ("previous_objections[0].iteration", -1),
    ("compaction_context", None),
    ("compaction_context.compaction_count", "0"),
]


def whole() -> Any:
    return full_state(
        current_phase="execute",
        tasks=[state_task(1), state_task(2, "done", 1)],
        phase_history=[{"phase": "execute", "entered_at": "t", "exited_at": None}],
        retry_count={"task-001": 1},
        previous_objections=[{**OBJECTION, "iteration": 1, "response": None, "resolved": False}],
    )


def put(value: Any, key: str, new: Any, *, remove: bool = False) -> None:
    *way, last = key.replace("[", ".[").split(".")
    for step in way:
        value = value[int(step[1:-1])] if step.startswith("[") else value[step]
    if remove:
        del value[last]
    else:
        value[last] = new


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_field_that_breaks_its_rule_is_named_with_its_value_and_what_is_allowed(
    key: str, value: Any
) -> None:
    state = whole()
    check(state)
    put(state, key, value)
    with pytest.raises(UsageError) as raised:
        check(state)
    named = raised.value.key
    assert named == key or named.startswith(f"{key}["), named
    assert "allowed: " in raised.value.message


@pytest.mark.parametrize(
    "key",
    [*ORDER]
    + [f"tasks[0].{name}" for name in state_task(1)]
    + [f"last_action.{name}" for name in foreign_state()["last_action"]]
    + [f"compaction_context.{name}" for name in full_state()["compaction_context"]]
    + [f"previous_objections[0].{name}" for name in ("iteration", "objection", "severity")],
)
def test_a_field_that_is_missing_is_named(key: str) -> None:
    state = whole()
    put(state, key, None, remove=True)
    with pytest.raises(UsageError, match="is missing; allowed: ") as raised:
        check(state)
    assert raised.value.key == key


def test_ids_are_unique_and_a_name_is_needed_after_init() -> None:
    state = whole()
    state["tasks"][1]["id"] = "task-001"
    with pytest.raises(UsageError, match=r"tasks\[1\].id is 'task-001', as of another"):
        check(state)
    with pytest.raises(UsageError, match=r"feature_name is .* in phase execute"):
        check(full_state(current_phase="execute", feature_name=" "))
    check(full_state(feature_name=""))


def test_what_is_no_state_at_all_is_refused() -> None:
    value: Any
    for value in (None, [], 42, "x", {}):
        with pytest.raises(UsageError):
            check(value)


def test_missing_later_fields_read_as_their_defaults_and_nothing_else_changes() -> None:
    old = foreign_state(tasks=[{k: v for k, v in state_task(1).items() if k != "failure_modes"}])
    found = complete(old)
    check(found)
    assert found["complexity_level"] == "medium"
    assert found["tasks"][0]["failure_modes"] == []
    assert {name: found[name] for name in old if name != "tasks"} == {
        name: value for name, value in old.items() if name != "tasks"
    }
    assert "complexity_level" not in old
    partial = complete(foreign_state(compaction_context={"compaction_count": 4}))
    assert partial["compaction_context"]["compaction_count"] == 4
    check(partial)


def test_unknown_fields_survive_behind_the_known_ones(tmp_path: Path) -> None:
    state = {"mine": 1, **full_state(), "also": [2]}
    shown = json.loads(render(state))
    assert list(shown) == [*ORDER, "mine", "also"]


def test_the_name_is_counted_in_utf16_units(tmp_path: Path) -> None:
    with begin(tmp_path, feature="") as loop:
        loop.set_feature("😀" * 250)
        with pytest.raises(UsageError, match=r"has 502 characters .*at most 500"):
            loop.set_feature("😀" * 251)
        assert units(loop.state["feature_name"]) == 500


@pytest.mark.parametrize("arguments", [("",), (None, None, "vast"), (None, None, None)])
def test_a_feature_that_breaks_a_rule_changes_nothing(tmp_path: Path, arguments: Any) -> None:
    with begin(tmp_path) as loop:
        before = files(tmp_path)
        with pytest.raises(UsageError, match="allowed"):
            loop.set_feature(*arguments)
        assert files(tmp_path) == before


def test_setting_what_is_so_already_makes_no_event(tmp_path: Path) -> None:
    with begin(tmp_path) as loop:
        assert loop.set_feature(FEATURE) == []
        assert types(loop.set_feature(FEATURE, "more")) == ["feature_set"]
        assert types(loop.set_context("plan_digest", "short")) == ["context_set"]
        assert loop.set_context("plan_digest", "short") == []
        assert types(loop.set_context("plan_digest", 1)) == ["context_set"]
        assert types(loop.set_context("plan_digest", True)) == ["context_set"]


def test_the_compaction_count_is_not_set_by_hand(tmp_path: Path) -> None:
    with begin(tmp_path) as loop:
        for field in ("compaction_count", "other"):
            with pytest.raises(UsageError, match=r"no field .*allowed: last_delegation"):
                loop.set_context(field, 3)
        loop.set_context("last_delegation", {"agent": "executor"})
        assert loop.state["compaction_context"]["last_delegation"] == {"agent": "executor"}


def test_each_event_with_a_line_is_the_last_action_but_those_of_hooks_and_of_the_log(
    tmp_path: Path,
) -> None:
    with begin(tmp_path) as loop:
        loop.enter_phase("research", agent="coordinator")
        assert loop.state["last_action"]["action"] == "phase_entered"
        assert loop.state["last_action"]["agent"] == "coordinator"
        loop.note("searched", agent="researcher")
        loop.compact()
        assert loop.state["last_action"]["action"] == "phase_entered"
        last = loop.state["last_action"]
    entry = next(e for e in read_log(tmp_path) if e["action"] == "phase_entered")
    assert (entry["timestamp"], entry["agent"]) == (last["timestamp"], last["agent"])
    assert read_state(tmp_path)["last_action"] == last


def test_retries_are_not_forgotten_and_the_history_only_grows_by_adoption() -> None:
    old = whole()
    closed = whole()
    closed["phase_history"][0]["exited_at"] = "later"
    closed["phase_history"].append({"phase": "verify", "entered_at": "later", "exited_at": None})
    check_adoption(old, closed)
    for key, value in (
        ("phase_history", []),
        ("phase_history[0].phase", "plan"),
        ("phase_history[0].entered_at", "other"),
        ("retry_count.task-001", 0),
        ("retry_count", {}),
    ):
        new = whole()
        put(new, key, value)
        with pytest.raises(UsageError, match="allowed: "):
            check_adoption(old, new)


def test_raw_events_that_do_not_fit_are_refused_before_they_are_written(tmp_path: Path) -> None:
    with begin(tmp_path) as loop:
        before = files(tmp_path)
        for event, data in (
            ("task_started", {"task_id": "task-404"}),
            ("phase_entered", {"phase": "rest", "from_phase": "init"}),
            ("phase_entered", {"phase": "plan", "from_phase": "init", "task_id": "task-1"}),
            ("objection_answered", {"number": 1, "response": "x"}),
            ("context_set", {"field": "compaction_count", "value": "many"}),
            ("feature_set", {"feature_name": "x" * 501}),
            ("feature_set", {"title": "x"}),
        ):
            with pytest.raises(UsageError):
                loop.engine.append(event, data)
        assert files(tmp_path) == before


def test_initial_is_a_new_value_each_time() -> None:
    first = initial()
    first["compaction_context"]["compaction_count"] = 9
    first["tasks"].append(1)
    assert initial() == PROJECTION.initial()
    assert initial()["tasks"] == []


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("😀😀😀", 6, "😀😀😀"),
        ("😀😀😀", 5, "😀😀…"),
        ("😀😀😀", 4, "😀…"),
        ("a😀", 2, "a…"),
        ("", 5, ""),
    ],
)
def test_text_is_cut_in_units_and_no_pair_is_split(text: str, limit: int, expected: str) -> None:
    assert cut(text, limit) == expected
    assert units(cut(text, limit)) <= limit
