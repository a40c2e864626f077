"""The one module that makes bytes durable: it alone syncs, replaces, truncates, links and locks.

I1  A name is opened without following a symlink, without waiting for a FIFO, and only if it is a
    regular file; a file that we write has one link.
I2  A new file appears whole: written under a temporary name in its own folder, renamed after.
    Where it must survive a power cut, the file is synced before the rename and the folder after.
I3  After a failed sync nothing is retried: the kernel reports a lost write once and then forgets
    it (a second sync returns 0 over lost bytes). The caller must stop acknowledging.
I4  Nothing is written in part without saying so: what cannot be finished raises.
I5  Locks are the kernel's, on a folder or file that is never deleted, and vanish with the process.

It does not know what the bytes mean.
"""

import contextlib
import errno
import functools
import os
import random
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from journal.errors import Locked

try:
    import fcntl
except ImportError:  # Windows: reading works, a lock cannot be had (see `FolderLock`).
    fcntl = None  # type: ignore[assignment]

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
CLOSED_FILE = 0o444

_SAFE = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_TEMPORARY = ".journal-tmp"
_REPLACE_TRIES = 5
_REPLACE_WAIT_S = 0.01


class SyncFailed(OSError):
    """A sync failed: what was written may be lost, and no later sync can tell (I3)."""


# --- opening and reading -------------------------------------------------------------------------


def open_file(path: str | os.PathLike[str], *, write: bool = False) -> int:
    """Open an existing regular file (I1) and return its descriptor.

    Raises `OSError` with the path: a symlink (ELOOP), a folder (EISDIR), anything else that is
    not a regular file (EINVAL, ENXIO) or, for writing, more than one link (EMLINK).
    """
    return open_with_stat(path, write=write)[0]


def open_with_stat(
    path: str | os.PathLike[str], *, write: bool = False
) -> tuple[int, os.stat_result]:
    """Open as `open_file` does; return the descriptor and its stat."""
    try:
        fd = os.open(path, (os.O_RDWR if write else os.O_RDONLY) | _SAFE)
    except OSError as error:
        raise _say_kind(error) from None
    try:
        found = os.fstat(fd)
        _check_regular(found, path, write=write)
    except BaseException:
        os.close(fd)
        raise
    return fd, found


_LINK = "symbolic links are not followed here; move it away"
_NO_FILE = "is not a regular file; move it away"


def _say_kind(error: OSError) -> OSError:
    """Word the kernel's refusal of what is no file by what stands there."""
    why = {errno.ELOOP: _LINK, errno.ENXIO: _NO_FILE}.get(error.errno or 0)
    return OSError(error.errno, why, error.filename) if why else error


def _check_regular(found: os.stat_result, path: str | os.PathLike[str], *, write: bool) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder, a file is expected", os.fspath(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, _NO_FILE, os.fspath(path))
    if write and found.st_nlink != 1:
        why = f"has {found.st_nlink} hard links; a file that the journal writes has one"
        raise OSError(errno.EMLINK, why, os.fspath(path))


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a regular file (I1)."""
    return read_with_stat(path)[0]


def read_with_stat(path: str | os.PathLike[str]) -> tuple[bytes, os.stat_result]:
    """Return the bytes of a regular file (I1) and its stat as it was when they were read."""
    fd = open_file(path)
    try:
        found = os.fstat(fd)
        return read_range(fd, 0, None), found
    finally:
        os.close(fd)


def read_range(fd: int, start: int, end: int | None) -> bytes:
    """Return the bytes from `start` up to `end` (exclusive; None: to the end of the file).

    Never mmap: a file that gets shorter under a mapping kills the reader.
    """
    if end is None:
        end = os.fstat(fd).st_size
    wanted = max(0, end - start)
    piece = os.pread(fd, wanted, start)
    if len(piece) == wanted or not piece:
        return piece
    pieces = [piece]
    while piece:
        start += len(piece)
        piece = os.pread(fd, end - start, start)
        pieces.append(piece)
    return b"".join(pieces)


def open_given(path: str | os.PathLike[str]) -> int:
    """Open a file that a person named, to be read; links lead where they lead.

    Raises `OSError` for what may be waited for, or read, for ever: a FIFO, a device. A pipe that
    was handed over (`/dev/stdin`, the shell's `<(…)`) has its writer, and is read.
    """
    fd = os.open(path, os.O_RDONLY | _SAFE & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        found = os.fstat(fd)
        if not _is_handed_over(path, found):
            if stat.S_ISFIFO(found.st_mode):
                why = "is a FIFO, which may be waited for without end; copy it to a file first"
                raise OSError(errno.EINVAL, why, os.fspath(path))
            _check_regular(found, path, write=False)
        os.set_blocking(fd, True)
    except BaseException:
        os.close(fd)
        raise
    return fd


def read_given(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file that a person named (see `open_given`)."""
    with open(open_given(path), "rb") as file:
        return file.read()


def open_target(path: str | os.PathLike[str]) -> int:
    """Open a file that a person named, to be written from its start; it is made if missing.

    Raises `OSError` for a symlink, a folder, and a file that has another name, too: whoever may
    put names there could have planted it. A FIFO that nobody reads is not waited for (ENXIO).
    """
    flags = os.O_WRONLY | os.O_CREAT | _SAFE
    if os.path.dirname(os.path.abspath(path)) in ("/dev", "/dev/fd", "/proc/self/fd"):
        flags &= ~getattr(os, "O_NOFOLLOW", 0)
    try:
        fd = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            why = "is a symlink; name the file that it leads to"
            raise OSError(error.errno, why, error.filename) from None
        raise
    try:
        found = os.fstat(fd)
        if stat.S_ISREG(found.st_mode):
            if found.st_nlink > 1:
                why = f"has {found.st_nlink} hard links, all of which would change; name a new file"
                raise OSError(errno.EMLINK, why, os.fspath(path))
            os.ftruncate(fd, 0)
        os.set_blocking(fd, True)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _is_handed_over(path: str | os.PathLike[str], found: os.stat_result) -> bool:
    """Say whether it is a pipe that stands under the name of one of our own descriptors."""
    is_pipe = stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode)
    return is_pipe and os.path.realpath(path).startswith(("/proc/", "/dev/fd/"))


# --- writing -------------------------------------------------------------------------------------


def refuse_link(path: str | os.PathLike[str]) -> None:
    """Raise `OSError` where a symlink stands in the place of one of a journal's own folders."""
    if os.path.islink(path):
        why = "is a symlink; a journal's folders are not followed elsewhere, so put the folder back"
        raise OSError(errno.ELOOP, why, os.fspath(path))


def make_folder(
    path: str | os.PathLike[str], *, mode: int = PRIVATE_FOLDER, own: bool = False
) -> None:
    """Make a folder and sync the folder it appears in; those above it get the usual mode.

    One of a journal's `own` may not be a symlink.
    """
    target = Path(path)
    if own:
        refuse_link(target)
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
    fd = os.open(path, os.O_RDWR | os.O_APPEND | _SAFE)
    try:
        found = os.fstat(fd)
        _check_regular(found, path, write=True)
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
    time. Leave it either by `commit` or by `discard`.
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
        self._temporary = os.path.join(folder, f".{name}.{secrets.token_hex(8)}{_TEMPORARY}")
        fd = os.open(self._temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | _SAFE, PRIVATE_FILE)
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
                    os.replace(self._temporary, self.path)
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
            os.unlink(self._temporary)


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
        write_file(target, read_file(path), mode=CLOSED_FILE, synced=True)
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


# --- locking -------------------------------------------------------------------------------------


class FolderLock:
    """The kernel's exclusive `flock` on a folder (I5): across processes, not between threads.

    `release` gives it back, and does nothing where it is not held. It is a call into C and no
    function of ours: Ctrl-C comes before it or after it, and never finds it half done.
    """

    release: Callable[[], None]

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the folder; raises `OSError` where locks are not supported."""
        self.path = os.fspath(path)
        if fcntl is None:
            raise OSError(
                errno.ENOSYS, "this system has no flock; open the journal read-only", self.path
            )
        self._fd = self._open()
        self.release = functools.partial(fcntl.flock, self._fd, fcntl.LOCK_UN)

    def _open(self) -> int:
        return os.open(self.path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | os.O_CLOEXEC)

    def acquire(self, timeout_s: float) -> None:
        """Take the lock; raises `Locked` after `timeout_s` seconds.

        Asking again after short random waits keeps many writers fair; a waiting call that the
        kernel queues could not be given up.
        """
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._refuse_unless_busy(error)
        else:
            return
        deadline = time.monotonic() + timeout_s
        wait_s = 0.00005
        while not self.try_acquire():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise Locked(
                    f"{self.path}: locked by another process for {timeout_s:g} s",
                    path=self.path,
                    timeout_s=timeout_s,
                    advice="Wait for it, or give a longer lock timeout.",
                )
            time.sleep(min(wait_s * random.uniform(0.5, 1.5), left_s))
            wait_s = min(wait_s * 1.5, 0.002)

    def try_acquire(self) -> bool:
        """Take the lock if it is free; say whether it was."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._refuse_unless_busy(error)
            return False
        return True

    def _refuse_unless_busy(self, error: OSError) -> None:
        if not isinstance(error, BlockingIOError):
            raise OSError(
                error.errno,
                f"locks are not supported here ({error.strerror}); a journal that is written "
                "needs a local file system",
                self.path,
            ) from error

    @contextlib.contextmanager
    def held(self, timeout_s: float) -> Iterator[None]:
        """Hold the lock for a block."""
        try:
            self.acquire(timeout_s)
            yield
            self.release()
        except BaseException:
            with contextlib.suppress(OSError):  # Where locks fail, this fails, and hides why.
                self.release()
            raise

    def close(self) -> None:
        """Close the descriptor; safe to call again."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            self.release = _do_nothing
            try:
                os.close(fd)
            except OSError:
                self._fd = fd  # It may be tried again.
                raise

    def __enter__(self) -> "FolderLock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _do_nothing() -> None:
    """Stand for the calls on a descriptor that is closed: its number may be another file's."""


class FileLock(FolderLock):
    """The same on an empty file, which is made where it is missing and never removed.

    For a name that several journals share: what it guards has no folder of its own.
    """

    def _open(self) -> int:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | _SAFE, PRIVATE_FILE)
        try:
            _check_regular(os.fstat(fd), self.path, write=False)
            if _is_cut_by_umask(fd, PRIVATE_FILE):
                with contextlib.suppress(PermissionError):  # another user's, and open all the same
                    os.fchmod(fd, PRIVATE_FILE)
        except BaseException:
            os.close(fd)
            raise
        return fd
