"""The account of a journal as data; times as in `journal.event`, durations in milliseconds."""

import msgspec

from journal.engine.reports import Problem
from journal.log.history import Head

OTHERS = "(others)"
"""Stands for the names that came after the first two hundred."""

MOST_COUNTED = 20_000
"""So many of those others are told apart, and no more."""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many there are of what, all of it counted here and nowhere else.

    Events and types are the users' or the engine's own (`journal.…`); `actors` have a name,
    `without_actor` are the users' events that name none. `other_types` and `other_actors` of them
    stand in the lists as `OTHERS` (they are counted up to `MOST_COUNTED`). `gaps` are times
    without an event.
    """

    own_events: int = 0
    engine_events: int = 0
    own_types: int = 0
    engine_types: int = 0
    other_types: int = 0
    actors: int = 0
    other_actors: int = 0
    without_actor: int = 0
    gaps: int = 0


class Named(msgspec.Struct, kw_only=True):
    """A type or an actor: how many events, from when to when, and of which actors or types.

    `with_whom` has the most frequent of `with_count` actors or types; `bins` is how many events
    fell into each part of the timeline.
    """

    name: str
    count: int = 0
    first_seq: int = 0
    first_time: str = ""
    last_seq: int = 0
    last_time: str = ""
    with_whom: dict[str, int] = {}
    with_count: int = 0
    bins: list[int] = []


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A time in which nothing was appended: after event `after_seq`, up to the next one."""

    after_seq: int
    from_time: str
    to_time: str
    length_ms: int


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """One of the engine's own events that says what happened to the journal."""

    seq: int
    time: str
    type: str
    actor: str
    words: str


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A file in quarantine/: `seq` is the event that tells of it, if one does; `words` say what.

    `time` is when it was put there, as far as its name or the file system tells.
    """

    name: str
    size_bytes: int
    time: str
    seq: int | None = None
    words: str


class SegmentLine(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the log; `sha256` as the segment after it names it, empty for the last."""

    name: str
    first_seq: int
    last_seq: int
    size_bytes: int
    sha256: str


class Audit(msgspec.Struct, kw_only=True):
    """The account of a journal.

    `made` is when this account was written. `head` and the sha256 of each segment are anchors:
    noted elsewhere, they prove later that nothing up to there was changed. `bins` is how many parts
    the timeline has, from `first_time` to `last_time`; `rhythm` counts events by weekday (from
    Monday) and hour, in UTC. `happenings` are the newest of each type, `told` counts all;
    `quarantine` has the newest files of `quarantine_count`; `problems` is damage that was met.
    """

    path: str
    id: str
    projection: str
    format: int
    durability: str
    made: str
    events: int = 0
    lost: int = 0
    counts: Counts = Counts()
    first_time: str = ""
    last_time: str = ""
    synced: int = 0
    log_bytes: int = 0
    head: Head | None = None
    bins: int = 0
    types: list[Named] = []
    actors: list[Named] = []
    rhythm: list[list[int]] = []
    gaps: list[Gap] = []
    happenings: list[Happening] = []
    told: dict[str, int] = {}
    quarantine: list[Kept] = []
    quarantine_count: int = 0
    segments: list[SegmentLine] = []
    problems: list[Problem] = []
