"""What `journal.doctor` says of leftovers, other files, rights, locks, and state of the systems."""

import contextlib
import os
import threading
from pathlib import Path

import orjson
import pytest

import journal
from journal import locks
from journal.engine.doctor import contents
from journal.engine.repairing import NOTE_NAME
from tests.cases.made import make
from tests.cli.command import run
from tests.engine.test_doctor import follow, look


def notes_of(folder: Path) -> str:
    return "\n".join(look(folder).notes)


# --- other things in the folder ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("notes.txt", "notes.txt is not the journal's, and left alone"),
        ("log/00000000000000000001.jsonl.1", "jsonl.1 is not the journal's, and never read"),
        ("snapshots/hello", "snapshots/hello is not the journal's, and never read"),
        ("state.json.lock", "state.json.lock is no lock of the journal's"),
        ("log/.x.0123456789abcdef.journal-tmp", "removes what killed writers left: log/.x."),
    ],
)
def test_other_files_are_named_and_are_no_fault(tmp_path: Path, name: str, said: str) -> None:
    made = make(tmp_path, 3)
    path = made.path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("x")
    found = look(made.path)
    assert (found.healthy, found.exit_code, found.remedies) == (True, 0, [])
    assert said in "\n".join(found.notes)


def test_of_many_other_files_a_few_are_named_and_the_rest_is_counted(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    for number in range(9):
        (made.path / f"file{number}").touch()
    assert "file4 and 4 others are not the journal's" in notes_of(made.path)


def test_a_journal_without_anything_else_has_no_notes(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    (only,) = look(made.path).notes
    assert only.startswith("no anchor was given")
    made.forget()
    assert "the next writer makes it" in notes_of(made.path)


# --- writers -------------------------------------------------------------------------------------


def test_a_repair_that_was_cut_off_is_no_health_and_is_completed(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    (made.path / "quarantine").mkdir(exist_ok=True)
    (made.path / "quarantine" / NOTE_NAME).write_text("{}")
    found = look(made.path)
    assert [one.kind for one in found.problems] == ["repair"]
    assert run("verify", "-d", str(made.path)).code == found.exit_code == 5
    follow(made.path, found)
    assert look(made.path).healthy


def test_who_holds_the_lock_is_said_and_the_lock_is_not_taken(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    with (
        contextlib.closing(locks.FolderLock(made.path / "log")) as lock,
        lock.held(1.0),
    ):
        found = look(made.path)
    assert found.healthy
    if contents.LOCKS.exists():
        assert f"process {os.getpid()} holds the append lock" in "\n".join(found.notes)


def test_a_journal_that_is_written_meanwhile_is_healthy_at_every_look(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    done = threading.Event()

    def write() -> None:
        with journal.open(made.path, durability="os") as engine:
            for number in range(100_000):
                if done.is_set():
                    return
                engine.append("set", {"path": "/k", "value": number})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            found = journal.doctor(made.path)
            assert (found.healthy, found.problems) == (True, [])
    finally:
        done.set()
        writer.join()


def test_a_folder_in_the_place_of_a_view_is_to_be_moved_and_no_rebuild_is_advised(
    tmp_path: Path,
) -> None:
    made = make(tmp_path, 3)
    made.state.unlink()
    made.state.mkdir()
    found = look(made.path)
    assert [one.command.split()[0] for one in found.remedies] == ["mv"]
    made.state.rmdir()
    follow(made.path, look(made.path))
    assert look(made.path).healthy


def test_where_the_state_is_lost_each_way_is_a_command_of_its_own(tmp_path: Path) -> None:
    made = make(tmp_path, 4)
    made.forget()
    made.replace(3, made.lines()[2].replace(b'"value":3', b'"value":7'))
    commands = [one.command for one in look(made.path).remedies]
    assert commands == [
        "",
        f"journal repair --state FILE -d {made.path}",
        f"journal repair --skip-lost -d {made.path}",
    ]


def test_a_link_in_the_place_of_the_settings_is_not_followed_and_said(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    settings = made.path / "journal.yaml"
    settings.rename(tmp_path / "elsewhere")
    settings.symlink_to(tmp_path / "elsewhere")
    found = look(made.path)
    assert (found.kind, found.healthy) == ("unreadable", False)
    assert found.remedies[0].command.startswith(f"rm {settings} && cp -a ")


# --- state that no journal keeps -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "state", "command"),
    [
        (
            "state.json",
            {"$schema": "agloop-state-v1", "current_phase": "init"},
            "journal agloop init -d",
        ),
        ("state.json", {"checkpoints": [], "files": [], "data": {}}, "journal task init --thread"),
        (
            "task.json",
            {"schemaVersion": 1, "taskId": "t", "maxAttempts": 2},
            "journal loop takeover --file",
        ),
        (".agloop/log.json", [], "journal agloop init -d"),
        ("layers/task-state/a b/state.json", {}, "journal task init --thread 'a b' -d"),
        ("my run/pipeline-state.json", {}, "journal pipeline status '"),
        ("feed.state.json", {}, "journal plan status feed --plans-dir"),
        ("state.json", {"anything": 1}, "journal init "),
        ("plan.yaml", {"anything": 1}, "journal import file"),
    ],
)
def test_whose_loose_state_is_it_is_told_by_names_and_fields(
    tmp_path: Path, name: str, state: object, command: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(state))
    found = look(tmp_path)
    assert (found.kind, found.exit_code) == ("none", 1)
    assert len(found.remedies) == 1
    assert found.remedies[0].command.startswith(command)


def test_the_advised_take_over_of_a_task_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "state.json").write_text('{"checkpoints": [], "files": [], "data": {"a": 1}}')
    follow(tmp_path, look(tmp_path))
    (inside,) = look(tmp_path / ".task-state").remedies
    assert inside.command.startswith("journal doctor")
    assert run(*inside.command.split()[1:]).code == 0


@pytest.mark.parametrize("text", ["", "{", "\0" * 40, "[" * 5000])
def test_a_file_of_state_that_does_not_read_is_answered(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    assert look(tmp_path).remedies[0].command.startswith("journal import file")


@pytest.mark.parametrize("garbage", [b"xx", b"", bytes(4096)])
def test_a_witness_that_cannot_be_read_is_noted(tmp_path: Path, garbage: bytes) -> None:
    made = make(tmp_path, 4)
    made.witness.write_bytes(garbage)
    assert any("witness.json cannot be read" in note for note in journal.doctor(made.path).notes)
