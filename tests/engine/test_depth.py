"""A state is refused for its depth exactly where it is nested more than 200 deep, however large."""

from typing import Any

import pytest

from journal import codec
from journal.engine.checks import check_state
from journal.errors import UsageError
from projections.projection import Projection

PROJECTION = Projection("any", events={}, initial=dict)
INDENT = "\n" + " " * 500
WRAPS: dict[str, Any] = {
    "lists": lambda value: [value],
    "objects": lambda value: {"k": value},
    "between others": lambda value: [1, {"a": value, INDENT: INDENT}, []],
}
CORES: dict[str, Any] = {
    "nothing": None,
    "text like an indent": INDENT,
    "empty containers": [{}, []],
    "many": [1] * 300,
    "large": ["x" * 1000] * 200,
    "large and flat": list(range(40_000)),
}


def depth(value: Any) -> int:
    """Count the levels one by one, as nobody would who is in a hurry."""
    level, found = [value], 0
    while level := [each for each in level if isinstance(each, (dict, list))]:
        found += 1
        level = [
            child for each in level for child in (each.values() if isinstance(each, dict) else each)
        ]
    return found


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("wrap", WRAPS)
def test_a_state_is_refused_exactly_where_it_is_too_deep(wrap: str, core: str) -> None:
    value, refused = CORES[core], dict[int, str]()
    steps = 202 if wrap != "between others" else 101
    for step in range(steps):
        value = WRAPS[wrap](value)
        if 3 < step < steps - 6:
            continue
        try:
            check_state(value, PROJECTION)
        except UsageError as error:
            refused[depth(value)] = error.message
        else:
            assert depth(value) <= codec.MAX_DEPTH
    assert min(refused) > codec.MAX_DEPTH
    assert all("nested more than 200 deep" in message for message in refused.values())
