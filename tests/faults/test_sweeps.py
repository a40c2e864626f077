"""A sample of the rows that let writers be killed, calls fail, disks be full and power be cut.

Whole, and with their counts, they are `python -m tests.faults`. Here is also what shows that their
tools can see what they are there to see.
"""

import errno
import os
import random
import sys
from pathlib import Path

import pytest

import journal
from tests.faults import diary, row_full_disk, row_kill, row_system_calls, shimmed
from tests.faults.counting import Tally
from tests.faults.cutting import be_caught, cut_often
from tests.faults.device import CannotRun, power_cut, small_tmpfs
from tests.faults.faultpoint import ERRNOS, SHORT, Call, FaultPoint
from tests.faults.forgetful import forgetful
from tests.faults.forgetful_tree import Tree
from tests.faults.process import Process, Say
from tests.faults.row import Violation
from tests.faults.tree import memory_folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tools are Linux's")


# --- samples -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_writer_that_is_killed_again_and_again_loses_nothing_and_leaves_the_lock_free() -> None:
    with memory_folder() as folder:
        tally, reopened = row_kill.kill_often(folder / "run", 30, random.Random(1))
    assert len(reopened) == 30
    assert tally.found > 30


@pytest.mark.slow
def test_calls_that_fail_once_change_nothing_and_the_engine_goes_on() -> None:
    """Every 23rd call of a life, with one errno each."""
    with memory_folder() as folder:
        calls = row_system_calls.list_calls(folder / "run", diary.PROJECTION)
        for number in range(1, len(calls), 23):
            faults = {number: ERRNOS[calls[number - 1].name][0]}
            row_system_calls.live(folder / "run", diary.PROJECTION, faults)


@pytest.mark.slow
def test_calls_that_fail_in_the_c_library_lose_nothing(tmp_path: Path) -> None:
    library = shimmed.build(tmp_path)
    if library is None:
        pytest.skip("there is no C compiler")
    assert shimmed.fail_from_outside(tmp_path, library, 1) >= 7


@pytest.mark.slow
def test_file_that_may_not_grow_takes_whole_appends_or_nothing() -> None:
    with memory_folder() as folder:
        assert row_full_disk.append_at_every_limit(folder / "run") > 100


@pytest.mark.slow
def test_full_disk_is_readable_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    try:
        with small_tmpfs(tmp_path / "small", 400 * 4096):
            for pages in (0, 1, 5):
                row_full_disk.fill_and_free(tmp_path / "small", pages, 900)
    except CannotRun as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_power_cuts_lose_nothing_that_was_promised_and_a_writer_without_syncs_is_caught(
    tmp_path: Path,
) -> None:
    try:
        with forgetful(tmp_path / "mounted", ordered=False) as device:
            cut_often(device, 8, random.Random(2))
            be_caught(device, 20)
        with memory_folder() as folder, power_cut("ext4", folder) as real:
            cut_often(real, 4, random.Random(2))
    except CannotRun as error:
        pytest.skip(str(error))


# --- the tools -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "numbers", "verdict"),
    [
        (["append 1 2 3"], [1], "numbers end at 1"),
        (["append 1 1 2"], [1, 3], "number 3 at seq"),
        (["append 1 1 2"], [1, 1], "number 1 at seq"),
        (["append 1 1 9"], [1], "and 9 was told"),
        (["append 1 1 2"], [1, 2, 3], "not one append, whole"),
    ],
)
def test_tally_tells_numbers_that_are_lost_doubled_moved_or_too_many(
    tmp_path: Path, said: list[str], numbers: list[int], verdict: str
) -> None:
    tally = Tally()
    tally.hear(said)
    with journal.init(tmp_path / "run") as engine:
        for number in numbers:
            engine.append("set", {"path": "/n", "value": number})
        with pytest.raises(Violation, match=verdict):
            tally.check(engine)


def test_fault_point_counts_the_calls_of_its_folder_only_and_lets_one_fail(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with FaultPoint(tmp_path / "in", {2: errno.ENOSPC}) as point:
        (tmp_path / "out").write_bytes(b"x")
        fd = os.open(tmp_path / "in/file", os.O_RDWR | os.O_CREAT, 0o600)
        with pytest.raises(OSError, match="on purpose") as caught:
            os.pwrite(fd, b"12345678", 0)
        assert os.pwrite(fd, b"12345678", 0) == 8
        os.close(fd)
    assert caught.value.errno == errno.ENOSPC
    assert point.calls == [Call("open", "file"), Call("pwrite", "file"), Call("pwrite", "file")]


def test_fault_point_shortens_a_write_to_half(tmp_path: Path) -> None:
    with FaultPoint(tmp_path, {2: SHORT}):
        fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT, 0o600)
        assert os.pwrite(fd, b"12345678", 0) == 4
        os.close(fd)
    assert (tmp_path / "file").read_bytes() == b"1234"


def test_process_tells_what_its_child_raised() -> None:
    def work(say: Say) -> None:
        say("begun")
        raise KeyError("lost")

    with Process(work) as process, pytest.raises(Violation, match="KeyError: 'lost'"):
        process.join()


def test_process_that_is_killed_has_said_its_whole_lines_only() -> None:
    def work(say: Say) -> None:
        say("one")
        say("two")
        while True:
            os.sched_yield()

    with Process(work) as process:
        process.read_until(2)
        assert process.kill() == ["one", "two"]


# --- the forgetful file system, without a kernel -------------------------------------------------


def make_file(tree: Tree, name: str, data: bytes) -> int:
    """Make a file in the root folder; return its number."""
    node = tree.make(1, name, 0o100600)
    node.write(0, data)
    return node.number


def seen(tree: Tree) -> dict[str, bytes]:
    """Return what a program sees."""
    return {name: bytes(tree.nodes[number].data) for name, number in tree.names[1].items()}


@pytest.mark.parametrize("ordered", [False, True])
def test_forgetful_tree_forgets_what_was_not_synced(ordered: bool) -> None:
    tree = Tree(ordered=ordered)
    file = make_file(tree, "kept", b"synced")
    tree.sync(file)
    tree.sync(1)
    tree.nodes[file].write(6, b" and not")
    make_file(tree, "lost", b"x")
    tree.cut(None)
    assert seen(tree) == {"kept": b"synced"}


def test_forgetful_tree_keeps_a_name_after_a_sync_of_the_file_only_if_it_is_ordered() -> None:
    for ordered in (False, True):
        tree = Tree(ordered=ordered)
        tree.sync(make_file(tree, "name", b"bytes"))
        tree.cut(None)
        assert seen(tree) == ({"name": b"bytes"} if ordered else {})


def test_forgetful_tree_gives_an_empty_file_after_a_rename_without_a_sync_of_the_file() -> None:
    tree = Tree(ordered=True)
    file = make_file(tree, "new", b"bytes")
    tree.change([(1, "new", None), (1, "name", file)])
    tree.sync(1)
    tree.cut(None)
    assert seen(tree) == {"name": b""}


def test_forgetful_tree_loses_what_a_failed_sync_did_not_write_though_a_second_one_succeeds() -> (
    None
):
    tree = Tree(ordered=True)
    file = make_file(tree, "name", b"first")
    tree.sync(file)
    tree.nodes[file].write(5, b" second")
    tree.fail_sync(1)
    with pytest.raises(OSError, match="fails once"):
        tree.sync(file)
    tree.sync(file)
    assert seen(tree) == {"name": b"first second"}
    tree.cut(None)
    assert seen(tree) == {"name": b"first"}


def test_forgetful_tree_torn_keeps_whole_parts_nothing_or_holes_of_what_was_not_synced() -> None:
    found = set()
    for seed in range(200):
        tree = Tree(ordered=True)
        file = make_file(tree, "name", b"old.")
        tree.sync(file)
        tree.nodes[file].write(4, b"new.")
        tree.cut(random.Random(seed))
        found.add(seen(tree)["name"])
    assert {b"old.new.", b"old.", b"old.ne", b"old.\0\0\0\0", b"old.ne\0\0"} <= found
    assert all(data.startswith(b"old.") and len(data) <= 8 for data in found)
