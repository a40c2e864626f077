"""What may be planted at a name that a journal opens, and what lies outside to be protected.

I1  `Outside` is writable for whoever runs the commands, so that a link that is followed shows: its
    files change, or its mark comes out.
I2  What cannot be planted here (a device, for who is not root) is left out by `plants`.
"""

import os
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path

from tests.faults.tree import differences, read_tree

MARK = "this-lies-outside"
"""Stands in every file outside; no command may print it."""

KEPT = "somebody-s.txt"
"""A file in a planted folder: it may be moved, and stays."""


class Outside:
    """A folder that no journal has to do with."""

    def __init__(self, folder: Path) -> None:
        """Make it, with a file that reads as JSON and a folder that has one."""
        self.folder = folder
        (folder / "folder").mkdir(parents=True)
        self.file = folder / "file.json"
        for path in (self.file, folder / "folder" / "file.json"):
            path.write_text(f'{{"mark":"{MARK}"}}\n')
        self._before = read_tree(str(folder))

    def changes(self) -> list[str]:
        """Say what is not as it was."""
        return differences(self._before, read_tree(str(self.folder)))


Plant = Callable[[Path, Outside], None]
"""(path, outside): put it at a path where nothing is."""


def _link(path: Path, target: Path) -> None:
    path.symlink_to(target)


def _folder(path: Path) -> None:
    path.mkdir()
    (path / KEPT).write_text("kept")


def _socket(path: Path) -> None:
    # A socket's path has at most 108 bytes, so it is made under a short name.
    short = f"/tmp/{os.getpid()}.s"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(short)
    try:
        os.rename(short, path)
    except OSError:  # another file system
        os.unlink(short)
        os.mknod(path, stat.S_IFSOCK | 0o600)


def _forbidden(path: Path) -> None:
    path.write_text("{}")
    path.chmod(0)


PLANTS: dict[str, Plant] = {
    "a dangling link": lambda path, outside: _link(path, outside.folder / "new.json"),
    "a link to a file": lambda path, outside: _link(path, outside.file),
    "a link to a folder": lambda path, outside: _link(path, outside.folder / "folder"),
    "a loop": lambda path, _: _link(path, Path(path.name)),
    "a FIFO": lambda path, _: os.mkfifo(path),
    "a folder": lambda path, _: _folder(path),
    "a socket": lambda path, _: _socket(path),
    "a hard link": lambda path, outside: os.link(outside.file, path),
    "a forbidden file": lambda path, _: _forbidden(path),
    "an endless device": lambda path, _: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5)),
}


def plants() -> dict[str, Plant]:
    """Return those that can be planted here (I2)."""
    return {
        name: plant
        for name, plant in PLANTS.items()
        if os.geteuid() == 0 or name != "an endless device"
    }


def take_away(path: Path) -> None:
    """Remove what stands at `path`, whatever it is; nothing behind a link."""
    if path.is_dir() and not path.is_symlink():
        path.chmod(0o700)
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
