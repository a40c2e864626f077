"""A segment built anew of what is readable of a damaged one, each line sealed again.

I1  Good lines keep their bytes up to the crc, which is computed anew over what is now before it,
    also those that foreign bytes stand around.
I2  Each unreadable span becomes one `journal.lost` line, a first line that is gone is made again.

It writes no file; `journal.engine.repairing` does, and says what else a repair is.
"""

from journal import codec, plural, sifting
from journal.event import LOST, Event
from journal.segment import Block, Segment, lost_upto
from journal.sifting import Damage


class SegmentBuilder:
    """Builds the lines of one segment.

    `data` are its bytes; `kept` is how many events of the old one are in them, `lost` the spans
    [first, last] that are not; `crc`, `seq` and `time` are those at its end.
    """

    def __init__(self, name: str, header: Event, upto: int | None) -> None:
        """Begin; `upto` is the last seq that belongs to the segment, None for the last segment."""
        self._name = name
        self._header = header
        self._upto = upto
        self.data = bytearray()
        self.crc = 0
        self.seq = int(name[:20]) - 1
        self.time = header.time
        self.kept = 0
        self.lost: list[list[int]] = []
        self.why: list[str] = []
        self.dropped_bytes = 0
        self.damaged = False

    def note(self, why: str) -> None:
        """Say, once, why the segment cannot stay as it is."""
        self.damaged = True
        if why not in self.why:
            self.why.append(why)

    def take(self, segment: Segment, known_seq: int) -> None:
        """Take every good line of the old file; events up to `known_seq` were in it.

        An unfinished end is left to opening, which cuts it, unless known events are gone with it.
        """
        end = segment.complete_end(0, segment.size())
        crc = 0
        for piece in sifting.decoded(segment, segment.start, segment.size()):
            if isinstance(piece, Block):
                crc = piece.after.crc
                for line in piece.data.split(b"\n")[:-1]:
                    self._keep(line + b"\n")
            elif not piece.unended or piece.offset < end or self.seq < known_seq:
                self._take_out_of(segment, piece, crc)

    def _take_out_of(self, segment: Segment, damage: Damage, crc: int) -> None:
        """Take the lines of ours that stand whole between foreign bytes; `crc` is before them."""
        self.damaged = True
        whole = sifting.salvage(segment.read(damage.offset, damage.end), crc)
        kept = f" ({len(whole)} whole events in it are kept)" if whole else ""
        self.why.append(f"line {damage.line}, byte {damage.offset}: {damage.why}{kept}")
        self.dropped_bytes += damage.end - damage.offset - sum(map(len, whole))
        for line in whole:
            self._keep(line)

    def _keep(self, line: bytes) -> None:
        event = codec.decode_event(line)
        if self._upto is not None and event.seq > self._upto:
            self.note(f"events after {self._upto}, which belong to other segments")
            return
        if event.seq > self.seq + 1:
            self.lose_upto(event.seq - 1)
        if event.seq != self.seq + 1:
            self.damaged = True
            self.why.append(f"event {event.seq} where event {self.seq + 1} is due")
            return
        self._add(line[: -codec.SUFFIX_BYTES])
        self.kept += 1
        self.time = event.time
        self.seq = lost_upto(event) if event.type == LOST else event.seq

    def lose_upto(self, seq: int) -> None:
        """Write down that the events up to `seq` are lost; a first line is made again."""
        if not self.data:
            if not self.damaged:
                self.why.append("the first line is missing")
            self.damaged = True
            data = codec.encode_value(self._header.data)
            self._add(codec.encode_body(self._header, data))
            self.seq = self._header.seq
        if seq <= self.seq:
            return
        first = self.seq + 1
        if not self.damaged:
            self.why.append(f"{plural.are(first, seq)} missing")
        self.damaged = True
        lost = Event(seq=first, time=self.time, type=LOST, data=None)
        self._add(codec.encode_body(lost, codec.encode_value({"upto": seq})))
        self.lost.append([first, seq])
        self.seq = seq

    def _add(self, body: bytes) -> None:
        line, self.crc = codec.seal([body], self.crc)
        self.data += line
