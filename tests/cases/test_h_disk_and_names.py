"""Group H: full disks, rights, names that are in the way, and files that others exchange."""

import errno
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import journal
from journal.errors import Corrupt, Drift
from tests.cases.made import (
    NOBODY,
    Made,
    append_to,
    as_nobody,
    clock,
    files,
    make,
    make_segments,
    no_file_over,
    owned_by_nobody,
    readable,
    refused,
    unchanged,
)

# --- H01 and H02: no space -----------------------------------------------------------------------


def failing(monkeypatch: pytest.MonkeyPatch, name: str, number: int, *, times: int = 10**9) -> None:
    """Let one call of the system fail some times, as on a full or broken disk."""
    real: Callable[..., Any] = getattr(os, name)
    left = [times]

    def call(*arguments: Any, **options: Any) -> Any:
        if left[0] > 0:
            left[0] -= 1
            raise OSError(number, os.strerror(number))
        return real(*arguments, **options)

    monkeypatch.setattr(os, name, call)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_h01_full_disk_fails_the_append_and_changes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        before = files(made.path)
        failing(monkeypatch, "pwrite", number, times=1)
        with pytest.raises(OSError, match=os.strerror(number)) as caught:
            engine.append("set", {"path": "/k", "value": 6})
        monkeypatch.undo()
        assert caught.value.errno == number
        assert files(made.path) == before
        assert (engine.seq, engine.state) == (5, {"k": 5})
        assert engine.append("set", {"path": "/k", "value": 6}).seq == 6
    made.log_on()


def test_h01_disk_that_fills_up_after_the_log_leaves_the_event_and_says_what_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing after the commit point may refuse: the next append heals the view."""
    made = make(tmp_path)
    old = made.state.read_bytes()
    real = os.open

    def no_new_file(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return real(path, flags, *arguments, **options)

    with made.open() as engine:
        monkeypatch.setattr(os, "open", no_new_file)
        assert engine.append("set", {"path": "/k", "value": 6}).seq == 6
        monkeypatch.undo()
        assert any("state.json could not be written" in said for said in engine.messages)
        assert made.state.read_bytes() == old
        engine.append("set", {"path": "/k", "value": 7})
        assert b'"k": 7' in made.state.read_bytes()
        assert engine.verify().ok
    assert not [path for path in made.path.rglob("*") if "tmp" in path.name]


@pytest.mark.parametrize("room", [0, 1, 50, 100])
def test_h01_reading_works_with_no_byte_free(tmp_path: Path, room: int) -> None:
    made = make(tmp_path)
    made.add(made.next_line()[:room])
    with no_file_over(0), unchanged(made), made.read() as engine:
        assert (engine.state, engine.verify().ok) == ({"k": 5}, True)
        assert len(list(engine.events())) == 5


def test_h01_torn_tail_on_a_full_disk_is_not_cut(tmp_path: Path) -> None:
    """The bytes cannot be saved, so they stay."""
    made = make(tmp_path)
    made.add(made.next_line()[:40])
    before = files(made.path)
    with no_file_over(10), pytest.raises(OSError, match="too large"):
        made.open()
    (made.path / "quarantine").rmdir()
    assert files(made.path) == before
    made.log_on()


def test_h02_short_write_is_continued_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(tmp_path)
    real = os.pwrite

    def seven_bytes(fd: int, data: Any, offset: int) -> int:
        return real(fd, bytes(data)[:7], offset)

    with made.open() as engine:
        monkeypatch.setattr(os, "pwrite", seven_bytes)
        engine.append("set", {"path": "/k", "value": "x" * 100})
        monkeypatch.undo()
        assert engine.verify().ok
    with made.open() as engine:
        assert (engine.state, engine.messages) == ({"k": "x" * 100}, [])


@pytest.mark.parametrize("room", [1, 90, 200])
def test_h02_short_write_into_a_full_disk_is_taken_back_before_the_error(
    tmp_path: Path, room: int
) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        log = made.log.read_bytes()
        with no_file_over(len(log) + room), pytest.raises(OSError, match="too large"):
            engine.append("set", {"path": "/k", "value": "x" * 220})
        assert made.log.read_bytes() == log
        engine.append("set", {"path": "/k", "value": 6})
    assert readable(made) == ([1, 2, 3, 4, 5, 6], None)


# --- H04 and H05: rights -------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's file")
def test_h04_journal_of_another_user_is_a_permission_error_and_nothing_is_tried(
    shared_path: Path,
) -> None:
    made = make(shared_path)
    with unchanged(made):
        for read_only in (False, True):
            answer = as_nobody(lambda read_only=read_only: made.open(read_only=read_only).close())  # type: ignore[misc]
            assert answer["error"] == "PermissionError"
            assert answer["path"].startswith(str(made.path))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's file")
@pytest.mark.parametrize("name", ["the log", "witness.json"])
def test_h04_one_file_of_root_s_is_named_and_nothing_is_changed(
    shared_path: Path, name: str
) -> None:
    """What one run under sudo leaves."""
    made = make(shared_path)
    owned_by_nobody(made)
    path = made.log if name == "the log" else made.witness
    os.chown(path, 0, 0)
    with unchanged(made):
        answer = as_nobody(lambda: made.open().close())
    assert (answer["error"], answer["path"]) == ("PermissionError", str(path))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's file")
def test_h04_view_of_root_s_is_replaced_by_one_of_ours(shared_path: Path) -> None:
    """The folder is ours, so the rename is; its mode stays."""
    made = make(shared_path)
    owned_by_nobody(made)
    os.chown(made.state, 0, 0)
    made.state.chmod(0o644)
    answer = as_nobody(lambda: append_one(made))
    assert answer == 6
    assert stat.S_IMODE(made.state.stat().st_mode) == 0o644
    assert b'"k": 6' in made.state.read_bytes()


def append_one(made: Made) -> int:
    with made.open() as engine:
        return engine.append("set", {"path": "/k", "value": 6}).seq


def closed_to_all(made: Made) -> None:
    """Take every right to write away, as a read-only file system does."""
    for path in (made.path, *made.path.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_h05_read_only_folder_is_read_verified_and_time_travelled_without_making_anything(
    shared_path: Path,
) -> None:
    made = make_segments(shared_path, 10)
    owned_by_nobody(made)
    closed_to_all(made)

    def read_all() -> list[Any]:
        with made.read() as engine:
            return [
                engine.state,
                engine.state_at(3),
                engine.verify().ok,
                len(list(engine.events())),
                engine.head().seq,
                engine.status().seq,
                len(engine.snapshots()),
            ]

    with unchanged(made):
        assert as_nobody(read_all) == [{"k": 10}, {"k": 3}, True, 10, 10, 10, 0]


def test_h05_append_to_a_read_only_folder_fails_first_thing(shared_path: Path) -> None:
    made = make(shared_path)
    owned_by_nobody(made)
    closed_to_all(made)
    with unchanged(made):
        answer = as_nobody(lambda: append_one(made))
    assert answer["error"] == "PermissionError"
    assert answer["path"].startswith(str(made.path))


# --- H07 and H10: links and names in the way -----------------------------------------------------


@pytest.mark.parametrize("target", ["missing", "elsewhere.json"])
def test_h07_link_in_the_view_s_place_that_is_not_recorded_is_drift_and_stays(
    tmp_path: Path, target: str
) -> None:
    made = make(tmp_path)
    made.state.unlink()
    (tmp_path / "run" / "elsewhere.json").write_text('{"mine": 1}')
    made.state.symlink_to(target)
    error = refused(made, Drift, 7)
    assert error.path == str(made.state)
    assert repr(target) in error.why
    assert readable(made) == ([1, 2, 3, 4, 5], None)


def test_h07_recorded_link_stays_and_the_file_it_leads_to_is_made_and_replaced(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run"
    path.mkdir()
    (path / "state.json").symlink_to("../elsewhere/state.json")
    (tmp_path / "elsewhere").mkdir()
    with journal.init(path, clock=clock) as engine:
        engine.append("set", {"path": "/k", "value": 1})
        assert (tmp_path / "elsewhere" / "state.json").read_bytes() == b'{\n  "k": 1\n}\n'
        (tmp_path / "elsewhere" / "state.json").unlink()
        engine.append("set", {"path": "/k", "value": 2})
    assert (path / "state.json").is_symlink()
    assert (tmp_path / "elsewhere" / "state.json").read_bytes() == b'{\n  "k": 2\n}\n'


@pytest.mark.parametrize("name", ["witness.json", "journal.yaml", "log", "quarantine", "snapshots"])
def test_h07_dangling_link_in_a_private_place_is_refused_and_stays(
    tmp_path: Path, name: str
) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        engine.snapshot()
    path = made.path / name
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.symlink_to(tmp_path / "missing")
    made.add(b"torn") if name != "log" else None
    with pytest.raises((OSError, Corrupt, journal.JournalError)):
        made.open().close()
    assert path.is_symlink()
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("suffix", [".tmp", ".bak", "~", ".new", ".lock", ".journal-tmp"])
def test_h10_name_beside_the_view_that_others_use_is_never_touched(
    tmp_path: Path, suffix: str
) -> None:
    made = make(tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    folder = Path(f"{made.state}{suffix}")
    folder.mkdir()
    link = made.path / f"witness.json{suffix}"
    link.symlink_to(victim)
    with made.open() as engine:
        append_to(engine, 8)
    assert victim.read_text() == "untouched"
    assert (folder.is_dir(), link.is_symlink()) == (True, True)


def test_h10_new_file_is_made_under_a_name_that_nobody_can_plant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(tmp_path)
    opened: list[tuple[str, int]] = []
    real = os.open

    def spy(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        opened.append((os.fspath(path), flags))
        return real(path, flags, *arguments, **options)

    with made.open() as engine:
        monkeypatch.setattr(os, "open", spy)
        append_to(engine, 7)
        monkeypatch.undo()
    new = [(name, flags) for name, flags in opened if flags & os.O_CREAT]
    assert len({name for name, _ in new}) == len(new) >= 2
    assert all(flags & os.O_EXCL and flags & os.O_NOFOLLOW for _, flags in new)
    assert all(Path(name).parent == made.path for name, _ in new)


@pytest.mark.parametrize("name", ["the log", "witness.json"])
def test_h10_file_with_a_second_name_is_not_written(tmp_path: Path, name: str) -> None:
    """A hard link would let two journals write one file."""
    made = make(tmp_path)
    path = made.log if name == "the log" else made.witness
    os.link(path, tmp_path / "second")
    with pytest.raises(OSError, match="hard links") as caught:
        made.open()
    assert caught.value.filename == str(path)
    assert readable(made) == ([1, 2, 3, 4, 5], None)


# --- H08: a rename that is refused ---------------------------------------------------------------


def test_h08_rename_that_is_refused_three_times_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        failing(monkeypatch, "replace", errno.EACCES, times=3)
        engine.append("set", {"path": "/k", "value": 6})
        monkeypatch.undo()
        assert (made.state.read_bytes(), engine.messages) == (b'{\n  "k": 6\n}\n', [])


def test_h08_rename_that_is_refused_for_ever_leaves_the_event_and_a_message_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(tmp_path)
    old = made.state.read_bytes()
    with made.open() as engine:
        failing(monkeypatch, "replace", errno.EACCES)
        assert engine.append("set", {"path": "/k", "value": 6}).seq == 6
        monkeypatch.undo()
        assert any("state.json could not be written" in said for said in engine.messages)
        assert made.state.read_bytes() == old
        assert not [path for path in made.path.rglob("*") if "tmp" in path.name]
        engine.append("set", {"path": "/k", "value": 7})
        assert made.state.read_bytes() == b'{\n  "k": 7\n}\n'
        assert engine.verify().ok
    assert made.quarantined == {}, "our own older bytes are not foreign"
    made.log_on()


# --- H11: mode and owner -------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o000, 0o007, 0o022, 0o077])
def test_h11_new_files_are_private_from_the_start_whatever_the_umask(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    real = os.open

    def spy(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        fd = real(path, flags, *arguments, **options)
        if flags & os.O_CREAT:
            modes.append(stat.S_IMODE(os.fstat(fd).st_mode))
        return fd

    old = os.umask(umask)
    try:
        monkeypatch.setattr(os, "open", spy)
        made = make(tmp_path, 3)
        with made.open() as engine:
            engine.snapshot()
        made.add(b"torn")
        made.open().close()
    finally:
        os.umask(old)
    assert set(modes) == {0o600}
    for path in (made.path, *made.path.rglob("*")):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o666, 0o604])
def test_h11_mode_of_a_view_stays_through_replacement(
    tmp_path: Path, umask: int, mode: int
) -> None:
    made = make(tmp_path)
    made.state.chmod(mode)
    old = os.umask(umask)
    try:
        with made.open() as engine:
            engine.append("set", {"path": "/k", "value": 6})
        with made.open(on_drift="replace") as engine:
            engine.rebuild()
    finally:
        os.umask(old)
    assert stat.S_IMODE(made.state.stat().st_mode) == mode
    assert made.state.read_bytes() == b'{\n  "k": 6\n}\n'


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_h11_owner_of_a_view_stays_through_replacement(tmp_path: Path) -> None:
    made = make(tmp_path)
    os.chown(made.state, NOBODY, NOBODY)
    with made.open() as engine:
        engine.append("set", {"path": "/k", "value": 6})
    found = made.state.stat()
    assert (found.st_uid, found.st_gid) == (NOBODY, NOBODY)


# --- H13 and H14: files exchanged under us -------------------------------------------------------


def copied(made: Made) -> None:
    old = made.log.with_suffix(".old")
    made.log.rename(old)
    shutil.copy2(old, made.segment(1))


def shortened(made: Made) -> None:
    os.truncate(made.log, made.offset(4))


def emptied(made: Made) -> None:
    os.truncate(made.log, 0)


def removed(made: Made) -> None:
    made.log.rename(made.log.with_suffix(".old"))


@pytest.mark.parametrize("exchange", [copied, shortened, emptied])
def test_h13_log_exchanged_under_an_open_writer_is_noticed_before_the_append(
    tmp_path: Path, exchange: Callable[[Made], None]
) -> None:
    made = make(tmp_path)
    engine = made.open()
    exchange(made)
    with unchanged(made), pytest.raises(Corrupt) as caught:
        engine.append("set", {"path": "/k", "value": 6})
    assert caught.value.path == str(made.segment(1))
    assert "changed by another program" in caught.value.why
    with pytest.raises(journal.JournalError):
        engine.append("set", {"path": "/k", "value": 7})
    engine.close()
    if exchange is copied:
        made.log_on()


def test_h13_log_removed_under_an_open_writer_fails_the_append_with_its_path(
    tmp_path: Path,
) -> None:
    made = make(tmp_path)
    path = made.log
    engine = made.open()
    removed(made)
    with unchanged(made), pytest.raises(OSError, match="No such file") as caught:
        engine.append("set", {"path": "/k", "value": 6})
    assert caught.value.filename == str(path)
    engine.close()


@pytest.mark.parametrize("exchange", [shortened, emptied])
def test_h13_reader_whose_file_got_shorter_says_so(
    tmp_path: Path, exchange: Callable[[Made], None]
) -> None:
    made = make(tmp_path)
    with made.read() as engine:
        exchange(made)
        with pytest.raises(Corrupt, match="changed by another program"):
            engine.refresh()


def test_h13_witness_and_view_removed_under_an_open_writer_are_written_again(
    tmp_path: Path,
) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        made.forget()
        made.state.unlink()
        engine.append("set", {"path": "/k", "value": 6})
    assert made.state.read_bytes() == b'{\n  "k": 6\n}\n'
    made.log_on()


@pytest.mark.parametrize("events", [5, 50])
def test_h14_log_emptied_by_another_tool_is_refused_and_never_starts_at_1_again(
    tmp_path: Path, events: int
) -> None:
    made = make(tmp_path, events)
    os.truncate(made.log, 0)
    error = refused(made, Corrupt, 5)
    for fact in (f"events 1 to {events}", f"event {events} was known", "end at event 0"):
        assert fact in error.why


@pytest.mark.parametrize("name", [".1", ".gz", ".bak", "-20260301"])
def test_h14_log_renamed_by_another_tool_is_refused_and_the_other_name_is_mentioned(
    tmp_path: Path, name: str
) -> None:
    made = make(tmp_path)
    renamed = Path(f"{made.log}{name}")
    made.log.rename(renamed)
    error = refused(made, Corrupt, 5)
    assert error.path == str(made.path / "log")
    assert renamed.name in error.why


def test_h14_log_rotated_by_another_tool_is_refused(tmp_path: Path) -> None:
    """Renamed, and an empty one put in its place."""
    made = make(tmp_path)
    path = made.log
    made.log.rename(f"{made.log}.1")
    path.touch(mode=0o600)
    assert "events 1 to 5" in refused(made, Corrupt, 5).why
