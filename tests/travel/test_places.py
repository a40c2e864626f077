"""Names for places: seqs, head, times, how long ago, checkpoints."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import journal
from journal.errors import UsageError
from journal.event import format_time, parse_time, read_time, time_to_ms

NOON = time_to_ms("2026-01-01T12:00:00.000Z")
HOUR = 3_600_000


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[journal.Engine]:
    """Events 2 … 6, one an hour after noon; it is 18:00 now. Checkpoints stand at 3 and 5."""
    now = [NOON]
    with journal.init(tmp_path / "run", clock=lambda: now[0]) as made:
        for hour in range(1, 6):
            now[0] = NOON + hour * HOUR
            made.append("set", {"path": "/n", "value": hour})
            if hour in (2, 4):
                made.snapshot("risky" if hour == 2 else "manual", trigger=f"before plan {hour}")
        now[0] = NOON + 6 * HOUR
        yield made


PLACES: list[tuple[int | str, int | None]] = [
    (3, 1),
    ("0", None),
    ("head", 5),
    ("head~0", 5),
    ("head~1", 4),
    ("now", 5),
    ("2026-01-01T14:30", 2),
    ("2026-01-01T15:00+01:00", 2),
    ("2 hours ago", 4),
    ("150m", 3),
    ("an hour ago", 5),
    ("1 week ago", None),
    ("before plan 2", 2),
    ("risky", 2),
    ("manual", 4),
    (" 0003 ", 1),
]


@pytest.mark.parametrize(("place", "n"), PLACES)
def test_a_place_is_found(engine: journal.Engine, place: int | str, n: int | None) -> None:
    expected = {} if n is None else {"n": n}
    seq = engine.seq_of(place)
    if place == 3:
        assert seq == 3
        expected = {"n": 2}
    if place == " 0003 ":
        expected = {"n": 2}
    assert engine.state_at(seq) == expected


def test_under_a_clock_that_is_behind_now_is_the_last_event(tmp_path: Path) -> None:
    now = [NOON - 2 * HOUR]
    with journal.init(tmp_path / "late", clock=lambda: now[0]) as made:
        made.append("set", {"path": "/n", "value": 1})
        now[0] = NOON
        made.append("set", {"path": "/n", "value": 2})
    with journal.open(tmp_path / "late", read_only=True, clock=lambda: NOON - 9 * HOUR) as late:
        assert late.seq_of("now") == 3
        assert late.seq_of("1 hour ago") == 2


def test_the_file_of_a_checkpoint_is_a_place(engine: journal.Engine) -> None:
    for info in engine.snapshots():
        assert engine.seq_of(info.file) == info.seq


def test_of_checkpoints_of_one_name_the_newest_counts(engine: journal.Engine) -> None:
    engine.snapshot(trigger="before plan 2")
    assert engine.seq_of("before plan 2") == engine.snapshots()[-1].seq


@pytest.mark.parametrize("place", ["99", "head~99", "yesterday", "", "3x", "-1", "hours ago", "٣"])
def test_what_names_no_place_is_refused(engine: journal.Engine, place: str) -> None:
    with pytest.raises(UsageError):
        engine.seq_of(place)
    with pytest.raises(UsageError):
        engine.diff(place, "head")
    with pytest.raises(UsageError):
        engine.restore(place)


def test_numbers_that_are_no_seqs_are_refused(engine: journal.Engine) -> None:
    for place in (-1, 99, True):
        with pytest.raises(UsageError):
            engine.seq_of(place)


@pytest.mark.parametrize(
    ("text", "before_ms"),
    [
        ("now", 0),
        ("30 s", 30_000),
        ("5min", 300_000),
        ("2 Hours Ago", 2 * HOUR),
        ("a day ago", 24 * HOUR),
        ("3w", 21 * 24 * HOUR),
    ],
)
def test_how_long_ago_is_told_from_now(text: str, before_ms: int) -> None:
    assert read_time(text, lambda: NOON) == format_time(NOON - before_ms)


def test_every_time_that_is_none_is_as_before() -> None:
    text = "2026-03-01T14:45:00+02:00"
    assert read_time(text, lambda: NOON) == parse_time(text)
    with pytest.raises(UsageError) as caught:
        read_time("2 months ago", lambda: NOON)
    assert "'4 weeks ago'" in caught.value.advice


# --- restore -------------------------------------------------------------------------------------


def test_restore_brings_a_state_back_and_keeps_history(engine: journal.Engine) -> None:
    before = list(engine.events())
    event = engine.restore("before plan 2", reason="it was better")
    assert event is not None
    assert (event.type, event.data["reason"]) == ("journal.restored", "it was better")
    assert engine.state == {"n": 2}
    assert list(engine.events())[:-1] == before
    engine.restore(event.seq - 1)
    assert engine.state == {"n": 5}
    assert engine.verify().ok
