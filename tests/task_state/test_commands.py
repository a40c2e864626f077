"""What each command does to a state, what it refuses; every field of the schema."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journal.errors import UsageError
from projections.patch import copy
from projections.task_state import commands as cm
from projections.task_state import states
from projections.task_state.states import Json, check, new_state
from tests.task_state.tasks import START_MS, after

BAD: list[tuple[Any, str]] = [
    (None, "the state"),
    ([], "the state"),
    ({"files": [], "data": {}}, "checkpoints: it is missing"),
    ({"checkpoints": [], "data": {}}, "files: it is missing"),
    ({"checkpoints": [], "files": []}, "data: it is missing"),
    ({**new_state(), "checkpoints": {}}, "checkpoints"),
    ({**new_state(), "checkpoints": [1]}, "checkpoints[0]"),
    ({**new_state(), "checkpoints": [{"depth": 0}]}, "checkpoints[0].timestamp"),
    ({**new_state(), "checkpoints": [{"timestamp": 1}]}, "checkpoints[0].depth"),
    ({**new_state(), "checkpoints": [{"timestamp": "1", "depth": 0}]}, "checkpoints[0].timestamp"),
    ({**new_state(), "checkpoints": [{"timestamp": 1, "depth": True}]}, "checkpoints[0].depth"),
    ({**new_state(), "checkpoints": [{"timestamp": 1, "depth": None}]}, "checkpoints[0].depth"),
    ({**new_state(), "files": {}}, "files"),
    ({**new_state(), "files": ["a", 1]}, "files[1]"),
    ({**new_state(), "data": []}, "data"),
    ({**new_state(), "data": None}, "data"),
]


@pytest.mark.parametrize(("state", "key"), BAD)
def test_state_that_is_none_is_refused_by_its_field(state: Any, key: str) -> None:
    with pytest.raises(UsageError) as caught:
        check(state)
    assert key in str(caught.value)
    assert "allowed: " in str(caught.value)


def test_state_with_unknown_fields_passes() -> None:
    check({**new_state(), "note": 1, "checkpoints": [{"timestamp": 1.5, "depth": 2, "x": []}]})


def test_constants_of_the_layer_are_those_of_the_text() -> None:
    assert (states.SLOT, states.SCOPE) == (110, "thread")
    assert (states.BUDGET_MIN_TOKENS, states.BUDGET_MAX_TOKENS) == (100, 800)
    assert (states.STORE_TIMEOUT_S, states.MAX_CHECKPOINTS) == (30.0, 50)


def test_checkpoint_has_the_time_of_its_event_in_milliseconds() -> None:
    state = after(new_state(), cm.store(new_state(), 3), START_MS + 7)
    assert state["checkpoints"] == [{"timestamp": START_MS + 7, "depth": 3}]


def many(count: int) -> Json:
    return {**new_state(), "checkpoints": [{"timestamp": n, "depth": 0} for n in range(count)]}


@pytest.mark.parametrize("count", [49, 50, 80])
def test_newest_50_checkpoints_are_kept_by_store_return_and_complete(count: int) -> None:
    state = many(count)
    child = {**new_state(), "checkpoints": [{"timestamp": 10_000, "depth": 1}]}
    for events in (
        cm.store(state, 1),
        cm.complete(state, "success", 1),
        cm.take_back(state, child, "c", "shallow"),
    ):
        found = after(state, events)["checkpoints"]
        assert len(found) == 50
        assert found[:-1] == state["checkpoints"][-49:]
        assert found[-1]["depth"] == 1
    assert len(after(state, cm.set_data(state, "a", 1))["checkpoints"]) == count


def test_artifact_is_recorded_once_in_first_seen_order() -> None:
    state = new_state()
    for path in ("b", "a", "b", "c", "a"):
        state = after(state, cm.record_artifact(state, path))
    assert state["files"] == ["b", "a", "c"]
    assert cm.record_artifact(state, "a") == []


@pytest.mark.parametrize("value", [None, 0, "", False, [], {}, 1.0, {"a": [1]}])
def test_data_takes_any_value_and_an_equal_one_makes_no_event(value: Any) -> None:
    state = after(new_state(), cm.set_data(new_state(), "key", value))
    assert state["data"] == {"key": value}
    assert cm.set_data(state, "key", value) == []


def test_equality_of_values_is_strict() -> None:
    state = after(new_state(), cm.set_data(new_state(), "key", 1))
    for other in (1.0, True):
        assert cm.set_data(state, "key", other)


@pytest.mark.parametrize("outcome", ["success", "failure", "aborted"])
def test_outcome_is_noted_with_a_last_checkpoint(outcome: str) -> None:
    state = after(many(1), cm.complete(many(1), outcome, 4))
    assert state["data"] == {"__outcome": outcome}
    assert state["checkpoints"][-1] == {"timestamp": START_MS, "depth": 4}


def test_completing_without_a_state_does_nothing() -> None:
    assert cm.complete({}, "success", 0) == []


@pytest.mark.parametrize("outcome", ["", "done", "Success"])
def test_outcome_that_is_none_is_refused(outcome: str) -> None:
    for state in ({}, new_state()):
        with pytest.raises(UsageError, match="success, failure, aborted"):
            cm.complete(state, outcome, 0)


@pytest.mark.parametrize("depth", [-1, 1.0, True, "1", None, 2**53])
def test_depth_that_is_none_is_refused(depth: Any) -> None:
    with pytest.raises(UsageError, match="depth"):
        cm.store(new_state(), depth)
    with pytest.raises(UsageError, match="depth"):
        cm.complete(new_state(), "success", depth)


@pytest.mark.parametrize("path", ["", None, 1])
def test_path_that_is_none_is_refused(path: Any) -> None:
    with pytest.raises(UsageError, match="path"):
        cm.record_artifact(new_state(), path)


def test_what_changes_a_state_is_refused_where_there_is_none() -> None:
    runs: list[Callable[[], object]] = [
        lambda: cm.store({}, 0),
        lambda: cm.record_artifact({}, "a"),
        lambda: cm.set_data({}, "a", 1),
        lambda: cm.spawn({}, "c"),
        lambda: cm.take_back({}, new_state(), "c", "shallow"),
    ]
    for run in runs:
        with pytest.raises(UsageError, match="journal task init"):
            run()


# --- children ------------------------------------------------------------------------------------

CHECKPOINTS = st.lists(
    st.fixed_dictionaries({"timestamp": st.integers(0, 3), "depth": st.integers(0, 1)}),
    max_size=8,
)


def back(parent: Json, child: Json, merge: str = "shallow", child_id: str = "c") -> Json:
    return after(parent, cm.take_back(parent, child, child_id, merge))


@settings(max_examples=40)
@given(CHECKPOINTS, CHECKPOINTS)
def test_inherited_checkpoints_are_not_added_again_with_multiplicity(
    parent: list[Json], own: list[Json]
) -> None:
    def count(checkpoints: list[Json]) -> Counter[tuple[int, int]]:
        return Counter((one["timestamp"], one["depth"]) for one in checkpoints)

    state = {**new_state(), "checkpoints": parent}
    found = back(state, {**new_state(), "checkpoints": own})["checkpoints"]
    assert found[: len(parent)] == parent
    assert count(found) == count(parent) | count(own)


@settings(max_examples=40)
@given(CHECKPOINTS, CHECKPOINTS)
def test_child_that_only_added_gives_exactly_its_own_in_its_order(
    parent: list[Json], own: list[Json]
) -> None:
    state = {**new_state(), "checkpoints": parent}
    found = back(state, {**new_state(), "checkpoints": parent + own})
    assert found["checkpoints"] == parent + own


def test_files_of_a_child_come_behind_the_parents_each_once() -> None:
    parent = {**new_state(), "files": ["b", "a"]}
    child = {**new_state(), "files": ["a", "c", "b", "c", "d"]}
    assert back(parent, child)["files"] == ["b", "a", "c", "d"]


def test_shallow_data_replaces_key_by_key() -> None:
    parent = {**new_state(), "data": {"a": {"x": 1}, "b": 2}}
    child = {**new_state(), "data": {"a": {"y": 1}, "c": None}}
    assert back(parent, child)["data"] == {"a": {"y": 1}, "b": 2, "c": None}


def test_namespaced_data_is_stored_whole_under_the_childs_id() -> None:
    parent = {**new_state(), "data": {"a": 1, "__outcome": "failure"}}
    one = {**new_state(), "data": {"a": 2, "__outcome": "success"}}
    state = back(parent, one, "namespace", "w1")
    state = back(state, {**new_state(), "data": {"a": 3}}, "namespace", "w2")
    assert state["data"] == {
        "a": 1,
        "__outcome": "failure",
        "w1": {"a": 2, "__outcome": "success"},
        "w2": {"a": 3},
    }


@pytest.mark.parametrize("parent", [{}, {"__outcome": "failure"}])
def test_outcome_of_a_child_never_becomes_the_parents(parent: Json) -> None:
    child = {**new_state(), "data": {"__outcome": "success", "a": 1}}
    found = back({**new_state(), "data": parent}, child)
    assert found["data"] == {**parent, "a": 1}


@pytest.mark.parametrize("merge", ["", "deep", "Shallow"])
def test_way_to_merge_that_is_none_is_refused(merge: str) -> None:
    with pytest.raises(UsageError, match="shallow, namespace"):
        cm.take_back(new_state(), new_state(), "c", merge)


@pytest.mark.parametrize(("child", "key"), BAD)
def test_child_that_is_no_state_is_refused(child: Any, key: str) -> None:
    with pytest.raises(UsageError) as caught:
        cm.take_back(new_state(), child, "c", "shallow")
    assert key in str(caught.value)


@pytest.mark.parametrize("child_id", ["", None, 1])
def test_child_without_a_name_is_refused(child_id: Any) -> None:
    with pytest.raises(UsageError, match="child_id"):
        cm.take_back(new_state(), new_state(), child_id, "shallow")


def test_commands_leave_what_they_are_given_alone() -> None:
    state = {**many(3), "files": ["a"], "data": {"a": [1]}}
    child = {**many(4), "files": ["b"], "data": {"b": [1]}}
    kept = copy((state, child)[0]), copy(child)
    back(state, child)
    back(state, child, "namespace")
    cm.store(state, 1)
    cm.set_data(state, "a", 2)
    assert (state, child) == kept
