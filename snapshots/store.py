"""The folder of a journal's snapshots: which there are, and the newest one that can be used.

    snapshots/00000000000000000120.manual.json      the names sort by seq

I1  A snapshot is only a cache: one that is damaged, or cannot be read, is passed over with a
    message (once a file), and an older one is used. Where none is left the log is folded whole.
I2  A snapshot appears whole and durable, or not at all, and never before the bytes that it is
    made of are durable: its writer gives only states up to `synced`.
I3  Which snapshots there are is read off the folder, again whenever it has changed: no pointer to
    the newest can go stale, and a snapshot that another process has just removed is no error.
I4  Names that are not a snapshot's are left alone: temporary files, files of other people.
    What stands at a snapshot's name and is no regular file is damaged; nothing is followed.

The folder has no lock of its own: whoever writes or removes holds the journal's view lock.
It does not decide when one is due (`snapshots.policy`) or which go (`snapshots.retention`).
"""

import bisect
import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from journal import durable, regular
from journal.errors import Corrupt, UsageError
from snapshots import snapshot
from snapshots.snapshot import Snapshot


class Entry(NamedTuple):
    """A snapshot by its file name; its contents have not been looked at."""

    seq: int
    type: str
    name: str


Entries = list[Entry]
_DIGITS = 20


class Store:
    """The snapshots in `folder`, which need not exist; `on_message` is told what is passed over.

    `needed`: a folder that cannot be listed is an error. To a reader it is only a cache that it
    has to do without.
    """

    def __init__(
        self, folder: Path, on_message: Callable[[str], None], *, needed: bool = True
    ) -> None:
        self.folder = folder
        self._needed = needed
        self._on_message = on_message
        self._passed_over: set[str] = set()
        self._sorted: Sequence[str] = ()
        self._stamp = (0, 0)

    def list(self) -> Entries:
        """Return every snapshot by seq, then type; the folder is read once and no file.

        Raises `OSError` where the folder cannot be listed or is a symlink, if it is `needed`; a
        missing one is empty.
        """
        found = (_entry(name) for name in self._names_or_none())
        return sorted(entry for entry in found if entry is not None)

    def seqs_of(self, kind: str) -> Sequence[int]:
        """Return the seqs of the snapshots of one type, in any order. Raises as `list` does.

        There may be thousands, and the policy asks at each that it takes: no pattern is matched.
        """
        end = f".{kind}.json"
        heads = [name[: -len(end)] for name in self._names_or_none() if name.endswith(end)]
        seqs = [
            int(head)
            for head in heads
            if len(head) == _DIGITS and head.isascii() and head.isdecimal()
        ]
        return [seq for seq in seqs if 1 <= seq <= snapshot.MAX_SEQ]

    def last(self) -> Entry | None:
        """Return the last of `list`; the other names are not even parsed. Raises as it does.

        What is no regular file, and so was never one of ours, is not it; damage excuses no other.
        """
        for name in sorted(self._names_or_none(), reverse=True):
            if (entry := _entry(name)) is not None and self._may_be_ours(name):
                return entry
        return None

    def _names_or_none(self) -> Sequence[str]:
        try:
            return [*self._names()]
        except OSError as error:
            if self._needed:
                raise
            self._pass_over("", error)
            return ()

    def _may_be_ours(self, name: str) -> bool:
        with contextlib.suppress(FileNotFoundError):  # removed just now: it was one
            return stat.S_ISREG(os.lstat(self.folder / name).st_mode)
        return True

    def beyond(self, seq: int) -> Entries:
        """Return the snapshots after `seq`, judged by their names. Raises as `list` does.

        Damage does not excuse one: a snapshot's name appears only when its events were durable.
        """
        return [entry for entry in self.list() if entry.seq > seq]

    def newest(self, upto: int, *, projection: str, revision: str) -> Snapshot | None:
        """Return the newest usable snapshot with seq <= `upto`, or None.

        Usable is one that is whole and of this projection and revision; an empty revision
        matches nothing. Those of others, but the first one that is met, cost the reading of a
        header each. Never raises (I1).
        """
        if not revision:
            return None
        wanted = (projection, revision)
        by_header = False
        for name in self._names_newest_first(upto):
            path = self.folder / name
            try:
                if by_header:
                    header = snapshot.read_header(path)
                    if (header.projection, header.revision) != wanted:
                        continue
                found = snapshot.read(path)
                if (found.projection, found.revision) == wanted:
                    return found
                by_header = True  # Where one is another's, many may be.
            except FileNotFoundError:
                continue
            except (Corrupt, OSError) as error:
                self._pass_over(name, error)
        return None

    def write(self, data: bytes, *, lasting: bool = True) -> Entry:
        """Put a snapshot, as `snapshot.encode` returns it, on disk under its name (I2).

        Not `lasting`: a power cut may take it away again, whole; for what is only a cache.

        Equal seq and type replace each other. Raises `OSError`; under the name then stands what
        stood there before, or all of `data`.
        """
        regular.check_folder(self.folder)
        header = snapshot.decode_header(data, self.folder)
        entry = Entry(header.seq, header.type, snapshot.name_of(header.seq, header.type))
        durable.make_folder(self.folder, own=True)
        durable.write_file(self.folder / entry.name, data, synced=True, lasting=lasting)
        self._passed_over.discard(entry.name)
        return entry

    def remove(self, *names: str) -> None:
        """Remove snapshots by file name and make that durable; one that is gone is no error.

        All are tried before the first `OSError` is raised. A crash in between is safe: what is
        left is removed the next time, for the rules depend only on what is there.
        """
        for name in names:
            if snapshot.parse_name(name) is None:
                raise UsageError(
                    f"{name!r} is not the name of a snapshot",
                    key="name",
                    advice="Names look like 00000000000000000120.manual.json.",
                )
        if not names or not self.folder.exists():
            return
        regular.check_folder(self.folder)
        failed: list[OSError] = []
        for name in names:
            try:
                os.unlink(self.folder / name)
            except FileNotFoundError:
                continue
            except OSError as error:
                failed.append(error)
        durable.sync_folder(self.folder)
        if failed:
            raise failed[0]

    def _names(self) -> Sequence[str]:
        regular.check_folder(self.folder)
        with contextlib.suppress(FileNotFoundError):
            return os.listdir(self.folder)
        return []

    def _names_newest_first(self, upto: int) -> Iterator[str]:
        """Yield the names of the snapshots up to a seq; names compare as their seqs do.

        Only the names that are walked over are parsed: a time travel asks for one of thousands.
        """
        try:
            names = self._sorted_names()
        except OSError as error:
            self._pass_over("", error)
            return
        for at in range(bisect.bisect_left(names, snapshot.name_of(upto + 1, "")) - 1, -1, -1):
            if snapshot.parse_name(names[at]) is not None:
                yield names[at]

    def _sorted_names(self) -> Sequence[str]:
        """Return the names, read anew where the folder has changed.

        One that came within a tick of the clock may be missing: then an older one is used.
        """
        regular.check_folder(self.folder)
        try:
            found = os.stat(self.folder)
        except FileNotFoundError:
            return ()
        stamp = (found.st_ino, found.st_mtime_ns)
        if stamp != self._stamp:
            self._sorted = sorted(self._names())
            self._stamp = stamp
        return self._sorted

    def _pass_over(self, name: str, error: Corrupt | OSError) -> None:
        if name in self._passed_over:
            return
        self._passed_over.add(name)
        why = error.why if isinstance(error, Corrupt) else error.strerror or str(error)
        what = "this snapshot is" if name else "all snapshots are"
        instead = "an older one is used, or the log alone" if name else "the log alone is used"
        self._on_message(f"{self.folder / name}: {what} passed over ({why}); {instead}")


def _entry(name: str) -> Entry | None:
    parsed = snapshot.parse_name(name)
    return None if parsed is None else Entry(*parsed, name)
