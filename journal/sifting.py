"""Good lines and damage told apart: every byte of a segment is one or the other, in order.

I1  A line is good if it checks from the good line before, or, behind damage, from a bad line's
    stored or recomputed crc, and its seq comes later. Nothing is guessed.
I2  A damage begins at the first bad byte and ends where the next good line begins.

What is to be done about damage stands in `journal.recovery`.
"""

import re
import zlib
from collections.abc import Callable, Generator, Iterator

import msgspec

from journal import codec, plural
from journal.event import LOST
from journal.segment import BadBlock, Block, Position, Segment, lost_upto

CONFLICT = "a git conflict marker"
WIDE = "UTF-16 text, expected UTF-8"
BOM = "a byte order mark (BOM) before a line"
CRLF = "a line end that was converted to CRLF"
CR = "line ends that were converted to CR"

_BASES_KEPT = 16
_TAILS_TRIED = 16  # Data may have members named crc, too.
_LINE_START = b'{"seq":'
_CRC_MEMBER = re.compile(rb',"crc":"([0-9a-f]{8})"\}')

Sift = Callable[[Segment, Position, int], Iterator["Block | Damage"]]
"""How the pieces of a segment are found: `sift`, `decoded` or `walk`."""


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of a segment between good lines that are not the lines they should be.

    `offset` … `end` in bytes; `line` from 1; `lines` how many; `first_lost` the first seq that is
    missing there and `last_lost` the last (None: nothing good follows, so it is not known).
    `holes`: the first bad line has NUL bytes. `unended`: it has no LF, or only blank lines follow.
    """

    path: str
    line: int
    offset: int
    end: int
    lines: int
    first_lost: int
    last_lost: int | None
    why: str
    holes: bool
    unended: bool

    @property
    def torn(self) -> bool:
        """Whether this is the end that a crash may leave: the table cuts it, nothing good follows.

        To a reader that is no damage: the next writer cuts it, and nobody was told of it.
        """
        return self.last_lost is None and (self.unended or self.holes)

    @property
    def loses(self) -> str:
        """Say in words which events are gone."""
        if self.last_lost is None:
            return f"what stood there from event {self.first_lost} on, if anything did"
        if self.last_lost < self.first_lost:
            return "no event"
        return plural.span(self.first_lost, self.last_lost)


def sift(
    segment: Segment, at: Position, size: int, *, numbered: bool = True
) -> Iterator[Block | Damage]:
    """Yield every good line (as blocks) and every damage from the good place `at` up to `size`.

    Without `numbered` the caller sees to it that the seqs of a block are those that are due.

    A line after a bad one is good if it checks from a bad line's stored or recomputed crc, or
    from the last good line (bytes were put in between), and its seq comes later.
    """
    while at.offset < size:
        try:
            # Bytes after the last LF are no line; what stands before them is read as usual.
            end = segment.last_line_end(at.offset, size)
            for block in segment.blocks(at, end, numbered=numbered):
                yield block
                at = block.after
            bad_from = at
        except BadBlock as error:
            bad_from = error.at
        if bad_from.offset == size:
            return
        at = yield from _sift_lines(segment, bad_from, size)


def decoded(segment: Segment, at: Position, size: int) -> Iterator[Block | Damage]:
    """Yield as `sift` does; what checks and is no event is damage, too, so every block decodes."""
    for piece in sift(segment, at, size):
        if isinstance(piece, Block) and not _decodes(piece.data, piece.before.seq):
            yield from walk(segment, piece.before, piece.after.offset)
        else:
            yield piece


def _decodes(lines: bytes, last_seq: int | None = None) -> bool:
    """Say whether each line is an event, of the seq that it begins with and that is due.

    The first one is due behind `last_seq`, if that is given.
    """
    try:
        events = codec.decode_events(lines)
    except ValueError:
        return False
    for line, event in zip(lines.split(b"\n"), events, strict=False):
        head = codec.LINE_HEAD.match(line)
        if head is None or int(head[1]) != event.seq:
            return False
        if last_seq is not None and event.seq != last_seq + 1:
            return False
        last_seq = lost_upto(event) if event.type == LOST else event.seq
    return True


def salvage(data: bytes, crc: int) -> list[bytes]:
    """Return the whole lines of ours in bytes of a damage that stands where the crc is `crc`.

    Such as a line behind a BOM, NUL bytes or a piece of itself, two lines on one, line ends made
    CRLF. Each checks from the one before, so nothing is guessed.
    """
    found: list[bytes] = []
    start = data.find(_LINE_START)
    while start >= 0:
        line = _line_at(data, start, crc)
        if line:
            found.append(line)
            crc = codec.crc_after(int(line[-11:-3], 16))
        start = data.find(_LINE_START, start + max(1, len(line) - 1))
    return found


def _line_at(data: bytes, start: int, crc: int) -> bytes:
    """Return the line that starts there and checks, with its LF; empty if there is none."""
    done = start
    for tail, _ in zip(_CRC_MEMBER.finditer(data, start), range(_TAILS_TRIED), strict=False):
        crc = zlib.crc32(memoryview(data)[done : tail.start()], crc)
        done = tail.start()
        if crc == int(tail[1], 16):
            line = data[start : tail.end()] + b"\n"
            return line if _decodes(line) else b""
    return b""


def walk(segment: Segment, at: Position, size: int) -> Iterator[Block | Damage]:
    """Yield as `sift` does, but line by line: a line that checks and is no event is damage, too.

    For a block that checks and does not decode. No writer of ours leaves such a line.
    """
    while at.offset < size:
        at = yield from _sift_lines(segment, at, size)


def _sift_lines(
    segment: Segment, at: Position, size: int
) -> Generator[Block | Damage, None, Position]:
    """Walk line by line over one damage, until a good line follows it; return where that ends."""
    bad: list[tuple[int, bytes]] = []
    bases = [at.crc]
    first_why = ""
    for offset, line in segment.lines(at.offset, size):
        good, why = _check_line(line, offset, at.seq, bases if bad else [at.crc], following=not bad)
        if good is None:
            bad.append((offset, line))
            first_why = first_why or why
            bases = bases[:1] + (bases[1:] + _bases_after(line, bases))[-_BASES_KEPT:]
            continue
        first = _first_seq(line)
        if bad:
            yield _damage(segment, at, bad, first - 1, first_why)
        # What is lost stands before this line, too: its seq is the next one due.
        yield Block(line, Position(offset, 0, first - 1, at.time), good)
        if bad:
            return good
        at, bases = good, [good.crc]
    if bad:
        yield _damage(segment, at, bad, None, first_why)
    return Position(size, 0, at.seq, at.time)


def _check_line(
    line: bytes, offset: int, last_seq: int, bases: list[int], *, following: bool
) -> tuple[Position | None, str]:
    """Check one line from any of the bases; `following`: its seq must be the very next."""
    if not line.strip():
        return None, "a blank line"
    if not line.endswith(b"\n"):
        return None, CR if b'"}\r{"seq":' in line else "a line without its end"
    tail = codec.read_tail(line)
    if b"\0" in line:
        return None, _name_foreign(line) or "a line with NUL bytes"
    if tail is None:
        return None, _name_foreign(line) or "a line that is not an event of this journal"
    base = next((b for b in bases if _crc_of(line, b) == tail.crc), None)
    if base is None:
        return None, _name_foreign(line) or _name_misplaced(line, last_seq + 1)
    head = codec.LINE_HEAD.match(line)
    try:
        event = codec.decode_event(line)
    except ValueError as error:
        return None, f"a line that is no event ({error})"
    if head is None or int(head[1]) != event.seq:
        return None, f"a line of event {event.seq} that does not begin as such"
    if event.seq <= last_seq or (following and event.seq != last_seq + 1):
        return None, f"event {event.seq} where event {last_seq + 1} is due"
    after = Position(offset + len(line), codec.crc_after(tail.crc), lost_upto(event), event.time)
    return (after if event.type == LOST else after._replace(seq=event.seq)), ""


def _name_foreign(line: bytes) -> str:
    """Name what another program did to a line, where the line shows it; else nothing."""
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
        return CONFLICT
    if line.startswith((b"\xff\xfe", b"\xfe\xff", b'{\0"\0', b'\0{\0"')):
        return WIDE
    if line.startswith(b"\xef\xbb\xbf"):
        return BOM
    if line.endswith(b"}\r\n"):
        return CRLF
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"a line with bytes that are not UTF-8 (0x{line[error.start]:02X} at {error.start})"
    return ""


def _name_misplaced(line: bytes, due: int) -> str:
    """Name which event a line that fails its check is of, where it still shows that."""
    seq = _first_seq(line)
    if not seq:
        return "a line that fails its check"
    if seq == due:
        return f"the line of event {seq} fails its check"
    return f"event {seq} where event {due} is due"


def _crc_of(line: bytes, base: int) -> int:
    return zlib.crc32(memoryview(line)[: -codec.SUFFIX_BYTES], base)


def _bases_after(line: bytes, bases: list[int]) -> list[int]:
    """Return the running crc after a bad line: by its stored crc, and by the recomputed ones."""
    tail = codec.read_tail(line)
    stored = [] if tail is None else [codec.crc_after(tail.crc)]
    return [codec.crc_after(_crc_of(line, bases[-1])), *stored]


def _first_seq(line: bytes) -> int:
    head = codec.LINE_HEAD.match(line)
    return int(head[1]) if head else 0


def _damage(
    segment: Segment,
    at: Position,
    bad: list[tuple[int, bytes]],
    last_lost: int | None,
    why: str,
) -> Damage:
    offset, first = bad[0]
    last_offset, last = bad[-1]
    blank_after = all(not line.strip() for _, line in bad[1:])
    unwhole = codec.read_tail(first) is None and b"\0" not in first
    unended = last_lost is None and (
        not first.endswith(b"\n")
        or (not first.strip() and blank_after)
        or (unwhole and len(bad) > 1 and blank_after)
    )
    return Damage(
        path=str(segment.path),
        line=segment.count_lines(offset) + 1,
        offset=offset,
        end=last_offset + len(last),
        lines=len(bad),
        first_lost=at.seq + 1,
        last_lost=last_lost,
        why=why,
        holes=b"\0" in first,
        unended=unended,
    )
