"""State files of other tools: old ones are read as new ones, damaged ones are left alone."""

import os
from typing import Any

import orjson
import pytest

from journal.errors import Corrupt, JournalError, UsageError
from projections import patch
from projections.pipeline_state import reading
from tests.pipeline_state.making import HOUR_MS, UUID, Desk, foreign_state, types


def old_state() -> dict[str, Any]:
    """A state as a version before 2.0.0 wrote it."""
    return {
        "pipeline_id": "7d1c0b3e",
        "pipeline_name": "Old Review",
        "run_id": "run_17",
        "scope_root": "/home/ann/proj/.claude",
        "started_at": "2025-11-02T09:00:00+01:00",
        "pattern": 3,
        "status": "running",
        "phases": [
            {"index": 0, "name": "plan", "status": "completed", "agent": "planner", "x": 1.0},
            {"index": 1, "name": "build", "status": "running", "outputs": ["half.txt"]},
        ],
        "metadata": {"tier": "claude", "note": {"z": 1, "a": 2}},
    }


def test_a_present_file_is_taken_over_as_it_is_by_the_first_verb(desk: Desk) -> None:
    state = foreign_state()
    file = desk.write(state)
    with desk.open(file) as run:
        assert not run.is_taken_over
        run.done(1, ["app"])
        assert types(run) == ["journal.taken_over", "phase_done"]
        assert patch.equal(run.engine.state_at(2), state)
        event = next(iter(run.engine.events(after=1)))
        assert event.data["path"] == "pipeline-state.json"
        assert len(event.data["sha256"]) == 64
    assert orjson.loads(file.read_bytes())["phases"][1]["outputs"] == ["half.txt", "app"]


def test_an_old_file_is_read_as_a_new_one_and_each_change_is_listed(desk: Desk) -> None:
    file = desk.write(old_state(), name="Old Review", run="run_17")
    with desk.open(file) as run:
        run.beat()
        assert types(run) == ["journal.taken_over", "normalized", "heartbeat"]
        assert patch.equal(run.engine.state_at(2), old_state())
        changes = next(iter(run.engine.events(after=2))).data["changes"]
        state = run.state
    listed = {(change["op"], change["path"]) for change in changes}
    assert listed == {
        ("replace", "/phases/0/status"),
        ("add", "/phases/0/outputs"),
        ("add", "/phases/0/error"),
        ("add", "/phases/1/agent"),
        ("add", "/phases/1/error"),
        ("replace", "/pattern"),
        ("add", "/current_phase"),
        ("add", "/scope_root_dir"),
        ("remove", "/scope_root"),
        ("add", "/metadata/source_tier"),
        ("add", "/metadata/runtime_tier"),
        ("remove", "/metadata/tier"),
        ("add", "/metadata/platform_profile"),
        ("add", "/metadata/tier_changes"),
        ("add", "/metadata/source_scope_root"),
        ("add", "/metadata/isolation_warning"),
        ("add", "/metadata/resolved_models"),
        ("add", "/metadata/preference_files_consulted"),
        ("add", "/metadata/model_tiers_version_at_run"),
    }
    assert all(change["why"] for change in changes)
    assert state["phases"][0]["status"] == "done"
    assert state["phases"][0]["x"] == 1.0
    assert (state["pattern"], state["current_phase"]) == ("3", 1)
    assert state["scope_root_dir"] == ".claude"
    assert "scope_root" not in state
    assert state["metadata"]["source_tier"] == state["metadata"]["runtime_tier"] == "claude"
    assert "tier" not in state["metadata"]
    assert state["metadata"]["note"] == {"z": 1, "a": 2}
    assert "plugin_version" not in state
    assert state["started_at"] == "2025-11-02T09:00:00+01:00"
    assert b'"tier"' not in file.read_bytes()


@pytest.mark.parametrize(
    ("scope_root", "name"),
    [
        ("/home/ann/proj/.claude", ".claude"),
        ("/home/ann/proj/.claude/", ".claude"),
        ("C:\\Users\\ann\\.codex", ".codex"),
        ("~/.superpipelines", ".superpipelines"),
    ],
)
def test_an_absolute_root_reads_as_its_last_part(scope_root: str, name: str) -> None:
    for field in ("scope_root", "scope_root_dir"):
        state = foreign_state()
        del state["scope_root_dir"]
        state[field] = scope_root
        read = reading.read(orjson.dumps(state), "x")
        assert read["scope_root_dir"] == name
        assert "scope_root" not in read


def test_a_source_tier_that_is_there_is_kept_and_the_old_one_goes() -> None:
    state = foreign_state()
    state["metadata"] |= {"tier": "old", "source_tier": "claude"}
    del state["metadata"]["runtime_tier"]
    read = reading.read(orjson.dumps(state), "x")["metadata"]
    assert (read["source_tier"], read["runtime_tier"]) == ("claude", "claude")
    assert "tier" not in read


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"phases": 7, "metadata": 7, "pattern": [], "scope_root": {}},
        {"phases": [None, 7, {"status": {}}], "metadata": {"tier": 7, "source_tier": []}},
        {"scope_root": "/", "scope_root_dir": "C:\\"},
    ],
)
def test_reading_old_values_never_fails_and_its_changes_lead_to_what_is_read(value: Any) -> None:
    changes = reading.list_changes(value)
    read = reading.read(orjson.dumps(value), "x")
    assert patch.equal(patch.apply_patch(value, changes), read)
    assert reading.list_changes(read) == []


def test_a_refused_verb_takes_nothing_over(desk: Desk) -> None:
    desk.write(old_state(), name="Old Review", run="run_17")
    before = desk.bytes()
    with desk.open("run_17") as run:
        with pytest.raises(UsageError):
            run.start(0)
        with pytest.raises(UsageError):
            run.complete()
        with pytest.raises(UsageError):
            run.set_metadata("source_tier", "x")
        assert not run.is_taken_over
    assert desk.bytes() == before


def test_a_crashed_file_is_taken_over_by_its_resume(desk: Desk) -> None:
    desk.write(old_state(), name="Old Review", run="run_17", age_ms=HOUR_MS)
    legacy = desk.folder / ".claude" / "superpipelines" / "temp" / "Old Review"
    legacy.mkdir(parents=True)
    (desk.root / "temp" / "Old Review" / "run_17").rename(legacy / "run_17")
    with desk.open(legacy / "run_17") as run:
        run.resume(choose="resume", tier="codex", profile={"name": "codex"})
        assert types(run) == ["journal.taken_over", "normalized", "tier_changed", "run_resumed"]
        assert run.state["metadata"]["tier_changes"][0]["from"] == "claude"
        assert run.state["metadata"]["source_tier"] == "claude"


def test_the_take_over_moves_no_time_and_counts_for_no_age(desk: Desk) -> None:
    file = desk.write(foreign_state(started_at="2026-03-01T08:00:00Z"), age_ms=2 * HOUR_MS)
    with desk.open(file) as run:
        assert run.take_over()
        assert not run.take_over()
        assert run.facts().age_ms == 2 * HOUR_MS
        assert run.state == foreign_state(started_at="2026-03-01T08:00:00Z")
    with desk.open(file) as run:
        assert run.facts().age_ms == 2 * HOUR_MS


def test_the_mode_of_the_file_is_kept(desk: Desk) -> None:
    file = desk.write(foreign_state())
    file.chmod(0o640)
    with desk.open(file) as run:
        run.done(1)
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_file_behind_a_symlink_is_taken_over_and_the_link_stays(desk: Desk) -> None:
    file = desk.write(foreign_state())
    real = desk.folder / "real.json"
    file.rename(real)
    file.symlink_to(real)
    with desk.open(file) as run:
        run.done(1)
    assert file.is_symlink()
    assert orjson.loads(real.read_bytes())["phases"][1]["status"] == "done"


DAMAGED: list[tuple[str, bytes, str]] = [
    ("empty", b"", "empty"),
    ("cut short", orjson.dumps(foreign_state())[:-20], "byte"),
    ("NUL bytes", orjson.dumps(foreign_state())[:-20] + b"\0" * 20, "NUL"),
    ("a BOM", b"\xef\xbb\xbf" + orjson.dumps(foreign_state()), "0xEF"),
    ("a list", b"[]", "no JSON object"),
    ("conflict markers", b"<<<<<<< a\n{}\n=======\n{}\n>>>>>>> b\n", "conflict markers"),
    ("a doubled key", b'{"status": "running", "status": "failed"}', "status"),
    ("not UTF-8", b'{"pipeline_id": "\xff"}', "UTF-8"),
    ("NaN", b'{"current_phase": NaN}', "NaN"),
]


@pytest.mark.parametrize(
    ("data", "words"), [row[1:] for row in DAMAGED], ids=[r[0] for r in DAMAGED]
)
def test_a_damaged_file_is_refused_with_its_place_and_not_touched(
    desk: Desk, data: bytes, words: str
) -> None:
    file = desk.write(data)
    before = desk.bytes()
    with pytest.raises(Corrupt) as caught:
        desk.open(file)
    assert caught.value.exit_code == 5
    assert caught.value.offset is not None
    assert words in str(caught.value)
    assert str(file) in str(caught.value)
    assert "a person has to look at it" in str(caught.value)
    assert desk.bytes() == before


def test_what_is_not_a_file_is_an_error_of_its_own(desk: Desk) -> None:
    folder = desk.root / "temp" / "review" / UUID / "pipeline-state.json"
    folder.mkdir(parents=True)
    with pytest.raises((OSError, JournalError)):
        desk.open(folder)
    if os.geteuid():
        file = desk.write(foreign_state(), run="other")
        file.chmod(0)
        with pytest.raises(PermissionError):
            desk.open(file)


def test_a_current_phase_that_is_another_is_listed_as_a_change(desk: Desk) -> None:
    file = desk.write(foreign_state(current_phase=0))
    with desk.open(file) as run:
        run.take_over()
        assert run.engine.state_at(2)["current_phase"] == 0
        (change,) = list(run.engine.events())[2].data["changes"]
        assert (change["path"], change["old"], change["value"]) == ("/current_phase", 0, 1)
        assert run.state["current_phase"] == 1
