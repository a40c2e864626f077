"""Processes that do everything to one diary at once, while some of them die at any system call.

The diary's projection has a view of lines and adopts what others change, so that whatever looks
like somebody else's would become an event. Laws:

I1  What was told is in the log, once; what was not told is there at most once an append, whole.
I2  The view of lines has each entry of the log once, and no other line.
I3  Nothing is adopted, nobody is told of somebody else's change, and `verify` is clean.
"""

import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import journal
from journal import codec
from journal import config as configs
from journal.config import Durability, SnapshotsConfig
from journal.engine import Engine
from tests.faults import diary
from tests.faults.faultpoint import KILLED, KILLED_HALFWAY, Call, FaultPoint
from tests.faults.process import Process, Say
from tests.faults.row import Violation

_DYING = 0.004
"""How likely a process dies at each of its system calls."""
_STEADY = 2
_LOCK_TIMEOUT_S = 120.0
_ACTIONS = ("enter",) * 7 + ("count", "pair", "rebuild", "snapshot", "verify", "flush", "refresh")


def mix(path: Path, for_s: float, *, every_ms: int = 0, durability: Durability = "always") -> str:
    """Let them all at it for so long; say what was done. Raises `Violation`."""
    journal.init(path, projection=diary.PROJECTION, durability=durability).close()
    settings = configs.read(path)
    settings.segment_bytes, settings.views.every_ms = 4000, every_ms
    settings.snapshots = SnapshotsConfig(min_bytes=2000, keep=4)
    configs.write(path, settings)
    told, deaths = Counter[str](), 0
    until = time.monotonic() + for_s
    with ExitStack() as started:
        steady = [
            started.enter_context(Process(_working(path, f"steady {n}", n, until)))
            for n in range(_STEADY)
        ]
        while time.monotonic() < until:
            with Process(_dying(path, f"dying {deaths}", deaths)) as dying:
                dying.read_until(10**9)
                told.update(dying.kill())
            deaths += 1
        for process in steady:
            told.update(process.join())
    entries = _check(path, told, deaths)
    return f"{deaths} processes died beside {_STEADY} others; {entries:,} entries"


def _check(path: Path, told: Counter[str], deaths: int) -> int:
    with _open(path, lock_timeout_s=0.0) as engine:
        entries = [event.data["text"] for event in engine.events() if event.type == "entered"]
        adopted = [event.seq for event in engine.events() if event.type == "journal.adopted"]
        report = engine.verify()
    logged = Counter(entries)
    shown = Counter(
        codec.decode_value(line)["text"]
        for line in (path / "diary.jsonl").read_bytes().splitlines()
    )
    if told - logged or max(logged.values()) > 1:
        raise Violation(f"lost {list(told - logged)[:5]}, doubled {logged.most_common(2)} (I1)")
    if len(logged) - len(told) > 2 * deaths:
        raise Violation(f"{len(logged) - len(told)} entries more than told, {deaths} deaths (I1)")
    if shown != logged:
        raise Violation(f"the view: {list(shown - logged)[:5]}, {list(logged - shown)[:5]} (I2)")
    if adopted or not report.ok:
        raise Violation(f"adopted {adopted}, {report.problems} (I3)")
    return len(logged)


def _open(path: Path, *, read_only: bool = False, lock_timeout_s: float = 120.0) -> Engine:
    return journal.open(
        path,
        projection=diary.PROJECTION,
        read_only=read_only,
        lock_timeout_s=lock_timeout_s,
        on_message=_refuse,
    )


def _refuse(message: str) -> None:
    if "adopted" in message or "somebody else" in message or "not as the log has it" in message:
        raise Violation(f"a false alarm: {message} (I3)")


def _working(path: Path, name: str, seed: int, until: float) -> Callable[[Say], None]:
    """Do everything by chance, reopening now and then; say each entry once it is acknowledged."""
    plan = random.Random(seed)

    def work(say: Say) -> None:
        number = 0
        while time.monotonic() < until:
            with _open(path, read_only=plan.random() < 0.2) as engine:
                for _ in range(10):
                    action = "look" if engine.read_only else plan.choice(_ACTIONS)
                    texts = [f"{name}-{number + k}" for k in range(_entries(action))]
                    _do(engine, action, texts)
                    number += len(texts)
                    for text in texts:
                        say(text)

    return work


def _entries(action: str) -> int:
    return {"enter": 1, "pair": 2}.get(action, 0)


def _do(engine: Engine, action: str, texts: list[str]) -> None:
    if texts:
        engine.append_batch([("entered", {"text": text}) for text in texts])
    elif action == "count":
        engine.append("counted", {"n": engine.seq})
    elif action == "rebuild":
        engine.rebuild()
    elif action == "snapshot":
        engine.snapshot()
    elif action == "flush":
        engine.flush()
    else:
        engine.refresh()
    if action in ("verify", "look") and not (report := engine.verify()).ok:
        raise Violation(f"a false alarm of verify: {report.problems} (I3)")


def _dying(path: Path, name: str, seed: int) -> Callable[[Say], None]:
    """Do the same, and die at a system call, by chance, or in the middle of a write."""
    plan = random.Random(seed)

    def each(call: Call) -> int:
        if plan.random() > _DYING:
            return 0
        return KILLED_HALFWAY if call.name in ("pwrite", "write") else KILLED

    def work(say: Say) -> None:
        with FaultPoint(path, each=each):
            _working(path, name, seed, time.monotonic() + 60.0)(say)

    return work
