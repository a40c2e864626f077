"""What a restore appends, and whom blame names for what it brought back."""

from pathlib import Path

import pytest

import journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Make a journal in which each event from 2 on changes one member or another."""
    with journal.init(tmp_path / "run") as engine:
        engine.append("set", {"path": "", "value": {"a": 1, "b": 1, "c": [{"id": 1, "x": 1}]}})
        engine.append("set", {"path": "/b", "value": 2})
        engine.append("set", {"path": "/c/0/x", "value": 2})
        engine.append("set", {"path": "/b", "value": 1})
        engine.append("set", {"path": "/c/0/x", "value": 1})
    return tmp_path / "run"


@pytest.mark.parametrize("place", ["head", 6, 2])
def test_a_state_that_is_so_already_is_restored_without_an_event(
    path: Path, place: int | str
) -> None:
    before = (path / "log" / "00000000000000000001.jsonl").read_bytes()
    with journal.open(path) as engine:
        assert engine.restore(place, reason="to be sure") is None
        assert (engine.seq, engine.state) == (6, engine.state_at(place if place != "head" else 6))
    assert (path / "log" / "00000000000000000001.jsonl").read_bytes() == before


def test_a_restore_is_blamed_for_what_it_changed_and_for_nothing_else(path: Path) -> None:
    with journal.open(path) as engine:
        restored = engine.restore(4)
        assert restored is not None
        found = {one.pointer: one.seq for one in engine.blame_all(depth=3)}
        assert found == {"/a": 2, "/b": restored.seq, "/c/0/id": 2, "/c/0/x": restored.seq}
        assert [one.seq for one in engine.blame("/a")] == [2]
