"""CSV: a line of names, then a line an event.

    seq,time,type,actor,id,cause,data
    7,2026-03-01T14:45:00.000Z,set,planner,k-1,,"{""path"":""/phase"",""value"":""plan""}"

I1  UTF-8 without a BOM, LF at the end of a line, quoted as RFC 4180 has it. What an event does not
    have is an empty field. Line breaks stand inside quotes only, where an actor or an id has some.
"""

import csv
from typing import TYPE_CHECKING, BinaryIO

from journal.engine.exporting.columns import NAMES, row_of

if TYPE_CHECKING:
    from journal.engine.engine import Engine


def write(engine: "Engine", out: BinaryIO, *, after: int = 0, upto: int | None = None) -> int:
    """Write the events after `after` up to and with `upto` as CSV; return how many.

    Raises `Corrupt` at the end, after all good events, where some are damaged.
    """
    rows = csv.writer(_Encoded(out), lineterminator="\n")
    rows.writerow(NAMES)
    count = 0
    for event in engine.events(after, upto):
        rows.writerow(row_of(event))
        count += 1
    return count


class _Encoded:
    """What a csv writer writes its lines to: `out`, as UTF-8."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        """Write text."""
        return self._out.write(text.encode())
