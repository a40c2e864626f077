"""What a crash may leave at the end of a log, and what to do about it.

    after the last good line stands                                   last segment   an earlier one
    nothing                                                           keep           keep
    bytes without a final LF, blank lines after them or not           cut            refuse
    a line with NUL bytes (blocks that never reached the disk)        cut            refuse
    a whole line without NUL that fails its check                     refuse         refuse
    a line with NUL, then good lines, one of which proves that the
      damaged place was on disk                                       refuse         refuse
    a line with NUL, then good lines, none of which proves it         cut            refuse

I1  The first bad line decides the row. Blank lines at the very end hold nothing and are cut.
I2  After the row, an append whose last part is missing is cut back to its start.
I3  The witness overrules: what it names as synced is never cut, and must be there. So must the
    event of the newest snapshot.
I4  `judge` only looks. What it says to cut is saved and synced in quarantine (`save`) before the
    writer cuts it, so that a crash in between loses nothing: the same verdict comes again.

Why a cut is safe: an append is acknowledged after a sync that covers it, so bytes that no sync
covered were promised to nobody; a line that was once on disk whole is refused, not cut.
"""

import contextlib
from pathlib import Path

import msgspec

from journal import codec, durable, plural, sifting
from journal.errors import Corrupt
from journal.segment import Position, Segment
from journal.sifting import Damage, sift

REPAIR_ADVICE = (
    "Nothing was changed; every good event can still be read. "
    "`journal repair --dry-run` says what can be saved and what a repair would do."
)
PUT_BACK_ADVICE = (
    "Put it back from a copy. Without one, `journal repair --dry-run` says what can be saved and "
    "what a repair would do."
)
_PUT_BACK = {
    sifting.CONFLICT: "Take the file whole from one side of the merge: two logs cannot be merged. ",
    sifting.WIDE: "Convert the file back, as by `iconv -f UTF-16 -t UTF-8`. ",
    sifting.BOM: "Take these three bytes out again: the line is then as it was written. ",
    sifting.CRLF: "Convert the line ends back to LF, as by `sed -i 's/\\r$//'`: every byte is then "
    "as it was written. ",
    sifting.CR: "Convert the line ends back to LF, as by `tr '\\r' '\\n'`. ",
}
"""What another program did to the whole file can be undone, and nothing is lost then."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What to do with the end of the last segment: keep up to `end`; the rest, if any, is torn."""

    end: Position
    torn_bytes: int
    why: str


def judge(segment: Segment, at: Position, size: int, *, synced_seq: int) -> Verdict:
    """Read the last segment from the good place `at` to `size` and decide by the table.

    `synced_seq` is what the witness or a snapshot shows to be on disk (0: nothing known). Raises
    `Corrupt`, with the file and the offset of the first bad line, where the table says refuse.
    """
    end, damage, proven = at, None, 0
    for piece in sift(segment, at, size):
        if isinstance(piece, Damage):
            damage = damage or piece
        elif damage is None:
            end = piece.after
        else:
            proven = max(proven, _proven_by(piece.data))
    if damage is not None:
        _refuse_by_table(damage, proven)
    whole_end = segment.complete_end(at.offset, end.offset)
    if whole_end != end.offset:
        end = segment.position_after(whole_end) or at
    why = "an append was cut off" if damage is None else damage.why
    if end.seq < synced_seq:
        raise missing_end(segment, synced_seq)
    return Verdict(end=end, torn_bytes=size - end.offset, why=why)


def _proven_by(lines: bytes) -> int:
    """Return the last seq that checked lines prove to have been on disk, 0 for none."""
    proven = 0
    for line in [part + b"\n" for part in lines.split(b"\n")[:-1]]:
        with contextlib.suppress(ValueError):  # It checks and is no event: that proves nothing.
            proven = max(proven, codec.decode_event(line).proves_synced)
    return proven


def _refuse_by_table(damage: Damage, proven: int) -> None:
    if damage.unended:
        return
    if not damage.holes:
        raise corrupt(damage)
    if proven >= damage.first_lost:
        raise corrupt(damage, f"; a later line proves that event {proven} had reached the disk")


def missing_end(segment: Segment, synced_seq: int) -> Corrupt:
    """Make the error for acknowledged events that are gone at the end (I3).

    It names the first bad line of the last segment, or where good lines end: there may be some of
    an append whose last part is missing.
    """
    end, damage = segment.start, None
    for piece in sift(segment, segment.start, segment.size()):
        if isinstance(piece, Damage):
            damage = piece
            break
        end = piece.after
    note = (
        f"; event {synced_seq} was known to be on disk, as witness.json or a name in snapshots/ "
        f"shows, and good lines end at event {end.seq}"
    )
    if damage is not None:
        return corrupt(damage, note)
    return Corrupt(
        f"{plural.are(min(end.seq + 1, synced_seq), synced_seq)} missing at the end{note}",
        path=segment.path,
        line=segment.count_lines(end.offset) + 1,
        offset=end.offset,
        seq=end.seq + 1,
        advice=REPAIR_ADVICE,
    )


def corrupt(damage: Damage, note: str = "") -> Corrupt:
    """Make the error that names this damage."""
    return Corrupt(
        f"{damage.why}{note}; lost here: {damage.loses}",
        path=damage.path,
        line=damage.line,
        offset=damage.offset,
        seq=damage.first_lost,
        advice=_PUT_BACK.get(damage.why, "") + REPAIR_ADVICE,
    )


def save(segment: Segment, verdict: Verdict, quarantine: Path, *, name: str) -> Path:
    """Save the torn bytes under `name` in quarantine, durably, before they are cut (I4)."""
    durable.make_folder(quarantine, own=True)
    torn = segment.read(verdict.end.offset, segment.size())
    saved = quarantine / name
    durable.write_file(saved, torn)
    return saved
