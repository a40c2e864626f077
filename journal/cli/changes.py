"""Changes of a state, as `Engine.diff` gives them, for people.

    + /tasks/3   {"id":7,"done":false}
    ~ /phase     "plan" -> "execute"
    - /note      "about to go"

I1  On a terminal a line is cut to its width, in a pipe nothing is.
"""

import shutil
import sys
from collections.abc import Sequence
from typing import Any

import orjson

from journal.cli import output

_WIDEST_POINTER = 40
_LEAST_ROOM = 20
_SIGNS = {"add": ("+", "good"), "remove": ("-", "bad"), "replace": ("~", "changed")}
_ARROW = " -> "


def put_changes(changes: Sequence[dict[str, Any]], indent: str = "") -> None:
    """Print each change on a line."""
    room = columns() - len(indent)
    longest = max((len(output.plain(change["path"])) for change in changes), default=0)
    width = min(max(longest, 1), _WIDEST_POINTER)
    for change in changes:
        sign, style = _SIGNS[change["op"]]
        pointer = output.plain(change["path"] or '""')
        start = f"{sign} {pointer:<{width}}  "
        words = describe(change, room - len(start))
        output.put(indent + output.paint(f"{start}{words}".rstrip(), style, sys.stdout))


def describe(change: dict[str, Any], room: int) -> str:
    """Return the values of a change on one line."""
    if change["op"] == "replace":
        return show_both(change["old"], change["value"], room)
    return show(change["value" if change["op"] == "add" else "old"], room)


def show_both(old: Any, new: Any, room: int) -> str:
    """Return `old -> new`, each cut so that both are seen."""
    room -= len(_ARROW)
    first, second = show(old, sys.maxsize), show(new, sys.maxsize)
    half = max(room // 2, _LEAST_ROOM)
    if len(first) + len(second) > room:
        first = show(old, max(half, room - len(second)))
        second = show(new, max(half, room - len(first)))
    return f"{first}{_ARROW}{second}"


def show(value: Any, room: int) -> str:
    """Return a JSON value on one line, cut to so many columns (I1)."""
    text = output.plain(orjson.dumps(value).decode())
    room = max(room, _LEAST_ROOM)
    return text if len(text) <= room else text[: room - 1] + "…"


def columns() -> int:
    """Return how many columns a line may take (I1)."""
    if not output.is_terminal(sys.stdout):
        return sys.maxsize
    return shutil.get_terminal_size().columns
