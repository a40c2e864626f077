"""Somebody changes history: what is found without an anchor, and what with one.

The forger is `tests.faults.forging`.
"""

import shutil
from pathlib import Path

import pytest

import journal
from journal.engine.reports import Verified
from tests.faults.forging import cover_up, forge, other_byte
from tests.travel import made

LAST = 14


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A journal of several segments with values at numbered places."""
    path = tmp_path / "run"
    appends = [[("set", {"path": f"/n{n}", "value": n * 11})] for n in range(10)]
    made.make(path, appends, segment_bytes=700)
    with journal.open(path, read_only=True) as engine:
        assert engine.seq >= LAST - 2
        assert len(list((path / "log").glob("*.jsonl"))) >= 3
    return path


def heads(path: Path) -> list[tuple[int, str]]:
    with journal.open(path, read_only=True) as engine:
        return [(head.seq, head.sha256) for head in map(engine.head, range(1, engine.seq + 1))]


def verify(path: Path, *anchors: tuple[int, str]) -> Verified:
    with journal.open(path, read_only=True) as engine:
        return engine.verify(anchors)


@pytest.mark.slow
def test_a_forger_goes_unseen_without_an_anchor_and_no_change_does_with_one(run: Path) -> None:
    noted = heads(run)
    kept = run.with_name("kept")
    shutil.copytree(run, kept)
    with journal.open(run, read_only=True) as engine:
        seqs = [event.seq for event in engine.events() if event.type == "set"]
    for seq in seqs:
        for at in range(3):
            shutil.rmtree(run)
            shutil.copytree(kept, run)
            forge(run, seq, other_byte(at))
            cover_up(run)
            # "The CRC finds accidents, not forgers": nothing is wrong in itself.
            assert verify(run).ok
            found = verify(run, *noted)
            wrong = {problem.seq for problem in found.problems if problem.kind == "anchor"}
            assert wrong == {anchor for anchor, _ in noted if anchor >= seq}
            assert not verify(run, noted[-1]).ok


@pytest.mark.parametrize("field", [b'"time":"20', b'"actor":"', b'"type":"s'])
def test_every_member_of_an_event_is_under_the_anchor(run: Path, field: bytes) -> None:
    noted = heads(run)[-1]
    new = {b'"time":"20': b'"time":"19', b'"actor":"': b'"actor":"x', b'"type":"s': b'"type":"S'}
    forge(run, 3, lambda body: body.replace(field, new[field], 1))
    assert [p.kind for p in verify(run, noted).problems if p.kind == "anchor"] == ["anchor"]


def test_history_that_is_cut_short_is_found_by_the_anchor(run: Path) -> None:
    noted = heads(run)[-1]
    last = max((run / "log").glob("*.jsonl"))
    lines = last.read_bytes().splitlines(keepends=True)
    assert len(lines) > 1
    last.write_bytes(b"".join(lines[:-1]))
    cover_up(run)
    assert verify(run).ok
    (problem,) = verify(run, noted).problems
    assert (problem.kind, problem.seq) == ("anchor", noted[0])


def test_history_that_went_on_keeps_its_anchors(run: Path) -> None:
    noted = heads(run)
    with journal.open(run) as engine:
        for n in range(10):
            engine.append("set", {"path": f"/n{n}", "value": "new"})
        engine.restore(5)
    assert verify(run, *noted).ok


def test_a_forger_who_forgets_the_crcs_or_the_chain_is_found_without_an_anchor(run: Path) -> None:
    kept = run.with_name("kept")
    shutil.copytree(run, kept)
    forge(run, 3, other_byte(0), chain=False)
    assert "chain" in {problem.kind for problem in verify(run).problems}
    shutil.rmtree(run)
    shutil.copytree(kept, run)
    forge(run, 3, other_byte(0), chain=False, crcs=False)
    assert verify(run).problems[0].kind == "damage"


def test_a_forger_who_forgets_the_view_or_the_snapshots_is_found_without_an_anchor(
    run: Path,
) -> None:
    forge(run, 3, other_byte(3))
    kinds = {problem.kind for problem in verify(run).problems}
    assert kinds & {"view", "snapshot", "witness"}
    assert "anchor" not in kinds


@pytest.mark.slow
def test_a_thousand_anchors_are_checked_in_one_pass(tmp_path: Path) -> None:
    path = tmp_path / "many"
    made.make(path, [], segment_bytes=40_000)
    with journal.open(path) as engine:
        for _ in range(5):
            engine.append_batch([("set", {"path": "/n", "value": n}) for n in range(200)])
    noted = heads(path)
    assert len(noted) > 1000
    assert verify(path, *noted).ok
    wrong = [(seq, digest[::-1]) if seq == 500 else (seq, digest) for seq, digest in noted]
    assert [problem.seq for problem in verify(path, *wrong).problems] == [500]
