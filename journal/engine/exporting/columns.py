"""The columns of an exported event: seq, time, type, actor, id, cause, data."""

from typing import NamedTuple

import orjson

from journal.event import Event

NAMES = ("seq", "time", "type", "actor", "id", "cause", "data")


class Row(NamedTuple):
    """An event in columns: `data` is JSON text; what an event does not have is None."""

    seq: int
    time: str
    type: str
    actor: str | None
    id: str | None
    cause: int | None
    data: str


def row_of(event: Event) -> Row:
    """Return an event in columns."""
    return Row(
        event.seq,
        event.time,
        event.type,
        event.actor or None,
        event.id or None,
        event.cause or None,
        orjson.dumps(event.data).decode(),
    )
