"""JSON values as such: when two are the same, how deep one is, and a copy that shares nothing.

Invariants
  I1  Equality is strict: 1, 1.0 and true are three values, and so are 0.0 and -0.0. The order of
      the members of an object is not data; the order of the items of a list is.
  I2  No function here recurses, so a value that is too deep is measured, not crashed upon.
  I3  Equality is decided by comparing in C (`==`, which is too lax, and then compact JSON text,
      which tells types apart). What has no JSON text is walked in Python; the answer is the same.

It does not check that what it is given is a JSON value.
"""

import math
from typing import Any, TypeAlias

import orjson

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

MAX_DEPTH = 200
"""Levels of objects and lists a value may have: `1` has none, `[]` one, `{"a": []}` two."""

_CONTAINERS = (dict, list)
# Refuses what orjson would quietly turn into a JSON value, such as dates and subclasses of str.
_STRICT = (
    orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
_SORTED = _STRICT | orjson.OPT_SORT_KEYS


def equal(a: Any, b: Any) -> bool:
    """Say whether two JSON values are the same: type by type, whatever the order of members."""
    if type(a) is not type(b):
        return False
    if type(a) not in _CONTAINERS:
        return _same_scalar(a, b)
    try:
        if a != b:
            return False
        return (
            orjson.dumps(a, option=_STRICT) == orjson.dumps(b, option=_STRICT)
            # Only here does the order of members matter, and sorting costs.
            or orjson.dumps(a, option=_SORTED) == orjson.dumps(b, option=_SORTED)
        )
    except (RecursionError, TypeError):  # too deep for C, or no JSON text
        return _same_walk(a, b)


def depth(value: Any) -> int:
    """Count the levels of objects and lists: 0 for a scalar, 1 for `[]`, 2 for `{"a": []}`."""
    levels = 0
    level: list[dict[str, Json] | list[Json]] = [value] if isinstance(value, (dict, list)) else []
    while level:
        levels += 1
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, (dict, list))
        ]
    return levels


def copy(value: Any) -> Any:
    """Copy objects and lists all the way down; scalars are shared, since nobody can change them."""
    holder: list[Json] = [value]
    pending: list[dict[str, Json] | list[Json]] = [holder]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            for key, child in node.items():
                if isinstance(child, (dict, list)):
                    node[key] = fresh = child.copy()
                    pending.append(fresh)
        else:
            for index, child in enumerate(node):
                if isinstance(child, (dict, list)):
                    node[index] = fresh = child.copy()
                    pending.append(fresh)
    return holder[0]


def canonical(value: Any) -> bytes:
    """Return compact JSON text with sorted keys: the same bytes for equal values, and only then."""
    return orjson.dumps(value, option=_SORTED)


def size(value: Any) -> int:
    """Return the length of the compact JSON text of `value` in bytes."""
    return len(orjson.dumps(value, option=_STRICT))


def _same_scalar(a: Any, b: Any) -> bool:
    if type(a) is float and a == 0.0 == b:
        return math.copysign(1.0, a) == math.copysign(1.0, b)
    return bool(a == b)


def _same_walk(a: Json, b: Json) -> bool:
    pairs: list[tuple[Json, Json]] = [(a, b)]
    while pairs:
        x, y = pairs.pop()
        if type(x) is not type(y):
            return False
        if isinstance(x, dict) and isinstance(y, dict):
            if x.keys() != y.keys():
                return False
            pairs.extend((child, y[key]) for key, child in x.items())
        elif isinstance(x, list) and isinstance(y, list):
            if len(x) != len(y):
                return False
            pairs.extend(zip(x, y, strict=True))
        elif not _same_scalar(x, y):
            return False
    return True
