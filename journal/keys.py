"""Idempotency keys over the whole history: was this `id` seen before, and by which event?

    log/00000000000000000001.ids      beside each closed segment, derived from it

A file is a head of 28 bytes (magic, size of the segment, number of hashes, CRC-32 of the hashes)
and the 8-byte BLAKE2b hashes of the segment's keys, sorted.

I1  A hash only says where to look; the event itself decides.
I2  A file that is missing, cannot be read, or does not fit its segment, is made anew from the
    segment; that it cannot be written is no failure.
I3  The keys of the open segment are in memory, read when the first key is asked for.
"""

import contextlib
import hashlib
import os
import struct
import zlib
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path

import msgspec
import orjson

from journal import codec, durable, regular
from journal.event import Event
from journal.segment import Position, Segment

_HEAD = struct.Struct(">8sQQI")
_MAGIC = b"jrnlids1"
_HASH_BYTES = 8
_WANTED = b',"id":"'


class _Keyed(msgspec.Struct):
    id: str = ""


_decoder = msgspec.json.Decoder(_Keyed)


def hash_key(key: str) -> bytes:
    """Return the 8-byte hash of a key."""
    return hashlib.blake2b(key.encode(), digest_size=_HASH_BYTES).digest()


class Keys:
    """The keys of one log. The writer tells it what is appended and when a segment is closed."""

    def __init__(self, folder: Path) -> None:
        """Name the log's folder; nothing is read yet (I3)."""
        self._folder = folder
        self._open_name = ""
        self._open: set[bytes] = set()
        self._closed: dict[str, bytes] = {}

    @property
    def are_known(self) -> bool:
        """Say whether those of the open segment were read (I3): only then need more be told."""
        return bool(self._open_name)

    def add(self, block: bytes, segment_name: str) -> None:
        """Take in the keys of lines that were appended to the open segment."""
        if segment_name == self._open_name and _WANTED in block:
            self._open.update(_hashes(block))

    def find(
        self, key: str, segments: Iterable[str], last: Segment, tail: Position
    ) -> Event | None:
        """Return the event with this key, looking at the newest segment first.

        `segments` are the names of the closed ones; raises `BadBlock` where one does not check.
        """
        wanted = hash_key(key)
        if self._open_name != last.name:
            self._open = _hashes_of(last, tail.offset)
            self._open_name = last.name
        if wanted in self._open and (event := _find_event(last, tail.offset, key)):
            return event
        for name in reversed(list(segments)):
            if _contains(self._hashes_of_closed(name), wanted):
                with Segment(self._folder / name) as segment:
                    if event := _find_event(segment, segment.size(), key):
                        return event
        return None

    def _hashes_of_closed(self, name: str) -> bytes:
        """Return the sorted hashes of a closed segment, from its file or made anew (I2)."""
        if name not in self._closed:
            with Segment(self._folder / name) as segment:
                hashes = read(ids_path(segment.path), segment.size())
                if hashes is None:
                    hashes = write(segment)
            self._closed[name] = hashes
        return self._closed[name]


def ids_path(segment: Path) -> Path:
    """Return where the keys of a closed segment are kept."""
    return segment.with_suffix(".ids")


def write(segment: Segment) -> bytes:
    """Make the file of a closed segment; return its hashes."""
    size = segment.size()
    hashes = b"".join(sorted(_hashes_of(segment, size)))
    head = _HEAD.pack(_MAGIC, size, len(hashes) // _HASH_BYTES, zlib.crc32(hashes))
    with contextlib.suppress(OSError):  # It is only a cache (I2).
        durable.write_file(ids_path(segment.path), head + hashes, synced=False)
    return hashes


def noted_size(segment: Path) -> int | None:
    """Return the size that a closed segment had when its keys were taken; None if not known."""
    try:
        fd = regular.open_file(ids_path(segment))
    except OSError:
        return None
    try:
        head = regular.read_range(fd, 0, _HEAD.size)
    finally:
        os.close(fd)
    if len(head) < _HEAD.size:
        return None
    magic, size, _, _ = _HEAD.unpack(head)
    return size if magic == _MAGIC else None


def read(path: Path, segment_size: int) -> bytes | None:
    """Return the hashes in a file; None if it is not there, or not for this segment (I2)."""
    try:
        raw = regular.read_file(path)
    except OSError:
        return None
    if len(raw) < _HEAD.size:
        return None
    magic, size, count, crc = _HEAD.unpack_from(raw)
    hashes = raw[_HEAD.size :]
    fits = (magic, size, count * _HASH_BYTES) == (_MAGIC, segment_size, len(hashes))
    return hashes if fits and zlib.crc32(hashes) == crc else None


def _contains(hashes: bytes, wanted: bytes) -> bool:
    count = len(hashes) // _HASH_BYTES
    at = bisect_left(range(count), wanted, key=lambda i: hashes[i * 8 : i * 8 + 8])
    return hashes[at * 8 : at * 8 + 8] == wanted


def _hashes(block: bytes) -> set[bytes]:
    return {hash_key(found.id) for found in _decoder.decode_lines(block) if found.id}


def _hashes_of(segment: Segment, end: int) -> set[bytes]:
    found: set[bytes] = set()
    for block in segment.blocks(segment.start, end):
        if _WANTED in block.data:
            found |= _hashes(block.data)
    return found


def _find_event(segment: Segment, end: int, key: str) -> Event | None:
    wanted = b',"id":' + orjson.dumps(key)
    for block in segment.blocks(segment.start, end):
        if wanted in block.data:
            for event in codec.decode_events(block.data):
                if event.id == key:
                    return event
    return None
