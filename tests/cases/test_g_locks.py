"""Group G: locks are the kernel's, on folders that are never deleted."""

import errno
import os
import shutil
import time
from pathlib import Path

import pytest

from journal import locks, witness
from journal.errors import Corrupt, Locked
from tests.cases.made import Child, files, make, readable, unchanged

fcntl = pytest.importorskip("fcntl")


def wait_for(path: Path) -> None:
    """Wait until another process has made a file."""
    deadline = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_g01_lock_of_a_killed_holder_is_free_at_once(tmp_path: Path) -> None:
    made = make(tmp_path)
    ready = tmp_path / "ready"

    def hold() -> None:
        with made.open() as engine, engine._core.appending(), engine._core.viewing():
            ready.touch()
            time.sleep(60)

    holder = Child(hold)
    wait_for(ready)
    with pytest.raises(Locked):
        made.open(lock_timeout_s=0.01)
    holder.kill()
    with made.open(lock_timeout_s=0.01) as engine:
        assert (engine.state, engine.messages) == ({"k": 5}, [])
    made.log_on()


def test_g01_no_lock_file_is_ever_made(tmp_path: Path) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        engine.append("set", {"path": "/k", "value": 6})
        names = {path.name for path in made.path.rglob("*")}
    assert not [name for name in names if "lock" in name]


@pytest.mark.parametrize(
    "pid",
    [1, os.getpid(), os.getppid(), 2**22 + 1],
    ids=["init", "this process", "its parent", "none"],
)
def test_g02_pid_in_the_witness_blocks_nobody(tmp_path: Path, pid: int) -> None:
    """It may belong to another program by now: it is for messages, with start and host."""
    made = make(tmp_path)
    found = witness.decode(made.witness.read_bytes())
    assert found is not None
    assert found.synced is not None
    writer = witness.Writer(pid, "2020-01-01T00:00:00.000Z", "another-host")
    changed = witness.Witness(synced=found.synced, views=found.views, writer=writer)
    made.witness.write_bytes(witness.encode(changed))
    with made.open(lock_timeout_s=0) as engine:
        assert engine.append("set", {"path": "/k", "value": 6}).seq == 6


def test_g02_message_about_a_held_lock_names_pid_start_and_host(tmp_path: Path) -> None:
    made = make(tmp_path)
    ready = tmp_path / "ready"

    def hold() -> None:
        with made.open() as engine, engine._core.appending():
            ready.touch()
            time.sleep(60)

    holder = Child(hold)
    wait_for(ready)
    with unchanged(made), pytest.raises(Locked) as caught:
        made.open(lock_timeout_s=0.01)
    holder.kill()
    assert (caught.value.exit_code, caught.value.timeout_s) == (4, 0.01)
    assert caught.value.path == str(made.path / "log")
    assert os.uname().nodename in caught.value.holder
    assert "started 2026-03-01" in caught.value.holder
    assert "the last writer was pid" in str(caught.value)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EBADF, errno.EINVAL, errno.ENOSYS])
def test_g04_file_system_without_locks_is_said_with_its_path_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    made = make(tmp_path)

    def refuse(fd: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with unchanged(made), pytest.raises(OSError, match="locks are not supported here") as caught:
        made.open()
    assert (caught.value.errno, caught.value.filename) == (number, str(made.path / "log"))
    assert "local file system" in str(caught.value)
    assert readable(made) == ([1, 2, 3, 4, 5], None)


def test_g04_system_without_flock_says_that_reading_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(tmp_path)
    monkeypatch.setattr(locks, "fcntl", None)
    with unchanged(made), pytest.raises(OSError, match="open the journal read-only"):
        made.open()
    assert readable(made) == ([1, 2, 3, 4, 5], None)


def test_g04_locks_that_end_during_a_run_fail_the_append_before_a_byte_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(tmp_path)
    with made.open() as engine:

        def refuse(fd: int, operation: int) -> None:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        before = files(made.path)
        monkeypatch.setattr(fcntl, "flock", refuse)
        with pytest.raises(OSError, match="locks are not supported here"):
            engine.append("set", {"path": "/k", "value": 6})
        monkeypatch.undo()
        assert files(made.path) == before
        assert engine.append("set", {"path": "/k", "value": 6}).seq == 6


def test_g05_log_folder_that_was_exchanged_is_noticed_before_a_byte_goes_to_the_old_one(
    tmp_path: Path,
) -> None:
    """The lock is on the folder itself; a copy in its place is another folder, and another file."""
    made = make(tmp_path)
    with made.open() as engine:
        (made.path / "log").rename(made.path / "old-log")
        shutil.copytree(made.path / "old-log", made.path / "log")
        with made.open() as other:
            other.append("set", {"path": "/k", "value": "other"})
        before = files(made.path)
        with pytest.raises(Corrupt) as caught:
            engine.append("set", {"path": "/k", "value": 6})
        assert "changed by another program" in caught.value.why
        assert files(made.path) == before
    made.log_on()


def test_g05_log_folder_that_is_gone_fails_the_append(tmp_path: Path) -> None:
    made = make(tmp_path)
    engine = made.open()
    (made.path / "log").rename(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="No such file") as caught:
        engine.append("set", {"path": "/k", "value": 6})
    assert str(made.path / "log") in str(caught.value)
    (tmp_path / "elsewhere").rename(made.path / "log")
    assert engine.append("set", {"path": "/k", "value": 6}).seq == 6
    engine.close()
    made.log_on()
