"""Small file systems of our own: a tmpfs with little room, and real ones whose power can be cut.

I1  What was mounted is unmounted again, and its image removed, whatever happens in between.
I2  A cut is the kernel's own (`FS_IOC_SHUTDOWN` without flushing its journal): what is not on the
    image by then is gone, as with a power cut. Needs root and a loop device.
"""

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.row import Lacking, Skipped, Violation

_SHUTDOWN = 0x8004587D
_WITHOUT_FLUSH = (2).to_bytes(4, "little")
_IMAGE_BYTES = {"ext4": 64 << 20, "xfs": 320 << 20}
_MAKE = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"]}
_UNMOUNT_TRIES = 100
_CAP_SYS_ADMIN = 21
_DENIED = ("unknown filesystem type", "permission denied", "not permitted", "loop device")
"""How mount says that the kernel has no such thing, or not for us."""


class CannotRun(Exception):
    """Why such a file system cannot be had here, and what this machine lacks for it."""

    def __init__(self, why: str, *, lacking: Lacking) -> None:
        super().__init__(why)
        self.lacking: Lacking = lacking

    def skipping(self, what: str) -> Skipped:
        """Say what is not tried for that reason."""
        return Skipped(what, str(self), self.lacking)


class PowerCut:
    """A mounted file system on a loop device."""

    kills_first = False

    def __init__(self, kind: str, folder: Path) -> None:
        """Make and mount one of `kind` (ext4, xfs); raises `CannotRun`."""
        refuse_without_mounts()
        if not os.path.exists("/dev/loop-control"):
            raise CannotRun("there are no loop devices", lacking="right")
        if shutil.which(_MAKE[kind][0]) is None:
            raise CannotRun(f"{_MAKE[kind][0]} is not installed", lacking="tool")
        self.kind = kind
        self.path = folder / f"{kind}-mounted"
        self._image = folder / f"{kind}.img"
        with self._image.open("wb") as file:
            file.truncate(_IMAGE_BYTES[kind])
        _run(*_MAKE[kind], str(self._image))
        self.path.mkdir()
        self.mount()

    def mount(self) -> None:
        """Mount it, which replays its journal after a cut; raises `CannotRun`."""
        _run("mount", "-o", "loop", str(self._image), str(self.path))

    def cut(self) -> None:
        """Cut the power (I2); processes that use it get errors from here on."""
        fd = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, _SHUTDOWN, _WITHOUT_FLUSH)
        except OSError as error:
            why = f"{self.kind} has no FS_IOC_SHUTDOWN here: {error}"
            raise CannotRun(why, lacking="right") from error
        finally:
            os.close(fd)

    def restart(self) -> None:
        """Unmount and mount it: the file system replays its journal."""
        self.unmount()
        self.mount()

    def fail_sync(self, number: int) -> bool:
        """Say that a sync cannot be made to fail here."""
        return False

    def unmount(self) -> None:
        """Unmount it, once the kernel lets go of it."""
        said = b""
        for _ in range(_UNMOUNT_TRIES):
            done = subprocess.run(["umount", str(self.path)], check=False, capture_output=True)
            if done.returncode == 0:
                return
            said = done.stderr
            time.sleep(0.02)
        raise Violation(f"{self.path} stays mounted: {said.decode().strip()}")

    def remove(self) -> None:
        """Unmount it for good, if it is mounted, even under somebody who still uses it."""
        if self.path.is_mount():
            _run("umount", "--lazy", str(self.path))


@contextmanager
def power_cut(kind: str, folder: Path) -> Iterator[PowerCut]:
    """Have such a file system for a block."""
    device = PowerCut(kind, folder)
    try:
        yield device
    finally:
        device.remove()


@contextmanager
def small_tmpfs(path: Path, size_bytes: int) -> Iterator[None]:
    """Have a tmpfs of that size at `path` for a block; raises `CannotRun`."""
    refuse_without_mounts()
    path.mkdir()
    _run("mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(path))
    try:
        yield
    finally:
        _run("umount", "--lazy", str(path))


def refuse_without_mounts() -> None:
    """Raise `CannotRun` where this process may not mount anything."""
    if os.geteuid() != 0:
        raise CannotRun("only root may mount", lacking="right")
    status = Path("/proc/self/status").read_text()
    [capabilities] = [line.split()[1] for line in status.splitlines() if "CapEff" in line]
    if not int(capabilities, 16) >> _CAP_SYS_ADMIN & 1:
        raise CannotRun("root may not mount here", lacking="right")


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        lacking: Lacking = "right" if any(one in said for one in _DENIED) else "nothing"
        raise CannotRun(f"{' '.join(command[:3])}: {said}", lacking=lacking)
