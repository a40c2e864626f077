"""Row 13: the clock is wrong: years back, years on, frozen, jumping, beyond what a date can say.

I1  Seqs go on by one and the state is that of the list in memory, whatever the clock says.
I2  Times never go back, in one engine and from one opening to the next; they have one form.
I3  The state at a time is the state after the last event that has this time or an earlier one.
I4  Nothing of it is damage: `verify` is clean, and the fold from nothing gives the same state.

The engine's own clock is tried here; the machine's, as the command line sees it, in `clocked`; the
times of files in `aging`.
"""

import itertools
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import journal
from journal import config as configs
from journal.config import SnapshotsConfig
from journal.event import parse_time
from tests.faults import aging, clocked, shimmed
from tests.faults.row import Lacking, Outcome, Row, Skipped, Tier, Violation
from tests.faults.tree import memory_folder

Clock = Callable[[], int]
"""Milliseconds since 1970, as `journal.open(clock=)` takes it."""

NOW_MS = 1_772_376_300_000
_YEAR_MS = 365 * 86_400_000
JUMPERS = {"quick": 12, "full": 2000}
LIVES = {"quick": 4, "full": len(clocked.LIVES)}
JUMPING_LIVES = {"quick": 1, "full": 60}
_OPENINGS, _STEPS = 3, 12


def run(tier: Tier) -> Outcome:
    """Keep a journal by every clock, the engine's and the machine's; raises `Violation`."""
    clocks = {**steady_clocks(), **{f"jumping {n}": jumping(n) for n in range(JUMPERS[tier])}}
    events = 0
    with memory_folder() as folder:
        for number, (name, clock) in enumerate(clocks.items()):
            events += keep_by(folder / str(number), name, clock)
        (folder / "aged").mkdir()
        aged = aging.age_often(folder / "aged")
        commands, lives, skipped = live_often(folder, tier)
    notes = (
        f"{len(clocks)} clocks of the engine; {events:,} events, each opened, folded and asked for "
        "by time",
        f"{aged} times of every file and folder of a journal",
        f"{lives} lives of three processes whose machine says another date: {commands} commands",
    )
    return Outcome(events + aged + commands, skipped, notes)


def live_often(folder: Path, tier: Tier) -> tuple[int, int, tuple[Skipped, ...]]:
    """Let processes live by the machine's clock; return how many commands, and how many lives."""
    library = shimmed.build(folder)
    if library is None:
        lacking: Lacking = "right" if os.geteuid() else "tool"  # who may install one?
        return 0, 0, (Skipped("the machine's clock", "there is no C compiler", lacking),)
    chosen = dict(itertools.islice(clocked.LIVES.items(), LIVES[tier]))
    chosen |= {f"jumping {n}": clocked.jumping(n) for n in range(JUMPING_LIVES[tier])}
    commands = 0
    for number, (name, clocks) in enumerate(chosen.items()):
        commands += clocked.live(folder / f"life-{number}", library, name, clocks, number)
    return commands, len(chosen), ()


def steady_clocks() -> dict[str, Clock]:
    """Clocks that are wrong in one way."""
    return {
        "frozen": lambda: NOW_MS,
        "ten years back at each opening": _by_opening(NOW_MS, NOW_MS - 10 * _YEAR_MS, NOW_MS),
        "ten years on, and back": _by_opening(NOW_MS, NOW_MS + 10 * _YEAR_MS, NOW_MS),
        "running back": _running(NOW_MS, -1000),
        "running a day a call": _running(NOW_MS, 86_400_000),
        "1970": lambda: 0,
        "before 1970": lambda: -_YEAR_MS,
        "the last day of 9999": lambda: 253_402_300_799_999,
        "beyond 9999": lambda: 253_402_300_800_000,
        "far beyond 9999": lambda: 2**62,
    }


def _by_opening(*moments: int) -> Clock:
    """A clock that stands at one moment after another; some forty calls each."""
    calls = iter(range(10**9))
    return lambda: moments[min(next(calls) // 40, len(moments) - 1)]


def _running(start: int, step: int) -> Clock:
    calls = iter(range(10**9))
    return lambda: start + step * next(calls)


def jumping(seed: int) -> Clock:
    """A clock that jumps anywhere within twenty years at each look."""
    rng = random.Random(seed)
    return lambda: NOW_MS + rng.randrange(-10 * _YEAR_MS, 10 * _YEAR_MS)


def keep_by(path: Path, name: str, clock: Clock) -> int:
    """Append, batch, snapshot, rotate and open again by a clock; return how many events."""
    states: list[Any] = [{}, {}]
    journal.init(path, clock=clock).close()
    settings = configs.read(path)
    settings.segment_bytes, settings.snapshots = 2500, SnapshotsConfig(min_bytes=400, keep=4)
    configs.write(path, settings)
    for _ in range(_OPENINGS):
        with journal.open(path, clock=clock) as engine:
            for step in range(_STEPS):
                drafts = [
                    ("set", {"path": "/n", "value": len(states) + n}) for n in range(step % 3)
                ]
                for event in engine.append_batch([*drafts, ("set", {"path": "/s", "value": step})]):
                    while len(states) < event.seq:
                        states.append(states[-1])
                    states.append({**states[-1], event.data["path"][1:]: event.data["value"]})
                if step == _STEPS // 2:
                    engine.snapshot()
    return _check(path, name, states)


def _check(path: Path, name: str, states: list[Any]) -> int:
    with journal.open(path, read_only=True) as engine:
        events = list(engine.events())
        states += [states[-1]] * (len(events) + 1 - len(states))
        if [event.seq for event in events] != list(range(1, len(events) + 1)):
            raise Violation(f"clock {name}: the seqs are not 1, 2, 3 … (I1)")
        times = [event.time for event in events]
        if times != sorted(times) or any(parse_time(time) != time for time in times):
            raise Violation(f"clock {name}: the times are {times} (I2)")
        if engine.state != states[-1] or engine.replay() != states[-1]:
            raise Violation(f"clock {name}: the state is {engine.state}, not {states[-1]} (I1, I4)")
        for time in sorted(set(times)):
            last = len(times) - times[::-1].index(time)
            if engine.state_at(time) != states[last]:
                raise Violation(f"clock {name}: at {time} is not the state of {last} (I3)")
        report = engine.verify()
        if not report.ok:
            raise Violation(f"clock {name}: {report.problems} (I4)")
    return len(events)


ROW = Row(
    13, "a clock, the engine's or the machine's, years off, frozen, jumping; times of files", run
)
