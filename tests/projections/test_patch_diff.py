"""The difference of two JSON values: the law, the size, the real histories."""

import gzip
import itertools
import json
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journal.errors import Corrupt, UsageError
from projections import patch
from projections.foreign import read_document

KEYS = st.sampled_from(["", "/", "~", "~1", "~0", "é", "😀", "0", "-", "a", "id", "name"])
IDS = st.sampled_from([1, "1", 1.0, True, 2, "2", -0.0, 0.0, 0, False, None, "a", "b", "c"])
SCALARS = IDS | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=2)
ITEMS = st.fixed_dictionaries({"id": IDS}, optional={"n": SCALARS, "/": st.lists(IDS, max_size=2)})
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(KEYS, inner, max_size=5)
        | st.lists(ITEMS, max_size=6)
        | st.lists(IDS, max_size=8)
    ),
    max_leaves=20,
)
KEYED = st.lists(
    st.fixed_dictionaries({"id": IDS, "text": st.just("a text of some length"), "n": IDS}),
    max_size=9,
    unique_by=lambda item: (type(item["id"]), repr(item["id"])),
)


# What the patches of a history may take, as a share of its versions as compact JSON.
SHARE = {"gap-register": 0.07, "loop-rounds-250": 0.75, "session-state": 0.35, "nested-tasks": 0.01}


def compact(value: Any) -> int:
    return len(orjson.dumps(value))


def check(a: Any, b: Any) -> list[dict[str, Any]]:
    """Assert every law of a difference and return it."""
    kept_a, kept_b = patch.copy(a), patch.copy(b)
    operations = patch.diff(a, b)
    assert patch.equal(patch.apply_patch(patch.copy(a), operations), b)
    assert (operations == []) is patch.equal(a, b)
    assert {operation["op"] for operation in operations} <= {"add", "remove", "replace", "move"}
    assert compact(operations) <= max(2, compact([{"op": "replace", "path": "", "value": b}]))
    check_old(a, b)
    assert patch.equal(a, kept_a)
    assert patch.equal(b, kept_b)
    return operations


def check_old(a: Any, b: Any) -> None:
    state = patch.copy(a)
    for operation in patch.diff_with_old(a, b):
        members = {"add": ("op", "path", "value"), "remove": ("op", "path", "old")}
        wanted = members.get(operation["op"], ("op", "path", "old", "value"))
        assert tuple(operation) == wanted
        if "old" in operation:
            assert patch.equal(patch.get(state, operation["path"]), operation["old"])
        state = patch.apply_patch(state, [operation])
    assert patch.equal(state, b)


@settings(max_examples=60)
@given(JSON, JSON)
def test_patch_leads_from_any_value_to_any_other(a: Any, b: Any) -> None:
    check(a, b)


@settings(max_examples=60)
@given(KEYED, KEYED)
def test_keyed_lists_are_added_to_taken_from_and_reordered(a: Any, b: Any) -> None:
    check({"items": a}, {"items": b})


@settings(max_examples=60)
@given(st.lists(st.sampled_from([0, 1, 2, "x", [1], [True]]), max_size=12), st.data())
def test_edited_lists_without_keys_take_no_more_operations_than_edits(a: Any, data: Any) -> None:
    b = patch.copy(a)
    edits = data.draw(st.integers(0, 3))
    for _ in range(edits):
        at = data.draw(st.integers(0, len(b)))
        b[at : at + data.draw(st.integers(0, 1))] = data.draw(
            st.lists(st.sampled_from([0, "x", "y", [1]]), max_size=1)
        )
    operations = check([a], [b])
    assert len(operations) <= edits


LONG = "a text that is long enough for its item to be worth a move or a removal of its own "


@settings(max_examples=60)
@given(st.sampled_from(["id", "path", ""]), st.integers(0, 9), st.data())
def test_long_items_are_removed_moved_added_and_changed_one_by_one(
    key: str, count: int, data: Any
) -> None:
    def item(number: int) -> Any:
        return {key: number, "text": LONG, "n": 0} if key else [LONG + str(number), 0]

    def change(part: Any) -> None:
        part["n" if key else 1] = 1

    a = [item(number) for number in range(count)]
    gone = data.draw(st.sets(st.sampled_from(range(count)))) if count else set[int]()
    left = [number for number in range(count) if number not in gone]
    if key:
        left = data.draw(st.permutations(left))
    new = data.draw(st.lists(st.integers(0, len(left)), max_size=3))
    for number, at in enumerate(new, count):
        left.insert(at, number)
    b = [item(number) for number in left]
    changed = data.draw(st.sets(st.sampled_from(range(len(b))))) if b and key else set[int]()
    for index in changed:
        change(b[index])
    operations = check(a, b)
    if b:
        # Each edit is one operation, but for an item that took the place of another (two changes).
        assert len(operations) <= len(gone) + len(left) + 2 * len(new) + len(changed)
        assert len(patch.diff_with_old(a, b)) <= 2 * count + 2 * len(new) + len(changed)


@settings(max_examples=60)
@given(JSON, st.randoms())
def test_order_of_members_makes_no_operation(a: Any, random: Any) -> None:
    def shuffled(node: Any) -> Any:
        if isinstance(node, dict):
            keys = list(node)
            random.shuffle(keys)
            return {key: shuffled(node[key]) for key in keys}
        return [shuffled(item) for item in node] if isinstance(node, list) else node

    assert patch.diff(a, shuffled(a)) == []
    assert patch.diff_with_old(a, shuffled(a)) == []


@settings(max_examples=60)
@given(JSON, JSON)
def test_no_part_is_patched_in_more_bytes_than_replacing_it_takes(a: Any, b: Any) -> None:
    operations = patch.diff({"part": a, "rest": "r" * 500}, {"part": b, "rest": "r" * 500})
    assert compact(operations) <= max(2, compact([{"op": "replace", "path": "/part", "value": b}]))


@pytest.mark.parametrize(
    ("a", "b", "operations"),
    [
        ({"n": 1, "t": "text"}, {"n": True, "t": "text"}, [("replace", "/n", True)]),
        ({"n": 1, "t": "text"}, {"n": 1.0, "t": "text"}, [("replace", "/n", 1.0)]),
        ({"n": 0.0, "t": "text"}, {"n": -0.0, "t": "text"}, [("replace", "/n", -0.0)]),
        ({"long name": 1, "b": 2, "c": "x" * 40}, {"c": "x" * 40, "b": 2},
         [("remove", "/long name", None)]),
        (["a", "b", "c" * 90], ["a", "new", "b", "c" * 90], [("add", "/1", "new")]),
        (["a", "b", "c" * 90], ["b", "c" * 90], [("remove", "/0", None)]),
        ([{"x": 1, "y": "y" * 90}], [{"x": 1, "y": "y" * 90}, {"x": 2}], [("add", "/1", {"x": 2})]),
        ([1, 2, 3], [4, 5, 6], [("replace", "", [4, 5, 6])]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [("replace", "/a/b", 2)]),
        (1, 1, []),
        (1, 1.0, [("replace", "", 1.0)]),
    ],
)  # fmt: skip
def test_change_is_as_small_as_it_can_be(a: Any, b: Any, operations: list[Any]) -> None:
    found = [(op["op"], op["path"], op.get("value")) for op in check(a, b)]
    assert len(found) == len(operations)
    for (name, path, value), wanted in zip(found, operations, strict=True):
        assert (name, path) == wanted[:2]
        assert patch.equal(value, wanted[2])


def tasks(*ids: Any, key: str = "id", **changed: Any) -> list[dict[str, Any]]:
    text = "a text that is the same in all of them"
    return [{"text": text, key: id, "n": changed.get(f"n{id}", 0)} for id in ids]


@pytest.mark.parametrize("key", ["id", "key", "name", "number", "uuid", "slug", "taskId", "path"])
def test_items_are_matched_by_key_when_others_come_and_go(key: str) -> None:
    a = tasks(*"abcdefgh", key=key)
    b = tasks(*"xbcdefghy", key=key, nc=1, ng=1)
    b.pop(4)
    a[0]["text"], b[0]["text"] = "one", "other"
    operations = check({"tasks": a}, {"tasks": b})
    # "a" and "x" stand in the same place, so the one is taken for the other, changed.
    assert {op["path"] for op in operations if op["op"] == "replace"} == {
        "/tasks/0", "/tasks/2/n", "/tasks/5/n"
    } or {op["path"] for op in operations if op["op"] == "replace"} == {
        f"/tasks/0/{key}", "/tasks/0/text", "/tasks/2/n", "/tasks/5/n"
    }  # fmt: skip
    assert [op["path"] for op in operations if op["op"] == "remove"] == ["/tasks/4"]
    assert [op["path"] for op in operations if op["op"] == "add"] == ["/tasks/7"]


def test_keys_of_mixed_type_are_kept_apart() -> None:
    a = tasks(1, "1", 1.0, True, None)
    b = tasks("1", 1.0, True, None)
    assert check(a, b) == [{"op": "remove", "path": "/0"}]
    assert check(b, a) == [{"op": "add", "path": "/0", "value": a[0]}]


def test_moved_item_is_moved_and_its_change_follows() -> None:
    a, b = tasks(1, 2, 3, 4, 5), tasks(2, 3, 4, 1, 5, n1=7)
    assert check(a, b) == [
        {"op": "move", "from": "/0", "path": "/3"},
        {"op": "replace", "path": "/3/n", "value": 7},
    ]
    assert [op["op"] for op in patch.diff_with_old(a, b)] == ["remove", "add"]


def test_moves_that_take_more_bytes_than_the_list_are_no_moves() -> None:
    a = [{"id": number} for number in range(8)]
    (operation,) = check({"l": a}, {"l": a[::-1]})
    assert (operation["op"], operation["path"]) == ("replace", "/l")


def test_mixed_keys_are_kept_apart_when_all_items_change() -> None:
    ids = [1, "1", 1.0, True, None, -0.0, 0.0, 0, False]
    a = tasks(*ids)
    b = tasks("new", *ids)
    for item in b:
        item["n"] = 5
    operations = check(a, b)
    assert operations[0] == {"op": "add", "path": "/0", "value": b[0]}
    assert {op["path"] for op in operations[1:]} == {f"/{index}/n" for index in range(1, 10)}


def test_of_other_names_that_with_most_common_values_is_the_key() -> None:
    def items(*numbers: int, add: int = 0) -> list[dict[str, Any]]:
        return [{"a": n + add, "path": f"p{n}", "text": LONG, "z": n * add} for n in numbers]

    operations = check(items(1, 2, 3, 4), items(9, 1, 2, 3, 4, add=50))
    assert [op["path"] for op in operations if op["op"] == "add"] == ["/0"]
    assert {op["path"] for op in operations if op["op"] == "replace"} == {
        f"/{index}/{name}" for index in range(1, 5) for name in "az"
    }


def test_few_edits_far_apart_in_a_long_list_of_repeated_items_stay_few() -> None:
    a = [index * index % 3 for index in range(2000)]
    b = a[:]
    b.insert(1900, 7)
    del b[1000]
    b[5] = 8
    assert [op["op"] for op in check(a, b)] == ["remove", "add", "replace"]


def test_first_key_that_is_distinct_in_both_lists_is_taken() -> None:
    def items(*pairs: tuple[int, str]) -> list[dict[str, Any]]:
        return [{"id": id, "name": name, "text": "t" * 60, "n": 0} for id, name in pairs]

    a = items((1, "a"), (1, "b"), (2, "c"))
    b = items((1, "b"), (2, "c"))
    b[0]["n"] = b[1]["n"] = 5
    assert [(op["op"], op["path"]) for op in check(a, b)] == [
        ("remove", "/0"),
        ("replace", "/0/n"),
        ("replace", "/1/n"),
    ]


def test_values_deeper_than_the_descent_are_replaced_at_its_end() -> None:
    a: Any = {"leaf": 1}
    for _ in range(198):
        a = {"a": a, "fill": "f" * 50}
    b = patch.copy(a)
    pointer = "/a" * 198 + "/leaf"
    patch.set_value(b, pointer, 2)
    (operation,) = check(a, b)
    assert operation["path"] == "/a" * 64


def test_difference_of_what_is_no_json_value_is_refused() -> None:
    with pytest.raises(UsageError, match="only JSON values have a difference"):
        patch.diff({"a": 2**64}, {"a": [2**64]})


def timed(a: Any, b: Any) -> tuple[list[dict[str, Any]], float]:
    """Return the difference and the seconds of processor that the fastest of four runs took."""
    found: list[dict[str, Any]] = []
    seconds: list[float] = []
    for _ in range(4):
        start = time.process_time()
        found = patch.diff(a, b)
        seconds.append(time.process_time() - start)
    return found, min(seconds)


def test_two_leaves_of_a_large_document_are_found_quickly() -> None:
    a = {"tasks": tasks(*range(1500)), "phase": "plan"}
    assert compact(a) > 90_000
    b = json.loads(json.dumps(a))
    b["phase"] = "run"
    b["tasks"][700]["n"] = 0.0
    operations, best = timed(a, b)
    assert [op["path"] for op in operations] == ["/tasks/700/n", "/phase"]
    start = time.process_time()
    json.loads(json.dumps(a))
    assert best < 20 * max(time.process_time() - start, 0.001)


@pytest.mark.slow
@pytest.mark.parametrize("keyed", [True, False])
def test_cost_grows_no_faster_than_the_lists(keyed: bool) -> None:
    def seconds(count: int) -> float:
        a = [{"id" if keyed else "x": i if keyed else i % 7, "n": i % 3} for i in range(count)]
        b = [*patch.copy(a[count // 2 :]), *patch.copy(a[: count // 2])]
        b[1]["n"] = b[-2]["n"] = "changed"
        operations, best = timed(a, b)
        assert patch.equal(patch.apply_patch(patch.copy(a), operations), b)
        return best

    assert seconds(16_000) < 12 * max(seconds(4_000), 0.01)


def versions(path: Path) -> list[Any]:
    found: list[Any] = []
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            version = json.loads(line)
            try:
                data = version["content"].encode()
                found.append(read_document(data, path=version["path"], lenient=True).value)
            except (AttributeError, KeyError, Corrupt):  # deleted, not text, or broken
                continue
    return found


@pytest.mark.slow
def test_real_histories_are_rebuilt_from_patches_smaller_than_their_versions(
    histories: list[Path],
) -> None:
    for path in histories:
        found = versions(path)
        assert len(found) > 10
        state = patch.copy(found[0])
        patched = whole = 0
        for a, b in itertools.pairwise(found):
            text = orjson.dumps(patch.diff(a, b))
            state = patch.apply_patch(state, orjson.loads(text), take=True)
            assert patch.equal(state, b)
            check_old(a, b)
            patched, whole = patched + len(text), whole + compact(b)
        # Where all changes each time, what names the operation comes on top of the version.
        assert patched < whole + 40 * len(found)
        limit = SHARE.get(path.name.removesuffix(".jsonl.gz"), 1.03)
        assert patched < limit * whole
