"""Strict equality, depth and copy of JSON values."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections import patch

SCALARS: list[Any] = [None, False, True, 0, 1, -1, 2**64 - 1, -(2**63), 0.0, -0.0, 1.0, "", "1"]
JSON = st.recursive(
    st.sampled_from(SCALARS) | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(["", "a", "/", "~", "é"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def nested(levels: int) -> Any:
    value: Any = []
    for level in range(levels - 1):
        value = [value] if level % 2 else {"a": value}
    return value


def spelled(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True)


@pytest.mark.parametrize("first", range(len(SCALARS)))
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"k": [v]}])
def test_each_scalar_equals_itself_and_no_other_scalar(first: int, wrap: Any) -> None:
    for second, other in enumerate(SCALARS):
        assert patch.equal(wrap(SCALARS[first]), wrap(other)) is (first == second)


@settings(max_examples=60)
@given(JSON, JSON)
def test_equality_is_that_of_the_sorted_json_text(a: Any, b: Any) -> None:
    assert patch.equal(a, b) is (spelled(a) == spelled(b))
    assert patch.equal(a, json.loads(json.dumps(a)))


def test_order_of_members_is_no_difference_but_order_of_items_is() -> None:
    assert patch.equal([{"a": 1, "b": {"c": 2, "d": 3}}], [{"b": {"d": 3, "c": 2}, "a": 1}])
    assert not patch.equal([1, 2], [2, 1])


@pytest.mark.parametrize(
    ("a", "b"),
    [([float("nan")], [None]), ([(1, 2)], [[1, 2]]), ([{"a": 1}], [{"a": 1, "b": 1}]), ([], {})],
)
def test_what_json_text_would_confuse_is_not_equal(a: Any, b: Any) -> None:
    assert not patch.equal(a, b)


@pytest.mark.parametrize("odd", [2**64, -(2**63) - 1, "\ud800"])
def test_values_without_json_text_are_compared_all_the_same(odd: Any) -> None:
    assert patch.equal([{"a": odd, "b": 1}], [{"b": 1, "a": odd}])
    assert not patch.equal([odd, 1], [odd, True])
    assert not patch.equal([odd, {"a": 1}], [odd, {"b": 1}])
    assert not patch.equal([odd, [1]], [odd, [1, 1]])


def test_equality_holds_near_the_end_of_the_stack_and_beyond_the_depth_of_c() -> None:
    a, b = nested(5000), nested(5000)
    assert patch.equal(a, b)

    def down(frames: int) -> bool:
        return down(frames - 1) if frames else patch.equal(nested(200), nested(200))

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        assert down(120)
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize(
    ("value", "levels"),
    [(1, 0), ("[[", 0), ([], 1), ({}, 1), ([1, [2, {"a": []}], []], 4), (nested(5000), 5000)],
)
def test_depth_counts_levels_of_containers(value: Any, levels: int) -> None:
    assert patch.depth(value) == levels


@settings(max_examples=50)
@given(JSON)
def test_copy_is_equal_and_shares_no_container(value: Any) -> None:
    def containers(node: Any) -> set[int]:
        if not isinstance(node, (dict, list)):
            return set()
        children: Any = node.values() if isinstance(node, dict) else node
        return {id(node)}.union(*(containers(child) for child in children))

    twin = patch.copy(value)
    assert patch.equal(twin, value)
    assert not containers(twin) & containers(value)


def test_copy_of_shared_parts_makes_a_tree() -> None:
    part: list[Any] = []
    twin = patch.copy([part, part, {"a": part}])
    twin[0].append(1)
    assert twin == [[1], [], {"a": []}]
    assert part == []
