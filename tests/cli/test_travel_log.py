"""`log` for people: --grep, --touching, --stat, and times told from now."""

import itertools
from pathlib import Path

import pytest

import journal as journals
from journal.cli import listing
from journal.cli.effects import Effects
from journal.cli.listing import following
from journal.cli.wanted import Wanted
from journal.event import now_ms
from journal.log.reader import Reader
from tests.cli.command import Ran, Run
from tests.cli.test_commands import damage

HOUR_MS = 3_600_000


@pytest.fixture
def logged(run: Run) -> Run:
    """Make a journal `run`, an event an hour up to an hour ago; run `log` on it."""
    now = [now_ms() - 7 * HOUR_MS]
    with journals.init("run", clock=lambda: now[0]) as engine:
        for number, (kind, data) in enumerate(
            [
                ("set", {"path": "/a", "value": {"x": 1, "y": [1, 2]}}),
                ("set", {"path": "/b", "value": "word é"}),
                ("merge", {"patch": {"a": {"x": 1}}}),
                ("merge", {"patch": {"a": {"x": 2}, "b": None}}),
                ("set", {"path": "/a/y/-", "value": 3}),
                ("set", {"path": "/c", "value": {}}),
            ]
        ):
            now[0] += HOUR_MS
            engine.append(kind, data, actor="ann" if number % 2 else "bob")

    def log(*args: str) -> Ran:
        return run("log", "-d", "run", *args)

    return log


def seqs(ran: Ran) -> list[int]:
    assert (ran.code, ran.err) == (0, "")
    return [line["seq"] for line in ran.lines]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--grep", "word"], [3]),
        (["--grep", "é"], [3]),
        (["--grep", '"x":[12]'], [2, 4, 5]),
        (["--grep", "(?i)WORD|journal"], [1, 3]),
        (["--grep", "crc"], []),
        (["--grep", "merge", "-n", "1"], [5]),
        (["--grep", "merge", "--actor", "ann"], [5]),
        (["--touching", "/a"], [2, 5, 6]),
        (["--touching", "/a/x"], [2, 5]),
        (["--touching", "/a/y/2"], [6]),
        (["--touching", ""], [2, 3, 5, 6, 7]),
        (["--touching", "/never"], []),
        (["--touching", "/a", "-n", "2"], [5, 6]),
        (["--touching", "/a", "--type", "set"], [2, 6]),
        (["--touching", "/a", "--after", "2", "--upto", "5"], [5]),
        (["--touching", "/a", "--since", "3 hours ago"], [6]),
        (["--since", "3 hours ago", "--until", "90m"], [6]),
        (["--since", "99 days ago", "-n", "1"], [7]),
        (["--until", "1 week ago"], []),
    ],
)
def test_events_are_found(logged: Run, args: list[str], expected: list[int]) -> None:
    assert seqs(logged("--json", *args)) == expected


def test_touching_over_many_windows_finds_the_newest(
    logged: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_FIRST_WINDOW", 2)
    assert seqs(logged("--json", "--touching", "/b", "-n", "2")) == [3, 5]


def test_stat_counts_leaves(logged: Run) -> None:
    shown = logged("--stat").out.splitlines()
    counts = [[word for word in line.split() if word[0] in "+-~"] for line in shown]
    assert counts == [[], ["+3"], ["+1"], [], ["-1", "~1"], ["+1"], ["+1"]]
    newest = logged("--stat", "-n", "2", "--type", "set").out.splitlines()
    assert ["+1" in line for line in newest] == [True, True]


def test_stat_is_for_people(logged: Run) -> None:
    assert logged("--stat", "--json").code == 2


def test_a_wrong_expression_pointer_or_time_is_a_wrong_call(logged: Run) -> None:
    for args in (["--grep", "("], ["--touching", "a"], ["--since", "yesterday"]):
        asked = logged(*args)
        assert (asked.code, asked.out) == (2, "")


def test_touching_of_a_damaged_log_tells_what_comes_before(logged: Run) -> None:
    damage(3)
    asked = logged("--json", "--touching", "/a")
    assert asked.code == 5
    assert [line["seq"] for line in asked.lines] == [2]
    assert "events from 3 on are lost" in asked.err


def test_what_is_appended_is_watched_from_where_the_listing_ended(logged: Run) -> None:
    with journals.open("run") as writer:
        reader = Reader(Path("run", "log"))
        reader.seek(2**62)
        with journals.open("run", read_only=True) as engine:
            effects = Effects(engine, "/a/x", count=True)
            seen = reader.tail.seq
            writer.append("set", {"path": "/a/x", "value": 2})
            writer.append("set", {"path": "/a/x", "value": 3})
            writer.append("set", {"path": "/z", "value": 3})
            writer.append("merge", {"patch": {"a": None}})
            lines = itertools.islice(following(reader, lambda: None), 4)
            found = list(effects.sift(lines, seen, Wanted().takes))
            assert [event.seq for event, _ in found] == [9, 11]
            assert [effects.describe(event) for event, _ in found] == ["~1", "-4"]
        reader.close()
