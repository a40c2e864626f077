"""The chain of digests: each segment's first line names the one before, and its sha256.

I1  Every byte of every segment is hashed once, as it is read.
I2  A repair that was recorded explains another digest, not whatever stands there: the bytes have
    to be those that it says it left. Anchors noted before it cannot be proven any more.
I3  What follows from damage is no fault of its own.
"""

import functools
import hashlib
from collections.abc import Iterable, Iterator

from journal import codec, plural
from journal.engine.verifying.anchors import find_heads, say_elsewhere
from journal.engine.verifying.findings import Findings
from journal.errors import UsageError
from journal.event import REPAIRED, ROTATED, Event, facts
from journal.log.history import Head, History
from journal.segment import Block, Segment

_HASHED_BYTES = 1 << 20
_EMPTY = hashlib.sha256().hexdigest()


class Chain:
    """The digests of one stretch of the log; `anchors` are pairs (seq, sha256) to be found true."""

    def __init__(
        self, history: History, anchors: Iterable[tuple[int, str]], findings: Findings
    ) -> None:
        """Hash nothing yet."""
        self._history = history
        self._anchors = sorted(anchors)
        self._findings = findings
        self._previous: tuple[str, str] | None = None
        self._digest = hashlib.sha256()
        self._hashed = 0

    def check_anchors_exist(self) -> None:
        """Report the anchors whose event is not there."""
        tail = self._history.tail.seq
        for seq, digest in self._anchors:
            if not 1 <= seq <= tail:
                missing = f": {plural.are(tail + 1, seq)} missing at the end" if seq else ""
                self._findings.add(
                    "anchor",
                    f"event {seq} was noted, and history ends at event {tail}{missing}"
                    + say_elsewhere(self._heads.get(digest)),
                    seq=seq,
                )

    def start(self) -> None:
        """Begin a segment."""
        self._digest, self._hashed = hashlib.sha256(), 0

    def take(self, segment: Segment, block: Block) -> None:
        """Hash up to the end of a block, stopping at the anchors in it."""
        for seq, expected in self._anchors:
            if block.before.seq < seq <= block.after.seq:
                self._check_anchor(segment, seq, expected, offset_after(block, seq))
        whole = self._hashed == block.before.offset
        self._digest.update(block.data if whole else segment.read(self._hashed, block.after.offset))
        self._hashed = block.after.offset

    def check_header(self, segment: Segment, line: bytes) -> None:
        """Compare what the first line of a segment says of the one before with what was hashed."""
        header, previous = codec.decode_event(line), self._previous
        if header.type != ROTATED or previous is None:
            return
        said = facts(header).get("previous")
        said = said if isinstance(said, dict) else {}
        name, digest = str(said.get("segment")), str(said.get("sha256"))
        if (name, digest) == previous:
            return
        repair, repaired_to = self._repaired.get(name, (0, ""))
        if (name, repaired_to) == previous:
            self._findings.note(f"{name} has other bytes since event {repair} repaired it")
            self._doubt_anchors(header.seq, name, repair)
        else:
            self._findings.add(
                "chain",
                f"says that {name} has sha256 {digest}, and {previous[0]} has {previous[1]}",
                segment=segment.name,
                line=1,
                offset=0,
                seq=header.seq,
            )

    def end(self, segment: Segment, size: int, *, damaged: bool) -> None:
        """Hash what is left of a segment up to `size`."""
        for start in range(self._hashed, size, _HASHED_BYTES):
            self._digest.update(segment.read(start, min(start + _HASHED_BYTES, size)))
        self._previous = None if damaged else (segment.name, self._digest.hexdigest())

    def break_off(self) -> None:
        """Expect nothing of the next segment: events before it are missing."""
        self._previous = None

    def head(self) -> Head:
        """Return the end of history, once the last segment is hashed."""
        tail, name = self._history.tail, self._history.last_name
        if not tail.seq:
            return Head(0, name, 0, _EMPTY)
        return Head(tail.seq, name, tail.offset, self._digest.hexdigest())

    @functools.cached_property
    def _repaired(self) -> dict[str, tuple[int, str]]:
        """Segment -> the event that says it repaired it, and the sha256 that it then had.

        It stands behind what it explains, so it takes another pass over the log, and only where
        there is something to be explained.
        """
        found: dict[str, tuple[int, str]] = {}
        for piece in self._history.sifted(0, self._history.tail.seq):
            if isinstance(piece, Block) and b'"journal.repaired"' in piece.data:
                for event in codec.decode_events(piece.data):
                    if event.type == REPAIRED:
                        found.update(_repairs(event))
        return found

    @functools.cached_property
    def _heads(self) -> dict[str, int]:
        """Digest -> the event that it is the head of, for anchors whose seq is another."""
        return find_heads(self._history, {digest for _, digest in self._anchors})

    def _check_anchor(self, segment: Segment, seq: int, expected: str, offset: int) -> None:
        self._digest.update(segment.read(self._hashed, offset))
        self._hashed = offset
        found = self._digest.hexdigest()
        if found == expected:
            return
        repaired = self._repaired.get(segment.name)
        self._findings.add(
            "anchor",
            f"the history up to event {seq} is not the one that was noted: its sha256 is "
            f"{found}, and {expected} was noted"
            + (f" (event {repaired[0]} repaired this segment)" if repaired else "")
            + say_elsewhere(self._heads.get(expected)),
            segment=segment.name,
            offset=offset,
            seq=seq,
        )

    def _doubt_anchors(self, first: int, name: str, repair: int) -> None:
        """Report the anchors from `first` on that were noted before event `repair` repaired `name`.

        What they were to prove of that segment nobody can prove any more, whoever wrote the event.
        """
        for seq, _ in self._anchors:
            if first <= seq < repair:
                self._findings.add(
                    "anchor",
                    f"the history up to event {seq} cannot be proven to be the one that was noted: "
                    f"event {repair} repaired this segment afterwards",
                    segment=name,
                    offset=0,
                    seq=seq,
                )


def _repairs(event: Event) -> Iterator[tuple[str, tuple[int, str]]]:
    """Yield what a `journal.repaired` says; a line that checks may have been planted."""
    repairs = facts(event).get("repairs")
    for one in repairs if isinstance(repairs, list) else ():
        if isinstance(one, dict):
            yield str(one.get("segment")), (event.seq, str(one.get("new_sha256")))


def offset_after(block: Block, seq: int) -> int:
    """Return the offset after the line of event `seq`, or of the last one before it."""
    at = 0
    for event in codec.decode_events(block.data):
        if event.seq > seq:
            break
        at = block.data.find(b"\n", at) + 1
    return block.before.offset + at


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
