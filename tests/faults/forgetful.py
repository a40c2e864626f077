"""A file system that forgets what was not synced: the worst that a disk may do, on demand.

It keeps two versions of everything: what programs see, and what is on its disk. A cut of the power
makes the second one the first.

I1  The bytes of a file are on disk after its fsync. Names are on disk, if `ordered`, after any
    later fsync (as ext4 and XFS do it), else only after one of their folder (as POSIX has it).
I2  A torn cut keeps of what was not synced what chance wants: of the bytes of each write all,
    none, the first few, or NUL bytes in their place; of the names those of the first few changes.
I3  A sync can be made to fail. As on Linux it fails once: what it did not write is seen as before,
    is taken for written from then on, and is gone after a cut.
I4  It is a process of its own, which speaks the kernel's FUSE protocol over /dev/fuse, so that it
    needs no library. Nothing is cached by the kernel.
"""

import ctypes
import errno
import os
import random
import select
import socket
import stat
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.faults.device import CannotRun
from tests.faults.process import Process

_ROOT = 1
_NO_REPLY = None
_REQUEST = struct.Struct("<IIQQIIII")
_REPLY = struct.Struct("<IiQ")
_ATTR = struct.Struct("<QQQQQQIIIIIIIIII")
_SETATTR = struct.Struct("<IIQQQQQQIIIIIIII")
_REQUEST_BYTES = (1 << 20) + 8192
_DIRECT_IO = 1
_DETACH = 2

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
        self.nodes = {_ROOT: Node(_ROOT, stat.S_IFDIR | 0o755)}
        self.names: dict[int, dict[str, int]] = {_ROOT: {}}
        self._safe_names: dict[int, dict[str, int]] = {_ROOT: {}}
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
        reached = self._reach(_ROOT)
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


# --- the kernel's questions ----------------------------------------------------------------------


class Request(NamedTuple):
    """A question of the kernel: about which node, with which arguments."""

    number: int
    body: bytes

    def names(self, start: int) -> list[str]:
        """Return the NUL-terminated names from there on."""
        return [name.decode() for name in self.body[start:].split(b"\0")[:-1]]


class Server:
    """Answers the kernel; what it does not know it answers with ENOSYS, and is not asked again."""

    def __init__(self, tree: Tree) -> None:
        """Serve this tree."""
        self._tree = tree
        self._answers: dict[int, Callable[[Request], bytes | None]] = {
            1: self._lookup,
            2: lambda _: _NO_REPLY,  # forget
            3: lambda request: self._attr_out(self._tree.node(request.number)),
            4: self._setattr,
            9: self._mkdir,
            10: self._unlink,
            11: self._unlink,
            12: lambda request: self._rename(request, 8),
            13: self._link,
            14: self._open,
            15: self._read,
            16: self._write,
            17: lambda _: struct.pack(
                "<QQQQQIIII24x", 1 << 20, 1 << 19, 1 << 19, 9, 9, 4096, 255, 4096, 0
            ),
            18: lambda _: b"",  # release
            20: self._sync,
            25: lambda _: b"",  # flush
            26: self._init,
            27: self._open,
            28: self._readdir,
            29: lambda _: b"",  # releasedir
            30: self._sync,
            35: self._create,
            36: lambda _: _NO_REPLY,  # interrupt
            38: lambda _: b"",  # destroy
            42: lambda _: _NO_REPLY,  # forget many
            45: lambda request: self._rename(request, 16),
        }

    def answer(self, raw: bytes) -> bytes | None:
        """Answer one question; None where none is due."""
        _, opcode, unique, number, *_ = _REQUEST.unpack_from(raw)
        failed = 0
        body: bytes | None = b""
        try:
            ask = self._answers.get(opcode)
            if ask is None:
                raise OSError(errno.ENOSYS, "not done here")
            body = ask(Request(number, raw[_REQUEST.size :]))
        except OSError as error:
            failed = error.errno or errno.EIO
            body = b""
        if body is None:
            return None
        return _REPLY.pack(_REPLY.size + len(body), -failed, unique) + body

    def _init(self, request: Request) -> bytes:
        big_writes, max_pages = 1 << 5, 1 << 22
        (_, minor) = struct.unpack_from("<II", request.body)
        return struct.pack(
            "<IIIIHHIIHHI28x",
            7,
            min(minor, 31),
            0,
            big_writes | max_pages,
            16,
            12,
            1 << 20,
            1,
            256,
            0,
            0,
        )

    def _attr(self, node: Node) -> bytes:
        seconds, nanoseconds = divmod(node.mtime_ns, 10**9)
        size = len(node.data)
        links = 2 if stat.S_ISDIR(node.mode) else self._tree.links(node.number)
        times = (seconds,) * 3 + (nanoseconds,) * 3
        return _ATTR.pack(
            node.number, size, -(-size // 512), *times, node.mode, links, 0, 0, 0, 4096, 0
        )

    def _attr_out(self, node: Node) -> bytes:
        return bytes(16) + self._attr(node)

    def _entry(self, node: Node) -> bytes:
        return struct.pack("<QQ24x", node.number, 0) + self._attr(node)

    def _lookup(self, request: Request) -> bytes:
        return self._entry(self._tree.find(request.number, request.names(0)[0]))

    def _setattr(self, request: Request) -> bytes:
        found = _SETATTR.unpack_from(request.body)
        valid, size, seconds, nanoseconds, mode = found[0], found[3], found[6], found[9], found[11]
        node = self._tree.node(request.number)
        if valid & 1:
            node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)
        if valid & 8:
            node.resize(size)
        if valid & 32 and not valid & 256:
            node.mtime_ns = seconds * 10**9 + nanoseconds
        return self._attr_out(node)

    def _mkdir(self, request: Request) -> bytes:
        (mode,) = struct.unpack_from("<I", request.body)
        name = request.names(8)[0]
        return self._entry(self._tree.make(request.number, name, stat.S_IFDIR | (mode & 0o777)))

    def _create(self, request: Request) -> bytes:
        _, mode = struct.unpack_from("<II", request.body)
        name = request.names(16)[0]
        node = self._tree.make(request.number, name, stat.S_IFREG | (mode & 0o777))
        return self._entry(node) + self._open(Request(node.number, b""))

    def _unlink(self, request: Request) -> bytes:
        name = request.names(0)[0]
        node = self._tree.find(request.number, name)
        if self._tree.names.get(node.number):
            raise OSError(errno.ENOTEMPTY, name)
        self._tree.change([(request.number, name, None)])
        return b""

    def _rename(self, request: Request, start: int) -> bytes:
        (folder,) = struct.unpack_from("<Q", request.body)
        old, new = request.names(start)
        node = self._tree.find(request.number, old)
        self._tree.change([(request.number, old, None), (folder, new, node.number)])
        return b""

    def _link(self, request: Request) -> bytes:
        (number,) = struct.unpack_from("<Q", request.body)
        name = request.names(8)[0]
        if name in self._tree.names[request.number]:
            raise OSError(errno.EEXIST, name)
        self._tree.change([(request.number, name, number)])
        return self._entry(self._tree.node(number))

    def _open(self, request: Request) -> bytes:
        self._tree.node(request.number)
        return struct.pack("<QIi", 0, _DIRECT_IO, 0)

    def _read(self, request: Request) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", request.body)
        return bytes(self._tree.node(request.number).data[offset : offset + size])

    def _write(self, request: Request) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", request.body)
        self._tree.node(request.number).write(offset, request.body[40 : 40 + size])
        return struct.pack("<II", size, 0)

    def _sync(self, request: Request) -> bytes:
        self._tree.sync(request.number)
        return b""

    def _readdir(self, request: Request) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", request.body)
        names = [(".", request.number), ("..", _ROOT), *self._tree.names[request.number].items()]
        found = b""
        for place, (name, number) in enumerate(names[offset:], offset + 1):
            raw = name.encode()
            kind = stat.S_IFMT(self._tree.node(number).mode) >> 12
            entry = struct.pack("<QQII", number, place, len(raw), kind) + raw
            entry += bytes(-len(entry) % 8)
            if len(found) + len(entry) > size:
                break
            found += entry
        return found


# --- mounting ------------------------------------------------------------------------------------


class Forgetful:
    """One such file system, mounted at `path`."""

    kills_first = True
    """A process that lives on after a cut would go on writing: here the cut is the disk's alone."""

    def __init__(self, path: Path, *, ordered: bool) -> None:
        """Mount it and serve it from a process of its own; raises `CannotRun`."""
        if os.geteuid() != 0:
            raise CannotRun("only root may mount")
        try:
            device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise CannotRun(f"/dev/fuse: {error.strerror}") from error
        self.path = path
        self.torn = random.Random(7)
        path.mkdir()
        options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
        try:
            _mount(path, options)
            ours, theirs = socket.socketpair()
            self._server = Process(lambda _: _serve(device, theirs, Tree(ordered=ordered)))
            theirs.close()
            self._control = ours
        finally:
            os.close(device)

    def cut(self) -> None:
        """Cut the power, half of the times in the middle of writing (I2)."""
        self._ask(f"torn {self.torn.randrange(2**32)}" if self.torn.random() < 0.5 else "cut")

    def fail_sync(self, number: int) -> bool:
        """Let the sync of that number from now on fail (I3)."""
        self._ask(f"fail {number}")
        return True

    def restart(self) -> None:
        """There is nothing to do: after a cut it shows what is on disk."""

    def _ask(self, what: str) -> None:
        self._control.sendall(what.encode())
        if self._control.recv(16) != b"done":
            self._server.kill()
            raise RuntimeError("the forgetful file system has ended")

    def remove(self) -> None:
        """Unmount it and end its process."""
        _libc().umount2(os.fsencode(self.path), _DETACH)
        self._control.close()
        self._server.join()


@contextmanager
def forgetful(path: Path, *, ordered: bool) -> Iterator[Forgetful]:
    """Have such a file system for a block; raises `CannotRun`."""
    system = Forgetful(path, ordered=ordered)
    try:
        yield system
    finally:
        system.remove()


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _mount(path: Path, options: str) -> None:
    done = _libc().mount(b"forgetful", os.fsencode(path), b"fuse", 0, options.encode())
    if done != 0:
        raise CannotRun(f"FUSE cannot be mounted: {os.strerror(ctypes.get_errno())}")


def _serve(device: int, control: socket.socket, tree: Tree) -> None:
    """Answer the kernel and the tester, until either is gone."""
    server = Server(tree)
    while True:
        ready, _, _ = select.select([device, control.fileno()], [], [])
        if control.fileno() in ready:
            asked = control.recv(64).decode().split()
            if not asked:
                return
            _obey(tree, asked)
            control.sendall(b"done")
        if device in ready:
            try:
                raw = os.read(device, _REQUEST_BYTES)
            except OSError as error:
                if error.errno == errno.ENODEV:  # unmounted
                    return
                continue  # a question that was taken back
            reply = server.answer(raw)
            if reply is not None:
                _reply(device, reply)


def _obey(tree: Tree, asked: list[str]) -> None:
    if asked[0] == "fail":
        tree.fail_sync(int(asked[1]))
    else:
        tree.cut(random.Random(int(asked[1])) if asked[0] == "torn" else None)


def _reply(device: int, reply: bytes) -> None:
    try:
        os.write(device, reply)
    except OSError as error:
        if error.errno != errno.ENOENT:  # whoever asked was killed meanwhile
            raise
