"""Calls of the system that fail: what is refused, what goes on, what is dead until reopened.

The sweep over every call and errno is row 4 of `tests.faults`; these are its findings, each named.
"""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

import journal
from journal import config as configs
from journal.engine import Engine
from journal.errors import JournalError
from journal.segment import name_of
from tests.faults import diary
from tests.faults.counting import make_journal
from tests.faults.faultpoint import Call, FaultPoint


def fail(
    path: Path, name: str, where: str, *, fault: int = errno.EIO, times: int = 1
) -> FaultPoint:
    """Let calls of this name fail, so often, on what lies at `where` or begins with it."""
    left = times

    def each(call: Call) -> int:
        nonlocal left
        if left and call.name == name and call.path.startswith(where):
            left -= 1
            return fault
        return 0

    return FaultPoint(path, each=each)


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    """A journal with one event in segments that hold a few."""
    path = tmp_path / "run"
    make_journal(path, segment_bytes=600)
    with journal.open(path) as engine:
        put(engine, 0)
    return path


@pytest.fixture(name="engine")
def _engine(path: Path) -> Iterator[Engine]:
    with journal.open(path) as engine:
        yield engine


def put(engine: Engine, value: int) -> int:
    """Append one small event; return its seq."""
    return engine.append("set", {"path": "/n", "value": value}).seq


def fill(engine: Engine) -> None:
    """Append until the last segment takes no further append."""
    segments = len(list((engine.path / "log").glob("*.jsonl")))
    while not engine.status().log_bytes > 600 * segments:
        put(engine, 1)


def read(path: Path) -> object:
    """Return the state that a fresh reader finds."""
    with journal.open(path, read_only=True) as reader:
        return reader.state


# --- the log -------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT])
def test_failed_write_changes_nothing_and_the_engine_goes_on(
    path: Path, engine: Engine, fault: int
) -> None:
    with fail(path, "pwrite", "log/", fault=fault), pytest.raises(OSError, match="on purpose"):
        put(engine, 1)
    assert engine.state == read(path) == {"n": 0}
    assert put(engine, 2) == 3


def test_failed_sync_leaves_the_engine_dead_until_the_journal_is_opened_again(path: Path) -> None:
    with journal.open(path) as engine:
        with fail(path, "fdatasync", "log/"), pytest.raises(OSError, match="on purpose"):
            put(engine, 1)
        with pytest.raises(JournalError, match="open the journal again"):
            put(engine, 2)
    with journal.open(path) as engine:
        assert put(engine, 3) == 4


def test_write_that_cannot_be_taken_back_leaves_the_engine_dead(path: Path) -> None:
    """The bytes may stand there whole: the next one must not take them for an event of others."""
    faults = {"pwrite": errno.ENOSPC, "ftruncate": errno.EIO}
    with journal.open(path) as engine:
        with (
            FaultPoint(path, each=lambda c: faults.get(c.name, 0) if c.path[:4] == "log/" else 0),
            pytest.raises(OSError, match="on purpose"),
        ):
            put(engine, 1)
        with pytest.raises(JournalError, match="open the journal again"):
            put(engine, 2)
    assert read(path) == {"n": 0}


def test_sync_that_fails_when_a_write_is_taken_back_leaves_the_engine_dead(path: Path) -> None:
    """That failure may be told of bytes that others wait for: no later sync would tell it again."""
    faults = {"pwrite": errno.ENOSPC, "fdatasync": errno.EIO}
    with journal.open(path) as engine:
        with (
            FaultPoint(path, each=lambda c: faults.get(c.name, 0) if c.path[:4] == "log/" else 0),
            pytest.raises(OSError, match="on purpose"),
        ):
            put(engine, 1)
        with pytest.raises(JournalError, match="open the journal again"):
            put(engine, 2)


# --- rotation ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pwrite", "open", "replace"])
def test_rotation_that_finds_the_disk_full_is_done_by_the_next_append(
    path: Path, engine: Engine, name: str
) -> None:
    fill(engine)
    following = f"log/{name_of(engine.seq + 1)}"
    with (
        fail(path, name, following, fault=errno.ENOSPC),
        pytest.raises(OSError, match="on purpose"),
    ):
        put(engine, 2)
    seq = put(engine, 3)
    assert read(path) == {"n": 3}
    assert [event.seq for event in engine.events()] == list(range(1, seq + 1))
    assert engine.verify().ok


@pytest.mark.parametrize("place", ["log/", "log"])
def test_failed_sync_of_a_new_segment_or_its_name_leaves_the_engine_dead(
    path: Path, place: str
) -> None:
    with journal.open(path) as engine:
        fill(engine)
        with fail(path, "fsync", place), pytest.raises(OSError, match="on purpose"):
            put(engine, 2)
        with pytest.raises(JournalError, match="open the journal again"):
            put(engine, 3)
    with journal.open(path) as engine:
        assert engine.verify().ok
        put(engine, 4)


def test_temporary_file_that_cannot_be_removed_does_not_hide_the_failed_sync(path: Path) -> None:
    faults = {"fsync": errno.EIO, "unlink": errno.EIO}
    with journal.open(path) as engine:
        fill(engine)
        with (
            FaultPoint(path, each=lambda c: faults.get(c.name, 0) if c.path[:4] == "log/" else 0),
            pytest.raises(OSError, match="fsync"),
        ):
            put(engine, 2)
        with pytest.raises(JournalError, match="open the journal again"):
            put(engine, 3)


def test_keys_of_a_closed_segment_that_cannot_be_written_stop_nobody(
    path: Path, engine: Engine
) -> None:
    event = engine.append("set", {"path": "/k", "value": 1}, id="once")
    fill(engine)
    with FaultPoint(
        path, each=lambda c: errno.EIO if c.path.endswith(".ids (new)") else 0
    ) as point:
        put(engine, 2)
    assert point.hit
    assert engine.append("set", {"path": "/k", "value": 1}, id="once") == event


def test_segment_that_cannot_be_looked_at_is_not_taken_for_missing_and_replaced(path: Path) -> None:
    """Another writer has rotated; the name of the next segment cannot be looked at, once."""
    with journal.open(path) as engine:
        with journal.open(path) as other:
            fill(other)
            put(other, 2)
            put(other, 3)
        newest = max((path / "log").glob("*.jsonl"))
        with fail(path, "stat", f"log/{newest.name}"), pytest.raises(OSError, match="on purpose"):
            put(engine, 4)
        put(engine, 5)
        assert engine.verify().ok


def test_folder_of_the_log_is_synced_before_a_segment_of_another_writer_is_appended_to(
    path: Path,
) -> None:
    """Its maker may have been killed before it synced the name; all that follows hangs on that."""
    with FaultPoint(path) as point, journal.open(path) as engine:
        assert Call("fsync", "log") in point.calls
        with point.paused(), journal.open(path) as other:
            fill(other)
            put(other, 2)
        seen = len(point.calls)
        put(engine, 3)
        assert Call("fsync", "log") in point.calls[seen:]


# --- views, witness, snapshots -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["open", "pwrite", "replace", "fstat"])
def test_view_that_cannot_be_written_refuses_no_append_and_flush_writes_it(
    path: Path, engine: Engine, name: str
) -> None:
    with fail(path, name, "state.json", times=9):
        put(engine, 1)
    assert any("could not be written" in message for message in engine.messages)
    engine.flush()
    assert (path / "state.json").read_bytes() == b'{\n  "n": 1\n}\n'


@pytest.mark.parametrize("name", ["flock", "pread", "pwrite", "fstat"])
def test_witness_that_cannot_be_read_or_written_refuses_no_append_and_no_opening(
    path: Path, engine: Engine, name: str
) -> None:
    where = "." if name == "flock" else "witness.json"
    with fail(path, name, where, times=9):
        assert put(engine, 1) == 3
    if name == "pwrite":
        with fail(path, name, where, times=9), journal.open(path) as other:
            assert put(other, 2) == 4


@pytest.mark.parametrize("name", ["lstat", "fstat", "pread"])
@pytest.mark.parametrize("where", ["state.json", "diary.jsonl", "witness.json"])
def test_view_that_cannot_be_looked_at_refuses_no_append_where_changes_are_adopted(
    tmp_path: Path, name: str, where: str
) -> None:
    with journal.init(tmp_path / "run", projection=diary.PROJECTION) as engine:
        (tmp_path / "run/state.json").write_bytes(b'{"n": 7}\n')
        with (tmp_path / "run/diary.jsonl").open("ab") as file:
            file.write(b'{"text":"by hand"}\n')
        with fail(tmp_path / "run", name, where, times=9):
            engine.append("counted", {"n": 1})
        engine.append("entered", {"text": "an entry"})
    assert read_diary(tmp_path / "run") == 2


def read_diary(path: Path) -> int:
    """Return how many entries there are, each once in the log and once in the view."""
    lines = (path / "diary.jsonl").read_bytes().splitlines()
    with journal.open(path, projection=diary.PROJECTION, read_only=True) as reader:
        texts = [event.data["text"] for event in reader.events() if event.type == "entered"]
    assert sorted(journal.codec.decode_value(line)["text"] for line in lines) == sorted(texts)
    return len(texts)


def test_checkpoint_whose_file_cannot_be_written_is_recorded_and_comes_with_a_rebuild(
    path: Path, engine: Engine
) -> None:
    with fail(path, "pwrite", "snapshots/", fault=errno.ENOSPC):
        found = engine.snapshot(trigger="before the risky step")
    assert "could not be written" in found.problem
    assert engine.rebuild().written == [f"snapshots/{found.file}"]
    assert msgspec.structs.replace(found, problem="") in engine.snapshots()


def test_coalesced_view_is_written_by_close_although_the_last_append_was_refused(
    tmp_path: Path,
) -> None:
    with journal.init(tmp_path / "run", views_every_ms=60_000) as engine:
        put(engine, 1)
        with pytest.raises(journal.UsageError):
            engine.append("remove", {"path": "/missing"})
    assert (tmp_path / "run/state.json").read_bytes() == b'{\n  "n": 1\n}\n'


# --- what is left --------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [".", "log", "snapshots", "quarantine"])
def test_temporary_files_of_a_killed_writer_are_removed_by_the_next_opening(
    path: Path, where: str
) -> None:
    (path / where).mkdir(exist_ok=True)
    left = path / where / ".state.json.0123456789abcdef.journal-tmp"
    left.write_bytes(b"{")
    with journal.open(path, read_only=True):
        assert left.exists()
    with journal.open(path):
        assert not left.exists()


@pytest.mark.parametrize("call", [journal.open, lambda p: journal.open(p, read_only=True)])
@pytest.mark.parametrize("where", [configs.FILE_NAME, "log"])
def test_opening_that_fails_gives_back_its_descriptors_and_its_locks(
    path: Path, call: Callable[[Path], Engine], where: str
) -> None:
    with fail(path, "pread", where), pytest.raises(OSError, match="on purpose"):
        call(path)
    with journal.open(path, lock_timeout_s=0.0) as engine:
        put(engine, 1)
