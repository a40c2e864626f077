"""Files of before: read, normalized, taken over by the first change; damaged ones kept."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import journal
from journal import codec
from journal.config import FILE_NAME
from journal.errors import Corrupt, JournalError, UnsupportedFormat
from projections.loop_plan.old_file import DEPRECATED, BrokenField
from projections.loop_plan.plan import LoopPlan
from projections.loop_plan.schema import STATE, check
from projections.loop_plan.states import DEFAULTS, Json
from projections.patch import copy, equal
from tests.loop_plan.life import (
    SLUG,
    START_MS,
    STATEMENT,
    Clock,
    begin,
    read_state,
    says,
    tree,
    write_old,
)
from tests.loop_plan.test_schema import FULL

OLD: Json = {
    "slug": SLUG,
    "version": 1,
    "created_at": "2026-04-15T13:22:00-07:00",
    "last_update_at": "2026-04-15T14:07:00-07:00",
    "task_statement": "Add offline caching.",
    "iteration": 2,
    "current_phase": "4",
    "plan_path": f"~/.claude/plans/{SLUG}.md",
    "house": {"unknown": [1, 2]},
    "exploration_history": [],
}
"""A file from before most fields, with one that nobody knows."""


def opened(folder: Path, state: Json) -> LoopPlan:
    write_old(folder, state)
    return LoopPlan.open(SLUG, folder, clock=Clock())


def changes(plan: LoopPlan) -> list[Json]:
    """The changes that `normalized` lists."""
    assert plan.engine is not None
    [event] = [event for event in plan.engine.events() if event.type == "normalized"]
    found: list[Json] = event.data["changes"]
    return found


def test_looking_at_a_file_of_before_reads_it_in_todays_words_and_touches_nothing(
    tmp_path: Path,
) -> None:
    write_old(tmp_path, {**OLD, "current_phase": "7c", "awaiting_compact": True})
    before = tree(tmp_path)
    with LoopPlan.look(SLUG, tmp_path) as plan:
        state = plan.state
        assert plan.announce().startswith(f"Resuming {SLUG} from iteration 2, phase 7b.")
    assert state["current_phase"] == "7b"
    assert state["completion_state"] == "active"
    assert tree(tmp_path) == before


def test_first_change_takes_the_file_over_in_one_append(tmp_path: Path) -> None:
    path = write_old(tmp_path, OLD)
    data = path.read_bytes()
    with LoopPlan.open(SLUG, tmp_path, clock=Clock()) as plan:
        plan.enter_phase("5")
        assert plan.engine is not None
        events = list(plan.engine.events())
        taken = plan.engine.state_at(2)
        normalized = plan.engine.state_at(3)
    assert [event.type for event in events] == [
        "journal.created",
        "journal.taken_over",
        "normalized",
        "phase_entered",
    ]
    assert events[1].data["sha256"] == codec.sha256(data)
    assert [event.part for event in events[1:3]] == [(1, 2), (2, 2)]
    assert equal(taken, OLD)
    assert normalized["last_update_at"] == OLD["last_update_at"], "no work on the plan"
    assert "last_active_at" not in normalized
    state = read_state(tmp_path)
    check(state)
    assert state["house"] == OLD["house"]
    assert state["last_active_at"] == state["last_update_at"] == events[3].time
    for name, value in OLD.items():
        if name not in ("last_update_at", "current_phase"):
            assert equal(state[name], value), name


def test_missing_later_fields_read_with_their_defaults(tmp_path: Path) -> None:
    with opened(tmp_path, OLD) as plan:
        plan.enter_phase("5")
        state = plan.state
        listed = {change["path"] for change in changes(plan)}
    missing = DEFAULTS.keys() - OLD.keys()
    assert listed == {f"/{name}" for name in missing}
    for name in missing:
        assert equal(state[name], DEFAULTS[name]()), name
    assert state["rigor"] is None, "null, not the default of the question"
    known = [name for name in state if name in STATE.members]
    assert known == [name for name in STATE.members if name in state]


def test_file_that_needs_nothing_is_taken_over_without_normalized(tmp_path: Path) -> None:
    with opened(tmp_path, {**FULL, "slug": SLUG}) as plan:
        plan.choose_gate("Ship it")
        assert plan.engine is not None
        types = [event.type for event in plan.engine.events()]
    assert types[:2] == ["journal.created", "journal.taken_over"]
    assert "normalized" not in types


@pytest.mark.parametrize(
    ("phase", "awaiting", "reads"),
    [
        ("7c", None, "7b"),
        ("7c", False, "7b"),
        ("7c", True, "7b"),
        ("7a", True, "7b"),
        ("7b", True, "7b"),
        ("7a", False, "7a"),
        ("7a", None, "7a"),
        ("6", True, "6"),
        ("5", True, "5"),
    ],
)
def test_old_phases_read_as_the_text_says(
    tmp_path: Path, phase: str, awaiting: bool | None, reads: str
) -> None:
    state = {**OLD, "current_phase": phase}
    if awaiting is not None:
        state["awaiting_compact"] = awaiting
    with opened(tmp_path, state) as plan:
        assert plan.state["current_phase"] == reads
        plan.add("blocker", "none")
        found = [one for one in changes(plan) if one["path"] == "/current_phase"]
    if phase != reads:
        assert [(one["old"], one["new"]) for one in found] == [(phase, reads)]
    else:
        assert found == []


def test_deprecated_fields_go_and_are_listed(tmp_path: Path) -> None:
    old = {**OLD, **dict.fromkeys(DEPRECATED), "compact_handoff_at": "2026-04-01T00:00:00Z"}
    with opened(tmp_path, old) as plan:
        plan.enter_phase("5")
        gone = {one["path"]: one for one in changes(plan) if "new" not in one}
    assert set(gone) == {f"/{name}" for name in DEPRECATED}
    assert gone["/compact_handoff_at"]["old"] == "2026-04-01T00:00:00Z"
    assert not set(DEPRECATED) & read_state(tmp_path).keys()


def test_missing_parts_and_nulls_read_as_their_defaults(tmp_path: Path) -> None:
    old = {
        **OLD,
        "execution": {"started_at": None, "tasks_completed": ["T1"]},
        "must_haves": None,
        "completion_state": None,
        "drift_check": "drift",
    }
    with opened(tmp_path, old) as plan:
        plan.enter_phase("5")
        state = plan.state
    assert state["execution"]["tasks_completed"] == ["T1"]
    assert state["execution"]["execution_log_path"] is None
    assert state["must_haves"] == DEFAULTS["must_haves"]()
    assert state["completion_state"] == "active"
    assert state["drift_check"] == {"status": "drift", "report": {}}


def test_name_and_version_are_filled_from_the_file(tmp_path: Path) -> None:
    old = {"current_phase": "4", "iteration": 1}
    with opened(tmp_path, old) as plan:
        plan.enter_phase("5")
    state = read_state(tmp_path)
    assert (state["slug"], state["version"]) == (SLUG, 1)
    assert "created_at" not in state, "what has no default is not invented"


def test_plan_of_before_can_be_started_afresh(tmp_path: Path) -> None:
    path = write_old(tmp_path, OLD)
    data = path.read_bytes()
    with LoopPlan.open(SLUG, tmp_path, clock=Clock()) as plan:
        events = plan.resume("fresh")
    backup = tmp_path / events[-1].data["backup"]
    assert backup.name.startswith(f"{SLUG}.state.json.bak-2026")
    assert backup.read_bytes() == data, "the file as it was found"
    state = read_state(tmp_path)
    assert (state["current_phase"], state["task_statement"]) == ("0", OLD["task_statement"])
    assert "house" not in state


def test_mode_of_the_file_is_kept(tmp_path: Path) -> None:
    path = write_old(tmp_path, OLD)
    path.chmod(0o640)
    with LoopPlan.open(SLUG, tmp_path, clock=Clock()) as plan:
        plan.resume("fresh")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640


# --- refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"current_phase": "8"}, "current_phase"),
        ({"iteration": "2"}, "iteration"),
        ({"slug": "another"}, "is not the name of the file"),
        ({"version": "1"}, "version"),
        ({"exploration_history": {}}, "exploration_history"),
        ({"created_at": "long ago"}, "created_at"),
    ],
)
def test_file_with_a_field_that_breaks_a_rule_is_refused_and_left_alone(
    tmp_path: Path, fields: Json, said: str
) -> None:
    write_old(tmp_path, {**OLD, **fields})
    before = tree(tmp_path)
    for again in (LoopPlan.open, LoopPlan.look):
        with pytest.raises(BrokenField) as caught:
            again(SLUG, tmp_path)
        assert says(caught.value, said, "Allowed", f"{SLUG}.state.json")
        assert caught.value.exit_code == 5
    with pytest.raises(BrokenField):
        begin(tmp_path)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("version", [2, 99])
def test_newer_version_is_refused_by_name(tmp_path: Path, version: int) -> None:
    write_old(tmp_path, {**OLD, "version": version})
    before = tree(tmp_path)
    with pytest.raises(UnsupportedFormat) as caught:
        LoopPlan.open(SLUG, tmp_path)
    assert (caught.value.found, caught.value.exit_code) == (version, 6)
    with pytest.raises(UnsupportedFormat):
        begin(tmp_path)
    assert tree(tmp_path) == before


# --- damaged -------------------------------------------------------------------------------------

DAMAGED: dict[str, bytes] = {
    "empty": b"",
    "cut short": b'{"slug": "add-offline-caching", "version": 1, "current_ph',
    "NUL bytes": b"\0" * 200,
    "NUL bytes at the end": b'{"slug": "add-offline-caching"}' + b"\0" * 20,
    "conflict markers": b'{\n<<<<<<< ours\n"a": 1\n=======\n"a": 2\n>>>>>>> theirs\n}\n',
    "doubled key": b'{"slug": "a", "slug": "b"}',
    "not UTF-8": b'{"slug": "\xff"}',
    "a list": b"[1, 2]",
    "null": b"null",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_file_is_kept_by_the_first_change_and_init_is_asked_for(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / f"{SLUG}.state.json"
    path.write_bytes(DAMAGED[name])
    with LoopPlan.open(SLUG, tmp_path, clock=Clock()) as plan:
        before = tree(tmp_path)
        for look in (lambda: plan.state, plan.announce, plan.missing_text):
            with pytest.raises(Corrupt) as caught:
                look()
            assert says_init(caught.value)
        assert tree(tmp_path) == before, "looking touches nothing"
        with pytest.raises(Corrupt) as caught:
            plan.enter_phase("5")
    assert says_init(caught.value)
    [kept] = [name for name in os.listdir(tmp_path) if ".corrupt-" in name]
    assert kept in str(caught.value)
    assert (tmp_path / kept).read_bytes() == DAMAGED[name]
    assert kept.startswith(f"{SLUG}.state.json.corrupt-2026")
    assert os.listdir(tmp_path) == [kept]
    begin(tmp_path).close()
    assert read_state(tmp_path)["task_statement"] == STATEMENT


def says_init(error: Corrupt) -> bool:
    return f"journal plan init STATEMENT --slug {SLUG}" in str(error)


def test_init_on_a_damaged_file_keeps_it_and_begins(tmp_path: Path) -> None:
    path = tmp_path / f"{SLUG}.state.json"
    path.write_bytes(DAMAGED["cut short"])
    said: list[str] = []
    with begin(tmp_path, on_message=said.append) as plan:
        assert plan.state["task_statement"] == STATEMENT
    [kept] = [name for name in os.listdir(tmp_path) if ".corrupt-" in name]
    assert (tmp_path / kept).read_bytes() == DAMAGED["cut short"]
    assert any(kept in words for words in said)


def test_side_files_never_take_each_others_place(tmp_path: Path) -> None:
    def stopped() -> int:
        return START_MS

    with begin(tmp_path, clock=stopped) as plan:
        for _ in range(3):
            plan.resume("fresh")
    kept = [name for name in os.listdir(tmp_path) if ".bak-" in name]
    assert len(kept) == 3
    assert not [name for name in kept if name.endswith(".state.json")]


def test_take_over_that_was_cut_off_is_completed_by_the_next_change(tmp_path: Path) -> None:
    path = write_old(tmp_path, OLD)
    data = path.read_bytes()
    with LoopPlan.open(SLUG, tmp_path, clock=Clock()) as plan:
        plan._taken_over()  # pyright: ignore[reportPrivateUsage]
    # As a kill leaves it before the last step: a log, and neither journal.yaml nor witness.
    (tmp_path / f"{SLUG}.journal" / FILE_NAME).unlink()
    (tmp_path / f"{SLUG}.journal" / "witness.json").unlink()
    path.write_bytes(data)
    with LoopPlan.open(SLUG, tmp_path, clock=Clock()) as plan:
        assert plan.engine is None
        plan.enter_phase("5")
        assert plan.engine is not None
        types = [event.type for event in plan.engine.events()]
    assert types == ["journal.created", "journal.taken_over", "normalized", "phase_entered"]
    assert not (tmp_path / f"{SLUG}.journal" / "quarantine").exists(), "nothing was foreign"


def test_two_who_take_over_at_once_end_in_one_journal(tmp_path: Path) -> None:
    write_old(tmp_path, OLD)
    with LoopPlan.open(SLUG, tmp_path) as one, LoopPlan.open(SLUG, tmp_path) as two:
        one.add("blocker", "first")
        two.add("blocker", "second")
        assert two.state["execution"]["blockers"] == ["first", "second"]


def test_reading_a_file_of_before_leaves_what_was_read_alone(tmp_path: Path) -> None:
    with opened(tmp_path, OLD) as plan:
        state: Any = plan.state
        kept = copy(state)
        state["exploration_history"].append(1)
        assert equal(plan.state, kept)


def test_file_behind_a_link_is_taken_over_and_the_link_stays(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target = write_old(elsewhere, OLD)
    plans = tmp_path / "plans"
    plans.mkdir()
    link = plans / f"{SLUG}.state.json"
    link.symlink_to(target)
    with LoopPlan.open(SLUG, plans, clock=Clock()) as plan:
        plan.enter_phase("5")
    assert link.is_symlink()
    assert read_state(elsewhere)["current_phase"] == "5"


@pytest.mark.parametrize("data", [None, b"{"])
def test_plan_that_was_opened_read_only_is_not_changed(tmp_path: Path, data: bytes | None) -> None:
    path = write_old(tmp_path, OLD)
    if data is not None:
        path.write_bytes(data)
    before = tree(tmp_path)
    with LoopPlan.open(SLUG, tmp_path, read_only=True) as plan:
        changes: list[Callable[[], object]] = [
            lambda: plan.enter_phase("5"),
            lambda: plan.resume("fresh"),
        ]
        for change in changes:
            with pytest.raises(JournalError, match="read-only"):
                change()
    assert tree(tmp_path) == before


def test_looking_where_nothing_may_be_written_reads_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path).close()
    modes: list[bool] = []

    def refuse(path: Path, *, read_only: bool, **options: Any) -> Any:
        modes.append(read_only)
        if not read_only:
            raise PermissionError(errno.EACCES, "may not be written", str(path))
        return opening(path, read_only=read_only, **options)

    opening = journal.open
    monkeypatch.setattr(journal, "open", refuse)
    with LoopPlan.look(SLUG, tmp_path) as plan:
        assert plan.state["current_phase"] == "0"
        with pytest.raises(JournalError, match="read-only"):
            plan.enter_phase("1")
    assert modes == [False, True]


def test_other_errors_of_the_disk_pass_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path).close()

    def refuse(path: Path, **options: Any) -> Any:
        raise OSError(errno.EIO, "broken", str(path))

    monkeypatch.setattr(journal, "open", refuse)
    with pytest.raises(OSError, match="broken"):
        LoopPlan.look(SLUG, tmp_path)
