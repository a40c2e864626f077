"""An event as it stands in the log, a draft of one, and their times.

I1  Members stand in one order: seq, time, type, actor, data, id, cause, part, unsynced, crc.
I2  A time is UTC with milliseconds, `2026-03-01T14:45:00.000Z`, 24 characters, so that times
    compare as text.
I3  Types that start with `journal.` are the engine's; nobody else may append them.

This file reads and writes no bytes of a log; see `journal.codec` and `journal.segment`.
"""

import functools
import re
import time as clock
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec

from journal.errors import JournalError, UsageError

FORMAT = 1
ENGINE_PREFIX = "journal."

CREATED = "journal.created"
ROTATED = "journal.rotated"
FORKED = "journal.forked"
RECOVERED = "journal.recovered"
LOST = "journal.lost"
CHECKPOINT = "journal.checkpoint"
PRUNED = "journal.pruned"
TAKEN_OVER = "journal.taken_over"
ADOPTED = "journal.adopted"
RESTORED = "journal.restored"
REPAIRED = "journal.repaired"

CARRIES_STATE = frozenset({TAKEN_OVER, ADOPTED, RESTORED, REPAIRED})
"""The engine events that `fold` applies itself, for every projection alike."""

Clock = Callable[[], int]
"""Milliseconds since 1970-01-01T00:00:00Z."""

EARLIEST_TIME = "0001-01-01T00:00:00.000Z"


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One event of the log.

    `seq` counts from 1; `time` as in I2; `data` is a JSON value that belongs to the caller;
    `id` is the caller's idempotency key; `cause` the seq that caused it (0: none); `part` is
    (k, n), line k of the n lines of one append; `unsynced` how many lines before this append its
    writer did not know to be on disk; `crc` eight hexadecimal digits (see `journal.codec`).
    """

    seq: int
    time: str
    type: str
    actor: str = ""
    data: Any
    id: str = ""
    cause: int = 0
    part: tuple[int, int] = (1, 1)
    unsynced: int = 0
    crc: str = ""

    @property
    def proves_synced(self) -> int:
        """The seq up to which this line, if good, proves that everything was on disk."""
        return self.seq - self.part[0] - self.unsynced


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """An event that has no seq yet. `time` is empty unless history from elsewhere brings its own.

    `data` is a JSON value or the typed struct of an event.
    """

    type: str
    data: Any
    actor: str = ""
    id: str = ""
    cause: int = 0
    time: str = ""


def facts(event: Event) -> dict[str, Any]:
    """Return the members of an engine event's data; none where it has another shape.

    The engine writes objects, but a line may check that it did not write.
    """
    return event.data if isinstance(event.data, dict) else {}


def is_engine_type(event_type: str) -> bool:
    """Say whether `event_type` is one of the engine's own."""
    return event_type.startswith(ENGINE_PREFIX)


def now_ms() -> int:
    """Milliseconds since 1970, by the machine's clock."""
    return clock.time_ns() // 1_000_000


def format_time(time_ms: int) -> str:
    """Write milliseconds since 1970 as a time of I2; years outside 1 … 9999 are cut to them."""
    second, millisecond = divmod(time_ms, 1000)
    return f"{_format_second(second)}.{millisecond:03d}Z"


@functools.lru_cache(maxsize=16)
def _format_second(second: int) -> str:
    bounded = min(max(second, -62_135_596_800), 253_402_300_799)
    return datetime.fromtimestamp(bounded, UTC).isoformat()[:19]


def parse_time(text: str) -> str:
    """Read an ISO 8601 time and write it as a time of I2; without a zone it is UTC.

    Fractions finer than a millisecond are cut. Raises `UsageError` for anything else.
    """
    if not isinstance(text, str):
        raise UsageError(f"a time is text, not a {type(text).__name__}", key="time")
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!r} is not a time",
            advice="Write it like 2026-03-01T14:45:00Z; without a zone it is UTC.",
        ) from error
    return f"{moment.isoformat()[:19]}.{moment.microsecond // 1000:03d}Z"


def not_before(time: str, now: Clock) -> Clock:
    """Return the clock `now`, or `time` (I2, or empty) while it says an earlier one.

    For words like "2 hours ago": a clock that is behind the last event is wrong.
    """
    return lambda: max(now(), time_to_ms(time)) if time else now()


def read_time(text: str, now: Clock) -> str:
    """Read a time as `parse_time` does, or one told from now: "now", "2 hours ago", "30m".

    Raises `UsageError` for anything else.
    """
    if text.strip().lower() == "now":
        return format_time(now())
    if ago := _AGO.fullmatch(text.strip()):
        count = int(ago["count"]) if ago["count"].isdecimal() else 1
        return format_time(now() - count * _UNIT_MS[ago["unit"][0].lower()])
    try:
        return parse_time(text)
    except UsageError as error:
        raise UsageError(
            error.message,
            advice=f"{error.advice} Or tell how long ago: '2 hours ago', '30m', '4 weeks ago'.",
        ) from error


def time_to_ms(text: str) -> int:
    """Milliseconds since 1970 of a time of I2.

    Raises `JournalError` for a text that is none. Nothing here writes such a time: its line was
    made by hand, with a CRC that fits.
    """
    try:
        moment = datetime.fromisoformat(text)
        return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // _MILLISECOND
    except (ValueError, TypeError) as error:
        raise JournalError(
            f"an event's time is {text!r}, which is no time: it was changed by hand",
            advice="`journal verify` says where; `journal fork DEST --at SEQ` keeps what stands "
            "before it.",
        ) from error


def are_times(texts: list[str]) -> bool:
    """Whether each is a time of I2: a block in one look, and each of its days once."""
    if not _TIMES.fullmatch("".join(texts)):
        return False
    return all(map(_is_day, {text[:10] for text in texts}))


@functools.lru_cache(maxsize=64)
def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


_AGO = re.compile(
    r"(?P<count>[0-9]{1,9}|an?|one)\s*"
    r"(?P<unit>s|sec|second|m|min|minute|h|hour|d|day|w|week)s?(?:\s+ago)?",
    re.ASCII | re.IGNORECASE,
)
_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_MILLISECOND = timedelta(milliseconds=1)
_TIMES = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z)*+"
)
