"""Views that somebody else changed: told from ours, adopted as events, or put back.

    what stands in the view's place                                   at opening     during a run
    bytes that a voucher names (now, or before the last replacement)  kept           kept
    missing, empty, NUL bytes, cut short                              written again  written again
    a value equal to a state since the voucher (a power cut)          written again  written again
    a value equal to any state, and the machine was started anew      written again  -
    anything then, if durability lets views run ahead of the log      written again  -
    bytes that a `journal.adopted` since the voucher names            replaced       replaced
    anything, and the witness is missing or broken (a power cut)      written again  written again
    another value, the projection adopts, and it applies and checks   adopted        adopted
    unreadable, and the projection rebuilds what is                   written again  written again
    anything else                                                     `Drift`        written again

I1  What is written again or replaced is copied to quarantine first, and said (by `Viewer`).
I2  What is adopted is the patch from the state that the voucher names to the foreign value,
    applied to the newest state and checked, so that no later event is undone.
I3  Views and witness are not synced: a power cut may leave either older than the other, by more
    than one replacement. So after another boot than the witness's an older state is ours, and with
    `os` and `batch` a newer one as well, which nothing can tell from what somebody else wrote.
I4  A new event gets the seq of one that was lost: before anything is appended, the witness is on
    disk without a voucher of lost events, so that a view never passes for the state of new ones.
I5  The caller holds the append lock; the view lock is taken here, in that order.
"""

import os
import shlex
from pathlib import Path
from typing import Any, Literal

import msgspec

from journal import codec, durable, plural
from journal import config as configs
from journal.engine.appending import Appender
from journal.engine.checks import check_state
from journal.engine.core import Core
from journal.engine.lines import LineKeeper
from journal.engine.viewing import Viewer
from journal.errors import Corrupt, Drift, JournalError, UsageError
from journal.event import ADOPTED, TAKEN_OVER, Draft, Event, facts
from journal.witness import ViewRecord, Voucher
from projections import view as views
from projections.patch import apply_patch, diff, equal
from projections.view_kinds import DocumentView, LinesView

OnDrift = Literal["refuse", "adopt", "replace", "leave"]
"""What becomes of drift at opening; `leave` leaves it to `rebuild`, which compares and replaces."""

_TAKEN_OVER_BY = 100
"""A take-over is among the first events of a journal, or nowhere."""

_ADVICE = (
    "`journal adopt -d {at}` records the difference as an event; `journal rebuild -d {at}` puts "
    "the view back as the log has it (the bytes are kept in quarantine)."
)
_REFUSED_ADVICE = (
    "Mend the file by hand, then `journal adopt -d {at}` records the difference; or `journal "
    "rebuild -d {at}` puts the view back as the log has it (the bytes are kept in quarantine)."
)
_UNREADABLE_ADVICE = (
    "Mend the file by hand and open again, or run `journal rebuild -d {at}`, which puts it back as "
    "the log has it (the bytes are kept in quarantine)."
)


class DriftKeeper:
    """Compares the views of one open journal with its log."""

    def __init__(self, core: Core, appender: Appender, viewer: Viewer) -> None:
        """Take part in `core`."""
        self._core = core
        self._appender = appender
        self._viewer = viewer
        self._lines = LineKeeper(core, appender, viewer)

    def _say(self, advice: str) -> str:
        """Return an advice whose commands name this journal, to be pasted from anywhere."""
        return advice.format(at=shlex.quote(os.fspath(self._core.path)))

    # --- when to look ----------------------------------------------------------------------------

    def at_opening(self, on_drift: OnDrift, *, witness_whole: bool) -> None:
        """Compare every view; raises `Drift` where the table says so and `on_drift` is refuse."""
        witness = self._core.read_witness()
        for view in self._core.projection.views:
            if isinstance(view, LinesView):
                self._lines.take_in(view)
                continue
            place = self._settle_link(view, on_drift)
            record = witness.views.get(view.name)
            found = views.look(place, record, by_stat=self._core.by_stat)
            if found.voucher is not None:
                continue
            if found.status == "foreign" and (witness_whole and record is not None):
                self._settle(view, place, record, found, on_drift)
            elif found.status == "foreign":
                self._take_if_equal(place, found)
            elif found.status == "broken" or record is not None:
                self._note_rebuild(found)

    def forget_lost(self) -> None:
        """Let the witness vouch for no event that the log has lost, as durability allows (I4)."""
        core = self._core
        tail = core.history.tail.seq
        witness = core.read_witness()
        records = dict(witness.views)
        for view in core.projection.views:
            record = records.get(view.name)
            last = max((voucher.seq for voucher in record.vouchers), default=0) if record else 0
            if record is None or last <= tail:
                continue
            core.say(
                f"{view.file} shows {plural.span(tail + 1, last)}, not in the log: lost, as "
                f"durability {core.config.durability!r} allows; the view is written again"
            )
            records.pop(view.name)
            if not isinstance(view, LinesView):
                # Its bytes are still known to be none of somebody else's.
                before, after = (_of_no_event(voucher) for voucher in (record.before, record.after))
                records[view.name] = ViewRecord(before=before, after=after)
        if records != witness.views:
            with core.viewing():
                self._viewer.write_witness(witness, records, synced=True)

    def in_run(self) -> None:
        """Where the projection adopts, take in what others wrote since; never raises `Drift`."""
        core = self._core
        if not core.projection.adopts:
            return
        for view in core.projection.views:
            if isinstance(view, LinesView):
                self._lines.take_in(view)
                continue
            try:
                place = views.place_of(core.path, view, core.config.views)
                record = core.read_witness().views.get(view.name)
                if record is not None:
                    self._adopt_in_run(view, place, record)
            except (OSError, JournalError) as error:
                if core.log.is_dead:
                    raise
                core.say(f"a change of {view.file} by somebody else is not adopted: {error}")

    def _adopt_in_run(self, view: DocumentView, place: views.Place, record: ViewRecord) -> None:
        found = views.look(place, record, by_stat=self._core.by_stat)
        if found.status == "foreign":
            try:
                value = self.read(place, found)
            except Drift:
                self._note_rebuild(found)
                raise
            if not self._is_ours(record, found, value):
                self._adopt(view, place, record, found, value)
        elif found.status != "ours":
            self._note_rebuild(found)

    # --- a symlink -------------------------------------------------------------------------------

    def _settle_link(self, view: DocumentView, on_drift: OnDrift) -> views.Place:
        """Return where a view lies; what a symlink that is not recorded leads to is not ours yet.

        To adopt records it. To replace puts a plain file back: what it leads to stays as it is.
        """
        core = self._core
        try:
            return views.place_of(core.path, view, core.config.views)
        except Drift as error:
            if on_drift == "refuse":
                raise
            path = Path(error.path)
        leads_to = os.readlink(path)
        if on_drift == "adopt":
            config = configs.read(core.path)
            config.views.targets[view.name] = leads_to
            configs.write(core.path, config)
            core.config.views.targets[view.name] = leads_to
            core.say(f"{path} is a symlink to {leads_to!r}; {configs.FILE_NAME} records it now")
        else:
            durable.remove(path)
            core.say(f"{path} was a symlink to {leads_to!r}; a plain file is put in its place")
        return views.place_of(core.path, view, core.config.views)

    # --- a document ------------------------------------------------------------------------------

    def _settle(
        self,
        view: DocumentView,
        place: views.Place,
        record: ViewRecord,
        found: views.Found,
        on_drift: OnDrift,
    ) -> None:
        if on_drift in ("replace", "leave") or self._may_be_ahead():
            self._note_rebuild(found)
            return
        try:
            value = self.read(place, found)
        except Drift:
            if not self._core.projection.rebuilds_unreadable:
                raise
            self._note_rebuild(found)
            return
        try:
            if self._is_ours(record, found, value):
                return
            if self._core.projection.adopts or on_drift == "adopt":
                self._adopt(view, place, record, found, value)
                return
        except UsageError as error:
            raise Drift(
                error.message, path=place.path, advice=self._say(_REFUSED_ADVICE)
            ) from error
        raise self._drift(place, record, value)

    def read(self, place: views.Place, found: views.Found) -> Any:
        """Return the value of a document that somebody else wrote; raises `Drift`."""
        from projections.foreign import read_json  # only wanted where something is foreign

        reader = self._core.projection.read_view
        try:
            if reader is not None:
                return reader(found.data, place.path)
            return read_json(found.data, path=place.path).value
        except Corrupt as error:
            where = "" if error.line is None else f"line {error.line}: "
            raise Drift(
                f"changed by somebody else, and not readable: {where}{error.why}",
                path=place.path,
                advice=self._say(_UNREADABLE_ADVICE),
            ) from error

    def _may_be_ahead(self) -> bool:
        """Say whether a power cut may have left a view that shows events the log has lost (I3)."""
        return not self._core.by_stat and self._core.config.durability != "always"

    def _drift(self, place: views.Place, record: ViewRecord, value: Any) -> Drift:
        advice, refusal = _ADVICE, ""
        try:
            self._adoption(record, value)
        except UsageError as error:
            advice = _REFUSED_ADVICE
            refusal = f"; as it is it cannot be adopted: {error.message}"
        changes = diff(self._core.fresh().state, value)
        first = changes[0] if changes else {"path": "", "op": "replace"}
        more = f", and {len(changes) - 1} more" if len(changes) > 1 else ""
        return Drift(
            f"changed by somebody else: {first['op']} at {first['path'] or 'the root'!r}{more}"
            f"{refusal}",
            path=place.path,
            pointer=str(first["path"]),
            advice=self._say(advice),
            adoptable=not refusal,
        )

    def _is_ours(self, record: ViewRecord, found: views.Found, value: Any) -> bool:
        """Say whether the bytes are an older state of ours, or were adopted already."""
        core = self._core
        tail = core.history.tail.seq
        seqs = [voucher.seq for voucher in record.vouchers if voucher.seq]
        start = min(seqs, default=tail) if core.by_stat else 0
        digest = codec.sha256(found.data)
        live = core.states.at(core.history, min(start, tail))
        if equal(live.state, value):
            return True
        for block in core.history.blocks(live.seq, tail):
            if b'"journal.adopted"' in block.data and _names(block.data, digest):
                return True
            for event in core.projection.decode(block.data):
                live.state = core.projection.apply(live.state, [event])
                if live.state == value and equal(live.state, value):
                    return True
        return False

    def _adopt(
        self,
        view: DocumentView,
        place: views.Place,
        record: ViewRecord | None,
        found: views.Found,
        value: Any,
    ) -> Event:
        """Append `journal.adopted` (I2); raises `UsageError` where it is not adoptable."""
        core = self._core
        base, patch = self._adoption(record, value)
        digest = codec.sha256(found.data)
        data = {"view": view.name, "sha256": digest, "base": base, "patch": patch}
        event = self._appender.add_engine_event(ADOPTED, data)
        self._vouch(place, digest, event.seq)
        core.say(f"{place.path} was changed by somebody else; adopted as event {event.seq}")
        return event

    def _adoption(self, record: ViewRecord | None, value: Any) -> tuple[int, list[Any]]:
        """Return what would be adopted, a patch and the seq it starts from; raises `UsageError`."""
        core = self._core
        base, patch = self._smallest_patch(record, value)
        newest = core.fresh().state
        adopted = apply_patch(codec.copy_value(newest), codec.copy_value(patch))
        check_state(adopted, core.projection)
        core.projection.check(adopted)
        core.projection.check_adoption(newest, adopted)
        return base, patch

    def _smallest_patch(self, record: ViewRecord | None, value: Any) -> tuple[int, list[Any]]:
        core = self._core
        tail = core.history.tail.seq
        vouchers = record.vouchers if record else []
        seqs = {voucher.seq for voucher in vouchers if voucher.seq}
        patches = [
            (seq, diff(core.states.at(core.history, seq).state, value))
            for seq in sorted(seqs, reverse=True)
            if seq <= tail
        ] or [(tail, diff(core.fresh().state, value))]
        # Of equal size the newest: `min` keeps the first.
        return min(patches, key=lambda found: _size(found[1]))

    def _vouch(self, place: views.Place, digest: str, seq: int) -> None:
        """Let the witness say that the bytes there now are known, as the state at `seq`."""
        core = self._core
        data, found = views.read(place)
        if codec.sha256(data) != digest:
            return
        voucher = views.vouch(data, found, seq=seq, revision="", lines=False)
        with core.viewing():
            witness = core.read_witness()
            records = {**witness.views, place.name: ViewRecord(after=voucher)}
            self._viewer.write_witness(witness, records)

    def _take_if_equal(self, place: views.Place, found: views.Found) -> None:
        """Vouch for a view that nobody vouches for (no witness), if it is as the log has it."""
        digest = codec.sha256(found.data)
        core = self._core
        blocks = core.history.blocks(0, min(core.history.tail.seq, _TAKEN_OVER_BY))
        if any(_names(block.data, digest) for block in blocks):
            self._vouch(place, digest, 1)
            return
        live = self._core.fresh()
        if self._viewer.render(live.state).get(place.name) == found.data:
            self._vouch(place, codec.sha256(found.data), live.seq)
        else:
            self._note_rebuild(found)

    def _note_rebuild(self, found: views.Found) -> None:
        """Record that a view is written again, where the projection remembers that."""
        note = self._core.projection.note_rebuild
        noted = None if note is None else note(found.why, found.data)
        if noted is not None:
            self._appender.add([Draft(type=noted[0], data=noted[1])])

    # --- asked for -------------------------------------------------------------------------------

    def adopt(self) -> list[Event]:
        """Adopt whatever differs in the document views, as `journal adopt` asks."""
        core, events = self._core, []
        witness = core.read_witness()
        for view in core.projection.views:
            if isinstance(view, LinesView):
                continue
            place = self._settle_link(view, "adopt")
            record = witness.views.get(view.name)
            found = views.look(place, record, by_stat=self._core.by_stat)
            if found.status == "broken":
                raise Drift(
                    f"{found.why}, so there is nothing to adopt",
                    path=place.path,
                    advice=self._say("`journal rebuild -d {at}` puts it back as the log has it."),
                )
            if found.status == "foreign":
                value = self.read(place, found)
                if not equal(core.fresh().state, value):
                    events.append(self._adopt(view, place, record, found, value))
        return events


def is_adoptable(core: Core, state: Any, value: Any) -> bool:
    """Say whether a value that somebody wrote into a view may become the state by `adopt`."""
    try:
        check_state(value, core.projection)
        core.projection.check(codec.copy_value(value))
        core.projection.check_adoption(state, value)
    except JournalError:
        return False
    return True


def _size(patch: list[Any]) -> int:
    """Measure a patch by what it says, not by the names of its operations."""
    said = [[change["path"], change.get("value")] for change in patch]
    return len(codec.encode_state(said))


def _of_no_event(voucher: Voucher | None) -> Voucher | None:
    return voucher and msgspec.structs.replace(voucher, seq=0, revision="")


def _names(lines: bytes, digest: str) -> bool:
    return any(
        event.type in (ADOPTED, TAKEN_OVER) and facts(event).get("sha256") == digest
        for event in codec.decode_events(lines)
    )
