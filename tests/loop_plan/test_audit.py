"""Every plan of a folder at a glance, and which are marked as abandoned."""

from pathlib import Path
from typing import Any

import pytest

from journal.errors import JournalError, UsageError
from journal.event import format_time
from projections.loop_plan import audit as au
from projections.loop_plan.plan import LoopPlan
from projections.loop_plan.schema import PHASES
from projections.loop_plan.states import Json
from tests.loop_plan.life import DAY_MS, START_MS, Clock, begin, read_state, tree, write_old

NOW = START_MS


def days_ago(days: float) -> str:
    return format_time(round(NOW - days * DAY_MS))


def plan_of(phase: str, idle_days: float, **fields: Any) -> Json:
    return {
        "slug": "x",
        "version": 1,
        "current_phase": phase,
        "iteration": 2,
        "last_active_at": days_ago(idle_days),
        **fields,
    }


EARLY = ("0", "1", "2", "3", "3b", "4", "5")
A_MOMENT = 0.001

ROWS: list[tuple[Json, str]] = [
    *[
        (plan_of(phase, 99, completion_state=ended), ended)
        for phase in (*PHASES, "7c", "shipped")
        for ended in ("shipped", "aborted", "abandoned")
    ],
    (plan_of("aborted", 99), "aborted"),
    *[(plan_of(phase, 99), "shipped") for phase in ("done", "shipped", "complete")],
    *[(plan_of(phase, 7 + A_MOMENT), "stalled-7+") for phase in ("7a", "7b", "7c")],
    *[(plan_of(phase, 7), "active") for phase in ("7a", "7b", "7c")],
    (plan_of("6", 14 + A_MOMENT), "stalled-7+"),
    (plan_of("6", 14), "active"),
    *[(plan_of(phase, 14 + A_MOMENT), "abandoned-candidate") for phase in EARLY],
    *[(plan_of(phase, 14), "active") for phase in EARLY],
    (plan_of("1", 14 + A_MOMENT, iteration=1), "abandoned-candidate"),
    (plan_of("1", 1, iteration=1), "phase-1-stub"),
    (plan_of("1", 1, iteration=2), "active"),
    (plan_of("0", 1, iteration=1), "active"),
    (plan_of("7b", 99, completion_state="active"), "stalled-7+"),
]


@pytest.mark.parametrize(("state", "kind"), ROWS)
def test_first_row_that_fits_is_the_class(state: Json, kind: str) -> None:
    assert au.classify(state, NOW) == kind


def test_idle_counts_from_last_active_else_from_last_update() -> None:
    state = plan_of("4", 20, last_update_at=days_ago(1))
    assert au.find_idle(state, NOW) == (20 * DAY_MS, "last_active_at")
    del state["last_active_at"]
    assert au.find_idle(state, NOW) == (DAY_MS, "last_update_at")
    assert au.find_idle({"last_active_at": "soon", "last_update_at": 5}, NOW) == (None, "")
    assert au.classify({"current_phase": "4"}, NOW) == "active", "nothing is known to be idle"


def test_time_without_zone_is_utc_and_one_with_a_zone_is_not() -> None:
    plain = plan_of("4", 0, last_active_at="2026-02-15T14:45:00")
    zoned = plan_of("4", 0, last_active_at="2026-02-15T14:45:00+02:00")
    assert au.find_idle(plain, NOW)[0] == 14 * DAY_MS
    assert au.find_idle(zoned, NOW)[0] == 14 * DAY_MS + 2 * 3_600_000
    assert (au.classify(plain, NOW), au.classify(zoned, NOW)) == ("active", "abandoned-candidate")


def folder_of_plans(folder: Path) -> Path:
    write_old(folder, plan_of("4", 20, slug="idle"), "idle")
    write_old(folder, plan_of("4", 1, slug="young"), "young")
    unknown = plan_of("4", 0, slug="unknown", last_update_at=days_ago(30))
    del unknown["last_active_at"]
    write_old(folder, unknown, "unknown")
    gaps = [{"phase": "3", "reason": "stalled"}, {"phase": "3"}, {"phase": "1"}]
    write_old(folder, plan_of("7b", 8, slug="stalled", gap_acknowledged=gaps), "stalled")
    (folder / "broken.state.json").write_bytes(b'{"slug": "broken"')
    (folder / "list.state.json").write_bytes(b"[]")
    (folder / "number.state.json").write_bytes(b'{"current_phase": 5}')
    (folder / "newer.state.json").write_bytes(b'{"current_phase": "5", "version": 2}')
    (folder / "folder.state.json").mkdir()
    (folder / "idle.state.json.bak-20260101T000000.000Z").write_bytes(b"{}")
    (folder / "note.md").write_text("no plan")
    return folder


def test_audit_lists_every_plan_and_every_damaged_file_and_touches_none(tmp_path: Path) -> None:
    folder_of_plans(tmp_path)
    before = tree(tmp_path)
    found = au.audit(tmp_path, clock=lambda: NOW)
    assert [(one.slug, one.kind, one.unknown) for one in found.plans] == [
        ("idle", "abandoned-candidate", False),
        ("stalled", "stalled-7+", False),
        ("unknown", "abandoned-candidate", True),
        ("young", "active", False),
    ]
    assert [one.file for one in found.damaged] == [
        f"{name}.state.json" for name in ("broken", "folder", "list", "newer", "number")
    ]
    assert all(one.why for one in found.damaged)
    assert found.gaps == {"3": 2, "1": 1}
    assert found.plans[1].gaps == 3
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    "fields",
    [
        {"loop_gate_history": 5},
        {"loop_gate_history": [5]},
        {"gap_acknowledged": {}},
        {"iteration": None},
        {"completion_state": {}},
        {"last_active_at": []},
        {"slug": None},
    ],
)
def test_a_field_that_breaks_a_rule_is_named_and_never_stops_an_audit(
    tmp_path: Path, fields: Json
) -> None:
    write_old(tmp_path, {**plan_of("4", 1), **fields}, "odd")
    write_old(tmp_path, plan_of("4", 1), "well")
    found = au.audit(tmp_path)
    assert [one.slug for one in found.plans] == ["well"]
    (odd,) = found.damaged
    assert odd.file == "odd.state.json"
    assert next(iter(fields)) in odd.why


@pytest.mark.parametrize("phase", ["shipped", "complete", "done"])
def test_a_phase_in_which_another_tool_ends_a_plan_is_shipped(tmp_path: Path, phase: str) -> None:
    write_old(tmp_path, plan_of(phase, 100), "theirs")
    (one,) = au.audit(tmp_path).plans
    assert (one.kind, one.phase) == ("shipped", phase)


@pytest.mark.parametrize(
    ("reason", "stalls"),
    [
        ("research-agent stalled at 600s", 1),
        ("the explorer timed out", 1),
        ("the search gave no response", 1),
        ("the paper is behind a paywall", 0),
        ("installing was not allowed", 0),
        ("", 0),
    ],
)
def test_a_gap_is_a_stall_only_where_its_reason_says_so(
    tmp_path: Path, reason: str, stalls: int
) -> None:
    gap = {"phase": "3", "iteration": 1, "reason": reason or "x", "fallback": "inline"}
    write_old(tmp_path, {**plan_of("4", 1), "gap_acknowledged": [gap]}, "one")
    found = au.audit(tmp_path)
    assert found.gaps == {"3": 1}
    assert found.stalls == ({"3": stalls} if stalls else {})
    assert (found.plans[0].gaps, found.plans[0].stalls) == (1, stalls)


def test_audit_without_a_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no such folder") as caught:
        au.audit(tmp_path / "nowhere")
    assert caught.value.exit_code == 1


def marking(folder: Path, now_ms: int = NOW) -> au.Marked:
    def abandon(slug: str) -> None:
        with LoopPlan.open(slug, folder, clock=Clock(now_ms)) as plan:
            plan.abandon()

    return au.mark_abandoned(au.audit(folder, clock=lambda: NOW), abandon)


def test_only_candidates_with_a_last_active_are_marked(tmp_path: Path) -> None:
    folder_of_plans(tmp_path)
    unknown = (tmp_path / "unknown.state.json").read_bytes()
    found = marking(tmp_path)
    assert (found.marked, found.unknown, found.refused) == (["idle"], ["unknown"], [])
    state = read_state(tmp_path, "idle")
    assert state["completion_state"] == "abandoned"
    assert state["last_active_at"] > days_ago(1), "marking is a write"
    assert (tmp_path / "unknown.state.json").read_bytes() == unknown
    assert not (tmp_path / "young.journal").exists()
    assert marking(tmp_path).marked == []


def test_plan_that_was_written_to_meanwhile_is_not_marked(tmp_path: Path) -> None:
    write_old(tmp_path, plan_of("4", 20, slug="idle"), "idle")
    listed = au.audit(tmp_path, clock=lambda: NOW)
    with LoopPlan.open("idle", tmp_path, clock=Clock()) as plan:
        plan.add("blocker", "still at it")

    def abandon(slug: str) -> None:
        with LoopPlan.open(slug, tmp_path, clock=Clock()) as plan:
            plan.abandon()

    found = au.mark_abandoned(listed, abandon)
    assert found.marked == []
    assert [one.file for one in found.refused] == ["idle.state.json"]
    assert read_state(tmp_path, "idle")["completion_state"] == "active"


def test_plan_without_last_active_is_known_again_after_its_next_write(tmp_path: Path) -> None:
    old = plan_of("4", 0, slug="unknown", last_update_at=days_ago(30))
    del old["last_active_at"]
    write_old(tmp_path, old, "unknown")
    with LoopPlan.open("unknown", tmp_path, clock=Clock()) as plan:
        with pytest.raises(UsageError, match="unknown: it has no last_active_at"):
            plan.abandon()
        plan.add("blocker", "still at it")
    [entry] = au.audit(tmp_path, clock=lambda: NOW).plans
    assert (entry.unknown, entry.kind) == (False, "active")


def test_new_plan_is_active(tmp_path: Path) -> None:
    begin(tmp_path).close()
    [entry] = au.audit(tmp_path, clock=lambda: NOW + DAY_MS).plans
    assert (entry.kind, entry.last_action, entry.unknown) == ("active", "none yet", False)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (plan_of("3", 1), "--choose resume"),
        (plan_of("1", 1, iteration=1), "--choose resume"),
        (plan_of("3", 20), "--choose restart"),
        (plan_of("done", 1), "--choose fresh"),
        (plan_of("7b", 9), "phase 7b"),
    ],
)
def test_suggestion_says_how_to_go_on(tmp_path: Path, state: Json, words: str) -> None:
    write_old(tmp_path, state, "x")
    [entry] = au.audit(tmp_path, clock=lambda: NOW).plans
    assert words in au.suggest_resume(entry)
