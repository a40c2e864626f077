"""JSON Pointer (RFC 6901): the address of a place in a JSON value.

A pointer is text such as `/tasks/0/title`: each token after a `/` is the name of a member or the
index of an item, with `~1` for `/` and `~0` for `~`; the empty text is the whole value.

Invariants
  I1  `parse(format(tokens)) == tokens` for all tokens, and `format(parse(p)) == p` for all valid p.
  I2  An index is `0` or ASCII digits without a leading zero; `-`, the place after the last item,
      is for adding only.
  I3  Every refusal is a `UsageError` whose `key` is the whole pointer and whose message names the
      first place on the way that is missing.

It changes nothing; `operations` does.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from journal.errors import UsageError
from projections.patch.value import Json

_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_BAD_ESCAPE = re.compile(r"~(?![01])")
_REQUIRED: Final = object()


def parse(pointer: str) -> list[str]:
    """Split a pointer into its tokens, unescaped: `/a~1b/0` gives `["a/b", "0"]`, `` gives `[]`.

    Raises `UsageError` for what is not a JSON Pointer (RFC 6901, sections 3 and 4).
    """
    if not isinstance(pointer, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(
            f"a JSON Pointer is text, not {kind_of(pointer)}",
            key=str(pointer),
            advice='Write it as in "/tasks/0/title".',
        )
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise UsageError(
            f'"{pointer}" is not a JSON Pointer: it does not start with "/"',
            key=pointer,
            advice=f'Write "/{pointer}", or "" for the whole value.',
        )
    tokens = pointer[1:].split("/")
    if "~" not in pointer:
        return tokens
    if _BAD_ESCAPE.search(pointer):
        raise UsageError(
            f'"{pointer}" is not a JSON Pointer: "~" is followed by neither 0 nor 1',
            key=pointer,
            advice='Write "~0" for "~" and "~1" for "/".',
        )
    return [token.replace("~1", "/").replace("~0", "~") for token in tokens]


def format(tokens: Iterable[str | int]) -> str:
    """Join tokens to a pointer: `["a/b", 0]` gives `/a~1b/0`, no tokens give the empty text."""
    return "".join(f"/{escape(str(token))}" for token in tokens)


def escape(token: str) -> str:
    """Return a member's name as it stands in a pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def get(value: Any, pointer: str, default: Any = _REQUIRED) -> Any:
    """Return what is at `pointer`; where nothing is, `default` if one is given.

    Raises `UsageError` for a pointer that is none, and, without a default, for a missing place.
    """
    tokens = parse(pointer)
    try:
        return follow(value, tokens)
    except UsageError:
        if default is _REQUIRED:
            raise
        return default


def follow(value: Any, tokens: Sequence[str], upto: int | None = None) -> Any:
    """Walk along the tokens (the first `upto`), or raise `UsageError` naming the missing one."""
    node: Json = value
    for at, token in enumerate(tokens if upto is None else tokens[:upto]):
        if isinstance(node, dict):
            members = node
            try:
                node = members[token]
            except KeyError:
                raise no_member(members, tokens, at) from None
        elif isinstance(node, list):
            node = node[item_index(tokens, at, len(node))]
        else:
            raise no_container(node, tokens, at)
    return node


def item_index(tokens: Sequence[str], at: int, length: int, *, adding: bool = False) -> int:
    """Read token `at` as the index of one of `length` items, or raise `UsageError`.

    With `adding`, `length` itself and `-` are the place after the last item.
    """
    token = tokens[at]
    # Longer texts than that of any real length would be slow to read, or refused, as a number.
    if len(token) < 19 and _INDEX.fullmatch(token) and (index := int(token)) < length:
        return index
    if adding and token in ("-", str(length)):
        return length
    raise _no_item(tokens, at, length)


def _no_item(tokens: Sequence[str], at: int, length: int) -> UsageError:
    """Describe that `tokens[at]` is not the index of one of `length` items."""
    token, where = tokens[at], place(tokens, at)
    if _INDEX.fullmatch(token):
        return UsageError(
            f"the list at {where} has no index {token[:40]}",
            key=format(tokens),
            advice=f"It has {length} item{'' if length == 1 else 's'}; the first has index 0.",
        )
    advice = "An index is 0 or digits without a leading zero."
    if token == "-":
        advice = 'The index "-" stands for the place after the last item: it is only for adding.'
    return UsageError(
        f'"{token}" is no index of the list at {where}', key=format(tokens), advice=advice
    )


def no_member(node: dict[str, Json], tokens: Sequence[str], at: int) -> UsageError:
    """Describe that the object at `tokens[:at]` lacks the member `tokens[at]`."""
    names = ", ".join(f'"{name}"' for name in list(node)[:8])
    if len(node) > 8:
        names += f" and {len(node) - 8} more"
    return UsageError(
        f'the object at {place(tokens, at)} has no member "{tokens[at]}"',
        key=format(tokens),
        advice=f"Its members are {names}." if node else "It has no members.",
    )


def no_container(node: Json, tokens: Sequence[str], at: int) -> UsageError:
    """Describe that the value at `tokens[:at]` is a scalar and holds nothing."""
    return UsageError(
        f'the value at {place(tokens, at)} is {kind_of(node)}: it holds no "{tokens[at]}"',
        key=format(tokens),
        advice="Only objects and lists hold other values.",
    )


def place(tokens: Sequence[str], at: int) -> str:
    """Return the pointer to the first `at` tokens as it stands in a message."""
    return f'"{format(tokens[:at])}"' if at else "the root"


def kind_of(value: object) -> str:
    """Return what a value is, in the words of JSON."""
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case None:
            return "null"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"of type {type(value).__name__}"
