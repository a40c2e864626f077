"""Checkpoints that were asked for are part of history, whatever becomes of their files."""

from pathlib import Path

import pytest

import journal


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with journal.init(tmp_path / "run") as j:
        j.append("set", {"path": "/x", "value": 1})
        j.snapshot("risky", "before the risky step")
        j.append("set", {"path": "/x", "value": 2})
    return tmp_path / "run"


def test_a_deleted_checkpoint_is_noted_found_by_name_and_written_again(run: Path) -> None:
    (path,) = (run / "snapshots").iterdir()
    data = path.read_bytes()
    path.unlink()
    with journal.open(run) as j:
        report = j.verify()
        assert report.ok
        assert [path.name in note for note in report.notes] == [True]
        assert j.seq_of("risky") == j.seq_of("before the risky step") == 2
        assert j.rebuild().written == [f"snapshots/{path.name}"]
        assert j.verify().notes == []
    assert path.read_bytes() == data


def test_a_checkpoint_taken_right_after_opening_bears_the_time_of_its_event(run: Path) -> None:
    with journal.open(run) as j:
        taken = j.snapshot()
        assert taken.time == next(j.events(taken.seq - 1, taken.seq)).time
        assert j.rebuild().written == []


def test_a_pruned_checkpoint_stays_away(run: Path) -> None:
    with journal.open(run) as j:
        (found,) = j.snapshots()
        j.prune([found.file], reason="no longer wanted")
        assert j.rebuild().written == []
        assert (j.snapshots(), j.verify().notes) == ([], [])
