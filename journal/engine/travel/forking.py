"""A new journal with an old one's history: the same up to a seq, and from there as one likes.

I1  The source is only read. Closed segments are shared by hard links where the file system can,
    and neither journal ever writes to them; everything else is copied.
I2  The fork gets an id of its own. `journal.forked`, its first event of its own, names the source
    by id, seq and digest, so that `head` of the source at that seq proves where it came from.
I3  With changes (a what-if) the events after the first one that is changed are appended anew,
    under seqs of their own, with their times, actors and ids; an append stays one. What leaves
    the state alone is left out: the engine's own notes, types that the projection does not know.
I4  Of an append that lies across the end of the shared history the first events stay, under their
    own seqs, as an append of their own: their lines are the same but for `part` and crc.
I5  A fork is built under a temporary name beside its place and named last: what is cut off, or
    refused, leaves nothing there.
"""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from journal import codec, durable, regular
from journal import config as configs
from journal.config import ViewsConfig
from journal.engine.core import LOG_FOLDER, Core
from journal.engine.travel.changing import Change, Drop, Edit, Insert, Told
from journal.engine.travel.walking import find_event, lost
from journal.errors import Conflict, Corrupt, JournalError, ProjectionError, UsageError
from journal.event import (
    EARLIEST_TIME,
    FORKED,
    FORMAT,
    LOST,
    ROTATED,
    Draft,
    Event,
    format_time,
    is_engine_type,
    time_to_ms,
)
from journal.log.history import Head
from journal.segment import Segment, name_of
from projections.projection import Projection
from projections.typed_lines import Unknown, event_type

__all__ = ["Change", "Drop", "Edit", "Forked", "Insert", "fork"]

Progress = Callable[[int, int], None]

_NEVER_MS = 86_400_000


class Forked(msgspec.Struct, frozen=True, kw_only=True):
    """What a fork is made of: `shared` events of the source, then `own` ones of its own.

    `linked` are the segments that both journals have. Of the own ones `appended` are events of a
    changed history; the others are the engine's notes, `journal.forked` first. `left_out` is how
    many events of a changed history were of types that the projection does not know.
    """

    path: str
    id: str
    shared: int
    own: int
    linked: list[str]
    left_out: int = 0
    appended: int = 0


def fork(
    core: Core,
    destination: str | Path,
    *,
    at: int,
    changes: Iterable[Change] = (),
    open_journal: Callable[..., Any],
    progress: Progress | None = None,
) -> Forked:
    """Make a new journal in `destination` with the history up to `at`, changed as told (I1-I5).

    `open_journal` is that of `journal.engine.opening`, which stands above this file.
    Raises `UsageError` where something is there already, or where a changed history cannot be
    applied; `Corrupt` where a part that is needed is damaged.
    """
    folder = Path(destination)
    _check_place(core, folder)
    told = Told(changes, at)
    shared = _last_shared(core, at, told)
    fork_id = secrets.token_hex(16)
    building = folder.absolute().with_name(f".{folder.absolute().name}.{fork_id[:16]}.forking")
    try:
        linked = _make_log(core, building, shared, fork_id, remade=bool(told))
        settings = msgspec.structs.replace(
            core.config, id=fork_id, views=ViewsConfig(every_ms=core.config.views.every_ms)
        )
        configs.write(building, settings)
        rest = _Rest(core, shared, at, told)
        clock = _Clock(find_event(core, shared).time)
        options = {"projection": core.projection, "durability": "os", "clock": clock}
        with open_journal(building, **options) as engine:
            # One sync and one view at the end: until then the fork is nobody's only copy.
            engine.config.views.every_ms = _NEVER_MS
            if told:
                rest.append_to(engine, clock, progress)
            own: int = engine.seq - shared
        durable.name_folder(building, folder)
    except Corrupt as error:
        durable.remove_folder(building)
        raise _in_source(core, building, error) from error
    except BaseException:
        durable.remove_folder(building)
        raise
    return Forked(
        path=str(folder),
        id=fork_id,
        shared=shared,
        own=own,
        linked=linked,
        left_out=rest.left_out,
        appended=rest.appended,
    )


def _in_source(core: Core, building: Path, error: Corrupt) -> Corrupt:
    """Name the source's segment for damage that was found in what both share."""
    found = Path(error.path)
    if found.parent != building / LOG_FOLDER:
        return error
    return Corrupt(
        error.why,
        path=core.history.folder / found.name,
        line=error.line,
        offset=error.offset,
        seq=error.seq,
        advice=error.advice,
    )


def _check_place(core: Core, folder: Path) -> None:
    there = os.path.lexists(folder)
    if there and (folder.is_symlink() or not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(
            f"{folder}: there is something here already", advice="Fork to a new or empty folder."
        )
    target = Path(os.path.realpath(folder))  # `resolve` has an error of its own for a link's circle
    if Path(os.path.realpath(core.path)) in (target, *target.parents):
        raise UsageError(
            f"{folder}: lies inside the journal that is forked", advice="Fork to a place beside it."
        )


# --- what is shared ------------------------------------------------------------------------------


def _last_shared(core: Core, at: int, told: Told) -> int:
    """Return the last seq that stays as it is: the appends before the first change."""
    if at < 1:
        raise UsageError("a fork has at least event 1, which is the journal's own", key="at")
    if not told or told.first > at:
        return at
    return max(1, told.first - find_event(core, told.first).part[0])


def _make_log(core: Core, folder: Path, shared: int, fork_id: str, *, remade: bool) -> list[str]:
    """Share or copy the segments up to `shared` and add the fork's first own event.

    Its time is now, or that of the event before it where others are to follow at their times.
    """
    log = folder / LOG_FOLDER
    durable.make_folder(folder)
    durable.make_folder(log)
    history = core.history
    head = history.head(shared)
    number, count = find_event(core, shared).part
    linked: list[str] = []
    for name in history.names[: history.names.index(head.segment)]:
        _share(history.folder, log, name, linked)
    with Segment(history.folder / head.segment) as segment:
        whole = durable.is_closed(segment.stat()) and head.offset == segment.size()
        for _ in history.blocks(segment.first_seq - 1, shared):
            pass  # Damage would not be found to be the source's any more.
        place = segment.position_after(head.offset)
        assert place is not None
        data, crc = b"" if whole else segment.read(0, head.offset), place.crc
        if number < count:
            start = segment.find_seq(shared - number, head.offset)
            short, crc = _cut_short(data[start.offset :], start.crc)
            data = data[: start.offset] + short
    now = format_time(core.clock())
    forked = _describe(core, head, fork_id, now)
    time = place.time if remade else max(place.time, now)
    if whole:
        _share(history.folder, log, head.segment, linked)
        previous = {"segment": head.segment, "sha256": head.sha256}
        first = {"format": FORMAT, "id": fork_id, "previous": previous}
        lines = _lines(shared, time, 0, [(ROTATED, first), (FORKED, forked)])
        durable.write_file(log / name_of(shared + 1), lines)
    else:
        lines = _lines(shared, time, crc, [(FORKED, forked)])
        durable.write_file(log / head.segment, data + lines)
    durable.sync_folder(log)
    return linked


def _cut_short(lines: bytes, crc: int) -> tuple[bytes, int]:
    """Make the first lines of an append an append of their own (I4); return them and the crc."""
    pieces = [line + b"\n" for line in lines.removesuffix(b"\n").split(b"\n")]
    bodies = [codec.body_as_part(line, (k, len(pieces))) for k, line in enumerate(pieces, 1)]
    short, crc = codec.seal(bodies, crc)
    return bytes(short), crc


def _share(source: Path, target: Path, name: str, linked: list[str]) -> None:
    if durable.share(source / name, target / name):
        linked.append(name)
    ids = Path(name).with_suffix(".ids").name
    with contextlib.suppress(FileNotFoundError):
        durable.write_file(target / ids, regular.read_file(source / ids), synced=False)


def _describe(core: Core, head: Head, fork_id: str, now: str) -> dict[str, Any]:
    source = {
        "id": core.reader.journal_id,
        "path": os.path.abspath(core.path),
        "seq": head.seq,
        "segment": head.segment,
        "offset": head.offset,
        "sha256": head.sha256,
    }
    return {"id": fork_id, "source": source, "made": now}


def _lines(seq: int, time: str, crc: int, drafts: list[tuple[str, dict[str, Any]]]) -> bytes:
    bodies = [
        codec.encode_body(
            Event(seq=seq + number, time=time, type=kind, data=None), codec.encode_value(data)
        )
        for number, (kind, data) in enumerate(drafts, 1)
    ]
    return bytes(codec.seal(bodies, crc)[0])


# --- what is appended anew -----------------------------------------------------------------------


class _New(NamedTuple):
    """An event to append: `seq` is what it has in the source, 0 for one that was inserted."""

    seq: int
    draft: Draft


class _Clock:
    """The time of the event that is appended, for what the engine notes beside it, too."""

    def __init__(self, time: str) -> None:
        self.time = time

    def __call__(self) -> int:
        return time_to_ms(max(self.time, EARLIEST_TIME))


class _Rest:
    """The events of the source after `shared`, as they are told to be."""

    def __init__(self, core: Core, shared: int, at: int, told: Told) -> None:
        self._core = core
        self._shared = shared
        self._at = at
        self._told = told
        self.left_out = 0
        self.appended = 0

    def append_to(self, engine: Any, clock: _Clock, progress: Progress | None) -> None:
        """Append the changed history, at its own times."""
        seqs: dict[int, int] = {}
        for append in self.appends():
            clock.time = max(clock.time, *(new.draft.time for new in append))
            _append(engine, append, self._shared, seqs)
            self.appended += len(append)
            if progress is not None:
                progress(append[-1].seq - self._shared, self._at - self._shared)

    def appends(self) -> Iterator[list[_New]]:
        """Yield the appends; an inserted event is part of the one that it stands in."""
        for seq in self._told.insert_seqs(upto=self._shared):
            yield from ([_New(0, draft)] for draft in self._told.inserted(seq))
        append: list[_New] = []
        for event, typed in self._events():
            seq = event.seq
            if (draft := self._told.replace(event, self._draft(event, typed))) is not None:
                append.append(_New(seq, draft))
            append += [_New(0, draft) for draft in self._told.inserted(seq)]
            if append and (event.part[0] == event.part[1] or seq == self._at):
                yield append
                append = []

    def _events(self) -> Iterator[tuple[Event, Any]]:
        for block in self._core.history.blocks(self._shared, self._at):
            typed = self._core.projection.decode(block.data)
            yield from zip(codec.decode_events(block.data), typed, strict=True)

    def _draft(self, event: Event, typed: Any) -> Draft | None:
        """Make a draft of an event; None for one that leaves the state alone."""
        if event.type == LOST:
            raise lost(self._core, event.seq)
        if isinstance(typed, Unknown):
            self.left_out += 1
            return None
        if self._core.projection.touched(typed) == [] and is_engine_type(event.type):
            return None
        data = _upcast(self._core.projection, typed.data, event.data)
        return Draft(
            type=event_type(type(data)) if isinstance(data, msgspec.Struct) else event.type,
            data=data,
            actor=event.actor,
            id=event.id,
            cause=event.cause,
            time=event.time,
        )


def _upcast(projection: Projection, typed: Any, data: Any) -> Any:
    """Return the data of an event, by the newest class where its own is not written any more."""
    if type(typed) in projection.events or not hasattr(typed, "upcast"):
        return data
    while type(typed) not in projection.events:
        typed = typed.upcast()
    return typed


def _append(engine: Any, append: list[_New], shared: int, seqs: dict[int, int]) -> None:
    """Append one append of the changed history; `seqs` has the new seqs of the source's events."""
    first = engine.next_seq()
    due = {new.seq: first + number for number, new in enumerate(append) if new.seq}

    def moved(cause: int) -> int:
        return cause if cause <= shared else due.get(cause, seqs.get(cause, 0))

    drafts = []
    for number, (seq, draft) in enumerate(append, first):
        cause = moved(draft.cause)
        if draft.cause and not seq and not 0 < cause < number:
            raise UsageError(
                f"the cause {draft.cause} of an inserted event is no event before it",
                key="cause",
                advice="It is a seq of the source, of an event that stays and stands before.",
            )
        drafts.append(msgspec.structs.replace(draft, cause=cause) if draft.cause else draft)
    try:
        engine.append_history(drafts)
    except (UsageError, ProjectionError, Conflict) as error:
        raise _find_clash(engine, append, shared, seqs) or _refusal(
            engine, append, error
        ) from error
    seqs.update(due)


def _find_clash(
    engine: Any, append: list[_New], shared: int, seqs: dict[int, int]
) -> UsageError | None:
    """Return the error for the first id of an append that the history has before it, if any."""
    before: dict[str, str] = {}
    for new in append:
        key = new.draft.id
        if not key:
            continue
        if key not in before:
            recorded = next((e.seq for e in engine.appender.recorded(key) if e.id == key), None)
            if recorded is None:
                before[key] = _name(new.seq)
                continue
            # What is shared has kept its seq; of the rest only the source's seqs mean anything.
            there = {moved: seq for seq, moved in seqs.items()}
            before[key] = _name(recorded if recorded <= shared else there.get(recorded, 0))
        return UsageError(
            f"the changed history cannot be: the id {key!r} of {_name(new.seq)} "
            f"({new.draft.type}) is that of {before[key]} already",
            key="changes",
            advice="Give the changed or inserted event another id; nothing was written.",
        )
    return None


def _name(seq: int) -> str:
    return f"event {seq}" if seq else "an inserted event"


def _refusal(engine: Any, append: list[_New], error: JournalError) -> UsageError:
    """Name the event of an append that cannot be applied."""
    state, projection = engine.state, engine.projection
    place = append[0]
    with contextlib.suppress(UsageError, ProjectionError):
        for place in append:
            data = codec.encode_value(place.draft.data, limit_bytes=codec.MAX_ENGINE_EVENT_BYTES)
            event = Event(seq=1, time=EARLIEST_TIME, type=place.draft.type, data=None)
            line, _ = codec.seal([codec.encode_body(event, data)], 0)
            state = projection.apply_new(state, projection.decode_new(bytes(line)), check=False)
    return UsageError(
        f"the changed history cannot be: {_name(place.seq)} ({place.draft.type}): {error.message}",
        key="changes",
        advice="Change or drop that event too; nothing was written.",
    )
