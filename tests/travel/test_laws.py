"""Time travel on journals of random events: every answer is what the states themselves say.

Each law holds with `touches` (the document says where an event can change the state) and without
(everything is compared): the answers are the same.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import journal
from journal.cli.output import stored_line
from journal.engine.travel import walking
from projections import patch
from projections.document.projection import PROJECTION
from projections.projection import Projection
from tests.travel import brute, made
from tests.travel.test_against_versions import to_bytes

ONE_JOURNAL_EACH = settings(
    max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
PROJECTIONS = pytest.mark.parametrize("projection", [PROJECTION, made.PLAIN], ids=["hook", "plain"])


@pytest.fixture(autouse=True)
def _short_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "_FIRST_SPAN", 3)
    monkeypatch.setattr(walking, "_LONGEST_SPAN", 10)


def all_pointers(states: list[Any]) -> list[str]:
    found = {pointer for state in states for pointer, _ in brute.places(state)}
    return [*sorted(found), "/never", "/list/07", "/list/1 "]


@pytest.mark.slow
@PROJECTIONS
@ONE_JOURNAL_EACH
@given(appends=made.APPENDS, data=st.data())
def test_blame_finds_every_change_and_nothing_else(
    projection: Projection, tmp_path: Path, appends: list[list[made.Event]], data: st.DataObject
) -> None:
    path = made.fresh(tmp_path)
    states = made.make(path, appends, projection=projection)
    last = len(states) - 1
    with journal.open(path, read_only=True, projection=projection) as engine:
        for pointer in all_pointers(states):
            after = data.draw(st.integers(0, last))
            upto = data.draw(st.integers(after, last))
            found = [
                (change.seq, to_bytes(change.old), to_bytes(change.new))
                for change in engine.blame(pointer, after=after, upto=upto)
            ]
            assert found == brute.blame(states, pointer, after, upto), pointer
    made.remove(path)


@pytest.mark.slow
@PROJECTIONS
@ONE_JOURNAL_EACH
@given(appends=made.APPENDS, depth=st.integers(0, 3))
def test_blame_of_the_whole_state_names_the_last_change_of_each_value(
    projection: Projection, tmp_path: Path, appends: list[list[made.Event]], depth: int
) -> None:
    path = made.fresh(tmp_path)
    states = made.make(path, appends, projection=projection)
    last = len(states) - 1
    with journal.open(path, read_only=True, projection=projection) as engine:
        for one in engine.blame_all(depth=depth):
            changes = brute.blame(states, one.pointer, 0, last)
            assert one.seq == (changes[0][0] if changes else 0), one
            assert to_bytes(one.value) == brute.look(states[-1], one.pointer)
    made.remove(path)


@pytest.mark.slow
@PROJECTIONS
@ONE_JOURNAL_EACH
@given(appends=made.APPENDS, data=st.data())
def test_bisect_finds_the_first_event_and_halving_finds_the_same(
    projection: Projection, tmp_path: Path, appends: list[list[made.Event]], data: st.DataObject
) -> None:
    path = made.fresh(tmp_path)
    states = made.make(path, appends, projection=projection)
    last = len(states) - 1
    with journal.open(path, read_only=True, projection=projection) as engine:
        for _ in range(5):
            after = data.draw(st.integers(0, last))
            upto = data.draw(st.integers(after, last))
            wanted = data.draw(st.sampled_from(states))

            def is_true(state: Any, wanted: Any = wanted) -> bool:
                return brute.leaves(state) >= brute.leaves(wanted)

            expected = brute.bisect(states, is_true, after, upto)
            assert engine.bisect(is_true, after=after, upto=upto).seq == expected
            if brute.is_monotone(states, is_true, after, upto):
                found = engine.bisect(is_true, after=after, upto=upto, monotone=True)
                assert found.seq == expected
    made.remove(path)


@pytest.mark.slow
@PROJECTIONS
@ONE_JOURNAL_EACH
@given(appends=made.APPENDS, after=st.integers(0, 3), pointer=made.POINTERS)
def test_a_watch_tells_of_each_event_what_it_changed(
    projection: Projection,
    tmp_path: Path,
    appends: list[list[made.Event]],
    after: int,
    pointer: str,
) -> None:
    path = made.fresh(tmp_path)
    states = made.make(path, appends, projection=projection)
    after = min(after, len(states) - 1)
    changed = {seq for seq, _, _ in brute.blame(states, pointer, after, len(states) - 1)}
    with journal.open(path, read_only=True, projection=projection) as engine:
        watch = engine.watch(after, pointer=pointer, count=True)
        for event in engine.events(after):
            assert watch.feed(stored_line(event)) == (event.seq in changed)
            old, new = states[event.seq - 1], states[event.seq]
            assert any(watch.tally) != patch.equal(old, new)
    made.remove(path)


@pytest.mark.slow
@PROJECTIONS
@ONE_JOURNAL_EACH
@given(appends=made.APPENDS, data=st.data())
def test_stepping_shows_what_each_event_changed_wherever_one_comes_from(
    projection: Projection, tmp_path: Path, appends: list[list[made.Event]], data: st.DataObject
) -> None:
    path = made.fresh(tmp_path)
    states = made.make(path, appends, projection=projection)
    last = len(states) - 1
    with journal.open(path, read_only=True, projection=projection) as engine:
        stepper = engine.stepper()
        seqs = data.draw(st.lists(st.integers(1, last), min_size=1, max_size=8))
        for seq in [*seqs, *range(1, min(last, 6) + 1)]:
            step = stepper.go_to(seq)
            assert (step.event.seq, stepper.seq) == (seq, seq)
            before = patch.copy(states[seq - 1])
            assert patch.equal(patch.apply_patch(before, step.changes), states[seq])
            assert patch.equal(stepper.state(), states[seq])
    made.remove(path)
