"""The bytes of a foreign file as text, and the places in it that messages name.

Invariants
  I1  The text is strict UTF-8. A BOM at the start is passed over with a warning; UTF-16 and UTF-32
      are refused by name, with a BOM or without (no JSON or YAML text begins with NUL bytes).
  I2  Where a text is refused and git's conflict markers stand in it, these are the reason given:
      whatever else is wrong follows from them.
  I3  Lines end at 0x0A only and are counted from 1; offsets are bytes of the file, BOM included.

It does not know JSON or YAML.
"""

import os
import re
from bisect import bisect_left
from functools import cached_property

from journal.errors import Corrupt
from projections.foreign.reading import Mark

MEND = "Mend the text there, or put back an older copy; nothing was changed."

_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
# Which of the first eight bytes are NUL where the text begins with two characters of ASCII.
_WIDE_NULS: dict[tuple[bool, ...], str] = {
    (False, True, True, True, False, True, True, True): "UTF-32",
    (True, True, True, False, True, True, True, False): "UTF-32",
}
_MARKER = re.compile(rb"^(?:<{7}|\|{7}|={7}|>{7})(?=[ \r\n]|\Z)", re.MULTILINE)


class Source:
    """A foreign file: its text, and errors and warnings that know where they belong."""

    def __init__(self, data: bytes, path: str | os.PathLike[str]) -> None:
        """Decode `data`; raises `Corrupt` for what is not UTF-8 text or holds NUL bytes."""
        self.path = os.fspath(path)
        self.warnings: list[str] = []
        self._data = data
        self._skipped = 0
        self.text = ""
        self._check_encoding()
        if data.startswith(_BOM):
            self._skipped = len(_BOM)
            self.warnings.append(f"{self.path}, line 1: a UTF-8 byte order mark was passed over")
        try:
            self.text = data[self._skipped :].decode("utf-8")
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise self._fail_at(
                self._skipped + error.start,
                f"byte 0x{byte:02X} is not UTF-8 ({error.reason})",
                "Save the file as UTF-8.",
            ) from None
        self._check_nul()
        if not self.text.strip(" \t\r\n"):
            why = "the file holds nothing but white space" if self.text else "the file is empty"
            raise self._fail_at(0, why, "An empty file is no value; put back an older copy.")

    def fail(self, why: str, at: int, *, column: bool = False, advice: str = MEND) -> Corrupt:
        """Return the error for what is wrong at index `at` of the text."""
        if column:
            why = f"column {self.mark(at).column}: {why}"
        return self._fail_at(self._skipped + self._bytes_before(at), why, advice)

    def warn(self, message: str, at: int) -> None:
        """Keep a warning about index `at` of the text."""
        self.warnings.append(f"{self.path}, line {self.mark(at).line}: {message}")

    def mark(self, at: int) -> Mark:
        """Return line and column of index `at` of the text."""
        line = bisect_left(self._breaks, at)
        start = self._breaks[line - 1] + 1 if line else 0
        return Mark(line + 1, at - start + 1)

    @cached_property
    def _breaks(self) -> list[int]:
        return [found.start() for found in re.finditer("\n", self.text)]

    def _bytes_before(self, at: int) -> int:
        return len(self.text[:at].encode("utf-8"))

    def _fail_at(self, offset: int, why: str, advice: str) -> Corrupt:
        conflicts = self._conflicts()
        if conflicts:
            offset = conflicts[0][0]
            spans = [(self._line(start), self._line(stop)) for start, stop in conflicts]
            lines = " and ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in spans)
            plural = "s" if "-" in lines or "and" in lines else ""
            why = f"git conflict markers at line{plural} {lines}"
            advice = "Resolve the conflict: keep one side of each and remove the marker lines."
        return Corrupt(why, path=self.path, line=self._line(offset), offset=offset, advice=advice)

    def _line(self, offset: int) -> int:
        return self._data.count(b"\n", 0, offset) + 1

    def _conflicts(self) -> list[tuple[int, int]]:
        """Return the offsets of the first and last marker line of each conflict."""
        found: list[tuple[int, int]] = []
        opened = False
        for marker in _MARKER.finditer(self._data):
            kind, at = marker.group()[:1], marker.start()
            if kind == b"<":
                found.append((at, at))
                opened = True
            elif opened:
                found[-1] = (found[-1][0], at)
                opened = kind != b">"
            elif kind == b">":
                found.append((at, at))
        return found

    def _check_encoding(self) -> None:
        head = self._data[:8]
        name = next((name for bom, name in _WIDE_BOMS if head.startswith(bom)), "")
        nuls = tuple(byte == 0 for byte in head)
        if not name:
            name = _WIDE_NULS.get(nuls, "")
        if not name and nuls[:4] in ((False, True, False, True), (True, False, True, False)):
            name = "UTF-16"
        if name:
            raise self._fail_at(
                0,
                f"{name} text, expected UTF-8",
                f"Save the file as UTF-8, as by: iconv -f {name} -t UTF-8",
            )

    def _check_nul(self) -> None:
        first = self._data.find(0)
        if first < 0:
            return
        count = self._data.count(0)
        if count == len(self._data):
            why = f"the file holds nothing but NUL bytes ({count} of them)"
        else:
            why = f"a NUL byte ({count} in the file)"
        raise self._fail_at(
            first, why, "A power cut may leave these; put back an older copy. Nothing was changed."
        )
