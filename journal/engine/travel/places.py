"""Names for places in a history: a seq, `head`, `head~3`, a time, how long ago, a checkpoint.

I1  Only digits are a seq. A checkpoint goes by its file name, its trigger, or its type; of several
    the newest counts. A time without a zone is UTC, and the last event by then counts.
"""

import re
from collections.abc import Callable

from journal.engine.reports import CheckpointInfo
from journal.errors import UsageError
from journal.event import Clock, format_time, parse_time

_DIGITS = re.compile(r"[0-9]+")
_MAX_DIGITS = 20
_HEAD = re.compile(r"head(?:~([0-9]{1,19}))?")
_AGO = re.compile(
    r"(?P<count>[0-9]+|an?|one)\s*"
    r"(?P<unit>s|sec|second|m|min|minute|h|hour|d|day|w|week)s?(?:\s+ago)?",
    re.IGNORECASE,
)
_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def find_seq(
    place: int | str,
    *,
    last: int,
    find_time: Callable[[str], int],
    checkpoints: Callable[[], list[CheckpointInfo]],
    clock: Clock,
) -> int:
    """Return the seq that `place` names, 0 … `last`.

    `find_time` gives the last seq by a time. Raises `UsageError` for what names no place.
    """
    if isinstance(place, int):
        return _check(place, last)
    text = place.strip()
    if _DIGITS.fullmatch(text):
        # More digits than a seq can have need not be read as a number.
        return _check(int(text) if len(text) < _MAX_DIGITS else last + 1, last)
    if head := _HEAD.fullmatch(text):
        return _check(last - int(head[1] or 0), last)
    if (seq := _find_checkpoint(text, checkpoints())) is not None:
        return seq
    return find_time(read_time(text, clock))


def _check(seq: int, last: int) -> int:
    if not 0 <= seq <= last:
        raise UsageError(
            f"there is no event {seq}: history is from 1 to {last} (0 is before the first)",
            key="seq",
        )
    return seq


def _find_checkpoint(text: str, found: list[CheckpointInfo]) -> int | None:
    for one in reversed(found):
        if text in (one.file, one.trigger):
            return one.seq
    return next((one.seq for one in reversed(found) if one.type == text), None)


def read_time(text: str, clock: Clock) -> str:
    """Read a time, or how long ago ("2 hours ago", "30m"); raises `UsageError`."""
    if text.strip().lower() == "now":
        return format_time(clock())
    if ago := _AGO.fullmatch(text.strip()):
        count = int(ago["count"]) if ago["count"].isdecimal() else 1
        return format_time(clock() - count * _MS[ago["unit"][0].lower()])
    try:
        return parse_time(text)
    except UsageError as error:
        raise UsageError(
            f"{text!r} is no place in the history",
            key="place",
            advice="Give a seq, head, head~3, the name of a checkpoint, a time like "
            "2026-03-01T14:45:00Z, or how long ago: '2 hours ago'.",
        ) from error
