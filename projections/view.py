"""The files that people look at: where a view lies, whose bytes stand there, how ours get there.

I1  A `document` view is replaced whole by a rename; a `lines` view is only appended to, or rebuilt
    whole. Neither is synced: the log is the truth, and what a power cut may leave (missing, empty,
    NUL bytes, cut short, older) is told from a healthy view and rebuilt.
I2  The witness says what will stand there before it stands there (`Replaced.voucher`), so that no
    kill makes our own bytes look foreign. A rename keeps inode and time, so the voucher of the new
    file can be written before it.
I3  Whatever is not ours is copied to quarantine before it is replaced.
I4  Only a view may be a symlink, and only if `journal.yaml` records where it leads; then the file
    it leads to is replaced, the link stays.

It does not know what a foreign value means; `journal.engine` decides whether it is adopted.
"""

import functools
import os
import re
import stat
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import msgspec

from journal import codec, durable, regular
from journal.config import ViewsConfig
from journal.errors import Drift
from journal.witness import ViewRecord, Voucher
from projections.view_kinds import LinesView, View

Status = Literal["ours", "missing", "broken", "foreign"]

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CONFLICT = re.compile(rb"^(<{7}|\|{7}|={7}|>{7})", re.MULTILINE)


class Place(msgspec.Struct, frozen=True):
    """Where a view lies: its path, and the file that is written (another one behind a symlink)."""

    name: str
    path: Path
    target: Path


Line = tuple[int, bytes]
"""A line of a view, with its LF, and the seq of its event."""


class Sifted(msgspec.Struct, frozen=True):
    """The lines of a stretch of a `lines` view, told apart; each but the `tail` has its LF.

    `known`: those of the fold, and blank ones, in the order of the file. `foreign`: good lines of
    somebody else's with the (type, data) that would adopt them. `bad`: what can be no line of it.
    `missing`: what the fold has and the stretch has not. `tail`: the bytes behind the last LF, if
    they may become a line.
    """

    known: list[bytes]
    foreign: list[tuple[bytes, tuple[str, Any]]]
    bad: list[bytes]
    missing: list[Line]
    tail: bytes = b""

    @property
    def is_whole(self) -> bool:
        """Say whether the stretch is what the fold has, and nothing else."""
        return not (self.foreign or self.bad or self.missing or self.tail)


class Found(msgspec.Struct, frozen=True):
    """What stands in a view's place.

    `status`: ours (a voucher fits), missing, broken (as a power cut may leave it), foreign.
    `voucher` is the one that fits; `data` the bytes, empty where the stat alone told; `extra` the
    bytes of a `lines` view after those that were vouched for.
    """

    status: Status
    voucher: Voucher | None = None
    data: bytes = b""
    extra: bytes = b""
    why: str = ""


def place_of(folder: Path, view: View, config: ViewsConfig) -> Place:
    """Return where a view lies; raises `Drift` for a symlink that is not recorded (I4)."""
    path = _path_of(folder, config.files.get(view.name, view.file))
    known = config.targets.get(view.name)
    try:
        found = os.readlink(path)
    except OSError:
        found = None
    if found is None:
        return Place(view.name, path, path)
    if known is None or Path(found) != Path(known):
        recorded = f"{known!r}" if known else "none"
        raise Drift(
            f"a symlink to {found!r}, and journal.yaml records {recorded}",
            path=path,
            advice="`journal adopt` records where it leads; `journal rebuild` puts a plain file "
            "back.",
            adoptable=True,
        )
    return Place(view.name, path, Path(os.path.normpath(path.parent / found)))


@functools.lru_cache(maxsize=64)
def _path_of(folder: Path, file: str) -> Path:
    """Put a path together, which costs more than the look at what stands there."""
    return Path(os.path.normpath(folder / file))


def look(place: Place, record: ViewRecord | None, *, by_stat: bool) -> Found:
    """Say whose bytes stand in the place of a `document` view.

    With `by_stat` it reads the file only where its stat is not the one vouched for; after a power
    cut a file may have its stat and not its bytes. `OSError` passes through: unreadable is not
    the same as broken.
    """
    vouchers = record.vouchers if record else []
    try:
        at_once = os.lstat(place.target)
        for voucher in vouchers:
            if by_stat and voucher.has_stat(at_once):
                return Found("ours", voucher)
        data = regular.read_file(place.target)
    except FileNotFoundError:
        return Found("missing", why="it is missing")
    digest = codec.sha256(data)
    for voucher in vouchers:
        # Bytes that were replaced before are known by their file as well, unless a power cut may
        # have come: the same bytes written again are somebody's wish.
        newest = record is not None and voucher is record.after
        known = newest or not by_stat or voucher.has_stat(at_once)
        if voucher.sha256 == digest and known:
            return Found("ours", voucher, data)
    if why := broken(data):
        return Found("broken", data=data, why=why)
    return Found("foreign", data=data, why="somebody else wrote it")


def broken(data: bytes) -> str:
    """Say how a JSON text is broken in a way that a power cut may leave; empty if it is not."""
    if not data.strip():
        return "it is empty"
    if b"\0" in data:
        return "" if _is_wide(data) else "it holds NUL bytes"
    if not _CONFLICT.search(data):
        bare = _STRING.sub(b"", data)
        opened = bare.count(b"{") + bare.count(b"[")
        if b'"' in bare or opened > bare.count(b"}") + bare.count(b"]"):
            return "it ends before its JSON value does"
    return ""


def _is_wide(data: bytes) -> bool:
    """Say whether it is UTF-16: a person's editor wrote that, and no power cut.

    Without a mark every other byte is NUL and no other one is: a cut leaves runs of NUL.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    even, odd = data[::2], data[1::2]
    wide = (not any(even) and all(odd)) or (not any(odd) and all(even))
    return wide and len(data) > 2


def look_at_lines(place: Place, record: ViewRecord | None, *, by_stat: bool) -> Found:
    """Say whose bytes stand in the place of a `lines` view; `by_stat` as in `look`."""
    vouchers = record.vouchers if record else []
    try:
        at_once = os.lstat(place.target)
        for voucher in vouchers:
            if by_stat and voucher.has_stat(at_once):
                return Found("ours", voucher)
        data = regular.read_file(place.target)
    except FileNotFoundError:
        return Found("missing", why="it is missing")
    for voucher in vouchers:
        if len(data) >= voucher.size and zlib.crc32(data[: voucher.size]) == voucher.crc:
            return Found("ours", voucher, data, extra=data[voucher.size :])
    shorter = bool(vouchers) and len(data) < vouchers[0].size
    why = "it is shorter than it was" if shorter else "its lines are not those that were written"
    return Found("broken" if vouchers else "foreign", data=data, why=why)


def sift(view: LinesView, stretch: bytes, due: list[Line], *, ended: bool) -> Sifted:
    """Tell the lines of a stretch apart; `due` are the lines that the fold has for it.

    `ended`: nobody is about to finish the last line, so a tail that is no line is bad.
    """
    left = Counter(line for _, line in due)
    found = Sifted([], [], [], [])
    *lines, tail = stretch.split(b"\n")
    for line in (part + b"\n" for part in lines):
        if left[line]:
            left[line] -= 1
            found.known.append(line)
        elif not line.strip():
            found.known.append(line)
        elif (adopted := view.adopt(line)) is not None:
            found.foreign.append((line, adopted))
        else:
            found.bad.append(line)
    if left[tail + b"\n"]:
        left[tail + b"\n"] -= 1  # whole but for its LF, which the next append puts there
        found.known.append(tail)
        tail = b""
    elif tail and not tail.strip():
        found.known.append(tail)
        tail = b""
    elif ended and tail and view.adopt(tail + b"\n") is None:
        found.bad.append(tail)
        tail = b""
    for seq, line in due:
        if left[line]:
            left[line] -= 1
            found.missing.append((seq, line))
    return msgspec.structs.replace(found, tail=tail)


def read(place: Place) -> tuple[bytes, os.stat_result]:
    """Return the bytes of a view and their stat."""
    return regular.read_with_stat(place.target)


def read_vouched(
    place: Place, record: ViewRecord | None, revision: str
) -> tuple[Any, Voucher] | None:
    """Return the state in a view and its voucher, where the bytes are those of our own code."""
    if record is None or not revision:
        return None
    data, found = read(place)
    for voucher in record.vouchers:
        # Hashed even where the stat fits: what is read here becomes the next state.
        fits = (voucher.revision, voucher.size) == (revision, found.st_size)
        if fits and voucher.sha256 == codec.sha256(data):
            return codec.decode_value(data), voucher
    return None


def is_disguised(place: Place, record: ViewRecord | None, revision: str) -> bool:
    """Say whether a view has the stat that is vouched for and other bytes: its time was put back.

    A view without a revision is not read for that.
    """
    if record is None or not revision:
        return False
    at_once = os.lstat(place.target)
    fitting = [voucher.sha256 for voucher in record.vouchers if voucher.has_stat(at_once)]
    return bool(fitting) and codec.sha256(read(place)[0]) not in fitting


class Replaced(msgspec.Struct, frozen=True):
    """A replacement that is ready: to be committed once the witness has its voucher (I2)."""

    new: durable.Replacement
    voucher: Voucher


def prepare(place: Place, data: bytes, *, seq: int, revision: str, lines: bool) -> Replaced:
    """Write the new bytes beside the view, with the mode and owner that it has."""
    mode, owner = durable.PRIVATE_FILE, None
    try:
        found = os.lstat(place.target)
        if stat.S_ISREG(found.st_mode):
            mode, owner = stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid)
    except FileNotFoundError:
        durable.make_folder(place.target.parent)
    new = durable.Replacement(place.target, data, mode=mode, owner=owner, synced=False)
    return Replaced(new, vouch(data, new.stat, seq=seq, revision=revision, lines=lines))


def vouch(data: bytes, found: os.stat_result, *, seq: int, revision: str, lines: bool) -> Voucher:
    """Make the voucher of a view's bytes."""
    return Voucher(
        seq=seq,
        revision=revision,
        size=len(data),
        inode=found.st_ino,
        mtime_ns=found.st_mtime_ns,
        sha256="" if lines else codec.sha256(data),
        crc=zlib.crc32(data) if lines else 0,
    )


def know(place: Place, data: bytes) -> Voucher:
    """Make a voucher of bytes that are none of ours and about to be replaced.

    A kill before the replacement then leaves bytes that are known.
    """
    return vouch(data, os.lstat(place.target), seq=0, revision="", lines=False)


def append_lines(place: Place, data: bytes, *, after: int) -> tuple[bytes, os.stat_result]:
    """Append to a `lines` view; return what now stands behind the byte `after`, and the stat.

    With O_APPEND, after an LF if the last byte is none, so that a line which somebody else
    appends at the same moment is never overwritten.
    """
    if data:
        durable.append_to(place.target, data, line_end=True)
    fd = regular.open_file(place.target)
    try:
        found = os.fstat(fd)
        # Only what was added: an append must not cost what the whole file would.
        return regular.read_range(fd, after, found.st_size), found
    finally:
        os.close(fd)


def put_aside(file: str, data: bytes, quarantine: Path, stamp: str) -> str:
    """Copy foreign or broken bytes to quarantine (I3); return the name there."""
    durable.make_folder(quarantine, own=True)
    name = f"{stamp}-{file}"
    number = 1
    while (quarantine / name).exists():
        number += 1
        name = f"{stamp}-{number}-{file}"
    durable.write_file(quarantine / name, data)
    return name
