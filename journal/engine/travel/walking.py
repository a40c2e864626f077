"""Folding event by event: each event, and the state right after it.

I1  The state that is shown is the walk's own: look at it, do not keep or change it.
I2  Backwards goes by spans that grow, the newest first, so that what lies near the end is found
    soon however long the history, and all of it is read once.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from journal import codec
from journal.engine.core import Core
from journal.engine.states import Live
from journal.errors import Corrupt
from journal.event import Event
from projections.projection import Hole

_FIRST_SPAN = 1024
_LONGEST_SPAN = 65_536


class Span(NamedTuple):
    """The events after `after` up to and with `upto`."""

    after: int
    upto: int

    @property
    def is_single(self) -> bool:
        """Whether it has one event only."""
        return self.upto - self.after == 1

    def halves(self) -> "tuple[Span, Span]":
        """Return the older and the newer half."""
        middle = (self.after + self.upto) // 2
        return Span(self.after, middle), Span(middle, self.upto)


def walk(core: Core, live: Live, upto: int) -> Iterator[tuple[Any, Any]]:
    """Yield each event after `live`, decoded typed, with the state after it (I1); uses `live` up.

    Raises `Corrupt` at a `journal.lost`: what the lost events changed is not known.
    """
    try:
        yield from core.projection.apply_each(live.state, typed(core, live.seq, upto))
    except Hole as hole:
        raise lost(core, hole.seq) from None


def lost(core: Core, seq: int) -> Corrupt:
    """Return the error for a walk that has come to lost events."""
    return Corrupt(
        f"the events from {seq} on are lost, so what they changed is not known",
        path=core.path,
        seq=seq,
        advice=f"Ask about the history before event {seq}, or after the next event that carries "
        "the whole state.",
    )


def typed(core: Core, after: int, upto: int) -> Iterator[Any]:
    """Yield the events after `after` up to and with `upto`, decoded typed; folds nothing."""
    for block in core.history.blocks(after, upto):
        try:
            events = core.projection.decode(block.data)
        except ValueError as error:
            raise core.history.malformed(block) from error
        yield from events


def find_event(core: Core, seq: int) -> Event:
    """Return the event `seq` as it stands in the log; raises `Corrupt` where it is lost."""
    for block in core.history.blocks(seq - 1, seq):
        for event in codec.decode_events(block.data):
            if event.seq == seq:
                return event
    raise Corrupt(f"event {seq} is lost", path=core.path, seq=seq)


def spans_backwards(after: int, upto: int) -> Iterator[Span]:
    """Yield the spans from `upto` back to `after`, the newest first (I2)."""
    length = _FIRST_SPAN
    while upto > after:
        start = max(after, upto - length)
        yield Span(start, upto)
        upto, length = start, min(length * 4, _LONGEST_SPAN)
