"""Verify: the log, its chain, every event, the snapshots against a replay, views and witness.

I1  It reads the whole log and folds from nothing; it believes no snapshot. That is how it proves
    that snapshots and views are only a cache.
I2  It changes nothing, and goes on behind damage: every problem is in the report.
I3  Memory is bounded: one block, one state, and the places of the snapshots.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import orjson

from journal import codec, plural, recovery
from journal.engine.core import Core
from journal.engine.evidence import gather
from journal.engine.remedies import remedies
from journal.engine.reports import Problem, Verified
from journal.engine.states import Fold, Live
from journal.engine.viewing import Viewer
from journal.errors import Corrupt, JournalError, UsageError
from journal.event import CHECKPOINT, LOST, PRUNED, REPAIRED, ROTATED, Event
from journal.log.history import Head
from journal.recovery import Damage
from journal.segment import Block, Segment
from journal.witness import ViewRecord
from projections import view as views
from projections.patch import diff, equal
from projections.projection import LinesView, Unknown
from snapshots import snapshot

Progress = Callable[[int, int], None]
"""(events done, events in all)."""

_HASHED_BYTES = 1 << 20
_TOLD = (b'"journal.repaired"', b'"journal.checkpoint"', b'"journal.pruned"')


class _Part(msgspec.Struct):
    seq: int
    type: str
    part: tuple[int, int] = (1, 1)


_parts = msgspec.json.Decoder(_Part)


class Verifier:
    """One run of `verify` over one journal."""

    def __init__(self, core: Core, viewer: Viewer, anchors: Iterable[tuple[int, str]]) -> None:
        """Take the anchors, pairs of seq and sha256, to be found true."""
        self._core = core
        self._viewer = viewer
        self._evidence = gather(core)
        self._history = self._evidence.history
        self._anchors = sorted(anchors)
        self._problems: list[Problem] = []
        self._notes: list[str] = []
        self._unknown: list[Unknown] = []
        self._repaired: dict[str, int] = {}
        self._asked: dict[str, int] = {}
        self._previous: tuple[str, str] | None = None
        self._damage: Damage | None = None
        self._broken = False
        self._fold: Fold | None = None
        self._last_time = ""
        self._last_part = (1, 1)
        self._events = 0

    def run(self, progress: Progress | None) -> Verified:
        """Check everything; return what was found."""
        history = self._history
        self._check_anchors_exist()
        self._find_repairs()
        live = self._core.states.initial()
        checkpoints = [(entry.seq, entry.name) for entry in self._evidence.snapshots]
        self._check_first_name(live)
        for number, name in enumerate(history.names):
            self._damage = None
            with Segment(history.folder / name) as segment:
                live = self._check_segment(segment, live, checkpoints, progress)
            if number + 1 < len(history.names):
                self._check_next_name(name, history.names[number + 1], live)
        for seq, name in checkpoints:
            if seq > live.seq:
                self._add("snapshot", f"{name}: event {seq} is not in the log", seq=seq)
            else:
                self._notes.append(f"{name} was not compared: the log is damaged before it")
        if not self._broken and not (self._fold and self._fold.in_hole):
            self._check_views(live)
        self._check_asked()
        self._check_witness(live.seq)
        self._note_unfinished()
        tail = history.tail
        return Verified(
            ok=not self._problems,
            events=self._events,
            segments=len(history.names),
            head=history.head(tail.seq) if tail.seq else Head(0, history.last_name, 0, _EMPTY),
            problems=self._problems,
            notes=self._notes,
            advice=remedies(self._problems),
            unknown=dict(Counter(unknown.type for unknown in self._unknown)),
        )

    def _add(self, kind: str, message: str, **place: Any) -> None:
        self._problems.append(Problem(kind=kind, message=message, **place))

    # --- the log ---------------------------------------------------------------------------------

    def _find_repairs(self) -> None:
        """Learn which segments were repaired, by which event: that explains other digests.

        And which checkpoints were asked for, and not pruned since.
        """
        for piece in self._history.sifted(0, self._history.tail.seq):
            if isinstance(piece, Block) and any(kind in piece.data for kind in _TOLD):
                for event in codec.decode_events(piece.data):
                    self._take_told(event)

    def _take_told(self, event: Event) -> None:
        if event.type == REPAIRED:
            for one in event.data.get("repairs", []):
                self._repaired[str(one["segment"])] = event.seq
        elif event.type == CHECKPOINT:
            self._asked[str(event.data["file"])] = event.seq
        elif event.type == PRUNED:
            for name in event.data["files"]:
                self._asked.pop(name, None)

    def _check_asked(self) -> None:
        """Note the checkpoints that were asked for and are not there; they can be made again."""
        there = {entry.name for entry in self._evidence.snapshots}
        for name, seq in self._asked.items():
            if name not in there and not (self._core.store.folder / name).exists():
                self._notes.append(
                    f"snapshots/{name}, asked for by event {seq}, is not there; `journal rebuild` "
                    "writes it again"
                )

    def _check_segment(
        self,
        segment: Segment,
        live: Live,
        checkpoints: list[tuple[int, str]],
        progress: Progress | None,
    ) -> Live:
        digest = hashlib.sha256()
        hashed = 0
        size = self._history.size_of(segment)
        for piece in recovery.sift(segment, segment.start, size):
            if isinstance(piece, Damage):
                self._report_damage(segment, piece)
                continue
            hashed = self._hash_to(segment, digest, hashed, piece)
            try:
                live = self._check_block(segment, piece, live, checkpoints)
            except ValueError:
                live = self._check_lines(segment, piece, live, checkpoints)
            if progress is not None:
                progress(piece.after.seq, self._history.tail.seq)
        for start in range(hashed, size, _HASHED_BYTES):
            digest.update(segment.read(start, min(start + _HASHED_BYTES, size)))
        # What follows from damage is no fault of its own: another digest, events that are gone.
        self._previous = None if self._damage else (segment.name, digest.hexdigest())
        return live

    def _hash_to(self, segment: Segment, digest: "hashlib._Hash", hashed: int, block: Block) -> int:
        """Hash up to the end of a block, stopping at the anchors in it."""
        for seq, expected in [
            a for a in self._anchors if block.before.seq < a[0] <= block.after.seq
        ]:
            offset = _offset_after(block, seq)
            digest.update(segment.read(hashed, offset))
            hashed = offset
            found = digest.copy().hexdigest()
            if found != expected:
                repaired = self._repaired.get(segment.name)
                self._add(
                    "anchor",
                    f"the history up to event {seq} is not the one that was noted: its sha256 is "
                    f"{found}, and {expected} was expected"
                    + (f" (event {repaired} repaired this segment)" if repaired else ""),
                    segment=segment.name,
                    offset=offset,
                    seq=seq,
                )
        digest.update(segment.read(hashed, block.after.offset))
        return block.after.offset

    def _note_unfinished(self) -> None:
        """Name the bytes at the end that are no whole append: no damage, but worth knowing."""
        history, tail = self._history, self._history.tail
        with Segment(history.folder / history.last_name) as segment:
            rest = segment.size() - tail.offset
            if rest <= 0 or self._damage is not None:
                return
            line = segment.count_lines(tail.offset) + 1
        many = "1 byte that is" if rest == 1 else f"{rest} bytes that are"
        self._notes.append(
            f"{history.last_name}, line {line}, byte {tail.offset}: {many} no whole append: one is "
            "under way, or a crash cut it off and the next writer sets it aside"
        )

    def _report_damage(self, segment: Segment, damage: Damage) -> None:
        self._broken = True
        self._damage = damage
        error = recovery.corrupt(damage)
        self._add(
            "damage",
            error.why,
            segment=segment.name,
            line=damage.line,
            offset=damage.offset,
            seq=damage.first_lost,
        )

    def _check_block(
        self, segment: Segment, block: Block, live: Live, checkpoints: list[tuple[int, str]]
    ) -> Live:
        """Check the order of one block's events, fold it, and compare the snapshots in it."""
        events = self._core.projection.decode(block.data, self._unknown)
        self._events += len(events)
        self._check_order(segment, block, events)
        if block.before.offset == 0:
            self._check_header(segment, codec.decode_event(block.data[: _first_end(block)]))
        if self._broken:
            live.seq = block.after.seq
            return live
        # One fold for all: it knows whether the state is unknown because events are lost.
        fold = self._fold = self._fold or Fold(self._core.projection, live)
        try:
            for piece in _cut_at(block, [seq for seq, _ in checkpoints]):
                fold.add(piece)
                while checkpoints and checkpoints[0][0] <= live.seq:
                    seq, name = checkpoints.pop(0)
                    if fold.in_hole:
                        self._notes.append(f"{name} was not compared: events before it are lost")
                    else:
                        self._check_snapshot(seq, name, live)
        except JournalError as error:
            self._broken = True
            self._add("projection", error.message, segment=segment.name, seq=live.seq + 1)
        return live

    def _check_lines(
        self, segment: Segment, block: Block, live: Live, checkpoints: list[tuple[int, str]]
    ) -> Live:
        """Check a block line by line that holds one which is no event, though it checks."""
        for piece in recovery.walk(segment, block.before, block.after.offset):
            if isinstance(piece, Damage):
                self._report_damage(segment, piece)
            else:
                live = self._check_block(segment, piece, live, checkpoints)
        return live

    def _check_order(self, segment: Segment, block: Block, events: list[Any]) -> None:
        times = [event.time for event in events if not isinstance(event, Unknown)]
        ordered = sorted(times)
        if times != ordered or (times and times[0] < self._last_time):
            self._add(
                "time",
                f"a time goes back between events {block.before.seq + 1} and {block.after.seq}",
                segment=segment.name,
                seq=block.before.seq + 1,
            )
        if times:
            self._last_time = times[-1]
        if b'"type":"journal.lost"' not in block.data:
            seqs = [event.seq for event in events]
            if seqs != list(range(block.before.seq + 1, block.after.seq + 1)):
                wrong = next(
                    (seq, due) for due, seq in enumerate(seqs, block.before.seq + 1) if seq != due
                )
                self._broken = True
                self._add(
                    "order",
                    f"event {wrong[0]} where event {wrong[1]} is due",
                    segment=segment.name,
                    seq=wrong[1],
                )
        if b'"part":[' in block.data or self._last_part[0] != self._last_part[1]:
            self._check_parts(segment, block)

    def _check_parts(self, segment: Segment, block: Block) -> None:
        for line in _parts.decode_lines(block.data):
            k, n = line.part
            if line.type == LOST:
                self._last_part = (0, 0)  # Parts of the appends on both sides may be lost.
                continue
            last_k, last_n = self._last_part
            due = (last_k + 1, last_n) if last_k < last_n else (1, n)
            if (k, n) != due and self._last_part != (0, 0):
                self._add(
                    "append",
                    f"event {line.seq} is part {k} of {n}, and part {due[0]} of {due[1]} is due",
                    segment=segment.name,
                    seq=line.seq,
                )
            self._last_part = (k, n)

    def _check_header(self, segment: Segment, header: Event) -> None:
        previous = self._previous
        if header.type != ROTATED or previous is None:
            return
        said = header.data.get("previous", {})
        name, digest = str(said.get("segment")), str(said.get("sha256"))
        if (name, digest) == previous:
            return
        if name == previous[0] and name in self._repaired:
            self._notes.append(
                f"{name} has other bytes since event {self._repaired[name]} repaired it"
            )
        else:
            self._add(
                "chain",
                f"says that {name} has sha256 {digest}, and {previous[0]} has {previous[1]}",
                segment=segment.name,
                line=1,
                offset=0,
                seq=header.seq,
            )

    def _check_first_name(self, live: Live) -> None:
        first = int(self._history.names[0][:20])
        if first > 1:
            self._broken = True
            self._add(
                "gap",
                f"the log starts at event {first}: events 1 to {first - 1} are missing",
                segment=self._history.names[0],
                seq=1,
            )
            live.seq = first - 1

    def _check_next_name(self, name: str, following: str, live: Live) -> None:
        due = int(following[:20])
        if live.seq + 1 == due:
            return
        self._broken = True
        if self._damage is None or self._damage.last_lost is not None:
            self._previous = None
            self._add(
                "gap",
                f"ends at event {live.seq}, and the next segment starts at event {due}: "
                f"{plural.are(live.seq + 1, due - 1)} missing",
                segment=name,
                seq=live.seq + 1,
            )
        live.seq = due - 1

    def _check_anchors_exist(self) -> None:
        tail = self._history.tail.seq
        for seq, _ in self._anchors:
            if not 1 <= seq <= tail:
                self._add(
                    "anchor",
                    f"event {seq} was noted, and history ends at event {tail}: "
                    f"{plural.are(tail + 1, seq)} missing at the end",
                    seq=seq,
                )

    # --- snapshots and views ---------------------------------------------------------------------

    def _check_snapshot(self, seq: int, name: str, live: Live) -> None:
        """Compare a snapshot of this revision with the state of the replay at its seq."""
        try:
            found = snapshot.read(self._core.store.folder / name)
        except FileNotFoundError:
            return  # Another process has just removed it, as it may.
        except (Corrupt, OSError) as error:
            why = error.why if isinstance(error, Corrupt) else str(error)
            self._add("snapshot", f"{name}: {why}", seq=seq)
            return
        projection = self._core.projection
        if (found.projection, found.revision) != (projection.name, projection.revision):
            self._notes.append(f"{name} was made by other code and is not used")
        elif seq != live.seq or (
            found.state_bytes != orjson.dumps(live.state) and not equal(found.state(), live.state)
        ):
            self._add("snapshot", f"{name}: its state is not the one of the replay", seq=seq)

    def _check_views(self, live: Live) -> None:
        documents = self._viewer.render(live.state)
        for seen in self._evidence.views:
            if seen.problem:
                self._add("view", seen.problem)
            elif isinstance(seen.view, LinesView):
                self._check_lines_view(seen.view, seen.data, seen.record, live.seq)
            elif seen.data == documents[seen.view.name]:
                continue
            elif seen.voucher is not None and seen.voucher.seq < live.seq:
                behind = live.seq - seen.voucher.seq
                self._notes.append(
                    f"{seen.view.file} is {plural.count(behind, 'event')} behind, as it may be"
                )
            else:
                self._add("view", self._describe_view(seen.view.file, seen.data, live.state))

    def _check_lines_view(
        self, view: LinesView, data: bytes, record: ViewRecord | None, seq: int
    ) -> None:
        """Compare a view of lines with the fold's lines, in whatever order they stand."""
        if record is not None and any(
            voucher.revision != self._core.projection.revision for voucher in record.vouchers
        ):
            self._notes.append(f"{view.file} has lines that other code wrote")
            return
        due = self._viewer.fold_lines(view, 0, seq)
        sifted = views.sift(view, data, due, ended=False)
        shown = seq if record is None or record.after is None else record.after.seq
        lost = sum(due_seq <= shown for due_seq, _ in sifted.missing)
        if lost:
            how = "`journal rebuild` writes them again"
            self._add("view", f"{view.file} lacks {plural.count(lost, 'line')} of the log; {how}")
        if sifted.bad:
            self._add("view", f"{view.file} has {plural.count(len(sifted.bad), 'damaged line')}")
        if len(sifted.missing) > lost:
            self._notes.append(f"{view.file} is behind, as it may be")
        if sifted.foreign:
            lines = plural.count(len(sifted.foreign), "line")
            self._notes.append(f"{view.file} has {lines} of somebody else's")

    def _describe_view(self, name: str, data: bytes, state: Any) -> str:
        from projections.foreign import read_json

        try:
            changes = diff(state, read_json(data, path=name).value)
        except JournalError as error:
            return f"{name} differs from the log: {error.message}"
        if not changes:
            return f"{name} has the log's data in other bytes"
        first = changes[0]
        return f"{name} differs from the log: {first['op']} at {first['path'] or 'the root'!r}" + (
            f", and {len(changes) - 1} more" if len(changes) > 1 else ""
        )

    def _check_witness(self, seq: int) -> None:
        synced = self._evidence.witness.synced_seq
        if synced > seq:
            self._add(
                "witness",
                f"event {synced} was known to be on disk, and the log ends at event {seq}: "
                f"{plural.are(seq + 1, synced)} missing at the end",
                seq=seq + 1,
            )


_EMPTY = hashlib.sha256().hexdigest()


def _first_end(block: Block) -> int:
    return block.data.find(b"\n") + 1


def _offset_after(block: Block, seq: int) -> int:
    """Return the offset after the line of event `seq` in a block."""
    at = 0
    for event in codec.decode_events(block.data):
        at = block.data.find(b"\n", at) + 1
        if event.seq >= seq:
            break
    return block.before.offset + at


def _cut_at(block: Block, seqs: list[int]) -> Iterable[Block]:
    """Yield the block in pieces that end at the given seqs."""
    inside = [seq for seq in seqs if block.before.seq < seq < block.after.seq]
    before, data = block.before, block.data
    for seq in sorted(set(inside)):
        cut = _offset_after(Block(data, before, block.after), seq) - before.offset
        middle = before._replace(offset=before.offset + cut, seq=seq)
        last = data.rfind(b"\n", 0, cut - 1) + 1
        middle = middle._replace(time=codec.decode_event(data[last:cut]).time)
        yield Block(data[:cut], before, middle)
        before, data = middle, data[cut:]
    yield Block(data, before, block.after)


def read_anchor(text: str) -> tuple[int, str]:
    """Read `SEQ:SHA256`; raises `UsageError`."""
    seq, colon, digest = text.strip().partition(":")
    if colon and seq.isdecimal() and len(digest) == 64:
        return int(seq), digest.lower()
    raise UsageError(
        f"{text!r} is not an anchor",
        key="anchor",
        advice="An anchor is SEQ:SHA256, as `journal head` prints them.",
    )
