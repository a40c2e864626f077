"""JSON Patch (RFC 6902), set, remove and merge (RFC 7396)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journal.errors import UsageError
from projections import patch
from projections.patch import MAX_DEPTH


def op(name: str, path: str, *rest: Any) -> dict[str, Any]:
    if name in ("move", "copy"):
        return {"op": name, "from": rest[0], "path": path}
    return {"op": name, "path": path, **({"value": rest[0]} if rest else {})}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("before", "operation", "after"),
    [
        ({"a": 1}, op("add", "/b", [2]), {"a": 1, "b": [2]}),
        ({"a": 1}, op("add", "/a", None), {"a": None}),
        ({"a": 1}, op("add", "", [7]), [7]),
        ([1, 3], op("add", "/1", 2), [1, 2, 3]),
        ([1, 2], op("add", "/2", 3), [1, 2, 3]),
        ([1, 2], op("add", "/-", [3]), [1, 2, [3]]),
        ({}, op("add", "/-", 1), {"-": 1}),
        ({"": {}}, op("add", "//~1~0", 1), {"": {"/~": 1}}),
        ({"a": 1, "b": 2}, op("remove", "/a"), {"b": 2}),
        ([1, 2, 3], op("remove", "/1"), [1, 3]),
        ({"a": [1, {"b": 2}]}, op("replace", "/a/1/b", "x"), {"a": [1, {"b": "x"}]}),
        ([1, 2, 3], op("replace", "/1", None), [1, None, 3]),
        ({"a": 1}, op("replace", "", 5), 5),
        ({"a": {"x": 1}, "b": {}}, op("move", "/b/y", "/a/x"), {"a": {}, "b": {"y": 1}}),
        ([1, 2, 3, 4], op("move", "/3", "/0"), [2, 3, 4, 1]),
        ([1, 2, 3, 4], op("move", "/0", "/3"), [4, 1, 2, 3]),
        ([1, 2], op("move", "/-", "/0"), [2, 1]),
        ({"a": {"b": 1}}, op("move", "", "/a"), {"b": 1}),
        ({"a": 1}, op("move", "/a", "/a"), {"a": 1}),
        ({"a": [1]}, op("copy", "/b", "/a"), {"a": [1], "b": [1]}),
        ({"a": [1]}, op("copy", "/a/0", ""), {"a": [{"a": [1]}, 1]}),
        ({"a": {"y": 1, "x": 2}}, op("test", "/a", {"x": 2, "y": 1}), {"a": {"y": 1, "x": 2}}),
        ({"a": 1}, {"op": "replace", "path": "/a", "old": 1, "value": 2}, {"a": 2}),
    ],
)  # fmt: skip
def test_operation_does_what_the_rfc_says(
    before: Any, operation: dict[str, Any], after: Any
) -> None:
    assert patch.equal(patch.apply_patch(patch.copy(before), [operation]), after)
    assert patch.equal(patch.apply_patch(patch.copy(before), [operation], take=True), after)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (op("add", "/x/y", 1), 'the object at the root has no member "x"'),
        (op("add", "/n/y", 1), 'the value at "/n" is a number'),
        (op("add", "/l/3", 1), 'the list at "/l" has no index 3'),
        (op("add", "/l/01", 1), '"01" is no index'),
        (op("add", "/l/-1", 1), '"-1" is no index'),
        (op("add", "l", 1), 'does not start with "/"'),
        (op("remove", "/x"), 'has no member "x"'),
        (op("remove", "/l/2"), "no index 2"),
        (op("remove", "/l/-"), "only for adding"),
        (op("remove", "/n/0"), "is a number"),
        (op("remove", ""), "the whole value cannot be removed"),
        (op("replace", "/x", 1), 'has no member "x"'),
        (op("replace", "/l/2", 1), "no index 2"),
        (op("replace", "/l/-", 1), "only for adding"),
        (op("move", "/l/0/deep", "/l/0"), '"/l/0" cannot be moved into itself'),
        (op("move", "/x", ""), '"" cannot be moved into itself'),
        (op("move", "/y", "/x"), 'has no member "x"'),
        (op("copy", "/y", "/l/9"), "no index 9"),
        (op("test", "/n", 1.0), r"number, 1\) is not the one .* number, 1\.0\)"),
        (op("test", "/n", True), r"\(a boolean, true\)"),
        (op("test", "/x", 1), 'has no member "x"'),
        (op("test", "/n"), 'it lacks "value"'),
        (op("add", "/n"), 'it lacks "value"'),
        ({"op": "move", "path": "/n"}, 'it lacks "from"'),
        ({"op": "add", "value": 1}, 'it lacks "path"'),
        ({"path": "/n"}, 'it lacks "op"'),
        ({"op": "Add", "path": "/n"}, '"Add" is not an operation'),
        ({"op": "add", "path": 3, "value": 1}, "a JSON Pointer is text"),
        (["add", "/n"], "an operation is an object"),
    ],
)
def test_bad_operation_is_refused_by_index_path_and_reason(operation: Any, reason: str) -> None:
    state = {"n": 1, "l": [0, {}]}
    with pytest.raises(UsageError, match=reason) as caught:
        patch.apply_patch(state, [op("test", "/n", 1), operation])
    assert caught.value.message.startswith("operations[1]")
    assert caught.value.advice
    assert caught.value.key
    if isinstance(operation, dict) and "op" in operation and "path" in operation:
        assert f'({operation["op"]} "{operation["path"]}")' in caught.value.message


@pytest.mark.parametrize("operations", [{"op": "add"}, "[]", None])
def test_a_patch_that_is_no_list_is_refused(operations: Any) -> None:
    with pytest.raises(UsageError, match="a patch is a list of operations"):
        patch.apply_patch({}, operations)


def test_later_changes_of_the_state_do_not_reach_the_operations() -> None:
    shared: list[Any] = [[1]]
    operations = [
        op("add", "/a", shared),
        op("add", "/b", shared),
        op("replace", "/c", {"d": shared}),
    ]
    state = patch.apply_patch({"c": 0}, [*operations, op("copy", "/e", "/a")])
    for pointer in ("/a/0/0", "/b/0/0", "/c/d/0/0", "/e/0/0"):
        before = patch.copy(state)
        state = patch.set_value(state, pointer, pointer)
        assert len(patch.diff(before, state)) == 1
    assert shared == [[1]]
    assert operations[2] == {"op": "replace", "path": "/c", "value": {"d": [[1]]}}


def test_taken_values_are_put_in_as_they_are_but_copy_still_copies() -> None:
    given_up = {"deep": [1]}
    state = patch.apply_patch({}, [op("add", "/a", given_up), op("copy", "/b", "/a")], take=True)
    assert state["a"] is given_up
    assert state["b"] == given_up
    assert state["b"]["deep"] is not given_up["deep"]
    assert patch.set_value({}, "/a", given_up, take=True)["a"] is given_up
    assert patch.set_value({}, "/a", given_up)["a"] is not given_up
    assert patch.set_value({}, "", given_up) is not given_up


@pytest.mark.parametrize(
    ("state", "operation", "over"),
    [
        ({"a": 0}, lambda n: op("add", "/a", nested(n)), MAX_DEPTH),
        ([[]], lambda n: op("add", "/0/-", nested(n)), MAX_DEPTH - 1),
        ({"a": 0}, lambda n: op("replace", "/a", nested(n)), MAX_DEPTH),
        ({"a": 0}, lambda n: op("replace", "", nested(n)), MAX_DEPTH + 1),
        ({"a": nested(150), "b": nested(150)}, lambda n: op("copy", "/b" + "/0" * n, "/a"), 50),
        ({"a": nested(150), "b": nested(150)}, lambda n: op("move", "/b" + "/0" * n, "/a"), 50),
    ],
)
def test_result_may_be_as_deep_as_the_limit_and_no_deeper(
    state: Any, operation: Any, over: int
) -> None:
    fits = patch.apply_patch(patch.copy(state), [operation(over - 1)])
    assert patch.depth(fits) == MAX_DEPTH
    with pytest.raises(UsageError, match="201 levels deep, the limit is 200"):
        patch.apply_patch(patch.copy(state), [operation(over)])


def test_move_to_a_shallower_place_needs_no_measuring() -> None:
    state = {"a": {"b": nested(198)}}
    assert patch.depth(patch.apply_patch(state, [op("move", "/c", "/a/b")])) == 199


@pytest.mark.parametrize(
    ("before", "pointer", "after"),
    [
        ({"a": 1}, "/a", {"a": "new"}),
        ({"a": 1}, "/b", {"a": 1, "b": "new"}),
        ({"a": [1, 2]}, "/a/0", {"a": ["new", 2]}),
        ({"a": [1, 2]}, "/a/2", {"a": [1, 2, "new"]}),
        ({"a": [1, 2]}, "/a/-", {"a": [1, 2, "new"]}),
        ({"a": 1}, "", "new"),
        ([], "/0", ["new"]),
        ({"1": {}}, "/1/-", {"1": {"-": "new"}}),
    ],
)
def test_set_adds_or_replaces(before: Any, pointer: str, after: Any) -> None:
    result = patch.set_value(patch.copy(before), pointer, "new")
    assert patch.equal(result, after)
    assert patch.equal(patch.get(after, pointer.replace("a/-", "a/2")), "new")


@pytest.mark.parametrize(
    ("pointer", "reason"),
    [
        ("/a/b/c", 'the object at "/a" has no member "b"'),
        ("/l/3", 'the list at "/l" has no index 3'),
        ("/l/9/x", 'the list at "/l" has no index 9'),
        ("/l/00", '"00" is no index'),
        ("/t/x", 'the value at "/t" is text'),
    ],
)
def test_set_without_a_parent_names_the_first_missing_one(pointer: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        patch.set_value({"a": {}, "l": [1, 2], "t": "text"}, pointer, 1)
    assert caught.value.key == pointer


def test_set_respects_the_depth_limit() -> None:
    assert patch.depth(patch.set_value({}, "/a", nested(199))) == MAX_DEPTH
    with pytest.raises(UsageError, match="201 levels"):
        patch.set_value({}, "/a", nested(200))


def test_remove_takes_out_and_refuses_what_is_not_there() -> None:
    assert patch.remove_value({"a": [1, 2]}, "/a/0") == {"a": [2]}
    assert patch.remove_value({"a": 1, "": 2}, "/") == {"a": 1}
    for pointer in ("", "/b", "/a/0"):
        with pytest.raises(UsageError):
            patch.remove_value({"a": 1}, pointer)


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ({"a": 1, "b": 2}, {"a": 3}, {"a": 3, "b": 2}),
        ({"a": 1, "b": 2}, {"a": None, "x": None}, {"b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": [None]}}, {"a": {"c": 2, "d": [None]}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": [1]}, {"a": {"b": {"c": None, "d": 1}}}, {"a": {"b": {"d": 1}}}),
        ({"a": 1}, [{"b": None}], [{"b": None}]),
        ({"a": 1}, None, None),
        ("text", {"a": None}, {}),
        ({"a": 1}, {}, {"a": 1}),
        ({"": 1}, {"": {"": 2}}, {"": {"": 2}}),
    ],
)
def test_merge_does_what_the_rfc_says(before: Any, change: Any, after: Any) -> None:
    original = patch.copy(change)
    assert patch.equal(patch.merge(patch.copy(before), change), after)
    assert patch.equal(change, original)
    assert patch.equal(patch.merge(patch.copy(before), change, take=True), after)


MEMBERS = st.recursive(
    st.none() | st.integers(0, 2) | st.lists(st.integers(0, 1), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(MEMBERS, MEMBERS)
def test_merge_equals_its_definition(before: Any, change: Any) -> None:
    def defined(target: Any, part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        result: dict[str, Any] = dict(target) if isinstance(target, dict) else {}
        for key, new in part.items():
            if new is None:
                result.pop(key, None)
            else:
                result[key] = defined(result.get(key), new)
        return result

    wanted = defined(before, change)
    assert patch.equal(patch.merge(patch.copy(before), change), wanted)


def test_merge_shares_no_list_with_the_patch_and_respects_the_depth_limit() -> None:
    change: Any = {"a": {"l": [[1]]}}
    merged = patch.merge({}, change)
    merged["a"]["l"][0].append(2)
    merged["a"]["new"] = 1
    assert change == {"a": {"l": [[1]]}}
    assert patch.depth(patch.merge({}, {"a": nested(199)})) == MAX_DEPTH
    with pytest.raises(UsageError, match="201 levels deep"):
        patch.merge({}, {"a": nested(200)})
