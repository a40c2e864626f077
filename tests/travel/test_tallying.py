"""Counting leaves: what is added, removed and changed between two values."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal.engine.travel.tallying import Tally, count_leaves, tally
from projections import patch

SCALARS = st.sampled_from([None, True, 1, 1.0, "a", "b"])
FULL = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=4)
        | st.dictionaries(st.sampled_from("abcd"), inner, min_size=1, max_size=4)
    ),
    max_leaves=12,
)
"""Values without empty objects and lists."""


@given(FULL, FULL)
def test_what_comes_and_goes_is_what_there_is_more_and_less_of(a: Any, b: Any) -> None:
    found = tally(a, b)
    assert found.added - found.removed == count_leaves(b) - count_leaves(a)
    assert found.removed + found.changed <= count_leaves(a)
    assert found.added + found.changed <= count_leaves(b)


@given(FULL)
def test_equal_values_have_no_changes(value: Any) -> None:
    assert tally(value, patch.copy(value)) == Tally()


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1, 1.0, Tally(changed=1)),
        ({}, {"a": 1}, Tally(added=1)),
        ({"a": 1}, {}, Tally(removed=1)),
        ({}, [], Tally(changed=1)),
        ({"a": {"b": 1, "c": 2}}, {"a": 5}, Tally(added=1, removed=2)),
        ({"a": 1}, {"a": 1, "b": {}}, Tally(added=1)),
        ([{"id": 1, "x": 0}, {"id": 2, "x": 0}], [{"id": 2, "x": 9}], Tally(removed=2, changed=1)),
        ([1, 2, 3], [1, 3], Tally(removed=1)),
    ],
)
def test_leaves_are_counted_as_people_see_them(a: Any, b: Any, expected: Tally) -> None:
    assert tally(a, b) == expected
