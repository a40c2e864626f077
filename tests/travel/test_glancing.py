"""What is told of damage by commands that read only a little of the log."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import journal
from journal.engine import glancing
from journal.engine.glancing import glance
from tests.cli.command import run
from tests.travel import made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Make a journal of several segments whose newest state is in its view."""
    appends = [[("set", {"path": f"/n{n}", "value": n})] for n in range(20)]
    made.make(tmp_path / "run", appends, segment_bytes=900)
    assert len(list((tmp_path / "run" / "log").glob("*.jsonl"))) > 3
    return tmp_path / "run"


def second(path: Path) -> Path:
    """Return the second segment of a journal, which may be written from now on."""
    found = sorted((path / "log").glob("*.jsonl"))[1]
    found.chmod(0o600)
    return found


def cut_in_a_line(segment: Path) -> None:
    os.truncate(segment, segment.stat().st_size - 20)


def cut_behind_a_line(segment: Path) -> None:
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(lines[:-1]))


def lengthen_a_value(segment: Path) -> None:
    segment.write_bytes(segment.read_bytes().replace(b'"/n', b'"/no', 1))


def spoil_the_first_line(segment: Path) -> None:
    data = segment.read_bytes()
    segment.write_bytes(data[:20] + b"!" + data[21:])


def empty(segment: Path) -> None:
    os.truncate(segment, 0)


def remove(segment: Path) -> None:
    segment.unlink()


DAMAGE: list[tuple[Callable[[Path], None], str]] = [
    (cut_in_a_line, "its last line is not whole"),
    (cut_behind_a_line, "and the next segment starts at event"),
    (lengthen_a_value, "bytes, and had"),
    (spoil_the_first_line, "the first line of the segment is not whole"),
    (empty, "the first line of the segment is not whole"),
    (remove, "as the one before it"),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGE)
def test_damage_at_the_ends_of_a_segment_that_is_not_read_is_told(
    path: Path, damage: Callable[[Path], None], words: str
) -> None:
    damage(second(path))
    with journal.open(path, read_only=True) as engine:
        assert engine.messages == []  # Opening did not come by it.
        told, status = engine.glance().problems, engine.status()
    assert any(words in text for text in told)
    assert (status.healthy, status.messages) == (False, told)
    for args in (["state"], ["diff", "head~1", "head"], ["head"], ["status"]):
        ran = run(*args, "-d", str(path))
        assert ran.code == 0
        assert told[0] in ran.err + ran.out


@pytest.fixture
def ends_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every segment be too large to be read."""
    monkeypatch.setattr(glancing, "_WHOLE_BYTES", 0)


@pytest.mark.usefixtures("ends_only")
def test_a_healthy_journal_is_said_to_be_so_with_what_was_not_read(path: Path) -> None:
    with journal.open(path, read_only=True) as engine:
        assert engine.glance().problems == []
        status = engine.status()
    assert (status.healthy, status.read_after) == (True, status.seq)
    shown = run("status", "-d", str(path))
    assert f"behind event {status.seq}, before it the ends and sizes of segments" in shown.out
    assert run("state", "-d", str(path)).err == ""


@pytest.mark.usefixtures("ends_only")
def test_what_the_ends_do_not_show_is_not_claimed(path: Path) -> None:
    segment = second(path)
    segment.write_bytes(segment.read_bytes().replace(b'"/n', b'"/m', 1))
    assert "as far as was looked at; `journal verify`" in run("status", "-d", str(path)).out
    assert run("verify", "-d", str(path)).code == 5


def test_a_repair_leaves_nothing_to_be_told(path: Path) -> None:
    cut_in_a_line(second(path))
    assert run("repair", "-d", str(path)).code == 0
    with journal.open(path, read_only=True) as engine:
        assert engine.glance().problems == []


def test_what_was_said_at_opening_is_not_said_again(path: Path) -> None:
    cut_in_a_line(second(path))
    (path / "state.json").unlink()
    for snapshot in (path / "snapshots").iterdir():
        snapshot.unlink()
    ran = run("state", "-d", str(path))
    assert ran.code == 5
    assert ran.err.count("journal:") == 1


def test_a_small_log_is_looked_at_whole(path: Path) -> None:
    with journal.open(path, read_only=True) as engine:
        assert engine.status().read_after == 0
    segment = second(path)
    segment.write_bytes(segment.read_bytes().replace(b'"/n', b'"/m', 1))
    shown = run("status", "-d", str(path)).out
    assert "not healthy" in shown
    assert f"{segment}, line 2, byte " in shown
    assert f"{segment}, line 2, byte " in run("state", "-d", str(path)).err


def test_of_a_large_log_the_newest_small_segments_are_looked_at_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = sorted((path / "log").glob("*.jsonl"))
    monkeypatch.setattr(glancing, "_WHOLE_BYTES", sum(one.stat().st_size for one in names[-2:]))
    with journal.open(path, read_only=True) as engine:
        assert engine.glance() == ([], int(names[-2].name[:20]) - 1)
        assert engine.status().read_after == int(names[-2].name[:20]) - 1


@pytest.mark.usefixtures("ends_only")
def test_the_glance_reads_a_few_lines_of_each_segment_only(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    real = os.pread

    def count(fd: int, size: int, offset: int) -> bytes:
        read.append(size)
        return real(fd, size, offset)

    with journal.open(path, read_only=True) as engine:
        history = engine._core.history
        monkeypatch.setattr(os, "pread", count)
        assert glance(history) == ([], history.tail.seq)
    assert len(read) <= 6 * len(history.names)
