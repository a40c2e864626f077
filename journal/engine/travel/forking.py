"""A new journal with an old one's history: the same up to a seq, and from there as one likes.

I1  The source is only read. Closed segments are shared by hard links where the file system can,
    and neither journal ever writes to them; everything else is copied.
I2  The fork gets an id of its own. `journal.forked`, its first event of its own, names the source
    by id, seq and digest, so that `head` of the source at that seq proves where it came from.
I3  With edits (a what-if) the changed history is folded in memory first: an event that cannot be
    applied any more is named before anything is written. Of the events after the first change
    those that mean something are appended anew, under seqs of their own.
I4  `journal.yaml` is written last: a fork that was cut off is an unfinished folder, not a journal.
"""

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from journal import codec, durable
from journal import config as configs
from journal.config import ViewsConfig
from journal.engine.appending import encode, to_draft
from journal.engine.core import LOG_FOLDER, Core
from journal.engine.engine import Engine
from journal.engine.opening import Say, open_journal
from journal.errors import ProjectionError, UsageError
from journal.event import (
    CARRIES_STATE,
    FORKED,
    FORMAT,
    ROTATED,
    Draft,
    Event,
    is_engine_type,
)
from journal.log.history import Head
from journal.segment import Segment, name_of


class Drop(msgspec.Struct, frozen=True):
    """Leave the event out."""

    seq: int


class Edit(msgspec.Struct, frozen=True):
    """Put another event in the place of this one; its time, actor and id stay where not given."""

    seq: int
    draft: Draft


class Insert(msgspec.Struct, frozen=True):
    """Put an event right after this one; 0: before the first."""

    seq: int
    draft: Draft


Change = Drop | Edit | Insert

_NEVER_MS = 86_400_000


class Forked(msgspec.Struct, frozen=True, kw_only=True):
    """What a fork is made of: `shared` events of the source, then `own` ones."""

    path: str
    id: str
    shared: int
    own: int
    linked: list[str]


def fork(
    core: Core,
    destination: str | Path,
    *,
    at: int,
    changes: Iterable[Change] = (),
    on_message: Say | None = None,
) -> Forked:
    """Make a new journal in `destination` with the history up to `at`, changed as told (I1-I4).

    Raises `UsageError` where something is there already, where `at` lies inside an append, or
    where a changed history cannot be applied.
    """
    folder = Path(destination)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"{folder}: there is something here already", advice="Fork to a new or empty folder."
        )
    told = sorted(changes, key=lambda change: change.seq)
    _check_told(told, at)
    shared, rest = _split(core, at, told)
    appends = list(_changed(shared, rest, told)) if told else []
    _try(core, shared, appends)
    fork_id = secrets.token_hex(16)
    linked = _make_log(core, folder, shared, fork_id)
    settings = msgspec.structs.replace(
        core.config, id=fork_id, views=ViewsConfig(every_ms=core.config.views.every_ms)
    )
    configs.write(folder, settings)
    with open_journal(
        folder, projection=core.projection, durability="os", on_message=on_message
    ) as engine:
        # One sync and one view at the end: until then the fork is nobody's only copy.
        engine.config.views.every_ms = _NEVER_MS
        for append in appends:
            _append(engine, append)
        own = engine.seq - shared
    return Forked(path=str(folder), id=fork_id, shared=shared, own=own, linked=linked)


# --- what is shared ------------------------------------------------------------------------------


def _check_told(told: list[Change], at: int) -> None:
    for change in told:
        if not (0 if isinstance(change, Insert) else 1) <= change.seq <= at:
            raise UsageError(f"event {change.seq} is not among the events 1 to {at}", key="seq")
        if not isinstance(change, Insert) and change.seq == 1:
            raise UsageError("event 1 is the journal's own first line", key="seq")


def _split(core: Core, at: int, told: list[Change]) -> tuple[int, list[Event]]:
    """Return the last seq that stays as it is, and the events after it up to `at`."""
    first, last = _append_of(core, at)
    if at != last:
        raise UsageError(
            f"event {at} is inside an append of several events, which is whole or not there",
            key="at",
            advice=f"Fork at {first - 1} or at {last}.",
        )
    if not told:
        return at, []
    changed = told[0].seq + (1 if isinstance(told[0], Insert) else 0)
    shared = max(1, _append_of(core, min(changed, at))[0] - 1)
    if isinstance(told[0], Insert) and changed > at:
        shared = at
    return shared, list(_events(core, shared, at))


def _append_of(core: Core, seq: int) -> tuple[int, int]:
    """Return the first and last seq of the append that an event is part of."""
    event = next(_events(core, seq - 1, seq))
    first = seq - event.part[0] + 1
    return first, first + event.part[1] - 1


def _events(core: Core, after: int, upto: int) -> Iterator[Event]:
    for block in core.history.blocks(after, upto):
        yield from codec.decode_events(block.data)


# --- what is changed -----------------------------------------------------------------------------


def _changed(shared: int, rest: list[Event], told: list[Change]) -> Iterator[list[Draft]]:
    """Yield the appends of the changed history after `shared`; an append stays one."""
    dropped = {change.seq for change in told if isinstance(change, Drop)}
    edited = {change.seq: change.draft for change in told if isinstance(change, Edit)}
    inserted: dict[int, list[Draft]] = {}
    for change in told:
        if isinstance(change, Insert):
            inserted.setdefault(change.seq, []).append(change.draft)
    for seq in sorted(seq for seq in inserted if seq <= shared):
        yield from ([draft] for draft in inserted[seq])
    append: list[Draft] = []
    for event in rest:
        if event.seq not in dropped and (draft := _draft(event, edited.get(event.seq))):
            append.append(draft)
        append += inserted.get(event.seq, [])
        if event.part[0] == event.part[1]:
            if append:
                yield append
            append = []


def _draft(event: Event, edit: Draft | None) -> Draft | None:
    """Make a draft of an event, as edited; None for an engine event that leaves state alone."""
    if edit is not None:
        return msgspec.structs.replace(
            edit,
            actor=edit.actor or event.actor,
            id=edit.id or event.id,
            time=edit.time or event.time,
        )
    if is_engine_type(event.type) and event.type not in CARRIES_STATE:
        return None
    return Draft(
        type=event.type, data=event.data, actor=event.actor, id=event.id, time=event.time
    )


def _try(core: Core, shared: int, appends: list[list[Draft]]) -> None:
    """Fold the changed history in memory (I3)."""
    if not appends:
        return
    projection = core.projection
    state = core.states.at(core.history, shared).state
    number = 0
    for append in appends:
        for draft in append:
            number += 1
            if not is_engine_type(draft.type):
                projection.name_type(draft.type)
            data = codec.encode_value(draft.data, limit_bytes=codec.MAX_ENGINE_EVENT_BYTES)
            envelope = Event(
                seq=shared + number, time="0000-00-00T00:00:00.000Z", type=draft.type, data=None
            )
            line, _ = codec.seal([codec.encode_body(envelope, data)], 0)
            try:
                typed = projection.decode_new(bytes(line))
                state = projection.apply_new(state, typed, check=False)
            except (UsageError, ProjectionError) as error:
                raise UsageError(
                    f"the changed history cannot be applied: its event {shared + number} "
                    f"({draft.type}): {error.message}",
                    advice="Change or drop that event too; nothing was written.",
                ) from error
        projection.check(state)


def _append(engine: Engine, append: list[Draft]) -> None:
    """Append one append of the changed history, engine events that carry state as such."""
    plain: list[Draft] = []
    for draft in append:
        if is_engine_type(draft.type):
            if plain:
                engine.append_batch(plain)
                plain = []
            engine.append_carried(draft)
        else:
            plain.append(to_draft(draft, ""))
    if plain:
        engine.append_batch(plain)


# --- the log of the fork -------------------------------------------------------------------------


def _make_log(core: Core, folder: Path, shared: int, fork_id: str) -> list[str]:
    """Share or copy the segments up to `shared` and add the first event of the fork's own."""
    log = folder / LOG_FOLDER
    durable.make_folder(folder)
    durable.make_folder(log)
    history = core.history
    head = history.head(shared)
    linked: list[str] = []
    for name in history.names[: history.names.index(head.segment)]:
        if durable.share(history.folder / name, log / name):
            linked.append(name)
        ids = Path(name).with_suffix(".ids").name
        with contextlib.suppress(FileNotFoundError):
            durable.write_file(log / ids, durable.read_file(history.folder / ids), synced=False)
    with Segment(history.folder / head.segment) as segment:
        whole = durable.is_closed(segment.stat()) and head.offset == segment.size()
        place = segment.position_after(head.offset)
        data = segment.read(0, head.offset)
    assert place is not None
    forked = _forked(core, head, fork_id)
    if whole:
        if durable.share(history.folder / head.segment, log / head.segment):
            linked.append(head.segment)
        previous = {"segment": head.segment, "sha256": head.sha256}
        first = {"format": FORMAT, "id": fork_id, "previous": previous}
        lines = _lines(shared, place.time, 0, [(ROTATED, first), (FORKED, forked)])
        durable.write_file(log / name_of(shared + 1), lines)
    else:
        lines = _lines(shared, place.time, place.crc, [(FORKED, forked)])
        durable.write_file(log / head.segment, data + lines)
    durable.sync_folder(log)
    return linked


def _forked(core: Core, head: Head, fork_id: str) -> dict[str, Any]:
    source = {
        "id": core.reader.journal_id,
        "path": os.path.abspath(core.path),
        "seq": head.seq,
        "segment": head.segment,
        "offset": head.offset,
        "sha256": head.sha256,
    }
    return {"id": fork_id, "source": source}


def _lines(seq: int, time: str, crc: int, drafts: list[tuple[str, dict[str, Any]]]) -> bytes:
    bodies = [
        codec.encode_body(
            Event(seq=seq + number, time=time, type=kind, data=None), codec.encode_value(data)
        )
        for number, (kind, data) in enumerate(drafts, 1)
    ]
    return bytes(codec.seal(bodies, crc)[0])


def read_change(kind: str, text: str) -> Change:
    """Read `SEQ` (drop) or `SEQ=JSON` (edit, insert) as the command line gives it."""
    from projections.foreign import read_json

    seq, equals, body = text.partition("=")
    if not seq.strip().isdecimal() or (kind != "drop") != bool(equals):
        wanted = "SEQ" if kind == "drop" else 'SEQ={"type": …, "data": …}'
        raise UsageError(f"--{kind} {text!r}: {wanted} is wanted", key=kind)
    if kind == "drop":
        return Drop(int(seq))
    given = read_json(body.encode(), path=f"--{kind} {seq}").value
    try:
        draft = msgspec.convert(given, Draft)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"--{kind} {seq}: {error}",
            key=kind,
            advice='An event has "type" and "data", and may have "actor", "id" and "time".',
        ) from error
    encode(draft)
    return Edit(int(seq), draft) if kind == "edit" else Insert(int(seq), draft)
