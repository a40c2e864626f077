"""Taking over a folder that other tools have written: state, log lines, checkpoints."""

import json
from pathlib import Path
from typing import Any

import pytest

import journal
from journal.codec import sha256
from journal.errors import Corrupt, JournalError, UsageError
from projections.agloop.agloop import AgLoop
from projections.agloop.schema import check, ordered
from tests.agloop.life import (
    FEATURE,
    Clock,
    actions,
    begin,
    checkpoints,
    files,
    folder_of,
    foreign_state,
    full_state,
    put_checkpoint,
    put_state,
    read_log,
    read_state,
    reopen,
    state_task,
    types,
)

LINES = (
    b'{"timestamp":"2026-03-01T09:00:00.000Z","agent":"agloop","action":"init","status":"success"}\n'
    b'{"timestamp":"2026-03-01T09:01:00.000Z","agent":"hook",  "action":"tool_use"}\n'
)


def init(tmp_path: Path, **options: Any) -> AgLoop:
    return AgLoop.init(folder_of(tmp_path), **{"clock": Clock(), **options})


def test_a_whole_state_is_the_first_state_and_nothing_is_normalized(tmp_path: Path) -> None:
    state = full_state(current_phase="execute", tasks=[state_task(1)], mine={"a": [1]})
    path = put_state(tmp_path, state)
    raw = path.read_bytes()
    with init(tmp_path) as loop:
        events = list(loop.engine.events())
        assert loop.state == state
        assert loop.engine.state_at(2) == state
    assert types(events) == ["journal.created", "journal.taken_over"]
    assert events[1].data["sha256"] == sha256(raw)
    assert events[1].data["path"] == "state.json"
    assert read_state(tmp_path) == state


def test_missing_later_fields_come_as_one_event_that_lists_them(tmp_path: Path) -> None:
    state = foreign_state(mine=1)
    put_state(tmp_path, state)
    with init(tmp_path) as loop:
        events = list(loop.engine.events())
        assert loop.engine.state_at(2) == state  # the file as it was
        after = loop.state
    assert types(events) == ["journal.created", "journal.taken_over", "normalized"]
    assert {change["path"] for change in events[2].data["changes"]} == {
        "/complexity_level",
        "/compaction_context",
        "/previous_objections",
    }
    check(after)
    assert {**after, **state} == after  # no value that was there has changed
    assert after["last_action"] == state["last_action"]  # no "last update" moves
    assert [event.part for event in events[1:]] == [(1, 2), (2, 2)]  # one append
    assert list(read_state(tmp_path))[-1] == "mine"


@pytest.mark.parametrize("indent", [None, 4])
def test_the_same_state_in_other_bytes_is_written_in_ours(
    tmp_path: Path, indent: int | None
) -> None:
    path = put_state(tmp_path, full_state())
    path.write_text(json.dumps(full_state(), indent=indent) + "\n")
    path.chmod(0o640)
    with init(tmp_path):
        pass
    assert path.read_bytes() == json.dumps(ordered(full_state()), indent=2).encode()
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_first_mutation_takes_over_as_well(tmp_path: Path) -> None:
    put_state(tmp_path, foreign_state())
    with reopen(tmp_path) as loop:
        loop.enter_phase("research")
        assert types(loop.engine.events())[:3] == [
            "journal.created",
            "journal.taken_over",
            "normalized",
        ]
    assert read_state(tmp_path)["current_phase"] == "research"


def test_init_with_a_name_takes_over_and_then_sets_it(tmp_path: Path) -> None:
    put_state(tmp_path, foreign_state(feature_name=""))
    with init(tmp_path, feature_name="Named", complexity_level="simple") as loop:
        assert types(loop.engine.events())[-1] == "feature_set"
        assert (loop.state["feature_name"], loop.state["complexity_level"]) == ("Named", "simple")


def test_log_lines_become_events_and_the_file_keeps_its_bytes(tmp_path: Path) -> None:
    put_state(tmp_path, foreign_state())
    log = folder_of(tmp_path) / "log.json"
    log.write_bytes(LINES)
    inode = log.stat().st_ino
    with init(tmp_path) as loop:
        adopted = list(loop.engine.events(types=["log_line_adopted"]))
        loop.note("ours")
    assert [event.data["line"].encode() + b"\n" for event in adopted] == LINES.splitlines(True)
    assert log.read_bytes().startswith(LINES)
    assert log.stat().st_ino == inode
    assert actions(tmp_path) == ["init", "tool_use", "normalized", "ours"]


@pytest.mark.parametrize("shape", [1, 2])
def test_checkpoints_become_events_and_their_files_stay(tmp_path: Path, shape: int) -> None:
    put_state(tmp_path, full_state())
    names = [
        put_checkpoint(tmp_path, f"2026-02-{day:02d}T10:00:00.000Z", full_state(), shape=shape)
        for day in (1, 2)
    ]
    folder = folder_of(tmp_path) / "checkpoints"
    (folder / "damaged.json").write_text("{")
    before = files(folder)
    with init(tmp_path) as loop:
        adopted = list(loop.engine.events(types=["checkpoint_adopted"]))
        assert loop.state == full_state()
    assert [event.data["file"] for event in adopted] == names
    assert [event.data["text"].encode() for event in adopted] == [before[name] for name in names]
    assert files(folder) == before
    with reopen(tmp_path) as loop:
        assert len(list(loop.engine.events(types=["checkpoint_adopted"]))) == 2


DAMAGED = {
    "empty": b"",
    "cut short": b'{"$schema": "agloop-state-v1", "feat',
    "nul": b"\0" * 512,
    "half nul": b'{"$schema": "agloop' + b"\0" * 40,
    "conflict markers": b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n",
    "two values": b"{}\n{}\n",
    "no json": b"state",
    "utf-16": b"\xff\xfe{\0}\0",
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_state_gives_way_to_the_newest_valid_checkpoint(
    tmp_path: Path, kind: str
) -> None:
    put_checkpoint(tmp_path, "2026-02-01T10:00:00.000Z", full_state(feature_name="Old"))
    put_checkpoint(
        tmp_path, "2026-02-02T12:00:00+02:00", foreign_state(feature_name="New"), shape=2
    )
    put_checkpoint(tmp_path, "2026-02-03T10:00:00.000Z", foreign_state(iteration=9))  # not valid
    (folder_of(tmp_path) / "checkpoints" / "damaged.json").write_text("{")
    path = folder_of(tmp_path) / "state.json"
    path.write_bytes(DAMAGED[kind])
    with init(tmp_path) as loop:
        events = list(loop.engine.events())
        assert "State recovered from checkpoint 2026-02-02T12:00:00+02:00" in loop.messages
        assert not any("from the journal" in text for text in loop.messages)
        kept = [one.read_bytes() for one in (loop.engine.path / "quarantine").iterdir()]
    assert types(events)[:4] == [
        "journal.created",
        "journal.taken_over",
        "normalized",
        "state_recovered",
    ]
    assert "2026-02-02" in events[1].data["path"]
    assert types(events).count("state_recovered") == 1
    assert kept == [DAMAGED[kind]]
    assert read_state(tmp_path)["feature_name"] == "New"
    told = [e for e in read_log(tmp_path) if e["action"] == "state_recovered"]
    assert [e["output_summary"] for e in told] == [
        "State recovered from checkpoint 2026-02-02T12:00:00+02:00"
    ]


@pytest.mark.parametrize("kind", DAMAGED)
def test_without_a_valid_checkpoint_it_starts_fresh_and_says_so(tmp_path: Path, kind: str) -> None:
    folder_of(tmp_path).mkdir()
    (folder_of(tmp_path) / "state.json").write_bytes(DAMAGED[kind])
    put_checkpoint(tmp_path, "2026-02-03T10:00:00.000Z", foreign_state(iteration=9))
    words = "State corrupted, no valid checkpoints, starting fresh"
    with init(tmp_path) as loop:
        assert words in loop.messages
        assert loop.state["current_phase"] == "init"
        kept = [one.read_bytes() for one in (loop.engine.path / "quarantine").iterdir()]
    assert kept == [DAMAGED[kind]]
    assert [e["output_summary"] for e in read_log(tmp_path)][1] == words
    assert actions(tmp_path)[:2] == ["initialized", "state_recovered"]
    check(read_state(tmp_path))


def test_a_state_that_is_gone_comes_from_the_newest_checkpoint(tmp_path: Path) -> None:
    folder_of(tmp_path).mkdir()
    put_checkpoint(tmp_path, "2026-02-01T10:00:00.000Z", full_state())
    with reopen(tmp_path) as loop:
        assert "State recovered from checkpoint 2026-02-01T10:00:00.000Z" in loop.messages
        assert loop.state["feature_name"] == FEATURE
    assert read_state(tmp_path)["feature_name"] == FEATURE


@pytest.mark.parametrize(
    "state",
    [
        foreign_state(**{"$schema": "agloop-state-v2"}),
        {k: v for k, v in foreign_state().items() if k != "$schema"},
        foreign_state(feature_name="x" * 501),
        foreign_state(current_phase="done"),
        foreign_state(iteration=4),
        foreign_state(current_task_id="task-001"),
        foreign_state(tasks=[state_task(1, "pending", 2)]),
        {k: v for k, v in foreign_state().items() if k != "retry_count"},
        [],
        None,
    ],
)
def test_a_state_that_breaks_a_rule_is_refused_and_nothing_is_touched(
    tmp_path: Path, state: Any
) -> None:
    put_state(tmp_path, state)
    put_checkpoint(tmp_path, "2026-02-01T10:00:00.000Z", full_state())
    before = files(tmp_path)
    for act in (init, reopen):
        with pytest.raises(UsageError, match="allowed: "):
            act(tmp_path)
        assert files(tmp_path) == before


def test_a_key_that_stands_twice_is_refused_with_its_place(tmp_path: Path) -> None:
    path = put_state(tmp_path, full_state())
    path.write_text(path.read_text().replace('"iteration": 0', '"iteration": 0,\n"iteration": 1'))
    before = files(tmp_path)
    with pytest.raises(Corrupt, match="iteration"):
        init(tmp_path)
    assert files(tmp_path) == before


def test_a_bom_is_passed_over_and_said(tmp_path: Path) -> None:
    path = put_state(tmp_path, full_state())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    with init(tmp_path) as loop:
        assert any("byte order mark" in text for text in loop.messages)
        assert loop.state == full_state()
    assert path.read_bytes()[:1] == b"{"


def test_a_state_that_cannot_be_read_is_not_a_damaged_one(tmp_path: Path) -> None:
    put_checkpoint(tmp_path, "2026-02-01T10:00:00.000Z", full_state())
    (folder_of(tmp_path) / "state.json").mkdir()
    before = files(tmp_path)
    with pytest.raises(OSError, match="folder"):
        init(tmp_path)
    assert files(tmp_path) == before


def test_files_behind_symlinks_are_taken_over_and_the_links_stay(tmp_path: Path) -> None:
    path = put_state(tmp_path, foreign_state())
    log = folder_of(tmp_path) / "log.json"
    log.write_bytes(LINES)
    real = tmp_path / "real"
    real.mkdir()
    for one in (path, log):
        one.rename(real / one.name)
        one.symlink_to(Path("..") / "real" / one.name)
    with init(tmp_path) as loop:
        loop.enter_phase("research")
        assert len(loop.log()) == 5
    with reopen(tmp_path) as loop:
        loop.note("again")
    assert path.is_symlink()
    assert log.is_symlink()
    assert json.loads((real / "state.json").read_text())["current_phase"] == "research"
    assert actions(tmp_path)[-1] == "again"


def test_where_there_is_nothing_there_is_no_loop(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no loop here"):
        reopen(tmp_path)
    folder_of(tmp_path).mkdir()
    with pytest.raises(JournalError, match="no loop here"):
        reopen(tmp_path)
    put_state(tmp_path, full_state())
    with pytest.raises(JournalError, match="no loop here"):
        reopen(tmp_path, read_only=True)
    assert not (folder_of(tmp_path) / "journal").exists()


def test_a_beginning_that_was_cut_off_is_completed(tmp_path: Path) -> None:
    put_state(tmp_path, foreign_state())
    init(tmp_path).close()
    (folder_of(tmp_path) / "journal" / "journal.yaml").unlink()  # written last
    with reopen(tmp_path) as loop:
        assert types(loop.engine.events())[:2] == ["journal.created", "journal.taken_over"]
        loop.enter_phase("research")
    other = tmp_path / "other"
    other.mkdir()
    begin(other).close()
    (folder_of(other) / "journal" / "journal.yaml").unlink()
    with init(other) as loop:
        assert types(loop.engine.events()) == ["journal.created", "initialized"]


@pytest.mark.parametrize("is_finished", [True, False])
def test_a_journal_without_its_first_event_lets_init_go_on(
    tmp_path: Path, is_finished: bool
) -> None:
    folder = folder_of(tmp_path) / "journal"
    views = {"state": "../state.json", "log": "../log.json"}
    journal.init(folder, projection="agloop", view_files=views).close()
    if not is_finished:
        (folder / "journal.yaml").unlink()
    with init(tmp_path, feature_name=FEATURE) as loop:
        assert loop.state["feature_name"] == FEATURE
    assert actions(tmp_path) == ["initialized"]


def test_a_beginning_that_was_cut_off_is_completed_with_the_words_of_the_next(
    tmp_path: Path,
) -> None:
    init(tmp_path, feature_name="what the killed one wanted").close()
    (folder_of(tmp_path) / "journal" / "journal.yaml").unlink()
    with init(tmp_path, feature_name=FEATURE) as loop:
        assert loop.state["feature_name"] == FEATURE
    assert actions(tmp_path) == ["initialized", "feature_set"]


def test_checkpoints_of_many_shapes_count_for_retention_after_the_takeover(tmp_path: Path) -> None:
    put_state(tmp_path, full_state())
    for day in range(1, 15):
        put_checkpoint(
            tmp_path, f"2026-02-{day:02d}T10:00:00.000Z", full_state(), shape=1 + day % 2
        )
    with init(tmp_path) as loop:
        assert len(checkpoints(tmp_path)) == 14
        loop.enter_phase("research")
    names = checkpoints(tmp_path)
    assert len(names) == 10
    assert not any("2026-02-05" in name for name in names)


LINE = b'{"agent":"x","action":"old","phase":"plan"}\n'


def test_m07_a_log_without_a_state_is_said_and_nothing_is_invented(tmp_path: Path) -> None:
    folder_of(tmp_path).mkdir()
    (folder_of(tmp_path) / "log.json").write_bytes(LINE)
    with init(tmp_path) as loop:
        assert any("log.json is there and no state" in text for text in loop.messages)
        assert (loop.state["current_phase"], loop.state["phase_history"]) == ("init", [])
    assert (folder_of(tmp_path) / "log.json").read_bytes().startswith(LINE)


def test_m07_a_state_and_a_log_that_disagree_are_said_and_kept(tmp_path: Path) -> None:
    put_state(tmp_path, full_state())
    phase = full_state()["current_phase"]
    (folder_of(tmp_path) / "log.json").write_bytes(LINE.replace(b"plan", b"research"))
    with init(tmp_path) as loop:
        assert any("in phase" in text and '"research"' in text for text in loop.messages)
        assert loop.state["current_phase"] == phase != "research"
