"""Group D: state.json is a projection: what stands there never decides what happened.

A power cut's traces (missing, empty, NUL, cut short, older) are written again and said. Anything
else is somebody's edit: a writer is refused with the place (`Drift`), a reader has the log's state,
and `adopt` or `rebuild` decides. The bytes that stood there are kept.
"""

import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from collections import OrderedDict, UserDict, namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from journal.errors import Corrupt, Drift, UsageError
from tests.cases.made import (
    Made,
    append_to,
    files,
    make,
    readable,
    refused,
    refused_as_corrupt,
    unchanged,
)


def make_long(tmp_path: Path) -> Made:
    """Make a journal whose state.json has some length."""
    made = make(tmp_path, 1)
    with made.open() as engine:
        engine.append("merge", {"patch": {"phase": "plan", "tasks": ["a", "b"], "note": "é"}})
    return made


# --- D01 and D02: half a text, and two texts -----------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 10, 25, -2])
def test_d01_state_cut_short_is_written_again_said_and_kept(tmp_path: Path, size: int) -> None:
    made = make_long(tmp_path)
    whole = made.state.read_bytes()
    made.state.write_bytes(half := whole[:size])
    with unchanged(made), made.read() as engine:
        assert engine.state["phase"] == "plan"
    with made.open() as engine:
        assert engine.state["tasks"] == ["a", "b"]
        (said,) = engine.messages
        assert engine.verify().ok
    assert "state.json: it ends before its JSON value does" in said
    assert made.state.read_bytes() == whole
    assert list(made.quarantined.values()) == [half]
    assert len(made.lines()) == 2, "a view that is rebuilt is no event"


def test_d01_state_cut_inside_a_character_is_written_again(tmp_path: Path) -> None:
    made = make_long(tmp_path)
    whole = made.state.read_bytes()
    made.state.write_bytes(whole[: whole.index("é".encode()) + 1])
    with made.open() as engine:
        assert engine.state["note"] == "é"
    assert made.state.read_bytes() == whole


def test_d01_state_or_witness_that_is_older_than_the_other_is_written_again(tmp_path: Path) -> None:
    """A power cut may leave either: neither is synced."""
    made = make(tmp_path)
    witness = made.witness.read_bytes()
    with made.open() as engine:
        append_to(engine, 7)
        older = made.state.read_bytes()
        append_to(engine, 8)
    whole = made.state.read_bytes()
    made.state.write_bytes(older)
    with made.open() as engine:
        assert engine.state == {"k": 8}
    assert made.state.read_bytes() == whole
    made.witness.write_bytes(witness)
    with made.open() as engine:
        assert engine.state == {"k": 8}
    assert made.state.read_bytes() == whole
    assert len(made.lines()) == 8


def test_d01_state_put_back_from_long_ago_is_drift(tmp_path: Path) -> None:
    """Each append's sync puts the rename before it on disk: only a person goes back further."""
    made = make(tmp_path)
    older = made.state.read_bytes()
    with made.open() as engine:
        append_to(engine, 9)
    made.state.write_bytes(older)
    assert refused(made, Drift, 7).pointer == "/k"


def test_d02_shorter_text_over_a_longer_one_is_not_read_as_its_first_value(tmp_path: Path) -> None:
    made = make_long(tmp_path)
    whole = made.state.read_bytes()
    text = b'{"phase":"x"}\n'
    made.state.write_bytes(torn := text + whole[len(text) :])
    with unchanged(made), made.read() as engine:
        assert engine.state["phase"] == "plan"
        assert not engine.verify().ok
    with made.open(on_drift="replace") as engine:
        assert engine.state["phase"] == "plan"
        assert any("quarantine" in said for said in engine.messages)
    assert made.state.read_bytes() == whole
    assert list(made.quarantined.values()) == [torn]


def test_d02_text_with_the_tail_of_another_is_drift_with_the_line_of_the_tail(
    tmp_path: Path,
) -> None:
    """No write of ours leaves that (views are renamed whole): the design calls it drift."""
    made = make_long(tmp_path)
    whole = made.state.read_bytes()
    made.state.write_bytes(b'{"phase":"x"}\n  ]\n}\n')
    error = refused(made, Drift, 7)
    assert error.path == str(made.state)
    assert "line 2" in str(error)
    assert "torn write" in str(error) or "follow" in str(error)
    with made.open(on_drift="replace"):
        pass
    assert made.state.read_bytes() == whole


@pytest.mark.parametrize(
    "text",
    [
        b'{"k":5}{"k":5}', b'{"k":5}\n{"k":6}\n', b"]", b"nonsense", b'{"k":5,}', b"{'k':5}",
        b'{"k":05}', b'{"k":NaN}', b'{"k":5} // five', b"k: 5\n", b'{"k":5}}',
    ],
)  # fmt: skip
def test_d02_text_that_is_no_json_is_drift_with_its_place(tmp_path: Path, text: bytes) -> None:
    made = make(tmp_path)
    made.state.write_bytes(text)
    error = refused(made, Drift, 7)
    assert (error.path, "line 1" in str(error) or "line 2" in str(error)) == (
        str(made.state),
        True,
    )
    assert readable(made) == ([1, 2, 3, 4, 5], None)


# --- D04: a state that is ahead ------------------------------------------------------------------


def test_d04_state_ahead_of_the_log_is_refused_with_both_numbers_and_kept(tmp_path: Path) -> None:
    """The log lost events 6 to 9; state.json, vouched for at 9, is not made smaller."""
    made = make(tmp_path, 9)
    made.put(made.lines()[:5])
    error = refused_as_corrupt(made, line=6, offset=made.offset(6))
    for fact in ("events 6 to 9", "event 9 was known", "end at event 5"):
        assert fact in error.why
    assert b'"k": 9' in made.state.read_bytes()
    found = readable(made)
    assert (found.seqs, found.damage is None) == ([1, 2, 3, 4, 5], False)
    with made.read() as engine:
        with pytest.raises(Corrupt, match="events 6 to 9"):
            _ = engine.state
        assert engine.state_at(5) == {"k": 5}
        assert "witness" in [problem.kind for problem in engine.verify().problems]


def test_d04_state_ahead_by_what_the_durability_allows_to_lose_is_said_and_written_again(
    tmp_path: Path,
) -> None:
    """With `os` a view may run ahead of the disk; after a power cut the lost events are named."""
    made = make(tmp_path, 3, durability="os")
    with made.open() as engine:
        engine.flush()
        witness_of_3 = made.witness.read_bytes()
        append_to(engine, 9)
        ahead, log = made.witness.read_bytes(), made.lines()
    assert b'"seq":9' in ahead
    # The views of 9 are vouched for, and only 3 was synced.
    assert witness_of_3
    made.witness.write_bytes(ahead)
    made.put(log[:5])
    with made.open() as engine:
        assert engine.state == {"k": 5}
        assert any("events 6 to 9" in said and "'os'" in said for said in engine.messages)
        assert engine.verify().ok
    made.log_on()


# --- D05: an edit by hand ------------------------------------------------------------------------


def edited(made: Made) -> bytes:
    made.state.write_bytes(text := made.state.read_bytes().replace(b"5", b"999"))
    return text


def test_d05_hand_edit_is_drift_at_its_pointer_and_the_log_stays_the_truth(tmp_path: Path) -> None:
    made = make(tmp_path)
    edited(made)
    error = refused(made, Drift, 7)
    assert (error.path, error.pointer) == (str(made.state), "/k")
    assert "journal adopt" in error.advice
    assert "journal rebuild" in error.advice
    with unchanged(made), made.read() as engine:
        assert engine.state == {"k": 5}
        (problem,) = engine.verify().problems
        assert (problem.kind, "'/k'" in problem.message) == ("view", True)
        assert [view.status for view in engine.status().views] == ["changed"]


def test_d05_hand_edit_is_kept_aside_when_it_is_put_back(tmp_path: Path) -> None:
    made = make(tmp_path)
    whole = made.state.read_bytes()
    text = edited(made)
    with made.open(on_drift="replace") as engine:
        engine.rebuild()
        assert engine.verify().ok
    assert made.state.read_bytes() == whole
    assert list(made.quarantined.values()) == [text]
    made.log_on()


def test_d05_hand_edit_is_an_event_when_it_is_adopted(tmp_path: Path) -> None:
    made = make(tmp_path)
    edited(made)
    with made.open(on_drift="adopt") as engine:
        assert (engine.state, engine.seq) == ({"k": 999}, 6)
        (event,) = engine.events(after=5)
    assert event.type == "journal.adopted"
    assert event.data["patch"] == [{"op": "replace", "path": "/k", "old": 5, "value": 999}] or (
        event.data["patch"][0]["path"] == "/k"
    )
    made.log_on()


def test_d05_hand_edit_during_a_run_is_kept_aside_said_and_stops_no_append(tmp_path: Path) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        text = edited(made)
        assert engine.append("set", {"path": "/other", "value": 1}).seq == 6
        assert engine.state == {"k": 5, "other": 1}
        assert any("state.json" in said and "kept as" in said for said in engine.messages)
    assert list(made.quarantined.values()) == [text]
    made.log_on()


@pytest.mark.parametrize(
    "change",
    [b'{"k": 5.0}', b'{"k": "5"}', b'{"k": true}', b'{"k": 5, "x": null}', b"null", b"[]", b"5"],
)
def test_d05_edit_that_only_changes_a_type_is_drift_too(tmp_path: Path, change: bytes) -> None:
    """1, 1.0 and true are three values."""
    made = make(tmp_path)
    made.state.write_bytes(change)
    assert refused(made, Drift, 7).path == str(made.state)


def test_d05_same_data_in_other_bytes_is_written_again_and_is_no_drift(tmp_path: Path) -> None:
    made = make(tmp_path)
    whole = made.state.read_bytes()
    made.state.write_bytes(b'{"k":5}')
    with made.open() as engine:
        assert engine.state == {"k": 5}
    assert made.state.read_bytes() == whole
    assert list(made.quarantined.values()) == [b'{"k":5}']
    assert len(made.lines()) == 5


# --- D07: values that JSON cannot hold -----------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"


class Struct(msgspec.Struct):
    a: int = 1


@dataclasses.dataclass
class Data:
    a: int = 1


Point = namedtuple("Point", "x y")
NOW = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)

UNFIT: dict[str, Any] = {
    "datetime": NOW,
    "date": NOW.date(),
    "time": NOW.time(),
    "timedelta": datetime.timedelta(1),
    "set": {1},
    "frozenset": frozenset({1}),
    "lambda": lambda: 1,
    "class": int,
    "bytes": b"x",
    "bytearray": bytearray(b"x"),
    "memoryview": memoryview(b"x"),
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
    "complex": 1j,
    "Decimal": decimal.Decimal("1.5"),
    "UUID": uuid.UUID(int=1),
    "Path": pathlib.PurePosixPath("/x"),
    "Enum": Colour.RED,
    "dataclass": Data(),
    "Struct": Struct(),
    "tuple": (1, 2),
    "empty tuple": (),
    "namedtuple": Point(1, 2),
    "generator": iter([1]),
    "range": range(2),
    "Ellipsis": ...,
    "UserDict": UserDict({"a": 1}),
    "too large": 2**64,
    "too small": -(2**63) - 1,
    "4,301 digits": 10**4300,
    "lone surrogate": "a\ud800",
    "int key": {1: "x"},
    "int and text key": {1: "x", "1": "y"},
    "float key": {1.5: "x"},
    "bool key": {True: "x"},
    "None key": {None: "x"},
    "bytes key": {b"a": "x"},
    "tuple key": {(1, 2): "x"},
    "lone surrogate in a key": {"\udfff": 1},
}

PLACES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "value": (lambda value: value, "data.value"),
    "member": (lambda value: {"d": value}, "data.value.d"),
    "item": (lambda value: ["a", {"b": [value]}], "data.value[1].b[0]"),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
@pytest.mark.parametrize("value", UNFIT.values(), ids=UNFIT.keys())
def test_d07_value_that_json_cannot_hold_is_rejected_with_its_path_before_a_byte_is_written(
    journal_of_5: Made, value: Any, place: tuple[Callable[[Any], Any], str]
) -> None:
    wrap, path = place
    with journal_of_5.open() as engine:
        before = files(journal_of_5.path)
        with pytest.raises(UsageError) as caught:
            engine.append("set", {"path": "/k", "value": wrap(value)})
        assert caught.value.exit_code == 2
        assert caught.value.key.startswith(path)
        assert path in caught.value.message
        with pytest.raises(UsageError):
            engine.append_batch(
                [("set", {"path": "/k", "value": 6}), ("set", {"path": "/k", "value": wrap(value)})]
            )
        assert files(journal_of_5.path) == before
        assert (engine.seq, engine.state) == (5, {"k": 5})


@pytest.fixture(scope="module")
def journal_of_5(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """One journal for all the appends that change nothing."""
    return make(tmp_path_factory.mktemp("d07"))


def test_d07_value_that_holds_itself_is_rejected(tmp_path: Path) -> None:
    made = make(tmp_path)
    loop: list[Any] = []
    loop.append(loop)
    with made.open() as engine, pytest.raises(UsageError, match="nested more than 200 deep"):
        engine.append("set", {"path": "/k", "value": loop})


@pytest.mark.parametrize("data", [None, 5, "x", [], {"path": "/k"}, {"value": 1}, {}, b"", NOW])
def test_d07_data_that_does_not_fit_its_event_is_rejected(tmp_path: Path, data: Any) -> None:
    made = make(tmp_path, 2)
    with made.open() as engine:
        before = files(made.path)
        with pytest.raises(UsageError) as caught:
            engine.append("set", data)
        assert caught.value.key.startswith("data")
        assert files(made.path) == before


FIT: dict[str, tuple[Any, Any]] = {
    "OrderedDict": (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    "limits": ([2**64 - 1, -(2**63), 1.7976931348623157e308, 5e-324], None),
    "minus zero": (-0.0, None),
    "empty": ([{}, [], "", None, False], None),
    "text": ("a\u0000b\u2028\u2029\u0085\U0001f600\ufffe\ufeff", None),
    "keys": ({"": 1, " ": 2, "a.b": 3, "a/b~c": 4, "\u0000": 5}, None),
}


@pytest.mark.parametrize("given", FIT.values(), ids=FIT.keys())
def test_d07_value_that_json_can_hold_reads_back_equal(
    tmp_path: Path, given: tuple[Any, Any]
) -> None:
    made = make(tmp_path, 1)
    value = given[0] if given[1] is None else given[1]
    with made.open() as engine:
        engine.append("set", {"path": "/k", "value": given[0]})
    with made.open() as engine:
        for state in (engine.state, engine.state_at(2)):
            assert repr(state) == repr({"k": value})
        assert engine.verify().ok
