"""Words for an account: what the engine's own events say, times, durations, names.

What both Markdown and HTML say in words of their own stands in `saying`.
"""

from collections.abc import Callable
from typing import Any

from journal import plural
from journal.event import (
    ADOPTED,
    CHECKPOINT,
    CREATED,
    FORKED,
    LOST,
    PRUNED,
    RECOVERED,
    REPAIRED,
    RESTORED,
    TAKEN_OVER,
    Event,
)

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1))

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def duration(length_ms: int) -> str:
    """Return a duration in its two largest units, such as `3 d 4 h`."""
    parts: list[str] = []
    for name, unit_ms in _UNITS:
        count, length_ms = divmod(length_ms, unit_ms)
        if count:
            parts.append(f"{count:,} {name}")
        if len(parts) == 2 or (parts and not count):
            break
    return " ".join(parts) or "0 ms"


def when(time: str) -> str:
    """Return a time to the second, in UTC: `2026-03-01 14:45:00`."""
    return time[:19].replace("T", " ")


def moment(time: str) -> str:
    """Return a time to the millisecond, in UTC: `2026-03-01 14:45:00.000`."""
    return time[:23].replace("T", " ")


def who(actor: str) -> str:
    """Return an actor's name, or what stands for none."""
    return actor or "no actor"


def size(size_bytes: int) -> str:
    """Return a size such as `1.2 MB`, in powers of a thousand."""
    amount = float(size_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return plural.count(size_bytes, "byte") if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def describe(event: Event) -> str:
    """Return one sentence about an engine event, whatever is in its data."""
    words = _WORDS.get(event.type)
    if words is None:
        return ""
    try:
        return words(_Data(event.data))
    except (TypeError, ValueError, KeyError, AttributeError):
        return ""


class _Data(dict[str, Any]):
    """Data of an event in which nothing is missing."""

    def __missing__(self, key: str) -> str:
        return "?"


def _created(data: _Data) -> str:
    return f"The journal was created, projection {data['projection']}, format {data['format']}."


def _recovered(data: _Data) -> str:
    return (
        f"{data['bytes']} bytes after byte {data['offset']} of {data['segment']} were no whole "
        f"append and were set aside ({data['why']}); quarantine/{data['quarantine']}."
    )


def _lost(data: _Data) -> str:
    return f"Events up to {data['upto']} could not be read any more when this was repaired."


def _repaired(data: _Data) -> str:
    parts: list[str] = []
    for repair in map(_Data, data["repairs"]):
        spans = [f"{first} to {last}" for first, last in repair.get("lost", ())]
        lost = f", lost events {', '.join(spans)}" if spans else ", no event lost"
        parts.append(f"{repair['segment']}: {plural.count(repair['kept'], 'event')} kept{lost}")
    state_from = f" The state came from: {data['state_from']}." if "state_from" in data else ""
    return f"Repaired. {'; '.join(parts)}.{state_from}"


def _adopted(data: _Data) -> str:
    changes = len(data["patch"])
    many = f"{changes} change{'' if changes == 1 else 's'}"
    return (
        f"The view {data['view']}, changed by somebody else, was adopted: {many} "
        f"against event {data['base']}."
    )


def _taken_over(data: _Data) -> str:
    return f"The file {data['path']} was taken over (sha256 {str(data['sha256'])[:12]}…)."


def _restored(data: _Data) -> str:
    reason = f": {data['reason']}" if data.get("reason") else ""
    return f"The state of event {data['seq']} was brought back{reason}."


def _forked(data: _Data) -> str:
    source = _Data(data["source"])
    return (
        f"Forked from journal {source['id']} at event {source['seq']} "
        f"(sha256 {str(source['sha256'])[:12]}…); this one got the id {data['id']}."
    )


def _pruned(data: _Data) -> str:
    files = data["files"]
    reason = f": {data['reason']}" if data.get("reason") else ""
    return f"{len(files)} checkpoint{'' if len(files) == 1 else 's'} deleted{reason}."


def _checkpoint(data: _Data) -> str:
    trigger = f": {data['trigger']}" if data.get("trigger") else ""
    return f"Checkpoint ({data['type']}) of event {data['seq']}{trigger}."


_WORDS: dict[str, Callable[[_Data], str]] = {
    CREATED: _created,
    RECOVERED: _recovered,
    LOST: _lost,
    REPAIRED: _repaired,
    ADOPTED: _adopted,
    TAKEN_OVER: _taken_over,
    RESTORED: _restored,
    FORKED: _forked,
    PRUNED: _pruned,
    CHECKPOINT: _checkpoint,
}

TOLD = frozenset(_WORDS)
"""The engine's own types that say what happened to the journal."""
