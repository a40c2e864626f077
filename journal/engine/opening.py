"""How a journal comes into being, and how one is opened.

I1  `init` makes the log first and `journal.yaml` last. A kill in between leaves an unfinished
    journal, which `init` completes and nothing else touches.
I2  Opening for writing: append lock, the end of the log in order and on disk, the state from the
    nearest snapshot, drift, then the views and the witness under the view lock.
I3  Opening read-only locks, repairs and writes nothing, and works with no byte free.
"""

import contextlib
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from journal import codec, durable, locks, regular
from journal import config as configs
from journal.config import Config, Durability, ViewsConfig
from journal.engine import arguments
from journal.engine.checks import check_state
from journal.engine.core import LOG_FOLDER, Core
from journal.engine.drift import OnDrift
from journal.engine.encoding import NewEvent, encode, to_draft
from journal.engine.engine import Engine
from journal.engine.repairing import refuse_unfinished
from journal.engine.states import Live
from journal.errors import Corrupt, Drift, JournalError, UsageError
from journal.event import (
    CREATED,
    FORMAT,
    TAKEN_OVER,
    Clock,
    format_time,
    now_ms,
    parse_time,
    time_to_ms,
)
from journal.log import lines as log_lines
from journal.log import writer as logs
from journal.log.history import list_segments
from journal.log.lines import Encoded
from journal.log.reader import Reader
from journal.witness import Witness
from projections import catalog
from projections import view as views
from projections.projection import DocumentView, Projection

Say = Callable[[str], None]


class TakeOver(msgspec.Struct, frozen=True, kw_only=True):
    """A file of another tool that becomes a journal: its parsed `state` is the first state.

    `path` names it, `sha256` is of its bytes as found, `modified` the time of its last change, if
    that is wanted. `events` come right after it, in the same append: what was read differently
    than it stands (`normalized`, say), its log lines.
    """

    path: str
    sha256: str
    state: Any
    modified: str = ""
    events: Sequence[NewEvent] = ()

    def encode(self, projection: Projection) -> list[Encoded]:
        """Return `journal.taken_over` and the events after it."""
        data = {"path": self.path, "sha256": self.sha256, "state": self.state}
        if self.modified:
            data["modified"] = self.modified
        limit_bytes = codec.MAX_ENGINE_EVENT_BYTES
        found = [Encoded(TAKEN_OVER, codec.encode_value(data, limit_bytes=limit_bytes))]
        return found + _encode_all(self.events, projection)


def _encode_all(events: Sequence[NewEvent], projection: Projection) -> list[Encoded]:
    drafts = [to_draft(event, "") for event in events]
    for draft in drafts:
        projection.name_type(draft.type)
    return [encode(draft) for draft in drafts]


def init_journal(
    path: str | Path,
    *,
    projection: str | Projection = "document",
    durability: Durability = "always",
    views_every_ms: int = 0,
    view_files: dict[str, str] | None = None,
    time: str | None = None,
    take_over: TakeOver | None = None,
    events: Sequence[NewEvent] = (),
    clock: Clock = now_ms,
    lock_timeout_s: float = 10.0,
    on_message: Say | None = None,
) -> Engine:
    """Make a journal in the folder `path`, or complete an unfinished one, and open it.

    `projection`: a name from the catalog, or `module:NAME`. `views_every_ms`: 0 writes the views
    with every append. `view_files`: where views lie, relative to `path`. `time`: when history
    begins, for histories from elsewhere. `take_over`: a file that stands where the state view
    will be; its value is the first state, in the same write as the journal's first line. `events`
    come in that write, too, so that nobody ever sees a journal without them. Raises `UsageError`
    where a journal is there already.
    """
    arguments.check(path=path, projection=projection, views_every_ms=views_every_ms, began=time)
    arguments.check(view_files=view_files, clock=clock, lock_timeout_s=lock_timeout_s)
    arguments.check(on_message=on_message)
    arguments.check_iterable("events", events, "a list of events")
    if take_over is not None and not isinstance(take_over, TakeOver):
        raise arguments.refusal("take_over", take_over, "a TakeOver")
    events = [*events]
    folder = Path(path)
    found = catalog.find(projection) if isinstance(projection, str) else projection
    name = projection if isinstance(projection, str) else projection.name
    if folder.is_file():
        raise UsageError(
            f"{folder}: a file, not a folder",
            key="path",
            advice=f"Name a folder; `journal import file {folder} -d DIR` makes one of what the "
            "file holds.",
        )
    if os.path.lexists(folder / configs.FILE_NAME):
        raise UsageError(
            f"{folder}: there is a journal here already",
            advice="Open it; `journal status` says what is in it.",
        )
    began = format_time(clock()) if time is None else parse_time(time)
    files = view_files or {}
    _check_options(
        found, durability=durability, every_ms=views_every_ms, files=files, folder=folder
    )
    durable.make_folder(folder)
    with contextlib.closing(locks.FolderLock(folder)) as lock, lock.held(lock_timeout_s):
        if os.path.lexists(folder / configs.FILE_NAME):
            raise UsageError(f"{folder}: another process made a journal here just now")
        settings = Config(
            id=_make_log(folder, name, began, found, take_over, events),
            projection=name,
            durability=durability,
            views=ViewsConfig(every_ms=views_every_ms, files=files),
        )
        settings.views.targets = _symlink_targets(folder, found, settings)
        configs.write(folder, settings)
    return open_journal(
        folder,
        projection=found,
        clock=clock,
        lock_timeout_s=lock_timeout_s,
        on_message=on_message,
    )


def _check_options(
    projection: Projection,
    *,
    durability: object,
    every_ms: object = 0,
    files: Mapping[str, str] | None = None,
    folder: Path = Path(),
) -> None:
    """Raise `UsageError` for options that a journal could not be opened with."""
    if not isinstance(durability, str) or durability not in configs.DURABILITIES:
        raise UsageError(
            f"{codec.show(durability)} is not a durability",
            key="durability",
            advice=f"Use one of {', '.join(configs.DURABILITIES)}.",
        )
    if not isinstance(every_ms, int) or every_ms < 0:
        raise UsageError(f"views_every_ms is {every_ms!r}, not 0 or more", key="views_every_ms")
    known = [view.name for view in projection.views]
    for name, file in (files or {}).items():
        if name not in known:
            raise UsageError(
                f"projection {projection.name!r} has no view {name!r}",
                key="view_files",
                advice=f"Its views: {', '.join(known)}.",
            )
        if why := configs.misplaced(file, folder):
            raise UsageError(f"view {name!r}: {why}", key="view_files")


def _make_log(  # noqa: PLR0917 - one caller
    folder: Path,
    name: str,
    time: str,
    projection: Projection,
    take_over: TakeOver | None,
    events: Sequence[NewEvent],
) -> str:
    """Make the log, or take the one that an `init` which was cut off made; return the id."""
    log_folder = folder / LOG_FOLDER
    regular.refuse_link(log_folder)
    if log_folder.is_dir() and any(log_folder.iterdir()):
        durable.remove_leftovers(log_folder)
    if log_folder.is_dir() and any(log_folder.iterdir()):
        with contextlib.closing(Reader(log_folder)) as reader:
            if reader.journal_id:
                return reader.journal_id
    journal_id = secrets.token_hex(16)
    further = [] if take_over is None else take_over.encode(projection)
    further += _encode_all(events, projection)
    lines = log_lines.first_lines(_created(name, journal_id), further, time=time)
    if further:
        state = projection.apply_new(projection.initial(), projection.decode_new(lines))
        check_state(state, projection)
    logs.create(log_folder, lines)
    return journal_id


def _created(projection: str, journal_id: str) -> dict[str, object]:
    return {"format": FORMAT, "id": journal_id, "projection": projection}


def _symlink_targets(folder: Path, projection: Projection, settings: Config) -> dict[str, str]:
    targets = {}
    for view in projection.views:
        path = folder / settings.views.files.get(view.name, view.file)
        if path.is_symlink():
            targets[view.name] = str(path.readlink())
    return targets


def open_journal(
    path: str | Path,
    *,
    read_only: bool = False,
    projection: Projection | None = None,
    durability: Durability | None = None,
    on_drift: OnDrift = "refuse",
    lock_timeout_s: float = 10.0,
    on_message: Say | None = None,
    clock: Clock = now_ms,
) -> Engine:
    """Open the journal in the folder `path`.

    `read_only` locks, repairs and writes nothing. `projection` and `durability` stand in for what
    `journal.yaml` says. `on_drift`: what to do about a view that somebody else changed and that
    its projection does not adopt by itself: refuse, adopt, replace, or leave it
    (to a `rebuild`). `on_message` gets each thing that a person should know, such as a recovery.

    Raises `JournalError` where there is no journal, `Locked`, `Corrupt`, `UnsupportedFormat`,
    `Drift`; for reading only the damage that is in the way.
    """
    arguments.check(path=path, read_only=read_only, on_drift=on_drift, on_message=on_message)
    arguments.check(lock_timeout_s=lock_timeout_s, clock=clock)
    if projection is not None and not isinstance(projection, Projection):
        raise arguments.refusal("projection", projection, "a Projection")
    folder = Path(path)
    settings = configs.read(folder)
    found = projection or catalog.find(settings.projection)
    if durability is not None:
        _check_options(found, durability=durability)
        settings.durability = durability
    messages: list[str] = []
    core = Core(
        folder,
        settings,
        found,
        write=not read_only,
        clock=clock,
        lock_timeout_s=lock_timeout_s,
        say=_teller(messages, on_message),
    )
    engine = Engine(core, messages, open_journal)
    try:
        if read_only:
            _open_reading(core)
        else:
            _open_writing(engine, core, on_drift)
        _say_unknown(core)
    except BaseException:
        core.close()
        raise
    return engine


def _say_unknown(core: Core) -> None:
    """Say which events the projection does not know: the state is what it is without them."""
    unknown = {} if core.live is None else core.live.unknown
    if unknown:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(unknown.items()))
        core.say(
            f"{core.path}: the projection {core.projection.name!r} does not understand events of "
            f"these types, and they leave the state alone: {kinds}"
        )


def _teller(messages: list[str], on_message: Say | None) -> Say:
    def say(text: str) -> None:
        messages.append(text)
        if on_message is not None:
            on_message(text)

    return say


# --- reading -------------------------------------------------------------------------------------


def _open_reading(core: Core) -> None:
    """Stand at the newest state that is cheap to have, and fold the rest (I3).

    Damage in between is said, and leaves the newest state unknown; so does an end that is gone.
    Every good event, and the states before the damage, can still be had.
    """
    # Before the log, which only grows: what was on disk then has to be there.
    witness = core.read_witness()
    core.boot = witness.boot
    newest = core.newest_snapshot_seq()
    core.known_seq = max(witness.synced_seq, newest)
    try:
        live = _vouched_state(core, witness, newest)
        core.reader.seek(live.seq)
        if core.reader.tail.seq != live.seq:
            live = core.states.initial()
            core.reader.seek(0)
        core.live = live
        core.catch_up_reading()
    except Corrupt as error:
        core.live = None
        core.damage = error
        core.reader.pass_over_damage()
        core.say(error.message)
    if core.damage is None and (missing := core.missing_end()) is not None:
        core.live = None
        core.damage = missing
        core.reader.take_in_half()
        core.say(missing.message)
    _say_if_id_differs(core)


def _vouched_state(core: Core, witness: Witness, newest: int) -> Live:
    """Return the state in a view that the witness vouches for, or the newest snapshot's."""
    for view in core.projection.views:
        if not isinstance(view, DocumentView) or not view.holds_state:
            continue
        with contextlib.suppress(OSError, JournalError, ValueError):
            record = witness.views.get(view.name)
            place = views.place_of(core.path, view, core.config.views)
            found = views.read_vouched(place, record, core.projection.revision)
            if found is not None and found[1].seq >= newest:
                return Live(found[0], found[1].seq, unknown=dict(found[1].unknown))
    return core.states.base(_ANY_SEQ)


_ANY_SEQ = 2**62
_DAY_MS = 86_400_000


# --- writing -------------------------------------------------------------------------------------


def _open_writing(engine: Engine, core: Core, on_drift: OnDrift) -> None:
    with core.appending():
        refuse_unfinished(core.path)
        durable.remove_leftovers(core.path / LOG_FOLDER)
        record = core.witness_file.read()
        synced = None if record is None else record.synced
        core.boot = "" if record is None else record.boot
        before = len(list_segments(core.path / LOG_FOLDER))  # now, for others may have rotated
        newest = core.newest_snapshot_seq()
        notes = core.log.recover(synced, snapshot_seq=newest)
        if len(core.history.names) > before:
            core.say(
                f"{core.history.names[-2]} may not be written by anybody, as a closed segment: a "
                "rotation was cut off, or its mode was changed; a new segment goes on"
            )
        tail = core.history.tail
        if core.log.header is None:
            _refuse_empty_beside_state(core)
            notes = [_created_note(core)]
        _say_if_id_differs(core)
        _say_if_clock_is_behind(core)
        core.live = _live_at_tail(core, record or Witness(), newest)
        engine.viewer.lines_start(tail.seq)
        engine.snapshotter.note_newest()
        for note in notes:
            core.say(_say_note(core, note))
        engine.drift.forget_lost()
        engine.appender.record(notes)
        engine.drift.at_opening(on_drift, witness_whole=record is not None)
        core.log.sync(core.history.tail.seq)
        with core.viewing():
            _remove_leftovers(core)
        if on_drift != "leave":
            engine.publisher.publish_at_opening(engine.viewer.content(core.fresh()))


def _remove_leftovers(core: Core) -> None:
    """Remove the temporary files of killed writers; both locks are held, so nobody is at work."""
    folders = [(core.path, ""), (core.store.folder, ""), (core.quarantine, "")]
    for view in core.projection.views:
        with contextlib.suppress(Drift):
            target = views.place_of(core.path, view, core.config.views).target
            folders.append((target.parent, target.name))
    for folder, name in folders:
        try:
            durable.remove_leftovers(folder, name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            core.say(f"a temporary file of a killed writer stays in {folder}: {error}")


def _say_if_id_differs(core: Core) -> None:
    """The log's first event says who the journal is; a journal.yaml that differs was edited."""
    known, believed = core.reader.journal_id, core.config.id
    if known != believed:
        core.say(
            f"{core.path / configs.FILE_NAME}: id is {believed!r}, but the log is that of journal "
            f"{known}, and the log's id holds; write that there"
        )


def _say_if_clock_is_behind(core: Core) -> None:
    """Time never goes back, so a clock that is far behind gives its events the last one's time."""
    tail, now = core.history.tail, core.clock()
    if tail.time and time_to_ms(tail.time) - now > _DAY_MS:
        core.say(
            f"the clock says {format_time(now)}, over a day before the last event "
            f"({tail.time}): new events get that time until the clock has caught up"
        )


def _live_at_tail(core: Core, witness: Witness, newest: int) -> Live:
    tail = core.history.tail
    live = _vouched_state(core, witness, newest)
    if live.seq > tail.seq:
        live = core.states.base(tail.seq)
    live = core.states.fold(core.history, live, tail.seq)
    # A view says no time, and a snapshot taken now has to bear the one of its event.
    live.time = tail.time
    return live


def _refuse_empty_beside_state(core: Core) -> None:
    """An empty first segment is an empty journal, unless something shows that it was not."""
    for view in core.projection.views:
        place = views.place_of(core.path, view, core.config.views)
        if place.target.exists():
            raise Corrupt(
                f"the log is empty, and {place.path.name} is there: the log has lost its events",
                path=core.path / LOG_FOLDER / core.log.last.name,
                offset=0,
                advice=f"Nothing was changed, {place.path} least of all. Put the log back from a "
                "copy; or move that file away to start an empty journal.",
            )


def _created_note(core: Core) -> Encoded:
    data = _created(core.config.projection, core.config.id)
    return Encoded(CREATED, codec.encode_value(data))


def _say_note(core: Core, note: Encoded) -> str:
    if note.type == CREATED:
        return f"{core.path}: the log was empty; it begins anew"
    data: dict[str, Any] = codec.decode_value(note.data)
    return (
        f"{core.path / LOG_FOLDER / data['segment']}: {data['bytes']} bytes after byte "
        f"{data['offset']} were no whole append ({data['why']}): a crash left them and nobody was "
        f"told that they were stored. They are kept as quarantine/{data['quarantine']}; "
        "every event before them is there"
    )
