"""The lines of a log decoded as typed events: one struct a type of event, all in one decoder.

I1  Blocks of lines are decoded typed, at once; only a block that does not fit is decoded line by
    line.
I2  Unknown types, and data that does not fit its class, become an `Unknown` each.
I3  The engine's own events are among them: those that carry state are decoded, of the others only
    the envelope.

What an event does to the state is not told here; see `projections.projection`.
"""

import re
from collections.abc import Iterable
from typing import Any, Union

import msgspec

from journal import codec, unfit
from journal.errors import UsageError
from journal.event import (
    ADOPTED,
    CARRIES_STATE,
    CHECKPOINT,
    CREATED,
    FORKED,
    LOST,
    PRUNED,
    RECOVERED,
    REPAIRED,
    RESTORED,
    ROTATED,
    TAKEN_OVER,
    is_engine_type,
)

_TYPE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}")
_ENGINE_TYPES = (
    CREATED,
    ROTATED,
    FORKED,
    RECOVERED,
    LOST,
    CHECKPOINT,
    PRUNED,
    TAKEN_OVER,
    ADOPTED,
    RESTORED,
    REPAIRED,
)


class Unknown(msgspec.Struct, frozen=True):
    """A line whose type the projection does not know, or whose data does not fit its class."""

    seq: int
    type: str
    why: str


class Carried(msgspec.Struct, frozen=True):
    """The data of an engine event that carries state: `patch` (RFC 6902) or the whole `state`."""

    patch: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    state: Any = msgspec.UNSET


class TypedLines:
    """The decoder of some events' lines; `events` are their structs.

    `classes` maps the name of a user's type to the struct of its lines, (seq, time, data, actor);
    `engine_classes` that of an engine's type.
    """

    def __init__(self, events: Iterable[type[Any]]) -> None:
        """Build the decoder; raises `UsageError` for a type name that cannot be one."""
        self._events = {event_type(event): event for event in events}
        for name in self._events:
            if not _TYPE_NAME.fullmatch(name) or is_engine_type(name):
                raise UsageError(f"{name!r} cannot be the type of an event", key=name)
        self.classes = {name: _make_line(name, event) for name, event in self._events.items()}
        self.engine_classes = {
            name: _make_line(name, Carried if name in CARRIES_STATE else msgspec.Raw)
            for name in _ENGINE_TYPES
        }
        self._decoder = _decoder_of([*self.classes.values(), *self.engine_classes.values()])
        self._parts_decoder: msgspec.json.Decoder[Any] | None = None
        self.with_part: dict[type[Any], type[Any]] = {}
        """Each line's struct, and the one of `decode_parts`; empty until that is first called."""

    def decode(self, lines: bytes, unknown: list[Unknown] | None = None) -> list[Any]:
        """Decode checked lines; a line that is not understood becomes an `Unknown`.

        Raises `ValueError` for a line that is no event, though it checks.
        """
        try:
            return self._decoder.decode_lines(lines)
        except (msgspec.ValidationError, RecursionError):
            events = [self._decode_one(line) for line in lines.split(b"\n")[:-1]]
        if unknown is not None:
            unknown.extend(event for event in events if isinstance(event, Unknown))
        return events

    def _decode_one(self, line: bytes) -> Any:
        try:
            return self._decoder.decode(line)
        except (msgspec.ValidationError, RecursionError) as error:
            plain = codec.decode_event(line)
            return Unknown(plain.seq, plain.type, unfit.say(error, "its line"))

    def decode_parts(self, lines: bytes) -> list[Any] | None:
        """Decode as `decode` does, each event with its `part`; None where one is not understood."""
        if self._parts_decoder is None:
            plain = [*self.classes.values(), *self.engine_classes.values()]
            self.with_part = {line: _with_part(line) for line in plain}
            self._parts_decoder = _decoder_of(self.with_part.values())
        try:
            return self._parts_decoder.decode_lines(lines)
        except (msgspec.ValidationError, RecursionError):
            return None

    def decode_new(self, lines: bytes) -> list[Any]:
        """Decode lines that are about to be written; raises `UsageError` for data that is unfit."""
        try:
            return self._decoder.decode_lines(lines)
        except msgspec.ValidationError:
            pass
        for line in lines.split(b"\n")[:-1]:
            try:
                self._decoder.decode(line)
            except msgspec.ValidationError as error:
                event = codec.decode_event(line)
                raise UsageError(
                    f"{event.type}: {unfit.say(error)}",
                    key="data",
                    advice=_shape(self._events.get(event.type)),
                ) from error
        raise AssertionError("a block does not fit, but each of its lines does")


def event_type(event: type[Any]) -> str:
    """Return the type name of an event's struct: its `event_type`, or its name in snake case."""
    known = _type_names.get(event)
    if known is None:
        given = getattr(event, "event_type", None)
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", event.__name__).lower()
        known = _type_names[event] = given if isinstance(given, str) else snake
    return known


_type_names: dict[type[Any], str] = {}


def _decoder_of(lines: Iterable[type[Any]]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(Union[tuple(lines)])  # noqa: UP007 - built at run time


def _make_line(name: str, data: Any) -> type[Any]:
    """Make the struct of a whole line whose `type` is `name` and whose data is typed."""
    return msgspec.defstruct(
        "Line",
        [("seq", int), ("time", str), ("data", data), ("actor", str, "")],
        tag_field="type",
        tag=name,
        gc=False,
        namespace={"type": name},
    )


def _with_part(line: type[Any]) -> type[Any]:
    """Make the same struct, with the part of an append that the line is."""
    return msgspec.defstruct(
        "Line",
        [("part", tuple[int, int], (1, 1))],
        bases=(line,),
        tag_field="type",
        tag=line.type,
        gc=False,
    )


def _shape(event: type[Any] | None) -> str:
    if event is None:
        return ""
    fields = [
        field.name + ("" if field.required else "?") for field in msgspec.structs.fields(event)
    ]
    optional = " (? may be left out)" if any(name.endswith("?") for name in fields) else ""
    return f"Its data has: {', '.join(fields)}{optional}."
