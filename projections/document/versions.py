"""A file that holds a history, one version a line, compressed by gzip or not.

    {"n":1,"time":"2025-01-31T12:00:00Z","actor":"ann","message":"...","path":"a.json","content":"{}"}

`n` and `time` are needed, and exactly one of `content` (text; null: the file was deleted),
`content_b64` (bytes that are no UTF-8) and `value` (data already parsed, as `export` writes it).
`actor`, `message`, `path`, `why`, `warnings` may be there; other members are passed over.

I1  A bad line is a `Problem` with its number and the reason; the lines after it are read.
I2  One line is in memory at a time, and none over `MAX_LINE_BYTES`.
I3  Whether it is gzip, its first bytes say, not its name. Blank lines are passed over, and a BOM.
"""

import base64
import binascii
import gzip
import os
import re
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec

from journal import regular
from journal.errors import Corrupt
from projections.document.version import Problem, Version
from projections.foreign import read_json

MAX_LINE_BYTES = 256 << 20
_GZIP = b"\x1f\x8b"
_COUNTED_BYTES = 1 << 20


class _Line(msgspec.Struct):
    """The members of a line that are read."""

    n: Annotated[int, msgspec.Meta(ge=1)]
    time: str
    actor: str = ""
    message: str = ""
    path: str = ""
    content: str | msgspec.UnsetType | None = msgspec.UNSET
    content_b64: str | msgspec.UnsetType = msgspec.UNSET
    value: Any = msgspec.UNSET
    why: str = ""
    warnings: tuple[str, ...] = ()


class VersionsFile:
    """The history in one file; it can be read again and again."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Remember the path; the file is opened when it is read."""
        self.path = Path(path)

    def __iter__(self) -> Iterator[Version | Problem]:
        """Yield the version of each line, or what is wrong with it (I1).

        Raises `OSError` with the path where the file cannot be read.
        """
        number = 0
        try:
            with self._opened() as lines:
                while line := lines.readline(MAX_LINE_BYTES + 1):
                    number += 1
                    place = f"{self.path}, line {number}"
                    if len(line) > MAX_LINE_BYTES:
                        _skip_line(lines, line)
                        yield Problem(place, f"it is longer than {MAX_LINE_BYTES:,} bytes")
                    elif line.strip():
                        yield _read_line(line, place)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            yield Problem(
                f"{self.path}, after line {number}",
                f"the gzip data is damaged ({error}); the lines from here on cannot be read",
            )

    def total(self) -> int | None:
        """Count the lines; None where the file cannot be read to its end."""
        try:
            with self._opened() as lines:
                chunks = iter(lambda: lines.read(_COUNTED_BYTES), b"")
                return sum(chunk.count(b"\n") for chunk in chunks)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return None

    @contextmanager
    def _opened(self) -> Generator[BinaryIO]:
        with open(regular.open_given(self.path), "rb") as file:
            if file.peek(len(_GZIP))[: len(_GZIP)] != _GZIP:
                yield file
                return
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield unpacked  # type: ignore[misc]  # it reads like a BinaryIO


def read_versions(path: str | os.PathLike[str]) -> VersionsFile:
    """Return the history in a JSONL file, compressed or not; see this file's docstring.

    Raises `OSError` with the path where there is no such file.
    """
    Path(path).stat()
    return VersionsFile(path)


def _skip_line(lines: BinaryIO, part: bytes) -> None:
    while part and not part.endswith(b"\n"):
        part = lines.readline(_COUNTED_BYTES)


def _read_line(line: bytes, place: str) -> Version | Problem:
    try:
        found = msgspec.convert(read_json(line, path=place).value, _Line)
        given = _content_of(found)
    except Corrupt as error:
        return Problem(place, error.why)
    except (msgspec.ValidationError, ValueError) as error:
        return Problem(place, re.sub(r"`\$\.?([^`]*)`", r"`\1`", str(error)))
    return Version(
        n=found.n,
        time=found.time,
        author=found.actor,
        message=found.message,
        path=found.path,
        why=found.why,
        warnings=found.warnings,
        place=place,
        **given,
    )


def _content_of(line: _Line) -> dict[str, Any]:
    """Return the one member that holds the content; raises `ValueError` for none or two."""
    given = {
        name: member
        for name in ("content", "content_b64", "value")
        if (member := getattr(line, name)) is not msgspec.UNSET
    }
    if len(given) != 1:
        named = " and ".join(given) or "none"
        raise ValueError(f"one of content, content_b64 and value is needed, found {named}")
    if isinstance(line.content, str):
        return {"content": line.content.encode()}
    if isinstance(line.content_b64, str):
        try:
            return {"content": base64.b64decode(line.content_b64, validate=True)}
        except binascii.Error as error:
            raise ValueError(f"content_b64 is not base64: {error}") from error
    return given
