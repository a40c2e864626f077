"""A recording of every change that the engine makes on disk, with what it promised in between.

I1  What changes a disk goes through functions of `os`; a `Recorder` puts its own in their place
    and calls through. What it did not see it notices: played whole, a recording must be equal to
    the folder on disk (`Recorder.stop`).
I2  Files and folders are numbered items (0 is the root), names are members of folders: so a name
    may be lost without its file, and the other way round.
I3  A sync that failed is recorded as such: what was written before it is never sure again, for
    the kernel forgets it and a later sync returns success over lost bytes.

`tests.faults.crash` makes of it the disks that a power cut could leave.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from tests.faults.tree import File, Tree, differences, read_tree

ROOT = 0


class Known(NamedTuple):
    """What the outside world knows at a moment.

    The first `issued` appends of the story were asked for, the first `acked` of them promised to
    be on disk. `made`: `init` has returned; `forked`: so has `fork`. `checkpoints`: files of
    snapshots that were promised; `pruned`: of those that were promised to be gone.
    """

    issued: int = 0
    acked: int = 0
    made: bool = False
    forked: bool = False
    checkpoints: tuple[str, ...] = ()
    pruned: tuple[str, ...] = ()


class Add(NamedTuple):
    """A name appears: a new file or folder, or a second name of a file."""

    folder: int
    name: str
    item: int


class Remove(NamedTuple):
    """A name goes."""

    folder: int
    name: str


class Move(NamedTuple):
    """A name becomes another one, over whatever had that name."""

    folder: int
    name: str
    to_folder: int
    to_name: str
    item: int


class Write(NamedTuple):
    """Bytes at an offset; the file then had this mtime."""

    item: int
    offset: int
    data: bytes
    mtime_ns: int = 0


class Truncate(NamedTuple):
    """The file gets this size."""

    item: int
    size: int


class Mode(NamedTuple):
    """The file gets this mode."""

    item: int
    mode: int


class Sync(NamedTuple):
    """fdatasync, or, if `whole`, fsync; `failed` as in I3."""

    item: int
    whole: bool
    failed: bool = False


class SyncFolder(NamedTuple):
    """fsync of a folder: its names are sure."""

    folder: int


Operation = Add | Remove | Move | Write | Truncate | Mode | Sync | SyncFolder | Known


class Recording(NamedTuple):
    """The disk before (`base`), all of it sure, and what was known then; what was done; the items.

    `folders` are the items that are folders, `modes` and `inodes` those of the files.
    """

    base: Tree
    known: Known
    operations: list[Operation]
    folders: frozenset[int]
    modes: dict[int, int]
    inodes: dict[int, int]


class Recorder:
    """Records what happens below `root` while it is entered.

    Four things to happen once: the next sync fails; the next write of lines writes so few bytes;
    something is done before the next sync, or before the next write of lines.
    """

    def __init__(self, root: Path, known: Known) -> None:
        """Take `root` as it is for the base."""
        self._root = os.path.abspath(root)
        self._known = known
        self.operations: list[Operation] = []
        self.sync_fails = False
        self.short_write = 0
        self.before_sync: Callable[[], None] | None = None
        self.before_lines: Callable[[], None] | None = None
        self._items: dict[str, int] = {self._root: ROOT}
        self._folders = {ROOT}
        self._modes: dict[int, int] = {}
        self._inodes: dict[int, int] = {}
        self._open: dict[int, tuple[int, bool]] = {}
        self._base = read_tree(self._root)
        self._patches = contextlib.ExitStack()
        self._tokens = 0
        self._real: dict[str, Any] = {}
        for path, file in self._base.items():
            item = self._new_item(f"{self._root}/{path}", is_folder=file is None)
            if file is not None:
                found = os.stat(f"{self._root}/{path}")
                self._inodes[item] = found.st_ino
                self._base[path] = file._replace(mtime_ns=found.st_mtime_ns)

    def note(self, known: Known) -> None:
        """Put down what the outside world knows from here on."""
        self.operations.append(known)

    def __enter__(self) -> "Recorder":
        names = [name.removeprefix("_do_") for name in dir(self) if name.startswith("_do_")]
        self._real = {name: getattr(os, name) for name in names}
        for name in names:
            self._patches.enter_context(mock.patch.object(os, name, getattr(self, f"_do_{name}")))
        # Temporary names and ids that are the same in each run.
        self._patches.enter_context(mock.patch.object(secrets, "token_hex", self._token))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def stop(self) -> Recording:
        """Return the recording; raises `AssertionError` where it missed something (I1)."""
        from tests.faults.crash import play_whole

        recording = Recording(
            self._base,
            self._known,
            self.operations,
            frozenset(self._folders),
            self._modes,
            self._inodes,
        )
        played = {
            path: file and File(file.data, file.mode)
            for path, file in play_whole(recording).items()
        }
        missed = differences(played, read_tree(self._root))
        if missed:
            raise AssertionError(f"the recorder missed an operation: {missed}")
        return recording

    # --- items -----------------------------------------------------------------------------------

    def _token(self, size: int) -> str:
        self._tokens += 1
        return f"{self._tokens:0{size * 2}x}"

    def _new_item(self, path: str, *, is_folder: bool) -> int:
        item = len(self._folders) + len(self._modes)
        self._items[path] = item
        if is_folder:
            self._folders.add(item)
        else:
            self._modes[item] = stat.S_IMODE(os.stat(path).st_mode)
        return item

    def _path(self, path: Any) -> str | None:
        """Return the absolute path if it is below the root."""
        if isinstance(path, int):
            return None
        whole = os.path.abspath(os.fspath(path))
        return whole if whole == self._root or whole.startswith(self._root + "/") else None

    def _place(self, path: str) -> tuple[int, str]:
        folder, name = os.path.split(path)
        return self._items[folder], name

    def _file_of(self, fd: int) -> int | None:
        found = self._open.get(fd)
        return None if found is None or found[0] in self._folders else found[0]

    # --- what os is asked to do ------------------------------------------------------------------

    def _do_open(self, path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
        whole = self._path(path)
        new = whole is not None and flags & os.O_CREAT and not os.path.lexists(whole)
        fd: int = self._real["open"](path, flags, mode, **options)
        if whole is not None:
            if new:
                item = self._new_item(whole, is_folder=False)
                self._inodes[item] = os.fstat(fd).st_ino
                self.operations.append(Add(*self._place(whole), item))
            item = self._items[whole]
            if flags & os.O_TRUNC:
                self.operations.append(Truncate(item, 0))
            self._open[fd] = item, bool(flags & os.O_APPEND)
        return fd

    def _do_close(self, fd: int) -> None:
        self._open.pop(fd, None)
        self._real["close"](fd)

    def _do_write(self, fd: int, data: bytes) -> int:
        item = self._file_of(fd)
        if item is None:
            return int(self._real["write"](fd, data))
        appends = self._open[fd][1]
        offset = os.fstat(fd).st_size if appends else os.lseek(fd, 0, os.SEEK_CUR)
        count: int = self._real["write"](fd, data)
        self._add_write(fd, item, offset, bytes(data[:count]))
        return count

    def _do_pwrite(self, fd: int, data: bytes, offset: int) -> int:
        item = self._file_of(fd)
        if item is not None and bytes(data[:7]) == b'{"seq":':
            if self.before_lines is not None:
                hook, self.before_lines = self.before_lines, None
                hook()
            if self.short_write:
                data, self.short_write = data[: self.short_write], 0
        count: int = self._real["pwrite"](fd, data, offset)
        if item is not None:
            self._add_write(fd, item, offset, bytes(data[:count]))
        return count

    def _add_write(self, fd: int, item: int, offset: int, data: bytes) -> None:
        self.operations.append(Write(item, offset, data, os.fstat(fd).st_mtime_ns))

    def _do_ftruncate(self, fd: int, size: int) -> None:
        self._real["ftruncate"](fd, size)
        item = self._file_of(fd)
        if item is not None:
            self.operations.append(Truncate(item, size))

    def _do_fsync(self, fd: int) -> None:
        self._sync(fd, "fsync")

    def _do_fdatasync(self, fd: int) -> None:
        self._sync(fd, "fdatasync")

    def _sync(self, fd: int, how: str) -> None:
        found = self._open.get(fd)
        if found is None:
            self._real[how](fd)
            return
        item = found[0]
        if item in self._folders:
            self.operations.append(SyncFolder(item))
            return
        if self.before_sync is not None:
            hook, self.before_sync = self.before_sync, None
            hook()
        if self.sync_fails:
            self.operations.append(Sync(item, how == "fsync", failed=True))
            self.sync_fails = False
            raise OSError(errno.EIO, "a failed sync")
        self.operations.append(Sync(item, how == "fsync"))

    def _do_mkdir(self, path: Any, mode: int = 0o777, **options: Any) -> None:
        self._real["mkdir"](path, mode, **options)
        if whole := self._path(path):
            item = self._new_item(whole, is_folder=True)
            self.operations.append(Add(*self._place(whole), item))

    def _do_unlink(self, path: Any, **options: Any) -> None:
        self._gone("unlink", path, options)

    def _do_remove(self, path: Any, **options: Any) -> None:
        self._gone("remove", path, options)

    def _do_rmdir(self, path: Any, **options: Any) -> None:
        self._gone("rmdir", path, options)

    def _gone(self, how: str, path: Any, options: dict[str, Any]) -> None:
        self._real[how](path, **options)
        if whole := self._path(path):
            del self._items[whole]
            self.operations.append(Remove(*self._place(whole)))

    def _do_rename(self, source: Any, target: Any, **options: Any) -> None:
        self._move("rename", source, target, options)

    def _do_replace(self, source: Any, target: Any, **options: Any) -> None:
        self._move("replace", source, target, options)

    def _move(self, how: str, source: Any, target: Any, options: dict[str, Any]) -> None:
        self._real[how](source, target, **options)
        old, new = self._path(source), self._path(target)
        if old is None or new is None:
            assert old is new, "a rename into or out of the recorded folder"
            return
        moved = {
            path: i for path, i in self._items.items() if path == old or path.startswith(old + "/")
        }
        for path in moved:
            del self._items[path]
        item = moved[old]
        self.operations.append(Move(*self._place(old), *self._place(new), item))
        self._items.update({new + path[len(old) :]: i for path, i in moved.items()})

    def _do_link(self, source: Any, target: Any, **options: Any) -> None:
        self._real["link"](source, target, **options)
        old, new = self._path(source), self._path(target)
        if old is not None and new is not None:
            self._items[new] = self._items[old]
            self.operations.append(Add(*self._place(new), self._items[old]))

    def _do_fchmod(self, fd: int, mode: int) -> None:
        self._real["fchmod"](fd, mode)
        item = self._file_of(fd)
        if item is not None:
            self.operations.append(Mode(item, mode))

    def _do_chmod(self, path: Any, mode: int, **options: Any) -> None:
        self._real["chmod"](path, mode, **options)
        if (whole := self._path(path)) and self._items[whole] not in self._folders:
            self.operations.append(Mode(self._items[whole], mode))


def items_of(base: Tree) -> Iterator[tuple[int, int, str, File | None]]:
    """Yield (item, folder, name, file) of a base, numbered as a `Recorder` numbers them."""
    numbers = {"": ROOT}
    for number, (path, file) in enumerate(base.items(), 1):
        folder, _, name = path.rpartition("/")
        numbers[path] = number
        yield number, numbers[folder], name, file
