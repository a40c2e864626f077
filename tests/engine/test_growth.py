"""How large a state may become: between two views, and inside one append."""

from pathlib import Path
from typing import Any

import pytest

import journal
from journal import codec
from journal.engine import checks, growth
from journal.errors import UsageError

COPY = ("patch", {"patch": [{"op": "copy", "from": "/text", "path": "/list/-"}]})
HOUR_MS = 3_600_000


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow a state of a hundred kilobytes."""
    monkeypatch.setattr(codec, "MAX_STATE_BYTES", 100_000)
    monkeypatch.setattr(growth, "MAX_STATE_BYTES", 100_000)


def begin(path: Path, every_ms: int) -> journal.Engine:
    engine = journal.init(path / "run", durability="os", views_every_ms=every_ms)
    engine.append("set", {"path": "", "value": {"text": "x" * 30_000, "list": []}})
    return engine


@pytest.mark.parametrize("every_ms", [0, HOUR_MS])
@pytest.mark.parametrize("event", [COPY, ("set", {"path": "/list/-", "value": "y" * 30_000})])
def test_a_state_that_would_be_too_large_is_refused_however_often_views_are_written(
    tmp_path: Path, every_ms: int, event: tuple[str, Any]
) -> None:
    with begin(tmp_path, every_ms) as engine:
        for _ in range(2):
            engine.append(*event)
        seq, state = engine.seq, engine.state
        with pytest.raises(UsageError, match="100,000 are allowed"):
            engine.append(*event)
        assert (engine.seq, engine.state) == (seq, state)


def test_a_batch_that_copies_without_end_is_stopped_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = 0

    def measure(state: Any, projection: Any) -> bytes:
        nonlocal largest
        largest = max(largest, len(state["list"]))
        return checks.check_state(state, projection)

    monkeypatch.setattr(growth, "check_state", measure)
    monkeypatch.setattr(growth, "_STRETCH", 8)
    with begin(tmp_path, 0) as engine:
        with pytest.raises(UsageError, match="are allowed"):
            engine.append_batch([COPY] * 1000)
        assert engine.seq == 2
    assert 0 < largest <= 8


def test_a_large_state_is_not_measured_at_every_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[int] = []

    def measure(state: Any, projection: Any) -> bytes:
        measured.append(len(state))
        return checks.check_state(state, projection)

    monkeypatch.setattr(growth, "check_state", measure)
    with begin(tmp_path, HOUR_MS) as engine:
        measured.clear()
        for number in range(100):
            engine.append("set", {"path": "/n", "value": number})
    assert not measured
