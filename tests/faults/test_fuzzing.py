"""The fuzzer finds what is hidden behind several conditions, and the laws of its row can fail."""

import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import journal
from journal import codec, segment, sifting
from journal.segment import name_of
from tests.faults import fuzzing, row_hostile
from tests.faults.row import Violation


def hidden(data: bytes) -> None:
    if data[:1] != b"F":
        return
    if data[1:2] != b"U":
        return
    if data[2:3] == b"Z":
        raise ValueError("found")


def test_an_input_that_goes_a_new_way_is_kept_and_changed_further() -> None:
    letters = [bytes([n]) for n in range(ord("A"), ord("Z") + 1)]
    with pytest.raises(ValueError, match="found") as caught:
        fuzzing.fuzz(
            hidden,
            seeds=[b"abc"],
            mutators=[fuzzing.put_in(letters), fuzzing.cut],
            traced=[sys.modules[__name__]],
            runs=30_000,
        )
    assert caught.value.__notes__[0].startswith("the input was b'FUZ")


def test_a_reader_that_passes_damage_over_is_found(tmp_path: Path) -> None:
    def passing_over(*arguments: Any) -> Any:
        return (p for p in real(*arguments) if not isinstance(p, sifting.Damage))

    real = sifting.decoded
    with mock.patch.object(sifting, "decoded", passing_over), pytest.raises(Violation, match="I3"):
        row_hostile.fuzz_lines(tmp_path / "run", 500)


TWICE = (
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":"set","data":{"path":"/a","value":1},'
    b'"seq":18446744073709551616'
)
FOUND = [
    # Lines whose crc fits, of somebody who knew the format, and that a reader once fell over.
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":& "set","data":{}',
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":"set","data":{"path":"/a","value":"\xff"}',
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":"journal.lost","data":{"upto":}',
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":"journal.lost","data":{"upto":9}',
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":"journal.lost","data":7',
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":"journal.checkpoint","data":{}',
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":"journal.pruned","data":{"files":7}',
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":"journal.repaired","data":{"repairs":[7]}',
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":"journal.forked","data":[]',
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":"journal.rotated","data":{"previous":{}}',
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":"journal.rotated","data":'
    b'{"format":1,"previous":{"segment":"../../planted.jsonl"}}',
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":"journal.adopted","data":[]',
    b'{"seq":2,"time":"2026-03-01T00:00:00.000Z","type":"journal.restored","data":{"patch":{}}',
    b'{"seq":2,"time":"2026-03-01T44:00:00.000Z","type":"set","data":{"path":"/a","value":1}',
    b'{"seq":2,"time":"2026-03-01T00:00:0\xef\xbb\xbf","type":"set","data":{"path":"/a","value":1}',
    TWICE,
]


@pytest.mark.parametrize("data", [b"", *FOUND])
@pytest.mark.parametrize("place", ["first", "last"])
def test_line_that_checks_and_is_no_event_of_ours_is_met_by_errors_of_the_tree(
    tmp_path: Path, data: bytes, place: str
) -> None:
    path = tmp_path / "run"
    with journal.init(path) as engine:
        engine.append("set", {"path": "/a", "value": 1})
    log = path / "log" / name_of(1)
    bodies = [line[: -codec.SUFFIX_BYTES] for line in log.read_bytes().splitlines(keepends=True)]
    if data:
        at = 0 if place == "first" else 1
        bodies[at] = data.replace(b'"seq":2', b'"seq":1') if place == "first" else data
    log.write_bytes(codec.seal(bodies, 0)[0])
    for name in ("state.json", "witness.json"):
        (path / name).unlink()
    row_hostile.use_journal(path)
    assert [one.name for one in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("seq", [0, 1, 9])
def test_line_of_another_seq_in_the_middle_of_a_block_is_damage(tmp_path: Path, seq: int) -> None:
    with journal.init(tmp_path / "run") as engine:
        engine.append_batch([("set", {"path": "/a", "value": n}) for n in range(5)])
    log = tmp_path / "run" / "log" / name_of(1)
    lines = log.read_bytes().replace(b'"seq":3', b'"seq":%d' % seq).splitlines(keepends=True)
    log.write_bytes(codec.seal([line[: -codec.SUFFIX_BYTES] for line in lines], 0)[0])
    with segment.Segment(log) as subject:
        pieces = list(sifting.decoded(subject, subject.start, subject.size()))
    found = [piece for piece in pieces if isinstance(piece, sifting.Damage)]
    assert found[0].line == 3


@pytest.mark.parametrize("bodies", [[TWICE], [b"no line", TWICE]])
def test_line_that_says_its_seq_twice_is_damage(tmp_path: Path, bodies: list[bytes]) -> None:
    with journal.init(tmp_path / "run"):
        pass
    log = tmp_path / "run" / "log" / name_of(1)
    first = log.read_bytes()
    log.write_bytes(first + codec.seal(bodies, codec.crc_after(int(first[-11:-3], 16)))[0])
    with segment.Segment(log) as subject:
        block, damage = sifting.decoded(subject, subject.start, subject.size())
    assert isinstance(block, segment.Block)
    assert isinstance(damage, sifting.Damage)
    assert damage.lines == len(bodies)


def test_an_error_outside_the_tree_is_found(tmp_path: Path) -> None:
    with (
        mock.patch.object(codec, "decode_event", side_effect=KeyError),
        pytest.raises(KeyError),
    ):
        row_hostile.fuzz_lines(tmp_path / "run", 500)
