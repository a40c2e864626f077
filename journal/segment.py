"""One file of the log: its name, its lines and how they are read, found and checked.

    log/00000000000000000001.jsonl          named after the first seq in it, 20 digits

I1  Lines end with LF and with nothing else; no other module reads lines.
I2  Reading goes by blocks of whole lines, checked by one CRC call each. What a block hands out
    has been checked; the first block that fails raises `BadBlock` with where it starts.
I3  An append is whole or it is not there: `complete_end` never lies inside one.
I4  Reads use pread on one descriptor; a reader never changes a file.

Lines are found without an index, by binary search on offsets: seq and time only grow.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from journal import codec, regular
from journal.errors import Corrupt
from journal.event import LOST, Event

BLOCK_BYTES = 256 << 10
MAX_SEQ = 10**20 - 1
_SEARCH_BYTES = 4 << 10
_WINDOW_BYTES = 16 << 10
_LINE_START = b'{"seq":'
_NEXT_LINE = b"\n" + _LINE_START
_NAME = re.compile(r"([0-9]{20})\.jsonl")


class Position(NamedTuple):
    """A place between two lines: where it is, and what stands before it.

    `offset` in bytes; `crc` over everything before; `seq` and `time` of the last line before.
    """

    offset: int
    crc: int
    seq: int
    time: str


class Block(NamedTuple):
    """Whole, checked lines from `before` to `after`."""

    data: bytes
    before: Position
    after: Position


class BadBlock(Exception):
    """The block that starts at `at` does not check."""

    def __init__(self, at: Position) -> None:
        super().__init__(at)
        self.at = at


def name_of(first_seq: int) -> str:
    """Return the file name of the segment whose first event has this seq."""
    return f"{first_seq:020d}.jsonl"


def is_name(name: str) -> bool:
    """Say whether a segment can have this name: what a line names may lead anywhere."""
    return _NAME.fullmatch(name) is not None


def list_names(folder: str | os.PathLike[str]) -> list[str]:
    """Return the names of the segments in a folder, in order of seq."""
    return sorted(name for name in os.listdir(folder) if _NAME.fullmatch(name))


class Segment:
    """A segment opened for reading or for writing; it holds one descriptor until `close`."""

    def __init__(self, path: Path, *, write: bool = False, name: str = "") -> None:
        """Open the file; raises `OSError` as `regular.open_file` does.

        `name` is the segment's, where the file lies elsewhere under another one.
        """
        self.path = path
        self.name = name or path.name
        self.first_seq = int(self.name[:20])
        self.path_text = os.fspath(path)
        self.fd, found = regular.open_with_stat(path, write=write)
        self.inode, self.device = found.st_ino, found.st_dev

    def close(self) -> None:
        """Close the descriptor; safe to call again."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> "Segment":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def start(self) -> Position:
        """The place before the first line."""
        return Position(0, 0, self.first_seq - 1, "")

    def stat(self) -> os.stat_result:
        """Return the stat of the open file."""
        return os.fstat(self.fd)

    def size(self) -> int:
        """Return the size in bytes."""
        return os.fstat(self.fd).st_size

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end`, exclusive."""
        return regular.read_range(self.fd, start, end)

    # --- blocks ----------------------------------------------------------------------------------

    def blocks(self, at: Position, end: int, *, numbered: bool = True) -> Iterator[Block]:
        """Yield the checked blocks from `at` up to the offset `end`, which ends a line (I2).

        `numbered`: also count the lines against the seqs; who decodes them can do it for nothing.
        """
        while at.offset < end:
            data = self._whole_lines(at.offset, end)
            crc = codec.check_block(data, at.crc)
            if crc is None:
                raise BadBlock(at)
            after = self._after_last_line(data, at.offset, crc)
            if after is None or (numbered and not _follow(data, at, after)):
                raise BadBlock(at)
            yield Block(data, at, after)
            at = after

    def whole_block(self, data: bytes, before: Position) -> Block | None:
        """Return the block that `data` is; None unless it is good, and whole appends (I3)."""
        tail = codec.read_tail(data)
        if tail is None or tail.part[0] != tail.part[1]:
            return None
        crc = codec.check_block(data, before.crc)
        after = None if crc is None else self._after_last_line(data, before.offset, crc)
        if after is None or after.seq - before.seq != data.count(b"\n"):
            return None
        return Block(data, before, after)

    def _whole_lines(self, start: int, end: int) -> bytes:
        size = BLOCK_BYTES
        while True:
            data = self.read(start, min(start + size, end))
            cut = data.rfind(b"\n") + 1
            if cut == len(data):
                return data
            if cut:
                return data[:cut]
            if start + size >= end:
                return data
            size *= 4

    def _after_last_line(self, data: bytes, offset: int, crc: int) -> Position | None:
        line_start = data.rfind(b"\n", 0, -1) + 1
        head = codec.LINE_HEAD.match(data, line_start)
        if head is None:
            return None
        seq = int(head[1])
        if head[3] == LOST.encode():
            try:
                seq = lost_upto(codec.decode_event(data[line_start:]))
            except ValueError:
                return None
        return Position(offset + len(data), crc, seq, head[2].decode())

    def lines(self, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, raw bytes with the LF) of each line, unchecked; the last may lack its LF.

        For looking at damage. Needs the memory of the longest line.
        """
        while start < end:
            data = self._whole_lines(start, end)
            if not data:
                return  # Somebody has made the file shorter; who reads it for its end will see.
            offset = 0
            while offset < len(data):
                cut = data.find(b"\n", offset) + 1 or len(data)
                yield start + offset, data[offset:cut]
                offset = cut
            start += len(data)

    def count_lines(self, end: int) -> int:
        """Return how many LF stand before the offset `end`."""
        count = 0
        for start in range(0, end, BLOCK_BYTES):
            count += self.read(start, min(start + BLOCK_BYTES, end)).count(b"\n")
        return count

    def header(self) -> Event:
        """Return the first event, checked; raises `Corrupt` where it is not whole."""
        end = self._line_end(0, self.size())
        line = self.read(0, end)
        why = "the first line of the segment is not whole"
        if line.endswith(b"\n") and codec.check_block(line, 0) is not None:
            try:
                return codec.decode_event(line)
            except ValueError as error:
                why = f"the first line of the segment checks and is no event: {error}"
        advice = "Look at `journal repair --dry-run`."
        raise Corrupt(why, path=self.path, line=1, offset=0, advice=advice)

    # --- places ----------------------------------------------------------------------------------

    def complete_end(self, start: int, size: int) -> int:
        """Return the offset after the last whole append in [start, size); `start` if none (I3).

        It reads the last members of the last line only; the CRC says later whether they are true.
        """
        end = self.last_line_end(start, size)
        if end == start:
            return start
        tail = codec.read_tail(self.read(max(start, end - 128), end))
        if tail is None or tail.part[0] >= tail.part[1]:
            return end
        for _ in range(tail.part[0]):
            end = self._line_start(start, end)
        return end

    def position_after(self, offset: int) -> Position | None:
        """Return the position at `offset` if a whole line ends there, trusting its crc."""
        if offset == 0:
            return self.start
        line_start = self._line_start(0, offset)
        return self._place_after(self.read(line_start, offset), line_start)

    def _place_after(self, line: bytes, offset: int) -> Position | None:
        """Return the position after a whole line that starts at `offset`, trusting its crc."""
        tail = codec.read_tail(line)
        if tail is None:
            return None
        return self._after_last_line(line, offset, codec.crc_after(tail.crc))

    def last_line_end(self, start: int, size: int) -> int:
        """Return the offset after the last LF in [start, size); `start` if there is none."""
        end, window = size, _SEARCH_BYTES
        while end > start:
            low = max(start, end - window)
            found = self.read(low, end).rfind(b"\n")
            if found >= 0:
                return low + found + 1
            end, window = low, window * 4
        return start

    def _line_start(self, floor: int, end: int) -> int:
        """Return where the line starts whose LF is the byte before `end`."""
        return self.last_line_end(floor, end - 1)

    def _line_end(self, start: int, size: int) -> int:
        window = _SEARCH_BYTES
        while start < size:
            found = self.read(start, min(start + window, size)).find(b"\n")
            if found >= 0:
                return start + found + 1
            start, window = start + window, window * 4
        return size

    # --- search ----------------------------------------------------------------------------------

    def find_seq(self, seq: int, size: int, *, after: Position | None = None) -> Position:
        """Return the position after the last line whose seq is at most `seq`.

        `after` is a position that is known to stand before it. Raises `BadBlock` where damage
        stands before that line.
        """
        low = self.start if after is None else after
        near = self._guess(seq, size, low)
        return self._find_or_walk(
            lambda line_seq, _: line_seq <= seq, size, upto=seq, low=low.offset, near=near
        )

    def _guess(self, seq: int, size: int, low: Position) -> int:
        """Return about where a seq stands, if all lines were of one length; 0 if that is short."""
        if size - low.offset <= _WINDOW_BYTES:
            return 0
        head = codec.LINE_HEAD.match(self.read(self._line_start(low.offset, size), size))
        last_seq = int(head[1]) if head else 0
        if last_seq <= low.seq:
            return 0
        return low.offset + (size - low.offset) * (seq - low.seq) // (last_seq - low.seq)

    def find_time(self, time: str, size: int) -> Position:
        """Return the position after the last line whose time is at most `time`.

        Raises `BadBlock` where damage stands before the line after it.
        """
        return self._find_or_walk(lambda _, line_time: line_time <= time, size)

    def _find_or_walk(
        self,
        fits: Callable[[int, str], bool],
        size: int,
        *,
        upto: int = MAX_SEQ,
        low: int = 0,
        near: int = 0,
    ) -> Position:
        """Search, or walk line by line from the start where damage is in the way of a search."""
        try:
            return self._find(fits, size, low=low, near=near)
        except BadBlock:
            place = self.start
        for offset, line in self.lines(0, size):
            head = codec.LINE_HEAD.match(line)
            if place.seq >= upto or (head and not fits(int(head[1]), head[2].decode())):
                break
            crc = codec.check_block(line, place.crc)
            after = None if crc is None else self._after_last_line(line, offset, crc)
            if after is None:
                raise BadBlock(place)
            place = after
        return place

    def _find(
        self, fits: Callable[[int, str], bool], size: int, *, low: int = 0, near: int = 0
    ) -> Position:
        """Return the position after the last line that fits; lines fit up to some place.

        `size` ends a line, and so does `low`, up to which they fit. The search goes out from
        `near`, further each time, and by halves once the place lies between two probes. Raises
        `BadBlock` at the segment's start where a probed line has no readable head: there is
        damage, and only a walk from the start can pass it.
        """
        high, reach = size, _WINDOW_BYTES // 2
        middle = near
        while high - low > _WINDOW_BYTES:
            if not low < middle < high:
                middle = (low + high) // 2
            line_start = self._line_end(middle - 1, high)
            reach *= 2
            if line_start >= high:
                high = middle
                middle -= reach
                continue
            head = codec.LINE_HEAD.match(self.read(line_start, line_start + 256))
            if head is None:
                raise BadBlock(self.start)
            if fits(int(head[1]), head[2].decode()):
                low = line_start
                middle = line_start + reach
            else:
                high = middle
                middle -= reach
        return self._find_in_window(fits, low, high, size)

    def _find_in_window(
        self, fits: Callable[[int, str], bool], low: int, high: int, size: int
    ) -> Position:
        """Search the lines from `low` to the one that `high` lies in, read by one call."""
        data = self.read(low, self._line_end(max(low, high - 1), size))
        whole = data.startswith(_LINE_START) and data.count(_NEXT_LINE) == data.count(b"\n", 0, -1)
        if data and not whole:
            raise BadBlock(self.start)  # Halves would miss a line without a head.
        before, last, end = 0, 0, len(data)
        while last < end:
            # The line in the middle, or the first one where the middle lies in no later one.
            start = data.find(b"\n", (last + end) // 2 - 1, end) + 1
            if not last < start < end:
                start = last
            head = codec.LINE_HEAD.match(data, start)
            if head is None:
                raise BadBlock(self.start)
            if fits(int(head[1]), head[2].decode()):
                before, last = start, data.find(b"\n", start) + 1 or len(data)
            else:
                end = start
        line = data[before:last]
        found = self._place_after(line, low + before) if line else self.position_after(low)
        if found is None:
            raise BadBlock(self.start)
        return found


def _follow(data: bytes, before: Position, after: Position) -> bool:
    """Say whether the seqs of a block start right and number as many as its lines."""
    head = codec.LINE_HEAD.match(data)
    if head is None or int(head[1]) != before.seq + 1:
        return False
    missing = after.seq - before.seq - data.count(b"\n")
    if missing and b'"type":"journal.lost"' in data:
        try:
            events = codec.decode_events(data)
        except ValueError:
            return False
        missing -= sum(lost_upto(event) - event.seq for event in events if event.type == LOST)
    return not missing


def lost_upto(event: Event) -> int:
    """Return the last seq that a `journal.lost` line stands for."""
    upto = event.data.get("upto") if isinstance(event.data, dict) else None
    return upto if isinstance(upto, int) and upto >= event.seq else event.seq
