"""log.json: one line an event, appended in place, others' lines taken in, damage mended."""

import json
from pathlib import Path
from typing import Any

import pytest

from journal.errors import UsageError
from journal.event import Event
from projections.agloop import line
from projections.agloop.entries import read, select
from projections.agloop.projection import PROJECTION
from projections.agloop.schema import initial
from projections.agloop.utf16 import units
from tests.agloop.life import (
    FAIL,
    OBJECTION,
    PASS,
    RESULT,
    actions,
    begin,
    executing,
    folder_of,
    read_log,
    reopen,
    task,
)

NINE = [
    "timestamp",
    "agent",
    "action",
    "task_id",
    "phase",
    "input_summary",
    "output_summary",
    "status",
    "metadata",
]
FOREIGN = (
    b'{"timestamp": "2026-03-01T15:00:00.000Z", "agent":"hook", "action":"tool_use",'
    b' "task_id":null,"phase":"init","input_summary":"","output_summary":"","status":"success"}\n'
)


def log_of(tmp_path: Path) -> Path:
    return folder_of(tmp_path) / "log.json"


def add(tmp_path: Path, data: bytes) -> None:
    with log_of(tmp_path).open("ab") as file:
        file.write(data)


def test_each_event_makes_one_line_with_the_nine_fields_in_their_order(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        loop.start_task("task-001", agent="executor")
        loop.record_result("task-001", RESULT)
        loop.verify_task("task-001", FAIL)
        loop.retry_task("task-001", "page 2")
        loop.fail_task("task-001", "no")
        loop.raise_objection(OBJECTION)
        loop.compact()
        loop.reset(reason="other")
        seqs = {e.seq: e for e in loop.engine.events() if not e.type.startswith("journal.")}
    raw = log_of(tmp_path).read_bytes()
    assert raw.endswith(b"\n")
    assert b'": ' not in raw.replace(b"phase: ", b"").split(b"\n")[0]  # compact
    entries = read_log(tmp_path)
    assert [entry["metadata"]["seq"] for entry in entries] == list(seqs)
    for entry in entries:
        event = seqs[entry["metadata"]["seq"]]
        assert list(entry) == NINE
        assert entry["action"] == event.type
        assert entry["agent"] == event.actor
        assert entry["timestamp"] == event.time
        assert entry["task_id"] == event.data.get("task_id")
    by_action = {entry["action"]: entry for entry in entries}
    assert by_action["task_started"]["agent"] == "executor"
    assert by_action["task_verified"]["status"] == "failure"
    assert by_action["task_failed"]["status"] == "failure"
    assert by_action["task_started"]["phase"] == "execute"
    assert by_action["reset"]["phase"] == "init"  # the phase after the event


def test_engine_events_make_no_line(tmp_path: Path) -> None:
    with begin(tmp_path) as loop:
        before = log_of(tmp_path).read_bytes()
        loop.engine.snapshot("manual", "by hand")
        loop.engine.restore(loop.engine.seq - 1)
    assert log_of(tmp_path).read_bytes() == before


def test_summaries_are_cut_to_500_units_in_all(tmp_path: Path) -> None:
    with begin(tmp_path) as loop:
        loop.note("searched", input_summary="😀" * 400, output_summary="x" * 501)
        loop.note("searched", input_summary="y" * 500)
    first, second = read_log(tmp_path)[-2:]
    for name in ("input_summary", "output_summary"):
        assert units(first[name]) in (499, 500)
        assert first[name].endswith("…")
    assert first["input_summary"] == "😀" * 249 + "…"
    assert second["input_summary"] == "y" * 500


def test_a_note_is_an_entry_of_its_own(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        loop.note(
            "searched",
            task_id="task-001",
            input_summary="title",
            output_summary="42 files",
            status="skipped",
            metadata={"files": 42, "seq": "mine"},
            agent="researcher",
        )
        seq = loop.engine.seq
        for bad in (
            {"action": " "},
            {"action": "x", "status": "ok"},
            {"action": "x", "task_id": "t"},
        ):
            with pytest.raises(UsageError):
                loop.note(**bad)
        assert loop.engine.seq == seq
    found = read_log(tmp_path)[-1]
    assert found == {
        "timestamp": found["timestamp"],
        "agent": "researcher",
        "action": "searched",
        "task_id": "task-001",
        "phase": "execute",
        "input_summary": "title",
        "output_summary": "42 files",
        "status": "skipped",
        "metadata": {"files": 42, "seq": seq},
    }


def test_a_foreign_line_is_adopted_byte_for_byte_and_never_written_twice(tmp_path: Path) -> None:
    begin(tmp_path).close()
    odd = b'{"agent":"x",  "action":"y\xc3\xa9", "n":1.50}\r\n'
    add(tmp_path, FOREIGN + odd)
    with reopen(tmp_path) as loop:
        loop.note("ours")
    with reopen(tmp_path) as loop:
        loop.note("ours")
        adopted = list(loop.engine.events(types=["log_line_adopted"]))
        last = loop.state["last_action"]["action"]
    raw = log_of(tmp_path).read_bytes()
    assert (raw.count(FOREIGN), raw.count(odd)) == (1, 1)
    assert [(event.data["line"] + "\n").encode() for event in adopted] == [FOREIGN, odd]
    assert last == "initialized"
    with reopen(tmp_path) as loop:
        assert "log.json" in loop.engine.rebuild().equal
        assert loop.engine.verify().ok


def test_an_lf_comes_first_where_the_last_line_has_none(tmp_path: Path) -> None:
    begin(tmp_path).close()
    add(tmp_path, FOREIGN[:-1])
    with reopen(tmp_path) as loop:
        loop.note("ours")
        loop.note("again")
    assert actions(tmp_path) == ["initialized", "tool_use", "ours", "again"]


def test_bad_lines_go_to_quarantine_and_the_good_ones_stay(tmp_path: Path) -> None:
    begin(tmp_path, "research").close()
    whole = log_of(tmp_path).read_bytes()
    first = whole.split(b"\n")[0] + b"\n"
    log_of(tmp_path).write_bytes(whole.replace(first, b"{broken\n") + FOREIGN)
    with reopen(tmp_path) as loop:
        kept = list((loop.engine.path / "quarantine").iterdir())
    found = log_of(tmp_path).read_bytes()
    assert [path.read_bytes() for path in kept] == [b"{broken\n"]
    for good in [*whole.splitlines(keepends=True), FOREIGN]:
        assert found.count(good) == 1
    assert actions(tmp_path)[-1] == "log_recovered"


@pytest.mark.parametrize("damage", [b"", b"garbage\nand more", b"\0" * 4096])
def test_a_wholly_corrupt_log_is_kept_beside_and_rebuilt_and_that_is_noted(
    tmp_path: Path, damage: bytes
) -> None:
    begin(tmp_path, "research").close()
    whole = log_of(tmp_path).read_bytes()
    log_of(tmp_path).write_bytes(damage)
    with reopen(tmp_path) as loop:
        loop.note("goes on")
    assert log_of(tmp_path).read_bytes().startswith(whole)
    assert actions(tmp_path)[-2:] == ["log_recovered", "goes on"]
    kept = list(folder_of(tmp_path).glob("log.json.corrupt.*"))
    if damage:
        assert [path.read_bytes() for path in kept] == [damage]
        assert ":" not in kept[0].name


def test_a_log_that_cannot_be_used_blocks_nothing(tmp_path: Path) -> None:
    begin(tmp_path).close()
    whole = log_of(tmp_path).read_bytes()
    log_of(tmp_path).rename(tmp_path / "aside")
    log_of(tmp_path).mkdir()
    with reopen(tmp_path) as loop:
        loop.enter_phase("research")
        assert any("log.json" in text for text in loop.messages)
    log_of(tmp_path).rmdir()
    (tmp_path / "aside").rename(log_of(tmp_path))
    with reopen(tmp_path) as loop:
        loop.note("again")
    assert log_of(tmp_path).read_bytes().startswith(whole)
    assert actions(tmp_path)[-3:] == ["phase_entered", "checkpoint_created", "again"]


@pytest.mark.parametrize(
    "bad",
    [
        b"[]\n",
        b"42\n",
        b"null\n",
        b"not json\n",
        b"{} {}\n",
        b'{"a": \xff}\n',
        b'{"metadata": {"seq": 3}}\n',
        b'{"a": "' + b"x" * line.MOST_LINE_BYTES + b'"}\n',
    ],
    ids=["list", "number", "null", "text", "two", "bytes", "ours, but not in the log", "long"],
)
def test_what_is_no_line_of_somebody_elses_is_none(bad: bytes) -> None:
    assert line.adopt(bad) is None


def test_every_event_type_has_words_for_its_line_and_none_stops_it() -> None:
    assert set(line._SUMMARIES) == set(PROJECTION.types) - {"log_line_adopted"}
    for name in PROJECTION.types:
        data: Any
        for data in ({}, {"unknown": 1}, []):
            event = Event(seq=7, time="2026-03-01T14:45:00.000Z", type=name, data=data)
            found = line.render(initial(), event)
            assert found is None or found.endswith(b"\n")


def test_reading_entries_passes_over_what_is_none_and_selects(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    assert read(path) == []
    entries: list[Any] = [{"agent": a, "action": b} for a, b in ("ax", "bx", "ay", "ax")]
    lines = [json.dumps(entry).encode() for entry in entries]
    path.write_bytes(b"\n".join([lines[0], b"", b"bad", b"[1]", *lines[1:]]))
    found = read(path)
    assert found == entries
    assert select(found, agent="a", newest=2) == [entries[2], entries[3]]
    assert select(found, action="x", agent="a", newest=1) == [entries[3]]
    assert select(found, newest=0) == []


def test_papers_are_told_in_the_line(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        loop.start_task("task-001")
        loop.record_result("task-001", RESULT)
        loop.verify_task("task-001", PASS)
    told = {e["action"]: (e["input_summary"], e["output_summary"]) for e in read_log(tmp_path)}
    assert told["task_result_recorded"] == ("", RESULT["summary"])
    assert told["task_verified"] == ("PASS", PASS["overall_summary"])
    assert told["phase_entered"] == ("phase: critique → execute", "entered execute")
