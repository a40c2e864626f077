"""A projection with a view of lines that others may append to, as AgLoop's `log.json` is one."""

from typing import Any

import msgspec

from journal.event import Event
from projections.projection import Projection
from projections.view_kinds import JSON_VIEW, LinesView

LINES = "lines.jsonl"


class Set(msgspec.Struct, forbid_unknown_fields=True):
    """Put `value` at `path`, a member of the state after a slash."""

    path: str
    value: Any


def _set(state: Any, event: Any) -> Any:
    state[event.data.path[1:]] = event.data.value
    return state


def _line(state: Any, event: Event) -> bytes | None:
    return msgspec.json.encode(event.data) + b"\n" if event.type == "set" else None


def _adopt(line: bytes) -> tuple[str, Any] | None:
    try:
        data = msgspec.json.decode(line, type=Set)
    except msgspec.DecodeError:
        return None
    return "set", msgspec.to_builtins(data)


PROJECTION = Projection(
    "lines",
    events={Set: _set},
    initial=dict,
    adopts=True,
    views=(JSON_VIEW, LinesView(name="lines", file=LINES, line=_line, adopt=_adopt)),
    revision="1",
)
