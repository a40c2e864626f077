"""Repair: a damaged segment is replaced by what is readable of it, and the loss is written down.

I1  It is asked for, says before what it would do (`plan`), and touches no healthy segment.
I2  Good lines keep their bytes up to the crc, which is computed anew, also those that foreign
    bytes stand around; each unreadable span becomes one `journal.lost` line. A first line that is
    gone is made again: the engine wrote it, and what it said is known. So it works without
    parsing a single line, too.
I3  The old file stays, whole, in quarantine. Order: note of the repair, old file linked there, new
    file under a temporary name, rename, `journal.repaired`, note removed; each step synced. While
    the note is there a writer is refused; repair run again starts from the old files.
I4  `journal.repaired` names old and new sha256, so that the chain and older anchors stay
    explained, and carries today's state where events are lost.
"""

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from journal import codec, durable, keys, locks, regular, witness
from journal import config as configs
from journal.config import Config
from journal.engine.appending import Appender
from journal.engine.checks import check_state
from journal.engine.core import LOG_FOLDER, QUARANTINE_FOLDER, Core
from journal.engine.segment_building import SegmentBuilder
from journal.engine.states import Live, States
from journal.engine.viewing import Viewer
from journal.errors import Corrupt, UsageError
from journal.event import CREATED, FORMAT, REPAIRED, ROTATED, Event, facts, now_ms
from journal.log.history import History
from journal.segment import Position, Segment, is_name, list_names, name_of
from projections import catalog
from projections import view as views
from projections.projection import Projection
from projections.view_kinds import DocumentView
from snapshots.store import Store

NOTE_NAME = "repair.json"
Say = Callable[[str], None]


class SegmentRepair(msgspec.Struct, frozen=True, kw_only=True):
    """What is done to one segment: how many events it keeps, and the spans [first, last] lost."""

    segment: str
    kept: int
    lost: list[list[int]]
    dropped_bytes: int
    why: list[str]
    old_sha256: str
    new_sha256: str
    quarantine: str


class RepairPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a repair does, or would do. No segments: there is nothing to repair.

    `state_from` says where today's state comes from, where events are lost; empty: from nowhere,
    then a repair wants one (`state`, or `skip_lost`).
    """

    path: str
    segments: list[SegmentRepair]
    lost_events: int
    state_from: str
    done: bool = False
    seq: int = 0


class _Made(msgspec.Struct):
    """A segment as it will be."""

    repair: SegmentRepair
    data: bytes
    closed: bool


def plan(path: str | Path) -> RepairPlan:
    """Say what `repair` would do; changes nothing. Raises as `journal.config.read` does."""
    return _Repair(Path(path)).plan()


def repair(
    path: str | Path,
    *,
    state: Any = msgspec.UNSET,
    skip_lost: bool = False,
    lock_timeout_s: float = 10.0,
    on_message: Say | None = None,
) -> RepairPlan:
    """Repair a journal and return what was done.

    Where events are lost and no later snapshot or view has today's state, it must be given:
    `state`, or `skip_lost` to fold what is left as if the lost events had changed nothing.
    Raises `UsageError` without it, with nothing changed; `Locked`; `OSError`.
    """
    work = _Repair(Path(path), state=state, skip_lost=skip_lost, say=on_message)
    durable.make_folder(work.log, own=True)  # it may be gone with all that was in it
    with (
        contextlib.closing(locks.FolderLock(work.log)) as lock,
        lock.held(lock_timeout_s),
    ):
        work.replace_segments()
    return work.record(lock_timeout_s)


def refuse_unfinished(folder: Path) -> None:
    """Raise `Corrupt` where a repair was cut off (I3)."""
    note = folder / QUARANTINE_FOLDER / NOTE_NAME
    if note.exists():
        raise Corrupt(
            "a repair was cut off",
            path=note,
            advice="Run `journal repair` again: it completes the repair from the old files.",
        )


class _Repair:
    """One run over one journal."""

    def __init__(
        self,
        folder: Path,
        *,
        state: Any = msgspec.UNSET,
        skip_lost: bool = False,
        say: Say | None = None,
    ) -> None:
        self.folder = folder
        self.log = folder / LOG_FOLDER
        self._quarantine = folder / QUARANTINE_FOLDER
        self._config: Config = configs.read(folder)
        self._projection: Projection = catalog.find(self._config.projection)
        self._given = state
        self._skip_lost = skip_lost
        self._say: Say = say or (lambda _: None)
        self._noted = _read_note(self._quarantine / NOTE_NAME)
        with contextlib.closing(witness.WitnessFile(folder, write=False)) as record:
            self._witness = record.read() or witness.Witness()
        self._store = Store(folder / "snapshots", self._say)
        self._made: list[_Made] = []
        self._begins: dict[str, str] = {}
        self._carried: Live | None = None
        self._state_from = ""

    def plan(self) -> RepairPlan:
        """Make every segment that has damage anew, in memory, and find today's state."""
        self._made = self._make_all()
        self._find_state()
        return self._report(done=False, seq=0)

    def _report(self, *, done: bool, seq: int) -> RepairPlan:
        repairs = [made.repair for made in self._made]
        return RepairPlan(
            path=str(self.folder),
            segments=repairs,
            lost_events=sum(span[1] - span[0] + 1 for made in repairs for span in made.lost),
            state_from=self._state_from,
            done=done,
            seq=seq,
        )

    # --- making segments -------------------------------------------------------------------------

    def _make_all(self) -> list[_Made]:
        there = list_names(self.log) if self.log.is_dir() else []
        names = sorted({name_of(1), *there, *self._named_before(there), *self._noted})
        self._begins = self._first_seqs(names)
        made: list[_Made] = []
        end = Position(0, 0, 0, "")
        previous: tuple[str, str] | None = None
        for number, name in enumerate(names):
            is_last = number + 1 == len(names)
            upto = None if is_last else int(names[number + 1][:20]) - 1
            found = self._make(name, end, previous, upto)
            end = found.after
            previous = (name, found.digest)
            if found.made is not None:
                made.append(found.made)
        return made

    def _named_before(self, names: list[str]) -> list[str]:
        """Return the segments that the first lines of others name: some may be missing."""
        named = []
        for name in names:
            with Segment(self.log / name) as segment, contextlib.suppress(Corrupt):
                previous = facts(segment.header()).get("previous")
                if isinstance(previous, dict) and is_name(found := str(previous.get("segment"))):
                    named.append(found)
        return named

    def _source(self, name: str) -> Path:
        """Return the file to start from: the old one, if a repair was cut off (I3)."""
        if name in self._noted:
            kept = self._quarantine / self._noted[name]
            if kept.exists():
                return kept
        return self.log / name

    def _first_seqs(self, names: list[str]) -> dict[str, str]:
        """Return file name -> the name that its first line is of; files may have been swapped."""
        found: dict[str, str] = {}
        for name in names:
            path = self._source(name)
            if path.exists():
                with Segment(path, name=name) as segment, contextlib.suppress(Corrupt):
                    found[name] = name_of(segment.header().seq)
        return found

    def _content(self, name: str) -> Path:
        """Return the file that has this segment, which may stand under another one's name."""
        if self._begins.get(name, name) != name or not self._source(name).exists():
            for other, first in self._begins.items():
                if first == name:
                    return self._source(other)
        return self._source(name)

    def _make(
        self,
        name: str,
        end: Position,
        previous: tuple[str, str] | None,
        upto: int | None,
    ) -> "_Segment":
        path, own = self._content(name), self._source(name)
        builder = SegmentBuilder(name, self._header(name, end, previous), upto)
        if path != own:
            builder.note(f"this segment stands in the file {path.name}")
        whole = path.exists()
        known = self._last_known() if upto is None else upto
        if whole:
            with Segment(path, name=name) as segment:
                builder.take(segment, known)
        builder.lose_upto(max(builder.seq, known) if upto is None else upto)
        whole = own.exists()
        old = hashlib.sha256(regular.read_file(own)).hexdigest() if whole else ""
        data = bytes(builder.data)
        digest = codec.sha256(data)
        after = Position(len(data), builder.crc, builder.seq, builder.time)
        if digest == old and name not in self._noted:
            return _Segment(after, digest, None)
        if whole and not builder.damaged and name not in self._noted:
            # Only an unfinished end: opening cuts it, a repair has nothing to do here.
            return _Segment(after, old, None)
        kept_as = f"{name}.{old[:12]}.damaged" if whole else ""
        repair = SegmentRepair(
            segment=name,
            kept=builder.kept,
            lost=builder.lost,
            dropped_bytes=builder.dropped_bytes,
            why=builder.why,
            old_sha256=old,
            new_sha256=digest,
            quarantine=self._noted.get(name, kept_as),
        )
        return _Segment(after, digest, _Made(repair, data, upto is not None))

    def _last_known(self) -> int:
        """Return the last seq that witness, views or snapshots know of."""
        known = [self._witness.synced_seq, *(entry.seq for entry in self._store.list())]
        for record in self._witness.views.values():
            known += [voucher.seq for voucher in record.vouchers]
        return max(known)

    def _header(self, name: str, end: Position, previous: tuple[str, str] | None) -> Event:
        """Make the first event of a segment again, should it be gone (I2)."""
        config = self._config
        data: dict[str, object] = {"format": FORMAT, "id": config.id}
        kind = CREATED
        if previous is None:
            data["projection"] = config.projection
        else:
            kind = ROTATED
            data["previous"] = {"segment": previous[0], "sha256": previous[1]}
        # As early as can be: asked for a time before the next good event, the answer is then that
        # events are lost, and not that nothing had happened yet.
        time = end.time or "1970-01-01T00:00:00.000Z"
        return Event(seq=int(name[:20]), time=time, type=kind, data=data)

    # --- the state -------------------------------------------------------------------------------

    def _find_state(self) -> None:
        """Find today's state where events are lost; `_state_from` says where it comes from."""
        holes = [span[1] for made in self._made for span in made.repair.lost]
        if not holes:
            return
        if self._given is not msgspec.UNSET:
            self._state_from = "given"
        elif self._skip_lost:
            self._state_from = "what is left, as if the lost events had changed nothing"
        else:
            base = self._base_after(max(holes))
            if base is not None:
                self._carried, self._state_from = base

    def _base_after(self, seq: int) -> tuple[Live, str] | None:
        """Return a state at `seq` or later that a snapshot or a vouched view has."""
        projection = self._projection
        found: list[tuple[Live, str]] = []
        kept = self._store.newest(2**62, projection=projection.name, revision=projection.revision)
        if kept is not None and kept.seq >= seq:
            found.append((Live(kept.state(), kept.seq), f"the snapshot at event {kept.seq}"))
        for view in projection.views:
            if isinstance(view, DocumentView) and view.holds_state:
                with contextlib.suppress(OSError, ValueError, Corrupt):
                    place = views.place_of(self.folder, view, self._config.views)
                    record = self._witness.views.get(view.name)
                    vouched = views.read_vouched(place, record, projection.revision)
                    if vouched is not None and vouched[1].seq >= seq:
                        at = vouched[1].seq
                        found.append((Live(vouched[0], at), f"{view.file} at event {at}"))
        return max(found, key=lambda one: one[0].seq, default=None)

    # --- replacing -------------------------------------------------------------------------------

    def replace_segments(self) -> None:
        """Put the new segments in their places; the caller holds the append lock."""
        self.plan()
        if not self._made:
            return
        lost = any(made.repair.lost for made in self._made)
        if lost and not self._state_from:
            raise UsageError(
                "events are lost, and no later snapshot or view has today's state",
                key="state",
                advice="Give it: `journal repair --state FILE` (state.json, say, if you trust "
                "it), or `--skip-lost` to fold what is left as if they had changed nothing.",
            )
        if self._given is not msgspec.UNSET:
            check_state(self._given, self._projection)
            self._projection.check(self._given)
        durable.make_folder(self._quarantine, own=True)
        note = {made.repair.segment: made.repair.quarantine for made in self._made}
        durable.write_file(self._quarantine / NOTE_NAME, codec.encode_value(note) + b"\n")
        for made in self._made:
            path = self.log / made.repair.segment
            if made.repair.quarantine and made.repair.segment not in self._noted:
                durable.link_aside(path, self._quarantine, made.repair.quarantine)
            with contextlib.suppress(OSError):  # a cache, and what it notes is of the old bytes
                durable.remove(keys.ids_path(path))
            mode = durable.CLOSED_FILE if made.closed else durable.PRIVATE_FILE
            durable.write_file(path, made.data, mode=mode, synced=True)

    def record(self, lock_timeout_s: float) -> RepairPlan:
        """Append `journal.repaired` with today's state; then the repair is done (I3)."""
        if not self._made:
            if self._noted or (self._quarantine / NOTE_NAME).exists():
                durable.remove(self._quarantine / NOTE_NAME)
            return self._report(done=True, seq=0)
        core = Core(
            self.folder,
            self._config,
            self._projection,
            write=True,
            clock=now_ms,
            lock_timeout_s=lock_timeout_s,
            say=self._say,
        )
        with contextlib.closing(core), core.appending():
            viewer = Viewer(core)
            appender = Appender(core, viewer)
            known = core.read_witness().synced
            notes = core.log.recover(known)
            tail = core.history.tail
            core.live = self._todays_state(core.history, core.states)
            viewer.lines_start(tail.seq)
            appender.record(notes)
            data: dict[str, Any] = {
                "repairs": [msgspec.to_builtins(made.repair) for made in self._made]
            }
            if any(made.repair.lost for made in self._made):
                data["state_from"] = self._state_from
                data["state"] = core.live.state
            event = appender.add_engine_event(REPAIRED, data)
            core.log.sync(event.seq)
            durable.remove(self._quarantine / NOTE_NAME)
            with core.viewing():
                viewer.write(viewer.content(core.fresh()))
        return self._report(done=True, seq=event.seq)

    def _todays_state(self, history: History, states: States) -> Live:
        tail = history.tail
        if self._given is not msgspec.UNSET:
            return Live(self._given, tail.seq, tail.time)
        if self._skip_lost:
            live = states.initial()
            for block in history.blocks(0, tail.seq):
                live.state = self._projection.fold(live.state, block.data)
            return Live(live.state, tail.seq, tail.time)
        if self._carried is not None and self._carried.seq <= tail.seq:
            return states.fold(history, self._carried, tail.seq)
        return states.at(history, tail.seq)


class _Segment(msgspec.Struct):
    """Where a segment ends, its digest as it will be, and its new bytes if it gets new ones."""

    after: Position
    digest: str
    made: _Made | None


def _read_note(path: Path) -> dict[str, str]:
    try:
        found = codec.decode_value(regular.read_file(path))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise Corrupt(f"the note of a repair is not readable: {error}", path=path) from error
    return {str(name): str(kept) for name, kept in found.items()}
