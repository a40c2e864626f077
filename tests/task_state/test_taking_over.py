"""State files that no journal keeps yet, and what becomes of a file that others wrote later."""

import os
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

import journal
from journal import codec
from journal.errors import Corrupt, Drift, UsageError
from projections.patch import equal
from projections.task_state.keepers import JournalKeeper
from projections.task_state.states import Json, new_state
from projections.task_state.task_state import TaskState
from tests.task_state.tasks import THREAD, folder_of, on_disk, read_state, run, tree, write_old

OLD: Json = {
    "house": [1],
    "checkpoints": [{"timestamp": 1, "depth": 0}, {"timestamp": 2.5, "depth": 1, "note": "x"}],
    "files": ["a", "a"],
    "data": {"__outcome": "failure"},
}


def events(task: TaskState) -> list[journal.Event]:
    assert isinstance(task.keeper, JournalKeeper)
    assert task.keeper.engine is not None
    return list(task.keeper.engine.events())


def test_looking_at_a_file_of_before_touches_nothing(tmp_path: Path) -> None:
    write_old(tmp_path, OLD)
    before = tree(tmp_path)
    with on_disk(tmp_path) as task:
        assert task.state == OLD
        assert task.recall() is not None
        assert task.on_spawn() == OLD
    assert tree(tmp_path) == before


@pytest.mark.parametrize("by_init", [True, False])
def test_file_of_before_is_taken_over_by_init_or_its_first_change(
    tmp_path: Path, by_init: bool
) -> None:
    path = write_old(tmp_path, OLD)
    data = path.read_bytes()
    with on_disk(tmp_path) as task:
        if by_init:
            assert equal(task.init(), OLD)
        task.store(3)
        found = events(task)
    assert [event.type for event in found] == [
        "journal.created",
        "journal.taken_over",
        "checkpoint_stored",
    ]
    assert found[1].data["sha256"] == codec.sha256(data)
    state = read_state(tmp_path)
    assert state["checkpoints"][:2] == OLD["checkpoints"]
    assert {name: state[name] for name in ("house", "files", "data")} == {
        name: OLD[name] for name in ("house", "files", "data")
    }


def test_missing_parts_are_filled_and_listed(tmp_path: Path) -> None:
    write_old(tmp_path, {"files": ["a"], "house": 1})
    with on_disk(tmp_path) as task:
        assert task.init() == {**new_state(), "files": ["a"], "house": 1}
        found = events(task)
    assert [event.type for event in found[1:]] == ["journal.taken_over", "normalized"]
    assert [change["path"] for change in found[2].data["changes"]] == ["/checkpoints", "/data"]
    assert found[1].part == (1, 2)


def test_refused_change_takes_nothing_over(tmp_path: Path) -> None:
    write_old(tmp_path, OLD)
    before = tree(tmp_path)
    with on_disk(tmp_path) as task:
        with pytest.raises(UsageError):
            task.store(-1)
        with pytest.raises(UsageError):
            task.init(new_state())
        with pytest.raises(UsageError):
            task.set_task_data("a", float("inf"))
    assert tree(tmp_path) == before


DAMAGED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "cut short": (b'{"checkpoints": [], "fi', "the end of the file"),
    "NUL bytes": (b"\0" * 40, "NUL"),
    "conflict markers": (
        b'{\n<<<<<<< a\n"files": []\n=======\n"files": [1]\n>>>>>>> b\n}',
        "conflict markers",
    ),
    "not UTF-8": (b'{"files": ["\xff"]}', "not UTF-8"),
    "a list": (b"[]", "an object"),
    "a wrong field": (b'{"checkpoints": [{"timestamp": "1", "depth": 0}]}', "checkpoints[0].time"),
    "a null field": (b'{"data": null}', "data"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_file_is_refused_by_its_fault_and_left_as_it_is(tmp_path: Path, name: str) -> None:
    data, fault = DAMAGED[name]
    write_old(tmp_path, data)
    before = tree(tmp_path)
    with on_disk(tmp_path) as task:
        for use in (task.init, lambda: task.store(0), lambda: task.state, task.recall):
            with pytest.raises(Corrupt) as caught:
                use()
            assert fault in str(caught.value)
            assert "Nothing was changed" in str(caught.value)
    ran = run("init", "--thread", THREAD, root=tmp_path)
    assert (ran.code, ran.out) == (5, "")
    assert tree(tmp_path) == before


# --- later ---------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The state file of a thread with a checkpoint."""
    with on_disk(tmp_path) as task:
        task.init()
        task.store(0)
        task.set_task_data("a", 1)
    return folder_of(tmp_path) / "state.json"


def opened(path: Path, said: list[str]) -> TaskState:
    return on_disk(path.parents[3], on_message=said.append)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("deleted", None),
        ("emptied", lambda data: b""),
        ("cut short", lambda data: data[:30]),
        ("NUL bytes", lambda data: b"\0" * len(data)),
        ("NUL bytes at the end", lambda data: data[:30] + b"\0" * 30),
    ],
)
def test_what_a_power_cut_may_leave_is_rebuilt_at_once_and_said(
    path: Path, name: str, damage: Callable[[bytes], bytes] | None
) -> None:
    data = path.read_bytes()
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(data))
    said: list[str] = []
    with opened(path, said) as task:
        assert task.state is not None
    assert path.read_bytes() == data
    assert any("written again" in words for words in said)
    kept = list((path.parent / "journal" / "quarantine").glob("*"))
    assert len(kept) == (damage is not None)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("valid edit", lambda s: s["data"].update(b=2)),
        ("invalid edit", lambda s: s.update(files=5)),
        ("shorter list", lambda s: s.update(checkpoints=[])),
    ],
)
def test_no_edit_is_adopted_unasked(path: Path, name: str, change: Callable[[Json], None]) -> None:
    state = orjson.loads(path.read_bytes())
    change(state)
    path.write_bytes(orjson.dumps(state))
    data = path.read_bytes()
    with opened(path, []) as task:
        for use in (lambda: task.state, lambda: task.store(0), task.init):
            with pytest.raises(Drift, match=r"adopt(.|\n)*rebuild"):
                use()
    assert path.read_bytes() == data
    assert run("status", "--thread", THREAD, root=path.parents[3]).code == 7


def test_conflict_markers_are_drift(path: Path) -> None:
    data = b"<<<<<<< a\n" + path.read_bytes() + b"=======\n{}\n>>>>>>> b\n"
    path.write_bytes(data)
    with opened(path, []) as task, pytest.raises(Drift, match="conflict markers"):
        task.store(0)
    assert path.read_bytes() == data


def test_edit_is_adopted_where_that_is_asked(path: Path) -> None:
    state = orjson.loads(path.read_bytes())
    state["data"]["b"] = 2
    path.write_bytes(orjson.dumps(state))
    with journal.open(path.parent / "journal", on_drift="adopt") as engine:
        assert engine.state == state
    with opened(path, []) as task:
        assert task.state == state


def test_place_that_may_only_be_read_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = journal.open

    def refuse(folder: Path, *, read_only: bool = False, **options: object) -> object:
        if not read_only:
            raise PermissionError(13, "may not be written", str(folder))
        return opening(folder, read_only=True, **options)

    monkeypatch.setattr(journal, "open", refuse)
    with opened(path, []) as task:
        assert task.state is not None


def test_other_errors_of_the_disk_pass_through(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: Path, **options: object) -> object:
        raise OSError(5, "broken", os.fspath(folder))

    monkeypatch.setattr(journal, "open", refuse)
    with opened(path, []) as task, pytest.raises(OSError, match="broken"):
        task.init()
