"""The library `eventsourcing` (PyPI) on its SQLite recorder: a recorder of stored events."""

import os
import time
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import orjson
from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from bench import workload

_BOARD = UUID(int=1)


class EventSourcing:
    """One originator's events in a database of its own, through the library's recorder."""

    def __init__(self, folder: Path, tasks: int = workload.TASKS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "events.db"
        self._tasks = tasks

    def _recorder(self) -> tuple[SQLiteApplicationRecorder, SQLiteDatastore]:
        store = SQLiteDatastore(os.fspath(self._path))
        recorder = SQLiteApplicationRecorder(store)
        recorder.create_table()
        return recorder, store

    def _stored(self, number: int, event: workload.TaskEvent) -> StoredEvent:
        state = msgspec.json.encode(event)
        return StoredEvent(_BOARD, number, workload.NAMES[type(event)], state)

    def fill(self, count: int) -> None:
        """Make a history in batches of a thousand."""
        recorder, store = self._recorder()
        found = list(workload.events(count, tasks=self._tasks))
        for at in range(0, count, 1000):
            batch = found[at : at + 1000]
            recorder.insert_events([self._stored(at + n, e) for n, e in enumerate(batch, 1)])
        store.close()

    def append(self, count: int, *, durable: bool, **_: Any) -> list[float]:
        """Append one by one; return seconds for each. The library always syncs."""
        assert durable
        recorder, store = self._recorder()
        took = []
        for number, event in enumerate(list(workload.events(count, tasks=self._tasks)), 1):
            start = time.perf_counter()
            recorder.insert_events([self._stored(number, event)])
            took.append(time.perf_counter() - start)
        store.close()
        return took

    def replay(self) -> tuple[Any, float]:
        """Select, decode and fold everything."""
        recorder, store = self._recorder()
        state = workload.initial(self._tasks)
        start = time.perf_counter()
        for stored in recorder.select_events(_BOARD):
            workload.change_by_name(state, stored.topic, orjson.loads(stored.state))
        took = time.perf_counter() - start
        store.close()
        return state, took
