"""CSV: a line of names, then a line an event.

    seq,time,type,actor,id,cause,data
    7,2026-03-01T14:45:00.000Z,set,planner,k-1,,"{""path"":""/phase"",""value"":""plan""}"

I1  UTF-8 without a BOM, LF at the end of a line, quoted as RFC 4180 has it. What an event does not
    have is an empty field. Line breaks stand inside quotes only, where an actor or an id has some.
"""

import csv
import io
from typing import TYPE_CHECKING, BinaryIO

from journal.engine.exporting.columns import NAMES, row_of

if TYPE_CHECKING:
    from journal.engine.engine import Engine


def write(engine: "Engine", out: BinaryIO, *, after: int = 0, upto: int | None = None) -> int:
    """Write the events after `after` up to and with `upto` as CSV; return how many.

    Raises `Corrupt` at the end, after all good events, where some are damaged.
    """
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=False)
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(NAMES)
    count = 0
    try:
        for event in engine.events(after, upto):
            rows.writerow(row_of(event))
            count += 1
    finally:
        text.detach()  # flushes, and leaves `out` open
    return count
