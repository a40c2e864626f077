"""Two projections over one history: the first event after which their states differ, and how."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import journal
from projections import patch
from projections.document.projection import PROJECTION, Set, _touches
from projections.projection import Projection, Touches
from tests.travel import made


def other(at: str, value: Any, touches: Touches | None) -> Projection:
    """The document, but a set at one place puts another value there."""

    def set_otherwise(state: Any, event: Any) -> Any:
        if event.data.path == at:
            return patch.set_value(state, at, value)
        return PROJECTION.events[Set](state, event)

    return Projection(
        "document",
        events={**PROJECTION.events, Set: set_otherwise},
        initial=dict,
        revision="other",
        touches=touches,
    )


def by_force(states: list[Any], others: list[Any]) -> int | None:
    pairs = enumerate(zip(states, others, strict=True))
    return next((seq for seq, (a, b) in pairs if not patch.equal(a, b)), None)


@pytest.mark.slow
@pytest.mark.parametrize("touches", [_touches, None], ids=["hook", "plain"])
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(appends=made.APPENDS, at=st.sampled_from(["", "/a", "/list/0", "/b"]), value=made.VALUES)
def test_the_first_difference_is_found(
    touches: Touches | None, tmp_path: Path, appends: list[list[made.Event]], at: str, value: Any
) -> None:
    path = made.fresh(tmp_path)
    states = made.make(path, appends)
    failed = None
    with journal.open(path, read_only=True) as engine:
        others: list[Any] = [{}]
        for event in engine.events():
            state = patch.copy(others[-1])
            try:
                if event.type == "set" and event.data["path"] == at:
                    state = patch.set_value(state, at, value)
                elif not event.type.startswith("journal."):
                    state = made.apply(state, (event.type, event.data))
            except journal.UsageError:
                failed = event.seq
                break
            others.append(state)
        expected = by_force(states[: len(others)], others)
        expected = failed if expected is None else expected
        found = engine.compare(other(at, value, touches))
        assert found.seq == expected
        if expected is None:
            assert (found.changes, found.events) == ([], engine.seq)
        elif found.failed:
            assert expected == failed
        else:
            before = patch.copy(states[expected])
            assert patch.equal(patch.apply_patch(before, found.changes), others[expected])
    made.remove(path)


def test_initial_states_that_differ_are_seq_0(tmp_path: Path) -> None:
    made.make(tmp_path / "run", [])
    new = Projection("document", events=PROJECTION.events, initial=lambda: {"a": 1}, revision="x")
    with journal.open(tmp_path / "run", read_only=True) as engine:
        found = engine.compare(new)
    assert (found.seq, found.changes) == (0, [{"op": "add", "path": "/a", "value": 1}])


class Counted(msgspec.Struct):
    n: int


def counting(revision: str, apply: Callable[[int, int], Any]) -> Projection:
    """Adds up; `apply` gets the sum and the number."""
    return Projection(
        "sums",
        events={Counted: lambda state, event: {"n": apply(state["n"], event.data.n)}},
        initial=lambda: {"n": 0},
        revision=revision,
    )


def test_strictly_other_values_differ_and_an_event_that_fails_is_named(tmp_path: Path) -> None:
    with journal.init(tmp_path / "run", projection=counting("1", lambda s, n: s + n)) as engine:
        for n in range(5):
            engine.append("counted", {"n": n})
        assert engine.compare(counting("2", lambda s, n: n + s)).seq is None
        found = engine.compare(counting("3", lambda s, n: float(s + n) if n == 3 else s + n))
        assert (found.seq, found.type) == (5, "counted")
        assert found.changes == [{"op": "replace", "path": "/n", "old": 6, "value": 6.0}]
        found = engine.compare(counting("4", lambda s, n: s + n if n < 2 else s + n // 0))
        assert (found.seq, found.changes) == (4, [])
        assert "ZeroDivisionError" in found.failed
