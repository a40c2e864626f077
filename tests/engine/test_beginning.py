"""What `init` does about what lies in the folder already: nothing is ever written over."""

from pathlib import Path
from typing import Any

import pytest

import journal
from journal.errors import Corrupt, UsageError
from projections.document.importing import import_versions
from projections.document.version import Version
from tests.cases.made import files, make

MINE = b'{"mine": [1, 2.0, true]}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a state.json of somebody else's."""
    path = tmp_path / "my run"
    path.mkdir()
    (path / "state.json").write_bytes(MINE)
    return path


def test_a_file_in_the_place_of_the_state_refuses_a_new_journal_and_nothing_is_changed(
    folder: Path,
) -> None:
    before = files(folder)
    with pytest.raises(UsageError) as refused:
        journal.init(folder)
    assert files(folder) == before
    assert f"journal init '{folder}' --take-over" in refused.value.advice
    assert "move it away" in refused.value.advice


def test_it_is_taken_over_as_it_is_found_and_its_bytes_are_named(folder: Path) -> None:
    with journal.init(folder, take_over=True) as engine:
        assert engine.state == {"mine": [1, 2.0, True]}
        (taken,) = engine.events(types=["journal.taken_over"])
    assert taken.data["sha256"] == journal.codec.sha256(MINE)
    assert (taken.data["path"], taken.data["modified"][-1]) == ("state.json", "Z")


def test_it_is_set_aside_whole_where_that_is_asked_for(folder: Path) -> None:
    with journal.init(folder, take_over=False) as engine:
        assert engine.state == {}
    (kept,) = (folder / "quarantine").iterdir()
    assert kept.read_bytes() == MINE


def test_a_file_without_a_byte_holds_nothing(folder: Path) -> None:
    (folder / "state.json").write_bytes(b"")
    with journal.init(folder) as engine:
        assert engine.state == {}


@pytest.mark.parametrize("data", [b"{", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"\0" * 9])
def test_what_is_no_json_is_not_taken_over_and_stays(folder: Path, data: bytes) -> None:
    (folder / "state.json").write_bytes(data)
    before = files(folder)
    with pytest.raises(Corrupt, match=r"state\.json"):
        journal.init(folder, take_over=True)
    assert files(folder) == before


def test_nothing_to_take_over_is_said_and_no_folder_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is none"):
        journal.init(tmp_path / "new", take_over=True)
    assert not (tmp_path / "new").exists()


def test_an_import_does_not_write_over_a_file_either(folder: Path) -> None:
    version = Version(n=1, time="2026-01-01T00:00:00.000Z", path="x", value={"other": 1})
    before = files(folder)
    with pytest.raises(UsageError, match="there already"):
        import_versions(folder, [version])
    assert files(folder) == before


@pytest.mark.parametrize("name", ["witness.json", "snapshots"])
def test_beside_what_is_left_of_a_journal_nothing_begins(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / name).mkdir()
    with pytest.raises(UsageError, match="whose log is gone"):
        journal.init(folder)


def test_nothing_begins_inside_a_journal(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    before = files(made.path)
    for name in ("log", "snapshots/x", "state.json"):
        with pytest.raises(UsageError, match="is a part of the journal in"):
            journal.init(made.path / name)
    assert files(made.path) == before


def test_a_journal_that_lost_its_settings_is_completed_with_the_projection_of_its_log(
    tmp_path: Path,
) -> None:
    state: Any = None
    with journal.init(tmp_path / "run", projection="task_storage") as engine:
        state = engine.state
    (tmp_path / "run" / "journal.yaml").unlink()
    with journal.init(tmp_path / "run") as engine:
        assert (engine.config.projection, engine.state) == ("task_storage", state)


def test_a_journal_of_a_system_is_left_to_its_commands_which_know_where_its_views_lie(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "x.journal"
    with journal.init(folder, projection="checkpointed_loop", view_files={"state": "../x.json"}):
        pass
    (folder / "journal.yaml").unlink()
    before = files(tmp_path)
    with pytest.raises(UsageError, match="a journal of `journal loop`"):
        journal.init(folder)
    (remedy,) = journal.doctor(folder).remedies
    assert (remedy.command, "`journal loop`" in remedy.does) == ("", True)
    assert files(tmp_path) == before
