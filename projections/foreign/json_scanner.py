"""A JSON scanner that knows where it is: slow, without recursion, one message for each fault.

It reads one value from a stretch of a `Source`: the whole text of a JSON file, one line of a JSONL
file. `json_text` calls it only where its quick reader has doubts.
"""

import math
import re
from dataclasses import dataclass

from projections.foreign.source import MEND, Source
from projections.patch import MAX_DEPTH, Json

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD = re.compile(r"[-+.0-9A-Za-z_]+")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_LITERALS: dict[str, Json] = {"true": True, "false": False, "null": None}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HINTS = {
    "NaN": "JSON has no NaN; write null.",
    "Infinity": "JSON has no Infinity; write null.",
    "-Infinity": "JSON has no Infinity; write null.",
    "undefined": "JSON has no undefined; write null.",
    "True": "Write true.",
    "False": "Write false.",
    "None": "Write null.",
    "'": 'Texts stand in double quotes: ".',
    "/": "JSON has no comments.",
    "#": "JSON has no comments.",
    "\ufeff": "This is a byte order mark inside the text, as when two files are joined.",
}


def in_range(number: float) -> bool:
    """Say whether a number can be a JSON value of ours: a 64-bit integer or a finite float."""
    if isinstance(number, float):
        return math.isfinite(number)
    return -(2**63) <= number < 2**64


@dataclass(slots=True)
class _Open:
    """An object or list whose end has not been reached, and where it began."""

    container: dict[str, Json] | list[Json]
    start: int
    key: str
    places: dict[str, int]  # of the keys so far


class Scanner:
    """Reads the value between two indices of a source's text."""

    def __init__(
        self, source: Source, start: int, stop: int, *, lenient: bool, part: str = "file"
    ) -> None:
        """Take up the stretch of `source` between two indices; `part` is what messages call it."""
        self._source = source
        self._part = part
        self._text = source.text
        self._start = start
        self._stop = stop
        self._lenient = lenient
        self._open: list[_Open] = []

    def read(self) -> Json:
        """Return the value; raises `Corrupt` for the first fault, also for text after the value."""
        at = self._skip(self._start)
        while True:
            value, at = self._value(at)
            value, at = self._close(value, self._skip(at))
            if not self._open:
                break
        if at < self._stop:
            self._fail_trailing(at)
        return value

    def _value(self, at: int) -> tuple[Json, int]:
        """Read a scalar or an empty container at `at`, opening the containers before it."""
        while True:
            char = self._char(at)
            if char not in ("{", "["):
                return self._scalar(char, at)
            container: dict[str, Json] | list[Json] = {} if char == "{" else []
            if len(self._open) == MAX_DEPTH:
                raise self._source.fail(
                    f"nested deeper than {MAX_DEPTH} levels", at, advice="Flatten the value."
                )
            self._open.append(_Open(container, at, "", {}))
            at = self._skip(at + 1)
            if self._char(at) == ("}" if char == "{" else "]"):
                self._open.pop()
                return container, at + 1
            if char == "{":
                at = self._key(at)

    def _close(self, value: Json, at: int) -> tuple[Json, int]:
        """Put `value` where it belongs and close what ends after it, up to the next value."""
        while self._open:
            top = self._open[-1]
            if isinstance(top.container, dict):
                top.container[top.key] = value
                closer = "}"
            else:
                top.container.append(value)
                closer = "]"
            char = self._char(at)
            if char == ",":
                at = self._skip(at + 1)
                if self._char(at) in ("}", "]"):
                    wanted = "a value after the comma"
                    raise self._fail_expected(wanted, at, hint="Remove the comma before it.")
                return value, self._key(at) if closer == "}" else at
            if char != closer:
                raise self._fail_unclosed(closer, at)
            value = self._open.pop().container
            at = self._skip(at + 1)
        return value, at

    def _key(self, at: int) -> int:
        """Read a key and its colon; return where the value begins."""
        if self._char(at) != '"':
            raise self._fail_expected("a key in double quotes", at)
        key, after = self._string(at)
        top = self._open[-1]
        if key in top.places:
            self._twice(key, top.places[key], at)
        top.places[key] = at
        top.key = key
        after = self._skip(after)
        if self._char(after) != ":":
            raise self._fail_expected('":" after the key', after)
        return self._skip(after + 1)

    def _twice(self, key: str, first: int, second: int) -> None:
        line = self._source.mark(first).line
        if not self._lenient:
            raise self._source.fail(
                f'the key "{key}" twice in one object, first at line {line}',
                second,
                advice="Keep one of the two; nothing was changed.",
            )
        self._source.warn(
            f'the key "{key}" twice in one object, first at line {line}; the last counts', second
        )

    def _scalar(self, char: str, at: int) -> tuple[Json, int]:
        if char == '"':
            return self._string(at)
        word = _WORD.match(self._text, at, self._stop)
        text = word.group() if word else char
        if text in _LITERALS:
            return _LITERALS[text], at + len(text)
        if not _NUMBER.fullmatch(text):
            raise self._fail_expected("a value", at)
        return self._number(text, at), at + len(text)

    def _number(self, text: str, at: int) -> int | float:
        shown = text if len(text) <= 40 else f"{text[:20]}… ({len(text)} characters)"
        if text.lstrip("-").isdecimal():
            # No number of ours is as long, and int() refuses or crawls on thousands of digits.
            if len(text) <= 20 and in_range(number := int(text)):
                return number
            raise self._source.fail(
                f"the integer {shown} is outside -2**63 … 2**64-1", at, advice="Write it as text."
            )
        if not in_range(value := float(text)):
            raise self._source.fail(
                f"the number {shown} is too large", at, advice="Write it as text."
            )
        return value

    def _string(self, start: int) -> tuple[str, int]:
        pieces: list[str] = []
        at = start + 1
        while True:
            match = _PLAIN.match(self._text, at, self._stop)
            if match:
                pieces.append(match.group())
                at = match.end()
            char = self._char(at)
            if char == '"':
                return "".join(pieces), at + 1
            if char != "\\":
                raise self._fail_in_string(char, start, at)
            piece, at = self._escape(at)
            pieces.append(piece)

    def _escape(self, at: int) -> tuple[str, int]:
        char = self._char(at + 1)
        if char in _ESCAPES:
            return _ESCAPES[char], at + 2
        unit = self._unit(at)
        if unit is None:
            raise self._source.fail(
                f'"{self._text[at : min(at + 2, self._stop)]}" is no escape',
                at,
                advice=r'Write a backslash as "\\".',
            )
        if 0xD800 <= unit < 0xDC00:
            low = self._unit(at + 6)
            if low is not None and 0xDC00 <= low < 0xE000:
                return chr(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)), at + 12
        if 0xD800 <= unit < 0xE000:
            raise self._source.fail(
                f"{self._text[at : at + 6]} is half of a pair (a lone surrogate)",
                at,
                advice="No text holds such a half; write the whole character.",
            )
        return chr(unit), at + 6

    def _unit(self, at: int) -> int | None:
        r"""Return the code of a `\u` escape at `at`, if one stands there."""
        if self._text[at : at + 2] != "\\u" or at + 6 > self._stop:
            return None
        digits = _HEX.match(self._text, at + 2)
        return int(digits.group(), 16) if digits else None

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self._text, at, self._stop)
        return match.end() if match else at

    def _char(self, at: int) -> str:
        return self._text[at] if at < self._stop else ""

    def _found(self, at: int) -> tuple[str, str]:
        """Return what stands at `at`, for a message, and a hint about it."""
        if at >= self._stop:
            hint = "It was cut short; put back a whole copy."
            if self._part == "line":
                hint = (
                    "Write one whole JSON value a line, or name the file .json if it is one value."
                )
            return f"the end of the {self._part}", hint
        word = _WORD.match(self._text, at, self._stop)
        text = word.group() if word else self._text[at]
        hint = _HINTS.get(text, "")
        if not hint and text[:1] == "0" and text[1:].isdecimal():
            hint = "A number has no leading zeros."
        shown = f"U+{ord(text):04X}" if not text.isprintable() else f'"{text[:40]}"'
        return shown, hint or MEND

    def _fail_expected(self, wanted: str, at: int, *, hint: str = "") -> Exception:
        found, known = self._found(at)
        return self._source.fail(f"expected {wanted}, found {found}", at, advice=hint or known)

    def _fail_unclosed(self, closer: str, at: int) -> Exception:
        found, hint = self._found(at)
        kind = "object" if closer == "}" else "list"
        line = self._source.mark(self._open[-1].start).line
        before = self._text[self._start : at].rstrip(" \t\r\n")
        if before.endswith('"') and found[:1] == '"' and found[1:2] not in "}]:":
            hint = r"A quote inside a text is written \"."
        return self._source.fail(
            f'expected "," or "{closer}" (the {kind} begins at line {line}), found {found}',
            at,
            advice=hint,
        )

    def _fail_in_string(self, char: str, start: int, at: int) -> Exception:
        if not char:
            found, hint = self._found(at)
            line = self._source.mark(start).line
            return self._source.fail(
                f"{found} inside a text that begins at line {line}", at, advice=hint
            )
        escape = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}.get(char, f"\\u{ord(char):04x}")
        return self._source.fail(
            f"the control character U+{ord(char):04X} inside a text",
            at,
            advice=f"Write it as {escape}, or close the text before it.",
        )

    def _fail_trailing(self, at: int) -> None:
        if self._part == "line":
            raise self._source.fail(
                "the line goes on after its value", at, advice="Write one JSON value a line."
            )
        rest = len(self._text[at : self._stop].encode("utf-8"))
        _, hint = self._found(at)
        if hint == MEND:
            hint = "Perhaps the tail of an older, longer text, left by a torn write. " + MEND
        raise self._source.fail(
            f"the value ends here, but text follows it (bytes: {rest})", at, advice=hint
        )
