"""Rebuild: everything that can be made again from the log, and put back where it differs.

I1  It reads the whole log and folds from nothing, in one pass; it believes no snapshot.
I2  What it replaces is saved in quarantine first.
I3  Asked-for checkpoints come back byte for byte; the policy's are checked and dropped if false.
"""

import contextlib
from collections.abc import Callable
from functools import partial

import msgspec

from journal import codec, regular
from journal.engine.core import Core
from journal.engine.reports import Rebuilt
from journal.engine.snapshotting import Snapshotter
from journal.engine.states import Live
from journal.engine.viewing import Viewer
from journal.event import format_time
from journal.witness import ViewRecord, Witness
from projections import view as views
from projections.view_kinds import LinesView
from snapshots import snapshot
from snapshots.snapshot import AUTO

Progress = Callable[[int, int], None]
"""(events done, events in all)."""


class Rebuilder:
    """One run of `rebuild` over one journal; the caller holds the append lock."""

    def __init__(self, core: Core, viewer: Viewer, snapshotter: Snapshotter) -> None:
        """Take part in `core`."""
        self._core = core
        self._viewer = viewer
        self._snapshotter = snapshotter
        self._equal: list[str] = []
        self._written: list[str] = []
        self._removed: list[str] = []

    def run(self, progress: Progress | None) -> Rebuilt:
        """Fold from nothing, write what differs, and return what was done."""
        core = self._core
        tail = core.history.tail.seq
        due = self._asked_for()
        for entry in core.store.list():
            if entry.type == AUTO:
                due.setdefault(entry.seq, []).append((AUTO, ""))
        live = core.states.initial()
        for seq in sorted(seq for seq in due if seq <= tail):
            live = core.states.fold(core.history, live, seq, progress=progress)
            for kind, trigger in due[seq]:
                self._snapshot(live, kind, trigger)
        live = core.states.fold(core.history, live, tail, progress=progress)
        core.live = live
        self._views(live)
        return Rebuilt(
            seq=tail,
            events=tail,
            equal=self._equal,
            written=self._written,
            removed=self._removed,
        )

    def _asked_for(self) -> dict[int, list[tuple[str, str]]]:
        """Return seq -> (type, trigger) of the checkpoints asked for and not pruned since."""
        asked: dict[str, tuple[int, str, str]] = {}
        for block in self._core.history.blocks(0, self._core.history.tail.seq):
            if b'"journal.checkpoint"' not in block.data and b'"journal.pruned"' not in block.data:
                continue
            for event in codec.decode_events(block.data):
                match event.type, event.data:
                    case (
                        "journal.checkpoint",
                        {"file": str(name), "seq": int(seq), "type": str(), "trigger": str()},
                    ):
                        asked[name] = (seq, event.data["type"], event.data["trigger"])
                    case "journal.pruned", {"files": list(names)}:
                        for name in names:
                            asked.pop(str(name), None)
        due: dict[int, list[tuple[str, str]]] = {}
        for seq, kind, trigger in asked.values():
            due.setdefault(seq, []).append((kind, trigger))
        return due

    def _snapshot(self, live: Live, kind: str, trigger: str) -> None:
        store = self._core.store
        data = self._snapshotter.encode(live, kind, trigger)
        name = snapshot.name_of(live.seq, kind)
        try:
            found = regular.read_file(store.folder / name)
        except FileNotFoundError:
            found = None
        if found == data:
            self._equal.append(f"snapshots/{name}")
            return
        if found is not None:
            self._put_aside(name, found)
        if kind == AUTO:
            store.remove(name)
            self._removed.append(f"snapshots/{name}")
        else:
            store.write(data)
            self._written.append(f"snapshots/{name}")

    def _views(self, live: Live) -> None:
        core = self._core
        documents = self._viewer.render(live.state)
        with core.viewing():
            witness = core.read_witness()
            records = dict(witness.views)
            for view in core.projection.views:
                place = views.place_of(core.path, view, core.config.views)
                if isinstance(view, LinesView):
                    due = self._viewer.fold_lines(view, 0, live.seq)
                    data = b"".join(line for _, line in due)
                    sift = partial(_sift, view, due)
                    self._view(place, data, live, witness, records, sift=sift)
                else:
                    self._view(place, documents[view.name], live, witness, records)
            self._viewer.write_witness(witness, records)

    def _view(
        self,
        place: views.Place,
        data: bytes,
        live: Live,
        witness: Witness,
        records: dict[str, ViewRecord],
        *,
        sift: Callable[[bytes], views.Sifted] | None = None,
    ) -> None:
        lines = sift is not None
        name = place.path.name
        with contextlib.suppress(FileNotFoundError):
            found, at_once = views.read(place)
            sifted = None if sift is None else sift(found)
            if found == data or (sifted is not None and sifted.is_whole):
                self._equal.append(name)
                revision = self._core.projection.revision
                seq = live.seq
                voucher = views.vouch(found, at_once, seq=seq, revision=revision, lines=lines)
                voucher = msgspec.structs.replace(voucher, unknown=live.unknown)
                records[place.name] = ViewRecord(after=voucher)
                return
            if sifted is None:
                behind = self._is_behind(found, live.seq, witness.views.get(place.name))
            else:
                behind = not (sifted.bad or sifted.foreign or sifted.tail)
            if not behind:
                self._put_aside(name, found)
        self._viewer.replace(
            place, data, live.seq, witness, records, lines=lines, unknown=live.unknown
        )
        self._written.append(name)

    def _is_behind(self, found: bytes, seq: int, record: ViewRecord | None) -> bool:
        """Say whether the bytes are ours from before: others have appended since, as they may."""
        digest, revision = codec.sha256(found), self._core.projection.revision
        return any(
            (voucher.sha256, voucher.revision) == (digest, revision) and voucher.seq < seq
            for voucher in (record.vouchers if record else ())
        )

    def _put_aside(self, name: str, data: bytes) -> None:
        core = self._core
        stamp = format_time(core.clock()).translate({ord(mark): None for mark in "-:."})
        saved = views.put_aside(name, data, core.quarantine, stamp)
        core.say(
            f"{name} is not as the log has it; the bytes that stood there are kept as "
            f"{core.quarantine / saved}"
        )


def _sift(view: LinesView, due: list[views.Line], found: bytes) -> views.Sifted:
    return views.sift(view, found, due, ended=True)
