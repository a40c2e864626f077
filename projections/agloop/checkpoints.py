"""The folder `checkpoints/` of one loop: written, healed, pruned, listed.

I1  The event comes first, then the file: what a kill keeps from being written is written by the
    next to open the loop, byte for byte.
I2  A file goes only when its content is in the log: of ours the state at its seq, of others' the
    text (`checkpoint_adopted`). Its going is recorded before it goes.
I3  Files that are no checkpoints neither count nor go; a damaged one stops nothing.
I4  Files are made and removed under the kernel's lock on the folder, so that what a killed writer
    left half done is told from what another is about to finish.

What stands in a file, and which ones go, is in `checkpoint`.
"""

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from journal import codec, durable, locks, regular
from journal.errors import JournalError
from journal.event import Event, format_time, time_to_ms
from projections.agloop import checkpoint, events
from projections.agloop.checkpoint import Checkpoint
from projections.agloop.records import Records

if TYPE_CHECKING:
    from journal import Engine

Say = Callable[[str], None]

_LOOKED_BACK = 50
_MOST_TEXT_BYTES = 7 << 20


class CheckpointEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the folder, as `checkpoints` lists it; `problem` says why it is none, if so."""

    file: str
    type: str = ""
    timestamp: str = ""
    trigger: str = ""
    human_summary: str = ""
    size_bytes: int = 0
    problem: str = ""


class Checkpoints:
    """The checkpoints of one loop; `folder` need not exist."""

    def __init__(
        self,
        folder: Path,
        engine: "Engine",
        records: Records,
        say: Say,
        *,
        lock_timeout_s: float,
    ) -> None:
        """Look at nothing yet."""
        self.folder = folder
        self._lock_timeout_s = lock_timeout_s
        self._engine = engine
        self._records = records
        self._say = say

    # --- making ----------------------------------------------------------------------------------

    def plan(
        self, kind: str, trigger: str, now: str, *, turns: list[str] | None = None
    ) -> events.CheckpointCreated:
        """Return the event of a checkpoint of the state right before it; holds the append lock.

        A name that was ever taken moves the timestamp on by a millisecond.
        """
        at = time_to_ms(now)
        while self._is_taken(name := checkpoint.file_name(kind, format_time(at))):
            at += 1
        return events.CheckpointCreated(
            type=kind,
            trigger=trigger,
            timestamp=format_time(at),
            file=name,
            plan_status=self._records.plan_status(),
            recent_turns=events.UNSET if turns is None else turns,
        )

    def _is_taken(self, name: str) -> bool:
        return os.path.lexists(self.folder / name) or self._records.event_of(name) is not None

    def write(self, found: Iterable[Event]) -> None:
        """Write the files of the checkpoints among events just appended, then prune."""
        for event in found:
            if event.type == "checkpoint_created":
                name = event.data["file"]
                self._tell(partial(self._put, event), f"checkpoint {name}")
                self._tell(partial(self._prune, name), "pruning")

    def _put(self, event: Event) -> None:
        data = checkpoint.encode(event, self._engine.state_at(event.seq))
        with self._locked():
            durable.write_file(self.folder / event.data["file"], data)

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        """Hold the folder, which is made where it is missing (I4)."""
        durable.make_folder(self.folder, own=True)
        with locks.FolderLock(self.folder) as lock, lock.held(self._lock_timeout_s):
            yield

    def _tell(self, do: Callable[[], None], what: str) -> None:
        """Say what goes wrong: the event is in the log, and the file is made good later (I1)."""
        try:
            do()
        except (OSError, JournalError) as error:
            self._say(f"{what}: not done, and left for later: {error}")

    # --- healing ---------------------------------------------------------------------------------

    def heal(self) -> None:
        """Write what a kill has kept from being written (I1); only the end of the log is read."""
        if any(name.startswith(".") for name in _names(self.folder)):
            self._tell(self._remove_leftovers, "removing what a killed writer left")
        types = ("checkpoint_created", "checkpoints_pruned")
        after = max(0, self._engine.seq - _LOOKED_BACK)
        due: dict[str, Event] = {}
        for event in self._engine.events(after, self._engine.seq, types=types):
            if event.type == "checkpoint_created":
                due[event.data["file"]] = event
            else:
                for name in event.data["files"]:
                    due.pop(name, None)
        for name, event in due.items():
            if not os.path.lexists(self.folder / name):
                self._say(f"{self.folder / name} was missing; it is written again from the journal")
                self._tell(partial(self._put, event), f"checkpoint {name}")

    def _remove_leftovers(self) -> None:
        with self._locked():
            durable.remove_leftovers(self.folder)

    def restore(self) -> list[str]:
        """Write every checkpoint that is missing or changed again; return their names.

        A changed one is kept in quarantine.
        """
        written: list[str] = []
        for name, event in self._records.created().items():
            path = self.folder / name
            data = checkpoint.encode(event, self._engine.state_at(event.seq))
            try:
                found = regular.read_file(path)
            except FileNotFoundError:
                found = None
            if found == data:
                continue
            if found is not None:
                aside = self._engine.path / "quarantine"
                durable.make_folder(aside, own=True)
                durable.write_file(aside / f"{codec.sha256(found)[:16]}-{name}", found)
                self._say(f"{path} was changed; what stood there is kept in {aside}")
            with self._locked():
                durable.write_file(path, data)
            written.append(name)
        return written

    # --- others' checkpoints, and pruning --------------------------------------------------------

    def adopt(self) -> int:
        """Take every checkpoint that others wrote into the log; return how many."""
        drafts: list[events.CheckpointAdopted] = []
        for name, data, found in self._files():
            if isinstance(found, Checkpoint) and not self._is_in_log(name, data):
                drafts += self._draft(name, data)
        count = 0
        for draft in drafts:  # one by one: each may be large, and each is good by itself
            count += len(self._engine.append_batch([draft], actor="agloop"))
        return count

    def _prune(self, just_written: str) -> None:
        kept: dict[str, bytes] = {}
        read: dict[str, Checkpoint] = {}
        for name, data, found in self._files():
            if isinstance(found, Checkpoint):
                kept[name], read[name] = data, found
        gone: list[str] = []
        for name in checkpoint.past_retention(read, just_written=just_written):
            if not self._is_in_log(name, kept[name]):
                draft = self._draft(name, kept[name])
                if not draft:
                    continue
                self._engine.append_batch(draft, actor="agloop")
            gone.append(name)
        if not gone:
            return
        self._engine.append(events.CheckpointsPruned(files=gone), actor="agloop")
        with self._locked():
            for name in gone:
                (self.folder / name).unlink(missing_ok=True)
            durable.sync_folder(self.folder)

    def _is_in_log(self, name: str, data: bytes) -> bool:
        event = self._records.event_of(name)
        if event is not None:
            return checkpoint.encode(event, self._engine.state_at(event.seq)) == data
        return self._records.has_text_of(codec.sha256(data))

    def _draft(self, name: str, data: bytes) -> list[events.CheckpointAdopted]:
        if len(data) > _MOST_TEXT_BYTES:
            self._say(f"{self.folder / name} is too large for the journal; it stays as a file")
            return []
        return [events.CheckpointAdopted(file=name, sha256=codec.sha256(data), text=data.decode())]

    def _files(self) -> Iterator[tuple[str, bytes, Checkpoint | str]]:
        yield from read_folder(self.folder)

    def list(self) -> list[CheckpointEntry]:
        """Return the files of the folder, newest first, those that are no checkpoints last."""
        return list_folder(self.folder)


def read_folder(folder: Path) -> Iterator[tuple[str, bytes, Checkpoint | str]]:
    """Yield name, bytes and content (or why it is none) of each regular file of a folder."""
    for name in _names(folder):
        if name.startswith(".") or not name.endswith(".json"):
            continue
        try:
            data = regular.read_file(folder / name)
        except OSError as error:
            yield name, b"", error.strerror or str(error)
            continue
        yield name, data, checkpoint.try_decode(data, str(folder / name))


def _names(folder: Path) -> list[str]:
    if folder.is_symlink():
        return []  # another's files, which are neither read into the log nor pruned
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def list_folder(folder: Path) -> list[CheckpointEntry]:
    """Return the files of a folder of checkpoints, newest first."""
    good: list[tuple[str, CheckpointEntry]] = []
    bad: list[CheckpointEntry] = []
    for name, data, found in read_folder(folder):
        size = len(data)
        if isinstance(found, str):
            bad.append(CheckpointEntry(file=name, size_bytes=size, problem=found))
            continue
        entry = CheckpointEntry(
            file=name,
            type=found.type,
            timestamp=found.timestamp,
            trigger=found.trigger,
            human_summary=found.human_summary,
            size_bytes=size,
        )
        good.append((found.time, entry))
    good.sort(key=lambda each: (each[0], each[1].file), reverse=True)
    return [entry for _, entry in good] + bad
