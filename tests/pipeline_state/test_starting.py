"""A new run: what it must be given, and who else runs under its name."""

import fcntl
import os
from pathlib import Path
from typing import Any

import orjson
import pytest

import journal
from journal.errors import Locked, UsageError
from projections.pipeline_state import listing, standing
from projections.pipeline_state.places import place_of
from projections.pipeline_state.run import Options, PipelineRun
from tests.pipeline_state.making import HOUR_MS, NOON, PHASES, PROFILE, UUID, Desk, foreign_state

# --- what it is given ----------------------------------------------------------------------------


def test_a_new_run_has_every_field_of_the_text(desk: Desk) -> None:
    profile = PROFILE | {"degradation_warnings": ["no worktrees", "one at a time"]}
    with desk.begin(run_id=UUID, profile=profile) as run:
        state = run.state
    assert state == {
        "pipeline_id": state["pipeline_id"],
        "pipeline_name": "review",
        "plugin_version": "2.1.0",
        "scope_root_dir": ".superpipelines",
        "run_id": UUID,
        "started_at": NOON,
        "pattern": "1",
        "status": "running",
        "current_phase": 0,
        "phases": [
            {
                "index": index,
                "name": phase["name"],
                "status": "pending",
                "agent": phase["agent"],
                "outputs": [],
                "error": None,
            }
            for index, phase in enumerate(PHASES)
        ],
        "metadata": {
            "source_tier": "claude",
            "runtime_tier": "claude",
            "platform_profile": profile,
            "tier_changes": [],
            "source_scope_root": ".claude",
            "isolation_warning": "no worktrees\none at a time",
            "resolved_models": {},
            "preference_files_consulted": {
                "user_path": None,
                "user_hash": None,
                "workspace_path": None,
                "workspace_hash": None,
            },
            "model_tiers_version_at_run": "2026-02-01",
        },
    }


BAD: list[tuple[str, Any, str]] = [
    ("pattern", "6", "pattern"),
    ("pattern", "", "pattern"),
    ("phases", [], "phases"),
    ("phases", {"name": "plan"}, "phases"),
    ("phases", ["plan"], "phases[0]"),
    ("phases", [{"agent": "a"}], "phases[0].name"),
    ("phases", [{"name": "plan"}], "phases[0].agent"),
    ("phases", [{"name": " ", "agent": "a"}], "phases[0].name"),
    ("phases", [{"name": "plan", "agent": 7}], "phases[0].agent"),
    ("phases", [{"name": "plan", "agent": "a", "index": 1}], "phases[0].index"),
    ("phases", [{"name": "plan", "agent": "a", "index": False}], "phases[0].index"),
    ("phases", [{"name": "plan", "agent": "a", "status": "done"}], "phases[0].status"),
    ("phases", [{"name": "plan", "agent": "a", "outputs": ["x"]}], "phases[0].outputs"),
    ("tier", "", "tier"),
    ("profile", [], "platform_profile"),
    ("profile", {"degradation_warnings": [1]}, "platform_profile.degradation_warnings"),
    ("plugin_version", "2.1", "plugin_version"),
    ("plugin_version", "v2.1.0", "plugin_version"),
    ("plugin_version", "02.1.0", "plugin_version"),
    ("plugin_version", None, "plugin_version"),
]


@pytest.mark.parametrize(("name", "value", "key"), BAD)
def test_what_does_not_fit_is_refused_by_name_and_nothing_is_made(
    desk: Desk, name: str, value: Any, key: str
) -> None:
    with pytest.raises(UsageError) as caught:
        desk.begin(**{name: value})
    assert caught.value.key == key
    assert desk.bytes() == {}


@pytest.mark.parametrize("warnings", [{}, {"degradation_warnings": []}])
def test_without_warnings_there_is_no_isolation_warning(
    desk: Desk, warnings: dict[str, Any]
) -> None:
    with desk.begin(profile=PROFILE | warnings) as run:
        assert run.state["metadata"]["isolation_warning"] is None


def test_further_members_of_a_phase_are_kept(desk: Desk) -> None:
    phases = [{"name": "plan", "agent": "a", "index": 0, "gate": {"by": "ann"}}]
    with desk.begin(phases=phases) as run:
        assert run.state["phases"][0]["gate"] == {"by": "ann"}


@pytest.mark.parametrize("version", ["0.0.0", "10.20.30", "1.0.0-rc.1+build.5"])
def test_the_version_is_read_from_a_manifest(desk: Desk, version: str) -> None:
    manifest = desk.folder / "plugin.json"
    manifest.write_bytes(orjson.dumps({"name": "x", "version": version}))
    with desk.begin(plugin_version=None, manifest=str(manifest)) as run:
        assert run.state["plugin_version"] == version


def test_without_either_the_version_comes_from_the_manifest_that_the_profile_names(
    desk: Desk,
) -> None:
    (desk.folder / "plugin.json").write_bytes(b'{"version": "3.0.0"}')
    profile = {"extensions": {"version_manifest_path": "plugin.json"}}
    with desk.begin(plugin_version=None, profile=profile) as run:
        assert run.state["plugin_version"] == "3.0.0"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{}", "no member `version`"),
        (b"[]", "no member `version`"),
        (b'{"version": "two"}', "'two'"),
        (b"{", "manifest: "),
    ],
)
def test_a_manifest_without_a_version_is_refused(desk: Desk, text: bytes, words: str) -> None:
    manifest = desk.folder / "plugin.json"
    manifest.write_bytes(text)
    with pytest.raises(UsageError) as caught:
        desk.begin(plugin_version=None, manifest=str(manifest))
    assert words in caught.value.message
    assert not desk.root.exists()


def test_a_manifest_that_is_not_there_and_one_beside_a_version_are_refused(desk: Desk) -> None:
    with pytest.raises(FileNotFoundError):
        desk.begin(plugin_version=None, manifest="nowhere.json")
    with pytest.raises(UsageError, match="give one of them"):
        desk.begin(manifest="plugin.json")
    assert desk.bytes() == {}


# --- who else runs -------------------------------------------------------------------------------


def test_a_live_run_of_the_name_refuses_a_new_one_and_nothing_is_changed(desk: Desk) -> None:
    desk.begin().close()
    desk.clock.go(HOUR_MS - 1)
    before = desk.bytes()
    with pytest.raises(UsageError, match="active run detected: run "):
        desk.begin()
    assert desk.bytes() == before
    with desk.begin("other") as run:
        assert run.state["pipeline_name"] == "other"


def test_a_live_file_of_another_tool_refuses_too_and_no_lock_file_appears(desk: Desk) -> None:
    desk.write(foreign_state())
    before = desk.bytes()
    with pytest.raises(UsageError, match=f"run {UUID} is running"):
        desk.begin()
    assert desk.bytes() == before


def test_a_crashed_run_must_be_settled_before_a_new_one_begins(desk: Desk) -> None:
    with desk.begin() as old:
        desk.clock.go(HOUR_MS)
        before = desk.bytes()
        with pytest.raises(UsageError, match="crashed, and is not settled") as caught:
            desk.begin()
        assert f"journal pipeline resume {old.place.file}" in str(caught.value)
        assert desk.bytes() == before
        old.resume(choose="abort")
        with desk.begin() as new:
            assert new.place.file != old.place.file


@pytest.mark.parametrize("status", ["completed", "escalated", "failed"])
def test_ended_runs_do_not_stand_in_the_way(desk: Desk, status: str) -> None:
    desk.write(foreign_state(status=status))
    desk.begin().close()


def test_a_run_that_cannot_be_read_refuses_a_new_one(desk: Desk) -> None:
    file = desk.write(b'{"pipeline_id": ')
    before = desk.bytes()
    with pytest.raises(UsageError, match="nobody knows whether it is live") as caught:
        desk.begin()
    assert str(file) in caught.value.message
    assert desk.bytes() == before


def test_a_run_id_that_is_taken_is_refused(desk: Desk) -> None:
    desk.begin(run_id=UUID).close()
    before = desk.bytes()
    with pytest.raises(UsageError, match="there is a run here already") as caught:
        desk.begin(run_id=UUID)
    assert caught.value.key == "run_id"
    assert desk.bytes() == before


def test_a_crashed_run_is_not_resumed_beside_a_live_one_but_can_be_aborted(desk: Desk) -> None:
    old = desk.begin()
    desk.clock.go(HOUR_MS)
    live = foreign_state(started_at="2026-03-01T13:00:00Z")
    desk.write(live)
    for choose in ("resume", "restart"):
        with pytest.raises(UsageError, match=f"active run detected: run {UUID}"):
            old.resume(choose=choose)
    old.resume(choose="abort")
    old.close()


# --- the lock ------------------------------------------------------------------------------------


def test_a_start_waits_for_the_lock_of_the_name_and_gives_up_with_locked(desk: Desk) -> None:
    folder = desk.root / "temp" / "review"
    folder.mkdir(parents=True)
    lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        options = Options(clock=desk.clock, lock_timeout_s=0.05)
        with pytest.raises(Locked) as caught:
            desk.begin(options=options)
        assert caught.value.path == str(folder / ".lock")
        desk.begin("other", options=options).close()
    finally:
        os.close(lock)
    desk.begin(options=options).close()


def test_resume_holds_the_lock_of_the_name_too(desk: Desk) -> None:
    options = Options(clock=desk.clock, lock_timeout_s=0.05)
    with desk.begin(options=options) as run:
        desk.clock.go(HOUR_MS)
        lock = os.open(run.place.lock, os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with pytest.raises(Locked):
                run.resume(choose="resume")
            run.beat()
            desk.clock.go(HOUR_MS)
        finally:
            os.close(lock)
        run.resume(choose="resume")


def test_a_lock_file_that_is_left_behind_is_not_stale(desk: Desk) -> None:
    with desk.begin() as run:
        assert run.place.lock.is_file()
        assert run.place.lock.read_bytes() == b""
        run.fail("no key")
    desk.begin().close()


# --- an init that was cut off --------------------------------------------------------------------


@pytest.fixture
def unfinished(desk: Desk) -> Path:
    """A run whose `init` was killed before `journal.yaml` and the state file were written."""
    with desk.begin(run_id=UUID) as run:
        place = run.place
    place.file.unlink()
    (place.private / "journal.yaml").unlink()
    (place.private / "witness.json").unlink()
    return place.file


def test_an_init_that_was_cut_off_is_completed_by_the_next_verb(
    desk: Desk, unfinished: Path
) -> None:
    assert standing.look(place_of(unfinished), desk.clock).condition == "unfinished"
    with desk.open(UUID) as run:
        run.start(0)
    assert orjson.loads(unfinished.read_bytes())["phases"][0]["status"] == "running"


def test_an_init_that_was_cut_off_does_not_refuse_a_new_run(desk: Desk, unfinished: Path) -> None:
    desk.begin().close()
    found = listing.list_runs(str(desk.root), clock=desk.clock)
    assert sorted(report.condition for report in found) == ["live", "unfinished"]


def test_the_first_write_of_a_journal_has_the_run_in_it_so_no_empty_state_is_ever_seen(
    desk: Desk,
) -> None:
    with desk.begin() as run:
        first, second = list(run.engine.events())[:2]
        assert (first.type, second.type) == ("journal.created", "run_initialized")
        assert first.time == second.time
        with pytest.raises(UsageError):
            journal.init(run.place.private, projection="pipeline_state")


def test_init_is_found_in_the_log_with_who_did_it(desk: Desk) -> None:
    with desk.begin(actor="ann") as run:
        run.start(0, actor="orchestrator")
        assert [event.actor for event in run.engine.events(after=1)] == ["ann", "orchestrator"]


def test_a_wrapper_before_take_over_has_no_engine(desk: Desk) -> None:
    with desk.open(desk.write(foreign_state())) as run:
        assert isinstance(run, PipelineRun)
        with pytest.raises(journal.JournalError, match="no journal yet"):
            _ = run.engine
