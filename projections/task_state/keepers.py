"""Who keeps the state of a thread: a journal, or any storage adapter.

I1  A change is refused before anything is on disk, also before a file that no journal keeps yet
    is taken over.
I2  With a journal each change is an event, applied once, on the newest state, whoever else
    writes. A storage adapter has no such lock: there the state is read, changed and written back,
    one thread of this process at a time.
"""

import errno
import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

import journal
from journal import codec
from journal.errors import UsageError
from journal.event import Clock, Event, format_time
from projections.patch import copy
from projections.task_state.events import Normalized
from projections.task_state.old_file import OldFile, read_old_file
from projections.task_state.places import Place, check_thread, state_key
from projections.task_state.projection import NAME, PROJECTION
from projections.task_state.states import STORE_TIMEOUT_S, Json, check, exists
from projections.task_state.storage import StorageAdapter
from projections.typed_lines import event_type

Command = Callable[..., list[msgspec.Struct]]
Say = Callable[[str], None]


class Keeper(Protocol):
    """Keeps the state of one thread."""

    def load(self) -> Json | None:
        """Return a copy of the newest state, None where there is none."""
        ...

    def begin(self, event: msgspec.Struct) -> bool:
        """Begin a state with an event; False where there is one already."""
        ...

    def take_over(self) -> bool:
        """Let a file that nobody keeps yet be kept; False where there is none."""
        ...

    def run(self, command: Command, *args: Any, key: str = "") -> bool:
        """Run a command on the newest state; say whether anything was recorded.

        `key` makes it an event that is recorded once, however often this is called.
        """
        ...

    def sibling(self, thread: str) -> "Keeper":
        """Return the keeper of another thread in the same place."""
        ...

    def seq(self) -> int:
        """Return the seq of the newest event, 0 where none are counted."""
        ...

    def origin(self) -> str:
        """Return the thread from which this one was spawned, an empty text for none."""
        ...

    def close(self) -> None:
        """Close; safe to call again."""
        ...


class JournalKeeper:
    """Keeps the state of a thread by a journal."""

    def __init__(
        self, place: Place, *, actor: str = "", on_message: Say | None = None, clock: Clock
    ) -> None:
        """Open nothing yet."""
        self.place = place
        self._actor = actor
        self._on_message = on_message
        self._clock = clock
        self._engine: journal.Engine | None = None

    @property
    def engine(self) -> "journal.Engine | None":
        """The journal's engine; None where no journal keeps the thread yet."""
        if self._engine is None and self.place.has_journal:
            self._engine = self._open()
        return self._engine

    def _open(self) -> "journal.Engine":
        """Open the journal; where nothing may be written, to read only."""
        self.place.refuse_links()
        options = {**self._options, "projection": PROJECTION}
        try:
            return journal.open(self.place.journal, **options)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            return journal.open(self.place.journal, read_only=True, **options)

    @property
    def _options(self) -> dict[str, Any]:
        return {
            "on_message": self._on_message,
            "clock": self._clock,
            "lock_timeout_s": STORE_TIMEOUT_S,
        }

    def load(self) -> Json | None:
        """See `Keeper`; raises `Corrupt` for a damaged file that no journal keeps yet."""
        engine = self.engine
        if engine is None:
            old = self._read_old()
            return None if old is None else dict(copy(old.state))
        engine.refresh()
        state: Json = engine.state
        return state if exists(state) else None

    def _read_old(self) -> OldFile | None:
        self.place.refuse_links()
        try:
            return read_old_file(self.place.state_file)
        except FileNotFoundError:
            return None

    def begin(self, event: msgspec.Struct) -> bool:
        """See `Keeper`."""
        if self.load() is not None:
            return False
        fold_new({}, [event], self._clock())
        if self._engine is not None:
            # A journal that the general commands made, without any event of ours.
            return bool(self._engine.execute(_begin_if_none, event, actor=self._actor))
        draft = journal.Draft(type=event_type(type(event)), data=event, actor=self._actor)
        return self._make(events=[draft])

    def _make(self, **options: Any) -> bool:
        """Make the journal; False where another process was faster, whose one is then opened."""
        self.place.refuse_links()
        view_files = {"state": f"../{self.place.state_file.name}"}
        try:
            self._engine = journal.init(
                self.place.journal,
                projection=NAME,
                view_files=view_files,
                **options,
                **self._options,
            )
        except UsageError:
            if not self.place.has_journal:
                raise
            return False
        return True

    def take_over(self) -> bool:
        """See `Keeper`; nothing happens where there is no such file."""
        old = None if self.engine is not None else self._read_old()
        return old is not None and self._take_over(old)

    def _take_over(self, old: OldFile) -> bool:
        changes = [Normalized(changes=old.changes)] if old.changes else []
        return self._make(
            take_over=journal.TakeOver(
                path=self.place.state_file.name, sha256=old.sha256, state=old.found, events=changes
            )
        )

    def run(self, command: Command, *args: Any, key: str = "") -> bool:
        """See `Keeper`."""
        if self.engine is None:
            old = self._read_old()
            if old is None:
                return bool(command({}, *args))  # it refuses, or does nothing
            # Whatever refuses refuses here, before anything is on disk (I1).
            fold_new(copy(old.state), command(old.state, *args), self._clock())
            self._take_over(old)
        engine = self.engine
        assert engine is not None, "what was taken over has a journal"
        return bool(engine.execute(command, *args, actor=self._actor, id=key))

    def sibling(self, thread: str) -> "JournalKeeper":
        """See `Keeper`."""
        place = Place(self.place.root, check_thread(thread))
        return JournalKeeper(
            place, actor=self._actor, on_message=self._on_message, clock=self._clock
        )

    def seq(self) -> int:
        """See `Keeper`."""
        engine = self.engine
        return 0 if engine is None else engine.seq

    def origin(self) -> str:
        """See `Keeper`."""
        engine = self.engine
        if engine is not None:
            for event in engine.events(upto=_FIRST_EVENTS):
                if event.type == "spawned_from":
                    return str(event.data["thread"])
        return ""

    def close(self) -> None:
        """See `Keeper`."""
        if self._engine is not None:
            self._engine.close()


_FIRST_EVENTS = 3


class StorageKeeper:
    """Keeps the state of a thread under its key in a storage adapter (I2)."""

    def __init__(self, storage: StorageAdapter, thread: str, *, clock: Clock) -> None:
        """Read nothing yet."""
        self._storage = storage
        self._thread = check_thread(thread)
        self._clock = clock
        self._lock = threading.Lock()

    def load(self) -> Json | None:
        """See `Keeper`; raises `UsageError` for a value that is no state."""
        found = self._storage.get(state_key(self._thread))
        if found is None:
            return None
        check(found)
        state: Json = found
        return state

    def begin(self, event: msgspec.Struct) -> bool:
        """See `Keeper`."""
        with self._lock:
            if self.load() is not None:
                return False
            self._save(fold_new({}, [event], self._clock()))
            return True

    def take_over(self) -> bool:
        """See `Keeper`: what lies in the storage is kept by it already."""
        return False

    def run(self, command: Command, *args: Any, key: str = "") -> bool:  # noqa: ARG002
        """See `Keeper`."""
        with self._lock:
            state = self.load() or {}
            events = command(state, *args)
            if events:
                self._save(fold_new(state, events, self._clock()))
            return bool(events)

    def _save(self, state: Json) -> None:
        self._storage.set(state_key(self._thread), state)

    def sibling(self, thread: str) -> "StorageKeeper":
        """See `Keeper`."""
        return StorageKeeper(self._storage, thread, clock=self._clock)

    def seq(self) -> int:
        """See `Keeper`."""
        return 0

    def origin(self) -> str:
        """See `Keeper`."""
        return ""

    def close(self) -> None:
        """See `Keeper`: the storage is its owner's to close."""


def fold_new(state: Json, events: Iterable[msgspec.Struct], time_ms: int) -> Json:
    """Return what `state` becomes by events at a time; raises `UsageError` as an append would."""
    time = format_time(time_ms)
    bodies = [
        codec.encode_body(
            Event(seq=seq, time=time, type=event_type(type(event)), data=None),
            codec.encode_value(event),
        )
        for seq, event in enumerate(events, 1)
    ]
    if not bodies:
        return state
    lines = bytes(codec.seal(bodies, 0)[0])
    after: Json = PROJECTION.apply_new(state, PROJECTION.decode_new(lines))
    return after


def _begin_if_none(state: Json, event: msgspec.Struct) -> list[msgspec.Struct]:
    return [] if exists(state) else [event]
