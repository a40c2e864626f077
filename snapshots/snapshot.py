"""A snapshot file: the state at a seq, and the header that says which state it is.

`00000000000000000120.manual.json`, one compact JSON object and an LF (folded here for the page):

    {"checkpoint_type":"manual","timestamp":"2026-03-01T14:45:00.000Z","trigger":"before: plan B",
     "seq":120,"projection":"document","revision":"9f2c…","sha256":"44136f…","crc":"5be1c07d",
     "state":{}}⏎

I1  Members stand in this order; summaries that a projection adds come between `sha256` and `crc`.
I2  `sha256` is over the bytes of the state as they stand in the file; `crc` is CRC-32 over every
    byte before the comma that precedes it, as in a line of the log. With the fixed bytes around
    them no byte of the file is unchecked: what is not whole is `Corrupt`, never another value.
I3  The file's name and the header agree about seq and type. The trigger, which may be any text,
    stands inside only: a name is made of [0-9a-z.-].
I4  `timestamp` is the time of the event at `seq`, so that the bytes are a function of the log,
    the type and the trigger, and a snapshot that was asked for can be written again.
I5  What `encode` returns, `decode` accepts.

It does not know which snapshots there are (`snapshots.store`), or whether one is still wanted.
"""

import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import msgspec

from journal import codec, regular
from journal.errors import Corrupt, UsageError
from journal.event import parse_time

AUTO = "auto"
"""The type of those that the policy takes: a cache, thinned without being recorded."""

MEMBERS = ("checkpoint_type", "timestamp", "trigger", "seq", "projection", "revision", "sha256")
RESERVED = frozenset({*MEMBERS, "crc", "state"})
MAX_HEADER_BYTES = codec.MAX_EVENT_BYTES
MAX_FILE_BYTES = MAX_HEADER_BYTES + codec.MAX_STATE_BYTES + 64

_NAME = re.compile(r"([0-9]{20})\.([a-z0-9][a-z0-9-]{0,39})\.json")
_TYPE = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_SEAM = re.compile(rb',"crc":"([0-9a-f]{8})","state":')
_START = b'{"checkpoint_type":"'
_END = b"}\n"
_FIRST_READ = 4096
MAX_SEQ = 10**19 - 1

_ADVICE = (
    "A snapshot is only a cache of the log: without it an older one is used. Remove the file; "
    "`journal rebuild` writes those that were asked for again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a snapshot says about itself.

    `type` is its checkpoint type, `trigger` any text, `extra` the summaries of the projection;
    `size_bytes` is the size of the whole file.
    """

    type: str
    timestamp: str
    trigger: str
    seq: int
    projection: str
    revision: str
    sha256: str
    extra: dict[str, Any]
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot(Header):
    """A whole snapshot; `state_bytes` is its state as compact JSON, as it stands in the file."""

    state_bytes: bytes = field(repr=False)
    # `decode` has to read the state to know that it is JSON; the first `state()` takes that value.
    _unclaimed: list[Any] = field(default_factory=list[Any], repr=False, compare=False)

    def state(self) -> Any:
        """Return the state, each time as a value of its own that the caller may change."""
        try:
            return self._unclaimed.pop()
        except IndexError:
            return codec.decode_value(self.state_bytes)


# --- names ---------------------------------------------------------------------------------------


def name_of(seq: int, type_name: str) -> str:
    """Return the file name of the snapshot of this type at `seq`."""
    return f"{seq:020d}.{type_name}.json"


def parse_name(name: str) -> tuple[int, str] | None:
    """Return (seq, type) of a snapshot's file name; None for any other name."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    seq = int(found[1])
    return (seq, found[2]) if 1 <= seq <= MAX_SEQ else None


def check_type(type_name: str, *, asked_for: bool = False) -> None:
    """Raise `UsageError` where `type_name` cannot be a checkpoint type.

    One that is `asked_for` cannot be `auto`: the policy's own are thinned, those asked for stay.
    """
    if _TYPE.fullmatch(type_name) is None:
        raise UsageError(
            f"{type_name!r} is not a checkpoint type",
            key="checkpoint_type",
            advice="Use 1 to 40 of a-z, 0-9 and -, a letter or digit first, such as "
            "before-deploy; the trigger takes any text.",
        )
    if asked_for and type_name == AUTO:
        raise UsageError(
            f"the checkpoint type {AUTO!r} is for snapshots that the engine takes by itself",
            key="checkpoint_type",
            advice="Use another type, such as manual.",
        )


# --- writing -------------------------------------------------------------------------------------


def encode(
    *,
    type: str,
    timestamp: str,
    trigger: str,
    seq: int,
    projection: str,
    revision: str,
    state_bytes: bytes,
    extra: Mapping[str, Any] | None = None,
) -> bytes:
    """Return the bytes of a snapshot file.

    `state_bytes` is the state as `codec.encode_value` writes it; `extra` holds further members,
    JSON values. Raises `UsageError` for what could not be read back (I5).
    """
    _check_arguments(type, timestamp, seq, extra)
    _check_state(state_bytes)
    header = {
        "checkpoint_type": type,
        "timestamp": timestamp,
        "trigger": trigger,
        "seq": seq,
        "projection": projection,
        "revision": revision,
        "sha256": codec.sha256(state_bytes),
        **(extra or {}),
    }
    limit_bytes = MAX_HEADER_BYTES - 64
    head = codec.encode_value(header, what="snapshot", limit_bytes=limit_bytes)[:-1]
    return b'%b,"crc":"%08x","state":%b}\n' % (head, zlib.crc32(head), state_bytes)


def _check_arguments(
    type_name: str, timestamp: str, seq: int, extra: Mapping[str, Any] | None
) -> None:
    check_type(type_name)
    if parse_time(timestamp) != timestamp:
        raise UsageError(
            f"{timestamp!r} is not written as the log writes a time",
            key="timestamp",
            advice="Take the time of the event at this seq.",
        )
    if not 1 <= seq <= MAX_SEQ:
        raise UsageError(
            f"there is no snapshot at seq {seq}",
            key="seq",
            advice="The first event has seq 1; before it the state is the projection's initial.",
        )
    if taken := sorted(RESERVED.intersection(extra or {})):
        raise UsageError(
            f"a summary cannot be called {taken[0]!r}: the snapshot has that member itself",
            key=taken[0],
            advice="Give the summary another name.",
        )


def _check_state(state_bytes: bytes) -> None:
    """Refuse what is not one line of JSON; its syntax is walked, no value is built."""
    if len(state_bytes) > codec.MAX_STATE_BYTES:
        raise UsageError(
            f"state is {len(state_bytes):,} bytes as JSON; {codec.MAX_STATE_BYTES:,} are allowed",
            key="state",
            advice="Keep large content in files of its own and their paths in the state.",
        )
    why = "it holds line ends" if b"\n" in state_bytes else ""
    try:
        state_bytes.decode()
        msgspec.json.decode(state_bytes, type=msgspec.Raw)
    except (ValueError, RecursionError) as error:
        why = str(error)
    if why:
        raise UsageError(
            f"state is not compact JSON: {why}",
            key="state",
            advice="Give the bytes that codec.encode_value returns.",
        )


# --- reading -------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str], *, known: bytes | None = None) -> Snapshot:
    """Read a whole snapshot; costs one SHA-256 and one decoding of the state.

    A state whose bytes are `known` is JSON, and is not decoded to see that.

    Raises `Corrupt` for anything that is not whole (I2, I3) and `OSError` for what cannot be read
    or is not a regular file (a symlink is not followed).
    """
    fd = regular.open_file(path)
    try:
        _check_size(fd, path)
        data = regular.read_range(fd, 0, None)
    finally:
        os.close(fd)
    return decode(data, path, known=known)


def read_header(path: str | os.PathLike[str]) -> Header:
    """Read the header of a snapshot, and see that the file has its end; the state is not read.

    The header is checked as by `read`, which alone checks the state. Raises as `read` does.
    """
    fd = regular.open_file(path)
    try:
        size_bytes = _check_size(fd, path)
        found = None
        if regular.read_range(fd, max(0, size_bytes - len(_END)), None) == _END:
            found = _find_header(fd, size_bytes)
        if found is None:
            _refuse_damage(regular.read_range(fd, 0, None), path)
    finally:
        os.close(fd)
    return Header(**_header_fields(found[0], path), size_bytes=size_bytes)


def decode(data: bytes, path: str | os.PathLike[str], *, known: bytes | None = None) -> Snapshot:
    """Read a snapshot from the bytes of its file; `path` is for its name (I3) and for messages.

    A file whose name is not a snapshot's is judged by its contents alone. `known` as in `read`.
    Raises `Corrupt`.
    """
    members, start = _split_whole(data, path)
    fields = _header_fields(members, path)
    state_bytes = data[start : -len(_END)]
    sha256 = codec.sha256(state_bytes)
    if sha256 != fields["sha256"]:
        why = f"the state has the sha256 {sha256}, the header says {fields['sha256']}"
        _refuse(path, why, at=start)
    if state_bytes == known:
        return Snapshot(**fields, size_bytes=len(data), state_bytes=state_bytes)
    try:
        value = codec.decode_value(state_bytes)
    except ValueError as error:
        _refuse(path, f"the state is not JSON: {error}", at=start)
    return Snapshot(**fields, size_bytes=len(data), state_bytes=state_bytes, _unclaimed=[value])


def decode_header(data: bytes, path: str | os.PathLike[str]) -> Header:
    """Read the header alone from the bytes of a whole file. Raises `Corrupt`."""
    members, _ = _split_whole(data, path)
    return Header(**_header_fields(members, path), size_bytes=len(data))


def _split_whole(data: bytes, path: str | os.PathLike[str]) -> tuple[dict[str, Any], int]:
    found = _split(data) if data.endswith(_END) else None
    if found is None:
        _refuse_damage(data, path)
    return found


def _check_size(fd: int, path: str | os.PathLike[str]) -> int:
    size_bytes = os.fstat(fd).st_size
    if size_bytes > MAX_FILE_BYTES:
        why = f"the file is {size_bytes:,} bytes; a snapshot has at most {MAX_FILE_BYTES:,}"
        _refuse(path, why, at=0)
    return size_bytes


def _find_header(fd: int, size_bytes: int) -> tuple[dict[str, Any], int] | None:
    """Read from the start of the file, more each time, until the header is found as by `_split`."""
    wanted = _FIRST_READ
    while True:
        data = regular.read_range(fd, 0, min(wanted, size_bytes))
        found = _split(data)
        if found or len(data) < wanted or wanted == MAX_HEADER_BYTES or data[:1] != _START[:1]:
            return found
        wanted = min(wanted * 16, MAX_HEADER_BYTES)


def _split(data: bytes) -> tuple[dict[str, Any], int] | None:
    """Return the members before `crc` and the offset of the state; None where no header checks.

    A summary may hold the bytes of the seam too, so the seam is the first place where the crc
    fits and what stands before it is an object once it is closed (inside a summary it is not).
    One running crc serves all candidates: the search is linear.
    """
    if not data.startswith(_START):
        return None
    view = memoryview(data)
    crc = done = 0
    for seam in _SEAM.finditer(data):
        crc = zlib.crc32(view[done : seam.start()], crc)
        done = seam.start()
        if int(seam[1], 16) != crc:
            continue
        try:
            return codec.decode_value(data[:done] + b"}"), seam.end()
        except ValueError:
            continue
    return None


def _header_fields(members: dict[str, Any], path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the members of a header under the names of `Header`, seen to be what they should."""
    if tuple(members)[: len(MEMBERS)] != MEMBERS:
        _refuse(path, f"the header does not begin with {', '.join(MEMBERS)}", at=0)
    fields = {name: members.pop(name) for name in MEMBERS}
    fields["type"] = fields.pop("checkpoint_type")
    for name, value in fields.items():
        if type(value) is not (int if name == "seq" else str):
            _refuse(path, f"{name} in the header is a {type(value).__name__}", at=0)
    named = parse_name(os.path.basename(os.fspath(path)))
    if named not in (None, (fields["seq"], fields["type"])):
        why = f"the file holds seq {fields['seq']}, type {fields['type']}: not what it is named"
        _refuse(path, why, at=0)
    return fields | {"extra": members}


def _refuse_damage(data: bytes, path: str | os.PathLike[str]) -> NoReturn:
    """Say what is wrong with a file that has no good header or no end."""
    if not data:
        _refuse(path, "the file is empty", at=0)
    if (at := data.find(b"\0")) >= 0:
        _refuse(path, "the file holds NUL bytes, which a snapshot never does", at=at)
    if not _START.startswith(data[: len(_START)]):
        _refuse(path, "the file is not a snapshot: it begins with other bytes", at=0)
    if not data.endswith(_END):
        _refuse(path, "the file is cut off", at=len(data))
    _refuse(path, "the header fails its check", at=0)


def _refuse(path: str | os.PathLike[str], why: str, *, at: int) -> NoReturn:
    named = parse_name(os.path.basename(os.fspath(path)))
    raise Corrupt(why, path=path, offset=at, seq=named[0] if named else None, advice=_ADVICE)
