"""What `log` looked through, and what it says on stderr where none of it was wanted.

I1  It is for people: stdout stays empty and the exit code 0, since nothing is wrong.
I2  It knows only what was looked at anyway; nothing is read for it.
"""

import contextlib
from typing import TYPE_CHECKING

from journal import plural
from journal.errors import Corrupt
from journal.event import Event
from journal.log.history import History
from journal.segment import Segment

if TYPE_CHECKING:
    from journal.cli.listing import Wanted

_MOST_NAMED = 12


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

    def describe(self, wanted: "Wanted", touching: str | None, history: History) -> str:
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
