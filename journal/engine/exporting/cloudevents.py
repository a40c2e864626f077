"""CloudEvents 1.0 in the JSON format, one event a line.

    {"specversion":"1.0","id":"7","source":"urn:journal:4f0c…","type":"set",
     "time":"2026-03-01T14:45:00.000Z","datacontenttype":"application/json",
     "sequence":"0000000000000000007","actor":"planner","idempotencykey":"k-1","data":{…}}⏎

I1  `source` and `id` together name an event for ever: the journal's id and the seq.
I2  `sequence` (the Sequence extension) orders the events of a source as text. `actor`,
    `idempotencykey` and `causationid` (the seq that caused it) are extensions, left out if empty.

Source: CloudEvents specification 1.0.2, its JSON event format and its documented extensions.
"""

from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from journal.event import Event

if TYPE_CHECKING:
    from journal.engine.engine import Engine


def write(engine: "Engine", out: BinaryIO, *, after: int = 0, upto: int | None = None) -> int:
    """Write the events after `after` up to and with `upto` as CloudEvents; return how many.

    Raises `Corrupt` at the end, after all good events, where some are damaged.
    """
    source = f"urn:journal:{engine.id}"
    count = 0
    for event in engine.events(after, upto):
        out.write(orjson.dumps(_to_cloud_event(event, source), option=orjson.OPT_APPEND_NEWLINE))
        count += 1
    return count


def _to_cloud_event(event: Event, source: str) -> dict[str, Any]:
    members: dict[str, Any] = {
        "specversion": "1.0",
        "id": str(event.seq),
        "source": source,
        "type": event.type,
        "time": event.time,
        "datacontenttype": "application/json",
        "sequence": f"{event.seq:019d}",
    }
    if event.actor:
        members["actor"] = event.actor
    if event.id:
        members["idempotencykey"] = event.id
    if event.cause:
        members["causationid"] = str(event.cause)
    members["data"] = event.data
    return members
