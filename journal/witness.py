"""`witness.json`: the small record of what is on disk and which bytes the views have.

One JSON object with its own CRC, padded with spaces to 4 KiB, an LF at the end:

    {"witness":{"synced":{"seq":7,"segment":"0…1.jsonl","offset":812},…},"crc":"1b2c3d4e"}   ⏎

I1  It is overwritten in place by one write, so that a kill leaves the old or the new record.
I2  It is not synced, but for a word of what the log has lost: after a power cut it may be older
    than the log and the views, newer than the views, or broken. Older is safe (it then protects
    less); newer is told by `boot`; broken reads as missing, and is made anew.
I3  It is written under the view lock only, after being read anew.

It decides nothing: `journal.recovery` and `projections.view` do.
"""

import contextlib
import os
import zlib
from pathlib import Path

import msgspec

from journal import durable, regular

FILE_NAME = "witness.json"
_RECORD_BYTES = 4096
_READ_TRIES = 5
_MIDDLE = b',"crc":"%08x"}'
_MIDDLE_BYTES = len(_MIDDLE % 0)


class Synced(msgspec.Struct, frozen=True):
    """The place up to which the log is known to be on disk."""

    seq: int
    segment: str
    offset: int


class Voucher(msgspec.Struct, frozen=True, omit_defaults=True):
    """The bytes of a view that we wrote: the fold up to `seq`, by code of `revision`.

    Seq 0 and no revision: bytes that are known (and kept in quarantine), and no state of ours.

    `size` in bytes; `inode` and `mtime_ns` as `stat` gives them; `crc` is the running CRC-32 of a
    `lines` view, whose sha256 is empty; `unknown` counts by type the events that were left out.
    """

    seq: int
    revision: str
    size: int
    inode: int
    mtime_ns: int
    sha256: str = ""
    crc: int = 0
    unknown: dict[str, int] = {}

    def has_stat(self, found: os.stat_result) -> bool:
        """Say whether a file with this stat is the one that was vouched for."""
        return (self.size, self.inode, self.mtime_ns) == (
            found.st_size,
            found.st_ino,
            found.st_mtime_ns,
        )


class ViewRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The vouchers of one view: of the bytes there before the last replacement, and after it."""

    before: Voucher | None = None
    after: Voucher | None = None

    @property
    def vouchers(self) -> list[Voucher]:
        """The newest first."""
        return [voucher for voucher in (self.after, self.before) if voucher is not None]


class Writer(msgspec.Struct, frozen=True):
    """The process that wrote last, for messages only: a pid says nothing about who holds a lock."""

    pid: int
    start: str
    host: str

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host}, started {self.start}"


class Witness(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the record says; the defaults say that nothing is known.

    `boot` names the run of the kernel in which the views were seen to be as vouched. In the same
    one the vouchers hold, and a stat that fits tells that a view's bytes do. In another one a
    power cut may have come in between: a view may be older than vouched, or have its stat and not
    its bytes.
    """

    boot: str = ""
    synced: Synced | None = None
    views: dict[str, ViewRecord] = {}
    snapshot: int = 0
    writer: Writer | None = None

    @property
    def is_of_this_boot(self) -> bool:
        """Say whether no power cut can have come since it was written."""
        return bool(self.boot) and self.boot == durable.boot_id()

    @property
    def synced_seq(self) -> int:
        """The last seq known to be on disk, 0 if none is."""
        return 0 if self.synced is None else self.synced.seq


_decoder = msgspec.json.Decoder(Witness)
_encoder = msgspec.json.Encoder()


class WitnessFile:
    """The file itself. Reading opens it once and keeps the descriptor; so does writing."""

    def __init__(self, folder: Path, *, write: bool) -> None:
        """Name the file in `folder`; nothing is opened yet."""
        self.path = folder / FILE_NAME
        self._write = write
        self._fd = -1
        self._size = _RECORD_BYTES
        self._raw = b""
        self._known: Witness | None = None

    def read(self) -> Witness | None:
        """Return the record; None where it is missing or broken (I2)."""
        if self._fd < 0:
            try:
                self._fd = regular.open_file(self.path, write=self._write)
            except FileNotFoundError:
                return None
        for _ in range(_READ_TRIES):
            raw = regular.read_range(self._fd, 0, self._size + 1)
            if raw == self._raw:
                return self._known
            if len(raw) > self._size:
                raw = regular.read_range(self._fd, 0, None)
            self._size = max(_RECORD_BYTES, len(raw))
            if (found := decode(raw)) is not None:
                return found
        return None

    def write(self, witness: Witness, *, synced: bool = False) -> None:
        """Overwrite the record by one write (I1); the caller holds the view lock (I3).

        `synced` puts it on disk, for what must not be forgotten by a power cut.
        """
        raw = encode(witness, self._size)
        self._size = len(raw)
        self._raw, self._known = b"", None  # whatever a write that fails leaves there
        if self._fd < 0:
            with contextlib.suppress(FileNotFoundError):
                self._fd = regular.open_file(self.path, write=True)
        if self._fd < 0:
            durable.write_file(self.path, raw, synced=False)
            self._fd = regular.open_file(self.path, write=True)
        else:
            durable.write_at(self._fd, raw, 0)
        self._raw, self._known = raw, witness
        if synced:
            durable.sync(self._fd)

    def close(self) -> None:
        """Close the descriptor; safe to call again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def encode(witness: Witness, size: int = _RECORD_BYTES) -> bytes:
    """Write the record with its CRC, padded to `size` bytes, or more if it needs more."""
    body = b'{"witness":' + _encoder.encode(witness)
    raw = body + _MIDDLE % zlib.crc32(body)
    while size <= len(raw):
        size += _RECORD_BYTES
    return raw.ljust(size - 1) + b"\n"


def decode(raw: bytes) -> Witness | None:
    """Read a record; None if its CRC says that it is not whole."""
    text = raw.rstrip(b" \n")
    body = text[:-_MIDDLE_BYTES]
    if text[-_MIDDLE_BYTES:] != _MIDDLE % zlib.crc32(body):
        return None
    try:
        return _decoder.decode(body.removeprefix(b'{"witness":'))
    except msgspec.DecodeError:
        return None
