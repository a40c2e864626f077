"""Kinds of damage that a file may take, at any byte or any line of it.

A kind is a function (data, at) -> the damaged bytes. Those of lines apply where a line starts.
"""

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

Kind = Callable[[bytes, int], bytes]

_FOREIGN = b'{"seq":3,"time":"2026-03-01T14:45:00.000Z","type":"set","data":{},"crc":"00000000"}\n'


class Damaged(NamedTuple):
    """A damaged file: the kind and place of what was done to it, and its bytes now."""

    kind: str
    at: int
    data: bytes

    def __str__(self) -> str:
        return f"{self.kind} at byte {self.at}"


def _put(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def _line_end(data: bytes, at: int) -> int:
    return data.find(b"\n", at) + 1 or len(data)


def _swap_lines(data: bytes, at: int) -> bytes:
    middle = _line_end(data, at)
    end = _line_end(data, middle)
    return data[:at] + data[middle:end] + data[at:middle] + data[end:]


def _garble(data: bytes, at: int) -> bytes:
    return _put(data, at, random.Random(at).randbytes(min(16, len(data) - at)))


BYTE_KINDS: dict[str, Kind] = {
    "lowest bit flipped": lambda data, at: _put(data, at, bytes([data[at] ^ 1])),
    "highest bit flipped": lambda data, at: _put(data, at, bytes([data[at] ^ 0x80])),
    "case flipped": lambda data, at: _put(data, at, bytes([data[at] ^ 0x20])),
    "byte made NUL": lambda data, at: _put(data, at, b"\0"),
    "byte made LF": lambda data, at: _put(data, at, b"\n"),
    "byte made a digit": lambda data, at: _put(data, at, b"3" if data[at] == 0x37 else b"7"),
    "byte gone": lambda data, at: data[:at] + data[at + 1 :],
    "byte put in": lambda data, at: data[:at] + b"x" + data[at:],
    "BOM put in": lambda data, at: data[:at] + b"\xef\xbb\xbf" + data[at:],
    "64 bytes twice": lambda data, at: data[: at + 64] + data[at:],
    "64 bytes gone": lambda data, at: data[:at] + data[at + 64 :],
    "a run of NUL": lambda data, at: _put(data, at, bytes(min(512, len(data) - at))),
    "16 bytes garbled": _garble,
    "cut off": lambda data, at: data[:at],
    "cut off and NUL": lambda data, at: data[:at] + bytes(len(data) - at),
}

LINE_KINDS: dict[str, Kind] = {
    "line gone": lambda data, at: data[:at] + data[_line_end(data, at) :],
    "line twice": lambda data, at: data[: _line_end(data, at)] + data[at:],
    "lines swapped": _swap_lines,
    "blank line put in": lambda data, at: data[:at] + b"\n" + data[at:],
    "foreign line put in": lambda data, at: data[:at] + _FOREIGN + data[at:],
    "conflict markers put in": lambda data, at: (
        data[:at]
        + b"<<<<<<< ours\n"
        + data[at : _line_end(data, at)]
        + b"=======\n>>>>>>> theirs\n"
        + data[_line_end(data, at) :]
    ),
    "line end made CRLF": lambda data, at: (
        data[: _line_end(data, at) - 1] + b"\r\n" + data[_line_end(data, at) :]
    ),
}


def damages(data: bytes) -> Iterator[Damaged]:
    """Yield every kind of damage at every byte, and at every line, that changes something."""
    starts = [0, *(at + 1 for at, byte in enumerate(data[:-1]) if byte == 0x0A)]
    for kinds, places in ((BYTE_KINDS, range(len(data))), (LINE_KINDS, starts)):
        for at in places:
            for name, kind in kinds.items():
                if (damaged := kind(data, at)) != data:
                    yield Damaged(name, at, damaged)


def common_prefix(a: bytes, b: bytes) -> int:
    """Return how many bytes two texts have in common at their start."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
