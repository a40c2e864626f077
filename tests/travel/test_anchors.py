"""Anchors that fail: which two beliefs conflict, and whether to doubt the note or the log."""

from pathlib import Path

import pytest

import journal
from journal.engine.reports import Verified
from tests.travel import made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Make a journal of several segments."""
    appends = [[("set", {"path": f"/n{n}", "value": n})] for n in range(20)]
    made.make(tmp_path / "run", appends, segment_bytes=900)
    assert len(list((tmp_path / "run" / "log").glob("*.jsonl"))) > 2
    return tmp_path / "run"


def verify(path: Path, seq: int, sha256: str) -> Verified:
    with journal.open(path, read_only=True) as engine:
        return engine.verify([(seq, sha256)])


def test_the_digest_of_every_other_event_is_known_again(path: Path) -> None:
    with journal.open(path, read_only=True) as engine:
        last = engine.seq
        digests = {seq: engine.head(seq).sha256 for seq in range(1, last + 1)}
        for seq, digest in digests.items():
            noted = seq % last + 1
            (problem,) = engine.verify([(noted, digest)]).problems
            assert problem.kind == "anchor"
            assert f"is the one of event {seq}, so the seq was noted wrongly" in problem.message


def test_an_anchor_beyond_the_end_is_known_again(path: Path) -> None:
    with journal.open(path, read_only=True) as engine:
        head = engine.head()
    found = verify(path, head.seq + 700, head.sha256)
    assert f"is the one of event {head.seq}," in found.problems[0].message
    assert "missing at the end" in found.problems[0].message
    assert found.advice[0].startswith("Correct the note")
    assert "missing" not in verify(path, 0, head.sha256).problems[0].message


def test_a_digest_that_is_of_no_event_says_which_two_beliefs_conflict(path: Path) -> None:
    with journal.open(path, read_only=True) as engine:
        digest = engine.head(7).sha256
    found = verify(path, 7, "0" * 64)
    assert (found.ok, len(found.problems)) == (False, 1)
    assert f"its sha256 is {digest}, and {'0' * 64} was noted" in found.problems[0].message
    assert "wrongly" not in found.problems[0].message
    (advice,) = found.advice
    assert "either the anchor was noted wrongly" in advice
    assert "or history was rewritten" in advice
    assert "Where it holds: History was rewritten. Keep this folder as it is" in advice
