"""The walk of an append: lock, catch up, check the caller's belief, encode, apply, check, write.

I1  Nothing is written before everything that can refuse has been asked: expected seq, keys, the
    encoding, the apply functions, `check`, the state as JSON.
I2  The state is unsure from the first apply function to the end of the write; whatever goes wrong
    meanwhile (a refusal, a failed write, Ctrl-C) throws it away.
I3  The write is one call; the sync is the caller's next step, outside the lock.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from journal import codec
from journal.engine.core import Core
from journal.engine.states import Live
from journal.engine.viewing import Viewer
from journal.errors import Conflict, UsageError
from journal.event import (
    CARRIES_STATE,
    ENGINE_PREFIX,
    Draft,
    Event,
    parse_time,
)
from journal.log.writer import Encoded
from journal.segment import Block
from projections.patch import equal
from projections.projection import Unknown, event_type
from projections.view import Line

_MAX_NAME_CHARACTERS = 1000

NewEvent = Draft | msgspec.Struct | tuple[str, Any]
"""What `append_batch` and commands take: a draft, a typed event, or (type, data)."""


class Appender:
    """Appends to one open journal; every method wants `core.appending()` held."""

    def __init__(self, core: Core, viewer: Viewer) -> None:
        """Take part in `core`."""
        self._core = core
        self._viewer = viewer
        self.bytes_since_snapshot = 0

    # --- catching up -----------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Take in what others appended; record what a killed one left torn."""
        if self._core.log.is_current():
            return
        notes: list[Encoded] = []
        for block in self._core.log.catch_up(notes):
            self.take_in(block)
        self.record(notes)

    def take_in(self, block: Block) -> None:
        """Fold a block that others, or the log itself, appended."""
        live = self._core.fresh_before(block)
        self._core.live = None
        self._fold_into(live, block)
        self._core.live = live

    def _fold_into(self, live: Live, block: Block) -> None:
        if self._viewer.line_views:
            self._viewer.keep_lines(self._viewer.fold_block(live, block))
        else:
            unknown: list[Unknown] = []
            live.state = self._core.projection.fold(live.state, block.data, unknown)
            live.count(unknown)
            live.seq, live.time = block.after.seq, block.after.time
        self.bytes_since_snapshot += len(block.data)

    # --- appending -------------------------------------------------------------------------------

    def record(self, notes: Sequence[Encoded]) -> None:
        """Append the engine's own events, one append; they leave the state alone."""
        if notes:
            self._add(list(notes), [None] * len(notes))

    def add(self, drafts: Sequence[Draft], expected_seq: int | None = None) -> list[Event]:
        """Append a caller's events, all or nothing; return them as they stand in the log.

        Keys are looked up before the expected seq: an append that is repeated because its answer
        was lost gets that answer, although history has gone on.
        """
        for draft in drafts:
            self._core.projection.name_type(draft.type)
        encoded = [encode(draft) for draft in drafts]
        if known := self._find_known(encoded):
            return known
        self.expect(expected_seq)
        typed = [d.data if isinstance(d.data, msgspec.Struct) else None for d in drafts]
        return self._add(encoded, typed)

    def add_history(self, drafts: Sequence[Draft]) -> list[Event]:
        """Append events as another journal has them, those that carry state among them."""
        encoded: list[Encoded] = []
        for draft in drafts:
            if draft.type in CARRIES_STATE:
                limit_bytes = codec.MAX_ENGINE_EVENT_BYTES
                data = codec.encode_value(draft.data, limit_bytes=limit_bytes)
                encoded.append(Encoded(draft.type, data, draft.actor, time=draft.time))
            else:
                self._core.projection.name_type(draft.type)
                encoded.append(encode(draft))
        if known := self._find_known(encoded):
            raise UsageError(f"id {known[0].id!r} was used by event {known[0].seq}", key="id")
        typed = [d.data if isinstance(d.data, msgspec.Struct) else None for d in drafts]
        return self._add(encoded, typed)

    def add_engine_event(self, event_type: str, data: dict[str, Any], *, time: str = "") -> Event:
        """Append one of the engine's own events."""
        encoded = codec.encode_value(data, limit_bytes=codec.MAX_ENGINE_EVENT_BYTES)
        return self._add([Encoded(event_type, encoded, time=time)], [None])[0]

    def _add(self, encoded: list[Encoded], typed: Sequence[object]) -> list[Event]:
        core = self._core
        if core.log.is_full:
            self.take_in(core.log.rotate())
        live = core.fresh()
        prepared = core.log.prepare(encoded)
        events = core.projection.decode_new(prepared.lines)
        for event, given in zip(events, typed, strict=True):
            if given is not None and event.data != given:
                raise UsageError(
                    f"{event.type}: the data would not read back equal",
                    key="data",
                    advice="Give the event's class fields of JSON values only.",
                )
        core.live = None  # unsure from here on (I2)
        stored = codec.decode_events(prepared.lines)
        state, lines = self._apply(live.state, events, stored)
        documents = {} if core.config.views.every_ms else self._viewer.render(state)
        core.log.write(prepared)
        core.live = Live(state, prepared.after.seq, prepared.after.time, live.unknown)
        self._viewer.keep(prepared.after.seq, documents)
        self._viewer.keep_lines(lines)
        self.bytes_since_snapshot += len(prepared.lines)
        return stored

    def _apply(
        self, state: Any, events: list[Any], stored: list[Event]
    ) -> tuple[Any, list[tuple[str, Line]]]:
        """Apply new events and check the result; return also the lines for views of lines."""
        projection = self._core.projection
        if not self._viewer.line_views:
            return projection.apply_new(state, events), []
        lines: list[tuple[str, Line]] = []
        for typed, event in zip(events, stored, strict=True):
            state = projection.apply_new(state, [typed], check=False)
            lines += self._viewer.lines_of(state, event)
        projection.check(state)
        return state, lines

    # --- the caller's belief ---------------------------------------------------------------------

    def expect(self, expected_seq: int | None) -> None:
        """Raise `Conflict` unless no event after `expected_seq` can change the state."""
        tail = self._core.history.tail.seq
        if expected_seq is None or expected_seq == tail:
            return
        if 0 <= expected_seq < tail:
            changes = next(self._changes_after(expected_seq), None)
            if changes is None:
                return
            why = f"event {changes.seq} ({changes.type}) came after it"
        else:
            why = "there is no such event yet"
        raise Conflict(
            f"seq {expected_seq} was expected, the journal is at {tail}: {why}",
            expected=expected_seq,
            actual=tail,
            advice="Read the state again and decide anew.",
        )

    def _changes_after(self, seq: int) -> Iterator[Event]:
        for block in self._core.history.blocks(seq, self._core.history.tail.seq):
            for event in codec.decode_events(block.data):
                if event.type in CARRIES_STATE or not event.type.startswith(ENGINE_PREFIX):
                    yield event

    def _find_known(self, drafts: Sequence[Encoded]) -> list[Event]:
        """Return the recorded events where all keys were seen before with equal content."""
        keys = [draft.id for draft in drafts if draft.id]
        if not keys:
            return []
        if len(set(keys)) != len(keys):
            raise UsageError("an id stands twice in one append", key="id")
        found = [self._core.log.find_key(draft.id) if draft.id else None for draft in drafts]
        if not any(found):
            return []
        if None in found and len(keys) < len(drafts):
            found = self._find_without_ids(drafts, found)
        known = []
        for draft, event in zip(drafts, found, strict=True):
            if event is None:
                raise Conflict(
                    "some ids of this append were seen before and others were not",
                    expected=keys,
                    actual=[event.id for event in found if event is not None],
                    advice="Ids of one append are all new or all known.",
                )
            _compare(draft, event)
            known.append(event)
        return known

    def _find_without_ids(
        self, drafts: Sequence[Encoded], found: list[Event | None]
    ) -> list[Event | None]:
        """Fill in events without an id of their own, where one append has them all."""
        whole = self.recorded(next(event.id for event in found if event is not None))
        same = [event.id for event in whole] == [draft.id for draft in drafts]
        return list(whole) if same else found

    def recorded(self, key: str) -> list[Event]:
        """Return the events of the append whose first event has this key."""
        first = self._core.log.find_key(key)
        if first is None:
            return []
        upto = first.seq + first.part[1] - first.part[0]
        blocks = self._core.history.blocks(first.seq - 1, upto)
        return [event for block in blocks for event in codec.decode_events(block.data)]


def _compare(draft: Encoded, event: Event) -> None:
    data = codec.decode_value(draft.data)
    if draft.type != event.type or not equal(data, event.data):
        used = f"id {draft.id!r} was used by" if draft.id else "an id of this append came with"
        raise Conflict(
            f"{used} event {event.seq} ({event.type}) with other content",
            expected=data,
            actual=event.data,
            advice="Use a new id for a new event.",
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


def _check_cause(cause: object) -> None:
    if not isinstance(cause, int) or not 0 <= cause < 2**63:
        raise UsageError(f"cause {cause!r} is not a seq", key="cause")


def encode(draft: Draft) -> Encoded:
    """Encode a caller's event; raises `UsageError` for what cannot be stored."""
    if draft.actor:
        _check_text("actor", draft.actor)
    if draft.id:
        _check_text("id", draft.id)
    if draft.cause:
        _check_cause(draft.cause)
    time = parse_time(draft.time) if draft.time else ""
    data = codec.encode_value(draft.data)
    return Encoded(draft.type, data, draft.actor, draft.id, draft.cause, time)


def to_draft(event: NewEvent, actor: str) -> Draft:
    """Make a draft of what a caller gave; `actor` is taken where it names none."""
    if isinstance(event, Draft):
        return event if event.actor or not actor else msgspec.structs.replace(event, actor=actor)
    if isinstance(event, msgspec.Struct):
        return Draft(type=event_type(type(event)), data=event, actor=actor)
    try:
        name, data = event
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{event!r} is not an event",
            key="event",
            advice="Give a typed event, a Draft, or a pair (type, data).",
        ) from error
    return Draft(type=name, data=data, actor=actor)
