"""Following the log: a tail that moves on as others append and rotate, without a lock.

I1  The tail stands after a whole append that was checked; everything before it is `history`.
I2  An unfinished end (bytes without LF, an append whose last part is missing) is no damage:
    its writer may be at work. Nor is a torn one, which the next writer cuts (`recovery`). Damage
    is told only when it is the same after reading it again.
"""

import functools
import os
from collections.abc import Iterator
from pathlib import Path

from journal import codec, durable, recovery, sifting
from journal.errors import Corrupt, UnsupportedFormat
from journal.event import CREATED, FORKED, FORMAT, ROTATED, Event, facts
from journal.log.history import History, changed, gap, list_segments, locate
from journal.segment import BadBlock, Block, Position, Segment, list_names, name_of
from journal.sifting import Damage


class Reader:
    """Holds the segment that the tail lies in open."""

    def __init__(self, folder: Path, *, write: bool = False, believed_id: str = "") -> None:
        """Open the last segment; the tail stands before its first event.

        `believed_id` is the journal's id as journal.yaml has it.

        Raises `Corrupt` where there is no first segment, or one whose first line is not whole,
        and `UnsupportedFormat`.
        """
        self.folder = folder
        self._write = write
        self._proven = 0
        self._believed_id = believed_id
        names = list_segments(folder, any_first=not write)
        self.header = self._read_header(folder / names[-1], alone=len(names) == 1)
        self.last = self._open(names[-1])
        self.history = History(folder, names, self.last.start)

    @property
    def tail(self) -> Position:
        """The place after the last event that was taken in."""
        return self.history.tail

    @functools.cached_property
    def journal_id(self) -> str:
        """The journal's id.

        The first event of the last segment has it, but in a fork that has not rotated since: there
        the newest `journal.forked` of that segment gives a new one. What journal.yaml says is
        believed where the first event says the same.
        """
        believed = self._believed_id
        found = "" if self.header is None else str(facts(self.header).get("id", ""))
        if found in ("", believed):
            return found or believed
        with Segment(self.last.path) as segment:
            for piece in sifting.sift(segment, segment.start, segment.size()):
                if isinstance(piece, Block) and b'"journal.forked"' in piece.data:
                    for event in codec.decode_events(piece.data):
                        if event.type == FORKED:
                            found = str(facts(event).get("id", found))
        return found

    def close(self) -> None:
        """Close the descriptor; safe to call again."""
        self.last.close()

    def seek(self, seq: int) -> None:
        """Put the tail after event `seq`, or after the last if there are fewer.

        Where bad lines come before that, it stands before them: whether they are damage, or an
        end that a crash may leave, is for `advance` to say.
        """
        names = list_segments(self.folder, any_first=not self._write)
        before = [name for name in names if int(name[:20]) <= max(seq, 1)]
        self._stand_in(tuple(before or names[:1]))
        if seq < self.last.first_seq:
            return
        try:
            end = self.last.complete_end(0, self.last.size())
            place = self.last.position_after(end)
            if place is None or place.seq > seq:
                place = self.last.find_seq(seq, end)
        except BadBlock as error:
            place = error.at
        self.history = History(self.folder, self.history.names, place)

    def _stand_in(self, names: tuple[str, ...]) -> None:
        old = last = self.last
        if names[-1] != old.name:
            last = self._open(names[-1])
        # The history first: a writer that Ctrl-C stops in between still holds the closed segment,
        # and sees by that what is left to do.
        self.history = History(self.folder, names, last.start)
        self.last = last
        if old is not last:
            old.close()

    def pass_over_damage(self) -> None:
        """Put the tail at the end of the last segment, whatever is damaged before it.

        `history` then reaches over the damage: what is good in it can be read by place.
        """
        names = list_segments(self.folder, any_first=True)
        self._stand_in(names)
        size = self.last.size()
        place = self.last.start._replace(offset=size)
        for piece in sifting.sift(self.last, self.last.start, size):
            if isinstance(piece, Block):
                place = piece.after._replace(offset=size)
        self.history = History(self.folder, names, place)

    def take_in_half(self) -> None:
        """Put the tail after the last good line, though the append that it is of is not whole.

        For a log whose end is gone: it was whole once, so every line of it is an event.
        """
        for piece in sifting.sift(self.last, self.tail, self.last.size()):
            if isinstance(piece, Damage):
                return
            self.history = History(self.folder, self.history.names, piece.after)

    def _read_header(self, path: Path, *, alone: bool) -> Event | None:
        """Return the first event of a segment; None for the only segment if it is empty.

        To a reader a first line that is not whole is damage like any other.
        """
        with Segment(path) as segment:
            if alone and segment.size() == 0:
                return None
            try:
                event = segment.header()
            except Corrupt as error:
                if self._write:
                    raise locate(segment, segment.size()) or error from None
                return None
        if event.type not in (CREATED, ROTATED):
            raise Corrupt(
                f"the first event is {event.type}; {CREATED} or {ROTATED} is expected",
                path=path,
                line=1,
                offset=0,
            )
        if (found := facts(event).get("format")) != FORMAT:
            raise UnsupportedFormat(path=path, found=found)
        return event

    def _open(self, name: str) -> Segment:
        path = self.folder / name
        closed = durable.is_closed(os.stat(path, follow_symlinks=False))
        # A closed segment without a successor is only synced and followed, never written.
        return Segment(path, write=self._write and not closed)

    def advance(self) -> Iterator[Block]:
        """Yield what was appended since; the tail follows.

        Raises `Corrupt` for damage that is still there when read again (I2), and for segments that
        do not follow.
        """
        seen = -1
        later: list[str] = []
        while True:
            # Looked for before reading: a segment is closed before the next one appears, so the
            # old one is then read to its end.
            later = [name for name in later if name > self.last.name] or self._later_names()
            try:
                yield from self._take_in_whole()
            except BadBlock as error:
                if error.at.offset == seen:
                    yield from self._take_in_torn()
                    return
                seen = error.at.offset
                continue
            if not later:
                self._refuse_headless()
                return
            if later[0] != name_of(self.tail.seq + 1):
                with Segment(self.folder / later[0]) as segment:
                    raise recovery.corrupt(gap(segment, self.tail.seq, segment.first_seq))
            self._stand_in((*self.history.names, later[0]))

    def _later_names(self) -> list[str]:
        """Return the segments behind the one that the tail lies in, in order of seq."""
        return [name for name in list_names(self.folder) if name > self.last.name]

    def _take_in_whole(self) -> Iterator[Block]:
        size = self.last.size()
        if size < self.tail.offset:
            raise changed(self.last.path, size)
        yield from self._walk(self.last.complete_end(self.tail.offset, size))

    def _refuse_headless(self) -> None:
        """Raise `Corrupt` for a segment without its first line: no crash of ours leaves that.

        The only segment may be empty: an empty journal.
        """
        if self.tail.offset == 0 and (self.last.size() or len(self.history.names) > 1):
            self.last.header()

    def _take_in_torn(self) -> Iterator[Block]:
        """Take in what stands before a torn end; raises `Corrupt` where it is damage (I2)."""
        seen, damage = None, self._find_damage()
        while damage != seen:  # A writer may be cutting a torn end, and going on behind it.
            seen, damage = damage, self._find_damage()
        if damage is not None and (not damage.torn or damage.offset == 0):
            raise recovery.corrupt(damage)
        end = self.last.size() if damage is None else damage.offset
        try:
            yield from self._walk(self.last.complete_end(self.tail.offset, end))
        except BadBlock as error:
            raise changed(self.last.path, error.at.offset) from None

    def _find_damage(self) -> Damage | None:
        pieces = sifting.sift(self.last, self.tail, self.last.size())
        return next((piece for piece in pieces if isinstance(piece, Damage)), None)

    def _walk(self, end: int) -> Iterator[Block]:
        """Yield the blocks from the tail to `end`, which ends a line; the tail follows."""
        for block in self.last.blocks(self.tail, end):
            self._take(block)
            yield block

    def _take(self, block: Block) -> None:
        self.history = History(self.folder, self.history.names, block.after)
        tail = codec.read_tail(block.data[-256:])
        if tail is not None:
            proven = block.after.seq - tail.part[0] - tail.unsynced
            self._proven = max(self._proven, proven)

    def unfinished_bytes(self) -> int:
        """Return how many bytes stand after the tail that are no whole append yet."""
        return max(0, self.last.size() - self.tail.offset)
