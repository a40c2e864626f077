"""The one module that makes bytes durable: it alone syncs, replaces, truncates and links.

I1  What is written is a regular file with one name (see `journal.regular`).
I2  A new file appears whole: written under a temporary name in its own folder, renamed after.
    Where it must survive a power cut, the file is synced before the rename and the folder after.
I3  After a failed sync nothing is retried: the kernel reports a lost write once and then forgets
    it (a second sync returns 0 over lost bytes). The caller must stop acknowledging.
I4  Nothing is written in part without saying so: what cannot be finished raises.

It does not know what the bytes mean.
"""

import contextlib
import errno
import functools
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from journal import regular

if sys.platform == "darwin":
    import fcntl

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
CLOSED_FILE = 0o444

_TEMPORARY = ".journal-tmp"
_REPLACE_TRIES = 5
_REPLACE_WAIT_S = 0.01


class SyncFailed(OSError):
    """A sync failed: what was written may be lost, and no later sync can tell (I3)."""


def make_folder(
    path: str | os.PathLike[str], *, mode: int = PRIVATE_FOLDER, own: bool = False
) -> None:
    """Make a folder and sync the folder it appears in; those above it get the usual mode.

    One of a journal's `own` may not be a symlink.
    """
    target = Path(path)
    if own:
        regular.check_folder(target)
    if target.is_dir():
        return
    if target.parent != target:
        make_folder(target.parent, mode=0o777)
    with contextlib.suppress(FileExistsError):
        target.mkdir(mode=mode)
        made = stat.S_IMODE(os.stat(target).st_mode)
        if made & PRIVATE_FOLDER != PRIVATE_FOLDER:  # a umask that takes the owner's rights
            target.chmod(made | PRIVATE_FOLDER)
        sync_folder(target.parent)


def write_at(fd: int, data: bytes | memoryview, offset: int) -> None:
    """Write all of `data` at `offset`; a short write goes on until the kernel says why (I4)."""
    written = os.pwrite(fd, data, offset)
    if written == len(data):
        return
    rest = memoryview(data)
    while written < len(rest):
        count = os.pwrite(fd, rest[written:], offset + written)
        if count == 0:
            raise OSError(errno.EIO, "the kernel wrote nothing and gave no reason")
        written += count


def append_to(path: str | os.PathLike[str], data: bytes, *, line_end: bool) -> os.stat_result:
    """Append to an existing file with O_APPEND, unsynced; return its stat.

    `line_end` puts an LF first where the file's last byte is none. One write, so that others who
    append in the same way are never overwritten; a short one is reported as `OSError`.
    """
    fd = os.open(path, os.O_RDWR | os.O_APPEND | regular.SAFE)
    try:
        found = os.fstat(fd)
        regular.check(found, path, write=True)
        if line_end and found.st_size and os.pread(fd, 1, found.st_size - 1) != b"\n":
            data = b"\n" + data
        if os.write(fd, data) != len(data):
            raise OSError(errno.ENOSPC, "only a part of the lines could be appended", path)
        return os.fstat(fd)
    finally:
        os.close(fd)


def truncate(fd: int, size: int) -> None:
    """Cut the file to `size` bytes and make that durable; raises `SyncFailed` (I3)."""
    os.ftruncate(fd, size)
    sync(fd)


def sync(fd: int) -> None:
    """Put the file's bytes on disk; raises `SyncFailed` (I3)."""
    try:
        if sys.platform == "darwin":
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(fd)
    except OSError as error:
        # Before anything is called: Ctrl-C may come instead of what is raised here.
        error.is_of_a_sync = True  # type: ignore[attr-defined]
        raise SyncFailed(error.errno, error.strerror, error.filename) from error


def is_of_a_sync(error: BaseException | None) -> bool:
    """Say whether a sync failed (I3), also where Ctrl-C came while that was on its way."""
    while error is not None:
        if isinstance(error, SyncFailed) or getattr(error, "is_of_a_sync", False):
            return True
        error = error.__context__
    return False


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Put the names in a folder on disk; raises `SyncFailed`, also where it cannot be opened."""
    with _failing_as_sync(path):
        fd = os.open(
            path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
        )
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


@contextlib.contextmanager
def _failing_as_sync(path: str | os.PathLike[str] | None = None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.is_of_a_sync = True  # type: ignore[attr-defined]
        named = error.filename if path is None else os.fspath(path)
        raise SyncFailed(error.errno, error.strerror, named) from error


class Replacement:
    """A whole new file beside `path`, under a name that nobody can plant, to be renamed over it.

    `stat` is what the file will have once it stands there: a rename changes neither inode nor
    time. Leave it either by `commit` or by `discard`; `temporary` is its name until then.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        data: bytes,
        *,
        mode: int = PRIVATE_FILE,
        owner: tuple[int, int] | None = None,
        synced: bool,
        lasting: bool = True,
    ) -> None:
        """Write `data` under the temporary name; `synced` puts it on disk before any rename.

        Not `lasting`: the name itself may be gone after a power cut. What it names is whole.
        """
        self.path = os.fspath(path)
        self._synced = synced and lasting
        folder, name = os.path.split(self.path)
        self.temporary = os.path.join(folder, f".{name}.{secrets.token_hex(8)}{_TEMPORARY}")
        fd = os.open(
            self.temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | regular.SAFE, PRIVATE_FILE
        )
        try:
            write_at(fd, data, 0)
            if owner is not None:
                _give(fd, owner)
            if mode != PRIVATE_FILE or _is_cut_by_umask(fd, mode):
                os.fchmod(fd, mode)
            if synced:
                # fsync, not fdatasync: the mode of a closed segment must survive with its bytes.
                with _failing_as_sync(self.path):
                    os.fsync(fd)
            self.stat = os.fstat(fd)
        except BaseException:
            self.discard()
            raise
        finally:
            os.close(fd)

    def commit(self) -> None:
        """Rename it over `path`; where it was to be synced, the folder is synced too.

        A rename that is refused while a reader holds the file open (as some systems do) is tried
        again for a short while. The temporary file is gone whatever happens.
        """
        try:
            for tries_left in range(_REPLACE_TRIES - 1, -1, -1):
                try:
                    os.replace(self.temporary, self.path)
                    break
                except PermissionError:
                    if not tries_left:
                        raise
                    time.sleep(_REPLACE_WAIT_S)
        except BaseException:
            self.discard()
            raise
        if self._synced:
            sync_folder(os.path.dirname(self.path) or ".")

    def discard(self) -> None:
        """Remove the temporary file; where that fails it is left for `remove_leftovers`.

        It raises nothing, so that it never hides why the file is not wanted (I3 above all).
        """
        with contextlib.suppress(OSError):
            os.unlink(self.temporary)


def _is_cut_by_umask(fd: int, mode: int) -> bool:
    """Say whether the process's umask took rights away that the owner of a file needs."""
    return os.fstat(fd).st_mode & mode != mode


def _give(fd: int, owner: tuple[int, int]) -> None:
    """Keep the owner of the file that is replaced, where we may."""
    if owner == (os.getuid(), os.getgid()):
        return
    with contextlib.suppress(PermissionError):
        os.fchown(fd, *owner)


def write_file(
    path: str | os.PathLike[str],
    data: bytes,
    *,
    mode: int = PRIVATE_FILE,
    synced: bool = True,
    lasting: bool = True,
) -> os.stat_result:
    """Make or replace a whole file (I2) and return its stat; `lasting` as in `Replacement`."""
    new = Replacement(path, data, mode=mode, synced=synced, lasting=lasting)
    new.commit()
    return new.stat


def close_file(fd: int) -> None:
    """Take away everybody's right to write the file: a closed segment."""
    os.fchmod(fd, CLOSED_FILE)


def is_closed(found: os.stat_result) -> bool:
    """Say whether nobody has the right to write the file."""
    return not found.st_mode & 0o222


def link_aside(path: str | os.PathLike[str], folder: str | os.PathLike[str], name: str) -> Path:
    """Give the file a second name in `folder`, durably; an equal name there is taken as done."""
    make_folder(folder, own=True)
    target = Path(folder) / name
    with contextlib.suppress(FileExistsError):
        os.link(path, target, follow_symlinks=False)
    sync_folder(folder)
    return target


def share(path: str | os.PathLike[str], target: str | os.PathLike[str]) -> bool:
    """Give a closed file a second name, or copy it where links cannot be; say whether linked.

    The caller syncs the folder. Nobody ever writes to a closed file, so sharing it is safe.
    """
    try:
        os.link(path, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        write_file(target, regular.read_file(path), mode=CLOSED_FILE, synced=True)
        return False
    return True


def remove(path: str | os.PathLike[str]) -> None:
    """Remove a file and make that durable."""
    os.unlink(path)
    sync_folder(os.path.dirname(os.fspath(path)) or ".")


def name_folder(path: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Give a finished folder its name, durably, where nothing or an empty folder is.

    A crash before leaves the folder under its first name, a crash after under its last.
    """
    os.rename(path, target)
    sync_folder(os.path.dirname(os.path.abspath(target)))


def remove_folder(path: str | os.PathLike[str]) -> None:
    """Remove an unfinished folder of ours with all that is in it; one that is gone is no error."""
    import shutil

    shutil.rmtree(path, ignore_errors=True)


def remove_leftovers(folder: str | os.PathLike[str], name: str = "") -> int:
    """Remove what a killed `Replacement` left in `folder` (of `name` only, if given); count them.

    A crash here is safe: nothing ever reads a temporary name.
    """
    removed = 0
    prefix = f".{name}." if name else "."
    for entry in os.listdir(folder):
        if entry.startswith(prefix) and entry.endswith(_TEMPORARY):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, entry))
                removed += 1
    return removed


@functools.cache
def boot_id() -> str:
    """Return what names this run of the machine's kernel; empty where it has no name.

    What was written in this boot is as it was written, on disk or not. After another boot there
    may have been a power cut, and only what was synced is sure.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
