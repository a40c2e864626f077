"""The events of the projection `document`: what they do, and what is refused on appending."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journal import codec
from journal.errors import UsageError
from journal.event import Event
from projections import patch
from projections.document.projection import PROJECTION, Imported, Merge, Patch, Remove, Set
from projections.document.translation import translate
from projections.document.version import Version

TIME = "2026-03-01T14:45:00.000Z"
VERSION = {"n": 1, "path": "a.json", "source_time": TIME}

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from([0.0, -0.0, 1.0, 0.5])
    | st.text("ab/~é", max_size=3),
    lambda child: (
        st.lists(child, max_size=4)
        | st.dictionaries(st.text("ab/~", max_size=2), child, max_size=4)
    ),
    max_leaves=12,
)


def lines(*events: tuple[str, Any], first_seq: int = 1) -> bytes:
    """The events as they stand in a log."""
    bodies = [
        codec.encode_body(Event(seq=seq, time=TIME, type=name, data=None), codec.encode_value(data))
        for seq, (name, data) in enumerate(events, first_seq)
    ]
    return bytes(codec.seal(bodies, 0)[0])


def append(state: Any, *events: tuple[str, Any]) -> Any:
    """What the engine does with events that are about to be written."""
    return PROJECTION.apply_new(state, PROJECTION.decode_new(lines(*events)))


def fold(*events: tuple[str, Any]) -> Any:
    return PROJECTION.fold(PROJECTION.initial(), lines(*events))


def test_state_is_an_empty_object_at_first_so_that_a_member_can_be_set() -> None:
    assert PROJECTION.initial() == {}
    assert append(PROJECTION.initial(), ("set", {"path": "/phase", "value": "plan"})) == {
        "phase": "plan"
    }


@pytest.mark.parametrize(
    ("before", "event", "after"),
    [
        ({}, ("set", {"path": "/a", "value": None}), {"a": None}),
        ({"a": [1]}, ("set", {"path": "/a/-", "value": 2}), {"a": [1, 2]}),
        ({"a": 1}, ("set", {"path": "", "value": [3]}), [3]),
        (None, ("set", {"path": "", "value": {}}), {}),
        ({"a": 1, "b": 2}, ("remove", {"path": "/a"}), {"b": 2}),
        ({"a": {"b": 1}}, ("merge", {"patch": {"a": {"b": None, "c": 2}}}), {"a": {"c": 2}}),
        (None, ("merge", {"patch": {"a": 1}}), {"a": 1}),
        ({"a": 1}, ("merge", {"patch": None}), None),
        ([1], ("patch", {"patch": [{"op": "add", "path": "/0", "value": 0}]}), [0, 1]),
        ({"a": 1}, ("patch", {"patch": []}), {"a": 1}),
        ({"a": 1}, ("imported", {**VERSION, "patch": [{"op": "remove", "path": "/a"}]}), {}),
        ({"a": 1}, ("imported", {**VERSION, "patch": []}), {"a": 1}),
        ({"a": 1}, ("imported", {**VERSION, "deleted": True}), None),
        ({"a": 1}, ("imported", {**VERSION, "text": "", "why": "the file is empty"}), {"a": 1}),
        ({"a": 1}, ("imported", {**VERSION, "text_b64": "/w==", "why": "not UTF-8"}), {"a": 1}),
    ],
)  # fmt: skip
def test_event_changes_the_state_as_its_name_says(
    before: Any, event: tuple[str, Any], after: Any
) -> None:
    assert patch.equal(append(patch.copy(before), event), after)
    assert patch.equal(PROJECTION.fold(patch.copy(before), lines(event)), after)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (("set", {"path": "a", "value": 1}), 'does not start with "/"'),
        (("set", {"path": "/x/y", "value": 1}), 'no member "x"'),
        (("set", {"path": "/a/0", "value": 1}), "a number"),
        (("set", {"path": "/a"}), "value"),
        (("set", {"path": "/a", "value": 1, "extra": 2}), "extra"),
        (("remove", {"path": "/b"}), 'no member "b"'),
        (("remove", {"path": ""}), "the whole value cannot be removed"),
        (("merge", {}), "patch"),
        (("patch", {"patch": [{"op": "replace", "path": "/b", "value": 1}]}), "data.patch[0]"),
        (("patch", {"patch": {"op": "remove"}}), "patch"),
        (("imported", VERSION), "exactly one of"),
        (("imported", {**VERSION, "patch": [], "deleted": True}), "exactly one of"),
        (("imported", {**VERSION, "text": "", "text_b64": ""}), "exactly one of"),
        (("imported", {"path": "a.json", "patch": []}), "n"),
    ],
)
def test_event_that_cannot_be_applied_is_refused_when_appended(
    event: tuple[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        append({"a": 1}, event)
    assert said in str(refused.value)


def test_state_deeper_than_the_limit_is_refused_when_appended() -> None:
    value: Any = 1
    for _ in range(patch.MAX_DEPTH - 2):
        value = [value]
    with pytest.raises(UsageError, match="202 levels deep"):
        append({"a": {"b": {"c": {}}}}, ("set", {"path": "/a/b/c/d", "value": value}))


def test_empty_members_of_typed_events_are_not_stored() -> None:
    encoded = codec.encode_value(Imported(n=1, path="a.json", patch=[]))
    assert encoded == b'{"n":1,"path":"a.json","patch":[]}'
    assert codec.encode_value(Set(path="", value=None)) == b'{"path":"","value":null}'
    assert codec.encode_value(Merge(patch={})) == b'{"patch":{}}'
    assert codec.encode_value(Patch(patch=[])) == b'{"patch":[]}'
    assert codec.encode_value(Remove(path="/a")) == b'{"path":"/a"}'


def test_unfit_event_in_a_log_is_told_and_leaves_the_state_alone() -> None:
    unknown: list[Any] = []
    events = [("set", {"path": "/a", "value": 1}), ("set", {"path": 7}), ("zz.future", {})]
    assert PROJECTION.fold({}, lines(*events), unknown) == {"a": 1}
    assert [event.seq for event in unknown] == [2, 3]


@settings(max_examples=40)
@given(st.lists(JSON, min_size=1, max_size=5))
def test_fold_of_imported_values_equals_each_value_strictly(values: list[Any]) -> None:
    state, folded = PROJECTION.initial(), PROJECTION.initial()
    for n, value in enumerate(values, 1):
        made = translate(Version(n=n, time=TIME, path="a.json", value=value), state)
        state = made.state
        folded = PROJECTION.fold(folded, lines(("imported", made.data), first_seq=n))
        assert patch.equal(folded, value)
        assert codec.encode_value(state) == codec.encode_value(folded)


@settings(max_examples=40)
@given(st.lists(JSON, min_size=1, max_size=4))
def test_events_do_not_share_values_with_the_state_that_they_made(values: list[Any]) -> None:
    state, kept = PROJECTION.initial(), []
    for n, value in enumerate(values, 1):
        made = translate(Version(n=n, time=TIME, value=value), state)
        kept.append((made.data, codec.encode_value(made.data)))
        state = made.state
    for data, encoded in kept:
        assert codec.encode_value(data) == encoded


def test_revision_of_the_projection_does_not_reach_the_import_code() -> None:
    from projections import revision

    assert PROJECTION.revision
    source = revision.read_source("projections.document.projection") or ""
    assert "projections.document." not in source.replace("projections.document.projection", "")
