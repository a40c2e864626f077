"""The row of the drift table: a state file deleted, cut short, with NULs, markers, edited."""

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

import journal
from journal.errors import Drift
from projections import patch
from projections.pipeline_state import listing
from projections.pipeline_state.run import PipelineRun
from tests.pipeline_state.making import HOUR_MS, UUID, Desk, edit, foreign_state, types

MARKERS = b"<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n"


@pytest.fixture
def file(desk: Desk) -> Path:
    """The state file of a run of which the first phase is at work."""
    with desk.begin(run_id=UUID) as run:
        run.start(0)
        return run.place.file


def quarantined(file: Path) -> list[bytes]:
    """What lies in the quarantine of a run."""
    folder = file.with_name("pipeline-state.journal") / "quarantine"
    return [path.read_bytes() for path in sorted(folder.iterdir())] if folder.is_dir() else []


BROKEN: dict[str, Callable[[bytes], bytes | None]] = {
    "deleted": lambda _: None,
    "emptied": lambda _: b"",
    "cut short": lambda whole: whole[: len(whole) // 2],
    "NULs": lambda whole: whole[:40] + b"\0" * (len(whole) - 40),
}


@pytest.mark.parametrize("how", list(BROKEN))
def test_what_a_power_cut_may_leave_is_rebuilt_at_once_and_said(
    desk: Desk, file: Path, how: str
) -> None:
    whole = file.read_bytes()
    left = BROKEN[how](whole)
    file.unlink() if left is None else file.write_bytes(left)
    with desk.open(UUID) as run:
        assert file.read_bytes() == whole
        assert any(str(file) in words and "written again" in words for words in desk.said)
        assert quarantined(file) == ([] if left is None else [left])
        assert types(run)[-1] == "state_rebuilt"
        assert patch.equal(run.state, orjson.loads(whole))
        run.done(0)


def test_conflict_markers_are_drift_with_the_ways_out_and_are_not_touched(
    desk: Desk, file: Path
) -> None:
    whole = file.read_bytes()
    file.write_bytes(MARKERS)
    before = desk.bytes()
    with pytest.raises(Drift) as caught:
        desk.open(file)
    assert caught.value.exit_code == 7
    assert "conflict markers" in str(caught.value)
    assert "journal rebuild" in str(caught.value)
    assert desk.bytes() == before
    with journal.open(file.with_name("pipeline-state.journal"), on_drift="replace") as engine:
        engine.rebuild()
    assert file.read_bytes() == whole
    assert quarantined(file) == [MARKERS]
    with desk.open(file) as run:
        assert "conflict markers" in run.facts().damaged
        desk.clock.go(HOUR_MS)
        with pytest.raises(journal.UsageError, match="corruption detected"):
            run.resume(choose="resume")


def test_a_valid_edit_is_adopted_with_its_unknown_members(desk: Desk, file: Path) -> None:
    state = orjson.loads(file.read_bytes())
    state["phases"][0] |= {"status": "done", "outputs": ["plan.md"], "note": "by hand"}
    state["current_phase"] = 1
    state["mine"] = {"b": 1, "a": 2.0}
    file.write_bytes(orjson.dumps(state))
    with desk.open(file) as run:
        assert patch.equal(run.state, state)
        assert types(run)[-1] == "journal.adopted"
        assert any("adopted" in words for words in desk.said)
        assert list(orjson.loads(file.read_bytes()))[-1] == "mine"
        run.start(1)


def test_an_edit_that_adds_a_change_of_tier_is_adopted(desk: Desk, file: Path) -> None:
    with desk.open(file) as run:
        desk.clock.go(HOUR_MS)
        run.resume(choose="resume", tier="codex", profile={})
    state = orjson.loads(file.read_bytes())
    added = {"from": "codex", "to": "cursor", "at": "2026-03-01T14:00:00Z"}
    state["metadata"]["tier_changes"].append(added)
    state["metadata"]["runtime_tier"] = "cursor"
    file.write_bytes(orjson.dumps(state))
    with desk.open(file) as run:
        assert patch.equal(run.state, state)


def test_an_edit_in_old_words_is_adopted_as_new_ones(desk: Desk, file: Path) -> None:
    state = orjson.loads(file.read_bytes())
    state["phases"][0]["status"] = "completed"
    state["metadata"]["tier"] = "claude"
    file.write_bytes(orjson.dumps(state))
    with desk.open(file) as run:
        assert run.state["phases"][0]["status"] == "done"
    assert b'"tier"' not in file.read_bytes()


def test_an_edit_during_a_run_is_adopted_by_the_next_verb(desk: Desk, file: Path) -> None:
    with desk.open(file) as run:
        edit(file, mine=7)
        run.done(0)
        assert types(run)[-2:] == ["journal.adopted", "phase_done"]
        state = orjson.loads(file.read_bytes())
        assert (state["mine"], state["phases"][0]["status"]) == (7, "done")


INVALID: dict[str, Callable[[dict], object]] = {  # type: ignore[type-arg]
    "status": lambda state: state.update(status="paused"),
    "phases[0].status": lambda state: state["phases"][0].update(status="skipped"),
    "run_id": lambda state: state.update(run_id="other"),
    "pipeline_id": lambda state: state.update(pipeline_id="other"),
    "pipeline_name": lambda state: state.update(pipeline_name="other"),
    "plugin_version": lambda state: state.update(plugin_version="9.9.9"),
    "started_at": lambda state: state.update(started_at="2020-01-01T00:00:00Z"),
    "metadata.source_tier": lambda state: state["metadata"].update(source_tier="codex"),
    "metadata.source_scope_root": lambda state: state["metadata"].pop("source_scope_root"),
    "metadata.tier_changes": lambda state: state["metadata"].update(tier_changes=[]),
    "phases": lambda state: state.pop("phases"),
}


@pytest.mark.parametrize("key", list(INVALID))
def test_an_edit_that_breaks_a_rule_is_drift_that_names_it_and_is_not_touched(
    desk: Desk, file: Path, key: str
) -> None:
    with desk.open(file) as run:
        desk.clock.go(HOUR_MS)
        # One change of tier is there to be shortened away.
        run.resume(choose="resume", tier="codex", profile={})
    whole = file.read_bytes()
    state = orjson.loads(whole)
    INVALID[key](state)
    file.write_bytes(orjson.dumps(state))
    before = desk.bytes()
    with pytest.raises(Drift) as caught:
        desk.open(file)
    assert key in caught.value.message
    assert "journal adopt" in str(caught.value)
    assert desk.bytes() == before
    private = file.with_name("pipeline-state.journal")
    with journal.open(private, on_drift="replace") as engine:
        engine.rebuild()
    assert file.read_bytes() == whole
    with desk.open(file) as run:
        assert run.facts().damaged == ""


@pytest.mark.parametrize("data", [MARKERS, b"\xef\xbb\xbf{}", b"[]"])
def test_what_cannot_be_read_during_a_run_is_put_back_said_and_remembered(
    desk: Desk, file: Path, data: bytes
) -> None:
    with desk.open(file) as run:
        file.write_bytes(data)
        run.done(0)
        assert orjson.loads(file.read_bytes())["phases"][0]["status"] == "done"
        assert quarantined(file) == [data]
        assert types(run)[-2:] == ["state_rebuilt", "phase_done"]
        assert run.facts().damaged


def test_a_file_saved_with_a_bom_is_drift(desk: Desk, file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    with pytest.raises(Drift, match="byte order mark"):
        desk.open(file)


def test_the_same_data_written_differently_is_ours_and_written_again(
    desk: Desk, file: Path
) -> None:
    whole = file.read_bytes()
    file.write_bytes(orjson.dumps(orjson.loads(whole), option=orjson.OPT_SORT_KEYS))
    with desk.open(file) as run:
        assert types(run)[-1] == "phase_started"
    assert file.read_bytes() == whole


def test_status_mends_and_adopts_as_any_verb_and_list_only_says(desk: Desk, file: Path) -> None:
    whole = file.read_bytes()
    file.unlink()
    before = desk.bytes()
    (report,) = listing.list_runs(str(desk.root), clock=desk.clock)
    assert report.problem == "pipeline-state.json is missing"
    assert desk.bytes() == before
    found = listing.read_status(UUID, root=str(desk.root), options=desk.options)
    assert (found.damaged, found.condition) == ("it is missing", "live")
    assert file.read_bytes() == whole
    file.write_bytes(MARKERS)
    with pytest.raises(Drift):
        listing.read_status(UUID, root=str(desk.root), options=desk.options)


def test_status_of_a_healthy_run_writes_nothing_at_all(desk: Desk, file: Path) -> None:
    private = file.with_name("pipeline-state.journal")
    stats = {path: path.stat().st_mtime_ns for path in private.rglob("*")}
    listing.read_status(str(file), options=desk.options)
    assert {path: path.stat().st_mtime_ns for path in private.rglob("*")} == stats


def test_an_earlier_state_comes_back_as_a_new_event(desk: Desk, file: Path) -> None:
    with desk.open(file) as run:
        run.fail_phase(0, "no answer")
        run.engine.restore(3)
        assert run.state["phases"][0]["status"] == "running"
        assert types(run)[-1] == "journal.restored"


def test_a_taken_over_file_drifts_like_any_other(desk: Desk) -> None:
    path = desk.write(foreign_state())
    with desk.open(path) as run:
        run.take_over()
    edit(path, mine=1)
    with desk.open(path) as run:
        assert run.state["mine"] == 1
    edit(path, status="paused")
    with pytest.raises(Drift):
        PipelineRun.open(str(path), options=desk.options)


def test_an_edit_into_old_words_is_adopted_and_the_file_is_in_todays_words_again(
    desk: Desk, file: Path
) -> None:
    state = orjson.loads(file.read_bytes())
    state["phases"][0]["status"] = "completed"
    file.write_bytes(orjson.dumps(state))
    with desk.open(file) as run:
        assert types(run)[-1] == "journal.adopted"
        assert run.state["phases"][0]["status"] == "done"
        assert run.state["current_phase"] == 1
    assert b"completed" not in file.read_bytes()


def test_old_words_that_say_nothing_new_are_no_difference_to_verify_and_status(
    desk: Desk, file: Path
) -> None:
    with desk.open(file) as run:
        run.done(0)
    whole = file.read_bytes()
    old = whole.replace(b'"done"', b'"completed"')
    file.write_bytes(old)
    with journal.open(file.with_name("pipeline-state.journal"), read_only=True) as engine:
        (problem,) = engine.verify().problems
        assert problem.message == "pipeline-state.json has the log's data in other bytes"
        assert [view.status for view in engine.status().views] == ["reformatted"]
    with desk.open(file) as run:
        assert types(run)[-1] == "phase_done"
    assert file.read_bytes() == whole
    assert quarantined(file) == [old]


@pytest.mark.parametrize("number", [0, 2, 99])
def test_current_phase_is_counted_and_not_believed(desk: Desk, file: Path, number: int) -> None:
    state = orjson.loads(file.read_bytes())
    state["phases"][0]["status"] = "done"
    file.write_bytes(orjson.dumps(state | {"current_phase": number}))
    with desk.open(file) as run:
        assert run.state["current_phase"] == 1
    assert orjson.loads(file.read_bytes())["current_phase"] == 1
