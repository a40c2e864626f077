"""`python -m tests.faults [--full] [--rows 1,2,15]`: run the rows, print what was tried.

Exit code 1 where a law did not hold, or where a row was skipped that could have run here.
"""

import argparse
import sys
import time
import traceback
from typing import NamedTuple

from tests.faults.row import Outcome, Row, Tier, Violation, find_rows


class Line(NamedTuple):
    """One line of the table: the row, what came of it (None: a law did not hold), and how long."""

    row: Row
    outcome: Outcome | None
    elapsed_s: float


def main(arguments: list[str]) -> int:
    """Run the rows that were asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--full", action="store_true", help="the full tier: hours, not minutes")
    parser.add_argument("--rows", help="numbers of rows with commas, as in 1,2,15 (default: all)")
    asked = parser.parse_args(arguments)
    tier: Tier = "full" if asked.full else "quick"
    rows = find_rows()
    if asked.rows:
        wanted = {int(number) for number in asked.rows.split(",")}
        if unknown := wanted - {row.number for row in rows}:
            parser.error(f"no such row: {sorted(unknown)}")
        rows = [row for row in rows if row.number in wanted]
    lines = [_run(row, tier) for row in rows]
    print(_table(lines, tier), flush=True)
    return int(any(line.outcome is None or line.outcome.must_run for line in lines))


def _run(row: Row, tier: Tier) -> Line:
    print(f"row {row.number}: {row.title} …", file=sys.stderr, flush=True)
    start = time.monotonic()
    outcome = None
    try:
        outcome = row.run(tier)
    except Violation as violation:
        print(f"row {row.number}: {violation}", file=sys.stderr, flush=True)
    except Exception:  # noqa: BLE001 - a row that breaks must not hide what the others find
        traceback.print_exc()
    return Line(row, outcome, time.monotonic() - start)


def _table(lines: list[Line], tier: Tier) -> str:
    found = [f"What was tried ({tier} tier)", "", "| row | what is done | tried | seconds |"]
    found.append("|---|---|---|---|")
    for row, outcome, elapsed_s in lines:
        tried = "**a law did not hold**"
        if outcome is not None:
            tried = f"skipped: {outcome.skipped}" if outcome.skipped else f"{outcome.count:,}"
            if outcome.must_run:
                tried = f"**{tried}**"
        found.append(f"| {row.number} | {row.title} | {tried} | {elapsed_s:.0f} |")
    for row, outcome, _ in lines:
        if outcome is not None and outcome.notes:
            found += ["", f"Row {row.number}, {row.title}:"]
            found += [f"- {note}" for note in outcome.notes]
    return "\n".join(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
