"""Real histories: blame, bisect and diff are what the versions say, for random questions.

A hundred questions in all on the histories in tests/data; with JOURNAL_HISTORIES, which names more,
a thousand. JOURNAL_QUESTIONS asks so many of each history.
"""

import os
import random
from collections.abc import Callable
from typing import Any

import msgspec
import orjson
import pytest

import journal
from journal.engine.travel import walking
from projections import patch
from tests.travel import brute
from tests.travel.brute import History

QUESTIONS = int(
    os.environ.get("JOURNAL_QUESTIONS") or (67 if os.environ.get("JOURNAL_HISTORIES") else 25)
)
SORTED = orjson.OPT_SORT_KEYS

Ask = Callable[[journal.Engine, History, random.Random], None]


def ask_diff(engine: journal.Engine, history: History, rnd: random.Random) -> None:
    a, b = rnd.randrange(history.last + 1), rnd.randrange(history.last + 1)
    pointer = brute.some_pointer([history.states[a], history.states[b]], rnd)
    looks = [brute.look(history.states[seq], pointer) for seq in (a, b)]
    if looks == [brute.ABSENT, brute.ABSENT]:
        with pytest.raises(journal.UsageError):
            engine.diff(a, b, pointer)
        return
    changes = engine.diff(a, b, pointer)
    assert bool(changes) == (looks[0] != looks[1])
    if brute.ABSENT in looks:
        op, name, at = ("remove", "old", a) if looks[0] else ("add", "value", b)
        value = patch.get(history.states[at], pointer)
        assert changes == [{"op": op, "path": pointer, name: value}]
        return
    state = patch.copy(history.states[a])
    for change in changes:
        found = brute.look(state, change["path"])
        if change["op"] != "add":
            assert orjson.dumps(change["old"], option=SORTED) == found
        if change["op"] == "replace":
            assert not patch.equal(change["old"], change["value"])
        assert change["path"] == pointer or change["path"].startswith(f"{pointer}/")
        state = patch.apply_patch(state, [change])
    assert brute.look(state, pointer) == looks[1]


def ask_blame(engine: journal.Engine, history: History, rnd: random.Random) -> None:
    after, upto = sorted(rnd.randrange(history.last + 1) for _ in range(2))
    pointer = brute.some_pointer(history.states[after : upto + 1], rnd)
    expected = brute.blame(history.states, pointer, after, upto)
    found = [
        (change.seq, to_bytes(change.old), to_bytes(change.new))
        for change in engine.blame(pointer, after=after, upto=upto)
    ]
    assert found == expected
    newest = next(engine.blame(pointer, after=after, upto=upto), None)
    assert (None if newest is None else newest.seq) == (expected[0][0] if expected else None)


def to_bytes(value: Any) -> bytes:
    return brute.ABSENT if value is msgspec.UNSET else orjson.dumps(value, option=SORTED)


def ask_blame_all(engine: journal.Engine, history: History, rnd: random.Random) -> None:
    upto, depth = rnd.randrange(history.last + 1), rnd.randrange(4)
    state = history.states[upto]
    expected: dict[str, int] = {}
    for pointer, value in brute.places(state, depth):
        level = len(patch.parse(pointer))
        if level == depth or not (value and isinstance(value, dict | list)):
            changes = brute.blame(history.states, pointer, 0, upto)
            expected[pointer] = changes[0][0] if changes else 0
    found = engine.blame_all(depth=depth, upto=upto)
    assert {one.pointer: one.seq for one in found} == expected
    assert all(to_bytes(one.value) == brute.look(state, one.pointer) for one in found)


def ask_bisect(engine: journal.Engine, history: History, rnd: random.Random) -> None:
    after, upto = sorted(rnd.randrange(history.last + 1) for _ in range(2))
    pointer = brute.some_pointer(history.states, rnd)
    some = brute.look(rnd.choice(history.states), pointer)
    most = brute.leaves(rnd.choice(history.states))
    asked: list[tuple[Callable[[Any], bool], str]] = [
        (lambda state: brute.look(state, pointer) == some, pointer),
        (lambda state: brute.look(state, pointer) != brute.ABSENT, pointer),
        (lambda state: brute.leaves(state) >= most, ""),
    ]
    is_true, reads = rnd.choice(asked)
    expected = brute.bisect(history.states, is_true, after, upto)
    found = engine.bisect(is_true, after=after, upto=upto)
    assert found.seq == expected
    assert found.states == (upto if expected is None else expected) - after + 1
    assert found.from_start == is_true(history.states[after])
    sparing = engine.bisect(is_true, after=after, upto=upto, reads=[reads])
    assert (sparing.seq, sparing.from_start) == (found.seq, found.from_start)
    assert sparing.states <= found.states
    assert (None if found.event is None else found.event.seq) == expected
    if brute.is_monotone(history.states, is_true, after, upto):
        quick = engine.bisect(is_true, after=after, upto=upto, monotone=True)
        assert (quick.seq, quick.event) == (found.seq, found.event)
        assert quick.states <= 4 + 2 * history.last.bit_length()


ASKED: list[Ask] = [ask_diff, ask_blame, ask_blame_all, ask_bisect]


@pytest.mark.slow
def test_random_questions_are_answered_as_the_versions_themselves_do(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Short spans, so that a question goes over many of them.
    monkeypatch.setattr(walking, "_FIRST_SPAN", 7)
    monkeypatch.setattr(walking, "_LONGEST_SPAN", 50)
    with journal.open(history.path, read_only=True) as engine:
        assert engine.seq == history.last
        for number in range(QUESTIONS):
            rnd = random.Random(f"{history.name} {number}")
            ASKED[number % len(ASKED)](engine, history, rnd)
