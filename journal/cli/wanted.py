"""Which events `log` is asked for, and what it says where none of those it looked through is one.

I1  Those words are for people: stdout stays empty and the exit code 0, since nothing is wrong.
I2  They tell only of what was looked at anyway; nothing is read for them.
"""

import contextlib
import re
from typing import NamedTuple

from journal import codec, plural
from journal.cli.effects import Line
from journal.errors import Corrupt
from journal.event import Event
from journal.log.history import History
from journal.segment import Position, Segment

NO_END = 2**62
_MOST_NAMED = 12


class Wanted(NamedTuple):
    """Which events are wanted: a stretch, of it those of some types and actors (none: all).

    `grep` is looked for in the line as it stands in the log, up to its crc. `sought` is told of
    what was looked at.
    """

    after: int = 0
    upto: int = NO_END
    since: str = ""
    until: str = ""
    types: frozenset[str] = frozenset()
    actors: frozenset[str] = frozenset()
    grep: re.Pattern[str] | None = None
    sought: "Sought | None" = None

    def takes(self, found: Line) -> bool:
        """Say whether a line is wanted."""
        event, line = found
        if self.sought is not None:
            self.sought.see(event)
        if not self.fits(event):
            return False
        return self.grep is None or bool(self.grep.search(line[: -codec.SUFFIX_BYTES].decode()))

    def fits(self, event: Event) -> bool:
        """Say whether an event is wanted."""
        return (
            self.after < event.seq <= self.upto
            and event.time >= self.since
            and not self.is_behind(event)
            and (not self.types or event.type in self.types)
            and (not self.actors or event.actor in self.actors)
        )

    def is_behind(self, event: Event) -> bool:
        """Say whether an event, and so every later one, comes after what is wanted."""
        return event.seq > self.upto or bool(self.until and event.time > self.until)

    def ends_before(self, tail: Position) -> bool:
        """Say whether nothing that is wanted can come behind `tail`."""
        return tail.seq >= self.upto or bool(self.until and tail.time > self.until)


class Sought:
    """Counts what is looked at, with the types and actors in it."""

    def __init__(self) -> None:
        """Nothing was looked at yet."""
        self._types: set[str] = set()
        self._actors: set[str] = set()
        self.first = 0
        self.last = 0

    def see(self, event: Event) -> None:
        """Take in an event that was looked at."""
        self._types.add(event.type)
        self._actors.add(event.actor)
        self.first = min(self.first, event.seq) if self.first else event.seq
        self.last = max(self.last, event.seq)

    def describe(self, wanted: Wanted, touching: str | None, history: History) -> str:
        """Say that none of it is wanted, and what there is instead."""
        if not self.first:
            tail = history.tail
            return (
                f"there is no event in that stretch: history is from event 1{_begun(history)} "
                f"to event {tail.seq:,}, at {tail.time}"
            )
        asked = [
            _either("is of type", wanted.types),
            _either("is by actor", wanted.actors),
            "" if wanted.grep is None else f"has {wanted.grep.pattern!r} in its line",
            "" if touching is None else f"changed what is at {touching!r}",
        ]
        words = " and ".join(filter(None, asked))
        words = f"looked at {plural.span(self.first, self.last)}: none {words}".rstrip()
        if not self._types.issuperset(wanted.types):
            words += f"; the types there: {_name(self._types)}"
        if not self._actors.issuperset(wanted.actors):
            words += f"; the actors there: {_name(self._actors - {''}) or 'none'}"
        return words


def _begun(history: History) -> str:
    with contextlib.suppress(Corrupt), Segment(history.folder / history.names[0]) as segment:
        return f", at {segment.header().time},"
    return ""


def _either(start: str, names: frozenset[str]) -> str:
    return f"{start} {' or '.join(map(repr, sorted(names)))}" if names else ""


def _name(names: set[str]) -> str:
    shown = sorted(names)[:_MOST_NAMED]
    return ", ".join([*shown, "…"] if len(names) > len(shown) else shown)
