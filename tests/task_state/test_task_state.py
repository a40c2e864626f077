"""The layer: the same life whether a journal keeps it or any storage adapter."""

from pathlib import Path
from typing import Any

import pytest

import journal
from journal.errors import UsageError
from projections.task_state.file_storage import FileStorage
from projections.task_state.journal_storage import JournalStorage
from projections.task_state.keepers import JournalKeeper
from projections.task_state.memory_storage import MemoryStorage
from projections.task_state.places import find_threads, place_of, state_key
from projections.task_state.states import Json, new_state
from projections.task_state.task_state import TaskState
from tests.task_state.tasks import (
    THREAD,
    Clock,
    Make,
    folder_of,
    on_disk,
    read_state,
    tree,
)


@pytest.fixture(params=["journal", "memory", "file", "journal storage"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """What makes a thread's state, in one place for all threads of a test."""
    storages: dict[str, Any] = {
        "journal": None,
        "memory": MemoryStorage(),
        "file": FileStorage(tmp_path / "files"),
        "journal storage": JournalStorage(tmp_path / "values"),
    }
    storage = storages[request.param]
    clock = Clock()

    def made(thread: str = THREAD, **options: Any) -> TaskState:
        options = {"clock": clock, **options}
        return TaskState(thread, root=tmp_path / "root", storage=storage, **options)

    return made


def test_state_is_empty_at_first_and_loaded_after_a_crash(make: Make) -> None:
    with make() as task:
        assert task.state is None
        assert task.recall() is None
        assert task.init() == new_state()
        task.store(0)
        task.record_artifact("a.txt")
        task.set_task_data("phase", "plan")
        before = task.state
        text = task.recall()
    with make() as task:
        assert task.state == before
        assert task.init() == before
        assert task.recall() == text
        assert text is not None
        assert "a.txt" in text


def test_answers_say_whether_anything_changed(make: Make) -> None:
    with make() as task:
        task.init()
        assert task.record_artifact("a").changed
        again = task.record_artifact("a")
        assert (again.ok, again.changed) == (True, False)
        assert task.set_task_data("k", [1]).changed
        assert not task.set_task_data("k", [1]).changed


def test_reserved_key_is_refused_as_a_normal_answer(make: Make) -> None:
    with make() as task:
        task.init()
        before = task.state
        for answer in (
            task.set_task_data("__outcome", "success"),
            task.on_return(new_state(), "__outcome"),
            task.on_return(new_state(), "__outcome", "namespace"),
            task.spawn("__outcome"),
            task.take_back("__outcome"),
        ):
            assert (answer.ok, answer.changed) == (False, False)
            assert "refused" in answer.message
            assert "__outcome" in answer.message
        assert task.state == before


def test_state_for_a_child_is_a_deep_copy(make: Make) -> None:
    with make() as task:
        assert task.on_spawn() == new_state(), "a child always gets a state"
        task.init()
        task.set_task_data("a", {"b": [1]})
        child = task.on_spawn()
        child["data"]["a"]["b"].append(2)
        child["files"].append("x")
        state = task.state
        assert state is not None
        assert state["data"] == {"a": {"b": [1]}}
        assert state["files"] == []


def test_children_come_back_as_the_layer_says_unless_the_call_does(make: Make) -> None:
    child: Json = {**new_state(), "data": {"a": 1}}
    with make(merge_data="namespace") as task:
        task.init()
        task.on_return(child, "w1")
        task.on_return(child, "w2", "shallow")
        state = task.state
        assert state is not None
        assert state["data"] == {"w1": {"a": 1}, "a": 1}


def test_completing_without_a_state_does_nothing(make: Make) -> None:
    with make() as task:
        answer = task.on_complete("success", 0)
        assert (answer.ok, answer.changed) == (True, False)
        assert task.state is None
        task.init()
        assert task.on_complete("failure", 2).changed
        state = task.state
        assert state is not None
        assert state["data"] == {"__outcome": "failure"}
        assert state["checkpoints"][-1]["depth"] == 2


def test_state_can_begin_as_given_but_not_over_another_one(make: Make) -> None:
    with make() as task:
        assert task.init({"data": {"a": 1}}) == {**new_state(), "data": {"a": 1}}
        with pytest.raises(UsageError, match="has a state already"):
            task.init({"data": {}})
    with make("other") as task, pytest.raises(UsageError, match="files"):
        task.init({"files": 5})


def test_thread_is_spawned_and_returns(make: Make) -> None:
    with make() as task:
        task.init()
        task.store(0)
        assert task.spawn("worker").ok
        with make("worker") as worker:
            assert worker.state == task.state
            worker.store(1)
            worker.record_artifact("out.txt")
            worker.set_task_data("result", 42)
            worker.on_complete("success", 1)
        assert task.take_back("worker").ok
        state = task.state
        assert state is not None
        assert state["files"] == ["out.txt"]
        assert state["data"] == {"result": 42}
        assert [one["depth"] for one in state["checkpoints"]] == [0, 1, 1]


def test_thread_that_is_no_child_is_not_spawned_over(make: Make) -> None:
    with make("worker") as worker:
        worker.init()
    with make() as task:
        task.init()
        with pytest.raises(UsageError, match="no child of this one"):
            task.spawn("worker")
        with pytest.raises(UsageError, match="no thread 'nobody'"):
            task.take_back("nobody")


@pytest.mark.parametrize(
    "run",
    [
        lambda task: task.store(0),
        lambda task: task.record_artifact("a"),
        lambda task: task.set_task_data("a", 1),
        lambda task: task.on_return(new_state(), "c"),
        lambda task: task.spawn("c"),
    ],
)
def test_thread_without_a_state_is_not_changed_and_nothing_is_made(
    tmp_path: Path, run: Any
) -> None:
    with on_disk(tmp_path) as task, pytest.raises(UsageError, match="journal task init"):
        run(task)
    assert tree(tmp_path) == {}


@pytest.mark.parametrize(
    "run",
    [
        lambda task: task.store(-1),
        lambda task: task.record_artifact(""),
        lambda task: task.set_task_data("a", float("nan")),
        lambda task: task.set_task_data("a", object()),
        lambda task: task.on_return({"files": []}, "c"),
        lambda task: task.on_return(new_state(), ""),
        lambda task: task.on_return(new_state(), "c", "deep"),
        lambda task: task.on_complete("done", 0),
        lambda task: task.spawn(""),
        lambda task: task.spawn("x" * 300),
        lambda task: task.take_back("nobody"),
        lambda task: task.init({"data": 5}),
    ],
)
def test_refusal_changes_nothing_on_disk(tmp_path: Path, run: Any) -> None:
    with on_disk(tmp_path) as task:
        task.init()
        before = tree(tmp_path)
        with pytest.raises(UsageError):
            run(task)
        assert tree(tmp_path) == before


@pytest.mark.parametrize("merge", ["deep", ""])
def test_way_to_merge_that_is_none_is_refused(merge: Any) -> None:
    with pytest.raises(UsageError, match="shallow, namespace"):
        TaskState("main", storage=MemoryStorage(), merge_data=merge)


# --- on disk -------------------------------------------------------------------------------------


def test_files_lie_where_the_layout_says(tmp_path: Path) -> None:
    with on_disk(tmp_path) as task:
        task.init()
    folder = folder_of(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["journal", "state.json"]
    assert (folder / "state.json").read_bytes() == (
        b'{\n  "checkpoints": [],\n  "files": [],\n  "data": {}\n}\n'
    )
    assert state_key(THREAD) == "layers/task-state/main/state"
    assert FileStorage(tmp_path).get(state_key(THREAD)) == new_state()


@pytest.mark.parametrize(
    ("thread", "name"),
    [
        ("main", "main"),
        ("a/b", "a%2Fb"),
        ("..", "%2E."),
        (".hidden", "%2Ehidden"),
        ("ä b", "%C3%A4%20b"),
        ("100%", "100%25"),
    ],
)
def test_thread_is_percent_encoded_and_found_again(tmp_path: Path, thread: str, name: str) -> None:
    with on_disk(tmp_path, thread) as task:
        task.init()
    assert folder_of(tmp_path, name).is_dir()
    (tmp_path / "layers/task-state/empty").mkdir()
    assert find_threads(tmp_path) == [thread]


@pytest.mark.parametrize("thread", ["", "x" * 241, "ä" * 50, "\ud800"])
def test_name_that_is_none_of_a_thread_is_refused(tmp_path: Path, thread: str) -> None:
    with pytest.raises(UsageError, match="thread"):
        on_disk(tmp_path, thread)


def test_root_is_the_given_one_then_the_variable_then_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JOURNAL_DIR", raising=False)
    assert place_of("a", None).root == Path(".task-state")
    monkeypatch.setenv("JOURNAL_DIR", str(tmp_path))
    assert place_of("a", None).root == tmp_path
    assert place_of("a", "x").root == Path("x")
    assert find_threads(tmp_path / "nowhere") == []


def engine_of(task: TaskState) -> "journal.Engine":
    assert isinstance(task.keeper, JournalKeeper)
    assert task.keeper.engine is not None
    return task.keeper.engine


def types(task: TaskState) -> list[str]:
    return [event.type for event in engine_of(task).events()]


def test_every_change_is_an_event_with_its_actor(tmp_path: Path) -> None:
    with on_disk(tmp_path, actor="ann") as task:
        task.init()
        task.store(0)
        task.record_artifact("a")
        task.record_artifact("a")
        task.set_task_data("k", 1)
        task.spawn("w")
        task.spawn("w")
        task.on_return(new_state(), "x")
        task.on_complete("success", 0)
        task.init()
        assert types(task) == [
            "journal.created",
            "initialized",
            "checkpoint_stored",
            "artifact_recorded",
            "data_set",
            "child_spawned",
            "child_returned",
            "completed",
        ]
        assert {event.actor for event in list(engine_of(task).events())[1:]} == {"ann"}
    with on_disk(tmp_path, "w") as worker:
        assert types(worker) == ["journal.created", "spawned_from"]
        event = list(engine_of(worker).events())[1]
        assert (event.data["thread"], event.data["seq"]) == (THREAD, 5)


def test_spawn_that_was_cut_off_is_completed_by_the_next_one(tmp_path: Path) -> None:
    with on_disk(tmp_path) as task:
        task.init()
        task.spawn("w")
    # As a kill between child and parent leaves it: the child is there, the parent knows nothing.
    with on_disk(tmp_path, "w") as worker:
        state = worker.state
    parent = tmp_path / "parent"
    with on_disk(parent) as task:
        task.init()
    (folder_of(parent, "w")).parent.mkdir(exist_ok=True)
    folder_of(tmp_path, "w").rename(folder_of(parent, "w"))
    with on_disk(parent) as task:
        assert task.spawn("w").ok
        assert types(task)[-1] == "child_spawned"
    with on_disk(parent, "w") as worker:
        assert worker.state == state


def test_past_is_kept_verified_and_rebuilt(tmp_path: Path) -> None:
    with on_disk(tmp_path) as task:
        task.init()
        for depth in range(60):
            task.store(depth)
        engine = engine_of(task)
        assert engine.verify().ok
        assert len(engine.state["checkpoints"]) == 50
        assert engine.state_at(12)["checkpoints"][-1]["depth"] == 9
    path = folder_of(tmp_path) / "state.json"
    data = path.read_bytes()
    path.unlink()
    with journal.open(folder_of(tmp_path) / "journal") as engine:
        engine.rebuild()
        assert path.read_bytes() == data
        engine.restore(5)
    assert len(read_state(tmp_path)["checkpoints"]) == 3


def test_event_that_would_break_the_schema_is_refused_by_the_journal(tmp_path: Path) -> None:
    with journal.init(tmp_path / "run", projection="task_state") as engine:
        for type_, data in (
            ("checkpoint_stored", {"depth": 0}),
            ("artifact_recorded", {"path": "a"}),
            ("data_set", {"key": "a", "value": 1}),
            ("child_returned", {"child_id": "c", "merge_data": "shallow"}),
            ("completed", {"outcome": "success", "depth": 0}),
        ):
            with pytest.raises(UsageError, match="missing"):
                engine.append(type_, data)
        engine.append("initialized", {})
        assert engine.state == new_state()


def test_journal_without_a_state_gets_one_by_init(tmp_path: Path) -> None:
    folder = folder_of(tmp_path) / "journal"
    journal.init(folder, projection="task_state", view_files={"state": "../state.json"}).close()
    with on_disk(tmp_path) as task:
        assert task.state is None
        assert task.init() == new_state()
        assert types(task) == ["journal.created", "initialized"]


def test_two_engines_see_each_others_changes(tmp_path: Path) -> None:
    with on_disk(tmp_path) as one, on_disk(tmp_path) as two:
        assert two.state is None
        one.init()
        two.init()
        one.record_artifact("a")
        two.record_artifact("b")
        assert one.state == two.state
        assert types(one).count("initialized") == 1
