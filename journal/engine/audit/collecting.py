"""One pass over the log that makes the account of it.

I1  Every good event is counted once; damage is reported and passed over, by the classifier that
    `verify` and `repair` use, so that the counts are theirs.
I2  Memory is bounded whatever the length: names after the first two hundred go together (they are
    counted, and the engine's own never go with them), of gaps and happenings a few are kept.
I3  Nothing is left out without its number: what is not kept is counted.
"""

import contextlib
import functools
import heapq
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from journal import codec, recovery
from journal.engine.audit.quarantined import Quarantine
from journal.engine.audit.report import (
    MOST_COUNTED,
    OTHERS,
    Audit,
    Counts,
    Gap,
    Happening,
    Named,
    SegmentLine,
)
from journal.engine.audit.wording import TOLD, describe
from journal.engine.core import Core
from journal.engine.reports import Problem
from journal.errors import Corrupt, JournalError
from journal.event import FORMAT, LOST, ROTATED, format_time, is_engine_type, time_to_ms
from journal.segment import Block, Segment, is_name, lost_upto
from journal.sifting import Damage
from projections import view as views
from projections.view_kinds import LinesView

Progress = Callable[[int, int], None]

BINS = 168
_KNOWN = TOLD | {ROTATED}
_MOST_NAMES = 200
_MOST_PAIRS = 50
_MOST_GAPS = 10
_MOST_TOLD = 200
_DAY_MS = 86_400_000
_HOUR_MS = 3_600_000
_FIRST_WEEKDAY = 3  # 1970-01-01 was a Thursday, and Monday is 0


class _Envelope(msgspec.Struct, gc=False):
    """What is counted of each event; its data is not decoded."""

    seq: int
    time: str
    type: str
    actor: str = ""


_envelopes = msgspec.json.Decoder(_Envelope)


def collect(core: Core, progress: Progress | None = None) -> Audit:
    """Read the whole log once and return the account of it (I1, I2)."""
    history = core.history
    tail = history.tail
    segments = _list_segments(core)
    account = Audit(
        path=str(core.path),
        id=core.reader.journal_id,
        projection=core.config.projection,
        format=FORMAT,
        durability=core.config.durability,
        made=format_time(core.clock()),
        synced=core.read_witness().synced_seq,
        log_bytes=sum(one.size_bytes for one in segments),
        segments=segments,
        bins=BINS,
    )
    with contextlib.suppress(Corrupt):  # Said as a problem below.
        account.head = history.head(tail.seq) if tail.seq else None
    quarantine = Quarantine(core.quarantine, _keeping_beside(core))
    counting = _Counting(account, tail.time, quarantine)
    for piece in history.good_lines(0, tail.seq):
        if isinstance(piece, Damage):
            counting.add_damage(piece)
            continue
        counting.add(piece)
        if progress is not None:
            progress(piece.after.seq, tail.seq)
    counting.finish()
    account.quarantine, account.quarantine_count = quarantine.kept(), quarantine.count
    if (missing := core.missing_end()) is not None:
        account.problems.append(Problem(kind="witness", message=missing.why, seq=missing.seq))
    return account


def _keeping_beside(core: Core) -> list[Path]:
    """Return where the views lie beside which their damaged bytes are kept."""
    found: list[Path] = []
    for view in core.projection.views:
        if isinstance(view, LinesView) and view.corrupt_beside:
            with contextlib.suppress(JournalError, OSError):
                found.append(views.place_of(core.path, view, core.config.views).target)
    return found


def _list_segments(core: Core) -> list[SegmentLine]:
    history = core.history
    found: list[SegmentLine] = []
    following = ("", "")
    last_seq = history.tail.seq
    for name in reversed(history.names):
        with Segment(history.folder / name) as segment:
            size = history.size_of(segment)
            first = int(name[:20])
            named, digest = following
            if named != name:
                digest = ""
                # The one that is named is missing, and this one ends before it.
                if is_name(named) and first < int(named[:20]):
                    last_seq = int(named[:20]) - 1
            following = _previous(segment)
        found.append(
            SegmentLine(
                name=name, first_seq=first, last_seq=last_seq, size_bytes=size, sha256=digest
            )
        )
        last_seq = first - 1
    return found[::-1]


def _previous(segment: Segment) -> tuple[str, str]:
    """Return name and sha256 of the segment before, as the first line of this one has them."""
    with contextlib.suppress(Corrupt, ValueError, TypeError, KeyError):
        header = segment.header()
        if header.type == ROTATED:
            previous = header.data["previous"]
            return str(previous["segment"]), str(previous["sha256"])
    return "", ""


class _Names:
    """Names of one kind with their first and last events; after so many, all go together (I2)."""

    def __init__(self) -> None:
        self._seen: dict[str, list[_Envelope]] = {}
        self._others: set[int] = set()

    def note(self, name: str, event: _Envelope) -> str:
        """Note an event of a name; return the name that it goes by."""
        seen = self._seen.get(name)
        if seen is None:
            if len(self._seen) >= _MOST_NAMES and name not in _KNOWN:
                if len(self._others) < MOST_COUNTED:
                    self._others.add(hash(name))
                name = OTHERS
            seen = self._seen.setdefault(name, [event, event])
        seen[1] = event
        return name

    @property
    def others(self) -> int:
        """How many names go together."""
        return len(self._others)

    def named(self) -> dict[str, Named]:
        """Return the names, nothing counted yet."""
        return {
            name: Named(
                name=name,
                first_seq=first.seq,
                first_time=first.time,
                last_seq=last.seq,
                last_time=last.time,
                bins=[0] * BINS,
            )
            for name, (first, last) in self._seen.items()
        }


class _Counting:
    """The pass under way."""

    def __init__(self, account: Audit, last_time: str, quarantine: Quarantine) -> None:
        self._account = account
        self._quarantine = quarantine
        self._types, self._actors = _Names(), _Names()
        self._counts: Counter[tuple[str, str, int]] = Counter()
        self._rhythm = [[0] * 24 for _ in range(7)]
        self._gaps: list[tuple[int, int, str, str]] = []
        self._gap_count = 0
        self._told: dict[str, deque[Happening]] = {}
        self._told_counts: Counter[str] = Counter()
        self._end_ms = to_ms(last_time) if last_time else 0
        self._start_ms, self._span_ms = -1, 1
        self._last = _Envelope(0, "", "")
        self._last_ms = 0

    def add(self, block: Block) -> None:
        """Count the events of a block."""
        envelopes = _envelopes.decode_lines(block.data)
        note_type, note_actor, counts = self._types.note, self._actors.note, self._counts
        last, part, hours, hour = self._last, 0, [0] * 24, 0
        for event in envelopes:
            if event.time != last.time or not part:
                part, hours, hour = self._move_to(event, last)
            hours[hour] += 1
            counts[note_type(event.type, event), note_actor(event.actor, event), part] += 1
            last = event
        self._last = last
        self._account.events += len(envelopes)
        if b'"type":"journal.' in block.data:
            self._tell(block)

    def _move_to(self, event: _Envelope, last: _Envelope) -> tuple[int, list[int], int]:
        """Go on to another time; return the part of the timeline, from 1, the weekday, the hour."""
        now_ms = to_ms(event.time)
        if self._start_ms < 0:
            self._start_ms = now_ms
            self._span_ms = max(self._end_ms - now_ms, 0) + 1
            self._account.first_time = event.time
        elif now_ms > self._last_ms and event.seq == last.seq + 1:
            # Where events are missing between them, nobody knows for how long none was appended.
            self._add_gap(now_ms - self._last_ms, last, event)
        self._last_ms = now_ms
        part = min(max(now_ms - self._start_ms, 0) * BINS // self._span_ms, BINS - 1)
        days, rest_ms = divmod(now_ms, _DAY_MS)
        return part + 1, self._rhythm[(days + _FIRST_WEEKDAY) % 7], rest_ms // _HOUR_MS

    def _add_gap(self, length_ms: int, before: _Envelope, after: _Envelope) -> None:
        self._gap_count += 1
        # The seq is negative so that of equal gaps the earlier ones stay.
        gap = (length_ms, -before.seq, before.time, after.time)
        if len(self._gaps) < _MOST_GAPS:
            heapq.heappush(self._gaps, gap)
        elif gap > self._gaps[0]:
            heapq.heapreplace(self._gaps, gap)

    def _tell(self, block: Block) -> None:
        for event in codec.decode_events(block.data):
            if not is_engine_type(event.type) or event.type == ROTATED:
                continue
            if event.type == LOST:
                self._account.lost += lost_upto(event) - event.seq + 1
            self._quarantine.explain(event)
            self._told_counts[event.type] += 1
            newest = self._told.setdefault(event.type, deque(maxlen=_MOST_TOLD))
            newest.append(
                Happening(
                    seq=event.seq,
                    time=event.time,
                    type=event.type,
                    actor=event.actor,
                    words=describe(event),
                )
            )

    def add_damage(self, damage: Damage) -> None:
        """Report damage; what follows it is counted."""
        self._account.problems.append(
            Problem(
                kind="damage",
                segment=damage.path.rpartition("/")[2],
                line=damage.line,
                offset=damage.offset,
                seq=damage.first_lost,
                message=recovery.corrupt(damage).why,
            )
        )

    def finish(self) -> None:
        """Put what was counted into the account."""
        account = self._account
        account.last_time = self._last.time
        types, actors = self._types.named(), self._actors.named()
        for (kind, actor, part), count in self._counts.items():
            _count(types[kind], actor, part - 1, count)
            _count(actors[actor], kind, part - 1, count)
        account.types = _by_count(types)
        account.actors = _by_count(actors)
        account.counts = self._count_all()
        account.rhythm = self._rhythm
        account.gaps = [
            Gap(after_seq=-seq, from_time=start, to_time=end, length_ms=length_ms)
            for length_ms, seq, start, end in sorted(self._gaps, reverse=True)
        ]
        account.told = dict(self._told_counts)
        told = [one for newest in self._told.values() for one in newest]
        account.happenings = sorted(told, key=lambda one: one.seq)

    def _count_all(self) -> Counts:
        account = self._account
        engine = [one for one in account.types if is_engine_type(one.name)]
        unnamed = any(not one.name for one in account.actors)
        engine_events = sum(one.count for one in engine)
        return Counts(
            own_events=account.events - engine_events,
            engine_events=engine_events,
            own_types=_distinct(account.types, self._types.others) - len(engine),
            engine_types=len(engine),
            other_types=self._types.others,
            actors=_distinct(account.actors, self._actors.others) - unnamed,
            other_actors=self._actors.others,
            without_actor=sum(
                count
                for (kind, actor, _), count in self._counts.items()
                if not actor and not is_engine_type(kind)
            ),
            gaps=self._gap_count,
        )


def _distinct(found: list[Named], others: int) -> int:
    """Count the names: those listed, and for the line of all others how many these are."""
    return len(found) + (others - 1 if others else 0)


def _count(named: Named, other: str, part: int, count: int) -> None:
    named.count += count
    named.bins[part] += count
    named.with_whom[other] = named.with_whom.get(other, 0) + count


def _by_count(names: dict[str, Named]) -> list[Named]:
    found = sorted(names.values(), key=lambda one: (-one.count, one.name))
    for one in found:
        pairs = sorted(one.with_whom.items(), key=lambda pair: (-pair[1], pair[0]))
        one.with_count = len(pairs)
        one.with_whom = dict(pairs[:_MOST_PAIRS])
        if rest := sum(count for _, count in pairs[_MOST_PAIRS:]):
            one.with_whom[OTHERS] = one.with_whom.get(OTHERS, 0) + rest
    return found


def to_ms(time: str) -> int:
    """Return milliseconds since 1970; most times of a log share their minute with the last."""
    return _minute_ms(time[:16]) + int(time[17:19]) * 1000 + int(time[20:23])


@functools.lru_cache(maxsize=64)
def _minute_ms(text: str) -> int:
    return time_to_ms(f"{text}:00.000Z")
