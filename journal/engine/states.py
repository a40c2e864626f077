"""The state at any seq: the nearest snapshot at or before it, and a fold of the rest.

I1  A snapshot is used only if its projection and revision are ours and its sha256 holds.
I2  Where events are lost (`journal.lost`) the state is unknown until an event carries it whole;
    asking for a state in between raises `Corrupt`.
I3  Every state handed out is the receiver's own.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from journal import codec, plural
from journal.errors import Corrupt
from journal.event import CARRIES_STATE, LOST, facts
from journal.log.history import History
from journal.segment import Block, lost_upto
from projections.projection import Hole, Projection
from projections.typed_lines import Unknown
from snapshots.store import Store


class Live(msgspec.Struct):
    """A state and the last event in it.

    `unknown`: type -> how many events up to there were not understood and left the state alone.
    """

    state: Any
    seq: int
    time: str = ""
    unknown: dict[str, int] = {}

    def count(self, unknown: list[Unknown]) -> None:
        """Take in events that were not understood."""
        for event in unknown:
            self.unknown[event.type] = self.unknown.get(event.type, 0) + 1


class Fold:
    """A fold under way: blocks go in, the state is at the end of the last one."""

    def __init__(
        self, projection: Projection, live: Live, unknown: list[Unknown] | None = None
    ) -> None:
        """Start from `live`, which the fold then owns."""
        self._projection = projection
        self._live = live
        self._unknown = unknown
        self._hole: tuple[int, int] | None = None

    def add_decoded(self, events: list[Any], seq: int, time: str) -> None:
        """Apply events up to `seq` that are decoded: none is lost, and the fold is in no hole."""
        live = self._live
        live.state = self._projection.apply(live.state, events)
        live.seq, live.time = seq, time

    def add(self, block: Block) -> None:
        """Apply the events of a block; raises `ValueError` where its seqs do not add up."""
        live, projection = self._live, self._projection
        if self._hole is None:
            events = self._decode(block.data)
            try:
                live.state = projection.apply(live.state, events, to_hole=True)
                if len(events) != block.after.seq - block.before.seq:
                    raise ValueError("the seqs of a block and the number of its lines differ")
            except Hole as hole:
                self._add_holed(block.data, hole.seq)
        else:
            self._add_holed(block.data, block.before.seq + 1)
        live.seq, live.time = block.after.seq, block.after.time

    def _add_holed(self, lines: bytes, start: int) -> None:
        """Go on from seq `start`, in a hole, to the next event with the whole state (I2)."""
        for line in _lines(lines):
            event = codec.decode_event(line)
            if event.seq < start:
                continue
            if event.type == LOST:
                self._hole = (event.seq, lost_upto(event))
            elif event.type in CARRIES_STATE and "state" in facts(event):
                self._hole = None
            if self._hole is None:
                events = self._decode(line)
                self._live.state = self._projection.apply(self._live.state, events)

    def _decode(self, lines: bytes) -> list[Any]:
        unknown: list[Unknown] = []
        events = self._projection.decode(lines, unknown)
        if unknown:
            self._live.count(unknown)
            if self._unknown is not None:
                self._unknown += unknown
        return events

    @property
    def in_hole(self) -> bool:
        """Say whether the state is unknown where the fold stands (I2)."""
        return self._hole is not None

    def result(self, folder: Path) -> Live:
        """Return the state; raises `Corrupt` inside a hole (I2)."""
        if self._hole is not None:
            first, last = self._hole
            raise Corrupt(
                f"{plural.are(first, last)} lost, so the state at event {self._live.seq} "
                "is not known",
                path=folder,
                seq=first,
                advice="States before the loss, and from the next event that carries the whole "
                "state, can be had.",
            )
        return self._live


def _lines(block: bytes) -> list[bytes]:
    return [line + b"\n" for line in block.split(b"\n")[:-1]]


class States:
    """Where states come from, for one projection and one folder of snapshots."""

    def __init__(self, projection: Projection, store: Store) -> None:
        """Read nothing yet."""
        self._projection = projection
        self._store = store

    def base(self, upto: int) -> Live:
        """Return the newest usable snapshot at or before `upto`, else the initial state."""
        if upto > 0:
            found = self._store.newest(
                upto, projection=self._projection.name, revision=self._projection.revision
            )
            if found is not None:
                unknown = dict(found.extra.get("unknown", {}))
                return Live(found.state(), found.seq, found.timestamp, unknown)
        return self.initial()

    def initial(self) -> Live:
        """Return the state before the first event."""
        return Live(self._projection.initial(), 0)

    def at(self, history: History, seq: int, *, base: Live | None = None) -> Live:
        """Return the state at `seq`, folded from `base` or the nearest snapshot."""
        start = base if base is not None else self.base(seq)
        return self.fold(history, start, seq)

    def fold(
        self,
        history: History,
        start: Live,
        upto: int,
        unknown: list[Unknown] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Live:
        """Fold the events after `start` up to and with `upto`; `start` is used up."""
        fold = Fold(self._projection, start, unknown)
        if start.seq < upto:
            for block in history.blocks(start.seq, upto, numbered=False):
                try:
                    fold.add(block)
                except ValueError as error:
                    raise history.malformed(block) from error
                if progress is not None:
                    progress(block.after.seq, upto)
        return fold.result(history.folder)
