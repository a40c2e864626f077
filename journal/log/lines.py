"""How the events of one append become its lines: numbered, dated, sealed, ready for one write.

I1  A line is made of the bytes that its data was encoded to before; nothing is encoded twice.
I2  The events that are handed back say what the lines say, member by member; their data is what
    was read back from the bytes, and belongs to the caller. Those of many are decoded from the
    lines, when the caller looks at them (`journal.log.answer`).

It writes nothing; `journal.log.writer` does.
"""

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from journal import codec
from journal.errors import UsageError
from journal.event import CREATED, Event
from journal.log.answer import Answer
from journal.segment import Position

_PART_1 = b',"part":[1'
_PIECE = b',"crc":"%08x"}\n{"seq":%d,"time":"%b%b%b%b'
_NUMBERED = b',"crc":"%08x"}\n{"seq":%d,"time":"%b%b%b,"part":[%d%b'


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """An event to append: its envelope as the caller gave it, and its data as compact JSON.

    `value`: the data read back from these bytes, if it was; `typed`: read as its projection's
    class, for a line of class `line`. `head`: what `codec.head` makes of type and actor, if it was
    made already.
    """

    type: str
    data: bytes
    actor: str = ""
    id: str = ""
    cause: int = 0
    time: str = ""
    value: Any = msgspec.UNSET
    head: bytes = b""
    typed: Any = msgspec.UNSET
    line: Callable[..., Any] = dict


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """Lines that are ready to be written at the tail they were made for, and what they say.

    `typed`: the events as apply functions get them, None if the data of one was not read so.
    """

    lines: bytes
    before: Position
    after: Position
    events: Sequence[Event]
    typed: list[Any] | None


def prepare(draft: Encoded, before: Position, now: str, unsynced: int) -> Prepared:
    """Make the line of one event for the place `before`; its time is `now`, and never goes back."""
    offset, crc, last_seq, last_time = before
    seq, key, cause = last_seq + 1, draft.id, draft.cause
    time = max(draft.time or now, last_time)
    body = b'{"seq":%d,"time":"%b%b%b%b' % (
        seq,
        time.encode(),
        draft.head or codec.head(draft.type, draft.actor),
        draft.data,
        codec.tail(key, cause, (1, 1), unsynced) if unsynced or key or cause else b"",
    )
    crc = zlib.crc32(body, crc)
    suffix = b',"crc":"%08x"}\n' % crc
    value = draft.value
    event = Event(
        seq=seq,
        time=time,
        type=draft.type,
        actor=draft.actor,
        data=codec.decode_value(draft.data) if value is msgspec.UNSET else value,
        id=key,
        cause=cause,
        unsynced=unsynced,
        crc=f"{crc:08x}",
    )
    line = body + suffix
    end = Position(offset + len(line), zlib.crc32(suffix, crc), seq, time)
    typed = draft.typed
    fits = typed is not msgspec.UNSET
    read = [draft.line(seq, time, typed, draft.actor)] if fits else None
    return Prepared(line, before, end, [event], read)


def prepare_all(drafts: Sequence[Encoded], before: Position, now: str, unsynced: int) -> Prepared:
    """Make the lines of several events, one append, as `prepare` does for one.

    Raises `UsageError` where the append is too large.
    """
    count = len(drafts)
    if count == 1:
        return prepare(drafts[0], before, now, unsynced)
    _check_size(drafts)
    offset, crc, seq, time = before
    # The tails of an append are alike, but for the line's number in it.
    behind = codec.tail("", 0, (1, count), unsynced)[len(_PART_1) :]
    stamp, pieces, typed = time.encode(), [], []
    for number, draft in enumerate(drafts, 1):
        seq += 1
        at = draft.time or now
        if at > time:
            time, stamp = at, at.encode()
        head = draft.head or codec.head(draft.type, draft.actor)
        # A piece is the end of the line before and this line up to its crc: one CRC call for both.
        if draft.id or draft.cause:
            own = codec.tail(draft.id, draft.cause, (number, count), unsynced)
            piece = _PIECE % (crc, seq, stamp, head, draft.data, own)
        else:
            piece = _NUMBERED % (crc, seq, stamp, head, draft.data, number, behind)
        if number == 1:
            piece = piece[codec.SUFFIX_BYTES :]
        crc = zlib.crc32(piece, crc)
        pieces.append(piece)
        if draft.typed is not msgspec.UNSET:
            typed.append(draft.line(seq, time, draft.typed, draft.actor))
    suffix = codec.crc_suffix(crc)
    pieces.append(suffix)
    lines = b"".join(pieces)
    end = Position(offset + len(lines), zlib.crc32(suffix, crc), seq, time)
    read = typed if len(typed) == count else None
    return Prepared(lines, before, end, Answer(lines, count), read)


def _check_size(drafts: Sequence[Encoded]) -> None:
    size = sum([len(draft.data) for draft in drafts])
    if size > codec.MAX_APPEND_BYTES:
        raise UsageError(
            f"an append of {size:,} bytes; {codec.MAX_APPEND_BYTES:,} are allowed",
            advice="Append it in several batches.",
        )


def first_lines(data: dict[str, object], further: Sequence[Encoded], *, time: str) -> bytes:
    """Make the first line of a log, `journal.created`, and behind it one append of `further`."""
    created = Encoded(CREATED, codec.encode_value(data))
    start = prepare(created, Position(0, 0, 0, ""), time, 0)
    if not further:
        return start.lines
    dated = [msgspec.structs.replace(draft, time="") for draft in further]
    return start.lines + prepare_all(dated, start.after, time, 0).lines
