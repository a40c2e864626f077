"""Row 9: the disk is full at every position of an append, or the file may not grow any more.

I1  What cannot be written is refused by `OSError`; what was acknowledged is there and readable.
I2  A journal opens read-only with no byte free, whatever stands at its end.
I3  When there is room again the same engine goes on, and so does a new one; nothing is missing.
"""

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import journal
from journal import config as configs
from journal.config import SnapshotsConfig
from journal.engine import Engine
from tests.faults.device import CannotRun, small_tmpfs
from tests.faults.row import Outcome, Row, Skipped, Tier, Violation
from tests.faults.tree import memory_folder

_PAGE_BYTES = 4096
_DISK_PAGES = 400
PAGES_LEFT = {"quick": range(26), "full": range(60)}
PAD_BYTES = {"quick": (10, 900, 6000), "full": (10, 100, 300, 900, 2000, 4096, 6000, 20_000)}
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def run(tier: Tier) -> Outcome:
    """Fill a small disk up to every page, and limit the size of files at every byte."""
    notes, count = [], 0
    skipped: list[Skipped] = []
    with memory_folder() as folder:
        limited = append_at_every_limit(folder / "limited")
        notes.append(f"{limited} limits on the size of a file, byte by byte over one append")
        try:
            with small_tmpfs(folder / "small", _DISK_PAGES * _PAGE_BYTES):
                for pages in PAGES_LEFT[tier]:
                    for pad_bytes in PAD_BYTES[tier]:
                        fill_and_free(folder / "small", pages, pad_bytes)
                        count += 1
            notes.append(f"{count} full disks, from 0 to {max(PAGES_LEFT[tier])} pages left")
        except CannotRun as error:
            skipped.append(error.skipping("small disks"))
    return Outcome(count + limited, tuple(skipped), tuple(notes))


# --- a full disk ---------------------------------------------------------------------------------


def fill_and_free(disk: Path, pages_left: int, pad_bytes: int) -> None:
    """Append until a disk with so many pages left is full, then make room; raises `Violation`."""
    path, filler = disk / "journal", disk / "filler"
    _make(path, segment_bytes=9000)
    with journal.open(path) as engine:
        told = [_append(engine, n, pad_bytes) for n in range(1, 4)]
        _fill(filler, pages_left)
        while len(told) < 1000 and (seq := _try(engine, len(told) + 1, pad_bytes)):
            told.append(seq)
        for _ in range(3):
            if seq := _try(engine, len(told) + 1, pad_bytes):
                told.append(seq)
        _check_readable(path, told, engine)
        _check_opening(path, told)
        filler.unlink()
        told += [_append(engine, len(told) + n, pad_bytes) for n in (1, 2)]
    _check_at_rest(path, told)
    _remove(disk)


def _fill(filler: Path, pages_left: int) -> None:
    """Take all room but so many pages."""
    with filler.open("wb", buffering=0) as file, _full_is_fine():
        while file.write(bytes(_PAGE_BYTES)):
            pass
    size = filler.stat().st_size - pages_left * _PAGE_BYTES
    with filler.open("r+b", buffering=0) as file:
        file.truncate(max(0, size))


@contextmanager
def _full_is_fine() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise


def _check_opening(path: Path, told: list[int]) -> None:
    """With a torn end and no room to save it, writers are refused and readers are not (I2)."""
    newest = max((path / "log").glob("*.jsonl"))
    size = newest.stat().st_size
    closed = not newest.stat().st_mode & 0o200
    torn = False
    if not closed:
        with _full_is_fine(), newest.open("ab", buffering=0) as file:
            file.write(b'{"seq":9')
            torn = True
    _check_readable(path, told, None)
    messages: list[str] = []
    try:
        journal.open(path, on_message=messages.append).close()
    except OSError as error:
        if error.errno not in _FULL:
            raise Violation(f"opening on a full disk raised {error!r} (I1)") from error
        if torn:
            with newest.open("r+b") as file:
                file.truncate(size)
    _check_readable(path, told, None)


# --- a limit on the size of a file ---------------------------------------------------------------


def append_at_every_limit(path: Path) -> int:
    """Let a file grow up to each byte of an append and no further; return how many there were."""
    _make(path, segment_bytes=1 << 20)
    with journal.open(path) as engine:
        told = [_append(engine, n, 200) for n in range(1, 30)]
        size = _log_size(path)
        told.append(_append(engine, len(told) + 1, 200))
        length = _log_size(path) - size
        for more in range(length):
            with _limited(_log_size(path) + more):
                if _try(engine, len(told) + 1, 200):
                    raise Violation(f"an append fitted into {more} of {length} bytes (I1)")
                _check_readable(path, told, engine)
            if more % 16 == 0:
                told.append(_append(engine, len(told) + 1, 200))
    _check_at_rest(path, told)
    return length


@contextmanager
def _limited(size_bytes: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _log_size(path: Path) -> int:
    return sum(file.stat().st_size for file in (path / "log").glob("*.jsonl"))


# --- appending, and what must hold ---------------------------------------------------------------


def _make(path: Path, *, segment_bytes: int) -> None:
    journal.init(path).close()
    settings = configs.read(path)
    settings.segment_bytes = segment_bytes
    settings.snapshots = SnapshotsConfig(min_bytes=2000, log_ratio=0.5, keep=3)
    configs.write(path, settings)


def _append(engine: Engine, number: int, pad_bytes: int) -> int:
    """Append a number and some content as one append; return the seq of the number."""
    value = "x" * (pad_bytes // 2)
    return engine.append_batch(
        [
            ("set", {"path": "/left", "value": value}),
            ("set", {"path": "/n", "value": number}),
            ("set", {"path": "/right", "value": value}),
        ]
    )[1].seq


def _try(engine: Engine, number: int, pad_bytes: int) -> int:
    """Append as above if there is room; 0 if there is none, and then nothing has changed."""
    before = engine.state
    try:
        return _append(engine, number, pad_bytes)
    except OSError as error:
        if error.errno not in _FULL:
            raise Violation(f"a full disk is said as {error!r} (I1)") from error
    except journal.JournalError as error:
        raise Violation(f"a full disk is said as {error!r} (I1)") from error
    if engine.state != before:
        raise Violation(f"number {number} was refused and is in the state (I1)")
    return 0


def _check_readable(path: Path, told: list[int], engine: Engine | None) -> None:
    """Check that all that was acknowledged can be read, and nothing else (I1, I2)."""
    with journal.open(path, read_only=True) as reader:
        _check_numbers(reader, told)
        if engine is not None and engine.state != reader.state:
            raise Violation("the engine and the disk have different states (I1)")


def _check_numbers(engine: Engine, told: list[int]) -> None:
    found = [
        (event.data["value"], event.seq)
        for event in engine.events()
        if event.type == "set" and event.data["path"] == "/n"
    ]
    if found != list(enumerate(told, 1)):
        raise Violation(f"acknowledged was {list(enumerate(told, 1))}, found {found} (I1)")


def _check_at_rest(path: Path, told: list[int]) -> None:
    with journal.open(path, lock_timeout_s=0.0) as engine:
        _check_numbers(engine, told)
        report = engine.verify()
        view = journal.codec.decode_value((path / "state.json").read_bytes())
        if not report.ok or view != engine.state or engine.state["n"] != len(told):
            raise Violation(f"when there is room again: {report.problems} (I3)")
    if left := list(path.rglob("*.journal-tmp")):
        raise Violation(f"left behind: {left} (I3)")


def _remove(disk: Path) -> None:
    for file in sorted(disk.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()


ROW = Row(9, "a full disk at every position, limits on the size of a file", run)
