"""`journal doctor`: it looks and changes nothing, counts as the others do, and its advice helps."""

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import journal
from journal.engine import repairing
from journal.engine.doctor.report import DoctorReport
from journal.engine.doctor.run import doctor
from journal.errors import JournalError
from journal.plural import span
from tests.cases.made import as_nobody, make, make_segments, seal
from tests.cli.command import run
from tests.faults.damage import damages
from tests.faults.tree import read_tree, write_tree


def glance(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Everything below a folder: bytes, mode and time of change."""
    return {
        str(path.relative_to(folder)): (
            path.read_bytes() if path.is_file() and not path.is_symlink() else b"",
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
        )
        for path in [folder, *folder.rglob("*")]
    }


def look(folder: Path) -> DoctorReport:
    before = glance(folder)
    found = doctor(folder)
    assert glance(folder) == before
    return found


def follow(folder: Path, found: DoctorReport) -> None:
    """Do the first thing it advises that is a command, as it stands there; it must work."""
    command = next(
        one.command for one in found.remedies if one.command and "FILE" not in one.command
    )
    words = shlex.split(command)
    if words[0] == "journal":
        done = run(*words[1:])
        assert done.code == 0, (command, done.err)
    else:
        subprocess.run(["sh", "-ec", command], check=True)


# --- laws ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["log", "witness.json", "state.json", "journal.yaml"])
def test_of_any_damage_it_says_what_verify_and_repair_say_and_its_advice_heals(
    tmp_path: Path, name: str
) -> None:
    made = make(tmp_path, 4)
    with made.open() as engine:
        engine.snapshot()
        engine.append("set", {"path": "/k", "value": 6})
    whole = read_tree(str(made.path))
    target = made.log if name == "log" else made.path / name
    tried = 0
    all_damages = list(damages(target.read_bytes()))
    for damaged in all_damages[:: len(all_damages) // 60 + 1]:
        write_tree(str(made.path), whole)
        target.write_bytes(damaged.data)
        found = look(made.path)
        tried += 1
        try:
            with journal.open(made.path, read_only=True, without_code=True) as engine:
                verified = engine.verify()
        except JournalError as error:
            code = error.exit_code
            assert found.kind == "unreadable", damaged
            assert (found.exit_code, found.healthy) == (code, False), damaged
        else:
            assert found.problems == verified.problems, damaged
            assert (found.exit_code == 0) == found.healthy == verified.ok, damaged
        plan = repairing.plan(made.path) if name != "journal.yaml" else None
        repairs = [one for one in found.remedies if one.command.startswith("journal repair")]
        if plan is not None and repairs:
            spans = [span(*lost) for one in plan.segments for lost in one.lost]
            assert repairs[0].loses == ", ".join(spans), damaged
        assert found.healthy or found.remedies, damaged
        for _ in range(3):
            if found.healthy or not any(one.command for one in found.remedies):
                break
            follow(made.path, found)
            found = look(made.path)
        assert found.healthy or name == "journal.yaml", (damaged, found.problems)
    assert tried > 10


# --- what it says of what ------------------------------------------------------------------------


def healthy(folder: Path) -> None:
    pass


def lose_settings(folder: Path) -> None:
    (folder / "journal.yaml").unlink()


def lose_log(folder: Path) -> None:
    for path in (folder / "log").iterdir():
        path.unlink()
    (folder / "log").rmdir()


def lose_segment(folder: Path) -> None:
    min((folder / "log").glob("*.jsonl")).unlink()


def be_newer(folder: Path) -> None:
    path = folder / "journal.yaml"
    path.write_text(path.read_text().replace("format: 1", "format: 7"))


def break_settings(folder: Path) -> None:
    with (folder / "journal.yaml").open("a") as file:
        file.write("durability: : x\n")


def edit_view(folder: Path) -> None:
    (folder / "state.json").write_text('{"k": 99}')


def leave_behind(folder: Path) -> None:
    (folder / ".state.json.0123456789abcdef.journal-tmp").write_text("x")
    with max((folder / "log").glob("*.jsonl")).open("ab") as file:
        file.write(b'{"seq":')


@pytest.mark.parametrize(
    ("change", "kind", "code", "said"),
    [
        (healthy, "journal", 0, "healthy"),
        (lose_settings, "unfinished", 1, "completes the journal"),
        (lose_log, "unreadable", 5, "put log/ back from a copy"),
        (lose_segment, "journal", 5, "put log/ back from a copy"),
        (be_newer, "unreadable", 6, "Use a newer version"),
        (break_settings, "unreadable", 5, "Mend the file by hand"),
        (edit_view, "journal", 5, "`journal adopt -d "),
        (leave_behind, "journal", 0, "7 bytes that are no whole append"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_it_names_what_is_wrong_and_the_way_out(
    tmp_path: Path, change: Callable[[Path], None], kind: str, code: int, said: str
) -> None:
    made = make_segments(tmp_path, 6)
    change(made.path)
    found = look(made.path)
    assert (found.kind, found.exit_code, found.healthy) == (kind, code, not code)
    done = run("doctor", str(made.path))
    assert done.code == code
    assert said in done.out
    assert done.err.endswith("nothing was changed\n")
    assert run("doctor", "-d", str(made.path), "--json").json["kind"] == kind


def test_what_is_no_journal_is_told_by_the_files_that_systems_use(tmp_path: Path) -> None:
    for name in (".agloop/state.json", "a/b/run/pipeline-state.json", "feed.state.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    found = look(tmp_path)
    assert (found.kind, found.exit_code) == ("none", 1)
    commands = " ".join(one.command for one in found.remedies)
    for group in ("agloop init", "pipeline status", "plan status feed"):
        assert f"journal {group}" in commands


def test_a_folder_that_is_not_there_and_a_file_are_answered(tmp_path: Path) -> None:
    assert doctor(tmp_path / "gone").what == "there is no such folder"
    file = tmp_path / "state.json"
    file.write_text("{}")
    assert doctor(file).remedies[0].command.startswith("journal import file")
    assert run("doctor", str(tmp_path / "gone")).code == 1
    assert not (tmp_path / "gone").exists()


def test_history_that_was_rewritten_is_kept_as_evidence(tmp_path: Path) -> None:
    made = make_segments(tmp_path, 9)
    first = made.segment(1)
    made.put(first.read_bytes().replace(b'"value":3', b'"value":7'), first)
    lines = made.lines(first)

    made.put(seal(lines), first)
    found = look(made.path)
    assert "chain" in {problem.kind for problem in found.problems}
    assert [one.command for one in found.remedies] == [""]
    assert "evidence" in found.remedies[0].does


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody without rights")
def test_what_may_not_be_read_is_said(shared_path: Path) -> None:

    made = make(shared_path, 3)
    kind, advised = as_nobody(lambda: (doctor(made.path).kind, bool(doctor(made.path).remedies)))
    assert (kind, advised) == ("unreadable", True)
