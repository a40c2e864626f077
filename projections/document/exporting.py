"""The way out: the events as they stand in the log, or the versions of the document as data.

    {"n":7,"time":"2025-01-31T12:00:00Z","actor":"ann","message":"...","path":"tasks.json","value":{}}

I1  A version that parsed has `value`, the state after it, and `warnings` if there were any; one
    that did not has `content` or `content_b64`, as it was, and `why`; a deletion has `content`
    null. This is what `read_versions` reads.
I2  Imported into a new journal and exported again, the versions are the same bytes, and time
    travel gives the same states.
I3  Every event that can change the state is one version, so that nothing is left out where people
    went on by hand: `set` and the others give the state after them, with the event's own time and
    actor, its type as message, and the path of the version before. A version keeps its number `n`
    unless that is taken: then it is one more than the last.
I4  The log is folded once, whatever the number of versions; one state is in memory.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
import orjson

from journal import codec, plural
from journal.errors import Corrupt, UsageError
from journal.event import CARRIES_STATE, LOST, Event, is_engine_type
from projections.document.projection import PROJECTION, Imported
from projections.typed_lines import Unknown

if TYPE_CHECKING:
    from journal import Engine

PATH = "state.json"
"""The path of a version that came before any import."""


def export_events(
    engine: "Engine", out: BinaryIO, *, after: int = 0, upto: int | None = None
) -> int:
    """Write the stored lines of the events after `after` up to and with `upto`; return how many.

    Raises `Corrupt` at the end, after all good lines, where some are damaged.
    """
    count = 0
    for event in engine.events(after, upto):
        out.write(_line(event))
        count += 1
    return count


def write_versions(engine: "Engine", out: BinaryIO, *, upto: int | None = None) -> int:
    """Write each version as one line of JSON (see `export_versions`); return how many."""
    count = 0
    for version in _versions(engine, upto):
        out.write(orjson.dumps(version, option=orjson.OPT_APPEND_NEWLINE))
        count += 1
    return count


def export_versions(engine: "Engine", *, upto: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield each version of the document up to event `upto` as data, oldest first; see I1 and I3.

    Raises `UsageError` for a journal of another projection, `Corrupt` where events are lost.
    """
    for version in _versions(engine, upto):
        if "value" in version:
            version["value"] = codec.copy_value(version["value"])
        yield version


def _versions(engine: "Engine", upto: int | None) -> Iterator[dict[str, Any]]:
    """Yield the versions; a `value` is the live state, which the next step changes."""
    if Imported not in engine.projection.events:
        raise UsageError(
            f"this journal's projection is {engine.projection.name!r}; versions of a document come "
            f"out of one of {PROJECTION.name!r}",
            advice="Export its events.",
        )
    projection = engine.projection
    state, n, path, lost = projection.initial(), 0, PATH, None
    known = True
    for event in engine.events(upto=upto):
        if event.type == LOST:
            lost, known = lost or event, False
        elif event.type in CARRIES_STATE and "state" in event.data:
            known = True
        if not known:
            continue
        (typed,) = projection.decode(_line(event))
        if isinstance(typed, Unknown) or not _can_change(event):
            continue
        state = projection.apply(state, [typed])
        if isinstance(typed.data, Imported):
            n = max(n + 1, typed.data.n)
            path = typed.data.path or path
            yield _imported(n, event, typed.data, state)
        else:
            n += 1
            yield _changed(n, event, path, state)
    if lost is not None:
        raise Corrupt(
            f"{plural.are(lost.seq, lost.data.get('upto', lost.seq))} lost; the versions from "
            "there to the next event that carries the whole state were left out",
            path=engine.path,
            seq=lost.seq,
            advice="All other versions were given.",
        )


def _can_change(event: Event) -> bool:
    return event.type in CARRIES_STATE or not is_engine_type(event.type)


def _line(event: Event) -> bytes:
    """Return the line of an event as it stands in the log."""
    # Compact JSON that we wrote is written the same again (codec, I2), and costs no second read.
    body = codec.encode_body(event, orjson.dumps(event.data))
    return body + codec.crc_suffix(int(event.crc, 16))


def _imported(n: int, event: Event, data: Imported, state: Any) -> dict[str, Any]:
    version: dict[str, Any] = {
        "n": n,
        "time": data.source_time or event.time,
        "actor": data.author or event.actor,
        "message": data.message,
        "path": data.path,
    }
    if data.deleted:
        return {**version, "content": None}
    if data.patch is not msgspec.UNSET:
        said = {"warnings": data.warnings} if data.warnings else {}
        return {**version, "value": state, **said}
    kept = {"content": data.text, "content_b64": data.text_b64}
    given = {name: text for name, text in kept.items() if text is not msgspec.UNSET}
    return {**version, **given, "why": data.why or "it was kept as text"}


def _changed(n: int, event: Event, path: str, state: Any) -> dict[str, Any]:
    """Return the version that an event other than `imported` made."""
    return {
        "n": n,
        "time": event.time,
        "actor": event.actor,
        "message": event.type,
        "path": path,
        "value": state,
    }
