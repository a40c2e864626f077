"""Where a change can change a value, told from the change alone, whatever the value is.

    touched_by_patch([{"op": "add", "path": "/tasks/3", "value": {}}])    ["/tasks/-"]
    touched_by_merge({"last": {"n": 1}})                 ["/-", "/last/-", "/last/n"]

I1  A place that is neither above, at nor below one of those returned has the same value after the
    change as before. Nothing is said of whether the others really change.
I2  The token `-` stands for every item of a list, if there is one (and for a member of that name):
    items move when one before them is put in or taken out, and vanish when the list does.

It looks at no value. `relate` says which places are meant.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from projections.patch.pointer import escape
from projections.patch.value import Json

ITEMS = "/-"


def touched_by_set(pointer: str) -> list[str]:
    """Return the places that `set_value` at `pointer` can change: that one alone."""
    return [pointer]


def touched_by_remove(pointer: str) -> list[str]:
    """Return the places that `remove_value` at `pointer` can change."""
    return [_with_neighbours(pointer)]


def touched_by_merge(patch: Any, at: str = "") -> list[str]:
    """Return the places below `at` that merging `patch` into the value there can change."""
    merged: Json = patch
    if not isinstance(merged, dict) or not merged:
        return [at]
    # A list in the place of an object that is merged gives way to one, and its items are gone.
    found = [at + ITEMS]
    for name, value in merged.items():
        below = f"{at}/{escape(name)}"
        if isinstance(value, dict):
            found += touched_by_merge(value, below)
        else:
            found.append(below)
    return found


def touched_by_patch(operations: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the places that applying RFC 6902 operations can change."""
    found: list[str] = []
    for operation in operations:
        path = operation["path"]
        match operation["op"]:
            case "replace":
                found.append(path)
            case "add" | "remove" | "copy":
                found.append(_with_neighbours(path))
            case "move":
                found += [_with_neighbours(operation["from"]), _with_neighbours(path)]
            case "test":
                pass
            case _:
                found.append("")
    return found


def _with_neighbours(pointer: str) -> str:
    """Return the place; of an item of a list, all items, since those behind it move."""
    above, _, last = pointer.rpartition("/")
    return above + ITEMS if last.isdecimal() else pointer


def relate(place: str, pointer: str) -> bool:
    """Say whether a place that was returned here is above, at or below `pointer`."""
    if place == pointer or place.startswith(pointer + "/") or pointer.startswith(place + "/"):
        return True
    if ITEMS not in place:
        return False
    pairs = zip(place.split("/"), pointer.split("/"), strict=False)
    return all(one == other or (one == "-" and other.isdecimal()) for one, other in pairs)
