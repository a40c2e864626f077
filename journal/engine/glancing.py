"""A glance at segments that nobody reads: both ends of each, and its size.

    first line     whole, and it names the segment before it
    last line      whole, and the event before the next segment's first
    size           the one that the segment had when it was closed (`journal.keys` notes it)

I1  It costs a few short reads a segment, however long the history, and one of the newest segments
    as far as they are small: a short log is checked whole.
I2  What it tells is damage; what it does not tell may be damaged all the same, between the ends:
    only `verify` reads every byte.
"""

import os
from typing import Any, NamedTuple, cast

from journal import keys, plural
from journal.errors import Corrupt
from journal.event import ROTATED, facts
from journal.log.history import History
from journal.recovery import corrupt
from journal.segment import Segment, is_name
from journal.sifting import Damage, sift

_WHOLE_BYTES = 1 << 20


class Glance(NamedTuple):
    """What is wrong, in the order of the log; every byte behind event `read_after` was read."""

    problems: list[str]
    read_after: int


def glance(history: History) -> Glance:
    """Look at the ends of every segment, and at all of the newest ones if they are small (I1)."""
    found: list[str] = []
    names = history.names
    whole = _small(history)
    first = int(names[0][:20])
    if first > 1:
        found.append(f"{history.folder}: {plural.are(1, first - 1)} missing at the start")
    for number, name in enumerate(names):
        before = names[number - 1] if number else ""
        after = int(names[number + 1][:20]) if number + 1 < len(names) else 0
        try:
            with Segment(history.folder / name) as segment:
                ends = _look(segment, before, after)
                if not ends and number >= len(names) - whole:
                    ends = _read(segment, history.size_of(segment))
                found += ends
        except OSError as error:
            found.append(f"{history.folder / name}: {error.strerror or error}")
    read_after = int(names[-whole][:20]) - 1 if whole else history.tail.seq
    return Glance(found, read_after)


def _read(segment: Segment, size: int) -> list[str]:
    """Return the first damage in a segment up to `size`, told by the crc of its lines."""
    for piece in sift(segment, segment.start, size, numbered=False):
        if isinstance(piece, Damage):
            return [corrupt(piece).message]
    return []


def _small(history: History) -> int:
    """Return how many of the newest segments are read whole (I1)."""
    left = _WHOLE_BYTES
    for number, name in enumerate(reversed(history.names)):
        try:
            left -= os.stat(history.folder / name, follow_symlinks=False).st_size
        except OSError:
            return number
        if left < 0:
            return number
    return len(history.names)


def _look(segment: Segment, before: str, after: int) -> list[str]:
    """Return what is wrong with one segment between the one `before` and event `after`."""
    found: list[str] = []
    try:
        header = segment.header()
    except Corrupt as error:
        return [error.message]
    previous: Any = facts(header).get("previous") if header.type == ROTATED else None
    named = (
        str(cast("dict[str, Any]", previous).get("segment")) if isinstance(previous, dict) else ""
    )
    if before and named != before:
        shown = named if is_name(named) else "none"
        found.append(f"{segment.path}: its first line names {shown} as the one before it")
    if not after:
        return found  # The end of the log is read at every opening.
    size = segment.size()
    noted = keys.noted_size(segment.path)
    if noted not in (None, size):
        found.append(f"{segment.path}: it has {size:,} bytes, and had {noted:,} when it was closed")
    ends = segment.last_line_end(0, size) == size
    place = segment.position_after(size) if ends else None
    if place is None:
        found.append(f"{segment.path}: its last line is not whole")
    elif place.seq + 1 != after:
        found.append(
            f"{segment.path}: it ends at event {place.seq}, and the next segment starts at event "
            f"{after}"
        )
    return found
