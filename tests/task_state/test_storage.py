"""The storage adapters, each against the conformance suite; the suite against broken ones."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import journal
from journal.errors import Corrupt, UsageError
from projections.task_state.conformance import CHECKS, Check, check_adapter
from projections.task_state.file_storage import FileStorage
from projections.task_state.journal_storage import JournalStorage
from projections.task_state.memory_storage import MemoryStorage
from projections.task_state.storage import StorageAdapter, storage_get_many
from tests.task_state.tasks import Clock, tree

ADAPTERS: dict[str, Callable[[Path], StorageAdapter]] = {
    "memory": lambda folder: MemoryStorage(),
    "file": lambda folder: FileStorage(folder / "values"),
    "journal": lambda folder: JournalStorage(folder / "values", clock=Clock()),
    "single gets": lambda folder: Single(),
}


class Single:
    """An adapter without `get_many`, as the protocol allows."""

    def __init__(self) -> None:
        self._inner = MemoryStorage()
        self.threads: set[int] = set()

    def get(self, key: str) -> Any:
        self.threads.add(threading.get_ident())
        return self._inner.get(key)

    def set(self, key: str, value: Any) -> None:
        self._inner.set(key, value)

    def delete(self, key: str) -> None:
        self._inner.delete(key)

    def list(self, prefix: str) -> list[str]:
        return self._inner.list(prefix)


@pytest.mark.slow  # as a whole; each key of the suite is synced
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ADAPTERS)
def test_adapter_does_what_every_adapter_must(tmp_path: Path, name: str, check: Check) -> None:
    check(ADAPTERS[name](tmp_path))


def test_whole_suite_runs_against_a_new_adapter_each_time() -> None:
    made: list[MemoryStorage] = []

    def make() -> MemoryStorage:
        made.append(MemoryStorage())
        return made[-1]

    check_adapter(make)
    assert len(made) == len(CHECKS)


# --- the suite finds faults ----------------------------------------------------------------------


class Shared(MemoryStorage):
    """Hands out what it holds."""

    def __init__(self) -> None:
        super().__init__()
        self._live: dict[str, Any] = {}

    def set(self, key: str, value: Any) -> None:
        super().set(key, value)
        self._live[key] = value

    def get(self, key: str) -> Any:
        return self._live.get(key)


class Falsy(MemoryStorage):
    """Takes falsy values for absent ones."""

    def get_many(self, keys: Sequence[str]) -> dict[str, Any]:
        return {key: value for key in keys if (value := self.get(key))}


class Default(MemoryStorage):
    """Has a value for every key."""

    def get(self, key: str) -> Any:
        found = super().get(key)
        return {} if found is None else found


class TakesNull(MemoryStorage):
    """Takes null for deleting."""

    def set(self, key: str, value: Any) -> None:
        if value is None:
            self.delete(key)
        else:
            super().set(key, value)


class Lax(MemoryStorage):
    """Does not tell 1 from 1.0."""

    def get(self, key: str) -> Any:
        found = super().get(key)
        return int(found) if isinstance(found, float) and found.is_integer() else found


class Folded(MemoryStorage):
    """Does not tell small letters from large ones."""

    def set(self, key: str, value: Any) -> None:
        super().set(key.lower(), value)

    def get(self, key: str) -> Any:
        return super().get(key.lower())


class KeepsDeleted(MemoryStorage):
    """Lists what was deleted."""

    def __init__(self) -> None:
        super().__init__()
        self._ever: set[str] = set()

    def set(self, key: str, value: Any) -> None:
        super().set(key, value)
        self._ever.add(key)

    def list(self, prefix: str) -> list[str]:
        return sorted(key for key in self._ever if key.startswith(prefix))


class ByFolder(MemoryStorage):
    """Takes a prefix for a folder."""

    def list(self, prefix: str) -> list[str]:
        return [key for key in super().list("") if not prefix or key.startswith(prefix + "/")]


class FirstCounts(MemoryStorage):
    """Keeps the first value of a key."""

    def set(self, key: str, value: Any) -> None:
        if self.get(key) is None or value is None:
            super().set(key, value)


BROKEN = (Shared, Falsy, Default, TakesNull, Lax, Folded, KeepsDeleted, ByFolder, FirstCounts)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_suite_finds_a_broken_adapter(broken: type[MemoryStorage]) -> None:
    with pytest.raises(AssertionError):
        check_adapter(broken)


def test_every_check_of_the_suite_fails_for_some_broken_adapter() -> None:
    failing: set[str] = set()
    for broken in BROKEN:
        for check in CHECKS:
            try:
                check(broken())
            except AssertionError:
                failing.add(check.__name__)
    assert failing == {check.__name__ for check in CHECKS}


# --- reading many --------------------------------------------------------------------------------


def test_single_gets_run_in_parallel() -> None:
    storage = Single()
    gate = threading.Barrier(3, timeout=5)

    def get(key: str) -> Any:
        gate.wait()  # nobody comes through alone
        return key

    storage.get = get  # type: ignore[method-assign]
    assert storage_get_many(storage, ["a", "b", "c"]) == {"a": "a", "b": "b", "c": "c"}


def test_batch_is_one_call_that_asks_for_each_key_once() -> None:
    calls: list[list[str]] = []

    class Batch(MemoryStorage):
        def get_many(self, keys: Sequence[str]) -> dict[str, Any]:
            calls.append(list(keys))
            return {"a": 1, "b": None, "unasked": 2}

    assert storage_get_many(Batch(), ["a", "b", "a"]) == {"a": 1}
    assert calls == [["a", "b"]]


def test_error_of_a_single_get_passes_through() -> None:
    storage = Single()

    def get(key: str) -> Any:
        raise Corrupt("broken", path=key)

    storage.get = get  # type: ignore[method-assign]
    with pytest.raises(Corrupt):
        storage_get_many(storage, ["a", "b"])


@pytest.mark.parametrize("name", ["memory", "file", "journal"])
@pytest.mark.parametrize("value", [float("nan"), object(), {1: 2}, "\ud800", 2**64])
def test_value_that_is_no_json_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    storage = ADAPTERS[name](tmp_path)
    with pytest.raises(UsageError):
        storage.set("key", value)
    assert storage.list("") == []


@pytest.mark.parametrize("name", ["memory", "file", "journal"])
@pytest.mark.parametrize("key", [1, None, "\ud800"])
def test_key_that_is_no_text_is_refused(tmp_path: Path, name: str, key: Any) -> None:
    storage = ADAPTERS[name](tmp_path)
    uses: list[Callable[[], object]] = [
        lambda: storage.get(key),
        lambda: storage.set(key, 1),
        lambda: storage.delete(key),
    ]
    for use in uses:
        with pytest.raises(UsageError):
            use()


# --- files ---------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
KEYS = st.lists(st.sampled_from(["", ".", "..", "a", "a.json", "%", "%2F", "x" * 250]) | TEXT)


@given(KEYS.map("/".join))
def test_name_of_a_key_can_be_read_back_and_stays_below_the_root(key: str) -> None:
    storage = FileStorage("/root/of/values")
    path = storage.path_of(key)
    assert storage._key_of(path) == key  # pyright: ignore[reportPrivateUsage]
    names = path.relative_to(storage.root).parts
    assert all(name not in ("", ".", "..") and len(name.encode()) <= 255 for name in names)
    assert not any(name.startswith(".") or name.endswith(".json") for name in names[:-1])
    assert names[-1].endswith(".json")


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("layers/task-state/main/state", "layers/task-state/main/state.json"),
        ("a b", "a%20b.json"),
        ("", "%.json"),
        ("a//b", "a/%/b.json"),
        ("../up", "%2E./up.json"),
        ("a.json/b", "a%2Ejson/b.json"),
        ("a.json", "a.json.json"),
    ],
)
def test_file_lies_where_the_slashes_of_its_key_say(tmp_path: Path, key: str, name: str) -> None:
    storage = FileStorage(tmp_path)
    storage.set(key, 1)
    assert (tmp_path / name).read_bytes() == b"1\n"


@pytest.mark.parametrize("data", [b"", b'{"a": ', b"\0\0", b"{} {}", b'{"a": 1, "a": 2}'])
def test_damaged_file_is_an_error_and_never_a_default(tmp_path: Path, data: bytes) -> None:
    storage = FileStorage(tmp_path)
    storage.set("key", 1)
    (tmp_path / "key.json").write_bytes(data)
    with pytest.raises(Corrupt, match=r"key\.json"):
        storage.get("key")
    with pytest.raises(Corrupt):
        storage_get_many(storage, ["key"])
    assert storage.list("") == ["key"]
    storage.set("key", 2)
    assert storage.get("key") == 2


def test_files_of_others_and_journals_are_no_keys(tmp_path: Path) -> None:
    storage = FileStorage(tmp_path)
    storage.set("a/key", 1)
    (tmp_path / "note.txt").write_text("no value")
    (tmp_path / ".hidden.json").write_text("1")
    (tmp_path / "not as%2fwe name.json").write_text("1")
    with journal.init(tmp_path / "a" / "journal") as engine:
        engine.append("set", {"path": "/a", "value": 1})
    assert storage.list("") == ["a/key"]


# --- the journal ---------------------------------------------------------------------------------


def test_journal_keeps_the_history_of_each_key(tmp_path: Path) -> None:
    with JournalStorage(tmp_path / "values", actor="ann", clock=Clock()) as storage:
        for value in (1, 1, 2):
            storage.set("key", value)
        storage.set("other", 0)
        storage.delete("key")
        storage.delete("key")
        storage.set("key", "again")
    with JournalStorage(tmp_path / "values") as storage:
        found = list(storage.history("key"))
        assert [change.value for change in found] == [1, 2, None, "again"]
        assert {change.actor for change in found} == {"ann"}
        assert [change.seq for change in found] == [2, 3, 5, 6]
        assert storage.engine is not None
        assert storage.engine.verify().ok
        assert storage.engine.state_at(3) == {"key": 2}


def test_reading_a_journal_that_is_not_there_makes_nothing(tmp_path: Path) -> None:
    with JournalStorage(tmp_path / "values") as storage:
        assert storage.get("a") is None
        assert storage.list("") == []
        assert storage.get_many(["a"]) == {}
        assert list(storage.history("a")) == []
        storage.delete("a")
    assert tree(tmp_path) == {}


def test_two_adapters_on_one_journal_see_each_other(tmp_path: Path) -> None:
    with JournalStorage(tmp_path / "v") as one, JournalStorage(tmp_path / "v") as two:
        one.set("a", 1)
        two.set("b", 2)
        assert one.get_many(["a", "b"]) == two.get_many(["a", "b"]) == {"a": 1, "b": 2}


def test_journal_of_values_refuses_a_null(tmp_path: Path) -> None:
    with journal.init(tmp_path / "v", projection="task_storage") as engine:
        with pytest.raises(UsageError, match="null"):
            engine.append("value_set", {"key": "a", "value": None})
        engine.append("value_set", {"key": "a", "value": 0})
        assert engine.state == {"a": 0}
