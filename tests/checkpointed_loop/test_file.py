"""The file on disk: taken over, gone, changed by others, its mode; and what the engine can do."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

import journal
from journal import locks
from journal.errors import Drift, JournalError, Locked, UsageError
from projections import catalog, patch
from projections.checkpointed_loop.loop import CheckpointedLoop, summarize
from projections.checkpointed_loop.projection import PROJECTION
from tests.checkpointed_loop.making import NOON, Desk, foreign

# --- taking over ---------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["transition", "evidence", "takeover"])
def test_a_file_of_another_tool_is_taken_over_by_its_first_verb(desk: Desk, how: str) -> None:
    desk.write(foreign())
    if how == "transition":
        desk.loop.transition("running")
    elif how == "evidence":
        desk.loop.evidence("npm test", "passed")
    else:
        assert desk.loop.take_over() == foreign()
    events = desk.events()
    assert events[0].type == "journal.taken_over"
    assert patch.equal(events[0].data["state"], foreign())
    assert len(events) == (1 if how == "takeover" else 2)
    with journal.open(desk.private, read_only=True) as engine:
        assert patch.equal(engine.state_at(2), foreign())


def test_the_take_over_moves_no_time(desk: Desk) -> None:
    desk.write(foreign())
    assert desk.loop.take_over()["updatedAt"] == foreign()["updatedAt"]
    assert desk.read() == foreign()
    with pytest.raises(UsageError, match="has a journal already"):
        desk.loop.take_over()


def test_a_refused_verb_and_status_take_nothing_over(desk: Desk) -> None:
    desk.write(foreign())
    desk.file.chmod(0o644)
    before = desk.bytes()
    assert desk.loop.status() == foreign()
    verbs: list[Callable[[], Any]] = [
        lambda: desk.loop.transition("planned"),
        lambda: desk.loop.transition("succeeded"),
        lambda: desk.loop.evidence("x", "maybe"),
        desk.begin,
    ]
    for verb in verbs:
        with pytest.raises(UsageError):
            verb()
    for verb in (desk.loop.rebuild, desk.loop.adopt):
        with pytest.raises(UsageError, match="has no journal yet"):
            verb()
    assert desk.bytes() == before


def test_the_pass_of_the_first_attempt_of_a_taken_over_file_does_not_count_for_its_second(
    desk: Desk,
) -> None:
    desk.write(foreign())
    with pytest.raises(UsageError, match="since the last entry into verifying"):
        desk.loop.transition("succeeded")
    desk.loop.evidence("npm test", "passed")
    assert desk.loop.transition("succeeded")["state"] == "succeeded"


def test_a_file_whose_times_are_in_the_future_goes_on_from_there(desk: Desk) -> None:
    late = "2030-01-01T00:00:00.000Z"
    state = foreign(updatedAt=late)
    state["history"][-1]["at"] = late
    desk.write(state)
    found = desk.loop.evidence("npm test", "passed")
    assert found["evidence"][-1]["at"] == late
    assert desk.loop.transition("succeeded")["state"] == "succeeded"


def test_forcing_a_new_checkpoint_over_a_file_of_another_tool_keeps_it_in_the_log(
    desk: Desk,
) -> None:
    desk.write(foreign())
    assert desk.begin(task="second", force=True)["taskId"] == "second"
    assert desk.types() == ["journal.taken_over", "reinitialized"]


# --- gone ----------------------------------------------------------------------------------------

GONE: dict[str, Callable[[bytes], bytes | None]] = {
    "deleted": lambda _: None,
    "emptied": lambda _: b"",
    "cut short": lambda whole: whole[: len(whole) // 2],
    "NULs": lambda whole: whole[:40] + b"\0" * (len(whole) - 40),
}


@pytest.mark.parametrize("how", list(GONE))
@pytest.mark.parametrize("verb", ["status", "transition", "evidence", "rebuild"])
def test_what_a_power_cut_may_leave_is_written_back_by_the_next_verb_and_said(
    desk: Desk, how: str, verb: str
) -> None:
    desk.stand_at("verifying")
    whole = desk.file.read_bytes()
    left = GONE[how](whole)
    desk.file.unlink() if left is None else desk.file.write_bytes(left)
    if verb == "transition":
        assert desk.loop.transition("running")["attempts"] == 2
    elif verb == "evidence":
        assert len(desk.loop.evidence("x", "passed")["evidence"]) == 1
    else:
        getattr(desk.loop, verb)()
        assert desk.file.read_bytes() == whole
    assert any(str(desk.file) in words and "written again" in words for words in desk.said)
    quarantine = desk.private / "quarantine"
    kept = [path.read_bytes() for path in quarantine.iterdir()] if quarantine.is_dir() else []
    assert kept == ([] if left is None else [left])
    assert desk.file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("force", [False, True])
def test_init_where_the_file_is_gone_begins_a_new_one_in_the_same_journal(
    desk: Desk, force: bool
) -> None:
    desk.stand_at("failed")
    desk.file.unlink()
    found = desk.begin(task="second", force=force)
    assert (found["taskId"], found["state"]) == ("second", "planned")
    assert desk.types()[-1] == "reinitialized"
    assert desk.said == []


def test_an_init_that_was_cut_off_is_completed_by_the_next_verb(desk: Desk) -> None:
    desk.begin()
    desk.file.unlink()
    for name in ("journal.yaml", "witness.json"):
        (desk.private / name).unlink()
    assert desk.loop.transition("running")["attempts"] == 1
    assert desk.types() == ["initialized", "transitioned"]


def test_where_nothing_is_there_every_verb_but_init_says_so(desk: Desk) -> None:
    verbs: list[Any] = [
        desk.loop.status,
        desk.loop.take_over,
        desk.loop.rebuild,
        desk.loop.adopt,
        lambda: desk.loop.transition("running"),
        lambda: desk.loop.evidence("x", "passed"),
    ]
    for verb in verbs:
        with pytest.raises(JournalError, match="there is no checkpoint here") as caught:
            verb()
        assert type(caught.value) is JournalError
    assert desk.bytes() == {}


# --- changed by others ---------------------------------------------------------------------------

CHANGED: dict[str, bytes | dict[str, Any]] = {
    "conflict markers": b"<<<<<<< a\n{}\n=======\n{}\n>>>>>>> b\n",
    "a valid edit": {"objective": "Move all users"},
    "an invalid edit": {"attempts": 0},
    "a BOM": b"\xef\xbb\xbf{}",
}


def change(desk: Desk, how: str) -> bytes:
    """Change the file as somebody else would; return the bytes that then stand there."""
    what = CHANGED[how]
    desk.write(what if isinstance(what, bytes) else desk.read() | what)
    return desk.file.read_bytes()


@pytest.mark.parametrize("how", list(CHANGED))
def test_a_changed_file_stops_every_verb_for_review_with_the_ways_out(desk: Desk, how: str) -> None:
    desk.stand_at("verifying")
    change(desk, how)
    before = desk.bytes()
    verbs: list[Any] = [
        desk.loop.status,
        lambda: desk.loop.transition("running"),
        lambda: desk.loop.evidence("x", "passed"),
        lambda: desk.begin(force=True),
    ]
    for verb in verbs:
        with pytest.raises(Drift) as caught:
            verb()
        assert caught.value.exit_code == 7
        words = str(caught.value)
        assert "stop for review" in words
        assert f"journal loop rebuild --file {desk.file}" in words
        assert f"journal loop adopt --file {desk.file}" in words
    assert desk.bytes() == before


@pytest.mark.parametrize("how", list(CHANGED))
def test_rebuild_puts_the_file_back_and_keeps_the_other_bytes(desk: Desk, how: str) -> None:
    found = desk.stand_at("verifying")
    whole = desk.file.read_bytes()
    changed = change(desk, how)
    assert desk.loop.rebuild() == found
    assert desk.file.read_bytes() == whole
    assert [path.read_bytes() for path in (desk.private / "quarantine").iterdir()] == [changed]
    assert desk.loop.transition("running")["attempts"] == 2


def test_adopt_records_a_valid_edit_as_an_event(desk: Desk) -> None:
    desk.stand_at("verifying")
    change(desk, "a valid edit")
    assert desk.loop.adopt()["objective"] == "Move all users"
    assert desk.types()[-1] == "journal.adopted"
    assert desk.loop.transition("running")["objective"] == "Move all users"


def test_adopt_takes_in_evidence_that_somebody_added_by_hand(desk: Desk) -> None:
    desk.stand_at("verifying")
    desk.go(("miss",))
    state = desk.read()
    state["evidence"].append(state["evidence"][0] | {"outcome": "passed"})
    desk.write(state)
    assert desk.loop.adopt() == state
    assert desk.loop.transition("succeeded")["state"] == "succeeded"


@pytest.mark.parametrize(
    ("words", "edit"),
    [
        ("attempts", {"attempts": 0}),
        ("taskId", {"taskId": "other"}),
        ("createdAt", {"createdAt": "2020-01-01T00:00:00Z"}),
        ("history", {"history": []}),
        ("evidence", {"evidence": []}),
    ],
)
def test_an_edit_that_breaks_a_rule_is_not_adopted_even_if_asked(
    desk: Desk, words: str, edit: dict[str, Any]
) -> None:
    desk.stand_at("verifying")
    desk.go(("miss",))
    desk.write(desk.read() | edit)
    before = desk.bytes()
    with pytest.raises(Drift) as caught:
        desk.loop.adopt()
    assert words in caught.value.message
    assert desk.bytes() == before


def test_history_that_was_rewritten_is_not_adopted_though_it_is_a_chain(desk: Desk) -> None:
    desk.stand_at("verifying")
    state = desk.read()
    state["history"][0]["at"] = "2020-01-01T00:00:00.000Z"
    desk.write(state)
    with pytest.raises(Drift, match="history was shortened or rewritten"):
        desk.loop.adopt()


def test_adopt_and_rebuild_of_a_healthy_file_change_nothing(desk: Desk) -> None:
    found = desk.stand_at("verifying")
    before = desk.bytes()
    assert desk.loop.adopt() == desk.loop.rebuild() == found
    assert desk.bytes() == before


# --- modes and places ----------------------------------------------------------------------------


def test_the_file_has_mode_0600_always_and_its_journal_0700(desk: Desk) -> None:
    desk.begin()
    assert desk.file.stat().st_mode & 0o777 == 0o600
    assert desk.private.stat().st_mode & 0o777 == 0o700
    desk.file.chmod(0o644)
    desk.loop.transition("running")
    assert desk.file.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_taken_over_becomes_private(desk: Desk) -> None:
    desk.write(foreign())
    desk.file.chmod(0o664)
    desk.loop.transition("running")
    assert desk.file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("name", "private"),
    [
        ("task.json", "task.journal"),
        ("task", "task.journal"),
        ("a.b.json", "a.b.journal"),
        ("task.json.json", "task.json.journal"),
        (".json", ".json.journal"),
    ],
)
def test_the_private_part_is_the_file_without_a_final_json(
    desk: Desk, name: str, private: str
) -> None:
    loop = CheckpointedLoop(Path("deep", "er", name))
    loop.init(task="t", objective="o", max_attempts=1, next_action="n")
    folder = desk.folder / "deep" / "er"
    assert sorted(os.listdir(folder)) == sorted([name, private])
    assert loop.transition("running")["attempts"] == 1


def test_a_file_behind_a_symlink_stays_behind_it(desk: Desk) -> None:
    real = desk.folder / "real.json"
    real.write_bytes(orjson.dumps(foreign()))
    desk.file.symlink_to(real)
    desk.loop.transition("running")
    assert desk.file.is_symlink()
    assert orjson.loads(real.read_bytes())["attempts"] == 3


def test_a_journal_that_is_locked_is_said_with_locked(desk: Desk) -> None:
    desk.begin()
    quick = CheckpointedLoop(desk.file, lock_timeout_s=0.05)
    with locks.FolderLock(desk.private / "log") as lock, lock.held(1):
        with pytest.raises(Locked):
            quick.transition("running")
        assert quick.status()["state"] == "planned"


def test_status_of_a_healthy_checkpoint_writes_nothing_at_all(desk: Desk) -> None:
    desk.stand_at("verifying")
    stats = {path: path.stat().st_mtime_ns for path in desk.folder.rglob("*")}
    desk.loop.status()
    assert {path: path.stat().st_mtime_ns for path in desk.folder.rglob("*")} == stats


# --- the engine ----------------------------------------------------------------------------------


def test_every_state_that_was_can_be_had_again_and_history_verifies(desk: Desk) -> None:
    desk.begin()
    desk.go(("running",), ("verifying",), ("miss",), ("running",), ("verifying",), ("pass",))
    desk.go(("succeeded",))
    with journal.open(desk.private) as engine:
        states = [engine.state_at(seq)["state"] for seq in range(2, engine.seq + 1)]
        assert states == [
            *("planned", "running", "verifying", "verifying", "running", "verifying"),
            *("verifying", "succeeded"),
        ]
        for seq in range(2, engine.seq + 1):
            PROJECTION.check(engine.state_at(seq))
        assert engine.verify().ok
        assert engine.rebuild().written == []
        engine.restore(4)
        assert engine.state["state"] == "verifying"
    assert catalog.find("checkpointed_loop") is PROJECTION


def test_raw_events_that_break_a_rule_never_get_into_the_log(desk: Desk) -> None:
    desk.begin(max_attempts=1)
    desk.go(("running",))
    with journal.open(desk.private) as engine:
        for kind, data in (
            ("transitioned", {"to": "succeeded"}),
            ("transitioned", {"to": "running"}),
            ("transitioned", {"to": "failed"}),
            ("transitioned", {"to": "nowhere"}),
            ("evidence_recorded", {"check": "", "outcome": "passed"}),
            (
                "initialized",
                {"task_id": "t", "objective": "o", "max_attempts": 1, "next_action": "n"},
            ),
            ("transitioned", {"to": "verifying", "mine": 1}),
        ):
            with pytest.raises(UsageError):
                engine.append(kind, data)
        assert engine.seq == 3


def test_nothing_can_be_recorded_before_a_checkpoint_is_begun(desk: Desk) -> None:
    with journal.init("bare", projection="checkpointed_loop") as engine:
        for kind, data in (
            ("transitioned", {"to": "running"}),
            ("evidence_recorded", {"check": "x", "outcome": "passed"}),
        ):
            with pytest.raises(UsageError, match="there is no checkpoint yet"):
                engine.append(kind, data)


def test_a_summary_is_one_line(desk: Desk) -> None:
    desk.stand_at("verifying")
    found = desk.go(("miss",))
    assert (
        summarize(found)
        == "migration: verifying; attempts 1/3; evidence 1; next: Inspect the fixture"
    )
    assert found["createdAt"] == NOON
