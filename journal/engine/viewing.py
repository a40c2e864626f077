"""Writing the views and the witness, under the view lock.

I1  The witness is read anew first, written before a view is replaced, and neither goes back in
    seq: whoever comes late with an older state writes nothing.
I2  Bytes that are not ours are saved in quarantine before they are replaced, and it is said.
I3  Lines are appended once: those of ours that stand there already (a kill came between the append
    and the witness, or somebody's line was adopted) are not written again.
"""

import threading
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec

from journal import codec, durable
from journal.engine.checks import check_state
from journal.engine.core import Core
from journal.engine.states import Live
from journal.errors import JournalError
from journal.event import Event, format_time
from journal.segment import Block
from journal.witness import Synced, ViewRecord, Voucher, Witness
from projections import view as views
from projections.typed_lines import Unknown
from projections.view import Line
from projections.view_kinds import DocumentView, LinesView, View

_STAMP_MARKS = str.maketrans(":.", "--")


class Content(msgspec.Struct):
    """What the views are to show at `seq`: whole documents, and the lines after `lines_after`."""

    seq: int
    documents: dict[str, bytes]
    lines: dict[str, list[Line]]
    lines_after: int
    unknown: dict[str, int] = {}


class Viewer:
    """Makes the content of the views from states and events, and writes it."""

    def __init__(self, core: Core) -> None:
        """Take part in `core`."""
        self._core = core
        found = core.projection.views
        self.documents = [view for view in found if isinstance(view, DocumentView)]
        self.line_views = [view for view in found if isinstance(view, LinesView)]
        self._ready: tuple[int, dict[str, bytes]] = (-1, {})
        # The appending thread adds under the mutex, the publishing one takes away under the view
        # lock, which comes after the mutex: so what is pending has a lock of its own.
        self._pending_mutex = threading.Lock()
        self._pending: dict[str, list[Line]] = {view.name: [] for view in self.line_views}
        self._pending_after = self._pending_upto = -1
        self._unwritten: dict[str, str] = {}
        self.snapshot_seq = 0

    # --- content ---------------------------------------------------------------------------------

    def render(self, state: Any) -> dict[str, bytes]:
        """Make the documents of a state, and refuse one that JSON cannot hold."""
        check_state(state, self._core.projection)
        return {view.name: view.render(state) for view in self.documents}

    def keep(self, seq: int, documents: dict[str, bytes]) -> None:
        """Keep the documents of the state at `seq`, made before its events were written."""
        self._ready = (seq, documents)

    def content(self, live: Live) -> Content:
        """Return what the views are to show of `live`; the caller holds the mutex."""
        seq, documents = self._ready
        if seq != live.seq or not documents:
            documents = self.render(live.state)
            self.keep(live.seq, documents)
        with self._pending_mutex:
            lines = {name: list(found) for name, found in self._pending.items()}
            after = self._pending_after if self._pending_upto == live.seq else live.seq
        return Content(live.seq, documents, lines, after, dict(live.unknown))

    def lines_of(self, state: Any, event: Event) -> Iterator[tuple[str, Line]]:
        """Yield the lines that an event makes, by view; `state` is the one right after it."""
        for view in self.line_views:
            line = view.line(state, event)
            if line is not None:
                yield view.name, (event.seq, line)

    def keep_lines(self, found: list[tuple[str, Line]], after: int, upto: int) -> None:
        """Keep the lines of the events after `after`, up to and with `upto`, to be written.

        Where they do not go on from those kept before (Ctrl-C came in between), the ones before
        are folded from the log when they are needed.
        """
        with self._pending_mutex:
            goes_on, self._pending_upto = after == self._pending_upto, -1
            if not goes_on:
                self._pending = {view.name: [] for view in self.line_views}
                self._pending_after = after
            for name, line in found:
                self._pending[name].append(line)
            self._pending_upto = upto

    def lines_start(self, seq: int) -> None:
        """Say that lines are kept from the events after `seq` on."""
        self._pending_after = self._pending_upto = seq

    def fold_block(self, live: Live, block: Block) -> list[tuple[str, Line]]:
        """Fold a block one event at a time; return the lines it makes."""
        projection = self._core.projection
        lines: list[tuple[str, Line]] = []
        unknown: list[Unknown] = []
        typed = projection.decode(block.data, unknown)
        live.count(unknown)
        for event, plain in zip(typed, codec.decode_events(block.data), strict=True):
            live.state = projection.apply(live.state, [event])
            lines += self.lines_of(live.state, plain)
        live.seq, live.time = block.after.seq, block.after.time
        return lines

    def fold_lines(self, view: LinesView, after: int, upto: int) -> list[Line]:
        """Fold the lines of a view for the events after `after` up to and with `upto`."""
        core = self._core
        live = core.states.at(core.history, after)
        lines: list[Line] = []
        for block in core.history.blocks(after, upto):
            lines += [line for name, line in self.fold_block(live, block) if name == view.name]
        return lines

    # --- writing ---------------------------------------------------------------------------------

    def note_synced(self, *, wait: bool = True) -> None:
        """Write the witness, where what is synced went on.

        Without `wait` it is left as it is where another thread or process is at it: an older one
        is safe, and the next append, `flush` or `close` writes it.
        """
        hold = self._core.view_hold
        try:
            try:
                if hold.take(wait=wait):
                    witness = self._core.read_witness()
                    if self._core.log.synced.seq > witness.synced_seq:
                        self.write_witness(witness, witness.views)
            finally:
                hold.free()
        except BaseException:
            hold.free()
            raise

    def write_witness(
        self, witness: Witness, records: dict[str, ViewRecord], *, synced: bool = False
    ) -> None:
        """Write the witness anew from the one just read; the caller holds the view lock."""
        core = self._core
        core.witness_file.write(
            Witness(
                boot=core.boot,
                synced=later(core.log.synced, witness.synced),
                views=records,
                snapshot=max(witness.snapshot, self.snapshot_seq),
                writer=core.me,
            ),
            synced=synced,
        )

    def settle(self) -> None:
        """Say that every view is as vouched in this boot, once it was looked at and written."""
        core = self._core
        if core.by_stat:
            return
        with core.viewing():
            core.boot = durable.boot_id()
            witness = core.read_witness()
            self.write_witness(witness, witness.views)
            core.settled = True

    def write(self, content: Content) -> bool:
        """Write what is older than the content (I1); say whether all of it could be written.

        The caller holds the view lock.
        """
        core = self._core
        witness = core.read_witness()
        records = dict(witness.views)
        written, whole = False, True
        for view in core.projection.views:
            try:
                place = views.place_of(core.path, view, core.config.views)
                if isinstance(view, DocumentView):
                    written = self._write_document(witness, records, place, content)
                else:
                    written = self._write_lines(witness, records, place, view, content)
                self._unwritten.pop(view.name, None)
            except (OSError, JournalError) as error:
                whole = False
                self._say_unwritten(view, str(error))
        if not written or core.log.synced.seq > witness.synced_seq:
            self.write_witness(witness, records)
        return whole

    def _say_unwritten(self, view: View, why: str) -> None:
        """Say that a view waits, once: it is tried again with each append, and at the end."""
        if self._unwritten.get(view.name) != why:
            self._unwritten[view.name] = why
            self._core.say(f"{view.file} could not be written and waits for the next append: {why}")

    def _write_document(
        self,
        witness: Witness,
        records: dict[str, ViewRecord],
        place: views.Place,
        content: Content,
    ) -> bool:
        """Write one document; say whether the witness was written as well."""
        core = self._core
        data, revision = content.documents[place.name], core.projection.revision
        record = records.get(place.name)
        found = views.look(place, record, by_stat=core.by_stat)
        voucher = found.voucher
        if voucher is not None:
            if voucher.seq > content.seq and voucher.revision == revision:
                return False
            if voucher.size == len(data) and voucher.sha256 == codec.sha256(data):
                same = msgspec.structs.replace(
                    voucher, seq=content.seq, revision=revision, unknown=content.unknown
                )
                before = record.before if record and voucher is record.after else None
                records[place.name] = ViewRecord(before=before, after=same)
                return False
        self.put_aside(place, found, known=record is not None)
        before = voucher or (views.know(place, found.data) if found.data else None)
        self.replace(
            place, data, content.seq, witness, records, before=before, unknown=content.unknown
        )
        return True

    def replace(
        self,
        place: views.Place,
        data: bytes,
        seq: int,
        witness: Witness,
        records: dict[str, ViewRecord],
        *,
        before: Voucher | None = None,
        lines: bool = False,
        foreign: bytes = b"",
        unknown: dict[str, int] | None = None,
    ) -> None:
        """Replace a view whole: new file, witness, rename; the caller holds the view lock.

        `foreign`: lines that go behind ours, not vouched for, to be adopted at the next look.
        """
        revision = self._core.projection.revision
        ready = views.prepare(place, data + foreign, seq=seq, revision=revision, lines=lines)
        voucher = ready.voucher
        if unknown:
            voucher = msgspec.structs.replace(voucher, unknown=unknown)
        if foreign:
            voucher = views.vouch(data, ready.new.stat, seq=seq, revision=revision, lines=lines)
        records[place.name] = ViewRecord(before=before, after=voucher)
        try:
            # Before the rename, so that no kill makes our own bytes look foreign.
            self.write_witness(witness, records)
        except BaseException:
            ready.new.discard()
            raise
        ready.new.commit()

    def put_aside(self, place: views.Place, found: views.Found, *, known: bool) -> None:
        """Save bytes that are not ours and say so (I2); `known`: the view was there before."""
        core = self._core
        if found.status == "missing" and known:
            core.say(f"{place.path} was missing; it is written again from the log")
        if found.status in ("ours", "missing"):
            return
        stamp = format_time(core.clock()).translate({ord(mark): None for mark in "-:."})
        saved = views.put_aside(place.path.name, found.data, core.quarantine, stamp)
        core.say(
            f"{place.path}: {found.why}; it is written again from the log, and the bytes that "
            f"stood there are kept as {core.quarantine / saved}"
        )

    def _write_lines(
        self,
        witness: Witness,
        records: dict[str, ViewRecord],
        place: views.Place,
        view: LinesView,
        content: Content,
    ) -> bool:
        """Bring a view of lines up to date; say whether the witness was written as well."""
        record = records.get(place.name)
        found = views.look_at_lines(place, record, by_stat=self._core.by_stat)
        voucher = found.voucher
        replaced = False
        if voucher is not None and voucher.seq >= content.seq and not found.extra:
            self._forget_lines(view.name, content.seq)
            return False
        due = self._lines_due(view, voucher, content)
        if found.status == "missing":
            self.put_aside(place, found, known=record is not None)
            lines = b"".join(line for _, line in due)
            self.replace(place, lines, content.seq, witness, records, lines=True)
            replaced = True
        else:
            stretch = found.data if voucher is None else found.extra
            ended = voucher is None or not self._core.by_stat
            sifted = views.sift(view, stretch, due, ended=ended)
            if sifted.tail and any(line.startswith(sifted.tail) for _, line in sifted.missing):
                # A kill cut off a line of ours. Lines put behind it would make it a damaged one,
                # for every reader to find until the next look.
                sifted = msgspec.structs.replace(sifted, bad=[*sifted.bad, sifted.tail], tail=b"")
            if sifted.bad:
                self._leave_bad_lines(place, view, found, sifted)
                ours, foreign = _good_lines(found, sifted, due)
                self.replace(
                    place, ours, content.seq, witness, records, lines=True, foreign=foreign
                )
                replaced = True
            elif found.extra or voucher is None or sifted.missing:
                lines = b"".join(line for _, line in sifted.missing)
                whole = self._append_lines(place, view, found, lines, due=due, seq=content.seq)
                if whole is not None:
                    records[place.name] = ViewRecord(after=whole)
                elif voucher is None:
                    records.pop(place.name, None)
            else:  # events that make no line
                seen = msgspec.structs.replace(voucher, seq=content.seq)
                records[place.name] = ViewRecord(after=seen)
        self._forget_lines(view.name, content.seq)
        return replaced

    def _lines_due(self, view: LinesView, voucher: Voucher | None, content: Content) -> list[Line]:
        """Return the lines of the events after the voucher's seq, up to and with the content's.

        A voucher of another revision vouches for its bytes: what stands in the file stays.
        """
        if voucher is None:
            return self.fold_lines(view, 0, content.seq)
        if voucher.seq >= content.lines_after:
            return [line for line in content.lines[view.name] if line[0] > voucher.seq]
        return self.fold_lines(view, voucher.seq, content.seq)

    def _append_lines(
        self,
        place: views.Place,
        view: LinesView,
        found: views.Found,
        lines: bytes,
        *,
        due: list[Line],
        seq: int,
    ) -> Voucher | None:
        """Append the lines that do not stand there yet (I3); return the voucher of the whole.

        A kill before the witness is written is safe: the lines then stand behind the vouched
        size, equal to lines of the fold, and are known as ours by that. Where somebody else has
        appended meanwhile there is no new voucher, so that the next look finds and adopts it.
        """
        voucher = found.voucher
        start = 0 if voucher is None else voucher.size
        data, at_once = views.append_lines(place, lines, after=start)
        if not views.sift(view, data, due, ended=False).is_whole:
            return None
        return Voucher(
            seq=seq,
            revision=self._core.projection.revision,
            size=start + len(data),
            inode=at_once.st_ino,
            mtime_ns=at_once.st_mtime_ns,
            crc=zlib.crc32(data, 0 if voucher is None else voucher.crc),
        )

    def _leave_bad_lines(
        self, place: views.Place, view: LinesView, found: views.Found, sifted: views.Sifted
    ) -> None:
        """Save what is no line (I2): beside a file that holds nothing else, if so wanted."""
        core = self._core
        stamp = format_time(core.clock())
        nothing_good = found.voucher is None and not (sifted.known or sifted.foreign)
        if nothing_good and view.corrupt_beside:
            name = f"{place.path.name}.corrupt.{stamp.translate(_STAMP_MARKS)}"
            durable.write_file(place.target.with_name(name), found.data)
            kept = str(place.target.with_name(name))
        else:
            bad = b"\n".join(line.rstrip(b"\n") for line in sifted.bad) + b"\n"
            plain = stamp.translate({ord(mark): None for mark in "-:."})
            saved = views.put_aside(place.path.name, bad, core.quarantine, plain)
            kept = str(core.quarantine / saved)
        count = len(sifted.bad)
        core.say(
            f"{place.path}: {count} {'line is' if count == 1 else 'lines are'} damaged and kept as "
            f"{kept}; "
            + ("it is written again from the log" if nothing_good else "the others stay")
        )

    def _forget_lines(self, name: str, seq: int) -> None:
        with self._pending_mutex:
            # First: after Ctrl-C in between, lines are kept that nobody asks for; the other way
            # round some would be missing that are.
            self._pending_after = max(self._pending_after, seq)
            self._pending[name] = [line for line in self._pending[name] if line[0] > seq]


def _good_lines(found: views.Found, sifted: views.Sifted, due: list[Line]) -> tuple[bytes, bytes]:
    """Return what a damaged file of lines is to hold: our lines, and behind them the others'."""
    foreign = b"".join(line for line, _ in sifted.foreign)
    if sifted.tail:
        foreign += sifted.tail + b"\n"
    if found.voucher is None:
        return b"".join(line for _, line in due), foreign
    ended = [line if line.endswith(b"\n") else line + b"\n" for line in sifted.known]
    vouched = found.data[: found.voucher.size]
    if vouched and not vouched.endswith(b"\n"):
        vouched += b"\n"
    return vouched + b"".join([*ended, *(line for _, line in sifted.missing)]), foreign


def later(ours: Synced, theirs: Synced | None) -> Synced:
    """Return the later of two synced places."""
    return theirs if theirs is not None and theirs.seq > ours.seq else ours
