"""A whole life of a plan, in Python, and what its journal can say of it afterwards."""

from pathlib import Path

import pytest

import journal
from projections.loop_plan.events import PhaseEntered
from projections.loop_plan.plan import LoopPlan
from projections.loop_plan.projection import PROJECTION
from projections.loop_plan.schema import check
from tests.loop_plan.life import GOAL, SLUG, TIME, Clock, begin, read_state
from tests.loop_plan.test_history import ADR, CLARIFICATION, EXPLORATION, GAP, RESEARCH


def live(folder: Path) -> None:
    """From the first statement to the shipped plan, with every turn that the graph has."""
    with begin(folder) as plan:
        plan.set_part("constitution", {"consulted": True, "path": "c.md"})
        plan.set_part("decisions", [{"adr_id": "1", "status": "accepted", "title": "Use Koin"}])
        plan.enter_phase("1")
        plan.add("exploration", EXPLORATION)
        plan.enter_phase("2")
        plan.set_rigor("full")
        plan.add("clarification", CLARIFICATION)
        plan.add("adr", ADR)
        plan.set_goal(GOAL)
        plan.enter_phase("3")
        plan.add("gap", GAP)
        plan.add("research", RESEARCH)
        plan.enter_phase("3b")
        plan.record_inventory("failed", "no tool answered")
    with LoopPlan.open(SLUG, folder, clock=Clock()) as plan:
        plan.resume("skip")
        plan.set_part("patterns", [{"pattern_slug": "p", "source_adrs": [], "project_count": 3}])
        plan.enter_phase("5")
        plan.choose_gate("More clarification")
        plan.resume("resume")
        plan.enter_phase("3")
        plan.enter_phase("4")
        plan.enter_phase("5")
        plan.choose_gate("looks good", "keyword")
        plan.check_drift({"scope": "grew"})
        plan.enter_phase("5")
        plan.choose_gate("Ship it")
        plan.check_drift()
        plan.enter_phase("7a")
        plan.set_part(
            "stages", [{"id": name, "exit_criteria": ["3 pass"]} for name in ("s1", "s2")]
        )
        plan.start_execution("log.md")
        plan.start_stage("s1")
        plan.add("agent", "builder")
        plan.add("test", {"task_id": "T1", "test_files": ["a.py"], "red_confirmed_at": TIME})
        plan.complete_task("T1")
        plan.verify_stage("s1", {"status": "human_needed"})
        plan.sign_off_stage("s1", "Ann", "saw it")
        plan.start_stage("s2")
        plan.add("blocker", "waits for a key")
        plan.complete_task("T2")
        plan.record_verification({"status": "passed", "score": "2/2"})
        plan.ship()


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plans")
    live(folder)
    return folder


def test_whole_life_ends_in_a_shipped_plan(lived: Path) -> None:
    state = read_state(lived)
    check(state)
    assert (state["current_phase"], state["completion_state"]) == ("done", "shipped")
    assert (state["iteration"], state["exit_signal"]) == (2, "Ship it")
    choices = [entry["choice"] for entry in state["loop_gate_history"]]
    assert choices == ["More clarification", "looks good", "Ship it"]
    assert state["execution"]["tasks_completed"] == ["T1", "T2"]


def test_log_verifies_and_every_event_is_understood(lived: Path) -> None:
    with journal.open(lived / f"{SLUG}.journal", read_only=True) as engine:
        report = engine.verify()
        assert report.ok
        assert report.unknown == {}
        assert {event.type for event in engine.events()} <= {
            "journal.created",
            *PROJECTION.types,
        }


def test_past_states_are_those_of_their_time(lived: Path) -> None:
    with journal.open(lived / f"{SLUG}.journal", read_only=True) as engine:
        for event in engine.events():
            if event.type == "phase_entered":
                assert engine.state_at(event.seq)["current_phase"] == event.data["phase"]
            if event.type != "journal.created":
                state = engine.state_at(event.seq)
                check(state)
                assert state["last_active_at"] == event.time


def test_rebuild_gives_the_same_bytes_and_the_state_of_then_can_be_restored(
    tmp_path: Path,
) -> None:
    live(tmp_path)
    path = tmp_path / f"{SLUG}.state.json"
    data = path.read_bytes()
    path.unlink()
    with journal.open(tmp_path / f"{SLUG}.journal") as engine:
        engine.rebuild()
        assert path.read_bytes() == data
        shipped = engine.seq
        seq = next(e.seq for e in engine.events() if e.data.get("phase") == "5")
        engine.restore(seq, reason="look again")
        assert engine.state["current_phase"] == "5"
        engine.restore(shipped)
    assert path.read_bytes() == data


def test_checkpoints_are_the_same_bytes_after_a_rebuild(tmp_path: Path) -> None:
    with begin(tmp_path) as plan:
        plan.enter_phase("1")
    folder = tmp_path / f"{SLUG}.journal"
    with journal.open(folder) as engine:
        info = engine.snapshot(trigger="before the risky step")
        kept = folder / "snapshots" / info.file
        data = kept.read_bytes()
        kept.unlink()
        engine.rebuild()
        assert kept.read_bytes() == data


def test_rigor_is_an_event_of_its_own_on_disk(tmp_path: Path) -> None:
    with begin(tmp_path, "2") as plan:
        [event] = plan.set_rigor("full")
        assert (event.type, event.part) == ("rigor_set", (1, 1))
        assert plan.engine is not None
        assert plan.engine.synced == event.seq
        assert read_state(tmp_path)["rigor"] == "full"


def test_gate_is_one_append(tmp_path: Path) -> None:
    with begin(tmp_path, "5") as plan:
        events = plan.choose_gate("More research")
    assert [event.type for event in events] == [
        "gate_chosen",
        "iteration_started",
        "phase_entered",
    ]
    assert [event.part for event in events] == [(1, 3), (2, 3), (3, 3)]


def test_actor_is_recorded(tmp_path: Path) -> None:
    with begin(tmp_path, actor="ann") as plan:
        [event] = plan.enter_phase("1")
    assert event.actor == "ann"


def test_wrapper_that_was_closed_can_be_closed_again(tmp_path: Path) -> None:
    plan = begin(tmp_path)
    plan.close()
    plan.close()
    with pytest.raises(journal.JournalError, match="closed"):
        plan.enter_phase("1")


def test_typed_events_can_be_appended_as_they_are(tmp_path: Path) -> None:
    with begin(tmp_path) as plan:
        assert plan.engine is not None
        assert plan.engine.append(PhaseEntered(phase="4")).data == {"phase": "4"}
