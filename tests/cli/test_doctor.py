"""`journal doctor` on the command line: what it prints, its exit codes, its JSON."""

import os
from pathlib import Path

import pytest

from journal.engine.doctor.report import DoctorReport
from journal.engine.doctor.run import doctor
from tests.cases.made import as_nobody, make
from tests.cli.command import Run

LOG = Path("run/log/00000000000000000001.jsonl")
SECTIONS = ["what is here", "health", "what to do"]


def test_a_healthy_journal_has_no_advice_and_exit_0(journal: Run) -> None:
    said = journal("doctor")
    assert (said.code, said.err) == (0, "journal: nothing was changed\n")
    lines = said.out.splitlines()
    assert [line for line in lines if line in SECTIONS] == SECTIONS[:2]
    assert "healthy: every byte was checked" in said.out


def test_damage_is_told_with_its_place_the_loss_and_the_cost_of_each_way(journal: Run) -> None:
    LOG.write_bytes(LOG.read_bytes().replace(b'"value":1', b'"value":7'))
    said = journal("doctor")
    assert said.code == 5
    assert [line for line in said.out.splitlines() if line in SECTIONS] == SECTIONS
    assert "line 3, byte" in said.out
    assert "  2. `journal repair -d run` writes" in said.out
    assert "     loses event 3\n     costs under a second, " in said.out
    assert "today's state comes from: state.json at event 4" in said.out


def test_a_command_that_it_names_means_the_folder_that_was_looked_at(
    journal: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("run/state.json").write_text('{"n": 9}')
    assert "`journal adopt -d run`" in journal("doctor").out
    monkeypatch.chdir("run")
    assert "`journal adopt`" in run("doctor").out


def test_the_json_has_the_same_members_whatever_is_found(journal: Run, run: Run) -> None:
    Path("empty").mkdir()
    Path("half/log").mkdir(parents=True)
    members = list(DoctorReport.__struct_fields__)
    for folder, code in (("run", 0), ("empty", 1), ("half", 1), ("gone", 1)):
        said = run("doctor", folder, "--json")
        assert said.code == code
        assert list(said.json) == members
        assert said.json["exit_code"] == code


def test_a_newer_format_is_6_and_two_folders_are_a_wrong_call(journal: Run, run: Run) -> None:
    settings = Path("run/journal.yaml")
    settings.write_text(settings.read_text().replace("format: 1", "format: 2"))
    assert journal("doctor").code == 6
    said = run("doctor", "run", "-d", "run")
    assert (said.code, "give one" in said.err) == (2, True)


def test_names_from_the_folder_do_not_steer_the_terminal(journal: Run) -> None:
    Path("run/\x1b[2Jx").touch()
    said = journal("doctor")
    assert "\x1b" not in said.out
    assert "\\x1b[2Jx is not the journal's" in said.out


def test_a_file_is_answered_by_the_doctor_and_refused_as_the_folder_of_others(run: Run) -> None:
    Path("x.json").write_text("{}")
    assert run("doctor", "x.json").out.startswith("x.json: a file, not a folder")
    said = run("status", "-d", "x.json")
    assert (said.code, "x.json is a file, and --dir names the folder" in said.err) == (2, True)


def test_without_a_journal_it_looks_here_and_makes_nothing(run: Run) -> None:
    said = run("doctor")
    assert (said.code, "no journal" in said.out) == (1, True)
    assert os.listdir() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody without rights")
def test_a_folder_that_may_only_be_read_is_looked_at_in_full(shared_path: Path) -> None:
    made = make(shared_path, 3)
    for path in (made.path, *made.path.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    answer = as_nobody(lambda: (doctor(made.path).healthy, doctor(made.path).notes))
    assert isinstance(answer, (list, tuple)), answer
    healthy, notes = answer
    assert healthy
    assert any("cannot be written by you: reading works" in note for note in notes)
