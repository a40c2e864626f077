"""JSON (RFC 8259) and JSON Lines from outside, read strictly.

    {"phase": "plan", "n": 1}

Invariants
  I1  What is returned is a JSON value as the engine can store it: integers -2**63 .. 2**64-1,
      finite floats, no lone surrogates, at most `MAX_DEPTH` levels. 1, 1.0 and -0.0 stay apart.
  I2  Two readers, one verdict: the decoder of the standard library, in C, answers quickly for
      text without fault; whatever it doubts is read by the slow scanner here, which alone says
      what is wrong and where. So each fault has one message.
  I3  Neither recurses without bound: the scanner keeps its own stack.

It does not know what the value means.
"""

import json
import os
from typing import Any

import orjson

from projections.foreign.json_scanner import Scanner, in_range
from projections.foreign.reading import Reading
from projections.foreign.source import Source
from projections.patch import MAX_DEPTH, depth

_BLANK = " \t\r"


def read_json(data: bytes, *, path: str | os.PathLike[str], lenient: bool = False) -> Reading:
    """Read one JSON value that fills the whole file.

    A BOM at the start is a warning. Of equal keys in one object the last counts, with a warning,
    if `lenient`; else they are refused. Raises `Corrupt` with the place of the first fault.
    """
    source = Source(data, path)
    value = _read(source, 0, len(source.text), "file", lenient)
    return Reading(value, tuple(source.warnings))


def read_jsonl(data: bytes, *, path: str | os.PathLike[str], lenient: bool = False) -> Reading:
    """Read one JSON value from each line and return the list of them.

    Only LF ends a line; the last line may lack it. A blank line is passed over with a warning.
    BOM and equal keys are as in `read_json`. Raises `Corrupt`, also for a file without any value.
    """
    source = Source(data, path)
    values: list[Any] = []
    start = 0
    while start < len(source.text):
        stop = source.text.find("\n", start)
        stop = len(source.text) if stop < 0 else stop
        if source.text[start:stop].strip(_BLANK):
            values.append(_read(source, start, stop, "line", lenient))
        else:
            source.warn("a blank line was passed over", start)
        start = stop + 1
    return Reading(values, tuple(source.warnings))


class _Doubt(Exception):
    """The quick reader saw something that the scanner has to decide."""


def _read(source: Source, start: int, stop: int, part: str, lenient: bool) -> Any:
    text = source.text[start:stop]
    try:
        value = _DECODER.decode(text)
        # Refuses integers out of range and lone surrogates, which the decoder lets through.
        orjson.dumps(value)
        if text.count("[") + text.count("{") <= MAX_DEPTH or depth(value) <= MAX_DEPTH:
            return value
    except (_Doubt, ValueError, TypeError, RecursionError):
        pass  # the scanner decides, and says what is wrong
    return Scanner(source, start, stop, lenient=lenient, part=part).read()


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _Doubt
    return members


def _doubt(text: str) -> Any:
    raise _Doubt(text)


def _float(text: str) -> float:
    number = float(text)
    if not in_range(number):
        raise _Doubt
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_float=_float, parse_constant=_doubt)
