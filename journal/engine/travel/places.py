"""Names for places in a history: a seq, `head`, `head~3`, a time, how long ago, a checkpoint.

I1  Only digits are a seq. A time without a zone is UTC, and the last event by then counts. All
    else is a checkpoint: by its file name, its trigger or its type; of several the newest.
I2  What can be told from the text alone reads no file.
"""

import contextlib
import re

from journal import codec, plural
from journal.engine.core import Core
from journal.errors import Corrupt, UsageError
from journal.event import CHECKPOINT, facts, not_before, read_time
from snapshots import snapshot
from snapshots.store import Entry

_HEAD = re.compile(r"head(?:~([0-9]{1,19}))?")


def find_seq(core: Core, place: int | str) -> int:
    """Return the seq that `place` names; raises `UsageError` for what names none."""
    last = core.history.tail.seq
    if isinstance(place, int) and not isinstance(place, bool):
        return check_seq(place, last)
    text = str(place).strip()
    if text.isascii() and text.isdecimal():
        return check_seq(int(text[:20]), last)
    if head := _HEAD.fullmatch(text):
        return _count_back(int(head[1] or 0), last)
    with contextlib.suppress(UsageError):
        return core.history.find_time(
            read_time(text, not_before(core.history.tail.time, core.clock))
        )
    checkpoint = _find_checkpoint(core, text)
    if checkpoint is None:
        raise UsageError(
            f"{text!r} is no place in the history",
            key="place",
            advice="Give a seq, head, head~3, the name of a checkpoint, a time like "
            "2026-03-01T14:45:00Z, or how long ago: '2 hours ago'.",
        )
    return check_seq(checkpoint, last)


def _count_back(events: int, last: int) -> int:
    if events <= last:
        return last - events
    raise UsageError(
        f"head~{events} lies before the beginning: history has only {plural.count(last, 'event')} "
        f"(head~{last} is before the first)",
        key="seq",
    )


def check_seq(seq: int, last: int) -> int:
    """Return `seq`; raises `UsageError` where there is no such event and it is not 0."""
    if 0 <= seq <= last:
        return seq
    raise UsageError(
        f"there is no event {codec.show(seq)}: history is from 1 to {last} (0 is before the first)",
        key="seq",
    )


def _find_checkpoint(core: Core, text: str) -> int | None:
    newest_first = core.store.list()[::-1]
    for entry in newest_first:
        if text == entry.name or (entry.type != snapshot.AUTO and text == _trigger(core, entry)):
            return entry.seq
    found = next((entry.seq for entry in newest_first if entry.type == text), None)
    return found if found is not None else _find_recorded(core, text)


def _find_recorded(core: Core, text: str) -> int | None:
    """Find a checkpoint whose file is gone by the event that records it."""
    found = None
    for block in core.history.blocks(0, core.history.tail.seq):
        if b'"journal.checkpoint"' in block.data:
            for event in codec.decode_events(block.data):
                if event.type == CHECKPOINT:
                    data = facts(event)
                    names = (data.get("file"), data.get("trigger"), data.get("type"))
                    found = data.get("seq", found) if text in names else found
    return found


def _trigger(core: Core, entry: Entry) -> str:
    with contextlib.suppress(Corrupt, OSError):
        return snapshot.read_header(core.store.folder / entry.name).trigger
    return ""
