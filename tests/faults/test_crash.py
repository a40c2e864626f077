"""Crash states: the enumeration itself, and a few states of every workload."""

import os
from pathlib import Path

import pytest

from tests.faults import repairs
from tests.faults.crash import MODELS, Model, play_whole, states
from tests.faults.disk import Known, Recorder, Recording
from tests.faults.quick import settings_parsed_once
from tests.faults.row_crash import try_workload
from tests.faults.story import Workload
from tests.faults.tree import memory_folder
from tests.faults.workloads import WORKLOADS


@pytest.mark.slow
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_law_holds_of_what_a_crash_leaves(workload: Workload) -> None:
    with settings_parsed_once(), memory_folder() as folder:
        assert try_workload(workload, folder, limit=25) >= 25


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_repair_is_completed_from_whatever_a_crash_leaves_of_it(number: int) -> None:
    with settings_parsed_once(), memory_folder() as folder:
        subject = repairs.subjects(folder)[number]
        assert repairs.try_repair(subject, folder / "left", limit=25) >= 25


def found(recording: Recording, model: Model) -> set[tuple[tuple[str, bytes], ...]]:
    """Return the trees that a model leaves, as pairs of path and bytes."""
    return {
        tuple((path, file.data) for path, file in state.tree.items() if file is not None)
        for state in states(recording, model, limit=1000)
    }


def record_two_files(root: Path, *, synced: bool) -> Recording:
    """Write `ab` to a file, sync it or not, then give it another name."""
    with Recorder(root, Known()) as recorder:
        fd = os.open(root / "new", os.O_WRONLY | os.O_CREAT, 0o600)
        os.pwrite(fd, b"ab", 0)
        if synced:
            os.fsync(fd)
        os.close(fd)
        os.replace(root / "new", root / "old")
    return recorder.stop()


def test_rename_of_what_is_not_synced_may_leave_an_empty_file_or_half_of_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "old").write_bytes(b"before")
    recording = record_two_files(tmp_path, synced=False)
    left = found(recording, "ordered")
    assert {(("old", data),) for data in (b"", b"a", b"ab", b"a\0", b"\0b", b"\0\0")} < left
    assert (("old", b"before"),) in left
    assert (("new", b"ab"), ("old", b"before")) in left


def test_rename_of_what_is_synced_leaves_the_old_file_or_the_new(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"before")
    recording = record_two_files(tmp_path, synced=True)
    names = {content for tree in found(recording, "ordered") for content in tree}
    assert {data for name, data in names if name == "old"} == {b"before", b"ab"}


def test_killed_process_leaves_what_it_did_and_nothing_else(tmp_path: Path) -> None:
    recording = record_two_files(tmp_path, synced=False)
    assert found(recording, "killed") == {
        (),
        (("new", b""),),
        (("new", b"ab"),),
        (("old", b"ab"),),
    }


def test_bytes_before_a_failed_sync_are_never_sure_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    with Recorder(tmp_path, Known()) as recorder:
        fd = os.open(path, os.O_WRONLY)
        os.pwrite(fd, b"a", 0)
        recorder.sync_fails = True
        with pytest.raises(OSError, match="failed sync"):
            os.fdatasync(fd)
        os.pwrite(fd, b"b", 1)
        os.fdatasync(fd)
        os.close(fd)
    recording = recorder.stop()
    assert {(("file", b"ab"),), (("file", b"\0b"),)} <= found(recording, "ordered")


def test_recorder_says_when_something_went_past_it(tmp_path: Path) -> None:
    with Recorder(tmp_path, Known()) as recorder:
        (tmp_path / "file").write_bytes(b"not by way of os")
    with pytest.raises(AssertionError, match="missed an operation"):
        recorder.stop()


def test_recording_played_whole_is_the_folder(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"before")
    recording = record_two_files(tmp_path, synced=True)
    assert [(path, file and file.data) for path, file in play_whole(recording).items()] == [
        ("old", b"ab")
    ]


@pytest.mark.parametrize("model", MODELS)
def test_states_are_the_same_each_time(tmp_path: Path, model: Model) -> None:
    recording = record_two_files(tmp_path, synced=False)
    first = [state.tree for state in states(recording, model, limit=50)]
    assert first == [state.tree for state in states(recording, model, limit=50)]
