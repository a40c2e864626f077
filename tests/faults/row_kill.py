"""Row 5: a writer is killed at random moments, again and again, and the next one goes on.

It is also killed at each system call of a shorter run, before it and in the middle of a write.
Laws, after every kill: those of `tests.faults.counting`; the lock is free at once; opening needs
no hand and says no drift; nothing temporary is left behind; the view shows the log.
"""

import random
import shutil
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import journal
from journal.config import Durability
from tests.faults.counting import Habits, Tally, count_on, make_journal
from tests.faults.faultpoint import KILLED, KILLED_HALFWAY, FaultPoint
from tests.faults.process import Process, Say
from tests.faults.row import Outcome, Row, Tier, Violation
from tests.faults.tree import memory_folder

KILLS = {"quick": 200, "full": 5000}
KILLS_PER_JOURNAL = 50
_APPENDS = 14
_DURABILITIES: tuple[Durability, ...] = ("always", "batch", "os")


class Reopened(NamedTuple):
    """One opening after a kill: how long it took, over how many events, and what it recovered."""

    elapsed_s: float
    events: int
    torn: bool


def run(tier: Tier) -> Outcome:
    """Kill a writer so many times, on a few journals of different settings."""
    plan = random.Random(5)
    kills, numbers, extra = KILLS[tier], 0, 0
    reopened: list[Reopened] = []
    with memory_folder() as folder:
        for number in range(-(-kills // KILLS_PER_JOURNAL)):
            count = min(KILLS_PER_JOURNAL, kills - number * KILLS_PER_JOURNAL)
            tally, found = kill_often(folder / str(number), count, plan)
            reopened += found
            numbers += tally.found
            extra += tally.extra
        at_calls = kill_at_each_call(folder / "calls")
        measured = _measure(folder / "long")
    slowest = max(reopened)
    torn = sum(one.torn for one in reopened)
    return Outcome(
        kills + at_calls,
        notes=(
            f"{kills:,} kills at random moments, {at_calls} at each system call of a run",
            f"{numbers:,} numbers counted, {extra} of them in the log without an answer, "
            f"{torn} torn tails; slowest opening {slowest.elapsed_s * 1000:.0f} ms "
            f"over {slowest.events:,} events",
            measured,
        ),
    )


def kill_often(path: Path, kills: int, plan: random.Random) -> tuple[Tally, list[Reopened]]:
    """Make a journal and kill its writer so many times; check the laws each time."""
    every_ms = plan.choice((0, 0, 5))
    make_journal(path, views_every_ms=every_ms, segment_bytes=plan.choice((2, 16, 256)) << 10)
    tally, reopened = Tally(), []
    for _ in range(kills):
        durability = plan.choice(_DURABILITIES)
        habits = Habits(plan.randrange(2**32), durability, plan.choice((300, 3000, 300_000)))
        with Process(partial(count_on, path, habits)) as writer:
            writer.read_until(plan.choice((0, 1, plan.randrange(2, 40))))
            time.sleep(plan.random() * 0.004)
            tally.hear(writer.kill())
        reopened.append(_reopen(path, tally))
    with journal.open(path) as engine:
        report = engine.verify()
        if not report.ok:
            raise Violation(f"after {kills} kills verify finds {report.problems}")
    return tally, reopened


def kill_at_each_call(folder: Path) -> int:
    """Kill a writer at each of its system calls; return how many kills that were."""
    habits = Habits(seed=1, pad_bytes=300)

    def prepare(name: str) -> Path:
        path = folder / name
        make_journal(path, segment_bytes=1500)
        return path

    path = prepare("whole")
    with FaultPoint(path) as point:
        count_on(path, habits, lambda _: None, appends=_APPENDS)
    kills = [(number, KILLED) for number in range(1, len(point.calls) + 1)]
    kills += [
        (number, KILLED_HALFWAY)
        for number, call in enumerate(point.calls, 1)
        if call.name in ("pwrite", "write")
    ]
    for number, how in kills:
        path = prepare(f"{number}{how}")
        with Process(_killed_at(path, habits, number, how)) as writer:
            writer.read_until(sys.maxsize)
            tally = Tally()
            tally.hear(writer.kill())
        try:
            _reopen(path, tally)
        except (Violation, journal.JournalError, OSError) as error:
            call = point.calls[number - 1]
            raise Violation(
                f"killed at call {number} ({call.name} {call.path}): {error}"
            ) from error
        shutil.rmtree(path)
    return len(kills)


def _killed_at(path: Path, habits: Habits, number: int, how: int) -> Callable[[Say], None]:
    def count(say: Say) -> None:
        with FaultPoint(path, {number: how}):
            count_on(path, habits, say, appends=_APPENDS)

    return count


def _reopen(path: Path, tally: Tally) -> Reopened:
    began = time.monotonic()
    with journal.open(path, lock_timeout_s=0.0) as engine:
        elapsed_s = time.monotonic() - began
        tally.check(engine)
        tally.check_view(path)
        torn = any("no whole append" in message for message in engine.messages)
        strange = [m for m in engine.messages if "somebody else" in m]
        if strange:
            raise Violation(f"a kill looks like somebody else's change: {strange}")
        left = sorted(str(p.relative_to(path)) for p in path.rglob("*.journal-tmp"))
        if left:
            raise Violation(f"left behind by a kill and not removed by opening: {left}")
        return Reopened(elapsed_s, engine.seq, torn)


def _measure(path: Path) -> str:
    """Measure how long opening takes after a kill, with 100,000 events, and without snapshots."""
    count, size = 100_000, 1000
    journal.init(path, durability="os").close()

    def write(say: Say) -> None:
        with journal.open(path) as engine:
            for first in range(1, count, size):
                numbers = range(first, first + size)
                engine.append_batch(("set", {"path": "/n", "value": n}) for n in numbers)
            say("done")
            time.sleep(60)

    with Process(write) as writer:
        writer.read_until(1)
        writer.kill()
    elapsed = []
    for remove in (False, True):
        if remove:
            for file in (path / "snapshots").iterdir():
                file.unlink()
            (path / "state.json").unlink()
            (path / "witness.json").unlink()
        began = time.monotonic()
        with journal.open(path, lock_timeout_s=0.0) as engine:
            elapsed.append(time.monotonic() - began)
            if engine.state != {"n": count}:
                raise Violation(f"{count} numbers were counted, the state is {engine.state}")
    return (
        f"opening after a kill, {count:,} events: {elapsed[0] * 1000:.0f} ms; "
        f"without snapshots, view and witness: {elapsed[1] * 1000:.0f} ms"
    )


ROW = Row(5, "kill -9 of a writing process at a random moment", run)
