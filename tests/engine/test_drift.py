"""Views that somebody else changed; the table at the head of `journal/engine/drift.py`, by row."""

import json
import os
from pathlib import Path

import pytest

import journal
from journal.errors import UsageError
from projections.document.projection import PROJECTION as DOCUMENT
from projections.projection import Projection


def check(state: object) -> None:
    if isinstance(state, dict) and state.get("phase") == "forbidden":
        raise UsageError("phase 'forbidden' is not allowed")


ADOPTING = Projection(
    "document",
    events=DOCUMENT.events,
    initial=DOCUMENT.initial,
    check=check,
    adopts=True,
    revision="adopting",
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with journal.init(tmp_path / "run") as j:
        j.append("set", {"path": "/phase", "value": "plan"})
        j.append("set", {"path": "/count", "value": 1})
    return tmp_path / "run"


def quarantined(run: Path) -> list[bytes]:
    folder = run / "quarantine"
    return [path.read_bytes() for path in sorted(folder.iterdir())] if folder.is_dir() else []


BROKEN = {
    "empty": b"",
    "blank": b" \n",
    "nul": b"\0" * 40,
    "half nul": b'{"phase": "pl' + b"\0" * 20,
    "cut in a text": b'{\n  "phase": "pl',
    "cut after a comma": b'{\n  "phase": "plan",',
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_view_as_a_power_cut_leaves_it_is_written_again_and_said(run: Path, kind: str) -> None:
    healthy = (run / "state.json").read_bytes()
    (run / "state.json").write_bytes(BROKEN[kind])
    with journal.open(run) as j:
        assert j.state == {"phase": "plan", "count": 1}
        assert any("state.json" in message for message in j.messages)
    assert (run / "state.json").read_bytes() == healthy
    assert quarantined(run) == [BROKEN[kind]]


def test_a_missing_view_is_written_again_and_said(run: Path) -> None:
    healthy = (run / "state.json").read_bytes()
    (run / "state.json").unlink()
    with journal.open(run) as j:
        assert any("missing" in message for message in j.messages)
    assert (run / "state.json").read_bytes() == healthy


def test_a_value_of_the_past_is_ours_and_written_again(run: Path) -> None:
    with journal.open(run) as j:
        old = (run / "state.json").read_bytes()
        j.append("set", {"path": "/count", "value": 2})
        newer = (run / "state.json").read_bytes()
    (run / "state.json").write_bytes(old)
    with journal.open(run) as j:
        assert j.seq == 4
    assert (run / "state.json").read_bytes() == newer


@pytest.mark.parametrize("reopened", [False, True])
def test_an_edit_back_to_the_last_value_is_written_again_said_and_kept(
    run: Path, reopened: bool
) -> None:
    view = run / "state.json"
    with journal.open(run) as j:
        before = view.read_bytes()
        j.append("set", {"path": "/count", "value": 2})
        view.write_bytes(before)
        if reopened:
            j.close()
            j = journal.open(run)
        j.append("set", {"path": "/count", "value": 3})
        (said,) = j.messages
        assert "quarantine" in said
        assert j.state == {"phase": "plan", "count": 3}
        j.close()
    assert quarantined(run) == [before]


def test_an_edit_stops_a_writer_and_tells_where_and_what_next(run: Path) -> None:
    edited = b'{"phase": "plan", "count": 999}'
    (run / "state.json").write_bytes(edited)
    with pytest.raises(journal.Drift, match="/count") as caught:
        journal.open(run)
    assert caught.value.pointer == "/count"
    assert "journal adopt" in str(caught.value)
    assert "journal rebuild" in str(caught.value)
    assert (run / "state.json").read_bytes() == edited
    with journal.open(run, read_only=True) as j:
        assert j.state == {"phase": "plan", "count": 1}
        assert [problem.kind for problem in j.verify().problems] == ["view"]


def test_conflict_markers_are_drift_and_never_cut_away(run: Path) -> None:
    text = b'{\n<<<<<<< ours\n  "count": 1\n=======\n  "count": 2\n>>>>>>> theirs\n'
    (run / "state.json").write_bytes(text)
    with pytest.raises(journal.Drift, match="conflict"):
        journal.open(run)
    assert (run / "state.json").read_bytes() == text


def test_an_asked_for_adoption_records_the_difference(run: Path) -> None:
    (run / "state.json").write_text('{"phase": "plan", "count": 999}')
    with journal.open(run, on_drift="adopt") as j:
        assert j.state == {"phase": "plan", "count": 999}
        event = list(j.events())[-1]
        assert event.type == "journal.adopted"
        assert event.data["patch"] == [{"op": "replace", "path": "/count", "value": 999}]
        assert j.verify().ok
    assert json.loads((run / "state.json").read_text()) == {"phase": "plan", "count": 999}


def test_a_rebuild_puts_an_edited_view_back_and_keeps_its_bytes(run: Path) -> None:
    edited = b'{"phase": "plan", "count": 999}'
    (run / "state.json").write_bytes(edited)
    with journal.open(run, on_drift="replace") as j:
        j.rebuild()
        assert j.verify().ok
    assert quarantined(run) == [edited]
    assert json.loads((run / "state.json").read_text())["count"] == 1


def test_an_adoption_does_not_undo_later_events(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with journal.init(run, projection=ADOPTING) as j:
        j.append("set", {"path": "/a", "value": 1})
        seen = json.loads((run / "state.json").read_text())
        (run / "state.json").write_text(json.dumps({**seen, "b": 2}))
        j.append("set", {"path": "/a", "value": 5})
        assert j.state == {"a": 5, "b": 2}
        assert [event.type for event in j.events(after=2)] == ["journal.adopted", "set"]
    assert json.loads((run / "state.json").read_text()) == {"a": 5, "b": 2}


def test_an_adopting_projection_adopts_a_valid_edit_at_opening(tmp_path: Path) -> None:
    run = tmp_path / "run"
    journal.init(run, projection=ADOPTING).close()
    (run / "state.json").write_text('{"phase": "plan"}')
    with journal.open(run, projection=ADOPTING) as j:
        assert j.state == {"phase": "plan"}
        assert j.seq == 2
    with journal.open(run, projection=ADOPTING) as j:
        assert j.seq == 2


def test_an_adopting_projection_refuses_an_edit_that_breaks_a_rule(tmp_path: Path) -> None:
    run = tmp_path / "run"
    journal.init(run, projection=ADOPTING).close()
    (run / "state.json").write_text('{"phase": "forbidden"}')
    with pytest.raises(journal.Drift, match="not allowed"):
        journal.open(run, projection=ADOPTING)


def test_during_a_run_drift_never_stops_an_append(run: Path) -> None:
    with journal.open(run) as j:
        (run / "state.json").write_text('{"count": 7}')
        j.append("set", {"path": "/count", "value": 2})
        assert j.state == {"phase": "plan", "count": 2}
        assert any("quarantine" in message for message in j.messages)
    assert quarantined(run) == [b'{"count": 7}']


@pytest.mark.parametrize("witness", [None, b"", b"\0" * 4096, b"{}"])
def test_without_a_witness_a_differing_view_is_no_drift(run: Path, witness: bytes | None) -> None:
    (run / "state.json").write_text('{"count": 7}')
    if witness is None:
        (run / "witness.json").unlink()
    else:
        (run / "witness.json").write_bytes(witness)
    with journal.open(run) as j:
        assert j.state == {"phase": "plan", "count": 1}
    assert quarantined(run) == [b'{"count": 7}']


def test_without_a_witness_an_equal_view_is_kept_in_silence(run: Path) -> None:
    (run / "witness.json").unlink()
    inode = (run / "state.json").stat().st_ino
    with journal.open(run) as j:
        assert j.messages == []
    assert (run / "state.json").stat().st_ino == inode


def test_a_view_keeps_its_mode(run: Path) -> None:
    os.chmod(run / "state.json", 0o640)
    with journal.open(run) as j:
        j.append("set", {"path": "/count", "value": 2})
    assert (run / "state.json").stat().st_mode & 0o777 == 0o640


def test_a_recorded_symlink_is_followed_and_stays(tmp_path: Path) -> None:
    run, target = tmp_path / "run", tmp_path / "elsewhere.json"
    run.mkdir()
    (run / "state.json").symlink_to(target)
    with journal.init(run) as j:
        j.append("set", {"path": "/x", "value": 1})
    assert (run / "state.json").is_symlink()
    assert json.loads(target.read_text()) == {"x": 1}


def test_a_symlink_that_is_not_recorded_is_drift_and_its_target_untouched(
    run: Path, tmp_path: Path
) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    (run / "state.json").unlink()
    (run / "state.json").symlink_to(target)
    with pytest.raises(journal.Drift, match="symlink"):
        journal.open(run)
    assert target.read_text() == "precious"


def test_a_view_that_cannot_be_written_is_said_and_healed_by_the_next(run: Path) -> None:
    with journal.open(run) as j:
        (run / "state.json").unlink()
        (run / "state.json").mkdir()
        assert j.append("set", {"path": "/count", "value": 2}).seq == 4
        assert any("state.json" in message for message in j.messages)
        (run / "state.json").rmdir()
        j.append("set", {"path": "/count", "value": 3})
    assert json.loads((run / "state.json").read_text())["count"] == 3
