"""From what a caller gives to an event that is ready to be numbered: checked, encoded, read back.

I1  It needs no lock and no state: all that an event can be refused for by itself is asked here,
    before the append lock is taken.
I2  Data is encoded once, and what these bytes read back as is compared with what was given. The
    state and the answer are made of what was read, so that neither shares anything with the
    caller's objects.
I3  A typed struct of plain fields goes straight through its own decoder; everything else through
    `codec.encode_and_read`, which also words every refusal.

It writes nothing; `journal.engine.appending` and `journal.log.lines` do.
"""

import functools
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from journal import codec
from journal.errors import UsageError
from journal.event import Draft, parse_time
from journal.log.lines import Encoded
from projections.projection import Projection
from projections.typed_lines import event_type

_MAX_NAME_CHARACTERS = 1000
_MAX_HEADS = 256
_UNFIT = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError)
_encode_struct = msgspec.json.Encoder().encode

NewEvent = Draft | msgspec.Struct | tuple[str, Any]
"""What `append_batch` and commands take: a draft, a typed event, or (type, data)."""


class _Kind(msgspec.Struct, frozen=True):
    """A type of event: its class, the class of its lines, and how its data is read typed."""

    event: type[Any]
    line: type[Any]
    read: Callable[[bytes], Any]
    is_plain: bool


class Encoder:
    """Encodes the events of one projection.

    `typed` is unset in what it returns where the data does not fit its class: that is refused with
    the whole line, once it is known that the event is new.
    """

    def __init__(self, projection: Projection) -> None:
        """Learn nothing yet: a type is looked at when its first event comes."""
        self._projection = projection
        self._kinds: dict[str, _Kind] = {}
        self._heads: dict[tuple[str, str], bytes] = {}

    def encode(  # noqa: PLR0917 - the members of an event, in their order
        self, name: str, data: Any, actor: str = "", key: str = "", cause: int = 0, time: str = ""
    ) -> Encoded:
        """Encode an event; raises `UsageError` for one that cannot be stored."""
        kind = self._kinds.get(name) or self._learn(name)
        if actor.__class__ is not str:
            _check_text("actor", actor)
        head = self._heads.get((name, actor)) or self._make_head(name, actor)
        if key != "":
            _check_text("id", key)
        if cause != 0 or cause.__class__ is not int:
            _check_cause(cause)
        if time != "":
            time = parse_time(time)
        if kind.is_plain and data.__class__ is kind.event:
            try:
                encoded = _encode_struct(data)
                typed = kind.read(encoded)
                if typed == data and len(encoded) <= codec.MAX_EVENT_BYTES:
                    value = msgspec.to_builtins(data)
                    return Encoded(
                        name, encoded, actor, key, cause, time, value, head, typed, kind.line
                    )
            except _UNFIT:
                pass  # The long way round says what is wrong.
        encoded, value = codec.encode_and_read(data)
        try:
            typed = kind.read(encoded)
        except (msgspec.ValidationError, RecursionError):
            return Encoded(name, encoded, actor, key, cause, time, value, head)
        if isinstance(data, msgspec.Struct) and typed != data:
            raise UsageError(
                f"{name}: the data would not read back equal",
                key="data",
                advice="Give the event's class fields of JSON values only.",
            )
        return Encoded(name, encoded, actor, key, cause, time, value, head, typed, kind.line)

    def encode_draft(self, draft: Draft) -> Encoded:
        """Encode a draft; raises as `encode` does."""
        return self.encode(draft.type, draft.data, draft.actor, draft.id, draft.cause, draft.time)

    def encode_all(self, events: Iterable[NewEvent], actor: str) -> list[Encoded]:
        """Encode what a caller gave; `actor` is taken where an event names none."""
        found: list[Encoded] = []
        add, heads = found.append, self._heads
        known: dict[type[Any], tuple[str, _Kind, bytes]] = {}
        for event in events:
            at_hand = known.get(event.__class__)
            if at_hand is not None:
                name, kind, head = at_hand
                try:  # as `encode` does it, a thousand times over
                    encoded = _encode_struct(event)
                    typed = kind.read(encoded)
                    if typed == event and len(encoded) <= codec.MAX_EVENT_BYTES:
                        unset = msgspec.UNSET  # read back with its line, with all the others
                        add(Encoded(name, encoded, actor, "", 0, "", unset, head, typed, kind.line))
                        continue
                except _UNFIT:
                    pass
            if isinstance(event, msgspec.Struct) and not isinstance(event, Draft):
                name = event_type(event.__class__)
                add(self.encode(name, event, actor))
                kind = self._kinds[name]
                if kind.is_plain and kind.event is event.__class__:
                    known[kind.event] = (name, kind, heads[name, actor])
            else:
                add(self.encode_draft(to_draft(event, actor)))
        return found

    def _learn(self, name: str) -> _Kind:
        self._projection.name_type(name)
        event = self._projection.types[name]
        kind = _Kind(
            event,
            self._projection.line_of(name),
            msgspec.json.Decoder(event).decode,
            _is_plain(event),
        )
        self._kinds[name] = kind
        return kind

    def _make_head(self, name: str, actor: str) -> bytes:
        if actor:
            _check_text("actor", actor)
        head = codec.head(name, actor)
        if len(self._heads) >= _MAX_HEADS:
            self._heads.clear()
        self._heads[name, actor] = head
        return head


_SCALARS = frozenset({int, str, float, bool, type(None)})


def _is_plain(event: type[Any]) -> bool:
    """Say whether an event's fields hold plain JSON values only, which need no other reading."""
    try:
        fields = msgspec.structs.fields(event)
    except TypeError:
        return False
    return False not in {_is_plain_type(field.type) for field in fields}


def _is_plain_type(wanted: Any) -> bool:
    if wanted in _SCALARS:
        return True
    if typing.get_origin(wanted) in (typing.Union, types.UnionType):
        return _SCALARS.issuperset(typing.get_args(wanted))
    return False


# --- what a caller gives -------------------------------------------------------------------------


def encode(draft: Draft) -> Encoded:
    """Encode a caller's event without its projection; raises `UsageError` for what is no event."""
    if draft.actor != "":
        _check_text("actor", draft.actor)
    if draft.id != "":
        _check_text("id", draft.id)
    _check_cause(draft.cause)
    time = parse_time(draft.time) if draft.time != "" else ""
    data = codec.encode_value(draft.data)
    return Encoded(draft.type, data, draft.actor, draft.id, draft.cause, time)


def to_draft(event: NewEvent, actor: str) -> Draft:
    """Make a draft of what a caller gave; `actor` is taken where it names none."""
    if isinstance(event, Draft):
        _check_type(event.type)
        return event if event.actor or not actor else msgspec.structs.replace(event, actor=actor)
    if isinstance(event, msgspec.Struct):
        return Draft(type=event_type(type(event)), data=event, actor=actor)
    try:
        name, data = event
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{codec.show(event)} is not an event",
            key="event",
            advice="Give a typed event, a Draft, or a pair (type, data).",
        ) from error
    _check_type(name)
    return Draft(type=name, data=data, actor=actor)


def _check_type(name: object) -> None:
    if not isinstance(name, str):
        raise UsageError(
            f"the type of an event is {codec.show(name)}; text is wanted, such as 'set'", key="type"
        )


@functools.lru_cache(maxsize=256)
def _check_name(name: str, text: str) -> None:
    codec.encode_value(text, what=name)
    if len(text) > _MAX_NAME_CHARACTERS:
        raise UsageError(f"{name} is longer than {_MAX_NAME_CHARACTERS} characters", key=name)


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str):
        raise UsageError(f"{name} is a {type(text).__name__}, not text", key=name)
    _check_name(name, text)


def _check_cause(cause: Any) -> None:
    if cause.__class__ is not int or not 0 <= cause < 2**63:
        raise UsageError(f"cause {codec.show(cause)} is not a seq", key="cause")
