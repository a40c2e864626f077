"""Group F: two or more writers of one journal, and what others left that wrote without a lock."""

import os
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

import journal
from journal import codec
from journal.errors import Conflict, Corrupt, Locked
from tests.cases.made import (
    Child,
    Made,
    append_to,
    files,
    make,
    readable,
    refused_as_corrupt,
    seal,
    unchanged,
)

PROCESSES = 4
EACH = 12


def append_numbers(made: Made, name: str, count: int, **options: Any) -> list[int]:
    """Append `count` events from a process of its own; return the seqs that were acknowledged."""
    with journal.open(made.path, **options) as engine:
        return [
            engine.append("set", {"path": f"/{name}-{number}", "value": number}, actor=name).seq
            for number in range(count)
        ]


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["always", "os"])
def test_f01_processes_that_append_at_once_lose_nothing_and_readers_see_whole_json(
    tmp_path: Path, durability: str
) -> None:
    """F01, and F08: the chain of checks holds."""
    made = make(tmp_path, 1, durability=durability)
    writers = [
        Child(lambda name=str(number): append_numbers(made, name, EACH))  # type: ignore[misc]
        for number in range(PROCESSES)
    ]
    stop = threading.Event()
    reads: list[int] = []

    def read_view() -> None:
        while not stop.is_set():
            reads.append(len(orjson.loads(made.state.read_bytes())))

    reader = threading.Thread(target=read_view)
    reader.start()
    try:
        acknowledged = [writer.result() for writer in writers]
    finally:
        stop.set()
        reader.join()
    assert reads == sorted(reads)
    seqs = sorted(seq for answer in acknowledged for seq in answer)
    assert seqs == list(range(2, 2 + PROCESSES * EACH))
    with journal.open(made.path) as engine:
        assert len(engine.state) == PROCESSES * EACH
        assert [event.seq for event in engine.events()] == list(range(1, 2 + PROCESSES * EACH))
        assert (engine.messages, engine.verify().problems) == ([], [])
    left = {path.name for path in made.path.iterdir()} - {"quarantine"}
    assert left == {"journal.yaml", "log", "state.json", "witness.json"}
    assert made.quarantined == {}


def count_up(state: dict[str, int]) -> list[tuple[str, dict[str, object]]]:
    return [("set", {"path": "/n", "value": state.get("n", 0) + 1})]


def execute_often(made: Made, count: int) -> None:
    with journal.open(made.path) as engine:
        for _ in range(count):
            engine.execute(count_up)


@pytest.mark.slow
def test_f02_counter_read_and_increased_inside_the_lock_loses_no_update(tmp_path: Path) -> None:
    made = make(tmp_path, 1)
    children = [Child(lambda: execute_often(made, EACH)) for _ in range(PROCESSES)]
    assert [child.result() for child in children] == [None] * PROCESSES
    with made.read() as engine:
        assert engine.state == {"n": PROCESSES * EACH}
        values = [event.data["value"] for event in engine.events(after=1)]
    assert values == list(range(1, PROCESSES * EACH + 1))


def test_f02_decision_on_an_old_state_is_a_conflict_and_changes_nothing(tmp_path: Path) -> None:
    made = make(tmp_path)
    with made.open() as first, made.open() as second:
        seen = first.seq
        second.append("set", {"path": "/k", "value": "theirs"})
        before = files(made.path)
        with pytest.raises(Conflict) as caught:
            first.append("set", {"path": "/k", "value": "mine"}, expected_seq=seen)
        assert (caught.value.expected, caught.value.actual) == (5, 6)
        assert caught.value.exit_code == 3
        assert files(made.path) == before
        assert first.state == {"k": "theirs"}


def test_f04_writer_that_stays_open_takes_no_number_twice(tmp_path: Path) -> None:
    made = make(tmp_path, 1)
    with made.open() as stays:
        for number in range(10):
            with made.open() as comes:
                comes.append("set", {"path": f"/comes-{number}", "value": number})
            stays.append("set", {"path": f"/stays-{number}", "value": number})
        assert stays.seq == 21
        assert len(stays.state) == 20
    assert readable(made) == (list(range(1, 22)), None)
    with made.open() as engine:
        assert engine.verify().ok


def test_f05_record_and_line_end_go_to_the_file_in_one_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(tmp_path, 2)
    written: list[bytes] = []
    pwrite = os.pwrite

    def spy(fd: int, data: bytes, offset: int) -> int:
        written.append(bytes(data))
        return pwrite(fd, data, offset)

    with made.open() as engine:
        monkeypatch.setattr(os, "pwrite", spy)
        events = [("set", {"path": f"/{n}", "value": "x" * 100_000}) for n in range(3)]
        engine.append_batch(events)
        monkeypatch.undo()
    lines = b"".join(made.lines()[2:])
    assert [data for data in written if data.startswith(b'{"seq":')] == [lines]


def test_f05_two_records_on_one_line_and_a_blank_one_are_refused_with_the_line(
    tmp_path: Path,
) -> None:
    made = make(tmp_path)
    lines = made.lines()
    offset = made.offset(2)
    made.put([lines[0], lines[1].rstrip(b"\n") + lines[2], b"\n", *lines[3:]])
    error = refused_as_corrupt(made, line=2, offset=offset)
    assert error.seq == 2
    found = readable(made)
    assert found.damage is not None
    assert (found.damage.line, found.damage.offset) == (2, offset)
    assert found.seqs[0] == 1
    assert found.seqs[-1] == 5
    assert set(found.seqs) <= {1, 4, 5}


def test_f07_second_opener_is_told_who_holds_the_lock_and_readers_are_not_kept_out(
    tmp_path: Path,
) -> None:
    made = make(tmp_path)
    with made.open() as holder, holder._core.appending():
        with unchanged(made):
            answer = Child(lambda: made.open(lock_timeout_s=0.02).close()).result()
        assert (answer["error"], answer["exit_code"]) == ("Locked", 4)
        assert answer["path"] == str(made.path / "log")
        assert f"pid {os.getpid()}" in answer["message"]
        assert "started 2026-" in answer["message"]
        assert Child(lambda: made.read().state).result() == {"k": 5}
    made.log_on()


def test_f07_two_engines_of_one_process_and_the_lock_between_them(tmp_path: Path) -> None:
    made = make(tmp_path)
    with made.open() as holder, made.open(lock_timeout_s=0.02) as other:
        with holder._core.appending(), pytest.raises(Locked) as caught:
            other.append("set", {"path": "/k", "value": 6})
        assert caught.value.timeout_s == 0.02
        assert other.append("set", {"path": "/k", "value": 6}).seq == 6


def test_f07_second_event_of_one_seq_is_refused_with_its_line_and_hides_nothing(
    tmp_path: Path,
) -> None:
    """Two children of event 2, as two windows without a lock would write them."""
    made = make(tmp_path)
    lines = made.lines()
    base = codec.read_tail(lines[1])
    assert base is not None
    other = lines[2].replace(b'"value":3', b'"value":"other"')
    line, _ = codec.seal([other[: -codec.SUFFIX_BYTES]], codec.crc_after(base.crc))
    made.put([*lines[:3], bytes(line), *lines[3:]])
    offset = made.offset(4)
    error = refused_as_corrupt(made, line=4, offset=offset)
    assert error.why
    found = readable(made)
    assert found.seqs == [1, 2, 3, 4, 5]
    assert found.damage is not None
    with made.read() as engine:
        (problem,) = engine.verify().problems
    assert (problem.line, problem.offset) == (4, offset)


@pytest.mark.parametrize("copies", [1, 3])
def test_f07_line_that_stands_there_twice_is_refused_and_read_once(
    tmp_path: Path, copies: int
) -> None:
    made = make(tmp_path)
    offset = made.offset(4)
    made.insert(4, made.lines()[2] * copies)
    refused_as_corrupt(made, line=4, offset=offset)
    found = readable(made)
    assert found.seqs == [1, 2, 3, 4, 5]
    assert found.damage is not None
    assert (found.damage.line, found.damage.offset) == (4, offset)


def test_f07_forged_fork_is_refused_and_both_lines_are_named(tmp_path: Path) -> None:
    """With checks that fit, the numbers still say it."""
    made = make(tmp_path)
    lines = made.lines()
    other = lines[2].replace(b'"value":3', b'"value":"other"')
    made.put(seal([*lines[:3], other, *lines[3:]]))
    offset = made.offset(4)
    error = refused_as_corrupt(made, line=4, offset=offset)
    assert "event 3 where event 4 is due" in error.why
    found = readable(made)
    assert found.seqs == [1, 2, 3, 4, 5]
    assert found.damage is not None


def test_f07_missing_parent_leaves_the_earlier_part_readable(tmp_path: Path) -> None:
    made = make(tmp_path)
    lines = made.lines()
    offset = made.offset(3)
    made.put([*lines[:2], *lines[3:]])
    refused_as_corrupt(made, line=3, offset=offset)
    found = readable(made)
    # Line 4 has lost the line that it would be checked from.
    assert found.seqs == [1, 2, 5]
    assert found.damage is not None
    assert "events 3 to 4" in found.damage.why
    with made.read() as engine:
        assert engine.state_at(2) == {"k": 2}
        with pytest.raises(Corrupt):
            engine.state_at(3)


@pytest.mark.slow
def test_f08_chain_of_segments_holds_under_load(tmp_path: Path) -> None:
    """Every writer rotates after a few events; the chain of `previous` is checked by verify."""
    made = make(tmp_path, 1)
    settings = made.path / "journal.yaml"
    settings.write_text(settings.read_text().replace("67108864", "1000"))
    children = [
        Child(lambda name=str(number): append_numbers(made, name, EACH))  # type: ignore[misc]
        for number in range(PROCESSES)
    ]
    for child in children:
        assert len(child.result()) == EACH
    with made.open() as engine:
        report = engine.verify()
        assert (report.problems, len(engine.state)) == ([], PROCESSES * EACH)
        assert report.segments > 3


def test_f10_opening_listing_and_reading_five_times_deletes_nothing(tmp_path: Path) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        engine.snapshot()
        append_to(engine, 9)
    (made.path / "mine.txt").write_text("of somebody else")
    (made.path / "log" / "notes.txt").write_text("of somebody else")
    before = files(made.path)
    for _ in range(5):
        with made.open() as engine:
            engine.snapshots()
            engine.status()
            list(engine.events())
            assert engine.verify().ok
        with made.read() as reader:
            assert reader.state == {"k": 9}
    after = files(made.path)
    assert after.keys() == before.keys()
    changed = {name for name in before if after[name] != before[name]}
    assert changed <= {"witness.json"}
