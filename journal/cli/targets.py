"""Files that a command writes because somebody named them.

I1  No part of a journal is written over: neither its log, its settings and its other private files,
    nor a view; of a projection of one's own, those views that `journal.yaml` names and state.json,
    for its code is not run to ask.
I2  A file is whole or as it was before: it is written beside the old one, and takes its name, its
    mode and its owner once it is whole and on disk. Whatever ends the command before, an error,
    Ctrl-C, `kill`, leaves no other file behind. (`kill -9` may, and the old file is as it was.)
I3  Only names that nobody can have planted are written to: no symlink, no file with another name.
I4  What is no file is written to directly: a pipe, a device, a descriptor such as /dev/stdout.
"""

import contextlib
import errno
import os
import signal
import stat
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from journal import config, durable, regular
from journal.cli import output
from journal.errors import JournalError, UsageError

_PRIVATE = (config.FILE_NAME, "log", "snapshots", "quarantine", "witness.json")
_DESCRIPTORS = ("/dev", "/dev/fd", "/proc/self/fd")
_STANDARD = {"stdout": "1", "stderr": "2"}
_STOPPING = (signal.SIGTERM, signal.SIGHUP)
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
_NEW_MODE = 0o666


@contextlib.contextmanager
def open_target(target: str) -> Generator[BinaryIO]:
    """Give a file to write on, which takes the name `target` when the block ends well (I2).

    Raises `UsageError` for a journal's own file (I1), `OSError` for a folder and for what I3
    refuses. A FIFO that nobody reads is not waited for (ENXIO).
    """
    refuse_own(target)
    with _naming(target):
        if os.path.dirname(os.path.abspath(target)) in _DESCRIPTORS:
            with open(_open_descriptor(target), "wb") as file:
                yield file
            return
        fd, found = _look(target)
        if found is not None and not stat.S_ISREG(found.st_mode):
            with open(fd, "wb") as file:
                yield file
            return
        with _stopped_by_signals():
            yield from _replace(target, found)


@contextlib.contextmanager
def _naming(target: str) -> Generator[None]:
    """Name the file that a full disk has no room for, and that may not be replaced."""
    try:
        yield
    except OSError as error:
        is_write = error.filename is None and error.errno in _NO_ROOM
        if is_write or error.filename2 == target:
            raise OSError(error.errno, error.strerror, target) from error
        raise


def _open_descriptor(target: str) -> int:
    """Return a descriptor for a name in /dev; one of our own goes on where it stands."""
    name = os.path.basename(target)
    number = _STANDARD.get(name, name)
    if number.isdecimal():
        return os.dup(int(number))
    return os.open(target, os.O_WRONLY | os.O_TRUNC)


def _look(target: str) -> tuple[int, os.stat_result | None]:
    """Open what stands there, if something does; a regular file is looked at, and closed again."""
    try:
        fd = os.open(target, os.O_WRONLY | regular.SAFE)
    except FileNotFoundError:
        return -1, None
    except OSError as error:
        if error.errno == errno.ELOOP:
            why = "is a symlink; name the file that it leads to"
            raise OSError(error.errno, why, error.filename) from None
        raise
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            os.set_blocking(fd, True)
            return fd, found
        if found.st_nlink > 1:
            why = f"has {found.st_nlink} hard links, all of which would change; name a new file"
            raise OSError(errno.EMLINK, why, target)
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return -1, found


def _replace(target: str, found: os.stat_result | None) -> Iterator[BinaryIO]:
    """Give a new file beside `target`, and rename it when it is whole (I2)."""
    new = _make_beside(target, found)
    try:
        # By its name, which nobody can guess; another file there would have another mode or owner.
        with open(regular.open_file(new.temporary, write=True), "wb") as file:
            yield file
            file.flush()
            durable.sync(file.fileno())
        new.commit()
    except BaseException:
        new.discard()
        before = "" if found is None else "; it is as it was before"
        output.say(f"{target} was not written{before}")
        raise
    durable.sync_folder(os.path.dirname(target) or ".")


def _make_beside(target: str, found: os.stat_result | None) -> durable.Replacement:
    mode = _NEW_MODE & ~_umask() if found is None else stat.S_IMODE(found.st_mode)
    owner = None if found is None else (found.st_uid, found.st_gid)
    try:
        return durable.Replacement(target, b"", mode=mode, owner=owner, synced=False)
    except PermissionError as error:
        why = "no file may be made here"
        if found is not None:
            why += f", and {os.path.basename(target)} is made anew beside the old one"
        raise OSError(error.errno, why, os.path.dirname(target) or ".") from error
    except OSError as error:
        raise OSError(error.errno, error.strerror, target) from error


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it: to the strictest."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def _stopped_by_signals() -> Generator[None]:
    """Let `kill` and a terminal that closes end the command as Ctrl-C does, cleaning up (I2)."""
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {
            number: signal.signal(number, _stop)
            for number in _STOPPING
            if signal.getsignal(number) == signal.SIG_DFL
        }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, _frame: Any) -> NoReturn:
    raise SystemExit(128 + number)


def refuse_own(target: str) -> None:
    """Raise `UsageError` where `target` is a file of a journal."""
    path = Path(os.path.realpath(target))
    beside = [path.parent / "journal", *path.parent.glob("*.journal")]
    for folder in (*path.parents, *beside):
        if (folder / config.FILE_NAME).exists() and _is_own(folder, path):
            raise UsageError(
                f"{target}: a file of the journal in {folder}",
                key="output",
                advice="Nothing was written. Name another file.",
            )


def _is_own(folder: Path, path: Path) -> bool:
    if path.is_relative_to(folder) and path.relative_to(folder).parts[0] in _PRIVATE:
        return True
    names = {"state.json"}
    with contextlib.suppress(JournalError, OSError):
        from projections import catalog

        settings = config.read(folder)
        names |= set(settings.views.files.values())
        if settings.projection in catalog.BUILT_IN:
            views = catalog.find(settings.projection).views
            names = {settings.views.files.get(view.name, view.file) for view in views}
    return any(os.path.realpath(folder / name) == str(path) for name in names)
