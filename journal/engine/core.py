"""What one open journal holds, and who may touch it when.

I1  `mutex` guards the live state and the log's tail between threads; the append lock (flock on
    log/) guards the log between processes; the view lock (a mutex and flock on the journal's
    folder) guards views and witness. Order: mutex, append lock, view lock; never the reverse.
I2  `live` is None while the state is unsure (an apply function may have changed it and the write
    is not certain); the next to need it folds anew from disk.
I3  A journal belongs to the process that opened it: in a forked child every call raises, and the
    child's copies of the descriptors are closed, else they would keep a killed parent's lock.
"""

import contextlib
import os
import socket
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from journal import durable, recovery
from journal.config import Config
from journal.engine.hold import Hold
from journal.engine.states import Fold, Live, States
from journal.errors import Corrupt, JournalError, Locked, UsageError
from journal.event import Clock, format_time
from journal.locks import FolderLock
from journal.log.history import History, list_segments
from journal.log.reader import Reader
from journal.log.writer import Writer
from journal.segment import Block
from journal.witness import Witness, WitnessFile
from journal.witness import Writer as WriterRecord
from projections.projection import Projection
from snapshots.store import Store

LOG_FOLDER = "log"
SNAPSHOTS_FOLDER = "snapshots"
QUARANTINE_FOLDER = "quarantine"


class Core:
    """One open journal, without its behaviour."""

    def __init__(
        self,
        path: Path,
        config: Config,
        projection: Projection,
        *,
        write: bool,
        clock: Clock,
        lock_timeout_s: float,
        say: Callable[[str], None],
    ) -> None:
        """Open the files that are kept open; raises as `Reader` and `FolderLock` do."""
        self.path = path
        self.config = config
        self.projection = projection
        self.write = write
        self.clock = clock
        self.lock_timeout_s = lock_timeout_s
        self.say = say
        self.quarantine = path / QUARANTINE_FOLDER
        self.store = Store(path / SNAPSHOTS_FOLDER, say, needed=write)
        self.states = States(projection, self.store)
        self.live: Live | None = None
        self.known_seq = 0
        self.read_after = 0
        self.boot = ""
        self.settled = False
        self.damage: Corrupt | None = None
        self.without_code: UsageError | None = None
        self.mutex = threading.RLock()
        self._view_mutex = threading.RLock()
        self.witness_file = WitnessFile(path, write=write)
        self._said_no_witness = False
        self.me = WriterRecord(os.getpid(), format_time(clock()), socket.gethostname())
        self.closed = False
        self._log: Reader
        self._writer: Writer | None = None
        with contextlib.ExitStack() as opened:
            if write:
                list_segments(path / LOG_FOLDER, any_first=True)  # says it where there is no log
                self.append_lock = opened.enter_context(FolderLock(path / LOG_FOLDER))
                self.view_lock = opened.enter_context(FolderLock(path))
                self._log = self._writer = Writer(
                    path / LOG_FOLDER,
                    quarantine=self.quarantine,
                    clock=clock,
                    segment_bytes=config.segment_bytes,
                    believed_id=config.id,
                )
            else:
                self._log = Reader(path / LOG_FOLDER, believed_id=config.id)
            opened.pop_all()
        self._append_hold: Hold | None = None
        self._view_hold: Hold | None = None
        if write:
            self._append_hold = Hold(self, self.mutex, self.append_lock)
            self._view_hold = Hold(self, self._view_mutex, self.view_lock)
        _open_cores.add(self)

    @property
    def reader(self) -> Reader:
        """The log, for reading."""
        return self._log

    @property
    def log(self) -> Writer:
        """The log, for writing; raises `JournalError` where the journal was opened read-only."""
        if self._writer is None:
            raise self._refuse_writing()
        return self._writer

    def _refuse_writing(self) -> JournalError:
        self.check_usable()
        return JournalError(
            f"{self.path}: opened read-only", advice="Open it without read_only to change it."
        )

    @property
    def history(self) -> History:
        """The log up to the tail, to be read while others append."""
        return self._log.history

    # --- locks -----------------------------------------------------------------------------------

    @property
    def append_hold(self) -> "Hold":
        """The mutex and the append lock (I1); raises `JournalError` if opened read-only."""
        if self._append_hold is None:
            raise self._refuse_writing()
        return self._append_hold

    @property
    def view_hold(self) -> "Hold":
        """The view lock (I1); raises `JournalError` if opened read-only."""
        if self._view_hold is None:
            raise self._refuse_writing()
        return self._view_hold

    def appending(self) -> contextlib.AbstractContextManager[None]:
        """Hold the mutex and the append lock (I1) in a `with`; raises `Locked`."""
        return self.append_hold.held()

    def viewing(self) -> contextlib.AbstractContextManager[None]:
        """Hold the view lock (I1) in a `with`; raises `Locked`."""
        return self.view_hold.held()

    def refuse_nested(self) -> NoReturn:
        """Refuse an append from inside an append: the mutex alone would let it pass."""
        raise UsageError(
            "a command, or what it calls, may not use the engine that runs it",
            advice="Return the events from the command; they are appended for you.",
        )

    @contextlib.contextmanager
    def using(self) -> Iterator[None]:
        """Hold the mutex, to use what this engine has in memory or open."""
        self.check_usable()  # First: in a forked child the mutex may be held by nobody, for ever.
        with self.mutex:
            self.check_usable()
            yield

    def name_holder(self, error: Locked) -> Locked:
        """Return the error with who wrote last, as far as the witness knows."""
        witness = None
        with contextlib.suppress(OSError):
            witness = self.witness_file.read()
        if witness is None or witness.writer is None:
            return error
        holder = str(witness.writer)
        return Locked(
            f"{error.message} (the last writer was {holder})",
            path=error.path,
            timeout_s=error.timeout_s,
            holder=holder,
            advice=error.advice,
        )

    # --- witness ---------------------------------------------------------------------------------

    def read_witness(self) -> Witness:
        """Return the record as it is now; an empty one where it is missing or broken.

        A reader does without one that it may not read, or that is no file, and says so once.
        """
        try:
            return self.witness_file.read() or Witness()
        except OSError as error:
            if self.write:
                raise
            if not self._said_no_witness:
                self._said_no_witness = True
                self.say(
                    f"{self.witness_file.path}: {error.strerror}; what was known to be on disk, "
                    "and which views are the log's own, is not known"
                )
            return Witness()

    @property
    def by_stat(self) -> bool:
        """Say whether the stat of a view tells that its bytes are as vouched (`Witness.boot`).

        So it is, too, once every view was looked at (`settled`), where boots have no names.
        """
        return self.settled or (bool(self.boot) and self.boot == durable.boot_id())

    # --- state -----------------------------------------------------------------------------------

    def fresh(self) -> Live:
        """Return the live state, folded anew from disk where it is unsure (I2).

        Raises `Corrupt` where damage, or an end that is gone, leaves it unknown, and `UsageError`
        where the code of the projection did not come.
        """
        if self.without_code is not None:
            raise self.without_code
        live, tail_seq = self.live, self._log.history.tail.seq
        if live is not None and live.seq == tail_seq >= self.known_seq:
            return live
        if live is None and self.damage is not None:
            raise self.damage
        if (missing := self.missing_end()) is not None:
            raise missing
        if live is None or live.seq != tail_seq:  # Ctrl-C came between the tail and the state
            self.live = live = self.states.at(self.history, tail_seq)
        return live

    def catch_up_reading(self) -> None:
        """Fold what was appended since; for a journal that was opened read-only."""
        live, self.live = self.live, None
        if live is None:
            live = self.states.initial()
            self.reader.seek(0)
        fold = Fold(self.projection, live)
        for block in self.reader.advance():
            try:
                fold.add(block)
            except ValueError as error:
                raise self.history.malformed(block) from error
        self.live = fold.result(self.history.folder)
        self.damage = None

    def missing_end(self) -> Corrupt | None:
        """Return the error for a log that ends before `known_seq`, if it does: that was on disk."""
        if self.history.tail.seq >= self.known_seq:
            return None
        return recovery.missing_end(self.reader.last, self.known_seq)

    def fresh_before(self, block: Block) -> Live:
        """Return the live state as it is before `block`, which the log's tail is past already."""
        live = self.live
        if live is None or live.seq != block.before.seq:
            self.live = live = self.states.at(self.history, block.before.seq)
        return live

    def newest_snapshot_seq(self) -> int:
        """Return the seq of the newest snapshot by name, 0 if there is none."""
        newest = self.store.last()
        return 0 if newest is None else newest.seq

    # --- the process -----------------------------------------------------------------------------

    def check_usable(self) -> None:
        """Raise `JournalError` after `close` and in a forked child (I3)."""
        if self.closed:
            raise JournalError(
                f"{self.path}: this engine is closed, or was opened before a fork",
                advice="Open the journal again in this process.",
            )

    def close(self) -> None:
        """Close every descriptor, once no thread is at work with it; safe to call again.

        A descriptor closed under a thread that writes may by then be another file's.
        """
        with self.mutex, self._view_mutex:
            self.closed = True
            self._log.close()
            self._close_files()

    def close_in_child(self) -> None:
        """Close the copies that a forked child has (I3), where no other thread went along."""
        self.closed = True
        self._log.last.close()
        self._close_files()

    def _close_files(self) -> None:
        self.witness_file.close()
        if self.write:
            self.append_lock.close()
            self.view_lock.close()


_open_cores: "weakref.WeakSet[Core]" = weakref.WeakSet()


def _close_in_child() -> None:
    for core in list(_open_cores):
        core.close_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
