"""Group K: order, time and ids. Order is by seq everywhere; time never goes back."""

import re
from pathlib import Path

import pytest

from journal.errors import Conflict, Corrupt, JournalError, UsageError
from journal.event import Draft, format_time, parse_time, time_to_ms
from tests.cases.made import (
    Made,
    files,
    make,
    readable,
    refused_as_corrupt,
    seal,
    unchanged,
)

# --- K01: a clock that goes back -----------------------------------------------------------------


class SettableClock:
    """A clock that says what it was told."""

    def __init__(self, time: str) -> None:
        self.set(time)

    def set(self, time: str) -> None:
        self.now_ms = time_to_ms(parse_time(time))

    def __call__(self) -> int:
        return self.now_ms


def test_k01_clock_that_goes_back_fails_no_append_and_time_does_not_go_back(
    tmp_path: Path,
) -> None:
    clock = SettableClock("2026-03-01T10:00:00Z")
    made = make(tmp_path, 1, clock=clock)
    with made.open(clock=clock) as engine:
        for hour in ("10:00", "10:05", "09:00", "10:06"):
            clock.set(f"2026-03-01T{hour}:00Z")
            engine.append("set", {"path": "/k", "value": hour})
        assert [event.time[11:16] for event in engine.events(after=1)] == [
            "10:00", "10:05", "10:05", "10:06",
        ]  # fmt: skip
        assert engine.state_at("2026-03-01T10:05:00Z") == {"k": "09:00"}
        assert engine.verify().ok
    assert readable(made).seqs == [1, 2, 3, 4, 5]


def test_k01_clock_that_was_far_ahead_once_is_said_and_appends_go_on(tmp_path: Path) -> None:
    clock = SettableClock("2099-01-01T00:00:00Z")
    made = make(tmp_path, 2, clock=clock)
    clock.set("2026-03-01T10:06:00Z")
    with made.open(clock=clock) as engine:
        (said,) = engine.messages
        for fact in ("2026-03-01T10:06:00.000Z", "2099-01-01T00:00:00.000Z", "over a day"):
            assert fact in said
        event = engine.append("set", {"path": "/k", "value": 3})
        assert (event.seq, event.time) == (3, "2099-01-01T00:00:00.000Z")
        assert engine.verify().ok


@pytest.mark.parametrize("behind_s", [0, 1, 86_400])
def test_k01_clock_up_to_a_day_behind_is_not_said(tmp_path: Path, behind_s: int) -> None:
    clock = SettableClock("2026-03-02T00:00:00Z")
    made = make(tmp_path, 2, clock=clock)
    clock.now_ms -= behind_s * 1000
    with made.open(clock=clock) as engine:
        assert engine.messages == []


@pytest.mark.parametrize("now_ms", [-1, 0, -(10**18), 10**18])
def test_k01_clock_that_is_absurd_fails_no_append(tmp_path: Path, now_ms: int) -> None:
    made = make(tmp_path, 1, clock=lambda: now_ms)
    with made.open(clock=lambda: now_ms) as engine:
        engine.append("set", {"path": "/k", "value": 2})
        engine.snapshot()
        assert engine.verify().ok
        assert len(engine.time) == 24
    with made.open() as engine:
        assert engine.state == {"k": 2}


def test_k01_time_given_with_an_event_is_honoured_and_never_goes_back(tmp_path: Path) -> None:
    made = make(tmp_path, 1, time="2020-01-01")
    with made.open() as engine:
        for time in ("2021-01-01", "2019-01-01T00:00:00+02:00", "2022-01-01T00:00:00.9999Z"):
            engine.append_batch([Draft(type="set", data={"path": "/k", "value": 1}, time=time)])
        assert [event.time for event in engine.events(after=1)] == [
            "2021-01-01T00:00:00.000Z",
            "2021-01-01T00:00:00.000Z",
            "2022-01-01T00:00:00.999Z",
        ]
        assert engine.verify().ok


# --- K02: written times --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T14:45:00Z",
        "2026-03-01T14:45:00.000Z",
        "2026-03-01T14:45:00+00:00",
        "2026-03-01T14:45:00-00:00",
        "2026-03-01T16:45:00+02:00",
        "2026-03-01T16:45:00.000+02:00",
        "2026-03-01T09:15:00-05:30",
        "2026-03-02T00:45+10:00",
        "2026-03-01T14:45:00",
        "2026-03-01T14:45",
        "2026-03-01 14:45:00",
        "2026-03-01T14:45:00.0004",
        "20260301T144500Z",
        " 2026-03-01T14:45:00Z\n",
    ],
)
def test_k02_one_instant_in_many_writings_is_one_time_and_naive_is_utc(
    tmp_path: Path, text: str
) -> None:
    assert parse_time(text) == "2026-03-01T14:45:00.000Z"
    made = make(tmp_path, 3)  # All its events are of that instant.
    with made.read() as engine:
        assert engine.seq_at(text) == 3
        assert engine.state_at(text) == {"k": 3}


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-03-01", "2026-03-01T00:00:00.000Z"),
        ("2026-03-01T00:00:00+14:00", "2026-02-28T10:00:00.000Z"),
        ("2024-02-29T23:59:59.999999Z", "2024-02-29T23:59:59.999Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_k02_time_is_written_in_utc_with_fixed_width(text: str, time: str) -> None:
    assert parse_time(text) == time
    assert format_time(time_to_ms(time)) == time


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "now", "7", "1e9", "2026", "2026-13-01", "2026-02-30", "2025-02-29",
        "2026-03-01T25:00Z", "2026-03-01T14:60Z", "2026-03-01T14:45:00+25:00",
        "2026-03-01T14:45:00 UTC", "01.03.2026",
        "9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", "2026-03-01T14:45:00Zx", "\ud800",
    ],
)  # fmt: skip
def test_k02_what_is_no_time_is_a_usage_error_that_says_how_to_write_one(
    tmp_path: Path, text: str
) -> None:
    made = make(tmp_path, 2)
    with made.open() as engine:
        before = files(made.path)
        for ask in (parse_time, engine.seq_at, engine.state_at):
            with pytest.raises(UsageError, match="is not a time") as caught:
                ask(text)
            assert "2026-03-01T14:45:00Z" in caught.value.advice
        if text:
            draft = Draft(type="set", data={"path": "/k", "value": 1}, time=text)
            with pytest.raises(UsageError, match="is not a time"):
                engine.append_batch([draft])
        assert files(made.path) == before


@pytest.mark.parametrize("value", [5, 5.0, None, b"2026-03-01", True])
def test_k02_time_that_is_not_text_is_a_usage_error(value: object) -> None:
    with pytest.raises(UsageError, match="a time is text"):
        parse_time(value)  # type: ignore[arg-type]


def test_k02_time_travel_compares_instants_and_not_texts(tmp_path: Path) -> None:
    made = make(tmp_path, 1, time="2026-03-01T00:00:00Z")
    with made.open() as engine:
        for number in range(1, 4):
            time = f"2026-03-01T0{number}:00:00+0{number}:00"  # Midnight each, by UTC.
            engine.append_batch(
                [Draft(type="set", data={"path": "/k", "value": number}, time=time)]
            )
        assert engine.seq_at("2026-02-28T23:59:59.999Z") == 0
        assert engine.seq_at("2026-03-01T02:00:00+02:00") == 4
        assert engine.state_at("2026-03-01T00:00:00") == {"k": 3}


# --- K04: gaps, swaps and repeats in numbers -----------------------------------------------------


def renumbered(made: Made, seqs: list[int]) -> None:
    """Let a forger give the lines after the first other numbers, with checks that fit."""
    lines = made.lines()[: len(seqs) + 1]
    for at, seq in enumerate(seqs, 1):
        lines[at] = lines[at].replace(b'{"seq":%d,' % (at + 1), b'{"seq":%d,' % seq)
    made.put(seal(lines))


NUMBERS = {
    "gap": ([2, 4, 5], 3),
    "repeat": ([2, 2, 3], 3),
    "zero": ([0, 2, 3], 2),
    "far ahead": ([2, 1_000_000], 3),
    "from 1 again": ([1, 2, 3], 2),
}


@pytest.mark.parametrize(("seqs", "line"), NUMBERS.values(), ids=NUMBERS.keys())
def test_k04_forged_numbers_are_refused_with_the_line_and_the_number_that_is_due(
    tmp_path: Path, seqs: list[int], line: int
) -> None:
    made = make(tmp_path)
    renumbered(made, seqs)
    made.forget()
    made.state.unlink()
    error = refused_as_corrupt(made, line=line, offset=made.offset(line))
    assert error.why
    found = readable(made)
    assert found.seqs == sorted(set(found.seqs))
    assert found.damage is not None
    assert found.damage.line == line
    with made.read() as engine:
        assert engine.verify().problems[0].line == line


@pytest.mark.parametrize("gone", [2, 3, 4])
def test_k04_line_that_was_taken_out_is_refused_and_no_state_stands_for_the_one_after_it(
    tmp_path: Path, gone: int
) -> None:
    made = make(tmp_path)
    lines = made.lines()
    made.put([*lines[: gone - 1], *lines[gone:]])
    refused_as_corrupt(made, line=gone, offset=made.offset(gone))
    found = readable(made)
    assert found.seqs[: gone - 1] == list(range(1, gone))
    assert gone not in found.seqs
    assert found.damage is not None
    with unchanged(made), made.read() as engine:
        assert engine.state_at(gone - 1) == ({"k": gone - 1} if gone > 2 else {})
        with pytest.raises(Corrupt):
            engine.state_at(gone)


def test_k04_lines_that_were_swapped_are_refused_with_the_first_of_them(tmp_path: Path) -> None:
    made = make(tmp_path)
    lines = made.lines()
    made.put([lines[0], lines[2], lines[1], *lines[3:]])
    refused_as_corrupt(made, line=2, offset=len(lines[0]))
    found = readable(made)
    assert found.seqs == sorted(set(found.seqs))
    assert found.damage is not None


@pytest.mark.parametrize(("seqs", "due"), [([3, 2, 4], 2), ([2, 4, 4, 5], 3), ([2, 4, 3, 5], 3)])
def test_k04_forged_swap_of_numbers_is_named_by_verify(
    tmp_path: Path, seqs: list[int], due: int
) -> None:
    """As many lines as numbers, and every check fits: only each line's own number tells."""
    made = make(tmp_path)
    renumbered(made, seqs)
    with unchanged(made), made.read() as engine:
        report = engine.verify()
    assert not report.ok
    assert (report.problems[0].kind, report.problems[0].seq) == ("order", due)


@pytest.mark.parametrize(
    "time", ["2026-03-01T24:00:00.000Z", "2026-02-30T00:00:00.000Z", "2026-03-01T00:00:.00000Z"]
)
def test_k04_forged_time_that_is_none_is_named_by_verify_and_nothing_is_written_after_it(
    tmp_path: Path, time: str
) -> None:
    made = make(tmp_path, 3)
    lines = made.log.read_bytes().splitlines(keepends=True)
    lines[2] = re.sub(rb'"time":"[^"]*"', b'"time":"' + time.encode() + b'"', lines[2])
    made.log.write_bytes(seal(lines))
    made.forget()
    with made.open(read_only=True) as engine:
        assert [(one.kind, one.seq) for one in engine.verify().problems][:1] == [("time", 3)]
    with unchanged(made), pytest.raises(JournalError, match="is no time"):
        made.open()


def test_k04_forged_times_that_go_back_are_named_by_verify(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.edit(3, b"2026-03-01T14:45:00.000Z", b"2025-03-01T14:45:00.000Z", sealed=True)
    with unchanged(made), made.read() as engine:
        (problem,) = engine.verify().problems
    assert problem.kind == "time"


# --- K05: one id, two contents -------------------------------------------------------------------


def test_k05_id_that_was_used_returns_the_event_for_equal_content_and_else_is_a_conflict(
    tmp_path: Path,
) -> None:
    made = make(tmp_path, 1)
    with made.open() as engine:
        first = engine.append("set", {"path": "/k", "value": [1, {"a": 2}]}, id="e2")
    with made.open() as engine:
        before = files(made.path)
        assert engine.append("set", {"value": [1, {"a": 2}], "path": "/k"}, id="e2") == first
        for data in ({"path": "/k", "value": 2}, {"path": "/j", "value": [1, {"a": 2}]}):
            with pytest.raises(Conflict) as caught:
                engine.append("set", data, id="e2")
            assert "event 2" in caught.value.message
            assert caught.value.exit_code == 3
            assert (caught.value.expected, caught.value.actual) == (data, first.data)
        with pytest.raises(Conflict):
            engine.append("remove", {"path": "/k"}, id="e2")
        assert {
            name: file for name, file in files(made.path).items() if name != "witness.json"
        } == {name: file for name, file in before.items() if name != "witness.json"}


def test_k05_id_is_known_over_every_segment_of_history(tmp_path: Path) -> None:
    made = make(tmp_path, 1)
    with made.open() as engine:
        for number in range(4):
            engine.append("set", {"path": "/k", "value": number}, id=f"id-{number}")
            with engine._core.appending():
                engine.appender.take_in(engine._core.log.rotate())
    with made.open() as engine:
        for number in range(4):
            event = engine.append("set", {"path": "/k", "value": number}, id=f"id-{number}")
            assert event.data["value"] == number
            with pytest.raises(Conflict):
                engine.append("set", {"path": "/k", "value": "other"}, id=f"id-{number}")
        assert engine.state == {"k": 3}


def test_k05_batch_with_ids_is_all_new_or_all_known(tmp_path: Path) -> None:
    made = make(tmp_path, 1)

    def batch(*ids: str) -> list[Draft]:
        return [
            Draft(type="set", data={"path": f"/{n}", "value": n}, id=key)
            for n, key in enumerate(ids)
        ]

    with made.open() as engine:
        recorded = engine.append_batch(batch("a", "b", ""))
        before = made.log.read_bytes()
        assert engine.append_batch(batch("a", "b", "")) == recorded
        for ids in (("a", "c", ""), ("c", "b", ""), ("a", "", "")):
            with pytest.raises(Conflict):
                engine.append_batch(batch(*ids))
        with pytest.raises(UsageError, match="twice"):
            engine.append_batch(batch("x", "x"))
        assert made.log.read_bytes() == before


def test_k05_ids_of_journals_are_random_and_long(tmp_path: Path) -> None:
    ids = set()
    for number in range(5):
        with make(tmp_path / str(number), 1).read() as engine:
            ids.add(engine.id)
    assert len(ids) == 5
    assert all(len(found) == 32 and int(found, 16) for found in ids)


def test_k05_id_in_the_log_wins_over_the_one_in_journal_yaml(tmp_path: Path) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    with made.read() as engine:
        journal_id = engine.id
    settings.write_text(settings.read_text().replace(journal_id, "f" * 32))
    with made.open() as engine:
        assert (engine.id, engine.config.id) == (journal_id, "f" * 32)
