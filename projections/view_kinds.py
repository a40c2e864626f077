"""The two kinds of views, as a projection declares them: a whole file, and lines that are added.

They say how bytes are made; `projections.view` reads and writes the files.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from journal.event import Event


class DocumentView(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is replaced whole: `render` makes its bytes from the state.

    `holds_state`: read as JSON they are the state again, so that it can be read from there.
    """

    name: str = "state"
    file: str = "state.json"
    render: Callable[[Any], bytes]
    holds_state: bool = True


class LinesView(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is appended to: `line` makes an event's line, with its LF, or None.

    It gets the state after the event, and the event as it stands in the log (not the typed one).
    `adopt` makes a draft's (type, data) of a line that somebody else appended, such that `line`
    of that event gives the same bytes; None if the line cannot be one. `note_repair` makes the
    (type, data) of an event that remembers why the file had to be mended. `corrupt_beside`: a
    file without one good line is kept beside it, as `FILE.corrupt.TIME`, and not in quarantine.
    """

    name: str
    file: str
    line: Callable[[Any, Event], bytes | None]
    adopt: Callable[[bytes], tuple[str, Any] | None]
    note_repair: Callable[[str], tuple[str, Any] | None] | None = None
    corrupt_beside: bool = False


View = DocumentView | LinesView


def render_json(state: Any) -> bytes:
    """Write a state as JSON, indented by two spaces, with a final LF."""
    import orjson

    return orjson.dumps(state, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


JSON_VIEW = DocumentView(render=render_json)
