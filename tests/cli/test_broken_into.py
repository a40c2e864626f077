"""What a breaker found: code that ends the process, code that is not ours to run, files emptied."""

import os
import subprocess
from pathlib import Path

import pytest

import journal as library
from journal.cli import finding
from tests.cli.command import Run, run
from tests.cli.test_process import JOURNAL, WAIT_S, environment


def test_a_projection_module_that_ends_the_process_is_said_as_one_that_cannot_be_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ends_the_process.py").write_text("raise SystemExit(0)\n")
    monkeypatch.syspath_prepend(".")
    done = run("init", "other", "--projection", "ends_the_process:PROJECTION")
    assert done.code == 2
    assert "cannot be imported" in done.err
    assert "SystemExit" in done.err


def test_no_code_is_run_to_write_beside_a_journal(
    journal: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("planted_code.py").write_text("open('it_ran', 'w').close()\n")
    monkeypatch.syspath_prepend(".")
    settings = Path("run/journal.yaml").read_text()
    Path("there").mkdir()
    Path("there/journal.yaml").write_text(
        settings.replace("projection: document", "projection: planted_code:X")
    )
    assert journal("export", "-o", "there/out.jsonl").code == 0
    assert Path("there/out.jsonl").stat().st_size
    assert not Path("it_ran").exists()
    assert journal("export", "-o", "there/state.json").code == 2


def test_what_stands_in_the_file_behind_stdout_stays(journal: Run) -> None:
    Path("all").write_text("before\n")
    with Path("all").open("ab") as out:
        command = [*JOURNAL, "export", "-d", "run", "-o", "/dev/stdout"]
        subprocess.run(command, stdout=out, env=environment(), check=True, timeout=WAIT_S)
    lines = Path("all").read_text().splitlines()
    assert lines[0] == "before"
    assert lines[1:] == journal("export").out.splitlines()


def test_a_file_without_anchors_is_no_proof(journal: Run) -> None:
    Path("heads").write_text("# noted in May\n\n")
    done = journal("verify", "--anchors", "heads")
    assert (done.code, done.out) == (2, "")
    assert "no anchor in it" in done.err


def test_links_in_a_circle_beside_a_journal_hinder_no_search(tmp_path: Path) -> None:
    os.symlink(tmp_path / "b", tmp_path / "a.journal")
    os.symlink(tmp_path / "a.journal", tmp_path / "b")
    assert finding._journals_in(tmp_path) == []  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(("changes", "why"), [((), "5000"), (("--drop", "3"), "3")])
def test_the_cause_of_an_inserted_event_is_one_before_it_that_stays(
    journal: Run, changes: tuple[str, ...], why: str
) -> None:
    with library.open("run") as engine:
        last = engine.seq
    event = f'{{"type":"set","data":{{"path":"/new","value":1}},"cause":{why}}}'
    done = journal("fork", "what-if", "--at", "head", *changes, "--insert", f"{last}={event}")
    assert done.code == 2
    assert f"the cause {why} of an inserted event is no event before it" in done.err


def test_the_cause_of_an_inserted_event_is_told_in_the_seqs_of_the_fork(journal: Run) -> None:
    event = '{"type":"set","data":{"path":"/new","value":1},"cause":4}'
    made = journal(
        "fork", "what-if", "--at", "4", "--drop", "2", "--insert", f"4={event}", "--json"
    )
    assert made.code == 0, made.err
    with library.open("what-if", read_only=True) as fork, library.open("run") as source:
        old = next(source.events(3, 4))
        new = next(one for one in fork.events() if one.cause)
        (cause,) = fork.events(new.cause - 1, new.cause)
    assert (cause.type, cause.data) == (old.type, old.data)
