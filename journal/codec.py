"""How a value becomes bytes and back, and how the lines of a segment check each other.

One line of format 1 (LF at the end, members in the order of `journal.event`, empty ones left out):

    {"seq":7,"time":"2026-03-01T14:45:00.000Z","type":"set","data":{"path":"/a"},"crc":"88b79977"}

I1  `crc` is CRC-32 over every byte of the segment before the comma that precedes this member,
    earlier lines included. So one call checks a whole block: if its last line checks, all do.
I2  What `encode_value` accepts reads back equal. It refuses the rest and names the place: NaN,
    Infinity, lone surrogates, keys that are not text, depth over 200, integers outside
    -2^63 … 2^64-1, types that JSON does not have (a tuple would come back as a list).
I3  A line is encoded once; nothing is encoded again to check it.

It opens no file; `journal.segment` does.
"""

import hashlib
import math
import re
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
import orjson

from journal.errors import UsageError
from journal.event import Event

_SHOWN = 60
MAX_DEPTH = 200
MAX_EVENT_BYTES = 16 << 20
MAX_ENGINE_EVENT_BYTES = 64 << 20
MAX_APPEND_BYTES = 64 << 20
MAX_STATE_BYTES = 56 << 20

SUFFIX_BYTES = len(b',"crc":"00000000"}\n')
LINE_HEAD = re.compile(rb'\{"seq":([1-9][0-9]{0,18}),"time":"([0-9T:.Z-]{24})","type":"([^"\\]+)"')
LINE_TAIL = re.compile(
    rb'(?:,"part":\[([0-9]+),([0-9]+)\])?(?:,"unsynced":([0-9]+))?,"crc":"([0-9a-f]{8})"\}\n\Z'
)
_TAIL_WINDOW = 128

_TOO_DEEP = "nested too deep to be read"

_DEEP = b"\n" + b"  " * MAX_DEPTH
_GLANCED_BYTES = 128 << 10

_decoder = msgspec.json.Decoder(Event)


class Tail(NamedTuple):
    """The last members of a line, read without decoding it."""

    part: tuple[int, int]
    unsynced: int
    crc: int


# --- values --------------------------------------------------------------------------------------


def encode_value(value: Any, *, what: str = "data", limit_bytes: int = MAX_EVENT_BYTES) -> bytes:
    """Write a JSON value, or a typed struct of JSON values, as compact JSON (I2).

    Raises `UsageError` with the key of the first place in `value` that does not fit.
    """
    return encode_and_read(value, what=what, limit_bytes=limit_bytes)[0]


def encode_and_read(
    value: Any, *, what: str = "data", limit_bytes: int = MAX_EVENT_BYTES
) -> tuple[bytes, Any]:
    """Write a value as `encode_value` does; return also the equal value that was read back."""
    plain = value
    try:
        if isinstance(value, msgspec.Struct):
            plain = msgspec.to_builtins(value)
        encoded = orjson.dumps(plain, option=orjson.OPT_PASSTHROUGH_DATETIME)
        found = orjson.loads(encoded)
        fits = found == plain
    except (TypeError, ValueError, RecursionError) as error:
        raise _refusal(plain, what, str(error)) from error
    if not fits:
        raise _refusal(plain, what, "it would not read back equal")
    size = len(encoded)
    if size > 2 * MAX_DEPTH and may_be_deep(plain, encoded):
        check_depth(plain, what)
    if size > limit_bytes:
        raise UsageError(
            f"{what} is {size:,} bytes as JSON; {limit_bytes:,} are allowed",
            key=what,
            advice="Keep large content in a file of its own and its path or hash in the event.",
        )
    return encoded, found


def _refusal(plain: Any, what: str, reason: str) -> UsageError:
    found = find_unfit(plain, what)
    key, why = found or (what, reason)
    return UsageError(
        f"{key}: {why}",
        key=key,
        advice="A JSON value is wanted: objects with text keys, lists, text, finite numbers, "
        "true, false, null.",
    )


def find_unfit(value: Any, what: str) -> tuple[str, str] | None:
    """Return (key, reason) of the first place that JSON cannot hold, or None."""
    stack: list[tuple[str, Any, int]] = [(what, value, 0)]
    while stack:
        key, item, depth = stack.pop()
        if depth > MAX_DEPTH:
            return key, f"nested more than {MAX_DEPTH} deep"
        match item:
            case None | bool():
                continue
            case int():
                if not -(2**63) <= item < 2**64:
                    return key, f"integer {_short(item)} is outside -2^63 … 2^64-1"
            case float():
                if not math.isfinite(item):
                    return key, f"{item} is not a JSON number"
            case str():
                if (why := text_fault(item)) is not None:
                    return key, why
            case list():
                stack.extend(
                    (f"{key}[{i}]", item[i], depth + 1) for i in reversed(range(len(item)))
                )
            case dict():
                for name in item:
                    if not isinstance(name, str):
                        return key, f"key {name!r} is {type(name).__name__}, not text"
                    if (why := text_fault(name)) is not None:
                        return f"{key}: key {name!r}", why
                stack.extend((f"{key}.{name}", item[name], depth + 1) for name in reversed(item))
            case _:
                return key, f"a {type(item).__name__} is not a JSON value"
    return None


def _short(number: int) -> str:
    return str(number) if number.bit_length() < 256 else f"of {number.bit_length()} bits"


def text_fault(text: str) -> str | None:
    """Say why a text cannot stand in JSON, None if it can."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"lone surrogate U+{ord(text[error.start]):04X} at character {error.start}"
    return None


def show(value: object) -> str:
    """Return a value as it stands in a message: short, and without fail."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a caller's own __repr__, or a number too long to write
        text = f"of type {type(value).__name__}"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def may_be_deep(value: Any, encoded: bytes) -> bool:
    """Say whether a value, with its compact JSON, is to be looked at by `check_depth`."""
    if len(encoded) <= _GLANCED_BYTES:
        # Indented, what stands 200 deep has so many spaces before it, and no text holds a line
        # end. All those spaces are too many for what is large.
        return _DEEP in orjson.dumps(value, option=orjson.OPT_INDENT_2)
    # What is too deep has that many brackets, and as many to close them.
    return encoded.count(b"[") + encoded.count(b"{") > MAX_DEPTH


def check_depth(value: Any, what: str) -> None:
    """Raise `UsageError` where `value` is nested more than 200 deep."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return
    raise UsageError(f"{what} is nested more than {MAX_DEPTH} deep", key=what)


def decode_value(data: bytes | memoryview) -> Any:
    """Read compact JSON that we wrote; raises `ValueError` for anything that is not JSON."""
    return orjson.loads(data)


def encode_state(state: Any) -> bytes:
    """Write a state that was checked before (`journal.engine.checks`) as compact JSON."""
    return orjson.dumps(state)


def encode_sorted(value: Any) -> bytes:
    """Write a JSON value with sorted keys: equal values, and only those, give equal bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def copy_value(value: Any) -> Any:
    """Return an equal JSON value that shares nothing with `value`."""
    return orjson.loads(orjson.dumps(value))


# --- lines ---------------------------------------------------------------------------------------


def encode_body(event: Event, data: bytes) -> bytes:
    """Write the line of `event` up to its crc; `data` is `event.data` encoded (I3)."""
    return body(
        event.seq,
        event.time,
        event.type,
        event.actor,
        data,
        event.id,
        event.cause,
        event.part,
        event.unsynced,
    )


def body(  # noqa: PLR0917 - the members of a line, in their order
    seq: int,
    time: str,
    event_type: str,
    actor: str,
    data: bytes,
    key: str,
    cause: int,
    part: tuple[int, int],
    unsynced: int,
) -> bytes:
    """Write a line up to its crc from its members, in their order; empty ones are left out."""
    before, after = head(event_type, actor), tail(key, cause, part, unsynced)
    return b'{"seq":%d,"time":"%b%b%b%b' % (seq, time.encode(), before, data, after)


def head(event_type: str, actor: str) -> bytes:
    """Write what stands in a line between the time and the data."""
    named = b',"actor":' + orjson.dumps(actor) if actor else b""
    return b'","type":"%b"%b,"data":' % (event_type.encode(), named)


def tail(key: str, cause: int, part: tuple[int, int], unsynced: int) -> bytes:
    """Write what stands in a line between the data and the crc."""
    members = b',"id":' + orjson.dumps(key) if key else b""
    if cause:
        members += b',"cause":%d' % cause
    if part != (1, 1):
        members += b',"part":[%d,%d]' % part
    if unsynced:
        members += b',"unsynced":%d' % unsynced
    return members


def seal(bodies: Iterable[bytes], crc: int) -> tuple[bytearray, int]:
    """Give each body its crc and its end; return the lines and the crc over all of them."""
    lines = bytearray()
    for body in bodies:
        crc = zlib.crc32(body, crc)
        suffix = crc_suffix(crc)
        crc = zlib.crc32(suffix, crc)
        lines += body
        lines += suffix
    return lines, crc


def crc_suffix(crc: int) -> bytes:
    """Return the last member and the end of a line whose bytes so far have this crc."""
    return b',"crc":"%08x"}\n' % crc


def crc_after(stored: int) -> int:
    """Return the running crc after a line whose stored crc is `stored`."""
    return zlib.crc32(crc_suffix(stored), stored)


def check_block(block: bytes, crc: int) -> int | None:
    """Check whole lines by one pass over them (I1); return the crc after them, or None."""
    checked = zlib.crc32(memoryview(block)[:-SUFFIX_BYTES], crc)
    if block[-SUFFIX_BYTES:] != crc_suffix(checked):
        return None
    return zlib.crc32(block[-SUFFIX_BYTES:], checked)


def read_tail(line: bytes) -> Tail | None:
    """Read the last members of a line that ends with its LF; None where they are not there.

    Of whole lines it reads the last one's.
    """
    window = line[-_TAIL_WINDOW:]
    # Where the members most likely start: a search of the whole window costs ten times more.
    start = window.rfind(b',"part":[')
    if start < 0:
        start = window.rfind(b',"unsynced":')
    found = LINE_TAIL.match(window, start if start >= 0 else max(0, len(window) - SUFFIX_BYTES))
    if found is None and (found := LINE_TAIL.search(window)) is None:
        return None
    k, n, unsynced, crc = found.groups()
    part = (int(k), int(n)) if k else (1, 1)
    return Tail(part, int(unsynced or 0), int(crc, 16))


def body_as_part(line: bytes, part: tuple[int, int]) -> bytes:
    """Return a good line up to its crc, as another part of an append."""
    found = LINE_TAIL.search(line, max(0, len(line) - _TAIL_WINDOW))
    assert found is not None
    return line[: found.start()] + tail("", 0, part, int(found[3] or 0))


def decode_events(block: bytes) -> list[Event]:
    """Decode the lines of a block that has been checked; raises `ValueError` if one is no event."""
    try:
        return _decoder.decode_lines(block)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error


def decode_event(line: bytes) -> Event:
    """Decode one line; raises `ValueError` if it is no event."""
    try:
        return _decoder.decode(line)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error


def sha256(data: bytes) -> str:
    """Return the SHA-256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
