"""Group L: what git makes of a journal that two branches went on with."""

from pathlib import Path

import pytest

import journal
from journal.errors import Corrupt, Drift
from tests.cases.made import append_to, make, readable, refused, refused_as_corrupt, unchanged

MERGE = b"<<<<<<< ours\n%b=======\n%b>>>>>>> theirs\n"
DIFF3 = b"<<<<<<< ours\n%b||||||| base\n=======\n%b>>>>>>> theirs\n"


@pytest.mark.parametrize("style", [MERGE, DIFF3], ids=["merge", "diff3"])
def test_l01_conflict_markers_in_the_log_are_refused_by_name_and_never_skipped(
    tmp_path: Path, style: bytes
) -> None:
    made = make(tmp_path)
    lines = made.lines()
    offset = made.offset(4)
    made.put([*lines[:3], style % (lines[3], lines[3].replace(b"4", b"5")), *lines[4:]])
    error = refused_as_corrupt(made, line=4, offset=offset)
    assert "git conflict marker" in error.why
    assert "one side of the merge" in error.advice
    found = readable(made)
    assert found.seqs[:3] == [1, 2, 3]
    assert found.damage is not None
    assert "git conflict marker" in found.damage.why


@pytest.mark.parametrize("style", [MERGE, DIFF3], ids=["merge", "diff3"])
def test_l01_conflict_markers_in_state_json_are_drift_with_their_lines(
    tmp_path: Path, style: bytes
) -> None:
    made = make(tmp_path)
    made.state.write_bytes(b"{\n" + style % (b'  "k": 5\n', b'  "k": 6\n') + b"}\n")
    error = refused(made, Drift, 7)
    last = 7 if style is DIFF3 else 6
    assert f"git conflict markers at lines 2-{last}" in error.why
    with made.read() as engine:
        assert engine.state == {"k": 5}


def test_l01_conflict_markers_in_journal_yaml_are_refused_with_the_line(tmp_path: Path) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    text = settings.read_bytes()
    settings.write_bytes(text + MERGE % (b"batch_ms: 5\n", b"batch_ms: 6\n"))
    error = refused(made, Corrupt, 5)
    assert (error.path, error.line) == (str(settings), text.count(b"\n") + 1)
    assert error.why == "a git conflict marker"


def test_l02_union_of_two_branches_is_refused_at_the_fork_and_not_replayed(tmp_path: Path) -> None:
    """Both went on from event 3: the second tail does not check behind the first."""
    made = make(tmp_path, 3)
    base = made.log.read_bytes()
    with made.open() as engine:
        append_to(engine, 5)
    ours = made.lines()[3:]
    made.put(base)
    made.forget()
    made.state.unlink()
    with journal.open(made.path) as engine:
        for value in ("a", "b"):
            engine.append("set", {"path": "/k", "value": value})
    theirs = made.lines()[3:]
    made.put([base, *ours, *theirs])
    error = refused_as_corrupt(made, line=6, offset=len(base) + sum(map(len, ours)))
    assert "repair" in error.advice
    found = readable(made)
    assert found.seqs == [1, 2, 3, 4, 5]
    assert found.damage is not None
    with unchanged(made), made.read() as engine:
        (problem,) = engine.verify().problems
    assert (problem.kind, problem.line) == ("damage", 6)
