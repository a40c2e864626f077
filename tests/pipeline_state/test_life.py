"""A whole life in Python, and what the engine can do with it afterwards."""

import orjson
import pytest

import journal
from projections import catalog, patch
from projections.pipeline_state import listing
from projections.pipeline_state.projection import PROJECTION
from projections.pipeline_state.run import PipelineRun
from tests.pipeline_state.making import HOUR_MS, UUID, Desk, foreign_state, types


def live(desk: Desk) -> PipelineRun:
    """A run from its begin to its end: a phase fails, a crash, another tier, an escalation."""
    run = desk.begin(run_id=UUID)
    run.record_models({"plan": {"model": "large"}}, "2026-03-01")
    run.record_preferences(user=str(desk.folder / "prefs.md"))
    run.start(0)
    run.fail_phase(0, "no answer")
    run.retry_phase(0)
    run.start(0)
    run.done(0, ["plan.md"])
    run.start(1)
    run.beat()
    desk.clock.go(HOUR_MS)
    run.resume(choose="resume", tier="codex", profile={"name": "codex"})
    run.escalate("a key is missing")
    run.resume(confirm=True)
    run.start(1)
    run.done(1, ["app"])
    run.set_metadata("ticket", "A-7")
    run.complete()
    return run


def test_a_whole_life_leaves_one_event_a_verb_and_the_state_in_the_file(desk: Desk) -> None:
    with live(desk) as run:
        assert types(run) == [
            *("run_initialized", "models_resolved", "preferences_consulted", "phase_started"),
            *("phase_failed", "phase_retried", "phase_started", "phase_done", "phase_started"),
            *("heartbeat", "tier_changed", "run_resumed", "run_escalated", "run_resumed"),
            *("phase_started", "phase_done", "metadata_set", "run_completed"),
        ]
        state = run.state
        assert (state["status"], state["current_phase"]) == ("completed", 2)
        assert patch.equal(orjson.loads(run.place.file.read_bytes()), state)


def test_every_state_that_was_can_be_had_again_and_history_verifies(desk: Desk) -> None:
    with live(desk) as run:
        engine = run.engine
        checked = 0
        for seq in range(2, engine.seq + 1):
            PROJECTION.check(engine.state_at(seq))
            checked += 1
        assert checked == len(types(run))
        assert engine.state_at(9)["phases"][0]["status"] == "done"
        assert engine.verify().ok
        rebuilt = engine.rebuild()
        assert (rebuilt.written, rebuilt.equal) == ([], ["pipeline-state.json"])


def test_a_rebuild_puts_the_file_back_byte_for_byte(desk: Desk) -> None:
    with live(desk) as run:
        whole, private = run.place.file.read_bytes(), run.place.private
    run.place.file.write_bytes(b'{"by": "hand"}')
    with journal.open(private, on_drift="replace") as engine:
        engine.rebuild()
    assert run.place.file.read_bytes() == whole


def test_a_checkpoint_is_taken_and_its_state_restored(desk: Desk) -> None:
    with desk.begin() as run:
        info = run.engine.snapshot(trigger="before the risky step")
        run.start(0)
        run.engine.restore(info.file)
        assert run.state["phases"][0]["status"] == "pending"


def test_the_projection_is_built_in_and_its_revision_is_its_code(desk: Desk) -> None:
    assert catalog.find("pipeline_state") is PROJECTION
    assert len(PROJECTION.revision) == 64


def test_what_a_repeated_opening_reads_is_the_same(desk: Desk) -> None:
    with live(desk) as run:
        state, seq = run.state, run.engine.seq
    for _ in range(2):
        with desk.open(UUID) as run:
            assert patch.equal(run.state, state)
            assert run.engine.seq == seq


# --- lists ---------------------------------------------------------------------------------------


def test_a_list_has_every_run_and_marks_what_stands_out(desk: Desk) -> None:
    done = foreign_state()["phases"][0]
    complete = foreign_state(phases=[done, done | {"index": 1}], current_phase=2)
    desk.write(complete, name="a", run="looks-complete")
    desk.write(foreign_state(status="failed"), name="b", run="failed")
    desk.write(b"{", name="b", run="damaged")
    desk.write(foreign_state(phases=[], current_phase=0), name="d", run="no-phases")
    desk.begin("c", run_id=UUID).close()
    (desk.root / "temp" / "c" / "empty").mkdir()
    (desk.root / "temp" / "stray.txt").write_text("x")
    before = desk.bytes()
    found = listing.list_runs(str(desk.root), clock=desk.clock)
    assert desk.bytes() == before
    listed = [
        (r.file.split("/")[-3], r.condition, r.looks_complete, r.phases_done, r.phases)
        for r in found
    ]
    assert listed == [
        ("a", "live", True, 2, 2),
        ("b", "damaged", False, 0, 0),
        ("b", "failed", False, 1, 2),
        ("c", "live", False, 0, 2),
        ("d", "live", False, 0, 0),
    ]
    assert "byte" in found[1].problem
    assert found[1].age_ms is None


def test_a_list_of_nothing_is_empty(desk: Desk) -> None:
    assert listing.list_runs() == []
    assert listing.list_runs(str(desk.folder / "nowhere")) == []


def test_both_layouts_are_listed(desk: Desk) -> None:
    desk.begin(root=str(desk.root)).close()
    desk.begin("old", layout="legacy", root=None).close()
    assert [r.name for r in listing.list_runs(".superpipelines")] == ["review"]
    assert [r.name for r in listing.list_runs(".claude")] == ["old"]


@pytest.mark.parametrize(
    ("over", "next_words"),
    [
        ({}, "done 1 (build)"),
        ({"status": "completed"}, "nothing"),
        ({"status": "escalated"}, "resume --confirm"),
        ({"phases": []} | {"current_phase": 0}, "complete"),
        ({"started_at": "2026-02-01T00:00:00Z"}, "resume --choose"),
        ({"scope_root_dir": ".claude", "started_at": "2026-02-01T00:00:00Z"}, "move the run back"),
    ],
)
def test_status_says_what_to_do_next(desk: Desk, over: dict[str, object], next_words: str) -> None:
    desk.write(foreign_state(**over), age_ms=HOUR_MS)
    before = desk.bytes()
    found = listing.read_status(UUID, options=desk.options)
    assert found.next.startswith(next_words)
    assert found.state["status"] == found.status
    assert not found.taken_over
    assert desk.bytes() == before
