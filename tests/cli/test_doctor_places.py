"""What `journal doctor` and the others say where they are pointed at something else."""

import shutil
from pathlib import Path

import pytest

from journal.segment import name_of
from tests.cli.command import Run
from tests.cli.command import run as run_command

FORGED = b'"value":1'


@pytest.mark.parametrize("place", ["log", "snapshots", "quarantine", f"log/{name_of(1)}"])
def test_a_part_of_a_journal_is_told_and_the_journal_is_named(
    journal: Run, run: Run, place: str
) -> None:
    Path("run/quarantine").mkdir(exist_ok=True)
    Path("run/snapshots").mkdir(exist_ok=True)
    said = run("doctor", f"run/{place}")
    assert (said.code, "`journal doctor run`" in said.out) == (1, True)
    assert "init" not in said.out + said.err
    for command in ("status", "log", "verify", "adopt", "repair"):
        said = run(command, "-d", f"run/{place}")
        assert (said.code, "a part of the journal in run" in said.err) == (2, True), command
        assert "init" not in said.err


def test_from_inside_the_log_the_way_out_works_as_pasted(
    journal: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("run/log")
    (remedy,) = run("doctor", ".", "--json").json["remedies"]
    assert run(*remedy["command"].split()[1:]).code == 0


def test_journals_below_are_listed_unfinished_ones_too_and_the_others_are_counted(
    journal: Run, run: Run
) -> None:
    for number in range(23):
        shutil.copytree("run", f"many/{number:02}")
    Path("many/04/journal.yaml").unlink()
    found = run("doctor", "many", "--json").json
    commands = [remedy["command"] for remedy in found["remedies"]]
    assert commands == [f"journal doctor many/{number:02}" for number in range(20)]
    assert any(note.startswith("3 more journals below") for note in found["notes"])


def forge() -> None:
    """Change a value and make every crc of the log anew."""
    from tests.cases.made import seal

    log = Path("run/log") / name_of(1)
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(seal([line.replace(FORGED, b'"value":7') for line in lines]))


def test_a_forged_log_is_healthy_without_an_anchor_and_told_with_one(journal: Run) -> None:
    anchor = journal("head").out.strip()
    Path("heads").write_text(f"# noted\n{anchor}\n")
    assert journal("doctor", "--anchor", anchor).code == 0
    assert "no anchor was given" not in journal("doctor", "--anchor", anchor).out
    forge()
    plain = journal("doctor")
    assert plain.code == 0
    assert plain.out.count("no anchor was given") == 1
    for given in (("--anchor", anchor), ("--anchors", "heads")):
        said = journal("doctor", *given)
        assert (said.code, "anchor:" in said.out) == (5, True)
        assert "Keep this folder as it is" in said.out
    assert journal("doctor", "--anchor", "x").code == 2


def test_of_a_log_that_was_cut_the_log_is_marked_and_not_the_witness(journal: Run) -> None:
    log = Path("run/log") / name_of(1)
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    parts = {one["name"]: one["health"] for one in journal("doctor", "--json").json["parts"]}
    assert (parts["log"], parts["witness.json"]) == ("damaged", "")


@pytest.mark.parametrize("name", ["snapshots", "quarantine", "log"])
def test_a_file_in_the_place_of_a_folder_is_a_finding_and_every_error_says_what_it_is(
    journal: Run, name: str
) -> None:
    shutil.rmtree(f"run/{name}", ignore_errors=True)
    Path(f"run/{name}").write_text("x")
    assert journal("doctor").code in (1, 5)
    assert "is no folder, and one of the journal's belongs there" in journal("doctor").out
    said = journal("rebuild")
    if name != "quarantine":  # needed only where something is set aside
        assert (said.code, "is no folder" in said.err) == (1, True)
    assert Path(f"run/{name}").read_text() == "x"


def test_init_says_both_ways_out_and_the_first_works_as_pasted(run: Run) -> None:
    Path("state.json").write_text('{"a": 1}')
    said = run("init", ".")
    assert said.code == 2
    (command,) = [part for part in said.err.split("`") if part.startswith("journal init")]
    assert run_command(*command.split()[1:]).code == 0
    assert run("state", "-d", ".").out.split() == ["{", '"a":', "1", "}"]
    assert run("verify").code == 0


def test_an_import_without_a_folder_leads_to_a_journal_whose_history_is_old(run: Run) -> None:
    Path("s.json").write_text('{"a": 1}')
    said = run("import", "file", "s.json")
    assert (said.code, "`journal init DIR`" in said.err) == (1, False)
    assert "--dir" in said.err


@pytest.mark.parametrize(
    "args",
    [
        ("append", "-d", "run", "set", "-"),
        ("append", "-d", "run", "--batch", "-"),
        ("verify", "-d", "run", "--anchors", "-"),
        ("append", "-d", "run", "--batch", "large"),
        ("doctor", "run", "--anchors", "large"),
    ],
)
def test_what_has_no_end_is_not_read_without_bound(
    journal: Run, run: Run, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    monkeypatch.setattr("journal.cli.given.MAX_BYTES", 1 << 20)
    text = b" " * ((1 << 20) + 1)
    Path("large").write_bytes(text)
    said = run(*args, stdin=text)
    assert (said.code, "more than can be taken in at once" in said.err) == (1, True)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "fifo"])
def test_a_constitution_is_a_file_and_no_device(run: Run, device: str) -> None:
    import os

    os.mkfifo("fifo")
    assert run("plan", "init", "x", "--slug", "x", "--plans-dir", "plans").code == 0
    said = run("plan", "set", "x", "constitution", device, "--plans-dir", "plans")
    assert said.code == 1
    assert "is not a regular file" in said.err or "is a FIFO" in said.err
