"""`journal log`: what is listed, how little is read for it, damage, and following."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import journal as journals
from journal.cli.listing import following, select
from journal.cli.wanted import Wanted
from journal.engine import repairing
from journal.errors import Corrupt
from journal.event import time_to_ms
from journal.log.history import History
from journal.log.reader import Reader
from journal.segment import Segment
from tests.cli.command import Run
from tests.cli.test_commands import damage, segment

DAY_MS = 86_400_000


class Days:
    """A clock that stands at noon of a day of January 2026."""

    def __init__(self) -> None:
        self.day = 1

    def __call__(self) -> int:
        return time_to_ms("2026-01-01T12:00:00.000Z") + (self.day - 1) * DAY_MS


@pytest.fixture
def dated(run: Run) -> Run:
    """Make a journal `run` with two events a day: one `set` by ann, one `merge` by bob."""
    clock = Days()
    with journals.init("run", clock=clock) as engine:
        for clock.day in range(2, 6):
            engine.append("set", {"path": "/n", "value": clock.day}, actor="ann")
            engine.append("merge", {"patch": {"m": clock.day}}, actor="bob")
    return run


def seqs(run: Run, *args: str) -> list[int]:
    done = run("log", "-d", "run", "--json", *args)
    assert (done.code, done.err) == (0, "")
    return [line["seq"] for line in done.lines]


def history(folder: str = "run") -> History:
    with journals.open(folder, read_only=True):
        reader = Reader(Path(folder, "log"))
    reader.seek(2**62)
    reader.close()
    return reader.history


# --- what is listed ------------------------------------------------------------------------------


def test_json_gives_the_stored_lines_byte_for_byte(dated: Run) -> None:
    assert dated("log", "-d", "run", "--json").out.encode() == segment().read_bytes()


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("--after 7", [8, 9]),
        ("--upto 2", [1, 2]),
        ("--after 3 --upto 3", []),
        ("--after 99", []),
        ("-n 2", [8, 9]),
        ("-n 0", []),
        ("-n 99", [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("-n 2 --upto 4", [3, 4]),
        ("--type set", [2, 4, 6, 8]),
        ("--type set --type journal.created", [1, 2, 4, 6, 8]),
        ("--actor bob", [3, 5, 7, 9]),
        ("--actor bob -n 1", [9]),
        ("--type set --actor bob", []),
        ("--since 2026-01-05", [8, 9]),
        ("--since 2026-01-05T12:00Z", [8, 9]),
        ("--since 2026-01-05T12:00:00.001", []),
        ("--until 2026-01-02T12:00", [1, 2, 3]),
        ("--until 2026-01-02T14:00+02:00", [1, 2, 3]),
        ("--until 2026-01-02T11:59:59.999", [1]),
        ("--since 2026-01-03 --until 2026-01-04", [4, 5]),
    ],
)
def test_what_is_asked_for_is_listed(dated: Run, args: str, expected: list[int]) -> None:
    assert seqs(dated, *args.split()) == expected


def test_a_line_for_people_has_seq_time_type_actor_and_data(dated: Run) -> None:
    listed = dated("log", "-d", "run", "-n", "1").out.split()
    assert listed == ["9", "2026-01-05T12:00:00.000Z", "merge", "bob", '{"patch":{"m":5}}']


def test_long_data_is_cut_to_the_line(dated: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with journals.open("run") as engine:
        engine.append("set", {"path": "/n", "value": "é" * 500})
    line = dated("log", "-d", "run", "-n", "1").out
    assert len(line) <= 101
    assert line.endswith("éé…\n")


def test_events_of_all_segments_are_listed(run: Run) -> None:
    several_segments()
    assert seqs(run) == list(range(1, history().tail.seq + 1))
    assert seqs(run, "-n", "5") == seqs(run)[-5:]
    assert seqs(run, "--after", "3", "--upto", "9") == list(range(4, 10))


def several_segments() -> list[str]:
    """Make a journal `run` of segments of three events; return their names."""
    with journals.init("run"):
        pass
    config = Path("run/journal.yaml")
    config.write_text(config.read_text().replace("segment_bytes: 67108864", "segment_bytes: 400"))
    with journals.open("run") as engine:
        for value in range(12):
            engine.append("set", {"path": "/n", "value": value})
    names = sorted(os.listdir("run/log"))
    return [name for name in names if name.endswith(".jsonl")]


# --- how little is read --------------------------------------------------------------------------


@pytest.mark.slow
def test_the_newest_of_a_long_log_are_had_without_reading_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with journals.init("run", durability="os") as engine:
        for start in range(0, 20_000, 5000):
            engine.append_batch(
                [("set", {"path": "/n", "value": f"{n:0200}"}) for n in range(start, start + 5000)]
            )
    read_bytes = 0
    whole = Segment.read

    def counted(self: Segment, start: int, end: int) -> bytes:
        nonlocal read_bytes
        found = whole(self, start, end)
        read_bytes += len(found)
        return found

    whole_history = history()
    monkeypatch.setattr(Segment, "read", counted)
    found = [event.seq for event, _ in select(whole_history, Wanted(), newest=20)]
    assert found == list(range(19_982, 20_002))
    assert read_bytes < 400_000
    assert segment().stat().st_size > 5_000_000


def test_the_newest_of_a_type_are_had_from_far_back() -> None:
    with journals.init("run", durability="os") as engine:
        engine.append("merge", {"patch": {"a": 1}})
        engine.append_batch([("set", {"path": "/n", "value": n}) for n in range(3000)])
        engine.append("merge", {"patch": {"b": 1}})
    wanted = Wanted(types=frozenset({"merge"}))
    assert [event.seq for event, _ in select(history(), wanted, newest=1)] == [3003]
    assert [event.seq for event, _ in select(history(), wanted, newest=5)] == [2, 3003]


# --- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", range(1, 10))
@pytest.mark.parametrize("view", [True, False])
def test_every_good_event_is_listed_whichever_line_is_damaged(
    dated: Run, line: int, view: bool
) -> None:
    lines = segment().read_bytes().split(b"\n")
    lines[line - 1] = lines[line - 1].replace(b'"data"', b'"dat4"')
    segment().write_bytes(b"\n".join(lines))
    if not view:
        Path("run/state.json").unlink()
    for args in ((), ("-n", "99"), ("--since", "2000-01-01"), ("--until", "2100-01-01")):
        done = dated("log", "-d", "run", "--json", *args)
        assert done.code == 5
        assert [found["seq"] for found in done.lines] == [n for n in range(1, 10) if n != line]
        assert f"line {line}, byte " in done.err
        assert "repair" in done.err


def test_what_lies_before_the_damage_is_listed_without_a_word(dated: Run) -> None:
    damage(line=8)
    assert seqs(dated, "--upto", "4") == [1, 2, 3, 4]
    assert dated("log", "-d", "run", "--json", "-n", "3").code == 5


def test_an_unfinished_end_is_no_damage(dated: Run) -> None:
    with segment().open("ab") as file:
        file.write(b'{"seq":10,"time":"2026-01')
    assert seqs(dated) == list(range(1, 10))


def test_a_missing_segment_is_named_and_the_others_are_listed(run: Run) -> None:
    names = several_segments()
    os.unlink(Path("run/log", names[1]))
    first, after = int(names[1][:20]), int(names[2][:20])
    done = run("log", "-d", "run", "--json")
    assert done.code == 5
    assert not {line["seq"] for line in done.lines} & set(range(first, after))
    last = Path("run/log", names[-1]).read_bytes().count(b"\n") + int(names[-1][:20]) - 1
    assert done.lines[-1]["seq"] == last
    assert f"events {first} to {after - 1}" in done.err


def test_a_missing_first_segment_is_named_and_the_others_are_listed(run: Run) -> None:
    names = several_segments()
    os.unlink(Path("run/log", names[0]))
    done = run("log", "-d", "run", "--json")
    assert done.code == 5
    assert done.lines[0]["seq"] == int(names[1][:20])
    assert f"events 1 to {int(names[1][:20]) - 1}" in done.err


def test_an_end_that_is_gone_is_named(dated: Run) -> None:
    lines = segment().read_bytes().split(b"\n")
    segment().write_bytes(b"\n".join(lines[:6]) + b"\n")
    done = dated("log", "-d", "run", "--json")
    assert done.code == 5
    assert [line["seq"] for line in done.lines] == [1, 2, 3, 4, 5, 6]
    assert "events 7 to 9 are missing at the end" in done.err
    assert seqs(dated, "--upto", "4") == [1, 2, 3, 4]


def test_a_log_of_zeros_is_named(dated: Run) -> None:
    segment().write_bytes(bytes(4096))
    done = dated("log", "-d", "run")
    assert (done.code, done.out) == (5, "")


def test_a_log_without_any_segment_is_named(dated: Run) -> None:
    segment().unlink()
    assert dated("log", "-d", "run").code == 5
    Path("run/log").rmdir()
    assert dated("log", "-d", "run").code == 5


# --- following -----------------------------------------------------------------------------------


class Over(Exception):
    """Nothing more happens."""


def follow(*steps: Callable[[], object]) -> Iterator[int]:
    """Follow `run` from its end, taking one step after each look; yield what is seen."""
    waiting = iter(steps)

    def wait() -> None:
        step = next(waiting, None)
        if step is None:
            raise Over
        step()

    reader = Reader(Path("run/log"))
    reader.seek(2**62)
    try:
        for event, _ in following(reader, wait):
            yield event.seq
    except Over:
        return


def append(value: int) -> Callable[[], object]:
    def step() -> None:
        with journals.open("run") as engine:
            engine.append("set", {"path": "/n", "value": value})

    return step


def test_following_sees_each_append_once_and_rotations_with_them(run: Run) -> None:
    several_segments()
    end = history().tail.seq
    seen = list(follow(append(1), append(2), lambda: None, append(3), append(4), append(5)))
    assert seen == list(range(end + 1, history().tail.seq + 1))
    assert len(seen) > 5


def test_following_goes_on_when_a_writer_was_killed_and_another_starts(dated: Run) -> None:
    def die() -> None:
        with segment().open("ab") as file:
            file.write(b'{"seq":10,"time":"2026')

    assert list(follow(append(1), die, lambda: None, append(2))) == [10, 11, 12]


def test_following_goes_on_behind_a_repair(dated: Run) -> None:
    def repair() -> None:
        damage(line=2)
        assert repairing.repair("run").seq == 11

    assert list(follow(append(1), repair, append(2))) == [10, 11, 12]


def test_following_ends_with_the_damage_that_is_appended(dated: Run) -> None:
    def scribble() -> None:
        with segment().open("ab") as file:
            file.write(b"scribble\n{}\n")

    with pytest.raises(Corrupt) as found:
        list(follow(append(1), scribble))
    assert found.value.line == 11


def test_follow_ends_where_nothing_more_is_wanted(dated: Run) -> None:
    assert seqs(dated, "--follow", "--upto", "3") == [1, 2, 3]
    assert seqs(dated, "--follow", "--until", "2026-01-01T23:00") == [1]


def test_follow_stops_at_the_first_event_behind_what_is_wanted(
    dated: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter([append(1), append(2), append(3)])
    monkeypatch.setattr("time.sleep", lambda _: next(steps)())
    assert seqs(dated, "-f", "-n", "1", "--upto", "11") == [9, 10, 11]
