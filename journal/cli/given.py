"""What a caller gives a command as JSON: an event's data, a batch of events, a state.

I1  It is read strictly, before anything is opened: doubled keys, NaN, anything that does not read
    back equal is refused with its place.
I2  What is wrong with it is a wrong call (`UsageError`), never damage of a journal.
"""

import codecs
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from journal import codec, regular, unfit
from journal.cli import output
from journal.errors import Corrupt, UsageError
from journal.event import Draft, Event

if TYPE_CHECKING:
    from journal import Engine

MAX_BYTES = 256 << 20
"""What is read whole: the 64 MiB that an append takes, with room for blanks and escapes."""
_STDIN = "standard input"
_DATA_ADVICE = 'Give one JSON value, such as \'{"path": "/phase", "value": "plan"}\'.'
_FILE_ADVICE = "The file must hold one JSON value. Nothing was changed."
_BATCH_ADVICE = (
    'A line is {"type": …, "data": …} and, if wanted, "actor", "id", "cause". Nothing was appended.'
)


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """A line of a batch."""

    type: str
    data: Any
    actor: str = ""
    id: str = ""
    cause: Annotated[int, msgspec.Meta(ge=0)] = 0


class Batch(NamedTuple):
    """The events of one append, each with its line in the file named `name`."""

    name: str
    numbered: list[tuple[int, Draft]]

    @property
    def drafts(self) -> list[Draft]:
        """The events alone."""
        return [draft for _, draft in self.numbered]


def read_data(text: str) -> Any:
    """Return the JSON value of an argument; - reads it from stdin. Raises `UsageError`."""
    if text == "-":
        return _read_strictly(read_stdin(), _STDIN, lines=False, advice=_DATA_ADVICE)
    return _read_strictly(os.fsencode(text), "DATA", lines=False, advice=_DATA_ADVICE)


def read_value(path: str) -> Any:
    """Return the JSON value in a file; - is stdin. Raises `UsageError`, `OSError`."""
    name, raw = _read(path)
    return _read_strictly(raw, name, lines=False, advice=_FILE_ADVICE)


def read_batch(path: str) -> Batch:
    """Return the events of a JSONL file; - is stdin.

    Raises `UsageError` with the line that is not one, `OSError` where it cannot be read.
    """
    name, raw = _read(path)
    values = _read_strictly(raw, name, lines=True, advice=_BATCH_ADVICE)
    parts = raw.removeprefix(codecs.BOM_UTF8).split(b"\n")
    numbers = [number for number, part in enumerate(parts, 1) if part.strip(b" \t\r")]
    return Batch(
        name,
        [
            (number, _to_draft(value, f"{name}, line {number}"))
            for number, value in zip(numbers, values, strict=True)
        ],
    )


def _to_draft(value: Any, place: str) -> Draft:
    try:
        line = msgspec.convert(value, _Line)
    except msgspec.ValidationError as error:
        why = unfit.say(error, "a line")
        raise UsageError(f"{place}: {why}", key="batch", advice=_BATCH_ADVICE) from error
    return Draft(type=line.type, data=line.data, actor=line.actor, id=line.id, cause=line.cause)


def find_unfit(engine: "Engine", batch: Batch) -> UsageError | None:
    """Return the error of the first event of a refused batch that does not fit, with its line.

    None where each fits by itself.
    """
    projection, state = engine.projection, engine.state
    for number, draft in batch.numbered:
        try:
            projection.name_type(draft.type)
            data = codec.encode_value(draft.data)
            event = Event(seq=engine.seq + 1, time=engine.time, type=draft.type, data=None)
            line, _ = codec.seal([codec.encode_body(event, data)], 0)
            state = projection.apply_new(state, projection.decode_new(bytes(line)), check=False)
        except UsageError as error:
            return UsageError(
                f"{batch.name}, line {number}: {error.message}",
                key=error.key,
                advice=f"{error.advice} Nothing was appended.".lstrip(),
            )
    return None


def _read(path: str) -> tuple[str, bytes]:
    return (_STDIN, read_stdin()) if path == "-" else (path, read_file(path))


def read_file(path: str) -> bytes:
    """Return the bytes of a file that is read whole; raises `OSError`, for a too large one, too."""
    return regular.read_given(path, limit_bytes=MAX_BYTES)


def read_stdin() -> bytes:
    """Return what stands on stdin; raises `OSError` for what is too much to be read whole."""
    return regular.read_stream(sys.stdin.buffer, _STDIN, limit_bytes=MAX_BYTES)


def _read_strictly(raw: bytes, name: str, *, lines: bool, advice: str) -> Any:
    from projections.foreign import read_json, read_jsonl

    try:
        found = read_jsonl(raw, path=name) if lines else read_json(raw, path=name)
    except Corrupt as error:
        raise UsageError(error.message, advice=advice) from error
    for warning in found.warnings:
        output.say(warning)
    return found.value
