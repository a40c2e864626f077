"""What lies in a journal's folder, name by name: the journal's own, leftovers, and other things.

I1  Names, sizes and modes are looked at; nothing is opened but the kernel's list of locks.
I2  Of many other things the first few are named and the rest counted. They are no fault: the
    engine never reads them.
"""

import os
import re
import shlex
import stat
from collections.abc import Iterable
from pathlib import Path

from journal import config as configs
from journal import plural
from journal.engine.core import LOG_FOLDER, QUARANTINE_FOLDER, SNAPSHOTS_FOLDER
from journal.engine.doctor.report import Part
from journal.segment import is_name
from journal.witness import FILE_NAME as WITNESS

LEFT_OVER = "left over"
MISSING = "missing"
_TEMPORARY = ".journal-tmp"
_IN_LOG = re.compile(r"\d{20}\.(jsonl|ids)")
_IN_SNAPSHOTS = re.compile(r"\d{20}\..+\.json")
_MANY = 5
LOCKS = Path("/proc/locks")
_KNOWN = {
    configs.FILE_NAME: "settings",
    LOG_FOLDER: "the log, the only truth",
    SNAPSHOTS_FOLDER: "states by seq, a cache of the log",
    QUARANTINE_FOLDER: "bytes that were moved aside; nothing here deletes them",
    WITNESS: "what is on disk, and whose bytes the views have",
}


def list_parts(folder: Path) -> list[Part]:
    """Return the journal's own parts and what killed writers left; a missing log is a part, too."""
    parts: list[Part] = []
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        return [Part(name=".", what="the folder", health=f"cannot be listed: {error.strerror}")]
    for name in names:
        if name in _KNOWN:
            what = _KNOWN[name]
            if name == QUARANTINE_FOLDER:
                what = f"{plural.count(len(_names(folder / name)), 'file')}: {what}"
            parts.append(Part(name=name, what=what, size_bytes=size_of(folder / name)))
        elif name.endswith(_TEMPORARY):
            parts.append(_left_over(folder, name))
    for inner in (LOG_FOLDER, SNAPSHOTS_FOLDER, QUARANTINE_FOLDER):
        parts += [
            _left_over(folder, f"{inner}/{name}")
            for name in _names(folder / inner)
            if name.endswith(_TEMPORARY)
        ]
    # Lost parts are worth a line, where this is a journal at all.
    if any(part.name in (configs.FILE_NAME, LOG_FOLDER) for part in parts):
        for name in (configs.FILE_NAME, LOG_FOLDER):
            if name not in names:
                parts.append(Part(name=name, what=_KNOWN[name], health=MISSING))
    return parts


def _left_over(folder: Path, name: str) -> Part:
    size = size_of(folder / name)
    return Part(name=name, what="a temporary file", size_bytes=size, health=LEFT_OVER)


def find_others(folder: Path, views: Iterable[str]) -> list[str]:
    """Return sentences about what is not the journal's, in its folder and in its own folders (I2).

    `views`: the paths of its views.
    """
    own = {*_KNOWN, *(os.path.basename(path) for path in views)}
    beside = [name for name in _names(folder) if name not in own and not name.endswith(_TEMPORARY)]
    found = [f"{_list(beside)} not the journal's, and left alone"] if beside else []
    for inner, known in ((LOG_FOLDER, _IN_LOG), (SNAPSHOTS_FOLDER, _IN_SNAPSHOTS)):
        strange = [
            f"{inner}/{name}"
            for name in _names(folder / inner)
            if not known.fullmatch(name) and not name.endswith(_TEMPORARY)
        ]
        if strange:
            found.append(f"{_list(strange)} not the journal's, and never read")
    locks = [name for name in beside if name.endswith((".lock", ".pid"))]
    if locks:
        found.append(
            f"{_list(locks)} no lock of the journal's: it makes no lock files, and the kernel's "
            "locks end with their process"
        )
    return found


def find_obstacles(folder: Path) -> list[str]:
    """Return sentences about what stops or may stop a writer now: rights, and who holds a lock."""
    found: list[str] = []
    for name in (".", LOG_FOLDER):
        path = folder / name
        if os.path.isdir(path) and not os.access(path, os.W_OK | os.X_OK):
            read_only = bool(os.statvfs(path).f_flag & os.ST_RDONLY)
            why = "lies on a read-only file system" if read_only else "cannot be written by you"
            found.append(f"{path} {why}: reading works, and writers are refused")
            break
    witness = folder / WITNESS
    if os.path.isfile(witness) and not os.access(witness, os.R_OK | os.W_OK):
        named = shlex.quote(str(witness))
        found.append(
            f"{witness} cannot be read and written by you: writers are refused; `chmod u+rw "
            f"{named}` lets you, if it is yours"
        )
    segments = [name for name in _names(folder / LOG_FOLDER) if is_name(name)]
    for path in (*(folder / LOG_FOLDER / name for name in segments[-1:]), folder / WITNESS):
        if _links(path) > 1:
            named, copy = shlex.quote(str(path)), shlex.quote(f"{path}.own")
            found.append(
                f"{path} has {_links(path)} hard links, and one that a writer writes has one: "
                f"writers are refused; `cp -p {named} {copy} && mv {copy} {named}` gives it its own"
            )
    for name, what in ((LOG_FOLDER, "append"), (".", "view")):
        holder = _holder_of(folder / name)
        if holder:
            found.append(f"process {holder} holds the {what} lock just now: it is writing")
    return found


def _links(path: Path) -> int:
    try:
        found = path.lstat()
    except OSError:
        return 0
    return found.st_nlink if stat.S_ISREG(found.st_mode) else 0


def _holder_of(path: Path) -> str:
    """Return the pid that holds the `flock` on a folder, from the kernel's list; "" if nobody."""
    try:
        at = path.stat()
        wanted = f"{os.major(at.st_dev):02x}:{os.minor(at.st_dev):02x}:{at.st_ino}"
        for line in LOCKS.read_text(encoding="utf-8").splitlines():
            words = line.split()
            if len(words) > 5 and words[1] == "FLOCK" and words[5] == wanted:
                return words[4]
    except OSError:
        pass  # Not on this system, or not for us: nobody is named then.
    return ""


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder; 0 for what cannot be looked at."""
    try:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode):
            return found.st_size
        return sum(size_of(Path(entry.path)) for entry in os.scandir(path))
    except OSError:
        return 0


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _list(names: list[str]) -> str:
    shown = ", ".join(names[:_MANY])
    if len(names) > _MANY:
        shown += f" and {plural.count(len(names) - _MANY, 'other')}"
    return f"{shown} {'is' if len(names) == 1 else 'are'}"
