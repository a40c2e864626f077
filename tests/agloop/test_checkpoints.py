"""checkpoints/: when they are made, what stands in them, which ones go."""

import json
from pathlib import Path

import pytest

from journal import durable
from journal.codec import encode_state, sha256
from projections.agloop.checkpoint import Checkpoint, decode, past_retention, try_decode
from projections.agloop.checkpoints import list_folder
from tests.agloop.life import (
    FEATURE,
    Clock,
    actions,
    begin,
    checkpoints,
    executing,
    files,
    finish,
    folder_of,
    full_state,
    put_checkpoint,
    read_state,
    reopen,
    task,
)


def read(tmp_path: Path, name: str) -> object:
    return json.loads((folder_of(tmp_path) / "checkpoints" / name).read_text())


def test_a_transition_keeps_the_state_after_it_in_the_form_of_the_text(tmp_path: Path) -> None:
    with executing(tmp_path, task(1), task(2)) as loop:
        finish(loop, "task-001")
        loop.enter_phase("verify")
        (event,) = list(loop.engine.events(types=["checkpoint_created"]))[-1:]
        state = loop.state
    name = event.data["file"]
    found = read(tmp_path, name)
    assert isinstance(found, dict)
    assert list(found) == [
        "checkpoint_type",
        "timestamp",
        "trigger",
        "state",
        "plan_summary",
        "human_summary",
        "seq",
        "sha256",
    ]
    assert found["checkpoint_type"] == "phase-transition"
    assert found["trigger"] == "phase: execute → verify"
    assert found["state"] == state == read_state(tmp_path)
    assert found["plan_summary"] == {"status": "approved", "task_count": 2, "completed_count": 1}
    assert found["human_summary"] == f"Phase: verify, Feature: {FEATURE}, Progress: 1/2 tasks"
    assert found["seq"] == event.seq
    assert found["sha256"] == sha256(encode_state(state))
    stamp = found["timestamp"].replace(":", "-").replace(".", "-")
    assert name == f"phase-transition-{stamp}.json"
    raw = (folder_of(tmp_path) / "checkpoints" / name).read_text()
    assert raw == json.dumps(found, indent=2, ensure_ascii=False)


def test_every_transition_has_its_checkpoint(tmp_path: Path) -> None:
    with executing(tmp_path) as loop:
        made = [e.data["trigger"] for e in loop.engine.events(types=["checkpoint_created"])]
    assert made == [
        "phase: init → research",
        "phase: research → plan",
        "phase: plan → critique",
        "phase: critique → execute",
    ]
    assert len(checkpoints(tmp_path)) == 4


def test_a_reset_keeps_the_state_before_it(tmp_path: Path) -> None:
    with executing(tmp_path) as loop:
        before = loop.state
        loop.reset(reason="another feature")
    (name,) = [one for one in checkpoints(tmp_path) if one.startswith("reset-")]
    found = read(tmp_path, name)
    assert isinstance(found, dict)
    assert found["state"] == before
    assert found["trigger"] == "reset: another feature"


def test_a_compaction_keeps_the_state_after_its_count_and_the_turns(tmp_path: Path) -> None:
    with begin(tmp_path) as loop:
        loop.compact(turns=["one", "two"], trigger="auto")
    (name,) = checkpoints(tmp_path)
    found = read(tmp_path, name)
    assert isinstance(found, dict)
    assert name.startswith("pre-compact-")
    assert found["state"]["compaction_context"]["compaction_count"] == 1
    assert found["recent_turns"] == ["one", "two"]
    assert list(found)[-1] == "recent_turns"


def test_a_name_that_is_taken_moves_on_by_a_millisecond(tmp_path: Path) -> None:
    with begin(tmp_path, clock=Clock(step_ms=0)) as loop:
        for _ in range(3):
            loop.compact()
    found = [read(tmp_path, name) for name in checkpoints(tmp_path)]
    assert [one["timestamp"][-4:] for one in found if isinstance(one, dict)] == [
        "000Z",
        "001Z",
        "002Z",
    ]


def test_a_file_of_somebody_elses_takes_a_name_as_well(tmp_path: Path) -> None:
    with begin(tmp_path, clock=Clock(step_ms=0)) as loop:
        name = put_checkpoint(
            tmp_path, "2026-03-01T14:45:00.000Z", full_state(), kind="pre-compact"
        )
        text = (folder_of(tmp_path) / "checkpoints" / name).read_bytes()
        loop.compact()
    assert (folder_of(tmp_path) / "checkpoints" / name).read_bytes() == text
    assert "pre-compact-2026-03-01T14-45-00-001Z.json" in checkpoints(tmp_path)


def test_checkpoints_holds_only_its_three_types(tmp_path: Path) -> None:
    with begin(tmp_path, "research") as loop:
        loop.engine.snapshot("manual", "by hand")
        assert [one.type for one in loop.engine.snapshots()] == ["manual"]
    assert len(checkpoints(tmp_path)) == 1


@pytest.mark.parametrize("shape", [1, 2])
def test_both_shapes_are_read(tmp_path: Path, shape: int) -> None:
    name = put_checkpoint(
        tmp_path, "2026-03-01T10:00:00+01:00", full_state(), kind="reset", shape=shape
    )
    data = (folder_of(tmp_path) / "checkpoints" / name).read_bytes()
    found = decode(data, name)
    assert (found.type, found.timestamp) == ("reset", "2026-03-01T10:00:00+01:00")
    assert found.time == "2026-03-01T09:00:00.000Z"
    assert (found.trigger, found.state) == ("by hand", full_state())


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"checkpoint_type": "reset", "timestamp": "x", "state": {}}',
        b'{"checkpoint_type": "reset", "timestamp": "2026-03-01T10:00:00Z", "state": []}',
        b'{"_checkpoint": {"type": "reset"}}',
        b"\0" * 100,
    ],
)
def test_what_is_no_checkpoint_is_told_and_not_raised(raw: bytes) -> None:
    assert isinstance(try_decode(raw, "x.json"), str)


# --- retention -----------------------------------------------------------------------------------


def kept_of(*spec: tuple[str, int]) -> dict[str, Checkpoint]:
    return {
        f"{kind}-{n}.json": Checkpoint(
            kind, "", f"2026-03-01T00:{n // 60:02d}:{n % 60:02d}.000Z", "", "", {}
        )
        for kind, n in spec
    }


def by_the_text(found: dict[str, Checkpoint]) -> set[str]:
    """The rule as the text's procedure applies it, written anew."""
    ordered = sorted(found, key=lambda name: found[name].time, reverse=True)
    kept = set(ordered[:10])
    resets = [name for name in ordered if found[name].type == "reset"]
    missing = 5 - sum(name in kept for name in resets)
    kept |= set([name for name in resets if name not in kept][: max(0, missing)])
    return set(ordered) - kept


@pytest.mark.parametrize("resets", [0, 1, 3, 5, 8, 20])
@pytest.mark.parametrize("first", [True, False])
def test_the_newest_ten_stay_and_of_the_resets_five(resets: int, first: bool) -> None:
    others = [("phase-transition", n + (resets if first else 0)) for n in range(14)]
    old = [("reset", n if first else 14 + n) for n in range(resets)]
    found = kept_of(*others, *old)
    assert set(past_retention(found)) == by_the_text(found)


def test_the_one_just_written_stays_although_its_time_is_not_the_newest() -> None:
    found = kept_of(*[("pre-compact", n) for n in range(12)])
    assert past_retention(found) == ["pre-compact-0.json", "pre-compact-1.json"]
    assert past_retention(found, just_written="pre-compact-0.json") == ["pre-compact-1.json"]


def test_older_ones_go_and_what_was_in_them_is_in_the_log(tmp_path: Path) -> None:
    with begin(tmp_path) as loop:
        foreign = put_checkpoint(tmp_path, "2026-02-01T10:00:00Z", full_state(feature_name="Old"))
        text = (folder_of(tmp_path) / "checkpoints" / foreign).read_text()
        for _ in range(11):
            loop.compact()
        pruned = [
            name
            for event in loop.engine.events(types=["checkpoints_pruned"])
            for name in event.data["files"]
        ]
        (adopted,) = loop.engine.events(types=["checkpoint_adopted"])
        created = [e.data["file"] for e in loop.engine.events(types=["checkpoint_created"])]
    assert pruned == [foreign, created[0]]
    assert checkpoints(tmp_path) == created[1:]
    assert (adopted.data["file"], adopted.data["text"]) == (foreign, text)
    assert adopted.data["sha256"] == sha256(text.encode())


def test_resets_survive_many_other_checkpoints(tmp_path: Path) -> None:
    with begin(tmp_path) as loop:
        for _ in range(6):
            loop.reset()
        for _ in range(12):
            loop.compact()
    names = checkpoints(tmp_path)
    assert sum(name.startswith("reset-") for name in names) == 5
    assert sum(name.startswith("pre-compact-") for name in names) == 10


def test_other_files_neither_count_nor_go_and_a_damaged_one_stops_nothing(tmp_path: Path) -> None:
    folder = folder_of(tmp_path) / "checkpoints"
    with begin(tmp_path) as loop:
        folder.mkdir(exist_ok=True)
        (folder / "notes.txt").write_text("mine")
        (folder / "other.json").write_text("{}")
        (folder / "damaged.json").write_text('{"checkpoint_type": "reset"')
        (folder / "folder.json").mkdir()
        for _ in range(11):
            loop.compact()
    names = checkpoints(tmp_path)
    assert {"notes.txt", "other.json", "damaged.json", "folder.json"} < set(names)
    assert len(names) == 14
    listed = list_folder(folder)
    assert [one.type for one in listed[:10]] == ["pre-compact"] * 10
    assert listed[0].timestamp > listed[9].timestamp
    assert {one.file for one in listed if one.problem} == {
        "other.json",
        "damaged.json",
        "folder.json",
    }


def test_a_checkpoint_of_ours_that_was_changed_is_kept_in_the_log_before_it_goes(
    tmp_path: Path,
) -> None:
    with begin(tmp_path) as loop:
        loop.compact()
        (name,) = checkpoints(tmp_path)
        path = folder_of(tmp_path) / "checkpoints" / name
        changed = path.read_text().replace('"trigger": "pre-compact"', '"trigger": "edited"')
        path.write_text(changed)
        for _ in range(10):
            loop.compact()
        (adopted,) = loop.engine.events(types=["checkpoint_adopted"])
    assert not path.exists()
    assert adopted.data["text"] == changed


# --- a kill between the event and the file -------------------------------------------------------


def test_a_checkpoint_that_a_kill_prevented_is_written_by_the_next_to_open(
    tmp_path: Path,
) -> None:
    begin(tmp_path, "research").close()
    (name,) = checkpoints(tmp_path)
    path = folder_of(tmp_path) / "checkpoints" / name
    data = path.read_bytes()
    path.unlink()
    with reopen(tmp_path) as loop:
        assert any(name in text for text in loop.messages)
    assert path.read_bytes() == data


def test_a_disk_that_is_full_for_a_checkpoint_stops_nothing_and_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begin(tmp_path) as loop:
        write_file = durable.write_file

        def full(path: Path, data: bytes, **options: object) -> object:
            if "checkpoints" in str(path):
                raise OSError(28, "No space left on device", str(path))
            return write_file(path, data, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(durable, "write_file", full)
        loop.enter_phase("research")
        assert loop.state["current_phase"] == "research"
        assert any("No space left" in text for text in loop.messages)
        monkeypatch.undo()
    assert checkpoints(tmp_path) == []
    reopen(tmp_path).close()
    assert len(checkpoints(tmp_path)) == 1


def test_a_kill_before_the_files_go_lets_the_next_checkpoint_take_them_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with begin(tmp_path) as loop:
        for _ in range(10):
            loop.compact()
        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", killed)
            with pytest.raises(KeyboardInterrupt):
                loop.compact()
    assert len(checkpoints(tmp_path)) == 11
    with reopen(tmp_path) as loop:
        loop.compact()
        assert "checkpoint_adopted" not in [event.type for event in loop.engine.events()]
    assert len(checkpoints(tmp_path)) == 10


def test_pruned_checkpoints_do_not_come_back(tmp_path: Path) -> None:
    with begin(tmp_path) as loop:
        for _ in range(12):
            loop.compact()
    names = checkpoints(tmp_path)
    with reopen(tmp_path) as loop:
        assert loop.recover() == []
    assert checkpoints(tmp_path) == names


def test_recover_brings_back_what_is_missing_or_changed_byte_for_byte(tmp_path: Path) -> None:
    executing(tmp_path).close()
    folder = folder_of(tmp_path) / "checkpoints"
    before = files(folder)
    first, second = checkpoints(tmp_path)[:2]
    (folder / first).unlink()
    (folder / second).write_text("{}")
    with reopen(tmp_path) as loop:
        written = loop.recover()
        kept = list((loop.engine.path / "quarantine").iterdir())
    assert f"checkpoints/{second}" in written
    assert files(folder) == before
    assert [path.read_text() for path in kept] == ["{}"]


def test_recover_from_a_checkpoint_brings_its_state_back_as_an_event(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        finish(loop, "task-001")
        (name,) = [
            e.data["file"]
            for e in loop.engine.events(types=["checkpoint_created"])
            if e.data["trigger"] == "phase: plan → critique"
        ]
        found = decode((folder_of(tmp_path) / "checkpoints" / name).read_bytes(), name)
        seq = loop.engine.seq
        loop.recover_from(folder_of(tmp_path) / "checkpoints" / name, agent="coordinator")
        assert loop.engine.seq == seq + 1
        state = loop.state
        assert loop.messages[-1] == f"State recovered from checkpoint {found.timestamp}"
        assert loop.engine.state_at(seq)["tasks"][0]["status"] == "done"
    assert {**state, "last_action": 0} == {**found.state, "last_action": 0}
    assert state["last_action"]["action"] == "state_recovered"
    assert actions(tmp_path)[-1] == "state_recovered"
