"""Row 4: each system call of a journal's life fails once, with each errno, and writes are short.

The laws are those of `tests.faults.life`. The full tier lets two calls fail, too: the second one
soon after the first, where the first is being dealt with, or anywhere. Some faults come from
outside, from the C library of a process of its own.
"""

import errno
import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from projections.document.projection import PROJECTION as DOCUMENT
from projections.projection import Projection
from tests.faults import diary, shimmed
from tests.faults.faultpoint import ERRNOS, Call
from tests.faults.life import Life
from tests.faults.process import Process, Say
from tests.faults.quick import settings_parsed_once
from tests.faults.row import Lacking, Outcome, Row, Skipped, Tier, Violation
from tests.faults.tree import clear, memory_folder

PROJECTIONS = (DOCUMENT, diary.PROJECTION)
FROM_OUTSIDE = {"quick": 2, "full": 1000}
PAIRS = {"quick": 400, "full": 60_000}
_NEAR_CALLS = 10
_LONGEST_S = 48 * 3600.0


def run(tier: Tier) -> Outcome:
    """Live once for each call and errno, then for some pairs; the projections side by side."""
    count, notes = 0, []
    skipped: list[Skipped] = []
    with memory_folder() as folder:
        with ExitStack() as started:
            living = [
                started.enter_context(Process(_living(folder / str(n), projection, tier)))
                for n, projection in enumerate(PROJECTIONS)
            ]
            for process in living:
                tried, note = process.join(_LONGEST_S)
                count += int(tried)
                notes.append(note)
        library = shimmed.build(folder)
        if library is None:
            lacking: Lacking = "right" if os.geteuid() else "tool"  # who may install one?
            skipped.append(Skipped("from outside", "there is no C compiler", lacking))
        else:
            found = shimmed.fail_from_outside(folder, library, FROM_OUTSIDE[tier])
            notes.append(f"{found} single faults from outside the process, by its C library")
            count += found
    return Outcome(count, tuple(skipped), tuple(notes))


def _living(folder: Path, projection: Projection, tier: Tier) -> Callable[[Say], None]:
    def live_often(say: Say) -> None:
        with settings_parsed_once():
            calls = list_calls(folder, projection)
            singles = list(single_faults(calls))
            pairs = list(pair_faults(calls, PAIRS[tier] // len(PROJECTIONS), random.Random(4)))
            for faults in singles + pairs:
                live(folder, projection, faults)
        say(str(len(singles) + len(pairs)))
        say(
            f"a life with projection {projection.name} has {len(calls)} system calls: "
            f"{len(singles):,} single faults, {len(pairs):,} pairs"
        )

    return live_often


def list_calls(folder: Path, projection: Projection) -> list[Call]:
    """Live once without faults; return the calls."""
    clear(str(folder))
    life = Life(folder, projection, {})
    life.run()
    return life.point.calls


def live(folder: Path, projection: Projection, faults: dict[int, int]) -> None:
    """Live once with faults; a violation says which calls they met."""
    clear(str(folder))
    life = Life(folder, projection, faults)
    try:
        life.run()
    except Exception as error:
        met = ", ".join(f"{call.name} {call.path}" for call in life.point.hit)
        how = {n: errno.errorcode.get(fault, "short") for n, fault in faults.items()}
        raise Violation(f"{projection.name}: faults {how} met {met}: {error}") from error


def single_faults(calls: list[Call]) -> Iterator[dict[int, int]]:
    """Yield each call with each errno that it can answer."""
    for number, call in enumerate(calls, 1):
        for fault in ERRNOS[call.name]:
            yield {number: fault}


def pair_faults(calls: list[Call], count: int, plan: random.Random) -> Iterator[dict[int, int]]:
    """Yield pairs: what follows a fault are other calls than without it, so any errno will do."""
    for _ in range(count):
        first = plan.randrange(1, len(calls) + 1)
        second = first + plan.randint(1, _NEAR_CALLS)
        if plan.random() < 0.3:
            second = plan.randrange(first + 1, len(calls) + 2)
        yield {first: plan.choice(ERRNOS[calls[first - 1].name]), second: errno.EIO}


ROW = Row(4, "each system call fails once, with each errno, and short", run)
