"""A folder as a value: its files with their bytes and modes, to be written, read and compared.

Written for speed: a law is tried on tens of thousands of folders, on a file system in memory.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

FOLDER_MODE = 0o700


class File(NamedTuple):
    """One file: its bytes, its mode, and the inode and time that a witness may know it by."""

    data: bytes
    mode: int = 0o600
    inode: int = 0
    mtime_ns: int = 0


Tree = dict[str, File | None]
"""Path relative to the root -> file, or None for a folder; a folder stands before what is in it."""


@contextmanager
def memory_folder() -> Iterator[Path]:
    """Make a folder in memory for a block: real syncs are not what is tested there."""
    shared = Path("/dev/shm")
    where = shared if shared.is_dir() and os.access(shared, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="journal-faults-", dir=where))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def write_tree(root: str, tree: Tree) -> None:
    """Make `root` hold `tree` and nothing else."""
    clear(root)
    for path, file in tree.items():
        target = f"{root}/{path}"
        if file is None:
            os.mkdir(target, FOLDER_MODE)
            continue
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if file.data:
                os.write(fd, file.data)
            if file.mode != 0o600:
                os.fchmod(fd, file.mode)
        finally:
            os.close(fd)
        if file.mtime_ns:
            os.utime(target, ns=(file.mtime_ns, file.mtime_ns))


def clear(root: str) -> None:
    """Remove everything in `root`, which is made if it is not there."""
    try:
        entries = list(os.scandir(root))
    except FileNotFoundError:
        os.makedirs(root, FOLDER_MODE)
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            clear(entry.path)
            os.rmdir(entry.path)
        else:
            os.unlink(entry.path)


def read_tree(root: str) -> Tree:
    """Return what is in `root`, without inodes and times."""
    tree: Tree = {}
    _read_into(tree, root, "")
    return tree


def _read_into(tree: Tree, root: str, prefix: str) -> None:
    for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
        path = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            tree[path] = None
            _read_into(tree, entry.path, path + "/")
            continue
        fd = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            found = os.fstat(fd)
            tree[path] = File(os.read(fd, found.st_size + 1), found.st_mode & 0o7777)
        finally:
            os.close(fd)


def differences(before: Tree, after: Tree) -> list[str]:
    """Say which files of two trees differ in bytes or mode, and how."""
    found = []
    for path in sorted(before.keys() | after.keys()):
        if path not in before or path not in after:
            found.append(f"{path} {'appeared' if path in after else 'vanished'}")
            continue
        old, new = before[path], after[path]
        if old is None or new is None:
            if old is not new:
                found.append(f"{path} is a folder in one and a file in the other")
        elif old.data != new.data:
            at = next(
                (i for i, (a, b) in enumerate(zip(old.data, new.data, strict=False)) if a != b),
                min(len(old.data), len(new.data)),
            )
            found.append(
                f"{path} differs from byte {at} on ({len(old.data)} and {len(new.data)} bytes): "
                f"{old.data[at : at + 60]!r} -> {new.data[at : at + 60]!r}"
            )
        elif old.mode != new.mode:
            found.append(f"{path} has mode {new.mode:o}, it had {old.mode:o}")
    return found
