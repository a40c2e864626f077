"""The blocks of a segment, decoded once for all that verify asks of them.

I1  Every good event comes out, and every damage, as `sifting.sift` finds them; what checks and
    is no event is damage, too.
I2  A block whose seqs are the ones due, none of them lost, is read once. From the first other one
    on the rest of the segment is sifted again, with every line counted.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from journal import sifting
from journal.event import LOST
from journal.segment import Block, Position, Segment
from journal.sifting import Damage
from projections.projection import Projection
from projections.typed_lines import Unknown


class Decoded(NamedTuple):
    """A block and its events; `types` are those of the events that are understood.

    `parts` are the events' parts; None where some event is not understood: see `unknown`.
    `due`: the seqs are the very next ones, without a gap.
    """

    block: Block
    events: list[Any]
    parts: list[tuple[int, int]] | None
    unknown: list[Unknown]
    types: set[str]
    due: bool


def decoded(segment: Segment, size: int, projection: Projection) -> Iterator[Decoded | Damage]:
    """Yield what stands in a segment up to `size`."""
    for piece in sifting.sift(segment, segment.start, size, numbered=False):
        if isinstance(piece, Damage):
            yield piece
            continue
        found = _try(piece, projection)
        if found is None or not found.due or LOST in found.types:
            yield from _counted(segment, piece.before, size, projection)
            return
        yield found


def _counted(
    segment: Segment, at: Position, size: int, projection: Projection
) -> Iterator[Decoded | Damage]:
    for piece in sifting.sift(segment, at, size):
        found = piece if isinstance(piece, Damage) else _try(piece, projection)
        if found is not None:
            yield found
            continue
        assert isinstance(piece, Block)
        for part in sifting.walk(segment, piece.before, piece.after.offset):
            yield part if isinstance(part, Damage) else _decode(part, projection)


def _try(block: Block, projection: Projection) -> Decoded | None:
    try:
        return _decode(block, projection)
    except ValueError:  # A line that checks and is no event.
        return None


def _decode(block: Block, projection: Projection) -> Decoded:
    unknown: list[Unknown] = []
    events = projection.decode_parts(block.data)
    parts = None if events is None else [event.part for event in events]
    if events is None:
        events = projection.decode(block.data, unknown)
    types = {getattr(kind, "type", "") for kind in set(map(type, events)) - {Unknown}}
    seqs = [event.seq for event in events]
    due = seqs == list(range(block.before.seq + 1, block.after.seq + 1))
    return Decoded(block, events, parts, unknown, types, due)
