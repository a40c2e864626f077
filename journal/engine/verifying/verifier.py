"""One run of verify: the walk over the log, and what is checked of each event.

I1  It reads the whole log once and folds from nothing; it believes no snapshot. That is how it
    proves that snapshots and views are only a cache.
I2  It changes nothing, and goes on behind damage: every problem is in the report.
I3  Memory is bounded: one block, one state, and the places of the snapshots.
I4  Every event is decoded once: its order, its part and its effect come from that one value.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from journal import codec, plural, recovery, regular
from journal.engine.core import Core
from journal.engine.evidence import gather
from journal.engine.remedies import remedies
from journal.engine.repairing import NOTE_NAME
from journal.engine.reports import Verified
from journal.engine.states import Fold
from journal.engine.verifying.chain import Chain, offset_after
from journal.engine.verifying.decoding import Decoded, decoded
from journal.engine.verifying.findings import Findings
from journal.engine.verifying.matching import Matcher
from journal.engine.viewing import Viewer
from journal.errors import JournalError
from journal.event import CHECKPOINT, LOST, PRUNED, are_times
from journal.segment import Block, Segment
from journal.sifting import Damage
from projections.typed_lines import Unknown

Progress = Callable[[int, int], None]
"""(events done, events in all)."""

_ALONE = (1, 1)


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
        self._evidence = gather(core)
        self._history = self._evidence.history
        self._findings = Findings()
        self._chain = Chain(self._history, anchors, self._findings)
        self._matcher = Matcher(core, viewer, self._evidence, self._findings)
        self._live = core.states.initial()
        # One fold for all: it knows whether the state is unknown because events are lost.
        self._fold = Fold(core.projection, self._live)
        self._unknown: Counter[str] = Counter()
        self._asked: dict[str, int] = {}
        self._damage: Damage | None = None
        self._broken = False
        self._last_time = ""
        self._last_part = _ALONE
        self._events = 0

    def run(self, progress: Progress | None) -> Verified:
        """Check everything; return what was found."""
        history, live, found = self._history, self._live, self._findings
        self._chain.check_anchors_exist()
        self._check_folders()
        self._check_code()
        self._check_first_name()
        for number, name in enumerate(history.names):
            self._damage = None
            with Segment(history.folder / name) as segment:
                self._check_segment(segment, progress)
            if number + 1 < len(history.names):
                self._check_next_name(name, history.names[number + 1])
        self._matcher.end(live)
        if not self._broken and not self._fold.in_hole:
            self._matcher.check_views(live)
        self._note_missing()
        self._check_witness(live.seq)
        self._check_repair()
        self._note_unfinished()
        return Verified(
            ok=not found.problems,
            events=self._events,
            segments=len(history.names),
            head=self._chain.head(),
            problems=found.problems,
            notes=found.notes,
            advice=remedies(found.problems, adoptable=found.adoptable, at=self._core.path),
            unknown=dict(self._unknown),
        )

    # --- segments --------------------------------------------------------------------------------

    def _check_segment(self, segment: Segment, progress: Progress | None) -> None:
        size = self._history.size_of(segment)
        self._chain.start()
        for piece in decoded(segment, size, self._core.projection):
            if isinstance(piece, Damage):
                self._report_damage(segment, piece)
                continue
            self._check_events(segment, piece)
            if progress is not None:
                progress(piece.block.after.seq, self._history.tail.seq)
        self._chain.end(segment, size, damaged=self._damage is not None)

    def _report_damage(self, segment: Segment, damage: Damage) -> None:
        self._broken = True
        self._damage = damage
        error = recovery.corrupt(damage)
        self._findings.add(
            "damage",
            error.why,
            segment=segment.name,
            line=damage.line,
            offset=damage.offset,
            seq=damage.first_lost,
        )

    def _check_first_name(self) -> None:
        first = int(self._history.names[0][:20])
        if first > 1:
            self._broken = True
            self._findings.add(
                "gap",
                f"the log starts at event {first}: events 1 to {first - 1} are missing",
                segment=self._history.names[0],
                seq=1,
            )
            self._live.seq = first - 1

    def _check_next_name(self, name: str, following: str) -> None:
        live, due = self._live, int(following[:20])
        if live.seq + 1 == due:
            return
        self._broken = True
        if self._damage is None or self._damage.last_lost is not None:
            self._chain.break_off()
            gap = f"{plural.are(live.seq + 1, due - 1)} missing"
            self._findings.add(
                "gap",
                f"ends at event {live.seq}, and the next segment starts at event {due}: "
                f"{gap if due > live.seq else 'they overlap, so one of them has another name'}",
                segment=name,
                seq=live.seq + 1,
            )
        live.seq = due - 1

    # --- events ----------------------------------------------------------------------------------

    def _check_events(self, segment: Segment, found: Decoded) -> None:
        """Hash a block, check the order of its events, fold it, and compare what is said of it."""
        block, live = found.block, self._live
        self._chain.take(segment, block)
        self._events += len(found.events)
        if self._core.without_code is None:
            self._unknown.update(unknown.type for unknown in found.unknown)
        self._check_times(segment, block, found.events, any_unknown=bool(found.unknown))
        if not found.due and LOST not in found.types:
            self._report_order(segment, block, found.events)
        if found.parts is None or not self._are_parts_whole(found.parts):
            self._check_parts(segment, block)
        if not found.types.isdisjoint((CHECKPOINT, PRUNED)):
            self._note_asked(found.events)
        if block.before.offset == 0:
            self._chain.check_header(segment, block.data[: block.data.find(b"\n") + 1])
        if self._broken:
            live.seq = block.after.seq
            return
        by_line = self._fold.in_hole or LOST in found.types
        stops = self._matcher.stops(block.before.seq, block.after.seq)
        try:
            for _ in _fold_to(stops, self._fold, block, None if by_line else found.events):
                self._matcher.compare(self._fold, live)
        except JournalError as error:
            self._broken = True
            self._findings.add("projection", error.message, segment=segment.name, seq=live.seq + 1)

    def _check_times(
        self, segment: Segment, block: Block, events: list[Any], *, any_unknown: bool
    ) -> None:
        if any_unknown:
            events = [event for event in events if not isinstance(event, Unknown)]
        times = [event.time for event in events]
        if not are_times(times):
            wrong = next(event for event in events if not are_times([event.time]))
            self._findings.add(
                "time",
                f"the time of event {wrong.seq} is {wrong.time!r:.60}, which is no time",
                segment=segment.name,
                seq=wrong.seq,
            )
        if times != sorted(times) or (times and times[0] < self._last_time):
            self._findings.add(
                "time",
                f"a time goes back between events {block.before.seq + 1} and {block.after.seq}",
                segment=segment.name,
                seq=block.before.seq + 1,
            )
        if times:
            self._last_time = times[-1]

    def _report_order(self, segment: Segment, block: Block, events: list[Any]) -> None:
        due_next = enumerate((event.seq for event in events), block.before.seq + 1)
        wrong = next((seq, due) for due, seq in due_next if seq != due)
        self._broken = True
        self._findings.add(
            "order",
            f"event {wrong[0]} where event {wrong[1]} is due",
            segment=segment.name,
            seq=wrong[1],
        )

    def _are_parts_whole(self, parts: list[tuple[int, int]]) -> bool:
        """Say whether parts follow each other as they should; if not, nothing was taken in."""
        if self._last_part == (0, 0):
            return False
        at, last = 0, self._last_part
        if last[0] == last[1] and parts.count(_ALONE) == len(parts):
            at, last = len(parts), _ALONE
        while at < len(parts):
            k, n = parts[at]
            due = (last[0] + 1, last[1]) if last[0] < last[1] else (1, n)
            count = min(n - k + 1, len(parts) - at)
            if (k, n) != due or count < 1:
                return False
            last = (k + count - 1, n)
            if count > 1 and parts[at : at + count] != [(k + more, n) for more in range(count)]:
                return False
            at += count
        self._last_part = last
        return True

    def _check_parts(self, segment: Segment, block: Block) -> None:
        for line in _parts.decode_lines(block.data):
            k, n = line.part
            if line.type == LOST:
                self._last_part = (0, 0)  # Parts of the appends on both sides may be lost.
                continue
            last_k, last_n = self._last_part
            due = (last_k + 1, last_n) if last_k < last_n else (1, n)
            if (k, n) != due and self._last_part != (0, 0):
                self._findings.add(
                    "append",
                    f"event {line.seq} is part {k} of {n}, and part {due[0]} of {due[1]} is due",
                    segment=segment.name,
                    seq=line.seq,
                )
            self._last_part = (k, n)

    # --- what stands around the log -------------------------------------------------------------

    def _check_folders(self) -> None:
        """Report what stands in the place of a folder, or the witness: writers are refused."""
        for folder in (self._core.store.folder, self._core.quarantine):
            if why := regular.not_a_folder(folder):
                self._findings.add("folder", f"{folder.name} {why}")
        witness = self._core.witness_file.path
        if os.path.lexists(witness) and (witness.is_symlink() or not witness.is_file()):
            self._findings.add(
                "folder",
                f"{witness.name} is no regular file, and writers are refused: move it away",
            )

    def _check_code(self) -> None:
        """Report that the code of the projection does not come: the log alone can be checked."""
        if (error := self._core.without_code) is not None:
            self._broken = True
            self._findings.add(
                "projection",
                f"{error.message}. The log was checked without it; the state, the snapshots and "
                "the views were not",
            )

    # --- what the log says there should be -------------------------------------------------------

    def _note_asked(self, events: list[Any]) -> None:
        """Learn which checkpoints were asked for, and not pruned since."""
        for event in events:
            if event.type not in (CHECKPOINT, PRUNED):
                continue
            match event.type, msgspec.json.decode(event.data):
                case "journal.checkpoint", {"file": str(name)}:
                    self._asked[name] = event.seq
                case "journal.pruned", {"files": list(names)}:
                    for name in names:
                        self._asked.pop(str(name), None)
                case _:  # A line that checks may have been planted.
                    pass

    def _note_missing(self) -> None:
        """Note the checkpoints that were asked for and are not there; they can be made again."""
        there = {entry.name for entry in self._evidence.snapshots}
        for name, seq in self._asked.items():
            if name not in there and not (self._core.store.folder / name).exists():
                self._findings.note(
                    f"snapshots/{name}, asked for by event {seq}, is not there; `journal rebuild` "
                    "writes it again"
                )

    def _check_witness(self, seq: int) -> None:
        synced = self._evidence.witness.synced_seq
        if synced > seq:
            self._findings.add(
                "witness",
                f"event {synced} was known to be on disk, and the log ends at event {seq}: "
                f"{plural.are(seq + 1, synced)} missing at the end",
                seq=seq + 1,
            )

    def _check_repair(self) -> None:
        if (self._core.quarantine / NOTE_NAME).exists():
            self._findings.add("repair", "a repair was cut off, and writers are refused")

    def _note_unfinished(self) -> None:
        """Name the bytes at the end that are no whole append: no damage, but worth knowing."""
        history, tail = self._history, self._history.tail
        with Segment(history.folder / history.last_name) as segment:
            rest = segment.size() - tail.offset
            if rest <= 0 or self._damage is not None:
                return
            line = segment.count_lines(tail.offset) + 1
        many = "1 byte that is" if rest == 1 else f"{rest} bytes that are"
        self._findings.note(
            f"{history.last_name}, line {line}, byte {tail.offset}: {many} no whole append: one is "
            "under way, or a crash cut it off and the next writer sets it aside"
        )


def _fold_to(
    stops: list[int], fold: Fold, block: Block, events: list[Any] | None
) -> Iterator[None]:
    """Fold a block, and stop after each seq of `stops`.

    `events` are its decoded ones; None where some are lost, or were before.
    """
    if events is None:
        for piece in _cut_at(block, stops):
            fold.add(piece)
            yield
        return
    first = block.before.seq
    done = first
    for seq in stops:
        fold.add_decoded(events[done - first : seq - first], seq, block.after.time)
        done = seq
        yield


def _cut_at(block: Block, seqs: list[int]) -> Iterable[Block]:
    """Yield the block in pieces that end at the given seqs."""
    inside = [seq for seq in seqs if block.before.seq < seq < block.after.seq]
    before, data = block.before, block.data
    for seq in sorted(set(inside)):
        cut = offset_after(Block(data, before, block.after), seq) - before.offset
        if not cut:
            continue  # Lost with what stands before it.
        middle = before._replace(offset=before.offset + cut, seq=seq)
        last = data.rfind(b"\n", 0, cut - 1) + 1
        middle = middle._replace(time=codec.decode_event(data[last:cut]).time)
        yield Block(data[:cut], before, middle)
        before, data = middle, data[cut:]
    yield Block(data, before, block.after)
