"""Group A: a torn or unterminated tail of the log, and damage told from it.

A tear is what a crash may leave of an append that nobody was told of: it is cut, kept in
quarantine and said. A line that was whole once is never cut: a writer is refused, a reader gets
every other event and the place.
"""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import journal
from journal.errors import Corrupt
from tests.cases.made import (
    Made,
    append_to,
    files,
    make,
    make_segments,
    no_file_over,
    readable,
    recovered,
    refused_as_corrupt,
    start_python,
    unchanged,
)


def torn(made: Made, size: int = 40) -> bytes:
    """The first bytes of the line that a killed writer was about to write."""
    return made.next_line()[:size]


EURO = '{"path":"/k","value":"€"}'.encode()


def cut_in_character(made: Made) -> bytes:
    line = made.next_line(EURO)
    return line[: line.index("€".encode()) + 2]


TEARS: dict[str, Callable[[Made], bytes]] = {
    "one byte": lambda made: torn(made, 1),
    "half a line": torn,
    "all but the crc": lambda made: made.next_line()[:-18],
    "all but the LF": lambda made: made.next_line()[:-1],
    "then blank lines": lambda made: torn(made) + b"\n\n",
    "then lines of spaces": lambda made: torn(made) + b"\n  \n\t\n",
    "then spaces without LF": lambda made: torn(made) + b"\n  ",
    "blank lines alone": lambda made: b"\n\n",
    "inside a character": cut_in_character,
}


@pytest.mark.parametrize("tear", TEARS.values(), ids=TEARS.keys())
def test_a01_torn_tail_is_cut_said_and_kept_and_every_event_stays(
    tmp_path: Path, tear: Callable[[Made], bytes]
) -> None:
    """A01, A04 and A05: one verdict, whatever the tear looks like."""
    made = make(tmp_path)
    whole = made.log.read_bytes()
    made.add(fragment := tear(made))

    assert readable(made) == ([1, 2, 3, 4, 5], None)
    with made.open() as engine:
        assert engine.state == {"k": 5}
        (said,) = engine.messages
    for fact in (
        str(made.log),
        f"{len(fragment)} bytes",
        f"after byte {len(whole)}",
        "quarantine/",
    ):
        assert fact in said
    event, kept = recovered(made)
    assert (event.seq, kept) == (6, fragment)
    assert event.data["offset"] == len(whole)
    assert event.data["bytes"] == len(fragment)
    assert made.log.read_bytes().startswith(whole)
    made.log_on()


@pytest.mark.parametrize("tear", TEARS.values(), ids=TEARS.keys())
def test_a01_torn_tail_is_no_damage_to_a_reader_and_status_names_it(
    tmp_path: Path, tear: Callable[[Made], bytes]
) -> None:
    made = make(tmp_path)
    made.add(fragment := tear(made))
    with unchanged(made), made.read() as engine:
        assert (engine.seq, engine.state) == (5, {"k": 5})
        assert engine.verify().ok
        assert engine.status().unfinished_bytes == len(fragment)


def test_a01_torn_end_of_an_acknowledged_event_is_refused_and_names_it(tmp_path: Path) -> None:
    """What the witness names as on disk is never cut: this tear is no crash's."""
    made = make(tmp_path)
    offset = made.offset(5)
    made.put(made.log.read_bytes()[:-7])
    error = refused_as_corrupt(made, line=5, offset=offset)
    assert (error.seq, "event 5 was known to be on disk" in error.why) == (5, True)
    found = readable(made)
    assert found.seqs == [1, 2, 3, 4]
    assert found.damage is not None
    assert (found.damage.line, found.damage.offset) == (5, offset)
    with unchanged(made), made.read() as engine:
        assert any("event 5" in said for said in engine.messages)
        with pytest.raises(Corrupt, match="event 5"):
            _ = engine.state
        assert engine.state_at(4) == {"k": 4}
        assert not engine.verify().ok


def test_a01_torn_end_without_witness_is_cut_back_to_the_last_whole_event(tmp_path: Path) -> None:
    made = make(tmp_path)
    last = made.lines()[-1]
    made.put(made.log.read_bytes()[:-7])
    made.forget()
    with made.open() as engine:
        assert engine.state == {"k": 4}
        assert len(engine.messages) == 2
    assert recovered(made)[1] == last[:-7]
    assert b'{\n  "k": 5\n}\n' in made.quarantined.values()
    made.log_on()


def test_a01_torn_append_of_several_lines_is_cut_to_its_start(tmp_path: Path) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        engine.append_batch([("set", {"path": "/b", "value": value}) for value in (1, 2, 3)])
    made.forget()
    lines = made.lines()
    made.put([*lines[:-1], lines[-1][:50]])
    assert readable(made) == ([1, 2, 3, 4, 5], None)
    with made.open() as engine:
        assert engine.state == {"k": 5}
    assert recovered(made)[1] == b"".join(lines[5:7]) + lines[7][:50]


def test_a01_append_that_lacks_whole_lines_is_cut_to_its_start(tmp_path: Path) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        engine.append_batch([("set", {"path": "/b", "value": value}) for value in (1, 2, 3)])
    made.forget()
    lines = made.lines()
    made.put(lines[:-1])
    assert readable(made) == ([1, 2, 3, 4, 5], None)
    with made.open() as engine:
        assert engine.state == {"k": 5}
    assert recovered(made)[1] == b"".join(lines[5:7])
    made.log_on()


def test_a01_torn_tail_of_an_earlier_segment_is_refused(tmp_path: Path) -> None:
    made = make_segments(tmp_path, 12)
    first = made.segment(1)
    whole = first.read_bytes()
    made.put(whole[:-7], first)
    lines = whole.splitlines(keepends=True)
    refused_as_corrupt(made, path=first, line=4, offset=len(whole) - len(lines[-1]))
    found = readable(made)
    assert found.seqs == [1, 2, 3, *range(5, 13)]
    assert found.damage is not None
    with made.read() as engine:
        (problem,) = engine.verify().problems
    assert (problem.kind, problem.segment, problem.line) == ("damage", first.name, 4)


def test_a01_torn_tail_that_cannot_be_saved_is_not_cut(tmp_path: Path) -> None:
    """Saved before cut: where quarantine takes nothing, the bytes stay where they are."""
    made = make(tmp_path)
    made.add(torn(made))
    (made.path / "quarantine").write_text("a file is in the way")
    with unchanged(made), pytest.raises(OSError, match="quarantine"):
        made.open()
    assert readable(made) == ([1, 2, 3, 4, 5], None)


def test_a02_appends_after_a_tear_stand_on_lines_of_their_own(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    made.add(torn(made))
    with made.open() as engine:
        append_to(engine, 6)
    with made.open() as engine:
        assert [event.type for event in engine.events()][3:] == ["journal.recovered", "set", "set"]
        assert (engine.state, engine.messages) == ({"k": 6}, [])
        assert engine.verify().ok


def test_a02_twenty_tears_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    made = make(tmp_path, 1)
    for value in range(20):
        with made.open() as engine:
            engine.append("set", {"path": f"/{value}", "value": value})
        made.add(made.next_line()[:-7])
    with made.open() as engine:
        assert engine.state == {str(value): value for value in range(20)}
        types = [event.type for event in engine.events()]
        assert engine.verify().ok
    assert types == ["journal.created", *["set", "journal.recovered"] * 20]
    assert len(made.quarantined) == 20


def test_a02_twenty_tears_into_the_last_append_lose_that_append_only(tmp_path: Path) -> None:
    """The cut goes into what was written last, and the witness is lost with it (a power cut)."""
    made = make(tmp_path, 1)
    for value in range(20):
        with made.open() as engine:
            engine.append("set", {"path": f"/kept-{value}", "value": value})
            engine.append("set", {"path": f"/cut-{value}", "value": value})
        made.put(made.log.read_bytes()[:-7])
        made.forget()
    with made.open() as engine:
        assert engine.state == {f"kept-{value}": value for value in range(20)}
        assert engine.verify().ok


def test_a04_torn_line_that_has_its_line_end_was_whole_and_is_refused(tmp_path: Path) -> None:
    """One LF behind it: no writer of ours leaves that, for a line goes to the file with its LF."""
    made = make(tmp_path)
    made.add(torn(made) + b"\n")
    refused_as_corrupt(made, line=6, offset=made.offset(6))
    found = readable(made)
    assert found.seqs == [1, 2, 3, 4, 5]
    assert found.damage is not None


def test_a07_partial_line_then_the_whole_copy_is_refused_and_readers_get_all(
    tmp_path: Path,
) -> None:
    """A07 (a); the table refuses where the case recovers: the partial line has its LF."""
    made = make(tmp_path)
    copy = made.next_line()
    made.add(copy[:40] + b"\n" + copy)
    refused_as_corrupt(made, line=6, offset=made.offset(6))
    found = readable(made)
    assert found.seqs == [1, 2, 3, 4, 5, 6]
    assert found.damage is not None
    assert (found.damage.line, "no event" in found.damage.why) == (6, True)


def test_a07_partial_and_whole_copy_on_one_line_is_refused_and_loses_no_other_event(
    tmp_path: Path,
) -> None:
    """A07 (b)."""
    made = make(tmp_path)
    copy = made.next_line()
    made.add(copy[:40] + copy)
    refused_as_corrupt(made, line=6, offset=made.offset(6))
    found = readable(made)
    assert found.seqs == [1, 2, 3, 4, 5]
    assert found.damage is not None
    assert (found.damage.line, found.damage.seq) == (6, 6)


def test_a08_damaged_middle_is_refused_and_every_reader_gives_one_count(tmp_path: Path) -> None:
    made = make(tmp_path)
    offset = made.offset(3)
    made.replace(3, made.lines()[2][:-30] + b"\n")
    error = refused_as_corrupt(made, line=3, offset=offset)
    assert "journal repair --dry-run" in error.advice

    found = readable(made)
    # Line 4 has no base to be checked from: the crc that stood in line 3 is gone.
    assert found.seqs == [1, 2, 5]
    assert found.damage is not None
    assert (found.damage.line, found.damage.offset) == (3, offset)
    assert "events 3 to 4" in found.damage.why
    with unchanged(made), made.read() as engine:
        report = engine.verify()
        assert [(problem.line, problem.offset, problem.seq) for problem in report.problems] == [
            (3, offset, 3)
        ]
        assert report.events == len(found.seqs)
        assert engine.state_at(2) == {"k": 2}
        for seq in (3, 4):
            with pytest.raises(Corrupt, match="line 3"):
                engine.state_at(seq)


@pytest.mark.parametrize("line", [2, 3, 4])
def test_a08_changed_byte_costs_its_own_line_alone(tmp_path: Path, line: int) -> None:
    """Where the crc of the bad line can be read, the line after it is checked from there."""
    made = make(tmp_path)
    made.edit(line, b'"value":%d' % line, b'"value":7')
    refused_as_corrupt(made, line=line, offset=made.offset(line))
    found = readable(made)
    assert found.seqs == [seq for seq in range(1, 6) if seq != line]
    assert found.damage is not None
    assert found.damage.line == line
    with made.read() as engine:
        (problem,) = engine.verify().problems
    assert (problem.kind, problem.line, problem.seq) == ("damage", line, line)


def test_a08_two_damages_are_two_problems_and_readers_get_the_rest(tmp_path: Path) -> None:
    made = make(tmp_path, 8)
    for line in (3, 6):
        made.edit(line, b'"value":%d' % line, b'"value":9')
    refused_as_corrupt(made, line=3, offset=made.offset(3))
    assert readable(made).seqs == [1, 2, 4, 5, 7, 8]
    with made.read() as engine:
        assert [problem.line for problem in engine.verify().problems] == [3, 6]


def test_a08_state_of_today_is_known_past_the_damage_from_the_view_that_is_vouched_for(
    tmp_path: Path,
) -> None:
    made = make(tmp_path)
    made.edit(3, b'"value":3', b'"value":7')
    with unchanged(made), made.read() as engine:
        assert engine.state == {"k": 5}
    made.state.unlink()
    with unchanged(made), made.read() as engine:
        assert any("line 3" in said for said in engine.messages)
        assert (engine.status().seq, engine.status().state_bytes) == (5, 0)
        with pytest.raises(Corrupt, match="line 3"):
            _ = engine.state


@pytest.mark.parametrize("broken", ["cut", "changed", "gone"])
def test_a10_first_line_broken_leaves_the_other_events_readable(
    tmp_path: Path, broken: str
) -> None:
    made = make(tmp_path)
    lines = made.lines()
    first = {"cut": lines[0][:40] + b"\n", "changed": lines[0].replace(b"1", b"7", 1), "gone": b""}
    made.replace(1, first[broken])
    refused_as_corrupt(made, line=1, offset=0)
    found = readable(made)
    assert found.seqs == ([2, 3, 4, 5] if broken == "changed" else [3, 4, 5])
    assert found.damage is not None
    assert (found.damage.line, found.damage.offset) == (1, 0)
    with unchanged(made), made.read() as engine:
        assert engine.status().id == engine.config.id


def test_a11_reader_sees_whole_appends_only_and_changes_nothing(tmp_path: Path) -> None:
    """The line of 200 KB is there byte by byte, as a slow writer's would be."""
    made = make(tmp_path)
    big = made.next_line(b'{"path":"/big","value":"%b"}' % (b"x" * 200_000))
    with made.read() as reader:
        for end in (1, 100, 70_000, 200_000, len(big) - 1):
            made.put(b"".join(made.lines()[:5]) + big[:end])
            with unchanged(made):
                assert (reader.refresh(), reader.messages) == (5, [])
                assert [event.seq for event in reader.events()] == [1, 2, 3, 4, 5]
        made.put(b"".join(made.lines()[:5]) + big)
        assert (reader.refresh(), reader.messages) == (6, [])
        assert len(reader.state["big"]) == 200_000


@pytest.mark.slow
def test_a11_reader_that_polls_a_live_writer_meets_no_damage(tmp_path: Path) -> None:
    made = make(tmp_path, 1)
    program = (
        "import sys, journal\n"
        "with journal.open(sys.argv[1], durability='os') as j:\n"
        "    for n in range(30):\n"
        "        j.append('set', {'path': '/big', 'value': 'x' * 200_000})\n"
    )
    with start_python(program, made.path) as writer, made.read() as reader:
        seen = 1
        while writer.poll() is None:
            seq = reader.refresh()
            assert seq >= seen
            assert [event.seq for event in reader.events(seen)] == list(range(seen + 1, seq + 1))
            seen = seq
        assert writer.wait() == 0
        assert (reader.refresh(), reader.messages) == (31, [])
    assert made.quarantined == {}


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["always", "batch", "os"])
def test_a13_event_is_there_after_the_writer_was_killed_right_after_append(
    tmp_path: Path, durability: str
) -> None:
    """In every mode: a kill takes nothing from what a write gave to the system."""
    made = make(tmp_path, 2)
    program = (
        "import os, signal, sys, journal\n"
        "j = journal.open(sys.argv[1], durability=sys.argv[2])\n"
        "j.append('set', {'path': '/k', 'value': 'acknowledged'})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with start_python(program, made.path, durability) as writer:
        assert writer.wait() == -signal.SIGKILL
    with journal.open(made.path) as engine:
        assert (engine.seq, engine.state, engine.messages) == (3, {"k": "acknowledged"}, [])
        assert engine.verify().ok


@pytest.mark.parametrize("room", [0, 1, 90, 219])
def test_a14_append_that_cannot_be_written_raises_and_the_next_one_has_its_seq(
    tmp_path: Path, room: int
) -> None:
    """Also H02: the short write (`room` bytes fit) is taken back before the error is raised."""
    made = make(tmp_path)
    with made.open() as engine:
        before = files(made.path)
        with (
            no_file_over(made.log.stat().st_size + room),
            pytest.raises(OSError, match="too large"),
        ):
            engine.append("set", {"path": "/k", "value": "x" * 220})
        assert files(made.path) == before
        assert (engine.seq, engine.state) == (5, {"k": 5})
        assert engine.append("set", {"path": "/k", "value": 6}).seq == 6
    with made.open() as engine:
        assert [event.seq for event in engine.events()] == [1, 2, 3, 4, 5, 6]
        assert (engine.state, engine.messages) == ({"k": 6}, [])
    assert made.quarantined == {}
