"""`python -m bench`: run the measures, print the table, and fail only on a broken ratio."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from bench import table, workload
from bench.measures import MEASURES, Measure

_IDLE_SHARE = 0.8
_ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run what is asked for; 1 where a ratio is worse than wanted by more than half."""
    asked = _arguments()
    known = {measure.name: measure for measure in MEASURES}
    for name in asked.only:
        if name not in known:
            print(f"there is no measure {name!r}; known: {', '.join(known)}", file=sys.stderr)
            return 2
    chosen = [measure for measure in MEASURES if not asked.only or measure.name in asked.only]
    with tempfile.TemporaryDirectory(prefix="bench-", dir=asked.folder) as work:
        bench = _Bench(Path(work), quick=asked.quick, rounds=asked.rounds)
        lines = []
        for measure in chosen:
            line = bench.run(measure)
            print(table.text(line), end="\n\n", flush=True)
            lines.append(line)
    if asked.json:
        Path(asked.json).write_bytes(msgspec.json.format(msgspec.json.encode(lines)))
    if asked.svg:
        table.write_pictures(lines, Path(asked.svg))
    broken = [one for line in lines if not line.busy for one in line.judged if one.broken]
    judged = sum(len(line.judged) for line in lines)
    met = sum(one.met for line in lines for one in line.judged)
    print(f"{met} of {judged} wanted ratios met, {len(broken)} broken by more than half")
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, one round")
    parser.add_argument("--only", nargs="*", default=[], help="names of measures")
    parser.add_argument("--rounds", type=int, default=0, help="default: 5, quick 2")
    parser.add_argument("--json", help="write every result to this file")
    parser.add_argument("--svg", help="write pictures to this folder")
    parser.add_argument("--folder", help="where to work: a folder on the disk to be measured")
    return parser.parse_args()


class _Bench:
    """Runs measures; histories are made once for each system and size."""

    def __init__(self, work: Path, *, quick: bool, rounds: int) -> None:
        self._work = work
        self._quick = quick
        self._rounds = rounds or (2 if quick else 5)
        self._wait_s = 2 if quick else 60
        self._digests: dict[int, str] = {}
        self._number = 0

    def run(self, measure: Measure) -> table.Line:
        """Run every system in turn, round by round."""
        parameters = measure.quick if self._quick else measure.full
        rounds: list[table.Round] = []
        busy = False
        for _ in range(self._rounds):
            found: table.Round = {}
            for name, own in measure.systems.items():
                busy = not self._wait_for_idle() or busy
                found[name] = self._measure(measure, name, {**parameters, **own})
            rounds.append(found)
        return table.make_line(measure, rounds, busy=busy, parameters=parameters)

    def _measure(self, measure: Measure, name: str, given: dict[str, Any]) -> dict[str, Any]:
        system = name.split(" ", 1)[0]
        if not measure.history:
            self._number += 1
            folder = self._work / f"run-{self._number}"
            try:
                return _work(measure.job, system, given, folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        folder = self._work / f"{system}-{given['events']}"
        if not folder.exists():
            filled = _work("fill", system, {"events": given["events"]}, folder)
            if "missing" in filled:
                return filled
        return _work(measure.job, system, {**given, "digest": self._digest(given)}, folder)

    def _digest(self, given: dict[str, Any]) -> str:
        count = given["events"]
        if count not in self._digests:
            self._digests[count] = workload.reference(count)
        return self._digests[count]

    def _wait_for_idle(self) -> bool:
        """Wait until a core has been idle for a moment; say whether one was."""
        deadline = time.monotonic() + self._wait_s
        while True:
            before = _idle_ticks()
            time.sleep(0.1)
            idle = (_idle_ticks() - before) / os.sysconf("SC_CLK_TCK") / 0.1
            if idle >= _IDLE_SHARE:
                return True
            if time.monotonic() > deadline:
                return False


def _idle_ticks() -> int:
    try:
        return int(Path("/proc/stat").read_text().split(None, 5)[4])
    except OSError:  # not Linux: taken as idle
        return int(time.monotonic() * os.sysconf("SC_CLK_TCK"))


def _work(job: str, system: str, given: dict[str, Any], folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.worker", job, system, json.dumps(given), str(folder)],
        stdout=subprocess.PIPE,
        cwd=_ROOT,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{job} of {system} failed; what it said stands above")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    sys.exit(main())
