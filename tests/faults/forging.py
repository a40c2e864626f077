"""A forger: knows the format and recomputes everything that can be.

Every CRC, every digest, the snapshots, the view and the witness, or only some of them.
"""

import hashlib
import re
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import orjson

import journal

SUFFIX = len(b',"crc":"00000000"}\n')

Edit = Callable[[bytes], bytes]


def forge(path: Path, seq: int, edit: Edit, *, chain: bool = True, crcs: bool = True) -> None:
    """Change the line of event `seq` up to its crc; with `crcs` and `chain`, all that follows."""
    old = new = b""
    for segment in sorted((path / "log").glob("*.jsonl")):
        was = segment.read_bytes()
        now, crc = b"", 0
        for line in was.splitlines(keepends=True):
            body, suffix = line[:-SUFFIX], line[-SUFFIX:]
            if chain and old:
                body = body.replace(old, new)
            if orjson.loads(line)["seq"] == seq:
                body = edit(body)
            crc = zlib.crc32(body, crc)
            if crcs:
                suffix = b',"crc":"%08x"}\n' % crc
            crc = zlib.crc32(suffix, crc)
            now += body + suffix
        segment.chmod(0o600)
        segment.write_bytes(now)
        segment.chmod(0o444)
        old, new = (hashlib.sha256(data).hexdigest().encode() for data in (was, now))
    max((path / "log").glob("*.jsonl")).chmod(0o600)


def cover_up(path: Path) -> None:
    """Make everything that is derived from the log anew."""
    shutil.rmtree(path / "snapshots", ignore_errors=True)
    for name in ("state.json", "witness.json"):
        (path / name).unlink()
    for ids in (path / "log").glob("*.ids"):
        ids.unlink()
    with journal.open(path, clock=lambda: 1) as engine:
        engine.rebuild()


def other_byte(at: int) -> Edit:
    """Change one letter or digit inside the data of a line, the `at`th, to another one."""

    def edit(body: bytes) -> bytes:
        start = body.index(b'"data":') + 7
        found = [m.start() for m in re.finditer(rb'(?<=[:,"/n0-9])[0-9]|(?<=/)[a-z]', body[start:])]
        place = start + found[at % len(found)]
        other = b"8" if body[place : place + 1].isdigit() else b"z"
        other = other if body[place : place + 1] != other else b"7"
        return body[:place] + other + body[place + 1 :]

    return edit
