"""The walk of an append: lock, catch up, check the caller's belief, encode, apply, check, write.

I1  Nothing is written before everything that can refuse has been asked: expected seq, keys, the
    encoding, the apply functions, `check`, the state as JSON.
I2  The state is unsure from the first apply function to the end of the write; whatever goes wrong
    meanwhile (a refusal, a failed write, Ctrl-C) throws it away.
I3  The write is one call; the sync is the caller's next step, outside the lock.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from journal import codec
from journal.engine.core import Core
from journal.engine.encoding import Encoder
from journal.engine.growth import Growth
from journal.engine.states import Live
from journal.engine.viewing import Viewer
from journal.errors import Conflict, UsageError
from journal.event import CARRIES_STATE, ENGINE_PREFIX, Draft, Event
from journal.log.lines import Encoded
from journal.segment import Block
from projections.patch import equal
from projections.typed_lines import Unknown
from projections.view import Line


class Appender:
    """Appends to one open journal; every method wants `core.appending()` held."""

    def __init__(self, core: Core, viewer: Viewer) -> None:
        """Take part in `core`."""
        self._core = core
        self._viewer = viewer
        self.encoder = Encoder(core.projection)
        self._growth = Growth(core.projection)
        self.bytes_since_snapshot = 0
        self.has_caught_up = False  # with another process, which takes snapshots, too

    # --- catching up -----------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Take in what others appended; record what a killed one left torn."""
        log = self._core.log
        if log.is_current():
            return
        self.has_caught_up = True
        if (block := log.take_next()) is not None:
            self.take_in(block)
            return
        notes: list[Encoded] = []
        for block in log.catch_up(notes):
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
            lines = self._viewer.fold_block(live, block)
            self._viewer.keep_lines(lines, block.before.seq, block.after.seq)
        else:
            unknown: list[Unknown] = []
            live.state = self._core.projection.fold(live.state, block.data, unknown)
            live.count(unknown)
            live.seq, live.time = block.after.seq, block.after.time
        self.bytes_since_snapshot += len(block.data)
        self._growth.take_in(block.data)

    # --- appending -------------------------------------------------------------------------------

    def record(self, notes: Sequence[Encoded]) -> None:
        """Append the engine's own events, one append; they leave the state alone."""
        if notes:
            self._add(notes)

    def encode(self, draft: Draft) -> Encoded:
        """Encode a caller's event; needs no lock. Raises `UsageError` for what is no event."""
        return self.encoder.encode_draft(draft)

    def add(self, drafts: Sequence[Draft], expected_seq: int | None = None) -> list[Event]:
        """Encode and append a caller's events, all or nothing; see `add_new`."""
        new = [self.encoder.encode_draft(draft) for draft in drafts]
        return list(self.add_new(new, expected_seq))

    def add_new(self, new: Sequence[Encoded], expected_seq: int | None = None) -> Sequence[Event]:
        """Append encoded events, all or nothing; return them as they stand in the log.

        Keys are looked up before the expected seq: an append that is repeated because its answer
        was lost gets that answer, although history has gone on.
        """
        if known := self._find_known(new):
            return known
        if expected_seq is not None:
            self.expect(expected_seq)
        if any(draft.cause for draft in new):
            self._check_causes(new)
        return self._add(new)

    def _check_causes(self, new: Sequence[Encoded]) -> None:
        """Raise `UsageError` for a cause that is no event before its own, of this append or not."""
        first = self._core.history.tail.seq + 1 + self._core.log.is_full
        for seq, draft in enumerate(new, first):
            if draft.cause >= seq:
                raise UsageError(
                    f"cause {draft.cause} is no event before this one, which will be event {seq}",
                    key="cause",
                    advice="A cause is the seq of the event that led to this one; leave it out "
                    "where there is none.",
                )

    def add_history(self, drafts: Sequence[Draft]) -> list[Event]:
        """Append events as another journal has them, those that carry state among them."""
        encoded: list[Encoded] = []
        for draft in drafts:
            if draft.type in CARRIES_STATE:
                limit_bytes = codec.MAX_ENGINE_EVENT_BYTES
                data = codec.encode_value(draft.data, limit_bytes=limit_bytes)
                encoded.append(Encoded(draft.type, data, draft.actor, time=draft.time))
            else:
                encoded.append(self.encoder.encode_draft(draft))
        if known := self._find_known(encoded):
            raise UsageError(f"id {known[0].id!r} was used by event {known[0].seq}", key="id")
        return list(self._add(encoded))

    def add_engine_event(self, event_type: str, data: dict[str, Any], *, time: str = "") -> Event:
        """Append one of the engine's own events."""
        encoded = codec.encode_value(data, limit_bytes=codec.MAX_ENGINE_EVENT_BYTES)
        return self._add([Encoded(event_type, encoded, time=time)])[0]

    def _add(self, drafts: Sequence[Encoded]) -> Sequence[Event]:
        core, viewer = self._core, self._viewer
        log = core.log
        if log.is_full:
            self.take_in(log.rotate())
        live = core.fresh()
        prepared = log.prepare(drafts)
        stored, after = prepared.events, prepared.after
        typed = prepared.typed
        if typed is None:  # with what does not fit, or data of old that is read another way
            typed = core.projection.decode_new(prepared.lines)
        core.live = None  # unsure from here on (I2)
        lines: list[tuple[str, Line]] = []
        coalesced = core.config.views.every_ms
        if viewer.line_views:
            state = self._apply_each(live.state, typed, stored, lines)
        else:
            state = self._growth.apply(live.state, typed, prepared.lines, measured=not coalesced)
        documents = {} if coalesced else viewer.render(state)
        log.write(prepared)
        if viewer.line_views:
            viewer.keep_lines(lines, live.seq, after.seq)
        if documents:
            viewer.keep(after.seq, documents)
        self.bytes_since_snapshot += len(prepared.lines)
        core.live = Live(state, after.seq, after.time, live.unknown)
        return stored

    def _apply_each(
        self, state: Any, events: list[Any], stored: Sequence[Event], lines: list[tuple[str, Line]]
    ) -> Any:
        """Apply new events and check the result; add the lines for views of lines."""
        projection = self._core.projection
        for typed, event in zip(events, stored, strict=True):
            state = projection.apply_new(state, [typed], check=False)
            lines += self._viewer.lines_of(state, event)
        projection.check(state)
        return state

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
        if len(drafts) == 1 and not drafts[0].id:
            return []
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
