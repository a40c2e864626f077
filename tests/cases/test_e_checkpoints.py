"""Group E: checkpoints against the log. A snapshot is a cache; what it shows was on disk once."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from journal import witness
from journal.errors import Corrupt, UsageError
from journal.segment import name_of
from snapshots import snapshot
from tests.cases.made import (
    Made,
    append_to,
    files,
    make,
    make_segments,
    readable,
    refused,
    unchanged,
)

NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def make_with_snapshots(tmp_path: Path) -> Made:
    """Events 1 to 12, snapshots at 3, 6 and 9 (each recorded by the event after it)."""
    made = make(tmp_path, 1)
    with made.open() as engine:
        for upto in (3, 6, 9):
            append_to(engine, upto)
            engine.snapshot(trigger=f"at {upto}")
        append_to(engine, 12)
    return made


def put_snapshot(made: Made, seq: int, state: Any, *, kind: str = "manual", **changes: Any) -> Path:
    """Put a snapshot there that is whole and bears everything this code would write."""
    with made.read() as engine:
        projection = engine.projection
    given = {
        "type": kind,
        "timestamp": "2026-03-01T14:45:00.000Z",
        "trigger": "",
        "seq": seq,
        "projection": projection.name,
        "revision": projection.revision,
        "state_bytes": orjson.dumps(state),
    }
    path = made.snapshot(seq, kind)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(snapshot.encode(**{**given, **changes}))
    return path


# --- E01 and E02: damaged, or whole and wrong ----------------------------------------------------


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "other file", "no JSON", "gone"])
def test_e01_damaged_newest_snapshot_is_passed_over_said_and_an_older_one_used(
    tmp_path: Path, damage: str
) -> None:
    made = make_with_snapshots(tmp_path)
    newest, whole = made.snapshot(9), made.snapshot(9).read_bytes()
    bad = {
        "cut": whole[: len(whole) // 2],
        "empty": b"",
        "flipped": whole.replace(b'{"k":9}', b'{"k":8}'),
        "other file": made.snapshot(6).read_bytes(),
        "no JSON": b"snapshot\n",
        "gone": b"",
    }
    newest.write_bytes(bad[damage])
    if damage == "gone":
        newest.unlink()
    made.state.unlink()
    with made.read() as engine:
        assert engine.state == {"k": 12}
        assert engine.state_at(11) == {"k": 11}
    with made.open() as engine:
        assert (engine.state, engine.state_at(10)) == ({"k": 12}, {"k": 9})
        if damage != "gone":
            assert any(newest.name in said and "passed over" in said for said in engine.messages)
            assert "snapshot" in [problem.kind for problem in engine.verify().problems]
        engine.rebuild()
        assert engine.verify().ok
    assert newest.read_bytes() == whole


def test_e01_all_snapshots_damaged_the_log_alone_is_replayed(tmp_path: Path) -> None:
    made = make_with_snapshots(tmp_path)
    for seq in (3, 6, 9):
        made.snapshot(seq).write_bytes(b"{}")
    made.state.unlink()
    with made.open() as engine:
        assert (engine.state, engine.state_at(6)) == ({"k": 12}, {"k": 6})
        assert sum("passed over" in said for said in engine.messages) == 3


@pytest.mark.parametrize("state", [{}, {"k": 0}, {"k": 6.0}, {"k": 6, "x": 1}, None, []])
def test_e02_whole_snapshot_of_another_state_fails_verify_and_rebuild_puts_it_right(
    tmp_path: Path, state: Any
) -> None:
    made = make_with_snapshots(tmp_path)
    whole = made.snapshot(6).read_bytes()
    put_snapshot(made, 6, state, trigger="at 6")
    with made.open() as engine:
        (problem,) = engine.verify().problems
        assert (problem.kind, problem.seq) == ("snapshot", 6)
        assert "not the one of the replay" in problem.message
        engine.rebuild()
        assert engine.verify().ok
    assert made.snapshot(6).read_bytes() == whole


def test_e02_edited_snapshot_does_not_fit_its_digest_and_is_not_used(tmp_path: Path) -> None:
    made = make_with_snapshots(tmp_path)
    path = made.snapshot(9)
    path.write_bytes(path.read_bytes().replace(b'"state":{"k":9}', b'"state":{"k":0}'))
    with made.read() as engine:
        assert engine.state_at(11) == {"k": 11}
        assert engine.state_at(9) == {"k": 9}
        assert any("sha256" in said for said in engine.messages)


def test_e02_snapshot_of_other_code_is_not_used_and_is_no_problem(tmp_path: Path) -> None:
    made = make_with_snapshots(tmp_path)
    put_snapshot(made, 11, {"k": "of other code"}, kind="auto", revision="0" * 64)
    made.state.unlink()
    with made.open() as engine:
        assert engine.state == {"k": 12}
        report = engine.verify()
    assert report.ok
    assert any("other code" in note for note in report.notes)


# --- E04: newer than the log ---------------------------------------------------------------------


def test_e04_snapshot_newer_than_an_empty_log_is_refused_and_nothing_starts_at_1(
    tmp_path: Path,
) -> None:
    made = make(tmp_path, 42)
    with made.open() as engine:
        engine.snapshot()
    made.put(b"")
    made.forget()
    made.state.unlink()
    error = refused(made, Corrupt, 5)
    assert (error.path, error.offset) == (str(made.log), 0)
    assert "events 1 to 42" in error.why
    with made.read() as engine, pytest.raises(Corrupt, match="events 1 to 42"):
        _ = engine.state


def test_e04_snapshot_newer_than_a_log_that_begins_again_is_refused_with_both_ranges(
    tmp_path: Path,
) -> None:
    made = make(tmp_path, 3)
    put_snapshot(made, 42, {"k": 42})
    made.forget()
    error = refused(made, Corrupt, 5)
    for fact in ("events 4 to 42", "event 42", "end at event 3"):
        assert fact in error.why
    found = readable(made)
    assert (found.seqs, found.damage is None) == ([1, 2, 3], False)
    with made.read() as engine:
        assert engine.state_at(3) == {"k": 3}
        kinds = [problem.kind for problem in engine.verify().problems]
    assert "gap" in kinds


def test_e04_torn_tail_before_a_newer_snapshot_is_refused_and_not_cut(tmp_path: Path) -> None:
    """What refuses is asked before anything is cut."""
    made = make(tmp_path, 3)
    put_snapshot(made, 42, {"k": 42})
    made.forget()
    made.add(made.next_line()[:40])
    error = refused(made, Corrupt, 5)
    assert error.line == 4


def test_e04_damaged_snapshot_newer_than_the_log_is_refused_all_the_same(tmp_path: Path) -> None:
    """Its name appeared only when its events were on disk."""
    made = make(tmp_path, 3)
    put_snapshot(made, 42, {"k": 42}).write_bytes(b"")
    made.forget()
    assert "events 4 to 42" in refused(made, Corrupt, 5).why


# --- E05: going back -----------------------------------------------------------------------------


def test_e05_restore_is_an_event_and_every_state_stays(tmp_path: Path) -> None:
    made = make(tmp_path)
    log = made.log.read_bytes()
    with made.open() as engine:
        event = engine.restore(3)
        assert event is not None
        assert (event.seq, event.type) == (6, "journal.restored")
        assert engine.state == {"k": 3}
        engine.append("set", {"path": "/after", "value": True})
        assert [engine.state_at(seq)["k"] for seq in (3, 5, 6, 7)] == [3, 5, 3, 3]
        engine.restore(5)
        assert engine.state == {"k": 5}
        assert engine.verify().ok
    assert made.log.read_bytes().startswith(log)
    assert readable(made).seqs == list(range(1, 9))


def test_e05_restore_to_what_is_not_there_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        before = files(made.path)
        for at in (6, -1):
            with pytest.raises(UsageError):
                engine.restore(at)
        assert files(made.path) == before


# --- E07 and E08: events that are missing --------------------------------------------------------


def test_e07_missing_segment_is_refused_and_its_events_are_named(tmp_path: Path) -> None:
    made = make_segments(tmp_path, 12)
    with made.open() as engine:
        engine.snapshot()
    made.segment(5).unlink()
    error = refused(made, Corrupt, 5)
    assert (error.path, error.seq) == (str(made.segment(1)), 5)
    assert "events 5 to 8 are missing" in error.why
    found = readable(made)
    assert found.seqs == [1, 2, 3, 4, *range(9, 14)]
    assert found.damage is not None
    assert "events 5 to 8" in found.damage.why
    with unchanged(made), made.read() as engine:
        assert engine.state_at(4) == {"k": 4}
        assert engine.state_at(13) == {"k": 12}
        for seq in (5, 8, 9, 11):
            with pytest.raises(Corrupt, match="events 5 to 8"):
                engine.state_at(seq)
        (problem,) = engine.verify().problems
        assert (problem.kind, problem.seq) == ("gap", 5)
        assert "events 5 to 8" in problem.message


def test_e07_segment_that_lost_its_last_events_is_refused_and_they_are_named(
    tmp_path: Path,
) -> None:
    made = make_segments(tmp_path, 12)
    first = made.segment(1)
    made.put(made.lines(first)[:-2], first)
    error = refused(made, Corrupt, 5)
    assert (error.path, error.seq) == (str(first), 3)
    assert "events 3 to 4 are missing" in error.why
    found = readable(made)
    assert found.seqs == [1, 2, *range(5, 13)]
    with made.read() as engine:
        assert engine.state_at(2) == {"k": 2}
        for seq in (3, 4, 5):
            with pytest.raises(Corrupt, match=r"3 to 4|event 3"):
                engine.state_at(seq)


def test_e07_missing_last_segment_is_refused_by_the_witness(tmp_path: Path) -> None:
    made = make_segments(tmp_path, 12)
    made.segment(9).unlink()
    error = refused(made, Corrupt, 5)
    assert "events 9 to 12" in error.why
    found = readable(made)
    assert found.seqs == list(range(1, 9))
    assert found.damage is not None


def test_e08_log_without_its_first_segment_is_refused_and_the_missing_seqs_are_named(
    tmp_path: Path,
) -> None:
    """The design never prunes the log, so a checkpoint is no anchor for a log that begins at 5."""
    made = make_segments(tmp_path, 4)
    with made.open() as engine:
        append_to(engine, 4)
        engine.snapshot()
        with engine._core.appending():
            engine.appender.take_in(engine._core.log.rotate())
        append_to(engine, 9)
    made.segment(1).unlink()
    error = refused(made, Corrupt, 5)
    assert (error.path, error.seq) == (str(made.path / "log"), 1)
    assert "events 1 to 5 are missing" in error.why
    found = readable(made)
    assert found.seqs == [6, 7, 8, 9]
    assert found.damage is not None
    assert "events 1 to 5" in found.damage.why
    with unchanged(made), made.read() as engine:
        assert engine.state == {"k": 9}
        (problem,) = engine.verify().problems
        assert (problem.kind, problem.seq) == ("gap", 1)
        assert "1 to 5" in problem.message
        with pytest.raises(Corrupt, match="missing"):
            engine.state_at(7)


# --- E10: names ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "label",
    ["a:b", "CON", "x ", " x", "", "a/b", "..", "a\\b", "a\nb", "a\0b", "é", "a" * 41, "auto"],
)
def test_e10_label_that_is_no_file_name_everywhere_is_refused_as_type_and_kept_as_trigger(
    tmp_path: Path, label: str
) -> None:
    made = make(tmp_path, 2)
    with made.open() as engine:
        before = files(made.path)
        with pytest.raises(UsageError) as caught:
            engine.snapshot(type=label)
        assert caught.value.key == "checkpoint_type"
        assert files(made.path) == before
        info = engine.snapshot(type="mine", trigger=label)
        assert (info.trigger, engine.snapshots()[-1].trigger) == (label, label)
        assert engine.verify().ok
    names = {path.name for path in made.path.rglob("*")}
    assert all(set(name) <= NAME_CHARACTERS for name in names)


# --- E11, E13 and E14: hints, steps, positions ---------------------------------------------------


def test_e11_pointer_to_a_snapshot_that_is_gone_is_ignored(tmp_path: Path) -> None:
    made = make_with_snapshots(tmp_path)
    for name in ("LATEST", "latest.json", "00000009.json"):
        (made.path / "snapshots" / name).write_text("00000000000000000099.manual.json")
    (made.path / "snapshots" / "link.json").symlink_to("00000000000000000099.manual.json")
    made.state.unlink()
    with made.open() as engine:
        assert engine.state == {"k": 12}
        assert [info.seq for info in engine.snapshots()] == [3, 6, 9]
        assert engine.verify().ok


def test_e11_witness_that_names_a_snapshot_that_is_gone_is_no_fault(tmp_path: Path) -> None:
    made = make_with_snapshots(tmp_path)
    made.snapshot(9).unlink()
    made.snapshot(6).unlink()
    made.state.unlink()
    with made.open() as engine:
        assert (engine.state, engine.state_at(9)) == ({"k": 12}, {"k": 9})


def test_e13_step_that_began_and_did_not_end_stays_as_it_was_recorded(tmp_path: Path) -> None:
    """The engine records what it was told, counts it once, and decides nothing by itself."""
    made = make(tmp_path, 1)
    with made.open() as engine:
        engine.append("set", {"path": "/s1", "value": "finished"}, id="s1-finished")
        engine.append("set", {"path": "/s2", "value": "started"}, id="s2-started")
    made.add(made.next_line(b'{"path":"/s2","value":"finished"}')[:60])
    with made.open() as engine:
        assert engine.state == {"s1": "finished", "s2": "started"}
        again = engine.append("set", {"path": "/s2", "value": "started"}, id="s2-started")
        assert (again.seq, engine.seq) == (3, 4)
        assert [event.type for event in engine.events(3)] == ["journal.recovered"]


@pytest.mark.parametrize("offset", [0, 1, 100, 5000, 2**40])
def test_e14_offset_in_the_witness_is_only_where_to_look(tmp_path: Path, offset: int) -> None:
    made = make(tmp_path)
    put_witness(made, seq=5, offset=offset)
    with made.open() as engine:
        assert engine.state == {"k": 5}
        assert engine.verify().ok
    made.log_on()


def test_e14_position_ahead_of_the_data_is_refused_with_both_and_the_loss_is_exact(
    tmp_path: Path,
) -> None:
    made = make(tmp_path, 9)
    size = made.log.stat().st_size
    made.put(made.log.read_bytes()[: made.offset(6) + 10])
    error = refused(made, Corrupt, 5)
    assert (error.line, error.offset) == (6, made.offset(6))
    assert "event 9 was known to be on disk" in error.why
    assert "end at event 5" in error.why
    assert made.log.stat().st_size < size
    assert readable(made).seqs == [1, 2, 3, 4, 5]


def put_witness(made: Made, *, seq: int, offset: int) -> None:
    found = witness.decode(made.witness.read_bytes())
    assert found is not None
    synced = witness.Synced(seq, name_of(1), offset)
    made.witness.write_bytes(
        witness.encode(witness.Witness(synced=synced, views=found.views, writer=found.writer))
    )
