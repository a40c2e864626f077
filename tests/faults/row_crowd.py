"""Row 8: many processes write and read one journal at the same time, and some of them are killed.

Each writer counts by decisions on the state: an append sets `/n` to one more than the state says
and `/left` and `/right` to that number, as one append. Laws:

I1  Nothing is lost, nothing is doubled: the numbers are 1, 2, 3 … and each was told to one writer.
I2  No reader sees half an append, a torn view, a number that goes back, damage, or drift; `verify`
    is clean whenever it is asked.
I3  Readers take no lock and stop nobody; a killed process stops nobody either.
"""

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import journal
from journal.config import Durability
from journal.engine import Engine
from journal.event import Draft
from tests.faults import diary
from tests.faults.counting import make_journal
from tests.faults.faultpoint import KILLED_HALFWAY, Call, FaultPoint
from tests.faults.mixing import mix
from tests.faults.process import Process, Say
from tests.faults.row import Outcome, Row, Tier, Violation
from tests.faults.tree import memory_folder

WRITERS = {"quick": (8, 200, 8), "full": (16, 1000, 32)}
"""Writers, appends of each, readers."""
KILLING_S = {"quick": 15.0, "full": 600.0}
THREADS = {"quick": (32, 20), "full": (32, 500)}
_MIXTURES: tuple[tuple[int, Durability], ...] = ((0, "always"), (5, "always"), (0, "batch"))
_REOPEN_EVERY = 50
_LOCK_TIMEOUT_S = 120.0


def run(tier: Tier) -> Outcome:
    """Let them all at it: writers and readers, a killed writer beside them, threads."""
    writers, appends, readers = WRITERS[tier]
    with memory_folder() as folder:
        looked = write_together(folder / "together", writers, appends, readers)
        lines = append_lines_beside(folder / "lines", writers // 2, appends // 4)
        kills, appended, looked_at = kill_beside(folder / "killed", KILLING_S[tier])
        mixed = [
            mix(folder / f"mixed-{n}", KILLING_S[tier] / 3, every_ms=every_ms, durability=mode)
            for n, (every_ms, mode) in enumerate(_MIXTURES)
        ]
        threads, each = THREADS[tier]
        syncs = write_in_threads(folder / "threads", threads, each)
    return Outcome(
        writers * appends + lines + appended + threads * each,
        notes=(
            f"{writers} processes appended {appends} times each, all {writers * appends:,} there, "
            f"while {readers} readers looked {looked:,} times",
            f"{writers // 2} processes and a stranger appended {lines:,} lines to one view",
            f"a process was killed {kills} times beside one that appended {appended:,} times, and "
            f"one that opened, read and verified {looked_at:,} times",
            *(f"everything at once: {found}" for found in mixed),
            f"{threads} threads of one process appended {each} times each with {syncs:,} syncs",
        ),
    )


# --- what a writer decides, and what everybody must see ------------------------------------------


def count_up(state: Any) -> list[Draft]:
    """Decide on the state as it is: one more, in three places, as one append."""
    number = state.get("n", 0) + 1
    paths = ("/left", "/n", "/right")
    return [Draft(type="set", data={"path": path, "value": number}) for path in paths]


def check_state(state: Any, at_least: int, where: str) -> int:
    """Return the number in a state; raises `Violation` for half an append or a step back (I2)."""
    number = state.get("n", 0)
    if not number == state.get("left", 0) == state.get("right", 0):
        raise Violation(f"{where} shows half an append: {state}")
    if number < at_least:
        raise Violation(f"{where} shows {number} after {at_least} was seen")
    return int(number)


def check_numbers(engine: Engine, count: int | None = None) -> int:
    """Check that the log counts 1, 2, 3 … (I1), up to `count` if given; return how far."""
    numbers = [
        event.data["value"]
        for event in engine.events()
        if event.type == "set" and event.data["path"] == "/n"
    ]
    if numbers != list(range(1, len(numbers) + 1)) or count not in (None, len(numbers)):
        raise Violation(f"{count} numbers are due, the log has {len(numbers)}: {numbers[-20:]}")
    return len(numbers)


# --- processes -----------------------------------------------------------------------------------


def write_together(path: Path, writers: int, appends: int, readers: int) -> int:
    """Let writers count up together while readers look; return how often these looked."""
    make_journal(path, segment_bytes=8 << 10)
    done = path.parent / "done"
    with ExitStack() as started:
        looking = [
            started.enter_context(Process(_reading(path, done, fresh=n % 2 == 0)))
            for n in range(readers)
        ]
        writing = [started.enter_context(Process(_writing(path, appends))) for _ in range(writers)]
        told = Counter(int(line) for process in writing for line in process.join(600.0))
        done.touch()
        looked = sum(int(process.join()[-1]) for process in looking)
    done.unlink()
    count = writers * appends
    if told != Counter(range(1, count + 1)):
        wrong = sorted((told - Counter(range(1, count + 1))).items())
        raise Violation(f"not each number was told once: {len(told)} numbers, {wrong[:5]} (I1)")
    with journal.open(path) as engine:
        check_numbers(engine, count)
        check_state(engine.state, count, "the state")
        if not (report := engine.verify()).ok:
            raise Violation(f"verify finds {report.problems} (I2)")
    return looked


def _writing(path: Path, appends: int) -> Callable[[Say], None]:
    def write(say: Say) -> None:
        done = 0
        while done < appends:
            with journal.open(path, lock_timeout_s=_LOCK_TIMEOUT_S, on_message=_refuse) as engine:
                for _ in range(min(_REOPEN_EVERY, appends - done)):
                    events = engine.execute(count_up)
                    say(str(events[-1].data["value"]))
                    done += 1

    return write


def _dying_halfway(path: Path, seed: int) -> Callable[[Say], None]:
    """Write until a write of the log, by chance, is killed in its middle."""
    plan = random.Random(seed)

    def each(call: Call) -> int:
        in_log = call.name == "pwrite" and call.path.startswith("log/")
        return KILLED_HALFWAY if in_log and plan.random() < 0.2 else 0

    def work(say: Say) -> None:
        with FaultPoint(path, each=each):
            _writing(path, 10**9)(say)

    return work


def _refuse(message: str) -> None:
    """Refuse what is said of views that only somebody else could have changed."""
    if "somebody else" in message:
        raise Violation(f"a false alarm: {message} (I2)")


def _reading(path: Path, done: Path, *, fresh: bool) -> Callable[[Say], None]:
    def read(say: Say) -> None:
        looks = number = 0
        kept = None if fresh else journal.open(path, read_only=True, on_message=_refuse)
        while not done.exists():
            number = look(path, kept, number)
            looks += 1
        say(str(looks))

    return read


def look(path: Path, kept: Engine | None, number: int) -> int:
    """Look at everything once, as a reader that knows `number`; return the number seen (I2)."""
    shown = journal.codec.decode_value((path / "state.json").read_bytes())
    seen = check_state(shown, 0, "the view")
    if kept is None:
        with journal.open(path, read_only=True, on_message=_refuse) as engine:
            return _look_at(engine, max(number, seen))
    kept.refresh()
    return _look_at(kept, max(number, seen))


def _look_at(engine: Engine, number: int) -> int:
    if engine.messages:
        raise Violation(f"a reader is told {engine.messages} (I2)")
    number = check_state(engine.state, number, "the state")
    if check_numbers(engine) != number:
        raise Violation(f"the state counts to {number}, the log does not (I2)")
    report = engine.verify()
    if not report.ok:
        raise Violation(f"a false alarm of verify: {report.problems} (I2)")
    return number


# --- lines ---------------------------------------------------------------------------------------


def append_lines_beside(path: Path, writers: int, appends: int) -> int:
    """Let writers append entries to a diary, whose view of lines a stranger appends to as well.

    Returns how many lines there are; each has to stand there once, and once in the log.
    """
    journal.init(path, projection=diary.PROJECTION).close()
    view = path / "diary.jsonl"
    strange = [f"stranger {n}" for n in range(appends)]

    def enter(number: int) -> Callable[[Say], None]:
        def work(_: Say) -> None:
            with journal.open(
                path, projection=diary.PROJECTION, lock_timeout_s=_LOCK_TIMEOUT_S
            ) as engine:
                for n in range(appends):
                    engine.append("entered", {"text": f"writer {number} entry {n}"})

        return work

    with ExitStack() as started:
        working = [started.enter_context(Process(enter(number))) for number in range(writers)]
        for text in strange:
            with view.open("ab", buffering=0) as file:
                file.write(journal.codec.encode_value({"text": text}) + b"\n")
            time.sleep(0.002)
        for process in working:
            process.join(600.0)
    due = Counter(strange)
    due.update(f"writer {w} entry {n}" for w in range(writers) for n in range(appends))
    with journal.open(path, projection=diary.PROJECTION) as engine:
        engine.refresh()
        logged = Counter(e.data["text"] for e in engine.events() if e.type == "entered")
    shown = Counter(
        journal.codec.decode_value(line)["text"] for line in view.read_bytes().splitlines()
    )
    for what, found in (("log", logged), ("view", shown)):
        if found != due:
            more, less = list(found - due), list(due - found)
            raise Violation(f"the {what} has {more[:5]} too often and {less[:5]} too rarely (I1)")
    return sum(due.values())


# --- kills ---------------------------------------------------------------------------------------


def kill_beside(path: Path, for_s: float) -> tuple[int, int, int]:
    """Kill a writer again and again beside one that appends and rotates, and two that look.

    Every second one dies in the middle of a write, and leaves half an append.

    Returns how often it was killed, how much the other appended, and how often the third looked.
    """
    make_journal(path, segment_bytes=4 << 10)
    done = path.parent / "done"
    plan = random.Random(8)
    kills, told = 0, Counter[int]()
    with ExitStack() as started:
        looking = [
            started.enter_context(Process(_reading(path, done, fresh=fresh)))
            for fresh in (True, False)
        ]
        writer = started.enter_context(Process(_writing(path, 10**9)))
        until = time.monotonic() + for_s
        while time.monotonic() < until:
            halfway = kills % 2 == 1
            work = _dying_halfway(path, kills) if halfway else _writing(path, 10**9)
            with Process(work) as victim:
                victim.read_until(10**9 if halfway else plan.choice((0, 1, 1, 5)))
                time.sleep(0.0 if halfway else plan.random() * 0.01)
                told.update(int(line) for line in victim.kill())
            kills += 1
            writer.read()
        told.update(int(line) for line in writer.kill())
        done.touch()
        looked = sum(int(process.join()[-1]) for process in looking)
    done.unlink()
    with journal.open(path, lock_timeout_s=0.0, on_message=_refuse) as engine:
        count = check_numbers(engine)
    if any(times > 1 for times in told.values()) or max(told) > count:
        raise Violation(f"told twice, or not there: {told.most_common(3)} of {count} (I1)")
    if count - len(told) > kills + 1:
        raise Violation(f"{count} numbers, {len(told)} told, {kills + 1} kills (I1)")
    return kills, count, looked


# --- threads -------------------------------------------------------------------------------------


def write_in_threads(path: Path, threads: int, appends: int) -> int:
    """Let threads of one process count up in one engine and in another; return the syncs."""
    make_journal(path, segment_bytes=8 << 10)
    told: list[int] = []
    failed: list[BaseException] = []
    syncs: list[int] = []
    real = os.fdatasync

    def sync(fd: int) -> None:
        syncs.append(fd)
        real(fd)

    def write(engine: Engine) -> None:
        try:
            for _ in range(appends):
                told.append(engine.execute(count_up)[-1].data["value"])
        except BaseException as error:  # noqa: BLE001 - raised again below
            failed.append(error)

    with (
        mock.patch.object(os, "fdatasync", sync),
        journal.open(path, lock_timeout_s=_LOCK_TIMEOUT_S) as one,
        journal.open(path, lock_timeout_s=_LOCK_TIMEOUT_S) as other,
    ):
        running = [
            threading.Thread(target=write, args=((one, other)[n % 2],)) for n in range(threads)
        ]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        if failed:
            raise Violation(f"a thread failed: {failed[0]!r}") from failed[0]
        one.refresh()
        check_numbers(one, threads * appends)
        check_state(one.state, threads * appends, "the state")
    if Counter(told) != Counter(range(1, threads * appends + 1)):
        raise Violation("not each number was told to one thread (I1)")
    shown = journal.codec.decode_value((path / "state.json").read_bytes())
    check_state(shown, threads * appends, "the view after closing")
    if not syncs:
        raise Violation(f"{threads * appends} appends were acknowledged and nothing was synced")
    return len(syncs)


ROW = Row(8, "writers and readers at once, and a third that is killed", run)
