"""The file: each field broken once is named, and the checkpoint is checked against itself."""

import copy
from typing import Any

import orjson
import pytest

from journal.errors import Corrupt, UnsupportedFormat, UsageError
from projections import patch
from projections.checkpointed_loop import schema
from tests.checkpointed_loop.making import ROADS, Desk, foreign

HISTORY: list[dict[str, Any]] = foreign()["history"]
EVIDENCE: list[dict[str, Any]] = foreign()["evidence"]


def with_entry(entries: list[dict[str, Any]], index: int, **over: Any) -> list[dict[str, Any]]:
    """The entries with one of them changed; a member that is given as `...` is taken away."""
    found = copy.deepcopy(entries)
    found[index] |= over
    for name in [name for name, value in over.items() if value is ...]:
        del found[index][name]
    return found


FIELDS: list[tuple[str, Any]] = [
    ("schemaVersion", "1"),
    ("schemaVersion", 1.0),
    ("schemaVersion", True),
    ("schemaVersion", 0),
    ("taskId", ""),
    ("taskId", 7),
    ("objective", " "),
    ("state", "done"),
    ("attempts", -1),
    ("attempts", 1.0),
    ("attempts", True),
    ("maxAttempts", 0),
    ("maxAttempts", "3"),
    ("maxAttempts", 2**53),
    ("nextAction", None),
    ("createdAt", "now"),
    ("updatedAt", 7),
    ("history", {}),
    ("evidence", None),
    ("terminalReason", ""),
]
AGAINST_ITSELF: list[tuple[str, dict[str, Any]]] = [
    ("state", {"state": "running"}),
    ("state", {"state": "planned"}),
    ("attempts", {"attempts": 1}),
    ("attempts", {"attempts": 3}),
    ("attempts", {"maxAttempts": 1}),
    ("evidence", {"state": "planned", "attempts": 0, "history": []}),
    ("terminalReason", {"terminalReason": "no owner"}),
    ("history[0]", {"history": [7, *HISTORY[1:]]}),
    ("history[0].from", {"history": HISTORY[1:], "attempts": 1}),
    ("history[0].to", {"history": [{**HISTORY[0], "to": "verifying"}, *HISTORY[1:]]}),
    ("history[1].from", {"history": with_entry(HISTORY, 1, **{"from": "planned"})}),
    ("history[1].to", {"history": with_entry(HISTORY, 1, to="running")}),
    ("history[1].at", {"history": with_entry(HISTORY, 1, at="late")}),
    ("history[1].at", {"history": with_entry(HISTORY, 1, at=...)}),
    ("history[2].reason", {"history": with_entry(HISTORY, 2, reason=" ")}),
    ("evidence[0]", {"evidence": [None]}),
    ("evidence[0].check", {"evidence": with_entry(EVIDENCE, 0, check="")}),
    ("evidence[0].outcome", {"evidence": with_entry(EVIDENCE, 0, outcome="pass")}),
    ("evidence[0].at", {"evidence": with_entry(EVIDENCE, 0, at=None)}),
    ("evidence[0].artifact", {"evidence": with_entry(EVIDENCE, 0, artifact=7)}),
    (
        "history[4].reason",
        {"state": "blocked", "history": [*HISTORY, {**HISTORY[2], "to": "blocked", "reason": ...}]},
    ),
    (
        "terminalReason",
        {"state": "blocked", "history": [*HISTORY, {**HISTORY[2], "to": "blocked"}]},
    ),
    (
        "terminalReason",
        {
            "state": "blocked",
            "history": [*HISTORY, {**HISTORY[2], "to": "blocked"}],
            "terminalReason": "another",
        },
    ),
    ("evidence", {"state": "succeeded", "history": [*HISTORY, {**HISTORY[2], "to": "succeeded"}]}),
    (
        "history[5].to",
        {
            "state": "running",
            "attempts": 3,
            "history": [
                *HISTORY,
                {**HISTORY[2], "to": "failed"},
                {**HISTORY[0], "from": "failed"},
            ],
        },
    ),
]


def breaks(key: str, state: dict[str, Any]) -> None:
    """Check that a state is refused by the name `key`."""
    for entry in state.get("history", []):
        if isinstance(entry, dict) and entry.get("reason") is ...:
            del entry["reason"]
    with pytest.raises(UsageError) as caught:
        schema.check(state)
    assert caught.value.key == key
    assert key in caught.value.message or key == "evidence"
    assert caught.value.advice


def test_a_checkpoint_of_the_tool_before_us_is_whole() -> None:
    schema.check(foreign())


@pytest.mark.parametrize(("name", "value"), FIELDS)
def test_a_field_that_does_not_fit_is_refused_by_name(name: str, value: Any) -> None:
    breaks(name, foreign(**{name: value}))


@pytest.mark.parametrize("name", schema.FIELDS[:-1])
def test_a_missing_field_is_refused_by_name(name: str) -> None:
    state = foreign()
    del state[name]
    breaks(name, state)


@pytest.mark.parametrize(("key", "over"), AGAINST_ITSELF)
def test_a_checkpoint_that_contradicts_itself_is_refused_by_the_place(
    key: str, over: dict[str, Any]
) -> None:
    breaks(key, copy.deepcopy(foreign(**over)))


def test_what_is_no_object_is_refused() -> None:
    values: list[Any] = [None, [], "x", 7]
    for value in values:
        with pytest.raises(UsageError, match="the checkpoint is"):
            schema.check(value)


@pytest.mark.parametrize("state", list(ROADS))
def test_the_file_of_every_state_is_whole_and_written_as_it_should_be(
    desk: Desk, state: str
) -> None:
    found = desk.stand_at(state)
    data = desk.file.read_bytes()
    schema.check(orjson.loads(data))
    assert patch.equal(orjson.loads(data), found)
    assert data.startswith(b'{\n  "schemaVersion": 1,\n')
    assert data.endswith(b"\n}\n")
    assert list(orjson.loads(data)) == [name for name in schema.FIELDS if name in found]
    assert ("terminalReason" in found) == (state in ("failed", "blocked"))


def test_unknown_members_survive_behind_the_others_at_every_level(desk: Desk) -> None:
    state: dict[str, Any] = {"zeta": 1.0} | foreign()
    state["history"][0] = {"by": "ann"} | state["history"][0]
    state["evidence"][0]["log"] = {"b": 1, "a": 2}
    desk.write(state)
    found = desk.loop.transition("running")
    assert found["zeta"] == 1.0
    assert found["history"][0]["by"] == "ann"
    ordered = desk.read()
    assert list(ordered)[-1] == "zeta"
    assert list(ordered["history"][0]) == ["from", "to", "at", "by"]
    assert ordered["evidence"][0]["log"] == {"b": 1, "a": 2}


# --- reading -------------------------------------------------------------------------------------

DAMAGED: list[tuple[str, bytes, str]] = [
    ("empty", b"", "empty"),
    ("cut short", orjson.dumps(foreign())[:-9], "byte"),
    ("NUL bytes", orjson.dumps(foreign())[:-9] + b"\0" * 9, "NUL"),
    ("a BOM", b"\xef\xbb\xbf" + orjson.dumps(foreign()), "byte order mark"),
    ("a list", b"[]", "no JSON object"),
    ("conflict markers", b"<<<<<<< a\n{}\n=======\n{}\n>>>>>>> b\n", "conflict markers"),
    ("a doubled key", b'{"taskId": "a", "taskId": "b"}', "taskId"),
    ("a broken field", orjson.dumps(foreign(state="done")), "state"),
    ("a contradiction", orjson.dumps(foreign(attempts=1)), "attempts"),
    ("a missing field", b"{}", "schemaVersion"),
]


@pytest.mark.parametrize(("data", "words"), [d[1:] for d in DAMAGED], ids=[d[0] for d in DAMAGED])
def test_a_damaged_file_stops_every_verb_for_review_and_is_not_touched(
    desk: Desk, data: bytes, words: str
) -> None:
    desk.write(data)
    before = desk.bytes()
    verbs: list[Any] = [
        desk.loop.status,
        desk.loop.take_over,
        lambda: desk.loop.transition("running"),
        lambda: desk.loop.evidence("x", "passed"),
        lambda: desk.begin(force=True),
    ]
    for verb in verbs:
        with pytest.raises(Corrupt) as caught:
            verb()
        assert caught.value.exit_code == 5
        assert words in str(caught.value)
        assert "stop for review" in str(caught.value)
    assert desk.bytes() == before


def test_a_newer_schema_version_is_refused_by_its_number(desk: Desk) -> None:
    desk.write(foreign(schemaVersion=2))
    before = desk.bytes()
    with pytest.raises(UnsupportedFormat) as caught:
        desk.loop.transition("running")
    assert (caught.value.found, caught.value.supported) == (2, 1)
    assert desk.bytes() == before
