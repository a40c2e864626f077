"""How a journal is opened.

I1  Opening for writing: append lock, the end of the log in order and on disk, the state from the
    nearest snapshot, drift, then the views and the witness under the view lock.
I2  Opening read-only locks, repairs and writes nothing, and works with no byte free.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from journal import codec, durable
from journal import config as configs
from journal.config import Durability
from journal.engine import arguments
from journal.engine.core import LOG_FOLDER, Core
from journal.engine.drift import OnDrift
from journal.engine.engine import Engine
from journal.engine.repairing import refuse_unfinished
from journal.engine.states import Live
from journal.errors import Corrupt, Drift, JournalError, UsageError
from journal.event import (
    CREATED,
    FORMAT,
    Clock,
    format_time,
    now_ms,
    time_to_ms,
)
from journal.log.history import list_segments
from journal.log.lines import Encoded
from journal.witness import Witness
from projections import catalog
from projections import view as views
from projections.projection import Projection
from projections.view_kinds import DocumentView

Say = Callable[[str], None]


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
    without_code: bool = False,
) -> Engine:
    """Open the journal in the folder `path`.

    `read_only` locks, repairs and writes nothing. `projection` and `durability` stand in for what
    `journal.yaml` says. `on_drift`: what to do about a view that somebody else changed and that
    its projection does not adopt by itself: refuse, adopt, replace, or leave it
    (to a `rebuild`). `on_message` gets each thing that a person should know, such as a recovery.
    `without_code`: for reading only, where the projection's module does not come, open the log
    all the same; whatever needs the code then raises why it did not come, and `verify` reports it.

    Raises `JournalError` where there is no journal, `Locked`, `Corrupt`, `UnsupportedFormat`,
    `Drift`; for reading only the damage that is in the way.
    """
    arguments.check(path=path, read_only=read_only, on_drift=on_drift, on_message=on_message)
    arguments.check(lock_timeout_s=lock_timeout_s, clock=clock)
    if projection is not None and not isinstance(projection, Projection):
        raise arguments.refusal("projection", projection, "a Projection")
    folder = Path(path)
    settings = configs.read(folder)
    missing: UsageError | None = None
    try:
        found = projection or catalog.find(settings.projection)
    except UsageError as error:
        if not (without_code and read_only):
            raise
        found, missing = _stand_in(settings.projection), error
    if durability is not None:
        check_durability(durability)
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
    core.without_code = missing
    engine = Engine(core, messages, open_journal)
    try:
        if missing is not None:
            _open_log(core)
        elif read_only:
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


def created(projection: str, journal_id: str) -> dict[str, object]:
    """Return the data of a log's first event."""
    return {"format": FORMAT, "id": journal_id, "projection": projection}


def check_durability(durability: object) -> None:
    """Raise `UsageError` for what is none."""
    if not isinstance(durability, str) or durability not in configs.DURABILITIES:
        raise UsageError(
            f"{codec.show(durability)} is not a durability",
            key="durability",
            advice=f"Use one of {', '.join(configs.DURABILITIES)}.",
        )


# --- reading -------------------------------------------------------------------------------------


def _open_reading(core: Core) -> None:
    """Stand at the newest state that is cheap to have, and fold the rest (I2).

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
        core.live, core.read_after = live, live.seq
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


def _stand_in(name: str) -> Projection:
    """Make a projection that understands nothing, in place of one whose code does not come."""
    return Projection(name, events={}, initial=dict, views=(), revision="")


def _open_log(core: Core) -> None:
    """Stand at the end of the log and fold nothing: the code of its projection does not come."""
    core.known_seq = max(core.read_witness().synced_seq, core.newest_snapshot_seq())
    try:
        core.reader.seek(0)
        for _ in core.reader.advance():
            pass
    except Corrupt as error:
        core.reader.pass_over_damage()
        core.say(error.message)
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
            if found is None and views.is_disguised(place, record, core.projection.revision):
                core.boot = ""  # so that no stat tells anything, and the bytes are looked at
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
    core.read_after = live.seq
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
    data = created(core.config.projection, core.config.id)
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
