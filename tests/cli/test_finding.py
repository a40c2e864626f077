"""Which journal a command means: --dir, JOURNAL_DIR, then upwards."""

from pathlib import Path

import pytest

from journal.cli import finding
from journal.errors import JournalError, UsageError
from tests.cli.command import Run


def make(*folders: str) -> None:
    for folder in folders:
        Path(folder).mkdir(parents=True)
        Path(folder, "journal.yaml").write_text("")


def test_dir_wins_over_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    make("here")
    monkeypatch.setenv("JOURNAL_DIR", "elsewhere")
    monkeypatch.chdir("here")
    assert finding.find("named") == Path("named")


def test_the_variable_wins_over_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    make("here")
    monkeypatch.chdir("here")
    monkeypatch.setenv("JOURNAL_DIR", "elsewhere")
    assert finding.find(None) == Path("elsewhere")
    monkeypatch.setenv("JOURNAL_DIR", "")
    assert finding.find(None) == Path()


@pytest.mark.parametrize("below", ["", "deep/er"])
@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("p", "p"),
        ("p/.agloop/journal", "p/.agloop/journal"),
        ("p/state.journal", "p/state.journal"),
    ],
)
def test_each_kind_is_found_from_its_folder_and_from_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, found: str, below: str
) -> None:
    make(made)
    start = tmp_path / "p" / below
    start.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(start)
    assert finding.find(None).absolute() == tmp_path / found


def test_the_nearest_one_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make("p", "p/q/x.journal")
    monkeypatch.chdir("p/q")
    assert finding.find(None).absolute() == tmp_path / "p/q/x.journal"


def test_several_are_listed_and_refused() -> None:
    make("a.journal", "b.journal")
    with pytest.raises(UsageError) as refused:
        finding.find(None)
    assert "a.journal" in str(refused.value)
    assert "b.journal" in str(refused.value)


def test_a_journal_that_is_named_is_found_from_a_folder_that_was_deleted(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("init", "p")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run("state", "-d", str(tmp_path / "p"), "--json").json == {}
    assert run("state").code == 1


def test_a_file_named_like_a_journal_is_none() -> None:
    Path("a.journal").write_text("")
    with pytest.raises(JournalError, match="no journal in"):
        finding.find(None)


def test_a_log_without_its_settings_is_not_passed_over(run: Run) -> None:
    make("p")
    run("init", "p/q")
    Path("p/q/journal.yaml").unlink()
    done = run("state", "-d", "p/q")
    assert done.code == 1
    assert "journal init" in done.err


def test_an_unfinished_journal_hides_those_above_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("init", "p")
    run("init", "p/q")
    Path("p/q/journal.yaml").unlink()
    monkeypatch.chdir("p/q")
    assert run("state").code == 1
    assert run("init", ".").code == 0
    assert run("state", "--json").json == {}


def test_commands_work_from_a_folder_below(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("init", "p")
    Path("p/deep").mkdir()
    monkeypatch.chdir("p/deep")
    assert run("append", "set", '{"path": "/a", "value": 1}').code == 0
    assert run("state", "--json").json == {"a": 1}
    assert run("status").out.startswith("/")
