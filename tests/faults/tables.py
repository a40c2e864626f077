"""What came of a run, as tables: on the terminal, and in a page that keeps the newest counts.

    <!-- tried: quick -->        the table of the quick tier stands between these two lines
    <!-- end -->

I1  Every count is a run's own: a line of the page is replaced by the next run of its row, whole.
I2  What is skipped stands beside what was tried, with its reason.
"""

import re
from pathlib import Path
from typing import NamedTuple

from tests.faults.row import Outcome, Row, Skipped, Tier

_END = "<!-- end -->"
_HEAD = ("| row | what is done | tried | seconds |", "|---|---|---|---|")
_LINE = re.compile(r"\| ([0-9]+) \|")


class Line(NamedTuple):
    """One line: the row, what came of it (None: a law did not hold), and how long."""

    row: Row
    outcome: Outcome | None
    elapsed_s: float

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was not tried; nothing where a law did not hold, for then nobody knows."""
        return () if self.outcome is None else self.outcome.skipped

    def __str__(self) -> str:
        tried = "**a law did not hold**"
        if self.outcome is not None:
            tried = f"{self.outcome.count:,}"
            if self.skipped:
                tried += "; not " + ", ".join(one.what for one in self.skipped)
        return f"| {self.row.number} | {self.row.title} | {tried} | {self.elapsed_s:.0f} |"


def tell(lines: list[Line], tier: Tier) -> str:
    """Tell all of it: what was tried, what was skipped and why, and what the rows note."""
    found = [f"What was tried ({tier} tier)", "", *_HEAD, *map(str, lines)]
    total = sum(line.outcome.count for line in lines if line.outcome is not None)
    elapsed_s = sum(line.elapsed_s for line in lines)
    found += ["", f"{total:,} faults in {elapsed_s:.0f} s"]
    found += ["", *_tell_skipped(lines)]
    for line in lines:
        if line.outcome is not None and line.outcome.notes:
            found += ["", f"Row {line.row.number}, {line.row.title}:"]
            found += [f"- {note}" for note in line.outcome.notes]
    return "\n".join(found)


def _tell_skipped(lines: list[Line]) -> list[str]:
    skipped = [(line.row.number, one) for line in lines for one in line.skipped]
    if not skipped:
        return ["Nothing was skipped."]
    found = ["What was skipped", "", "| row | what | why |", "|---|---|---|"]
    return found + [f"| {number} | {one.what} | {one.why} |" for number, one in skipped]


def keep(page: Path, lines: list[Line], tier: Tier) -> None:
    """Put the lines into the tier's table of a page (I1).

    A page that is not there is made; one without the place for the table raises `ValueError`.
    """
    start = f"<!-- tried: {tier} -->"
    text = page.read_text() if page.exists() else f"{start}\n{_END}\n"
    before, found, rest = text.partition(start + "\n")
    old, ended, after = rest.partition(_END)
    if not (found and ended):
        raise ValueError(f"{page} has no lines {start} and {_END}")
    table = {int(m[1]): line for line in old.splitlines() if (m := _LINE.match(line))}
    table |= {line.row.number: str(line) for line in lines}
    body = [*_HEAD, *(table[number] for number in sorted(table))]
    page.write_text(before + found + "\n".join(body) + "\n" + _END + after)
