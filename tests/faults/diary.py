"""A projection for tests that uses what `document` does not: lines, adoption, a rule of its own.

`state.json` holds {"n": newest number, "texts": how many}; `diary.jsonl` one line an entry.
"""

from typing import Any

import msgspec

from journal import codec
from journal.errors import UsageError
from journal.event import Event
from projections.projection import Projection
from projections.view_kinds import JSON_VIEW, LinesView


class Counted(msgspec.Struct, forbid_unknown_fields=True):
    """The next number."""

    n: int


class Entered(msgspec.Struct, forbid_unknown_fields=True):
    """An entry of the diary: a line of `diary.jsonl`."""

    text: str


def _count(state: Any, event: Any) -> Any:
    state["n"] = event.data.n
    return state


def _enter(state: Any, event: Any) -> Any:
    state["texts"] = state.get("texts", 0) + 1
    return state


def _line(state: Any, event: Event) -> bytes | None:
    return codec.encode_value(event.data) + b"\n" if event.type == "entered" else None


def _adopt(line: bytes) -> tuple[str, Any] | None:
    try:
        data = codec.decode_value(line)
    except ValueError:
        return None
    return ("entered", data) if isinstance(data, dict) and data.keys() == {"text"} else None


def _check(state: Any) -> None:
    if not isinstance(state, dict) or state.get("n", 0) < 0:
        raise UsageError("a diary counts upwards from 0", key="n")


PROJECTION = Projection(
    "tests.faults.diary:PROJECTION",
    events={Counted: _count, Entered: _enter},
    initial=dict,
    check=_check,
    adopts=True,
    views=[JSON_VIEW, LinesView(name="diary", file="diary.jsonl", line=_line, adopt=_adopt)],
)
