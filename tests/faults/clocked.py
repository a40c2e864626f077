"""Processes whose machine says another date: the command line under a clock of the C library's.

Each process does one `Act` of a life in one working folder: a journal, an import, a loop, a run of
a pipeline, a plan. Between processes the clock jumps, and so may the times of all files.

I1  Nothing crashes: every command ends with a code of the tree, and those of the journal with 0.
I2  Whatever the clocks say, the log is 1, 2, 3 …, its times never go back, the state is what was
    appended, and the fold from nothing gives the same.
I3  A clock that is far behind is told by the process that appends.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import journal
from journal import config as configs
from journal.config import SnapshotsConfig
from journal.event import parse_time, time_to_ms
from tests.faults import systems
from tests.faults.aging import MOMENTS_S, set_times
from tests.faults.commanding import Exited, run_command
from tests.faults.row import Violation
from tests.faults.systems import AGLOOP, PIPELINE, PLAN, Verb, verb

YEAR_MS = 365 * 86_400_000
DAY_MS = 86_400_000
_BEHIND = "over a day before the last event"
_TIMEOUT_S = 60.0
_ROOT = Path(__file__).parents[2]

Clock = str
"""What `shim.c` takes: +MS or -MS beside the machine's clock, =MS stands still."""

BACK, ON, NOW = f"-{10 * YEAR_MS}", f"+{10 * YEAR_MS}", "+0"
LIVES: Mapping[str, tuple[Clock, Clock, Clock]] = {
    "ten years back, from the second process on": (NOW, BACK, BACK),
    "ten years on, and back": (NOW, ON, NOW),
    "frozen": ("=1772376300000",) * 3,
    "always ten years back": (BACK,) * 3,
    "always ten years on": (ON,) * 3,
    "1970, and now": ("=0", NOW, "=0"),
    "before 1970": ("=-1500",) * 3,
    "the end of 32 bits": ("=2147483647999", "=2147483648000", "=-2147483649000"),
    "the end of 32 bits without a sign": ("=4294967295999", "=4294967296000", NOW),
    "the year 2261": ("=9214646400000", NOW, "=9214646400000"),
}
"""The first are the quick tier's."""


def jumping(seed: int) -> tuple[Clock, Clock, Clock]:
    """Return clocks within a century of the machine's."""
    rng = random.Random(seed)
    first, second, third = (f"{rng.randrange(-50 * YEAR_MS, 50 * YEAR_MS):+d}" for _ in range(3))
    return first, second, third


class Done(NamedTuple):
    """A command, its exit code, and all that it said."""

    words: str
    code: int
    said: str


def set_to(number: int) -> Verb:
    """Return the append of a number."""
    data = json.dumps({"path": "/n", "value": number})
    return Verb(("append", "set", data, "-d", "run", "--id", f"n{number}"))


def acts(number: int) -> list[Verb]:
    """Return the commands of one of the three processes."""
    batch = b"".join(
        b'{"type":"set","data":{"path":"/m","value":%d},"actor":"clocked"}\n' % n for n in range(12)
    )
    looks = [
        verb("log -d run"),
        Verb(("log", "-d", "run", "--since", "2 hours ago")),
        Verb(("state", "-d", "run", "--at", "now")),
        verb("state -d run"),
        verb("verify -d run"),
        verb("status -d run"),
        verb("doctor run"),
        verb("checkpoints -d run"),
        verb("audit -d run"),
    ]
    writes = [
        *(set_to(3 * number + n) for n in range(3)),
        Verb(("append", "--batch", "-", "-d", "run"), batch),
        verb("checkpoint -d run"),
    ]
    if number == 0:
        begin = [*AGLOOP.begin, *PIPELINE.begin, *PLAN.begin]
        return [*begin, *writes, *looks, verb("import file phases.json -d imported")]
    if number == 1:
        further = [
            *(verb("agloop plan adopt"), verb("agloop phase critique"), verb("agloop status")),
            *(verb("agloop hook session-start", {}), verb("agloop hook stop", {})),
            *(verb("agloop checkpoint pre-compact"), verb("agloop checkpoints")),
            *(verb("pipeline list"), verb(f"pipeline resume {systems.RUN} --choose resume")),
            *(verb(f"pipeline done {systems.RUN} 0"), verb(f"pipeline beat {systems.RUN}")),
            *(verb("plan audit --plans-dir plans"), verb("plan phase feed 1 --plans-dir plans")),
            *(verb("verify -d imported"), verb("import file profile.json -d imported-2")),
        ]
        return [*writes, *looks, *further]
    further = [
        *(set_to(9), verb("rebuild -d run"), verb("fork other -d run")),
        *(verb("verify -d other"), verb("export -d run")),
        *(verb("agloop reset"), verb("agloop recover"), verb("agloop log -n 3")),
        *(verb(f"pipeline status {systems.RUN}"), verb("pipeline list")),
        *(verb(f"pipeline escalate {systems.RUN} --reason x"), verb("plan list --plans-dir plans")),
        *(verb("plan resume feed --choose fresh --plans-dir plans"),),
        *(verb("plan audit --mark-abandoned --plans-dir plans"),),
    ]
    return [verb("restore 3 -d run"), *writes, *further, *looks]


_MAY_REFUSE = ("agloop", "pipeline", "plan")


def live(work: Path, library: Path, name: str, clocks: tuple[Clock, ...], seed: int) -> int:
    """Live once by the clocks, one a process; return how many commands ran. Raises `Violation`."""
    plan = random.Random(seed)
    work.mkdir()
    systems.put(work, {**PIPELINE.given, **PLAN.given})
    count = 0
    for number, clock in enumerate(clocks):
        where = f"clock {name}, process {number + 1} at {clock}"
        newest_ms = -sys.maxsize
        if number:
            set_times(work, plan.choice(list(MOMENTS_S.values())))
            with journal.open(work / "run", read_only=True) as engine:
                newest_ms = time_to_ms(engine.time)
        done = run_process(work, library, clock, number)
        count += len(done)
        for one in done:
            _check_done(one, where)
        _check_journal(work / "run", where, number=9 if number == 2 else 3 * number + 2)
        told = any(_BEHIND in one.said for one in done if one.words.startswith("append"))
        if told != (behind := now_by(clock) < newest_ms - DAY_MS):
            raise Violation(f"{where}: it is {behind=}, and {told=} (I3)")
    return count


def now_by(clock: Clock) -> int:
    """Return what a clock says now, in milliseconds since 1970."""
    return int(clock[1:]) if clock[0] == "=" else time.time_ns() // 1_000_000 + int(clock)


def run_process(work: Path, library: Path, clock: Clock, number: int) -> list[Done]:
    """Run the commands of one process by a clock."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.clocked", str(work), str(number)],
        env={
            **os.environ,
            "LD_PRELOAD": str(library),
            "CLOCK": clock,
            "PYTHONPATH": str(_ROOT),
            "NO_COLOR": "1",
        },
        capture_output=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    if done.returncode:
        raise Violation(f"at {clock} the process ended: {done.stderr.decode(errors='replace')}")
    return [Done(*json.loads(line)) for line in done.stdout.splitlines()]


def _check_done(done: Done, where: str) -> None:
    said = f"{where}: {done.words}: exit {done.code}: {done.said[:600]}"
    if "fault in journal itself" in done.said or not 0 <= done.code < 8:
        raise Violation(f"{said} (I1)")
    if done.code and not done.words.startswith(_MAY_REFUSE):
        raise Violation(f"{said} (I1)")


def _check_journal(path: Path, where: str, *, number: int) -> None:
    """Check the log and the state (I2)."""
    with journal.open(path, read_only=True, on_drift="refuse") as engine:
        events = list(engine.events())
        if [event.seq for event in events] != list(range(1, len(events) + 1)):
            raise Violation(f"{where}: the seqs are not 1, 2, 3 … (I2)")
        times = [event.time for event in events]
        if times != sorted(times) or any(parse_time(time) != time for time in times):
            raise Violation(f"{where}: the times are {times} (I2)")
        wanted = {"n": number, "m": 11}
        if engine.state != wanted or engine.replay() != wanted:
            raise Violation(f"{where}: the state is {engine.state}, not {wanted} (I2)")
        if not (report := engine.verify()).ok:
            raise Violation(f"{where}: {report.problems} (I2)")


def _run(work: Path, number: int) -> Iterator[tuple[Any, ...]]:
    os.chdir(work)
    if not number:
        yield "init run", 0, run_command(["init", "run"])
        settings = configs.read(work / "run")
        settings.segment_bytes, settings.snapshots = 2500, SnapshotsConfig(min_bytes=400, keep=4)
        configs.write(work / "run", settings)
    for one in acts(number):
        try:
            yield str(one), 0, run_command(list(one.words), one.stdin)
        except Exited as error:
            yield str(one), error.code, error.words


if __name__ == "__main__":
    for line in _run(Path(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(line), flush=True)
