"""One journal, many users: processes, threads, two engines, a fork, an engine closed under them."""

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import journal
from journal.config import Durability
from journal.engine import Engine
from journal.errors import JournalError, Locked, UsageError
from journal.event import Draft
from journal.locks import FolderLock
from tests.faults import row_crowd
from tests.faults.counting import make_journal
from tests.faults.mixing import mix
from tests.faults.process import Process, Say
from tests.faults.tree import memory_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@pytest.mark.slow
def test_eight_processes_that_decide_on_the_state_count_to_1600_without_gap_or_double() -> None:
    with memory_folder() as folder:
        row_crowd.write_together(folder / "run", writers=8, appends=200, readers=2)


@pytest.mark.slow
def test_lines_of_writers_and_of_a_stranger_stand_once_in_the_log_and_once_in_the_view() -> None:
    with memory_folder() as folder:
        row_crowd.append_lines_beside(folder / "run", writers=3, appends=40)


@pytest.mark.slow
def test_readers_see_no_damage_no_drift_and_no_half_append_beside_a_writer_that_is_killed(
    tmp_path: Path,
) -> None:
    kills, appended, looked = row_crowd.kill_beside(tmp_path / "run", for_s=3.0)
    assert min(kills, appended, looked) > 5


@pytest.mark.slow
def test_processes_that_do_everything_while_others_die_keep_log_and_lines_equal() -> None:
    with memory_folder() as folder:
        mix(folder / "run", for_s=2.0)


@pytest.mark.slow
def test_thirty_two_threads_in_two_engines_count_without_gap_or_double(tmp_path: Path) -> None:
    row_crowd.write_in_threads(tmp_path / "run", threads=32, appends=10)


def test_threads_that_wait_together_share_syncs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight appends are held back until all are written; then a sync or two make all durable."""
    make_journal(tmp_path / "run")
    with journal.open(tmp_path / "run") as engine:
        real, syncs, written = os.fdatasync, [], threading.Event()

        def sync(fd: int) -> None:
            syncs.append(fd)
            written.wait(10.0)
            real(fd)

        monkeypatch.setattr(os, "fdatasync", sync)
        threads = [
            threading.Thread(target=engine.append, args=("set", {"path": f"/{n}", "value": n}))
            for n in range(8)
        ]
        before = engine.seq
        for thread in threads:
            thread.start()
        while engine.seq < before + 8:
            os.sched_yield()
        written.set()
        for thread in threads:
            thread.join()
        assert len(syncs) == 2
        assert engine.synced == before + 8


def test_two_engines_of_one_process_take_turns_and_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with journal.init(path) as one, journal.open(path) as other:
        one.append("set", {"path": "/a", "value": 1})
        other.append("set", {"path": "/b", "value": 2})
        one.append("set", {"path": "/c", "value": 3})
        assert one.state == {"a": 1, "b": 2, "c": 3}
        assert other.refresh() == one.seq
        assert other.state == one.state


def test_lock_that_is_held_is_told_after_the_timeout_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with journal.init(path) as one, journal.open(path, lock_timeout_s=0.0) as other:

        def refused(state: Any) -> None:
            with pytest.raises(Locked) as caught:
                other.append("set", {"path": "/b", "value": 2})
            assert caught.value.exit_code == 4

        one.execute(refused)
        assert other.append("set", {"path": "/b", "value": 3}).seq == 2


def test_opening_that_waits_while_another_rotates_says_nothing_and_stands_in_the_new_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has opened the last segment before it gets the lock; by then that one is closed."""
    make_journal(tmp_path / "run", segment_bytes=1)
    real, waits = FolderLock.try_acquire, threading.Event()

    def ask(lock: FolderLock) -> bool:
        got = real(lock)
        if not got:
            waits.set()
        return got

    monkeypatch.setattr(FolderLock, "try_acquire", ask)
    opened: list[Engine] = []
    thread = threading.Thread(target=lambda: opened.append(journal.open(tmp_path / "run")))

    def rotate(state: Any) -> list[Draft]:
        thread.start()
        assert waits.wait(10.0)
        return row_crowd.count_up(state)

    with journal.open(tmp_path / "run") as engine:
        engine.execute(rotate)
        thread.join()
        with opened[0] as late:
            assert (late.seq, late.state, late.messages) == (engine.seq, engine.state, [])
            late.execute(row_crowd.count_up)
        assert engine.verify().ok


EVERYTHING: list[Callable[[Engine], object]] = [
    lambda engine: engine.execute(row_crowd.count_up),
    lambda engine: engine.execute(row_crowd.count_up),
    lambda engine: engine.snapshot(),
    lambda engine: engine.rebuild(),
    lambda engine: engine.verify().ok or pytest.fail("verify finds problems"),
    lambda engine: engine.status(),
    lambda engine: engine.flush(),
    lambda engine: engine.refresh(),
    lambda engine: engine.state_at(engine.seq),
    lambda engine: engine.head(),
    lambda engine: row_crowd.check_state(engine.state, 0, "the state"),
    row_crowd.check_numbers,
]


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["always", "batch"])
def test_threads_that_do_everything_at_once_get_no_error_and_a_whole_journal(
    durability: Durability,
) -> None:
    failed: list[BaseException] = []

    def work(engine: Engine, seed: int) -> None:
        plan = random.Random(seed)
        try:
            for _ in range(40):
                plan.choice(EVERYTHING)(engine)
        except BaseException as error:  # noqa: BLE001 - raised again below
            failed.append(error)

    with memory_folder() as folder:
        make_journal(folder / "run", durability=durability, segment_bytes=4 << 10)
        with journal.open(folder / "run", lock_timeout_s=60.0) as one:
            threads = [threading.Thread(target=work, args=(one, seed)) for seed in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if failed:
                raise failed[0]
            row_crowd.check_numbers(one)
            assert one.messages == []
        with journal.open(folder / "run", lock_timeout_s=0.0) as again:
            assert again.verify().ok


# --- commands ------------------------------------------------------------------------------------


def test_command_that_appends_by_itself_is_refused_and_the_engine_goes_on(tmp_path: Path) -> None:
    """It would let go of the lock in the middle of the decision."""
    with journal.init(tmp_path / "run") as engine:

        def nested(state: Any) -> list[tuple[str, Any]]:
            engine.append("set", {"path": "/a", "value": 1})
            return []

        with pytest.raises(UsageError, match="may not use the engine"):
            engine.execute(nested)
        assert engine.state == {}
        assert engine.append("set", {"path": "/a", "value": 2}).seq == 2


# --- fork ----------------------------------------------------------------------------------------

CALLS: dict[str, Callable[[Engine], object]] = {
    "append": lambda engine: engine.append("set", {"path": "/a", "value": 1}),
    "append_batch": lambda engine: engine.append_batch([("set", {"path": "/a", "value": 1})]),
    "execute": lambda engine: engine.execute(lambda state: []),
    "state": lambda engine: engine.state,
    "state_at": lambda engine: engine.state_at(1),
    "seq_at": lambda engine: engine.seq_at("2026-03-01"),
    "events": lambda engine: list(engine.events()),
    "head": lambda engine: engine.head(),
    "refresh": lambda engine: engine.refresh(),
    "synced": lambda engine: engine.synced,
    "snapshot": lambda engine: engine.snapshot(),
    "snapshots": lambda engine: engine.snapshots(),
    "verify": lambda engine: engine.verify(),
    "rebuild": lambda engine: engine.rebuild(),
    "adopt": lambda engine: engine.adopt(),
    "status": lambda engine: engine.status(),
    "flush": lambda engine: engine.flush(),
}


def _refusals(engine: Engine) -> list[str]:
    """Return the names of the calls that raise `JournalError`."""
    refused = []
    for name, call in CALLS.items():
        try:
            call(engine)
        except JournalError:
            refused.append(name)
    engine.close()
    return refused


@pytest.mark.parametrize("read_only", [False, True])
def test_every_call_is_refused_in_a_forked_child_and_the_parent_goes_on(
    tmp_path: Path, read_only: bool
) -> None:
    journal.init(tmp_path / "run").close()
    with journal.open(tmp_path / "run", read_only=read_only) as engine:
        with Process(lambda say: say(" ".join(_refusals(engine)))) as child:
            assert child.join() == [" ".join(CALLS)]
        assert engine.state == {}
        if not read_only:
            engine.append("set", {"path": "/a", "value": 1})


def test_every_call_is_refused_after_close(tmp_path: Path) -> None:
    engine = journal.init(tmp_path / "run")
    engine.close()
    assert _refusals(engine) == list(CALLS)


def test_forked_child_does_not_wait_for_a_thread_that_did_not_come_along(tmp_path: Path) -> None:
    """A thread of the parent holds the engine's mutex at the fork; in the child nobody does."""
    with journal.init(tmp_path / "run") as engine:
        holding, enough = threading.Event(), threading.Event()

        def hold(state: Any) -> None:
            holding.set()
            enough.wait(10.0)

        thread = threading.Thread(target=engine.execute, args=(hold,))
        thread.start()
        holding.wait(10.0)
        with Process(lambda say: say(" ".join(_refusals(engine)))) as child:
            found = child.read_until(1, timeout_s=10.0)
            enough.set()
            thread.join()
            assert found == [" ".join(CALLS)]


def test_lock_of_a_killed_parent_is_not_kept_by_its_forked_child(tmp_path: Path) -> None:
    """The parent is killed while it holds the lock; its child lives on."""
    path = tmp_path / "run"
    journal.init(path).close()

    def parent(say: Say) -> None:
        with journal.open(path) as engine:

            def fork_inside(state: Any) -> None:
                child = Process(_wait)
                say(str(child.pid))
                threading.Event().wait(20.0)

            engine.execute(fork_inside)

    with Process(parent) as killed:
        (pid,) = killed.read_until(1)
        os.kill(killed.pid, 9)
        try:
            with journal.open(path, lock_timeout_s=0.5) as engine:
                assert engine.append("set", {"path": "/a", "value": 1}).seq == 2
        finally:
            os.kill(int(pid), 9)


# --- closing -------------------------------------------------------------------------------------


def test_engine_closed_under_its_threads_refuses_the_rest_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run"
    engine = journal.init(path)
    told: list[int] = []
    strange: list[BaseException] = []

    def write() -> None:
        try:
            while True:
                told.append(engine.execute(row_crowd.count_up)[0].data["value"])
        except JournalError as error:
            if "closed" not in str(error):
                strange.append(error)
        except BaseException as error:  # noqa: BLE001 - the test is about which ones there are
            strange.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(told) < 20:
        os.sched_yield()
    engine.close()
    for thread in threads:
        thread.join()
    assert strange == []
    with journal.open(path, lock_timeout_s=0.0) as again:
        count = row_crowd.check_numbers(again)
        assert sorted(told) == list(range(1, len(told) + 1))
        assert len(told) <= count <= len(told) + len(threads)
        assert again.messages == []


def _wait(say: Say) -> None:
    threading.Event().wait(20.0)
