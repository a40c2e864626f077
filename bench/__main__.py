"""`python -m bench`: run the measures, print the table, fail on a broken ratio or a wrong state."""

import argparse
import sys
import tempfile
from pathlib import Path

import bench
from bench import machine, markdown, pictures, table
from bench.measures import MEASURES, Measure
from bench.running import Runner


def main() -> int:
    """Run what is asked for; 1 where a ratio is worse than its guard by more than half."""
    asked = _arguments().parse_args()
    known = {measure.name: measure for measure in MEASURES}
    if asked.list:
        for measure in MEASURES:
            print(f"{measure.name:<18} {measure.title}")
        return 0
    for name in asked.only:
        if name not in known:
            print(f"there is no measure {name!r}; known: {', '.join(known)}", file=sys.stderr)
            return 2
    lines = []
    with tempfile.TemporaryDirectory(prefix="bench-", dir=asked.folder) as work:
        runner = Runner(Path(work), quick=asked.quick, rounds=asked.rounds)
        for measure in MEASURES:
            if _is_asked(measure, asked):
                line = runner.run(measure)
                print(table.text(line), end="\n\n", flush=True)
                lines.append(line)
    about = machine.describe(quick=asked.quick, argv=sys.argv[1:])
    if asked.json:
        table.write_json(lines, about, Path(asked.json))
    if asked.svg:
        pictures.write(lines, Path(asked.svg))
    if asked.markdown:
        Path(asked.markdown).write_text(markdown.render(lines, about), encoding="utf-8")
    print(table.summary(lines))
    return 1 if any(line.failed or any(one.broken for one in line.judged) for line in lines) else 0


def _is_asked(measure: Measure, asked: argparse.Namespace) -> bool:
    if asked.only:
        return measure.name in asked.only
    if asked.long:
        return measure.long
    return asked.full or not measure.long


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=bench.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, under two minutes")
    parser.add_argument("--full", action="store_true", help="ten million events as well")
    parser.add_argument("--long", action="store_true", help="only those with ten million events")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these measures")
    parser.add_argument("--list", action="store_true", help="say what is measured, and stop")
    parser.add_argument("--rounds", type=int, default=0, help="else as many as a measure wants")
    parser.add_argument("--json", metavar="FILE", help="write every result there")
    parser.add_argument("--svg", metavar="FOLDER", help="write pictures there")
    parser.add_argument("--markdown", metavar="FILE", help="write the table of the README there")
    parser.add_argument("--folder", help="where to work: a folder on the disk to be measured")
    return parser


if __name__ == "__main__":
    sys.exit(main())
