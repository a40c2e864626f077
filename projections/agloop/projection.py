"""The projection `agloop`: what the events mean, and the two files that show them.

I1  `state.json` is the state, with two spaces and no LF at its end, as the text's scripts write it.
I2  Changes of it by others are adopted: the text tells its users to write it. One that cannot be
    read at all is written again from the journal, and that is noted.
I3  `log.json` shows one line for each event, and the lines that others appended.
"""

from pathlib import Path
from typing import Any

import orjson

from projections.agloop import line
from projections.agloop.applying import APPLY
from projections.agloop.schema import check, check_adoption, complete, initial, ordered
from projections.foreign import read_json
from projections.projection import Projection
from projections.view_kinds import DocumentView, LinesView

NAME = "agloop"
STATE_VIEW = "state"
LOG_VIEW = "log"


def render(state: Any) -> bytes:
    """Write `state.json` (I1)."""
    return orjson.dumps(ordered(state), option=orjson.OPT_INDENT_2)


def read_view(data: bytes, path: Path) -> Any:
    """Read a `state.json` that somebody else wrote; fields of later versions may be missing."""
    return complete(read_json(data, path=path).value)


def note_rebuild(why: str, data: bytes) -> tuple[str, Any]:  # noqa: ARG001 - kept in quarantine
    """Return the event that remembers that `state.json` is written again from the journal."""
    return "state_recovered", {"source": "journal", "why": why}


PROJECTION = Projection(
    NAME,
    events=APPLY,
    initial=initial,
    check=check,
    adopts=True,
    check_adoption=check_adoption,
    read_view=read_view,
    note_rebuild=note_rebuild,
    rebuilds_unreadable=True,
    views=(
        DocumentView(name=STATE_VIEW, file="state.json", render=render),
        LinesView(
            name=LOG_VIEW,
            file="log.json",
            line=line.render,
            adopt=line.adopt,
            note_repair=line.note_repair,
            corrupt_beside=True,
        ),
    ),
    makes_json=True,
)
