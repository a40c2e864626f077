"""What every storage adapter must do, to be run against one of your own.

    from projections.task_state.conformance import CHECKS, check_adapter

    check_adapter(lambda: MyStorage(fresh_database()))          # raises AssertionError

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_storage(check):
        check(MyStorage(fresh_database()))

I1  Each check gets an adapter without any key, and none depends on another one.
I2  What it says of a failure names the call, what came, and what would be right.
"""

from collections.abc import Callable
from typing import Any

from journal.errors import JournalError
from projections.patch import copy, equal
from projections.task_state.storage import StorageAdapter, storage_get_many

Check = Callable[[StorageAdapter], None]

FALSY: tuple[Any, ...] = (0, "", False, [], {}, 0.0)
VALUES: tuple[Any, ...] = (
    *FALSY,
    1,
    1.0,
    True,
    -(2**63),
    2**64 - 1,
    0.1,
    "text",
    "ä\U0001f600\n\u2028",
    [1, [2, {"a": None}]],
    {"a": {"b": [None, True, 1.5]}, "": "empty key"},
)
KEYS: tuple[str, ...] = (
    "plain",
    "a",
    "A",
    "a/b",
    "a.json",
    "a.json/b",
    "a/",
    "/a",
    "a//b",
    "",
    ".",
    "..",
    "../up",
    ".hidden",
    "a b",
    "a%2Fb",
    "a%b",
    "%",
    "a\\b",
    "a:b*?<>|",
    "ä",
    "a\u0308",
    "\U0001f600",
    "new\nline",
    "x" * 300,
    "x" * 301,
    "layers/task-state/main/state",
)


def check_adapter(make: Callable[[], StorageAdapter]) -> None:
    """Run every check, each against a new adapter; raises `AssertionError` for the first fault."""
    for check in CHECKS:
        check(make())


def absent_key_is_none_and_in_no_list(storage: StorageAdapter) -> None:
    """A key without a value: `get` is None, lists and batches leave it out, deleting is allowed."""
    _same(storage.get("missing"), None, "get of a key without a value")
    _same(storage.list(""), [], "list of an adapter without keys")
    _same(storage_get_many(storage, ["missing"]), {}, "get_many of a key without a value")
    storage.delete("missing")


def every_value_comes_back_equal(storage: StorageAdapter) -> None:
    """1, 1.0 and true are three values; 0, "", false, [] and {} are present."""
    for index, value in enumerate(VALUES):
        storage.set(f"key-{index}", value)
    for index, value in enumerate(VALUES):
        _same(storage.get(f"key-{index}"), value, "get of a value that was set")
    _same(len(storage.list("key-")), len(VALUES), "the number of keys")


def newest_value_counts(storage: StorageAdapter) -> None:
    """A value replaces the one before, of whatever kind."""
    for value in ({"a": 1}, 0, [1], "", {"b": 2}):
        storage.set("key", value)
        _same(storage.get("key"), value, "get after another set")
    _same(storage.list(""), ["key"], "list after several sets of one key")


def deleted_key_is_absent_and_can_come_back(storage: StorageAdapter) -> None:
    """Deleting takes one key away, and twice is as good as once."""
    storage.set("key", 1)
    storage.set("other", 2)
    storage.delete("key")
    storage.delete("key")
    _same(storage.get("key"), None, "get of a deleted key")
    _same(storage.list(""), ["other"], "list after a delete")
    _same(storage_get_many(storage, ["key", "other"]), {"other": 2}, "get_many after a delete")
    storage.set("key", 3)
    _same(storage.get("key"), 3, "get of a key that came back")


def null_is_refused(storage: StorageAdapter) -> None:
    """Null means that there is no value, so it is none."""
    storage.set("key", 1)
    try:
        storage.set("key", None)
    except JournalError:
        pass
    else:
        raise AssertionError("set(key, None) must be refused: null is no value")
    _same(storage.get("key"), 1, "get after a refused set")


def keys_share_nothing(storage: StorageAdapter) -> None:
    """Any text is a key of its own, however alike two are and whatever a file system thinks."""
    for index, key in enumerate(KEYS):
        storage.set(key, index + 1)
    for index, key in enumerate(KEYS):
        _same(storage.get(key), index + 1, f"get of the key {key!r}")
    _same(sorted(storage.list("")), sorted(KEYS), "list of every key")
    for key in KEYS[::2]:
        storage.delete(key)
    _same(sorted(storage.list("")), sorted(KEYS[1::2]), "list after every other key was deleted")


def list_is_by_prefix(storage: StorageAdapter) -> None:
    """The text that a key begins with, not its folder."""
    for key in ("a/b", "a/c", "ab", "b/a", "a%"):
        storage.set(key, 1)
    for prefix, wanted in (
        ("", ["a%", "a/b", "a/c", "ab", "b/a"]),
        ("a", ["a%", "a/b", "a/c", "ab"]),
        ("a/", ["a/b", "a/c"]),
        ("a/b", ["a/b"]),
        ("a%", ["a%"]),
        ("c", []),
    ):
        _same(sorted(storage.list(prefix)), wanted, f"list({prefix!r})")


def many_are_read_at_once(storage: StorageAdapter) -> None:
    """Absent keys are absent, never null; falsy values are present; asking twice is asking once."""
    for index, value in enumerate(FALSY):
        storage.set(f"falsy-{index}", value)
    keys = [f"falsy-{index}" for index in range(len(FALSY))]
    found = storage_get_many(storage, [*keys, "missing", *keys])
    _same(found, dict(zip(keys, FALSY, strict=True)), "get_many of falsy and missing keys")
    _same(storage_get_many(storage, []), {}, "get_many of no key")


def what_is_stored_is_a_copy(storage: StorageAdapter) -> None:
    """Changing what was given, or what was handed out, changes nothing that is stored."""
    value = {"list": [1]}
    kept = copy(value)
    storage.set("key", value)
    value["list"].append(2)
    _same(storage.get("key"), kept, "get after the caller changed what it had set")
    storage.get("key")["list"].append(3)
    storage_get_many(storage, ["key"])["key"]["list"].append(4)
    _same(storage.get("key"), kept, "get after the caller changed what it had got")


CHECKS: tuple[Check, ...] = (
    absent_key_is_none_and_in_no_list,
    every_value_comes_back_equal,
    newest_value_counts,
    deleted_key_is_absent_and_can_come_back,
    null_is_refused,
    keys_share_nothing,
    list_is_by_prefix,
    many_are_read_at_once,
    what_is_stored_is_a_copy,
)
"""Every check; each takes an adapter without keys."""


def _same(found: Any, wanted: Any, what: str) -> None:
    if not equal(found, wanted):
        raise AssertionError(f"{what}: it is {found!r}, and should be {wanted!r}")
