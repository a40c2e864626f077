"""Changes to a JSON value: the six operations of JSON Patch (RFC 6902), and set and remove.

    {"op": "add", "path": "/tasks/-", "value": {"id": 7}}

Invariants
  I1  The functions change `value` in place where they can and return the result, which is another
      object where the root was replaced. After an error `value` may be changed in part: the
      caller throws it away.
  I2  Nothing that is put in stays shared with the caller: containers are copied. With `take=True`
      they are not, and the caller gives them up: each stands in one place, as a decoder makes it,
      and is not used again. `copy` always copies.
  I3  No result is deeper than `MAX_DEPTH`. The cost of an operation depends on its pointers and
      on the value it carries or copies, never on the state.
  I4  `copy` alone can make much of little (n copies of the root, each into itself: 2^n times the
      state). What a patch copies is weighed before it is copied, and the result is looked at
      each time that the weight has doubled: neither goes far beyond the largest state.

Two decisions differ from the letter of RFC 6902: `test` compares strictly (1 is not 1.0), and the
root cannot be removed, since a state is always a JSON value.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from journal.codec import MAX_STATE_BYTES
from journal.errors import UsageError
from projections.patch.pointer import (
    follow,
    format,
    item_index,
    kind_of,
    no_container,
    no_member,
    parse,
)
from projections.patch.value import MAX_DEPTH, Json, copy, depth, equal

_SHOWN = 60
_FIRST_LOOK = 64 << 10


def apply_patch(
    value: Any,
    operations: Sequence[Mapping[str, Any]],
    *,
    take: bool = False,
    name: str = "operations",
) -> Any:
    """Apply RFC 6902 operations in order and return the result; see I1 and I2 for who owns what.

    Members of an operation that the RFC does not name, such as `old`, are passed over.
    Raises `UsageError` that names the operation as `name` with its index (from 0), its path and
    the reason.
    """
    if not isinstance(operations, (list, tuple)):
        raise UsageError(
            f"a patch is a list of operations, not {kind_of(operations)}",
            advice='Write it as in [{"op": "replace", "path": "/phase", "value": "plan"}].',
        )
    copied = _Copied()
    for index, operation in enumerate(operations):
        try:
            value = _apply(value, operation, take, copied)
            if copied.weight >= copied.due:
                copied.look_at(value)
        except UsageError as error:
            raise UsageError(
                f"{name}[{index}]{_label(operation)}: {error.message}",
                key=error.key or f"{name}[{index}]",
                advice=error.advice,
            ) from None
    return value


def set_value(value: Any, pointer: str, new: Any, *, take: bool = False) -> Any:
    """Add or replace what is at `pointer` and return the result.

    A member is added or replaced, an item of a list is replaced; `-`, and the index after the last
    item, append. The pointer `` replaces the whole value. Raises `UsageError` where a parent is
    missing (the first missing one is named) or the result would be deeper than `MAX_DEPTH`.
    """
    tokens = parse(pointer)
    _check_depth(new, tokens)
    return _set(value, tokens, new if take else copy(new))


def remove_value(value: Any, pointer: str) -> Any:
    """Remove the member or item at `pointer` and return the result; it must be there."""
    tokens = parse(pointer)
    _remove(value, tokens)
    return value


class _Copied:
    """What the copies of one patch weigh (I4), in characters and values of JSON."""

    def __init__(self) -> None:
        self.weight = 0
        self.due = _FIRST_LOOK

    def add(self, found: Json) -> None:
        """Take in what is about to be copied."""
        self.weight += _weigh(found, MAX_STATE_BYTES - self.weight)
        if self.weight > MAX_STATE_BYTES:
            raise _too_large()

    def look_at(self, value: Json) -> None:
        """Raise `UsageError` where the result has become larger than any state."""
        self.due = self.weight * 2
        if _weigh(value, MAX_STATE_BYTES) > MAX_STATE_BYTES:
            raise _too_large()


def _weigh(value: Json, limit: int) -> int:
    """Return at most the bytes that a value has as JSON; it stops when it is over `limit`."""
    weight = 0
    waiting = [value]
    while waiting and weight <= limit:
        item = waiting.pop()
        weight += 1
        if isinstance(item, str):
            weight += len(item)
        elif isinstance(item, dict):
            weight += sum(map(len, item))
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return weight


def _too_large() -> UsageError:
    return UsageError(
        f"its copies would make more than {MAX_STATE_BYTES:,} bytes, and no state is larger",
        advice="Refer to a value by its place instead of copying it.",
    )


def _apply(root: Json, operation: Mapping[str, Any], take: bool, copied: _Copied) -> Any:
    if not isinstance(operation, dict):
        raise UsageError(
            f"an operation is an object, not {kind_of(operation)}",
            advice='Write it as in {"op": "remove", "path": "/phase"}.',
        )
    tokens = parse(_member(operation, "path"))
    match operation.get("op"):
        case "add":
            return _insert(root, tokens, _new_value(operation, tokens, take))
        case "remove":
            _remove(root, tokens)
            return root
        case "replace":
            follow(root, tokens)
            return _set(root, tokens, _new_value(operation, tokens, take))
        case "move":
            return _move(root, parse(_member(operation, "from")), tokens)
        case "copy":
            found = follow(root, parse(_member(operation, "from")))
            copied.add(found)
            _check_depth(found, tokens)
            return _insert(root, tokens, copy(found))
        case "test":
            _test(follow(root, tokens), _member(operation, "value"), tokens)
            return root
        case other:
            raise UsageError(
                f'"{other}" is not an operation' if "op" in operation else 'it lacks "op"',
                advice="An operation is one of add, remove, replace, move, copy, test.",
            )


def _new_value(operation: dict[str, Any], tokens: Sequence[str], take: bool) -> Any:
    new = _member(operation, "value")
    _check_depth(new, tokens)
    return new if take else copy(new)


def _member(operation: dict[str, Any], name: str) -> Any:
    if name not in operation:
        raise UsageError(
            f'it lacks "{name}"', advice="RFC 6902, section 4, says which members each needs."
        )
    return operation[name]


def _label(operation: object) -> str:
    if isinstance(operation, dict) and {"op", "path"} <= operation.keys():
        return f' ({operation["op"]} "{operation["path"]}")'
    return ""


def _insert(root: Json, tokens: Sequence[str], new: Json) -> Json:
    """Put `new` in as RFC 6902 adds: a member is set, an item pushes those after it on by one."""
    if not tokens:
        return new
    last = len(tokens) - 1
    parent: Json = follow(root, tokens, last)
    if isinstance(parent, dict):
        parent[tokens[last]] = new
    elif isinstance(parent, list):
        parent.insert(item_index(tokens, last, len(parent), adding=True), new)
    else:
        raise no_container(parent, tokens, last)
    return root


def _set(root: Json, tokens: Sequence[str], new: Json) -> Json:
    """Put `new` in the place of what is at `tokens`, or after the last item."""
    if not tokens:
        return new
    last = len(tokens) - 1
    parent: Json = follow(root, tokens, last)
    if isinstance(parent, dict):
        parent[tokens[last]] = new
    elif isinstance(parent, list):
        index = item_index(tokens, last, len(parent), adding=True)
        parent[index : index + 1] = [new]
    else:
        raise no_container(parent, tokens, last)
    return root


def _remove(root: Json, tokens: Sequence[str]) -> Json:
    """Take out and return what is at `tokens`."""
    if not tokens:
        raise UsageError(
            "the whole value cannot be removed", advice="Replace it, for example by null or {}."
        )
    last = len(tokens) - 1
    parent: Json = follow(root, tokens, last)
    if isinstance(parent, dict):
        if tokens[last] not in parent:
            raise no_member(parent, tokens, last)
        return parent.pop(tokens[last])
    if isinstance(parent, list):
        return parent.pop(item_index(tokens, last, len(parent)))
    raise no_container(parent, tokens, last)


def _move(root: Json, source: Sequence[str], tokens: Sequence[str]) -> Json:
    moved: Json = follow(root, source)
    if source == tokens:
        return root
    if len(source) < len(tokens) and tokens[: len(source)] == source:
        raise UsageError(
            f'"{format(source)}" cannot be moved into itself',
            key=format(tokens),
            advice="Use copy, or move it to a place outside of it.",
        )
    if len(tokens) > len(source):  # else it lies no deeper than before
        _check_depth(moved, tokens)
    if not tokens:
        return moved
    return _insert(root, tokens, _remove(root, source))


def _test(found: Json, wanted: Json, tokens: Sequence[str]) -> None:
    if not equal(found, wanted):
        raise UsageError(
            f"the value there ({kind_of(found)}, {_show(found)}) is not the one that was expected"
            f" ({kind_of(wanted)}, {_show(wanted)})",
            key=format(tokens),
            advice="Look at the state first: something else changed it, or the type differs.",
        )


def _show(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _check_depth(new: Json, tokens: Sequence[str]) -> None:
    levels = len(tokens) + depth(new)
    if levels > MAX_DEPTH:
        raise UsageError(
            f"the result would be {levels} levels deep, the limit is {MAX_DEPTH}",
            key=format(tokens),
            advice="Flatten the value.",
        )
