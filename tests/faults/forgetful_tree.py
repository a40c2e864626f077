"""What a forgetful file system remembers: two versions of everything.

One is what programs see, the other what is on its disk; a cut of the power makes the second one
the first.

I1  The bytes of a file are on disk after its fsync. Names are on disk, if `ordered`, after any
    later fsync (as ext4 and XFS do it), else only after one of their folder (as POSIX has it).
I2  A torn cut keeps of what was not synced what chance wants: of the bytes of each write all,
    none, the first few, or NUL bytes in their place; of the names those of the first few changes.
I3  A sync can be made to fail. As on Linux it fails once: what it did not write is seen as before,
    is taken for written from then on, and is gone after a cut.

It knows no kernel; see `tests.faults.forgetful`.
"""

import errno
import random
import stat
import time

ROOT = 1
"""The number of the root folder."""

Change = tuple[int, str, int | None]
"""A name in a folder (by its number) now means this file, or none."""


class Node:
    """A file or folder: what is seen of it, and what is on disk."""

    def __init__(self, number: int, mode: int) -> None:
        """Be new, with nothing on disk."""
        self.number = number
        self.mode = self.safe_mode = mode
        self.data = bytearray()
        self.safe = b""
        self.unsynced: list[tuple[int, bytes | None]] = []
        self.mtime_ns = time.time_ns()

    def write(self, offset: int, data: bytes) -> None:
        """Write bytes that are not on disk yet."""
        _put(self.data, offset, data)
        self._touch(offset, data)

    def resize(self, size: int) -> None:
        """Cut the file, or lengthen it by NUL bytes."""
        _resize(self.data, size)
        self._touch(size, None)

    def _touch(self, offset: int, data: bytes | None) -> None:
        self.unsynced.append((offset, data))
        self.mtime_ns = time.time_ns()

    def sync(self) -> None:
        """Put on disk what is not there yet."""
        disk = bytearray(self.safe)
        for offset, data in self.unsynced:
            _resize(disk, offset) if data is None else _put(disk, offset, data)
        self.safe, self.safe_mode = bytes(disk), self.mode
        self.unsynced.clear()

    def cut(self, chance: random.Random | None) -> None:
        """Be what is on disk; with `chance`, and what it keeps of the rest (I2)."""
        disk = bytearray(self.safe)
        if chance is not None:
            for offset, data in self.unsynced:
                _keep_some(disk, offset, data, chance)
        self.data, self.safe = disk, bytes(disk)
        self.mode = self.safe_mode
        self.unsynced.clear()


def _keep_some(disk: bytearray, offset: int, data: bytes | None, chance: random.Random) -> None:
    kept = chance.choice(("all", "none", "first", "holes"))
    if kept == "none":
        return
    if data is None:
        _resize(disk, offset)
        return
    if kept == "first":
        data = data[: chance.randrange(len(data) + 1)]
    elif kept == "holes" and offset >= len(disk):
        # A block that was allotted and never written; one that was there keeps its old bytes.
        known = chance.randrange(len(data) + 1)
        data = data[:known] + bytes(len(data) - known)
    _put(disk, offset, data)


def _put(data: bytearray, offset: int, piece: bytes) -> None:
    if len(data) < offset:
        _resize(data, offset)
    data[offset : offset + len(piece)] = piece


def _resize(data: bytearray, size: int) -> None:
    del data[size:]
    data.extend(bytes(size - len(data)))


class Tree:
    """Every node, the names of now, the names on disk, and the changes in between."""

    def __init__(self, *, ordered: bool) -> None:
        """Hold an empty folder; `ordered` as in I1."""
        self.ordered = ordered
        self.nodes = {ROOT: Node(ROOT, stat.S_IFDIR | 0o755)}
        self.names: dict[int, dict[str, int]] = {ROOT: {}}
        self._safe_names: dict[int, dict[str, int]] = {ROOT: {}}
        self._unsynced: list[list[Change]] = []
        self._fail_in = 0

    def node(self, number: int) -> Node:
        """Return a node; raises ESTALE for one that a cut took away."""
        if number not in self.nodes:
            raise OSError(errno.ESTALE, "gone with a cut")
        return self.nodes[number]

    def find(self, folder: int, name: str) -> Node:
        """Return what a name in a folder means; raises ENOENT."""
        number = self.names.get(folder, {}).get(name)
        if number is None:
            raise OSError(errno.ENOENT, name)
        return self.nodes[number]

    def make(self, folder: int, name: str, mode: int) -> Node:
        """Make a file or folder; raises EEXIST."""
        if name in self.names[folder]:
            raise OSError(errno.EEXIST, name)
        node = Node(max(self.nodes) + 1, mode)
        self.nodes[node.number] = node
        if stat.S_ISDIR(mode):
            self.names[node.number] = {}
            self._safe_names[node.number] = {}
        self.change([(folder, name, node.number)])
        return node

    def change(self, changes: list[Change]) -> None:
        """Change names, all at once."""
        _apply(self.names, changes)
        self._unsynced.append(changes)

    def links(self, number: int) -> int:
        """Count the names of a node."""
        return sum(list(names.values()).count(number) for names in self.names.values())

    def fail_sync(self, number: int) -> None:
        """Let the sync of that number from now on fail (I3)."""
        self._fail_in = number

    def sync(self, number: int) -> None:
        """Put a node on disk, and the names that go with it (I1)."""
        node = self.node(number)
        if self._fail_in:
            self._fail_in -= 1
            if not self._fail_in:
                node.unsynced.clear()
                raise OSError(errno.EIO, "a sync that fails once")
        node.sync()
        due: list[list[Change]] = []
        left: list[list[Change]] = []
        for changes in self._unsynced:
            with_it = self.ordered or any(folder == number for folder, _, _ in changes)
            (due if with_it else left).append(changes)
        for changes in due:
            _apply(self._safe_names, changes)
        self._unsynced = left

    def cut(self, chance: random.Random | None) -> None:
        """Cut the power; with `chance`, in the middle of writing (I2)."""
        if chance is not None:
            for changes in self._unsynced[: chance.randrange(len(self._unsynced) + 1)]:
                _apply(self._safe_names, changes)
        self._unsynced.clear()
        self._fail_in = 0
        reached = self._reach(ROOT)
        self.nodes = {number: self.nodes[number] for number in reached}
        self._safe_names = {n: names for n, names in self._safe_names.items() if n in reached}
        self.names = {folder: dict(names) for folder, names in self._safe_names.items()}
        for node in self.nodes.values():
            node.cut(chance)

    def _reach(self, folder: int) -> set[int]:
        found = {folder}
        for number in self._safe_names.get(folder, {}).values():
            found |= self._reach(number)
        return found


def _apply(names: dict[int, dict[str, int]], changes: list[Change]) -> None:
    for folder, name, number in changes:
        if number is None:
            names.get(folder, {}).pop(name, None)
        elif folder in names:
            names[folder][name] = number
