"""`Engine`: one open journal, as a Python program uses it.

I1  Every method is safe to call from several threads. asyncio callers use `asyncio.to_thread`.
I2  What is handed out belongs to the caller and can be changed without harm, except the state
    that a command gets.
I3  A call that raises has changed nothing, but for a sync that failed: then the event may be on
    disk or not, and the engine appends nothing more until the journal is opened again.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from journal import codec
from journal.config import Config
from journal.engine import arguments
from journal.engine.appending import Appender
from journal.engine.core import Core
from journal.engine.drift import DriftKeeper
from journal.engine.encoding import NewEvent, to_draft
from journal.engine.looking import look_at_views
from journal.engine.publishing import Publisher
from journal.engine.rebuilding import Rebuilder
from journal.engine.reports import CheckpointInfo, Rebuilt, Status, Verified
from journal.engine.snapshotting import Snapshotter
from journal.engine.states import Live
from journal.engine.time_travel import TimeTravel
from journal.engine.verifying.verifier import Verifier
from journal.engine.viewing import Viewer
from journal.errors import Corrupt, JournalError, UsageError
from journal.event import CHECKPOINT, FORMAT, PRUNED, RESTORED, Draft, Event
from journal.log.history import Head
from journal.log.lines import Encoded
from journal.recovery import Damage, corrupt
from projections.patch import diff
from projections.projection import Projection, event_type
from snapshots import snapshot

Progress = Callable[[int, int], None]
Command = Callable[..., Iterable[NewEvent] | None]
"""(state, *args) -> events to append; it must not change the state."""


class Engine(TimeTravel):
    """One open journal; from `journal.open` or `journal.init`."""

    def __init__(
        self, core: Core, messages: list[str], open_journal: "Callable[..., Engine]"
    ) -> None:
        """Put the parts together; used by `journal.engine.opening` only."""
        super().__init__(core, open_journal)
        self.messages = messages
        self.viewer = Viewer(core)
        self.appender = Appender(core, self.viewer)
        self.snapshotter = Snapshotter(core, self.appender)
        self.publisher = Publisher(core, self.viewer, self.snapshotter)
        self.drift = DriftKeeper(core, self.appender, self.viewer)

    # --- what it is ------------------------------------------------------------------------------

    @property
    def path(self) -> Path:
        """The journal's folder."""
        return self._core.path

    @property
    def config(self) -> Config:
        """What `journal.yaml` says."""
        return self._core.config

    @property
    def projection(self) -> Projection:
        """What the events mean."""
        return self._core.projection

    @property
    def read_only(self) -> bool:
        """Whether it was opened for reading only."""
        return not self._core.write

    @property
    def id(self) -> str:
        """The journal's id, 32 hexadecimal digits."""
        return self._core.reader.journal_id

    @property
    def time(self) -> str:
        """The time of the event at `seq`."""
        return self._core.history.tail.time

    @property
    def synced(self) -> int:
        """The last seq known to be on disk."""
        self._core.check_usable()
        known = self._core.read_witness().synced_seq
        return known if self.read_only else max(known, self._core.log.synced.seq)

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
    ) -> list[Event]:
        """Append several events as one, all or nothing; return them as recorded."""
        arguments.check_iterable("events", events, "a list of events")
        arguments.check(actor=actor, expected_seq=expected_seq)
        return self._append(self.appender.encoder.encode_all(events, actor), expected_seq)

    def _append(self, new: Sequence[Encoded], expected_seq: int | None) -> list[Event]:
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

    def prune(self, files: Sequence[str], *, reason: str = "") -> Event:
        """Delete asked-for checkpoints by file name; recorded first, so they stay away."""
        arguments.check(files=files, reason=reason)
        known = {entry.name for entry in self._core.store.list()}
        for name in files:
            if name not in known:
                raise UsageError(f"there is no checkpoint {name!r}", key="files")
        with self._core.appending():
            self.appender.catch_up()
            data = {"files": list(files), "reason": reason}
            event = self.appender.add_engine_event(PRUNED, data)
        self._core.log.sync(event.seq)
        self._core.store.remove(*files)
        self.publisher.commit(event.seq)
        return event

    # --- snapshots -------------------------------------------------------------------------------

    def snapshot(self, type: str = "manual", trigger: str = "") -> CheckpointInfo:
        """Take a snapshot of the newest state and record it as an event (`journal.checkpoint`).

        `type`: 1 to 40 of a-z, 0-9 and `-`; `trigger`: any text, why it was taken. Once the event
        is recorded, a file that cannot be written is said, and told as `problem` of what is
        returned: `rebuild` writes it.
        """
        arguments.check(type=type, trigger=trigger)
        snapshot.check_type(type, asked_for=True)
        with self._core.appending():
            self.appender.catch_up()
            live = self._core.fresh()
            live = Live(live.state, live.seq, live.time, dict(live.unknown))
            data = self.snapshotter.encode(live, type, trigger)
            described = self.snapshotter.describe(live, type, trigger, data)
            self.appender.add_engine_event(CHECKPOINT, described)
            seq = self.seq
        self._core.log.sync(seq)
        problem = ""
        try:
            self.snapshotter.write(data)
        except (OSError, JournalError) as error:
            problem = f"its file could not be written: {error}"
            self._core.say(
                f"the checkpoint at event {live.seq} is recorded, but {problem}; "
                "`journal rebuild` writes it"
            )
        self.publisher.commit(seq)
        return CheckpointInfo(
            seq=live.seq,
            type=type,
            time=live.time,
            trigger=trigger,
            file=described["file"],
            size_bytes=len(data),
            problem=problem,
        )

    def snapshots(self) -> list[CheckpointInfo]:
        """Return every snapshot, those asked for and the engine's own (type `auto`), by seq."""
        self._core.check_usable()
        return [
            self._describe(entry.name, entry.seq, entry.type) for entry in self._core.store.list()
        ]

    def _describe(self, name: str, seq: int, kind: str) -> CheckpointInfo:
        path = self._core.store.folder / name
        problem, time, trigger, size = "", "", "", 0
        try:
            header = snapshot.read_header(path)
            time, trigger, size = header.timestamp, header.trigger, header.size_bytes
            wanted = (self.projection.name, self.projection.revision)
            if (header.projection, header.revision) != wanted:
                problem = "made by other code"
        except Corrupt as error:
            problem = error.why
        except OSError as error:
            problem = error.strerror or str(error)
        return CheckpointInfo(
            seq=seq,
            type=kind,
            time=time,
            trigger=trigger,
            file=name,
            size_bytes=size,
            problem=problem,
        )

    # --- keeping ---------------------------------------------------------------------------------

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """Fold the whole log from nothing; write views and asked-for checkpoints that differ.

        What is replaced is kept in quarantine. Reads no snapshot.
        """
        arguments.check(progress=progress)
        with self._core.appending():
            self.appender.catch_up()
            self._core.log.sync(self.seq)
            found = Rebuilder(self._core, self.viewer, self.snapshotter).run(progress)
            self.viewer.settle()
            return found

    def flush(self) -> None:
        """Put everything appended on disk and bring every view up to date."""
        self._core.check_usable()
        self.publisher.flush()

    def status(self) -> Status:
        """Return what the journal is and where it stands."""
        core = self._core
        core.check_usable()
        witness = core.read_witness()
        history = core.history
        state_bytes = 0
        views = look_at_views(core, self.viewer, self.drift)
        with core.using():
            unfinished_bytes = core.reader.unfinished_bytes()
            with contextlib.suppress(Corrupt):  # Said already: the messages name it.
                state_bytes = len(codec.encode_state(core.fresh().state))
        return Status(
            path=str(core.path),
            id=self.id,
            format=FORMAT,
            projection=core.config.projection,
            durability=core.config.durability,
            seq=self.seq,
            time=self.time,
            synced=self.synced,
            segments=len(history.names),
            log_bytes=history.bytes_after(0),
            state_bytes=state_bytes,
            snapshots=len(core.store.list()),
            views=views,
            unfinished_bytes=unfinished_bytes,
            unknown={} if core.live is None else dict(core.live.unknown),
            writer="" if witness.writer is None else str(witness.writer),
            messages=list(self.messages),
            healthy=not self.messages
            and all(view.status in ("healthy", "behind", "reformatted") for view in views),
        )

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
