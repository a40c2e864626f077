"""Whose digest an anchor has, where it is not that of its own event.

I1  A digest that is the head's at another event proves the history up to that one, and that the
    note has another seq. It takes another pass over the log, and only where an anchor fails.
"""

import hashlib
from collections.abc import Collection

import msgspec

from journal.log.history import History
from journal.segment import Segment

NOTED_WRONGLY = "so the seq was noted wrongly"
_READ_BYTES = 8 << 20


class _Line(msgspec.Struct):
    seq: int


_decoder = msgspec.json.Decoder(_Line)


def find_heads(history: History, digests: Collection[str]) -> dict[str, int]:
    """Return digest -> seq for those of the digests that are the head's at an event."""
    wanted = {bytes.fromhex(digest): digest for digest in digests if _is_hex(digest)}
    found: dict[str, int] = {}
    for name in history.names:
        with Segment(history.folder / name) as segment:
            digest, rest, size = hashlib.sha256(), b"", history.size_of(segment)
            for start in range(0, size, _READ_BYTES):
                data = rest + segment.read(start, min(start + _READ_BYTES, size))
                *lines, rest = data.split(b"\n")
                for line in lines:
                    digest.update(line)
                    digest.update(b"\n")
                    if (here := digest.digest()) in wanted and (seq := _seq_of(line)):
                        found[wanted[here]] = seq
    return found


def _is_hex(text: str) -> bool:
    try:
        return len(bytes.fromhex(text)) == hashlib.sha256().digest_size
    except ValueError:
        return False


def _seq_of(line: bytes) -> int:
    try:
        return _decoder.decode(line).seq
    except (msgspec.DecodeError, RecursionError):
        return 0


def say_elsewhere(seq: int | None) -> str:
    """Say that a digest is that of event `seq`, and what follows; nothing for None."""
    if seq is None:
        return ""
    return (
        f". But the sha256 that was noted is the one of event {seq}, {NOTED_WRONGLY}: the history "
        f"up to event {seq} is the one that was noted"
    )
