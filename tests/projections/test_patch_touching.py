"""Where a change can change a value: whatever changed lies above, at or below what was told."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from journal.errors import UsageError
from projections import patch
from projections.patch import touching

NAMES = st.sampled_from(["a", "b", "0", "1", "-", "", "a/b", "~"])
SCALARS = st.sampled_from([None, True, 0, 0.0, 1, "x", ""])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
ROOTS = st.lists(VALUES, max_size=4) | st.dictionaries(NAMES, VALUES, max_size=4) | SCALARS
POINTERS = st.lists(NAMES | st.sampled_from(["2", "3"]), max_size=3).map(patch.format)
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "replace"]), "path": POINTERS, "value": VALUES}
    )
    | st.fixed_dictionaries({"op": st.just("remove"), "path": POINTERS})
    | st.fixed_dictionaries(
        {"op": st.sampled_from(["move", "copy"]), "from": POINTERS, "path": POINTERS}
    ),
    max_size=4,
)


def places(value: Any, pointer: str = "") -> dict[str, Any]:
    """Every place in a value, with what is there."""
    found = {pointer: value}
    if isinstance(value, dict):
        for name, child in value.items():
            found |= places(child, pointer + patch.format([name]))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            found |= places(child, f"{pointer}/{index}")
    return found


def check(before: Any, after: Any, told: list[str]) -> None:
    """Assert that each place that is another one is related to one that was told."""
    old, new = places(before), places(after)
    for pointer in old.keys() | new.keys():
        same = pointer in old and pointer in new and patch.equal(old[pointer], new[pointer])
        assert same or any(touching.relate(place, pointer) for place in told), pointer


@given(ROOTS, POINTERS, VALUES)
def test_a_set_changes_nothing_elsewhere(value: Any, pointer: str, new: Any) -> None:
    before = patch.copy(value)
    try:
        after = patch.set_value(value, pointer, new)
    except UsageError:
        return
    # `-` appends, to an index that the pointer does not say.
    check(before, after, touching.touched_by_set(pointer))


@given(ROOTS, POINTERS)
def test_a_remove_changes_nothing_elsewhere(value: Any, pointer: str) -> None:
    before = patch.copy(value)
    try:
        after = patch.remove_value(value, pointer)
    except UsageError:
        return
    check(before, after, touching.touched_by_remove(pointer))


@given(ROOTS, ROOTS)
@example([1], {"a": 1})
@example({"a": [1]}, {"a": {"b": None}})
def test_a_merge_changes_nothing_elsewhere(value: Any, merged: Any) -> None:
    before = patch.copy(value)
    check(before, patch.merge(value, merged), touching.touched_by_merge(merged))


@given(ROOTS, OPERATIONS)
def test_a_patch_changes_nothing_elsewhere(value: Any, operations: list[dict[str, Any]]) -> None:
    before = patch.copy(value)
    try:
        after = patch.apply_patch(value, operations)
    except UsageError:
        return
    check(before, after, touching.touched_by_patch(operations))


@pytest.mark.slow
@given(ROOTS, ROOTS)
def test_a_difference_says_where_it_is(a: Any, b: Any) -> None:
    check(a, b, touching.touched_by_patch(patch.diff(a, b)))


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        ({"op": "add", "path": "/tasks/3", "value": 1}, ["/tasks/-"]),
        ({"op": "add", "path": "/tasks/-", "value": 1}, ["/tasks/-"]),
        ({"op": "add", "path": "/name", "value": 1}, ["/name"]),
        ({"op": "replace", "path": "/tasks/3", "value": 1}, ["/tasks/3"]),
        ({"op": "remove", "path": "/tasks/3/x"}, ["/tasks/3/x"]),
        ({"op": "move", "from": "/a", "path": "/b/0"}, ["/a", "/b/-"]),
        ({"op": "test", "path": "/a", "value": 1}, []),
    ],
)
def test_what_is_told_is_narrow(operation: dict[str, Any], told: list[str]) -> None:
    assert touching.touched_by_patch([operation]) == told


@pytest.mark.parametrize(
    ("place", "pointer", "related"),
    [
        ("/a", "/a/b", True),
        ("/a/b", "/a", True),
        ("/a", "/ab", False),
        ("", "/a", True),
        ("/t/-", "/t/3/x", True),
        ("/t/-", "/t", True),
        ("/t/-", "/t/x", False),
        ("/t/-/y", "/t/3/x", False),
        ("/t/-", "/t/-", True),
    ],
)
def test_places_relate_to_what_is_above_and_below(place: str, pointer: str, related: bool) -> None:
    assert touching.relate(place, pointer) is related
