"""`journal demo`: it plays, it checks itself, and it fails when a check does."""

from pathlib import Path

import pytest

from journal.cli.demo import play
from journal.errors import JournalError
from tests.cli.command import Run


@pytest.mark.slow
def test_the_demo_holds_and_leaves_nothing_behind(run: Run, tmp_path: Path) -> None:
    shown = run("demo")
    assert (shown.code, shown.err) == (0, "")
    assert "All 17 checks hold" in shown.out
    assert "171 versions are 171 events" in shown.out
    assert "then it died of signal 9" in shown.out
    assert "journal-demo-" not in shown.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_demo_keeps_its_journal_where_it_is_told_to(run: Run) -> None:
    assert run("demo", "kept").code == 0
    assert run("verify", "-d", "kept").code == 0
    again = run("demo", "kept")
    assert (again.code, again.out) == (2, "")
    assert run("log", "-d", "kept", "--type", "journal.recovered", "--json").lines


@pytest.mark.slow
def test_the_demo_fails_where_a_check_does_not_hold(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "equal", lambda a, b: False)
    shown = run("demo")
    assert shown.code == 1
    assert "is not version 1" in shown.err
    assert "checks hold" not in shown.out


def test_a_failed_check_names_its_scene() -> None:
    stage = play._Stage(Path("x"), lambda _: None)
    stage.scene("One")
    stage.check("all is well", True)
    with pytest.raises(JournalError, match="scene 1: it does not hold that all is lost"):
        stage.check("all is lost", False)
    assert stage.checks == 1
