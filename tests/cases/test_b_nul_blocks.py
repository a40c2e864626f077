"""Group B: blocks of NUL, where a file was made longer and its data never reached the disk.

We never write NUL, so a line with NUL bytes says that its block did not get to the disk: at the
end it is cut like a tear. Where a good line behind it proves that the place was on disk before,
it is damage, and refused.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from journal.errors import Corrupt
from tests.cases.made import (
    Made,
    append_to,
    make,
    make_segments,
    readable,
    recovered,
    refused,
    refused_as_corrupt,
    unchanged,
)

NUL = b"\0"

TAILS: dict[str, Callable[[Made], bytes]] = {
    "no LF": lambda made: NUL * 4096,
    "LF behind them": lambda made: NUL * 4096 + b"\n",
    "LF and blank lines": lambda made: NUL * 4096 + b"\n\n",
    "half a line before them": lambda made: made.next_line()[:30] + NUL * 100,
    "in front of the last line": lambda made: NUL * 8 + made.next_line(),
    "inside the last line": lambda made: made.next_line().replace(b'"value"', NUL * 7),
    "two lines": lambda made: NUL * 50 + b"\n" + NUL * 50 + b"\n",
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS.keys())
def test_b01_nul_tail_is_cut_said_and_kept_and_appends_stand_behind_the_good_bytes(
    tmp_path: Path, tail: Callable[[Made], bytes]
) -> None:
    """B01, and B04 in the last line."""
    made = make(tmp_path)
    whole = made.log.read_bytes()
    made.add(zeros := tail(made))
    assert readable(made) == ([1, 2, 3, 4, 5], None)
    with unchanged(made), made.read() as engine:
        assert (engine.state, engine.status().unfinished_bytes) == ({"k": 5}, len(zeros))
        assert engine.verify().ok
    with made.open() as engine:
        assert engine.state == {"k": 5}
        (said,) = engine.messages
    for fact in (str(made.log), f"{len(zeros)} bytes", f"after byte {len(whole)}"):
        assert fact in said
    assert recovered(made)[1] == zeros
    assert made.log.read_bytes()[: len(whole) + 7] == whole + b'{"seq":'
    made.log_on()


@pytest.mark.parametrize("line_end", [b"", b"\n"], ids=["no LF", "LF"])
def test_b01_acknowledged_line_that_became_nul_is_refused_and_named(
    tmp_path: Path, line_end: bytes
) -> None:
    made = make(tmp_path)
    made.replace(5, NUL * (len(made.lines()[4]) - len(line_end)) + line_end)
    error = refused_as_corrupt(made, line=5, offset=made.offset(5))
    assert "event 5 was known to be on disk" in error.why
    found = readable(made)
    assert (found.seqs, found.damage is None) == ([1, 2, 3, 4], False)


@pytest.mark.parametrize("line_end", [b"", b"\n"], ids=["no LF", "LF"])
def test_b01_last_line_that_became_nul_is_cut_where_nothing_shows_that_it_was_on_disk(
    tmp_path: Path, line_end: bytes
) -> None:
    made = make(tmp_path)
    made.replace(5, zeros := NUL * (len(made.lines()[4]) - len(line_end)) + line_end)
    made.forget()
    with made.open() as engine:
        assert engine.state == {"k": 4}
    assert recovered(made)[1] == zeros
    made.log_on()


def test_b02_nul_lines_before_good_ones_are_refused_and_readers_get_all_four(
    tmp_path: Path,
) -> None:
    """Put in between two lines, as the case has it: the line behind proves what was on disk."""
    made = make(tmp_path, 4)
    offset = made.offset(3)
    made.insert(3, NUL * 600 + b"\n")
    error = refused_as_corrupt(made, line=3, offset=offset)
    assert "proves" in error.why
    found = readable(made)
    assert found.seqs == [1, 2, 3, 4]
    assert found.damage is not None
    assert (found.damage.line, found.damage.offset) == (3, offset)


@pytest.mark.parametrize("line", [2, 3, 4])
def test_b02_block_that_became_nul_before_good_lines_is_refused_and_costs_what_it_covers(
    tmp_path: Path, line: int
) -> None:
    """No crc is left to check the line behind it from, so that one belongs to the damage."""
    made = make(tmp_path)
    offset = made.offset(line)
    made.replace(line, NUL * (len(made.lines()[line - 1]) - 1) + b"\n")
    if line == 4:
        # The last line is lost with it: nothing good follows, and the witness decides.
        error = refused_as_corrupt(made, line=line, offset=offset)
        assert "event 5 was known to be on disk" in error.why
        assert readable(made).seqs == [1, 2, 3]
        return
    error = refused_as_corrupt(made, line=line, offset=offset)
    assert "proves" in error.why
    found = readable(made)
    assert found.seqs == [seq for seq in range(1, 6) if seq not in (line, line + 1)]
    assert found.damage is not None
    assert f"events {line} to {line + 1}" in found.damage.why
    with unchanged(made), made.read() as engine:
        before = line - 1
        assert engine.state_at(before) == ({"k": before} if before > 1 else {})
        for seq in (line, line + 1):
            with pytest.raises(Corrupt, match=f"line {line}"):
                engine.state_at(seq)
        assert engine.seq_at("2020-01-01") == 0
        with pytest.raises(Corrupt, match=f"line {line}"):
            engine.seq_at("2030-01-01")


def test_b02_nul_block_before_lines_that_prove_nothing_is_cut_with_them(tmp_path: Path) -> None:
    """With durability `os` no line says that the one before it was on disk: none was promised."""
    made = make(tmp_path, 2, durability="os")
    with made.open() as engine:
        append_to(engine, 6)
        made.witness.write_bytes(b"")
    whole = made.lines()
    assert b'"unsynced":' in whole[5]
    made.replace(4, whole[3][:20] + NUL * (len(whole[3]) - 21) + b"\n")
    made.forget()
    torn = b"".join(made.lines()[3:])
    found = readable(made)
    assert found.seqs == [1, 2, 3, 6]
    assert found.damage is not None
    with made.open() as engine:
        assert engine.state == {"k": 3}
    assert recovered(made)[1] == torn
    made.log_on()


@pytest.mark.parametrize("line", [1, 2, 3, 4])
def test_b04_zeros_glued_to_the_front_of_a_line_are_refused_with_line_and_offset(
    tmp_path: Path, line: int
) -> None:
    """No guess at UTF-32, no traceback; the line behind still checks from the crc in this one."""
    made = make(tmp_path)
    offset = made.offset(line)
    made.insert(line, NUL * 8)
    refused_as_corrupt(made, line=line, offset=offset)
    found = readable(made)
    assert found.seqs == [seq for seq in range(1, 6) if seq != line]
    assert found.damage is not None
    assert (found.damage.line, found.damage.offset, found.damage.seq) == (line, offset, line)
    assert "NUL" in found.damage.why


def test_b04_zeros_in_an_earlier_segment_are_refused(tmp_path: Path) -> None:
    made = make_segments(tmp_path, 12)
    second = made.segment(5)
    lines = made.lines(second)
    made.put([*lines[:-1], NUL * 8 + lines[-1]], second)
    with made.open(read_only=True) as engine:
        (problem,) = engine.verify().problems
    assert (problem.kind, problem.segment, problem.line) == ("damage", second.name, 4)
    assert problem.seq == 8
    assert readable(made).seqs == [seq for seq in range(1, 13) if seq != 8]


@pytest.mark.parametrize("size", [1, 12, 4096])
def test_b05_state_of_zeros_is_written_again_said_and_kept(tmp_path: Path, size: int) -> None:
    made = make(tmp_path)
    whole = made.state.read_bytes()
    made.state.write_bytes(NUL * size)
    with made.read() as engine:
        assert engine.state == {"k": 5}
    with made.open() as engine:
        assert engine.state == {"k": 5}
        (said,) = engine.messages
    assert "state.json: it holds NUL bytes" in said
    assert made.state.read_bytes() == whole
    assert list(made.quarantined.values()) == [NUL * size]
    assert len(made.lines()) == 5, "a view that is rebuilt is no event"


def test_b05_state_with_zeros_inside_is_written_again_said_and_kept(tmp_path: Path) -> None:
    made = make(tmp_path)
    whole = made.state.read_bytes()
    made.state.write_bytes(damaged := whole[:4] + NUL * (len(whole) - 4))
    with made.open() as engine:
        assert engine.state == {"k": 5}
    assert made.state.read_bytes() == whole
    assert list(made.quarantined.values()) == [damaged]


def test_b05_checkpoint_of_zeros_is_passed_over_and_said_and_rebuild_writes_it_again(
    tmp_path: Path,
) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        engine.snapshot()
        append_to(engine, 8)
    path = made.snapshot(5)
    whole = path.read_bytes()
    path.write_bytes(NUL * len(whole))
    made.state.write_bytes(NUL * 12)
    with made.open() as engine:
        assert engine.state == {"k": 8}
        assert any(path.name in said and "NUL" in said for said in engine.messages)
        assert engine.snapshots()[0].problem
        problems = engine.verify().problems
        assert [(found.kind, found.seq) for found in problems] == [("snapshot", 5)]
        engine.rebuild()
        assert engine.verify().ok
    assert path.read_bytes() == whole
    assert NUL * len(whole) in made.quarantined.values()


def test_b05_witness_of_zeros_reads_as_missing_and_is_made_again(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.witness.write_bytes(NUL * 4096)
    assert readable(made) == ([1, 2, 3, 4, 5], None)
    with made.open() as engine:
        assert (engine.state, engine.synced, engine.messages) == ({"k": 5}, 5, [])
    assert b'"seq":5' in made.witness.read_bytes()
    made.log_on()


@pytest.mark.parametrize("line_end", [b"", b"\n"], ids=["no LF", "LF"])
@pytest.mark.parametrize("witness", [True, False])
def test_b05_log_of_zeros_is_refused_and_never_read_as_an_empty_journal(
    tmp_path: Path, line_end: bytes, witness: bool
) -> None:
    made = make(tmp_path)
    made.put(NUL * made.log.stat().st_size + line_end)
    if not witness:
        made.forget()
    refused_as_corrupt(made, line=1, offset=0)
    found = readable(made)
    assert found.seqs == []
    assert found.damage is not None
    with unchanged(made), made.read() as engine:
        with pytest.raises(Corrupt):
            _ = engine.state
        assert engine.messages
        assert not engine.verify().ok


def test_b05_settings_of_zeros_are_refused_and_said_to_be_zeros(tmp_path: Path) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    settings.write_bytes(NUL * 300)
    for options in ({}, {"read_only": True}):
        error = refused(made, Corrupt, 5, **options)
        assert (error.path, error.offset) == (str(settings), 0)
        assert "NUL" in error.why
    settings.write_bytes(b"format: 1\nid: a\n" + NUL * 300)
    error = refused(made, Corrupt, 5)
    assert (error.line, error.offset) == (3, 16)


def test_b05_keys_of_a_segment_that_became_zeros_are_made_again(tmp_path: Path) -> None:
    made = make(tmp_path, 1)
    with made.open() as engine:
        engine.append("set", {"path": "/k", "value": 1}, id="key-1")
        with engine._core.appending():
            engine.appender.take_in(engine._core.log.rotate())
    keys = made.segment(1).with_suffix(".ids")
    whole = keys.read_bytes()
    keys.write_bytes(NUL * len(whole))
    with made.open() as engine:
        again = engine.append("set", {"path": "/k", "value": 1}, id="key-1")
        assert (again.seq, engine.seq) == (2, 3)
    assert keys.read_bytes() == whole
