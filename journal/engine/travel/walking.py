"""Folding event by event, with the state before and after each, forwards or by stretches backwards.

I1  The state that is shown is the walk's own: look at it, do not keep or change it.
I2  Backwards goes by the stretches between usable snapshots, the newest first; each is folded
    forwards once. So what lies near the end is found soon, however long the history.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from journal import codec
from journal.engine.core import Core
from journal.engine.states import Live
from journal.errors import Corrupt
from journal.event import LOST, Event


class Step(NamedTuple):
    """An event and the state right after it."""

    event: Event
    state: Any


class Stretch(NamedTuple):
    """The events after `after` up to and with `upto`."""

    after: int
    upto: int


def walk(core: Core, after: int, upto: int, *, start: Live | None = None) -> Iterator[Step]:
    """Yield each event after `after` up to `upto` with the state after it (I1).

    Raises `Corrupt` at a `journal.lost` that no event after it mends.
    """
    live = start or core.states.at(core.history, after)
    for block in core.history.blocks(after, upto):
        typed = core.projection.decode(block.data)
        for event, plain in zip(typed, codec.decode_events(block.data), strict=True):
            if plain.type == LOST:
                raise Corrupt(
                    f"events {plain.seq} to {plain.data.get('upto')} are lost, so what they "
                    "changed is not known",
                    path=core.path,
                    seq=plain.seq,
                    advice="Ask about the history before or after them.",
                )
            live.state = core.projection.apply(live.state, [event])
            yield Step(plain, live.state)


def stretches(core: Core, after: int, upto: int) -> Iterator[Stretch]:
    """Yield the stretches between snapshots from `upto` back to `after`, the newest first (I2)."""
    seqs = sorted({entry.seq for entry in core.store.list()}, reverse=True)
    end = upto
    for seq in seqs:
        if after < seq < end:
            yield Stretch(seq, end)
            end = seq
    if end > after:
        yield Stretch(after, end)
