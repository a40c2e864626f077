"""A journal whose projection's module does not come: its log can be checked all the same."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import journal
from journal.errors import UsageError
from tests.cases.made import Made, files, make_segments, seal
from tests.cli.command import run


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Return a journal of several segments whose projection is nowhere."""
    found = make_segments(tmp_path, 9)
    path = found.path / "journal.yaml"
    path.write_text(path.read_text().replace("projection: document", "projection: gone.away:P"))
    return found


def healthy(made: Made) -> None:
    pass


def flip(made: Made) -> None:
    first = made.segment(1)
    made.put(first.read_bytes().replace(b'"value":3', b'"value":7'), first)


def rehash(made: Made) -> None:
    flip(made)
    made.put(seal(made.lines(made.segment(1))), made.segment(1))


def lose_end(made: Made) -> None:
    max((made.path / "log").glob("*.jsonl")).unlink()


@pytest.mark.parametrize(
    ("damage", "kinds"),
    [(healthy, set()), (flip, {"damage"}), (rehash, {"chain"}), (lose_end, {"witness"})],
)
def test_the_log_is_checked_and_what_could_not_be_is_said(
    made: Made, damage: Callable[[Made], None], kinds: set[str]
) -> None:
    damage(made)
    before, modules = files(made.path), set(sys.modules)
    found = journal.doctor(made.path)
    assert {one.kind for one in found.problems} == {"projection", *kinds}
    assert (found.kind, found.exit_code) == ("journal", 5)
    assert "the snapshots and the views were not" in found.problems[0].message
    verified = run("verify", "-d", str(made.path), "--json")
    assert [one["kind"] for one in verified.json["problems"]] == [p.kind for p in found.problems]
    assert (verified.code, files(made.path)) == (5, before)
    assert not {name for name in set(sys.modules) - modules if name.startswith("gone")}


def test_an_anchor_is_checked_without_code_too(made: Made) -> None:
    found = journal.doctor(made.path, anchors=[(4, "a" * 64)])
    assert {one.kind for one in found.problems} == {"projection", "anchor"}


def test_whatever_needs_the_code_says_why_it_does_not_come(made: Made) -> None:
    with (
        journal.open(made.path, read_only=True, without_code=True) as engine,
        pytest.raises(UsageError, match=r"gone\.away"),
    ):
        _ = engine.state
    with pytest.raises(UsageError, match=r"gone\.away"):
        journal.open(made.path, without_code=True)


def test_where_the_module_lies_near_it_is_told_and_not_run(made: Made) -> None:
    module = made.path.parent / "gone" / "away.py"
    module.parent.mkdir()
    module.write_text("raise SystemExit('it ran')")
    remedy = journal.doctor(made.path).remedies[0]
    named = f"-d {made.path}"
    assert remedy.command == f"PYTHONPATH={made.path.parent} journal verify {named}"
