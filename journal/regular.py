"""Regular files, opened by name so that nobody can lead us elsewhere or let us wait.

I1  A name of the journal's own is opened without following a symlink, without waiting for a FIFO,
    and only if it is a regular file; a file that we write has one link.
I2  A name that a person gave may be a link; it is not waited for either, and has an end.
    Where it is read whole there may be a bound: a pipe need not have an end.
I3  A file is never mapped: one that gets shorter under a mapping kills the reader.

It does not know what the bytes mean, and makes nothing durable; see `journal.durable`.
"""

import errno
import os
import stat
from typing import BinaryIO

SAFE = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


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
        fd = os.open(path, (os.O_RDWR if write else os.O_RDONLY) | SAFE)
    except OSError as error:
        raise _say_kind(error) from None
    try:
        found = os.fstat(fd)
        check(found, path, write=write)
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


def check(found: os.stat_result, path: str | os.PathLike[str], *, write: bool) -> None:
    """Raise `OSError` for what is no regular file, or, to be written, has more links (I1)."""
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
    fd = os.open(path, os.O_RDONLY | SAFE & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        found = os.fstat(fd)
        if not _is_handed_over(path, found):
            if stat.S_ISFIFO(found.st_mode):
                why = "is a FIFO, which may be waited for without end; copy it to a file first"
                raise OSError(errno.EINVAL, why, os.fspath(path))
            check(found, path, write=False)
        os.set_blocking(fd, True)
    except BaseException:
        os.close(fd)
        raise
    return fd


def read_given(path: str | os.PathLike[str], *, limit_bytes: int | None = None) -> bytes:
    """Return the bytes of a file that a person named (see `open_given`).

    Raises `OSError` (EFBIG) for more than `limit_bytes`.
    """
    with open(open_given(path), "rb") as file:
        return read_stream(file, os.fspath(path), limit_bytes=limit_bytes)


def read_stream(file: BinaryIO, name: str, *, limit_bytes: int | None = None) -> bytes:
    """Return what is left of a stream, which may be a pipe without end; raises as `read_given`."""
    if limit_bytes is None:
        return file.read()
    data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        why = f"has over {limit_bytes >> 20} MiB, more than can be taken in at once"
        raise OSError(errno.EFBIG, why, name)
    return data


def _is_handed_over(path: str | os.PathLike[str], found: os.stat_result) -> bool:
    """Say whether it is a pipe that stands under the name of one of our own descriptors."""
    is_pipe = stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode)
    return is_pipe and os.path.realpath(path).startswith(("/proc/", "/dev/fd/"))


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise `OSError` where a symlink or a file stands in the place of one of a journal's folders.

    One that is missing is no fault.
    """
    if why := not_a_folder(path):
        number = errno.ELOOP if os.path.islink(path) else errno.ENOTDIR
        raise OSError(number, why, os.fspath(path))


def not_a_folder(path: str | os.PathLike[str]) -> str:
    """Say what stands in the place of a journal's folder; empty for a folder, or nothing."""
    try:
        mode = os.lstat(path).st_mode  # one look: it is asked for at every state of the past
    except (OSError, ValueError):
        return ""
    if stat.S_ISLNK(mode):
        return (
            "is a symlink; a journal's folders are not followed elsewhere, so put the folder back"
        )
    if not stat.S_ISDIR(mode):
        return "is no folder, and one of the journal's belongs there; move it away"
    return ""
