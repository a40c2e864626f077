"""A stretch of the log whose end is known: read by seq, searched by time, hashed.

I1  It never changes: whoever holds one can read it while others append and rotate. Every call
    opens the segments it needs and closes them again.
I2  What it hands out is checked. `blocks` stops with `Corrupt` at damage and names its place;
    `sifted` goes on behind it.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from journal import plural, recovery, regular, sifting
from journal.errors import Corrupt
from journal.recovery import PUT_BACK_ADVICE
from journal.segment import BadBlock, Block, Position, Segment, list_names, name_of
from journal.sifting import Damage

FOLDER_NAME = "log"
_HASHED_BYTES = 1 << 20


class Head(msgspec.Struct, frozen=True):
    """The end of history at `seq`: `sha256` is of the first `offset` bytes of `segment`."""

    seq: int
    segment: str
    offset: int
    sha256: str


class History(msgspec.Struct, frozen=True):
    """The segments `names` in `folder`, up to `tail` in the last of them."""

    folder: Path
    names: tuple[str, ...]
    tail: Position

    @property
    def last_name(self) -> str:
        """The name of the segment that `tail` lies in."""
        return self.names[-1]

    def blocks(self, after: int, upto: int, *, numbered: bool = True) -> Iterator[Block]:
        """Yield the checked blocks of the events after `after` up to and with `upto`.

        Without `numbered` the caller sees to it that a block has as many events as its seqs say.

        Raises `Corrupt` with the first bad line where a block does not check.
        """
        reached = after
        for name in self._names_between(after, upto):
            with Segment(self.folder / name) as segment:
                if reached + 1 < segment.first_seq:
                    raise recovery.corrupt(gap(segment, reached, segment.first_seq))
                try:
                    size = self.size_of(segment)
                    start, end = segment.start, size
                    if after >= segment.first_seq:
                        start = segment.find_seq(after, size)
                    if upto < self._last_seq_of(name):
                        end = segment.find_seq(upto, size, after=start).offset
                    for block in segment.blocks(start, end, numbered=numbered):
                        yield block
                        reached = block.after.seq
                except BadBlock as error:
                    raise self._damage_at(segment, error) from None
                # A search by seq finds the last line before, where the wanted one is gone.
                last_seq = self._last_seq_of(name)
                if reached < min(upto, last_seq):
                    lost = gap(segment, reached, last_seq + 1, at=size)
                    raise locate(segment, size) or recovery.corrupt(lost)

    def malformed(self, block: Block) -> Corrupt:
        """Return the error for a block that checks, but holds a line that is no event."""
        for piece in self.good_lines(block.before.seq, block.after.seq):
            if isinstance(piece, Damage):
                return recovery.corrupt(piece)
        return changed(self.folder, block.before.offset)

    def sifted(self, after: int, upto: int) -> Iterator[Block | Damage]:
        """Yield each damage, and blocks that hold every good event of the segments in question."""
        return self._pieces(after, upto, sifting.sift)

    def good_lines(self, after: int, upto: int) -> Iterator[Block | Damage]:
        """Yield as `sifted` does; what checks and is no event is damage, so all blocks decode."""
        return self._pieces(after, upto, sifting.decoded)

    def _pieces(self, after: int, upto: int, sift: "sifting.Sift") -> Iterator[Block | Damage]:
        reached = after
        for name in self._names_between(after, upto):
            with Segment(self.folder / name) as segment:
                if reached + 1 < segment.first_seq:
                    yield gap(segment, reached, segment.first_seq)
                size = self.size_of(segment)
                ended = False
                for piece in sift(segment, segment.start, size):
                    yield piece
                    if isinstance(piece, Block):
                        reached = piece.after.seq
                    # Damage that nothing good follows says already that the rest is lost.
                    ended = isinstance(piece, Damage) and piece.last_lost is None
                last_seq = self._last_seq_of(name)
                if reached < last_seq and not ended:
                    yield gap(segment, reached, last_seq + 1, at=size)
                reached = last_seq

    def find_time(self, time: str) -> int:
        """Return the last seq whose time is at most `time`, 0 if there is none."""
        low, high = 0, len(self.names)
        while low < high:
            middle = (low + high) // 2
            with Segment(self.folder / self.names[middle]) as segment:
                header = segment.header()
            if header.time <= time:
                low = middle + 1
            else:
                high = middle
        if not low:
            return 0
        with Segment(self.folder / self.names[low - 1]) as segment:
            try:
                return segment.find_time(time, self.size_of(segment)).seq
            except BadBlock as error:
                raise self._damage_at(segment, error) from None

    def head(self, seq: int) -> Head:
        """Return the end of history as it was at `seq`."""
        name = self._names_between(min(seq, self.tail.seq) - 1, seq)[-1]
        with Segment(self.folder / name) as segment:
            place = self.tail
            if seq < self.tail.seq:
                try:
                    place = segment.find_seq(seq, self.size_of(segment))
                except BadBlock as error:
                    raise self._damage_at(segment, error) from None
            digest = hashlib.sha256()
            for start in range(0, place.offset, _HASHED_BYTES):
                digest.update(segment.read(start, min(start + _HASHED_BYTES, place.offset)))
        return Head(place.seq, name, place.offset, digest.hexdigest())

    def bytes_after(self, seq: int) -> int:
        """Return how many bytes of the log stand behind the line of event `seq`."""
        total = 0
        for name in self._names_between(seq, self.tail.seq):
            with Segment(self.folder / name) as segment:
                size = self.size_of(segment)
                start = 0
                if seq >= segment.first_seq:
                    with contextlib.suppress(BadBlock):
                        start = segment.find_seq(seq, size).offset
                total += size - start
        return total

    def size_of(self, segment: Segment) -> int:
        """Return how many bytes of a segment belong to this stretch."""
        return self.tail.offset if segment.name == self.last_name else segment.size()

    def _names_between(self, after: int, upto: int) -> list[str]:
        return [
            name
            for name in self.names
            if self._last_seq_of(name) > after and int(name[:20]) <= upto
        ]

    def _last_seq_of(self, name: str) -> int:
        following = self.names.index(name) + 1
        if following == len(self.names):
            return self.tail.seq
        return int(self.names[following][:20]) - 1

    def _damage_at(self, segment: Segment, error: BadBlock) -> Corrupt:
        found = locate(segment, self.size_of(segment))
        return found or changed(segment.path, error.at.offset)


def gap(segment: Segment, last_seq: int, first_seq: int, *, at: int = 0) -> Damage:
    """Describe that events are missing before the byte `at` of a segment, with no bytes left."""
    return Damage(
        path=str(segment.path),
        line=segment.count_lines(at) + 1,
        offset=at,
        end=at,
        lines=0,
        first_lost=last_seq + 1,
        last_lost=first_seq - 1,
        why=f"events that should stand {'here' if at else 'before here'} are missing",
        holes=False,
        unended=False,
    )


def locate(segment: Segment, size: int, *, start: Position | None = None) -> Corrupt | None:
    """Walk a segment up to `size` and return the error that names its first bad line, if any."""
    for pieces in (sifting.sift, sifting.walk):
        for piece in pieces(segment, start or segment.start, size):
            if isinstance(piece, Damage):
                return recovery.corrupt(piece)
    return None


def changed(path: Path, offset: int) -> Corrupt:
    """Make the error for a file that somebody changed under us."""
    return Corrupt(
        "the file was changed by another program while it was in use",
        path=path,
        offset=offset,
        advice="Nothing was written. Open the journal again; if that refuses, put the segment "
        "back from a copy.",
    )


def list_segments(folder: Path, *, any_first: bool = False) -> tuple[str, ...]:
    """Return the names of all segments; raises `Corrupt` where there are none.

    The first one must be there too, unless `any_first`: a reader takes what there is.
    """
    regular.check_folder(folder)
    try:
        names = list_names(folder)
    except FileNotFoundError:
        raise Corrupt(
            "the folder of the log is missing",
            path=folder,
            advice=f"{PUT_BACK_ADVICE} Everything else can be rebuilt from the log.",
        ) from None
    if names and (any_first or names[0] == name_of(1)):
        return tuple(names)
    others = sorted(set(os.listdir(folder)) - set(names))
    lost = f"{plural.are(1, int(names[0][:20]) - 1)} missing: " if names else ""
    seen = f" (other files here: {', '.join(others[:5])})" if others else ""
    raise Corrupt(
        f"{lost}there is no segment {name_of(1)}{seen}",
        path=folder,
        seq=1,
        advice=PUT_BACK_ADVICE,
    )
