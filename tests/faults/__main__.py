"""`python -m tests.faults [--full] [--rows 1,2,15] [--markdown FILE]`: run the rows, tell it all.

It installs nothing. Exit code 1 where a law did not hold, or where something was skipped that
could have run here: nothing is lacking for it, or, with CI set, only a program.
"""

import argparse
import os
import sys
import time
import traceback
from pathlib import Path

from tests.faults.row import Row, Tier, Violation, find_rows
from tests.faults.tables import Line, keep, tell


def main(arguments: list[str]) -> int:
    """Run the rows that were asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--full", action="store_true", help="the full tier: hours, not minutes")
    parser.add_argument("--rows", help="numbers of rows with commas, as in 1,2,15 (default: all)")
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="put the table of what was tried into this page, between its marks",
    )
    asked = parser.parse_args(arguments)
    tier: Tier = "full" if asked.full else "quick"
    rows = find_rows()
    if asked.rows:
        wanted = {int(number) for number in asked.rows.split(",")}
        if unknown := wanted - {row.number for row in rows}:
            parser.error(f"no such row: {sorted(unknown)}")
        rows = [row for row in rows if row.number in wanted]
    lines = [_run(row, tier) for row in rows]
    print(tell(lines, tier), flush=True)
    code = judge(lines, in_ci=bool(os.environ.get("CI")))
    if asked.markdown and not code:
        keep(asked.markdown, lines, tier)
    return code


def judge(lines: list[Line], *, in_ci: bool) -> int:
    """Return the exit code, and say why it is not 0."""
    code = 0
    for line in lines:
        if line.outcome is None:
            code = 1
        for one in line.skipped:
            if one.lacking == "nothing" or (in_ci and one.lacking == "tool"):
                what = f"row {line.row.number}, {one.what}"
                print(f"{what} was skipped and could have run: {one.why}", file=sys.stderr)
                code = 1
    return code


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
