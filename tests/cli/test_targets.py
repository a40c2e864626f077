"""No command writes over a journal's own files because somebody named one."""

from pathlib import Path

import pytest

from tests.cases.made import files
from tests.cli.command import Run

OWN = [
    *(
        "run/journal.yaml",
        "run/witness.json",
        "run/state.json",
        "run/log/x.html",
        "run/quarantine/x",
    ),
    *("run/log/00000000000000000001.jsonl", "run/../run/state.json", "run/snapshots/x"),
]
COMMANDS = [
    *(["audit"], ["audit", "--format", "html"], ["export"], ["export", "versions"]),
    *(["export", "--format", name] for name in ("csv", "cloudevents", "parquet")),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("target", OWN)
def test_a_file_of_a_journal_is_never_an_output(
    journal: Run, command: list[str], target: str
) -> None:
    before = files(Path("run"))
    done = journal(command[0], *command[1:], "--output", target)
    assert (done.code, done.out) == (2, "")
    assert "a file of the journal in" in done.err
    assert files(Path("run")) == before


def test_bench_writes_its_page_over_none_either(journal: Run) -> None:
    before = files(Path("run"))
    assert journal("bench", "--html", "run/state.json").code == 2
    assert files(Path("run")) == before


def test_a_file_of_another_journal_is_refused_and_one_beside_its_files_is_written(
    journal: Run, run: Run
) -> None:
    assert run("init", "other").code == 0
    assert journal("audit", "-o", "other/state.json").code == 2
    assert run("agloop", "init", "--feature", "x").code == 0
    assert journal("audit", "-o", ".agloop/state.json").code == 2
    for _ in range(2):
        assert journal("audit", "-o", "run/audit.html").code == 0
    assert Path("run/audit.html").read_text().startswith("<!doctype html>")
