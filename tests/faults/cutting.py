"""Cutting the power under a writer again and again, on any file system that forgets.

I1  Promised is what the writer had said before the cut was begun: a sync in flight at the cut may
    still return success. In the modes `batch` and `os` only a flush is a promise.
I2  After a cut the machine has another boot, and so has the journal's idea of it.
I3  After each cut: the laws of `tests.faults.counting`; opening needs no hand, finds no drift and
    no damage; `verify` is clean; the view shows the log.
"""

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, Protocol
from unittest import mock

import journal
from journal import durable
from journal.config import Durability
from tests.faults.counting import Habits, Tally, count_on, make_journal
from tests.faults.process import Process, Say
from tests.faults.row import Violation
from tests.faults.tree import clear

Syncs = Literal["real", "none", "retried"]
"""What a writer's syncs do; all but the first are wrong on purpose."""

ALL_MODES: tuple[Durability, ...] = ("always", "always", "batch", "os")
_CUTS_PER_JOURNAL = 10
_SYNC_FAILS = 0.3
"""How often a sync fails under a writer, where the device can do that."""


class Device(Protocol):
    """A file system whose power can be cut."""

    path: Path
    kills_first: bool

    def cut(self) -> None:
        """Cut the power: what is not on disk is gone; users get errors, or nothing more."""

    def restart(self) -> None:
        """Bring the file system back, as after a start of the machine."""

    def fail_sync(self, number: int) -> bool:
        """Let the sync of that number from now on fail, once; False if it cannot."""


class Survived(NamedTuple):
    """What many cuts left: how many, numbers counted, recoveries, numbers that a mode lost."""

    cuts: int
    numbers: int
    recoveries: int
    lost: int

    def __str__(self) -> str:
        return (
            f"{self.cuts:,} cuts, {self.numbers:,} numbers counted, {self.recoveries} torn ends; "
            f"{self.lost:,} numbers lost that nobody was promised"
        )


def cut_often(
    device: Device,
    cuts: int,
    plan: random.Random,
    *,
    modes: tuple[Durability, ...] = ALL_MODES,
    syncs: Syncs = "real",
) -> Survived:
    """Cut the power so often; raises `Violation`."""
    found = Survived(0, 0, 0, 0)
    while found.cuts < cuts:
        clear(str(device.path))
        count = min(_CUTS_PER_JOURNAL, cuts - found.cuts)
        one = _cut_one(device, count, plan, plan.choice(modes), syncs=syncs)
        found = Survived(*(a + b for a, b in zip(found, one, strict=True)))
    return found


def _cut_one(
    device: Device, cuts: int, plan: random.Random, mode: Durability, *, syncs: Syncs
) -> Survived:
    """Cut the power under the writers of one journal."""
    path = device.path / "journal"
    tally = Tally()
    recoveries = lost = 0
    with boot(0):
        every_ms, segment_bytes = plan.choice((0, 0, 5)), plan.choice((2, 16)) << 10
        make_journal(path, durability=mode, views_every_ms=every_ms, segment_bytes=segment_bytes)
    for n in range(cuts):
        habits = Habits(plan.randrange(2**32), mode, plan.choice((300, 3000, 60_000)))
        with boot(n):
            _write_until_cut(device, path, habits, tally, plan, syncs=syncs)
        with boot(n + 1):
            newest = max(tally.told, default=0)
            recoveries += _reopen(path, tally)
            lost += max(0, newest - tally.found)
    return Survived(cuts, tally.found, recoveries, lost)


def _write_until_cut(
    device: Device,
    path: Path,
    habits: Habits,
    tally: Tally,
    plan: random.Random,
    *,
    syncs: Syncs,
) -> None:
    if syncs == "retried" or plan.random() < _SYNC_FAILS:
        device.fail_sync(plan.randrange(1, 60))
    with Process(_counting(path, habits, syncs=syncs)) as writer:
        writer.read_until(plan.randrange(1, 40))
        time.sleep(plan.random() * 0.01)
        while writer.read():
            pass
        heard = len(writer.lines)
        if device.kills_first:
            said = writer.kill(may_have_failed=True)
            heard = len(said)
        device.cut()
        said = writer.kill(may_have_failed=True)
    tally.hear(said[:heard], promise="all" if habits.durability == "always" else "flush")
    tally.hear(said[heard:], promise="none")
    device.restart()


def _counting(path: Path, habits: Habits, *, syncs: Syncs) -> Callable[[Say], None]:
    def count(say: Say) -> None:
        with ExitStack() as wrong:
            for name in ("fsync", "fdatasync") if syncs != "real" else ():
                sync = _make_sync(syncs, getattr(os, name))
                wrong.enter_context(mock.patch.object(os, name, sync))
            try:
                count_on(path, habits, say)
            except (OSError, journal.JournalError):
                count_on(path, habits, say)  # A sync failed: to open it again is the advice.

    return count


def _make_sync(syncs: Syncs, real: Callable[[int], None]) -> Callable[[int], None]:
    """Make a sync that is wrong: it does nothing, or is tried again where it failed."""

    def sync(fd: int) -> None:
        if syncs == "none":
            return
        try:
            real(fd)
        except OSError:
            real(fd)

    return sync


def _reopen(path: Path, tally: Tally) -> int:
    messages: list[str] = []
    with journal.open(path, lock_timeout_s=0.0, on_message=messages.append) as engine:
        tally.check(engine, lost=True)
        tally.check_view(path)
        report = engine.verify()
    if not report.ok:
        raise Violation(f"verify finds {report.problems} after {messages}")
    return sum("no whole append" in message for message in messages)


@contextmanager
def boot(number: int) -> Iterator[None]:
    """Give this process and its children a boot of the machine for a block (I2)."""
    with mock.patch.object(durable, "boot_id", return_value=f"boot-{number}"):
        yield


def be_caught(device: Device, tries: int, syncs: Syncs = "none") -> str:
    """Cut the power under writers whose syncs are wrong until a law does not hold; say when.

    Raises `Violation` if they all hold: then the cuts prove nothing.
    """
    for n in range(1, tries + 1):
        try:
            cut_often(device, 1, random.Random(n), modes=("always",), syncs=syncs)
        except (Violation, journal.JournalError) as error:
            return f"a writer with {syncs} syncs was caught at cut {n} ({type(error).__name__})"
    raise Violation(f"{tries} cuts under writers with {syncs} syncs lost nothing that was promised")
