"""A storage adapter over a journal: every value that a key ever had can be had again.

I1  Each change of a key is an event; an equal value, and taking away what is not there, is none.
I2  What another process changed is seen by the next call.
I3  Reading makes nothing: the journal is made by the first value.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

import journal
from journal.config import FILE_NAME
from journal.errors import UsageError
from journal.event import Clock, now_ms
from projections.patch import equal
from projections.task_state.states import STORE_TIMEOUT_S
from projections.task_state.storage import check_key, encode_stored
from projections.task_state.storage_events import NAME, PROJECTION, ValueDeleted, ValueSet


class Change(msgspec.Struct, frozen=True):
    """One change in the history of a key; `value` is None where it was deleted."""

    seq: int
    time: str
    actor: str
    value: Any


class JournalStorage:
    """Values by key, kept by a journal in the folder `path`, which the first value makes."""

    def __init__(
        self,
        path: str | Path,
        *,
        actor: str = "",
        on_message: Callable[[str], None] | None = None,
        clock: Clock = now_ms,
    ) -> None:
        """Open nothing yet; every method raises what `journal.open` raises."""
        self.path = Path(path)
        self.actor = actor
        self._engine: journal.Engine | None = None
        self._options: dict[str, Any] = {
            "on_message": on_message,
            "clock": clock,
            "lock_timeout_s": STORE_TIMEOUT_S,
        }

    @property
    def engine(self) -> "journal.Engine | None":
        """The journal's engine, None before the first value (I3)."""
        if self._engine is None and (self.path / FILE_NAME).exists():
            self._engine = journal.open(self.path, projection=PROJECTION, **self._options)
        return self._engine

    def _made(self) -> "journal.Engine":
        """Return the journal's engine; another process may be faster to make it."""
        if self.engine is None:
            try:
                self._engine = journal.init(self.path, projection=NAME, **self._options)
            except UsageError:
                if not (self.path / FILE_NAME).exists():
                    raise
        found = self.engine
        assert found is not None, "a journal that was made is there"
        return found

    def get(self, key: str) -> Any:
        """See `StorageAdapter`."""
        return self._values().get(check_key(key))

    def set(self, key: str, value: Any) -> None:
        """See `StorageAdapter`."""
        encode_stored(key, value)
        self._made().execute(_set, key, value, actor=self.actor)

    def delete(self, key: str) -> None:
        """See `StorageAdapter`."""
        check_key(key)
        engine = self.engine
        if engine is not None:
            engine.execute(_delete, key, actor=self.actor)

    def list(self, prefix: str) -> list[str]:
        """See `StorageAdapter`; the keys are sorted."""
        return sorted(key for key in self._values() if key.startswith(prefix))

    def get_many(self, keys: Sequence[str]) -> dict[str, Any]:
        """See `BatchStorageAdapter`."""
        values = self._values()
        return {key: values[key] for key in keys if key in values}

    def history(self, key: str) -> Iterator[Change]:
        """Yield every change of a key, oldest first."""
        engine = self.engine
        if engine is None:
            return
        engine.refresh()
        for event in engine.events():
            if event.type in ("value_set", "value_deleted") and event.data["key"] == key:
                value = event.data.get("value")
                yield Change(event.seq, event.time, event.actor, value)

    def close(self) -> None:
        """Bring everything to disk and close; safe to call again."""
        if self._engine is not None:
            self._engine.close()

    def __enter__(self) -> "JournalStorage":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _values(self) -> dict[str, Any]:
        engine = self.engine
        if engine is None:
            return {}
        engine.refresh()
        found: dict[str, Any] = engine.state
        return found


def _set(state: dict[str, Any], key: str, value: Any) -> list[msgspec.Struct]:
    if key in state and equal(state[key], value):
        return []
    return [ValueSet(key=key, value=value)]


def _delete(state: dict[str, Any], key: str) -> list[msgspec.Struct]:
    return [ValueDeleted(key=key)] if key in state else []
