"""The resume table, row by row: ages, choices, a person's word, tiers."""

from typing import Any

import pytest

from journal.errors import UsageError
from projections.pipeline_state import facts, resuming
from projections.pipeline_state.facts import Facts
from projections.pipeline_state.resuming import Wish
from projections.pipeline_state.run import PipelineRun
from tests.pipeline_state.making import (
    HOUR_MS,
    MINUTE_MS,
    UUID,
    Desk,
    edit,
    foreign_state,
    types,
)


def crashed(desk: Desk) -> PipelineRun:
    """A run of two phases that was last heard of an hour ago: one done, one running."""
    run = desk.begin()
    run.start(0)
    run.done(0, ["plan.md"])
    run.start(1)
    desk.clock.go(HOUR_MS)
    return run


def ended(desk: Desk, status: str) -> PipelineRun:
    """A run that was escalated or failed, with a failed and a running phase."""
    run = desk.begin()
    run.start(0)
    run.fail_phase(0, "no answer")
    run.start(1)
    if status == "escalated":
        run.escalate("a key is missing")
    else:
        run.fail("no key")
    return run


def refused(desk: Desk, run: PipelineRun, key: str, **wish: Any) -> str:
    """Resume, expect a refusal by the name `key` that changes nothing, and return its words."""
    before = desk.bytes()
    with pytest.raises(UsageError) as caught:
        run.resume(**wish)
    assert caught.value.key == key
    assert desk.bytes() == before
    return str(caught.value)


# --- running, young ------------------------------------------------------------------------------


@pytest.mark.parametrize("age_ms", [0, 1, MINUTE_MS, HOUR_MS - 1])
@pytest.mark.parametrize("choose", [None, "resume", "restart", "abort"])
def test_a_run_heard_of_within_the_hour_is_active_and_refused(
    desk: Desk, age_ms: int, choose: str | None
) -> None:
    with desk.begin() as run:
        desk.clock.go(age_ms)
        words = refused(desk, run, "status", choose=choose, confirm=True)
        assert "active run detected" in words
        assert "no new instance is started" in words


# --- running, old --------------------------------------------------------------------------------


@pytest.mark.parametrize("age_ms", [HOUR_MS, HOUR_MS + 1, 100 * HOUR_MS])
def test_exactly_an_hour_is_crashed_and_needs_a_choice(desk: Desk, age_ms: int) -> None:
    with desk.begin() as run:
        desk.clock.go(age_ms)
        words = refused(desk, run, "choose")
        assert "treated as crashed" in words
        assert all(f"--choose {choice}" in words for choice in resuming.CHOICES)
        assert refused(desk, run, "choose", confirm=True)


def test_resume_makes_running_phases_pending_and_keeps_their_outputs(desk: Desk) -> None:
    with desk.open(desk.write(foreign_state(), age_ms=HOUR_MS)) as run:
        desk.clock.go(HOUR_MS)
        run.resume(choose="resume")
        phase = run.state["phases"][1]
        assert (phase["status"], phase["outputs"], phase["error"]) == (
            "pending",
            ["half.txt"],
            None,
        )
        assert run.state["phases"][0]["status"] == "done"
        assert (run.state["status"], run.state["current_phase"]) == ("running", 1)


def test_resume_after_a_crash_leaves_failed_phases_failed(desk: Desk) -> None:
    with desk.begin() as run:
        run.start(0)
        run.fail_phase(0, "no answer")
        desk.clock.go(HOUR_MS)
        run.resume(choose="resume")
        assert run.state["phases"][0]["status"] == "failed"
        assert run.state["phases"][0]["error"] == "no answer"


def test_restart_makes_every_phase_pending_without_outputs_and_error(desk: Desk) -> None:
    with crashed(desk) as run:
        started_at = run.state["started_at"]
        run.resume(choose="restart")
        for phase in run.state["phases"]:
            assert (phase["status"], phase["outputs"], phase["error"]) == ("pending", [], None)
        assert (run.state["status"], run.state["current_phase"]) == ("running", 0)
        assert run.state["started_at"] == started_at
        assert types(run)[-1] == "run_restarted"


@pytest.mark.parametrize("reason", [None, "nobody wants it"])
def test_abort_makes_the_run_failed_with_its_reason(desk: Desk, reason: str | None) -> None:
    with crashed(desk) as run:
        run.resume(choose="abort", reason=reason)
        assert run.state["status"] == "failed"
        assert (reason or "aborted after a crash") in run.state["metadata"]["abort_reason"]
        assert [phase["status"] for phase in run.state["phases"]] == ["done", "running"]


@pytest.mark.parametrize("choose", ["", "Resume", "continue"])
def test_a_choice_that_there_is_not_is_refused_with_those_that_there_are(
    desk: Desk, choose: str
) -> None:
    with crashed(desk) as run:
        words = refused(desk, run, "choose", choose=choose)
        assert all(choice in words for choice in resuming.CHOICES)


def test_a_resumed_run_is_live_again(desk: Desk) -> None:
    with crashed(desk) as run:
        run.resume(choose="resume")
        assert "active run" in refused(desk, run, "status", choose="resume")


# --- completed, escalated, failed ----------------------------------------------------------------


@pytest.mark.parametrize("wish", [{}, {"choose": "restart", "confirm": True}, {"tier": "codex"}])
def test_a_completed_run_is_left_as_it_is(desk: Desk, wish: dict[str, Any]) -> None:
    with desk.begin() as run:
        for index in (0, 1):
            run.start(index)
            run.done(index)
        run.complete()
        desk.clock.go(2 * HOUR_MS)
        before = desk.bytes()
        assert run.resume(**wish) == []
        assert desk.bytes() == before


def test_a_completed_file_of_another_tool_is_not_even_taken_over(desk: Desk) -> None:
    desk.write(foreign_state(status="completed"))
    before = desk.bytes()
    with desk.open(UUID) as run:
        assert run.resume(choose="resume", confirm=True) == []
        assert not run.is_taken_over
    assert desk.bytes() == before


@pytest.mark.parametrize("status", ["escalated", "failed"])
def test_an_escalated_or_failed_run_needs_a_persons_word(desk: Desk, status: str) -> None:
    with ended(desk, status) as run:
        desk.clock.go(2 * HOUR_MS)
        assert f"the run is {status}" in refused(desk, run, "confirm")
        assert refused(desk, run, "confirm", choose="resume")
        for choose in ("restart", "abort"):
            assert refused(desk, run, "choose", choose=choose, confirm=True)
        run.resume(confirm=True)
        assert run.state["status"] == "running"
        assert [phase["status"] for phase in run.state["phases"]] == ["pending", "pending"]
        assert run.state["phases"][0]["error"] is None
        event = list(run.engine.events())[-1]
        assert (event.type, event.data) == ("run_resumed", {"confirmed": True})


def test_an_ended_run_needs_no_age_to_be_resumed(desk: Desk) -> None:
    with ended(desk, "failed") as run:
        run.resume(confirm=True)
        assert run.state["status"] == "running"


# --- the file was damaged ------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [b"", b"{", b"\0" * 40, None])
def test_a_run_whose_file_was_damaged_is_resumed_only_with_a_persons_word(
    desk: Desk, damage: bytes | None
) -> None:
    with crashed(desk) as run:
        file, whole = run.place.file, run.place.file.read_bytes()
    file.unlink() if damage is None else file.write_bytes(damage)
    with desk.open(file) as run:
        assert file.read_bytes() == whole
        assert run.facts().damaged
        for choose in resuming.CHOICES:
            assert "corruption detected" in refused(desk, run, "confirm", choose=choose)
        run.resume(choose="resume", confirm=True)
        assert run.facts().damaged == ""
        desk.clock.go(HOUR_MS)
        run.resume(choose="resume")


def test_the_word_is_still_needed_when_other_verbs_came_after_the_damage(desk: Desk) -> None:
    with desk.begin() as run:
        run.place.file.write_bytes(b"{")
        run.start(0)
        desk.clock.go(HOUR_MS)
        assert "corruption detected" in refused(desk, run, "confirm", choose="resume")


def test_an_active_run_stays_refused_though_its_file_was_damaged(desk: Desk) -> None:
    with desk.begin() as run:
        run.place.file.write_bytes(b"")
        run.beat()
        assert "active run" in refused(desk, run, "status", choose="resume", confirm=True)


# --- ages ----------------------------------------------------------------------------------------


def test_a_beat_and_every_verb_make_a_run_young_again(desk: Desk) -> None:
    with desk.begin() as run:
        desk.clock.go(HOUR_MS - 1)
        run.beat()
        desk.clock.go(HOUR_MS - 1)
        assert resuming.condition(run.state, run.facts()) == "live"
        run.set_metadata("ticket", 7)
        desk.clock.go(HOUR_MS - 1)
        assert run.facts().age_ms == HOUR_MS - 1
        desk.clock.go(1)
        assert resuming.condition(run.state, run.facts()) == "crashed"


def test_neither_adoption_nor_the_engines_own_events_make_a_run_young(desk: Desk) -> None:
    with desk.begin() as run:
        file = run.place.file
        desk.clock.go(HOUR_MS)
        edit(file, mine=1)
        run.engine.refresh()
        run.engine.adopt()
        run.engine.snapshot()
        run.engine.restore(2)
        assert types(run)[1:] == ["journal.adopted", "journal.checkpoint", "journal.restored"]
        assert run.facts().age_ms == HOUR_MS
    with desk.open(file) as run:
        assert resuming.condition(run.state, run.facts()) == "crashed"


@pytest.mark.parametrize(
    ("started", "changed", "mtime_age_ms", "age_ms"),
    [
        ("2026-03-01T11:00:00Z", None, 3 * HOUR_MS, HOUR_MS),
        ("2026-03-01T09:00:00Z", None, 90 * MINUTE_MS, 90 * MINUTE_MS),
        ("2026-03-01T09:00:00Z", "2026-03-01T11:59:00Z", 3 * HOUR_MS, MINUTE_MS),
        ("2026-03-01T11:30:00", None, 3 * HOUR_MS, 30 * MINUTE_MS),
        ("2026-03-01T12:30:00+01:00", None, 3 * HOUR_MS, 30 * MINUTE_MS),
    ],
)
def test_without_an_event_of_its_own_a_run_is_as_old_as_its_newest_time(
    desk: Desk, started: str, changed: str | None, mtime_age_ms: int, age_ms: int
) -> None:
    state = foreign_state(started_at=started)
    if changed:
        change = {"from": "claude", "to": "codex", "at": changed}
        state["metadata"]["tier_changes"] = [change]
    with desk.open(desk.write(state, age_ms=mtime_age_ms)) as run:
        assert run.facts().age_ms == age_ms
        run.take_over()
        assert run.facts().age_ms == age_ms
        desk.clock.go(5)
        assert run.facts().age_ms == age_ms + 5


def test_a_time_in_the_future_counts_as_young() -> None:
    known = Facts(-5, "2026-03-01T12:00:00.005Z")
    assert resuming.condition(foreign_state(), known) == "live"
    with pytest.raises(UsageError, match="its time is in the future"):
        resuming.resume(foreign_state(), known, Wish(choose="resume"))


@pytest.mark.parametrize(
    ("age_ms", "words"),
    [
        (0, "0 s"),
        (59_000, "59 s"),
        (60_000, "1 min"),
        (HOUR_MS, "1 h 0 min"),
        (47 * HOUR_MS, "47 h 0 min"),
        (49 * HOUR_MS, "2 days"),
    ],
)
def test_an_age_is_said_for_people(age_ms: int, words: str) -> None:
    assert resuming.say_age(age_ms) == words


def test_the_hour_of_the_text_is_an_hour() -> None:
    assert facts.HOUR_MS == HOUR_MS
    assert not Facts(HOUR_MS - 1, "").is_old
    assert Facts(HOUR_MS, "").is_old


# --- tiers ---------------------------------------------------------------------------------------

CODEX = {"name": "codex", "degradation_warnings": ["no worktrees", "one at a time"]}


def test_another_tier_is_noted_once_with_its_profile_and_its_warnings(desk: Desk) -> None:
    with crashed(desk) as run:
        run.resume(choose="resume", tier="codex", profile=CODEX)
        metadata = run.state["metadata"]
        event = next(event for event in run.engine.events() if event.type == "tier_changed")
        assert metadata["tier_changes"] == [{"from": "claude", "to": "codex", "at": event.time}]
        assert (metadata["source_tier"], metadata["runtime_tier"]) == ("claude", "codex")
        assert metadata["platform_profile"] == CODEX
        assert metadata["isolation_warning"] == "no worktrees\none at a time"
        assert event.part == (1, 2)
        desk.clock.go(HOUR_MS)
        run.resume(choose="restart", tier="claude", profile={"name": "claude"})
        changes = run.state["metadata"]["tier_changes"]
        assert [(change["from"], change["to"]) for change in changes] == [
            ("claude", "codex"),
            ("codex", "claude"),
        ]
        assert run.state["metadata"]["isolation_warning"] is None


def test_the_same_tier_changes_nothing_of_it(desk: Desk) -> None:
    with crashed(desk) as run:
        before = run.state["metadata"]
        run.resume(choose="resume", tier="claude", profile=CODEX)
        assert run.state["metadata"] == before


def test_another_tier_without_its_profile_and_a_profile_without_tier_are_refused(
    desk: Desk,
) -> None:
    with crashed(desk) as run:
        assert "'codex'" in refused(desk, run, "profile", choose="resume", tier="codex")
        assert refused(desk, run, "tier", choose="resume", profile=CODEX)
        bad = {"degradation_warnings": "no worktrees"}
        key = "platform_profile.degradation_warnings"
        assert refused(desk, run, key, choose="resume", tier="codex", profile=bad)
        assert refused(desk, run, "platform_profile", choose="resume", tier="codex", profile=[])


def test_where_no_tier_was_known_the_first_one_is_no_change(desk: Desk) -> None:
    state = foreign_state()
    for name in ("source_tier", "runtime_tier"):
        del state["metadata"][name]
    with desk.open(desk.write(state, age_ms=2 * HOUR_MS)) as run:
        desk.clock.go(HOUR_MS)
        run.resume(choose="resume", tier="codex", profile=CODEX)
        assert run.state["metadata"]["tier_changes"] == []
        assert run.state["metadata"]["runtime_tier"] == "codex"
        assert "source_tier" not in run.state["metadata"]


# --- the root ------------------------------------------------------------------------------------


def test_a_run_that_was_moved_out_of_its_scope_is_not_resumed_and_both_roots_are_said(
    desk: Desk,
) -> None:
    with crashed(desk) as run:
        folder = run.place.file.parent
    elsewhere = desk.folder / "backup" / "temp" / "review" / folder.name
    elsewhere.parent.mkdir(parents=True)
    folder.rename(elsewhere)
    with desk.open(elsewhere) as run:
        words = refused(desk, run, "scope_root_dir", choose="resume", confirm=True)
        assert "'.superpipelines'" in words
        assert str(desk.folder / "backup") in words


def test_a_workspace_that_was_moved_as_a_whole_is_resumed(desk: Desk) -> None:
    with crashed(desk) as run:
        id_ = run.state["run_id"]
    moved = desk.folder / "elsewhere" / ".superpipelines"
    moved.parent.mkdir()
    desk.root.rename(moved)
    with PipelineRun.open(id_, root=str(moved), options=desk.options) as run:
        run.resume(choose="resume")
        assert run.state["scope_root_dir"] == ".superpipelines"
        assert run.place.root == moved
