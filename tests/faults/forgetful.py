"""A file system that forgets what was not synced: the worst that a disk may do, on demand.

I1  What it remembers and forgets is `tests.faults.forgetful_tree`; this is how the kernel gets it.
I2  It is a process of its own, which speaks the kernel's FUSE protocol over /dev/fuse, so that it
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.faults.device import CannotRun, refuse_without_mounts
from tests.faults.forgetful_tree import ROOT, Node, Tree
from tests.faults.process import Process

_NO_REPLY = None
_REQUEST = struct.Struct("<IIQQIIII")
_REPLY = struct.Struct("<IiQ")
_ATTR = struct.Struct("<QQQQQQIIIIIIIIII")
_SETATTR = struct.Struct("<IIQQQQQQIIIIIIII")
_REQUEST_BYTES = (1 << 20) + 8192
_DIRECT_IO = 1
_DETACH = 2


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
        names = [(".", request.number), ("..", ROOT), *self._tree.names[request.number].items()]
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
        refuse_without_mounts()
        try:
            device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise CannotRun(f"/dev/fuse: {error.strerror}", lacking="right") from error
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
        """Cut the power, half of the times in the middle of writing (`Tree.cut`)."""
        self._ask(f"torn {self.torn.randrange(2**32)}" if self.torn.random() < 0.5 else "cut")

    def fail_sync(self, number: int) -> bool:
        """Let the sync of that number from now on fail (`Tree.fail_sync`)."""
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
        why = f"FUSE cannot be mounted: {os.strerror(ctypes.get_errno())}"
        raise CannotRun(why, lacking="nothing")


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
