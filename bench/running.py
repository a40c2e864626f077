"""Running the measures: every measurement a fresh process, the systems in turn, round by round.

I1  What a measurement reads (a history, the reference digests) is made before, once for each
    system and size, and is shared; two are made at a time, when nothing is measured.
I2  A measurement waits for an idle core. A measure waits for so long in all, and is then marked
    busy; so a busy machine makes a run longer by a bounded time.
I3  What fails, a wrong state among it, is told in the table and fails the run in the end; the
    other measures are run all the same.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench import table
from bench.measures import Measure

_IDLE_SHARE = 0.8
_LOOK_S = 0.05
_ROOT = Path(__file__).resolve().parent.parent


class Runner:
    """Runs measures in a folder of its own."""

    def __init__(self, work: Path, *, quick: bool, rounds: int = 0) -> None:
        """`rounds`: of every measure; 0 leaves it to the measure."""
        self._work = work
        self._quick = quick
        self._rounds = rounds
        self._wait_s = 1.0 if quick else 20.0
        self._references: dict[tuple[int, int], dict[str, Any]] = {}
        self._missing: dict[Path, dict[str, Any]] = {}
        self._number = 0

    def run(self, measure: Measure) -> table.Line:
        """Run every system in turn, round by round."""
        parameters = measure.quick if self._quick else measure.full
        systems = measure.systems
        if self._quick and measure.quick_systems is not None:
            systems = measure.quick_systems
        given = {name: {**parameters, **own} for name, own in systems.items()}
        if measure.history:
            _say(f"{measure.name}: making histories")
            self._prepare(given)
        rounds: list[table.Round] = []
        count = self._rounds or (measure.quick_rounds if self._quick else measure.rounds)
        busy, left_s = [False] * count, self._wait_s
        for number in range(count):
            found: table.Round = {}
            for name, parameter in given.items():
                _say(f"{measure.name}: round {number + 1} of {count}, {name}")
                start = time.monotonic()
                busy[number] |= not _wait_for_idle(left_s)
                left_s -= time.monotonic() - start
                found[name] = self._measure(measure, name, parameter)
            rounds.append(found)
        _say("")
        return table.make_line(measure, rounds, busy=busy, parameters=parameters)

    # --- what is made before ---------------------------------------------------------------------

    def _prepare(self, given: dict[str, dict[str, Any]]) -> None:
        """Make the histories and the references that are not there yet (I1)."""
        wanted: dict[Path | tuple[int, int], Callable[[], None]] = {}
        for name, parameters in given.items():
            system, events = _source(name, parameters), parameters["events"]
            folder = self._history(system, events)
            if not folder.exists() and folder not in self._missing:
                wanted[folder] = lambda s=system, e=events, f=folder: self._fill(s, e, f)  # type: ignore[misc]
            key = (events, parameters.get("places", 0))
            if key not in self._references and system != "document":
                wanted[key] = lambda k=key: self._refer(k)  # type: ignore[misc]
        with ThreadPoolExecutor(max_workers=2) as pool:
            for done in [pool.submit(make) for make in wanted.values()]:
                done.result()

    def _fill(self, system: str, events: int, folder: Path) -> None:
        found = work("fill", system, {"events": events}, folder)
        if "missing" in found:
            self._missing[folder] = found

    def _refer(self, key: tuple[int, int]) -> None:
        events, places = key
        given = {"events": events, "places": places}
        self._references[key] = work("reference", "none", given, self._work)

    def _history(self, system: str, events: int) -> Path:
        return self._work / f"{system}-{events}"

    # --- one measurement -------------------------------------------------------------------------

    def _measure(self, measure: Measure, name: str, given: dict[str, Any]) -> dict[str, Any]:
        system, job = name.split(" ", 1)[0], given.get("job", measure.job)
        if not measure.history:
            self._number += 1
            folder = self._work / f"run-{self._number}"
            try:
                return work(job, system, given, folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        folder = self._history(_source(name, given), given["events"])
        if folder in self._missing:
            return self._missing[folder]
        reference = self._references.get((given["events"], given.get("places", 0)), {})
        return work(job, system, {**reference, **given}, folder)


def _source(name: str, given: dict[str, Any]) -> str:
    """Return whose history a system reads."""
    source: str = given.get("of", name.split(" ", 1)[0])
    return source


def work(job: str, system: str, given: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run one job in a fresh process and return its result; that it failed is one, too (I3)."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.worker", job, system, json.dumps(given), str(folder)],
        stdout=subprocess.PIPE,
        cwd=_ROOT,
        check=False,
    )
    if done.returncode:
        return {"missing": f"{job} FAILED; what it said stands above", "failed": True}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _say(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def _wait_for_idle(longest_s: float) -> bool:
    """Wait until a core has been idle for a moment; say whether one was (I2)."""
    deadline = time.monotonic() + longest_s
    while True:
        before, start = _idle_ticks(), time.monotonic()
        time.sleep(_LOOK_S)
        idle = (_idle_ticks() - before) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - start)
        if idle >= _IDLE_SHARE:
            return True
        if time.monotonic() > deadline:
            return False


def _idle_ticks() -> int:
    try:
        return int(Path("/proc/stat").read_text().split(None, 5)[4])
    except OSError:  # not Linux: taken as idle
        return int(time.monotonic() * os.sysconf("SC_CLK_TCK"))
