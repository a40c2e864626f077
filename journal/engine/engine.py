"""`Engine`: one open journal, as a Python program uses it.

I1  Every method is safe to call from several threads. asyncio callers use `asyncio.to_thread`.
I2  What is handed out belongs to the caller and can be changed without harm, except the state
    that a command gets.
I3  A call that raises has changed nothing, but for a sync that failed: then the event may be on
    disk or not, and the engine appends nothing more until the journal is opened again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any

import msgspec

from journal import codec
from journal.engine import arguments
from journal.engine.encoding import NewEvent, to_draft
from journal.engine.keeping import Keeping
from journal.engine.reports import Verified
from journal.engine.verifying.verifier import Verifier
from journal.errors import Corrupt, UsageError
from journal.event import RESTORED, Draft, Event
from journal.log.history import Head
from journal.log.lines import Encoded
from journal.recovery import corrupt
from journal.sifting import Damage
from projections.patch import diff
from projections.typed_lines import event_type

Progress = Callable[[int, int], None]
Command = Callable[..., Iterable[NewEvent] | None]
"""(state, *args) -> events to append; it must not change the state."""


class Engine(Keeping):
    """One open journal; from `journal.open` or `journal.init`."""

    # --- reading ---------------------------------------------------------------------------------

    @property
    def state(self) -> Any:
        """A copy of the newest state that this engine has folded."""
        with self._core.using():
            return codec.copy_value(self._core.fresh().state)

    def refresh(self) -> int:
        """Take in what others appended; return the newest seq. Raises `Corrupt`, `Locked`."""
        if self.read_only:
            with self._core.using():
                self._core.catch_up_reading()
        else:
            with self._core.appending():
                self.appender.catch_up()
        return self.seq

    def replay(self, progress: Progress | None = None) -> Any:
        """Fold the whole log from nothing and return the state; reads no snapshot and no view."""
        arguments.check(progress=progress)
        core = self._core
        core.check_usable()
        live = core.states.initial()
        return core.states.fold(core.history, live, self.seq, progress=progress).state

    def events(
        self, after: int = 0, upto: int | None = None, *, types: Iterable[str] = ()
    ) -> Iterator[Event]:
        """Yield the events after `after` up to and with `upto` (default: the last folded).

        `types`: only events of these; parts of the log that hold none are not decoded.
        Every good event is yielded; where some are damaged, `Corrupt` is raised at the end.
        """
        arguments.check_iterable("types", types, "a list of texts")
        types = [*types]
        arguments.check(after=after, upto=upto, types=types)
        self._core.check_usable()
        history = self._core.history
        last = history.tail.seq if upto is None else min(upto, history.tail.seq)
        reached = after
        wanted = {name: b'"type":"%b"' % name.encode() for name in types}
        try:
            for block in history.blocks(after, last):
                if not wanted or any(name in block.data for name in wanted.values()):
                    events = codec.decode_events(block.data)
                    yield from (e for e in events if not wanted or e.type in wanted)
                reached = block.after.seq
        except (Corrupt, ValueError):
            good = self._good_events(reached, last)
            yield from (e for e in good if not wanted or e.type in wanted)
        if upto is None and (error := self._core.damage or self._core.missing_end()) is not None:
            raise error

    def _good_events(self, after: int, upto: int) -> Iterator[Event]:
        damage: Damage | None = None
        for piece in self._core.history.good_lines(after, upto):
            if isinstance(piece, Damage):
                damage = damage or piece
                continue
            for event in codec.decode_events(piece.data):
                if after < event.seq <= upto:
                    yield event
        if damage is not None:
            raise corrupt(damage)

    def head(self, seq: int | None = None) -> Head:
        """Return the end of history, or what it was at `seq`; see `Head`."""
        arguments.check(seq=seq)
        self._core.check_usable()
        wanted = self.seq if seq is None else seq
        if not 1 <= wanted <= self.seq:
            raise UsageError(
                f"there is no event {codec.show(wanted)}: history is from 1 to {self.seq}"
            )
        return self._core.history.head(wanted)

    def verify(
        self, anchors: Iterable[tuple[int, str]] = (), progress: Progress | None = None
    ) -> Verified:
        """Check everything; changes nothing. `anchors` are pairs (seq, sha256) noted earlier."""
        anchors = list(anchors) if isinstance(anchors, Iterator) else anchors
        arguments.check(anchors=anchors, progress=progress)
        self._core.check_usable()
        return Verifier(self._core, self.viewer, anchors).run(progress)

    # --- appending -------------------------------------------------------------------------------

    def append(
        self,
        event: str | msgspec.Struct,
        data: Any = None,
        *,
        actor: str = "",
        id: str = "",
        cause: int = 0,
        expected_seq: int | None = None,
    ) -> Event:
        """Append one event, a type with its data or a typed struct; return it as recorded.

        `id` is an idempotency key: seen before with equal content, the recorded event is
        returned; with other content `Conflict` is raised, as it is where an event after
        `expected_seq` may have changed the state. Raises `UsageError` for an event that does not
        fit, `Locked`, and `OSError` where it cannot be written.
        """
        encoder = self.appender.encoder
        if isinstance(event, str):
            new = encoder.encode(event, data, actor, id, cause)
        elif isinstance(event, Draft):
            draft = to_draft(event, actor)
            draft = msgspec.structs.replace(draft, id=id or draft.id, cause=cause or draft.cause)
            new = encoder.encode_draft(draft)
        elif not isinstance(event, msgspec.Struct):
            raise arguments.refusal("event", event, "the type of an event, or a typed event,")
        else:
            new = encoder.encode(event_type(event.__class__), event, actor, id, cause)
        return self._append([new], expected_seq)[0]

    def append_batch(
        self,
        events: Iterable[NewEvent],
        *,
        actor: str = "",
        expected_seq: int | None = None,
    ) -> Sequence[Event]:
        """Append several events as one, all or nothing; return them as recorded.

        What is returned is decoded when it is first looked at, and equal to a list of the events.
        """
        arguments.check_iterable("events", events, "a list of events")
        arguments.check(actor=actor, expected_seq=expected_seq)
        return self._append(self.appender.encoder.encode_all(events, actor), expected_seq)

    def _append(self, new: Sequence[Encoded], expected_seq: int | None) -> Sequence[Event]:
        if expected_seq is not None and not arguments.is_seq(expected_seq):
            arguments.check(expected_seq=expected_seq)
        if not new:
            return []
        hold = self._core.append_hold
        try:
            try:
                hold.take()
                self.appender.catch_up()
                self.drift.in_run()
                events = self.appender.add_new(new, expected_seq)
                seq = self._core.history.tail.seq
            finally:
                hold.free()
        except BaseException:
            hold.free()
            raise
        self.publisher.commit(seq)
        return events

    def execute(
        self,
        command: Command,
        *args: Any,
        actor: str = "",
        id: str = "",
        expected_seq: int | None = None,
        **kwargs: Any,
    ) -> list[Event]:
        """Run `command(state, *args)` once on the newest state and append what it returns.

        The command runs inside the lock and must not change the state. It returns events as
        `append_batch` takes them, or none: then nothing is appended, and with durability `always`
        the call returns only after what the command saw is on disk. What it raises passes
        through, and nothing is written. `id` is the key of its first event: seen before, the
        events of that append are returned and the command does not run.
        """
        arguments.check(command=command, actor=actor, id=id, expected_seq=expected_seq)
        with self._core.appending():
            self.appender.catch_up()
            self.drift.in_run()
            if id and (known := self.appender.recorded(id)):
                events = known
            else:
                self.appender.expect(expected_seq)
                found = command(self._core.fresh().state, *args, **kwargs)
                if found is None:
                    found = ()
                arguments.check_iterable("what the command returns", found, "a list of events")
                drafts = [to_draft(event, actor) for event in found]
                if drafts and id:
                    drafts[0] = msgspec.structs.replace(drafts[0], id=id)
                events = self.appender.add(drafts) if drafts else []
            seq = self.seq
        self.publisher.commit(seq)
        return events

    def adopt(self) -> list[Event]:
        """Record as events how the views differ from the log; return them, none if equal.

        Raises `Drift` where a view cannot be read, `UsageError` where the result is not valid.
        """
        with self._core.appending():
            self.appender.catch_up()
            events = self.drift.adopt()
            seq = self.seq
        self.publisher.commit(seq)
        return events

    def restore(self, at: int | str, *, reason: str = "") -> Event | None:
        """Bring an earlier state back as a new event (`journal.restored`); history stays.

        `at` as `seq_of` takes it. None where the state is that one already: nothing is appended.
        Raises `UsageError` where there is no such place, or where the
        state of then breaks a rule of today.
        """
        arguments.check(reason=reason)
        seq = self.seq_of(at)
        wanted = self.state_at(seq)
        with self._core.appending():
            self.appender.catch_up()
            event = None
            if patch := diff(self._core.fresh().state, wanted):
                data = {"seq": seq, "reason": reason, "patch": patch}
                event = self.appender.add_engine_event(RESTORED, data)
            last = self.seq
        self.publisher.commit(last)
        return event

    def append_history(self, drafts: Sequence[Draft]) -> list[Event]:
        """Append events as another journal has them, as one; used by a fork.

        Engine events that carry state may be among them. Raises as `append_batch` does.
        """
        arguments.check_iterable("drafts", drafts, "a list of drafts")
        arguments.check_each("drafts", drafts, Draft)
        if not drafts:
            return []
        with self._core.appending():
            self.appender.catch_up()
            events = self.appender.add_history(drafts)
            seq = self.seq
        self.publisher.commit(seq)
        return events

    def next_seq(self) -> int:
        """Return the seq that the next event will have, if nobody else appends before."""
        return self.seq + 1 + self._core.log.is_full

    # --- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Flush and close, once no other thread is at work; safe to call again."""
        core = self._core
        was_closed = core.closed  # In a forked child the mutex may be held by nobody, for ever.
        if was_closed:
            return
        with core.mutex:
            try:
                if not core.closed and core.write and not core.log.is_dead:
                    self.publisher.flush()
            finally:
                core.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
