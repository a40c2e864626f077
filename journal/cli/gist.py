"""An event in a few words for people, where its data as JSON would be nothing but braces.

    imported             v3: 2 values; what the author said; /phase "plan", /n 4
    journal.restored     as of event 120: 1 value; it was better; /phase "plan"
    patch                /tasks/0/done true, /note removed

I1  It is told from the event alone: no state, no projection. Where the data have another shape
    than the events that it knows, they are JSON.
I2  What tells the most comes first: the end is what a narrow line cuts off.
"""

from collections.abc import Iterator
from typing import Any, cast

import orjson

from journal.cli import output
from journal.cli.widths import cut
from journal.event import CARRIES_STATE, Event

_LEAST_ROOM = 12
_LONGEST_VALUE = 60
_MOST_NAMED = 12
_OPERATIONS = frozenset(("add", "remove", "replace", "move", "copy", "test"))


def gist(event: Event, room: int) -> str:
    """Return an event's data in words, cut to `room` columns, but not to nothing."""
    text = None
    if isinstance(event.data, dict):
        text = _say(event.type, cast("dict[str, Any]", event.data))
    if text is None:
        text = orjson.dumps(event.data).decode()
    return cut(output.plain(text), max(room, _LEAST_ROOM))


def _say(kind: str, data: dict[str, Any]) -> str | None:
    if kind == "imported" and isinstance(data.get("n"), int):
        return _join(_imported(data), f"v{data['n']}")
    if kind in CARRIES_STATE:
        about = data.get("seq", data.get("path", data.get("view", "")))
        start = f"as of event {about}" if "seq" in data else str(about)
        return _join(_carried(data), start)
    if set(data) == {"patch"} and (operations := _operations(data["patch"])):
        return _list(operations)
    return None


def _join(parts: Iterator[str], start: str) -> str | None:
    text = "; ".join(filter(None, parts))
    return f"{start}: {text}" if text and start else text or None


def _imported(data: dict[str, Any]) -> Iterator[str]:
    """Say what one version of a history from elsewhere is."""
    operations = _operations(data.get("patch"))
    if data.get("deleted"):
        yield "the file was deleted"
    elif operations is None:
        yield f"kept as text, {data.get('why') or 'which does not parse'}"
    else:
        yield _count(operations)
    yield str(data.get("message", ""))
    yield _list(operations or [])


def _carried(data: dict[str, Any]) -> Iterator[str]:
    """Say what an engine event brings that carries a state."""
    operations = _operations(data.get("patch"))
    if "state" in data:
        yield "the whole state"
    elif operations is not None:
        yield _count(operations)
    yield str(data.get("reason", ""))
    yield _list(operations or [])


def _count(operations: list[dict[str, Any]]) -> str:
    if not operations:
        return "nothing changed"
    if any(one["path"] == "" for one in operations):
        return "the whole state"
    return output.count(len({one["path"] for one in operations}), "value")


def _operations(patch: Any) -> list[dict[str, Any]] | None:
    """Return the operations of a patch, None for what is none."""
    if not isinstance(patch, list):
        return None
    found: list[Any] = patch
    return found if all(map(_is_operation, found)) else None


def _is_operation(one: Any) -> bool:
    if not isinstance(one, dict):
        return False
    operation = cast("dict[str, Any]", one)
    return operation.get("op") in _OPERATIONS and isinstance(operation.get("path"), str)


def _list(operations: list[dict[str, Any]]) -> str:
    """Name what is changed; no line is so long that all of a large patch would be seen."""
    return ", ".join(map(_operation, operations[:_MOST_NAMED])) + (
        ", …" if len(operations) > _MOST_NAMED else ""
    )


def _operation(one: dict[str, Any]) -> str:
    path = one["path"] or '""'
    match one["op"]:
        case "remove":
            return f"{path} removed"
        case "move" | "copy":
            return f"{path} from {one.get('from')}"
        case "test":
            return f"{path} tested"
        case _:
            return f"{path} {cut(orjson.dumps(one.get('value')).decode(), _LONGEST_VALUE)}"
