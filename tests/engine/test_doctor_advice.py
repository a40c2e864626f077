"""Damage done by hand, and nothing followed but what the doctor advises: until all is healthy."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import journal
from journal import durable
from journal.engine import repairing
from tests.cases.made import as_nobody, make, make_segments, owned_by_nobody, seal
from tests.cli.command import run
from tests.engine.test_doctor import follow, look

Damage = Callable[[Path], None]
_ROUNDS = 4


def segments(folder: Path) -> list[Path]:
    return sorted((folder / "log").glob("*.jsonl"))


def rewrite(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


def swap_segments(folder: Path) -> None:
    first, second = segments(folder)[1:3]
    first.rename(folder / "x")
    second.rename(first)
    (folder / "x").rename(second)


def cut_at_a_line(folder: Path) -> None:
    last = segments(folder)[-1]
    rewrite(last, b"".join(last.read_bytes().splitlines(keepends=True)[:-1]))


def cut_behind_a_snapshot_without_witness(folder: Path) -> None:
    newest = max((folder / "snapshots").iterdir())
    shutil.copy(newest, newest.with_name(f"{99:020d}.manual.json"))
    (folder / "witness.json").unlink()


def lose_the_log(folder: Path) -> None:
    shutil.rmtree(folder / "log")


def lose_log_and_settings(folder: Path) -> None:
    lose_the_log(folder)
    (folder / "journal.yaml").unlink()


def link_the_log(folder: Path) -> None:
    (folder / "log").rename(folder / "elsewhere")
    (folder / "log").symlink_to("elsewhere")


def link_a_segment(folder: Path) -> None:
    segment = segments(folder)[1]
    segment.rename(folder / "elsewhere")
    segment.symlink_to("../elsewhere")


def mistype_the_settings(folder: Path) -> None:
    path = folder / "journal.yaml"
    path.write_text(path.read_text().replace("always", "allways"))


def put_nul(folder: Path) -> None:
    segment = segments(folder)[1]
    data = segment.read_bytes()
    rewrite(segment, data[:90] + bytes(40) + data[130:])


def file_at(name: str) -> Damage:
    def damage(folder: Path) -> None:
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).write_text("x")

    return damage


def folder_at(name: str) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / name
        if name.endswith("*"):
            path = next(folder.glob(name))
        path.unlink()
        path.mkdir()

    return damage


def fifo_at_the_view(folder: Path) -> None:
    (folder / "state.json").unlink()
    os.mkfifo(folder / "state.json")


def link_the_witness(folder: Path) -> None:
    (folder / "witness.json").rename(folder / "w")
    (folder / "witness.json").symlink_to("w")


def edit_without_witness(folder: Path) -> None:
    (folder / "witness.json").unlink()
    (folder / "state.json").write_text('{"k": 77}')


DAMAGES: dict[str, Damage] = {
    "segments swapped": swap_segments,
    "cut at a line": cut_at_a_line,
    "a snapshot beyond the end, no witness": cut_behind_a_snapshot_without_witness,
    "log gone": lose_the_log,
    "log and settings gone": lose_log_and_settings,
    "log a link": link_the_log,
    "segment a link": link_a_segment,
    "NUL in a segment": put_nul,
    "settings mistyped": mistype_the_settings,
    "snapshots a file": file_at("snapshots"),
    "quarantine a file": file_at("quarantine"),
    "log a file": file_at("log"),
    "settings a folder": folder_at("journal.yaml"),
    "segment a folder": folder_at("log/00000000000000000001.jsonl"),
    "snapshot a folder": folder_at("snapshots/*"),
    "witness a folder": folder_at("witness.json"),
    "witness a link": link_the_witness,
    "view a folder": folder_at("state.json"),
    "view a FIFO": fifo_at_the_view,
    "view edited, no witness": edit_without_witness,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGES)
def test_following_only_its_advice_ends_in_a_healthy_journal_that_takes_an_append(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "my run"
    make_segments(tmp_path, 9).path.rename(folder)
    with journal.open(folder) as engine:
        engine.snapshot()
        engine.append("set", {"path": "/k", "value": 5})
    DAMAGES[name](folder)
    found = look(folder)
    assert (found.healthy, found.exit_code != 0) == (False, True)
    rounds = 0
    while not found.healthy:
        assert rounds < _ROUNDS, (found.problems, found.remedies)
        follow(folder, found)
        found, rounds = look(folder), rounds + 1
    with journal.open(folder) as engine:
        engine.append("set", {"path": "/after", "value": 1})
    assert journal.doctor(folder).healthy


def test_swapped_segments_are_put_right_and_nothing_is_lost(tmp_path: Path) -> None:
    made = make_segments(tmp_path, 9)
    whole = [path.read_bytes() for path in segments(made.path)]
    swap_segments(made.path)
    repair = look(made.path).remedies[1]
    assert (repair.command.split()[:2], repair.loses) == (["journal", "repair"], "")
    follow(made.path, look(made.path))
    now = [path.read_bytes() for path in segments(made.path)]
    assert now[: len(whole) - 1] == whole[:-1]
    assert now[len(whole) - 1].startswith(whole[-1])


def test_a_file_with_two_names_is_noted_with_the_command_that_gives_it_its_own(
    tmp_path: Path,
) -> None:
    made = make_segments(tmp_path, 3)
    os.link(segments(made.path)[-1], tmp_path / "other name")
    (note,) = [note for note in look(made.path).notes if "hard links" in note]
    subprocess.run(["sh", "-ec", note.split("`")[1]], check=True)
    assert run("append", "-d", str(made.path), "set", '{"path": "/k", "value": 1}').code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody without rights")
@pytest.mark.parametrize("name", ["state.json", "journal.yaml", "log", "snapshots", "."])
def test_what_its_owner_may_not_read_is_opened_by_the_first_advice(
    shared_path: Path, name: str
) -> None:
    made = make_segments(shared_path, 3)
    with made.open() as engine:
        engine.snapshot()
    (made.path / name).chmod(0)
    owned_by_nobody(made)

    def answer() -> tuple[bool, str]:
        found = journal.doctor(made.path)
        return found.healthy, found.remedies[0].command

    healthy, command = as_nobody(answer)
    assert not healthy
    subprocess.run(["sh", "-ec", command], check=True)
    healthy, _ = as_nobody(lambda: (journal.doctor(made.path).healthy, ""))
    assert healthy


def test_a_log_that_gives_another_state_than_its_own_view_is_evidence_before_all_else(
    tmp_path: Path,
) -> None:
    made = make(tmp_path, 4)
    lines = [line.replace(b'"value":4', b'"value":9') for line in made.lines()]
    made.put(seal(lines))
    found = look(made.path)
    assert [problem.kind for problem in found.problems] == ["view"]
    first, second = found.remedies
    assert (first.command, "Keep this folder as it is" in first.does) == ("", True)
    assert second.does.startswith("where this log is the right one: ")
    advice = run("verify", "-d", str(made.path)).err
    assert f"`journal rebuild -d {made.path}`" in advice
    assert "journal adopt" not in advice


def test_what_nobody_vouches_for_is_not_advised_to_be_adopted(tmp_path: Path) -> None:
    made = make(tmp_path, 4)
    edit_without_witness(made.path)
    assert [one.command.split()[1] for one in look(made.path).remedies] == ["rebuild"]
    assert "journal adopt" not in run("verify", "-d", str(made.path)).err


def test_where_the_log_is_damaged_no_rebuild_and_no_adoption_is_advised(tmp_path: Path) -> None:
    made = make(tmp_path, 6)
    made.put(b"".join(made.lines()[:-2]))
    said = run("verify", "-d", str(made.path)).err
    assert f"`journal repair --dry-run -d {made.path}`" in said
    assert "journal rebuild" not in said + str(look(made.path).remedies)
    assert "journal adopt" not in said + str(look(made.path).remedies)


@pytest.mark.parametrize("step", range(1, 6))
def test_putting_swapped_segments_right_is_completed_wherever_it_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    made = make_segments(tmp_path, 9)
    whole = [path.read_bytes() for path in segments(made.path)]
    swap_segments(made.path)
    steps = 0

    def count(name: str) -> None:
        real = getattr(durable, name)

        def call(*args: Any, **options: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == step:
                raise KeyboardInterrupt
            return real(*args, **options)

        monkeypatch.setattr(durable, name, call)

    count("write_file")
    count("link_aside")
    with contextlib.suppress(KeyboardInterrupt):
        repairing.repair(made.path)
    assert steps == step
    monkeypatch.undo()
    repairing.repair(made.path)
    now = [path.read_bytes() for path in segments(made.path)]
    assert now[: len(whole) - 1] == whole[:-1]
    assert now[len(whole) - 1].startswith(whole[-1])
    assert journal.doctor(made.path).healthy
