"""Changes of a state, as `Engine.diff` gives them, for people.

    + /tasks/3   {"id":7,"done":false}
    ~ /phase     "plan" -> "execute"
    - /note      "about to go"

I1  On a terminal a line is cut to its width, in a pipe nothing is. Where a terminal is so narrow
    that a value would not be seen beside its place, it stands on a line of its own.
I2  Of two long texts that begin alike the parts are shown in which they differ.
"""

import shutil
import sys
from collections.abc import Sequence
from typing import Any

import orjson

from journal.cli import output
from journal.cli.widths import cut, fill, width_of

_WIDEST_POINTER = 40
_LEAST_ROOM = 12
_LEAST_BESIDE = 24
_LEAST_SHOWN = 6
_INDENT = "    "
_SIGNS = {"add": ("+", "good"), "remove": ("-", "bad"), "replace": ("~", "changed")}
_ARROW = " -> "


def put_changes(changes: Sequence[dict[str, Any]], indent: str = "") -> None:
    """Print each change on a line."""
    room = columns() - len(indent)
    longest = max((width_of(output.plain(change["path"])) for change in changes), default=0)
    width = min(max(longest, 1), _WIDEST_POINTER, max(room // 3, 1))
    for change in changes:
        sign, style = _SIGNS[change["op"]]
        pointer = output.plain(change["path"] or '""')
        start, left = f"{sign} {fill(pointer, width)}  ", room
        if room - width_of(start) < _LEAST_BESIDE and room < _WIDEST_POINTER + _LEAST_BESIDE:
            start, left = f"{sign} {cut(pointer, room - 2)}\n{indent}{_INDENT}", room - len(_INDENT)
        else:
            left -= width_of(start)
        words = describe(change, left)
        output.put(indent + output.paint(f"{start}{words}".rstrip(), style, sys.stdout))


def describe(change: dict[str, Any], room: int) -> str:
    """Return the values of a change on one line."""
    if change["op"] == "replace":
        return show_both(change["old"], change["value"], room)
    return show(change["value" if change["op"] == "add" else "old"], room)


def describe_within(old: Any, new: Any, room: int) -> str:
    """Return what leads from one value to another: of objects and lists only what differs."""
    if not (old and new and isinstance(old, dict | list) and type(old) is type(new)):
        return show_both(old, new, room)
    from projections.patch import diff_with_old

    found = [
        f"{_SIGNS[one['op']][0]} {output.plain(one['path'])} {describe(one, sys.maxsize)}"
        for one in diff_with_old(old, new)
    ]
    return cut(", ".join(found), max(room, _LEAST_ROOM))


def show_both(old: Any, new: Any, room: int) -> str:
    """Return `old -> new`, each cut so that both, and where they differ (I2), are seen."""
    room -= len(_ARROW)
    first, second = show(old, sys.maxsize), show(new, sys.maxsize)
    if (len(first) + len(second)) * 2 <= room:
        return f"{first}{_ARROW}{second}"
    # Neither is looked at further than could be shown: a value may be megabytes.
    first_width, second_width = (width_of(cut(text, room + 1)) for text in (first, second))
    if first_width + second_width > room:
        half = max(room // 2, _LEAST_ROOM)
        first, second = _without_head(first, second, half)
        first_width, second_width = (width_of(cut(text, room + 1)) for text in (first, second))
        first = cut(first, max(half, room - second_width))
        second = cut(second, max(half, room - width_of(first)))
    return f"{first}{_ARROW}{second}"


def _without_head(first: str, second: str, half: int) -> tuple[str, str]:
    """Leave out how two texts begin alike, where their difference would not be seen (I2)."""
    same = _alike(first, second)
    if width_of(cut(first[:same], half)) + _LEAST_SHOWN <= half:
        return first, second
    start = same - _LEAST_SHOWN
    return f"…{first[start:]}", f"…{second[start:]}"


def _alike(first: str, second: str) -> int:
    """Return how many characters two texts have in common at their start."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def show(value: Any, room: int) -> str:
    """Return a JSON value on one line, cut to so many columns (I1)."""
    return cut(output.plain(orjson.dumps(value).decode()), max(room, _LEAST_ROOM))


def columns() -> int:
    """Return how many columns a line may take (I1)."""
    if not output.is_terminal(sys.stdout):
        return sys.maxsize
    return shutil.get_terminal_size().columns
