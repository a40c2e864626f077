"""SQLite with orjson: a table of events and one of snapshots; WAL, synchronous FULL or OFF."""

import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import orjson

from bench import workload

_EVERY = 1000


class Sqlite:
    """A database in a folder of its own."""

    def __init__(self, folder: Path, tasks: int = workload.TASKS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._tasks = tasks

    def _connect(self, *, durable: bool) -> sqlite3.Connection:
        connection = sqlite3.connect(self.folder / "events.db", isolation_level=None)
        connection.execute("pragma journal_mode=wal")
        connection.execute(f"pragma synchronous={'full' if durable else 'off'}")
        connection.execute(
            "create table if not exists events"
            " (seq integer primary key, time text, type text, actor text, data blob)"
        )
        connection.execute(
            "create table if not exists snapshots (seq integer primary key, state blob)"
        )
        return connection

    def _row(self, event: workload.TaskEvent) -> tuple[str, str, str, bytes]:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return now, workload.NAMES[type(event)], "bench", msgspec.json.encode(event)

    _INSERT = "insert into events (time, type, actor, data) values (?, ?, ?, ?)"

    def fill(self, count: int) -> None:
        """Make a history with a snapshot at every thousandth event."""
        connection = self._connect(durable=False)
        state = workload.initial(self._tasks)
        connection.execute("begin")
        for number, event in enumerate(workload.events(count, tasks=self._tasks), 1):
            connection.execute(self._INSERT, self._row(event))
            workload.change(state, event)
            if number % _EVERY == 0:
                snapshot = (number, orjson.dumps(state))
                connection.execute("insert into snapshots values (?, ?)", snapshot)
                connection.execute("commit")
                connection.execute("begin")
        connection.execute("commit")
        connection.close()

    def append(self, count: int, *, durable: bool, **_: Any) -> list[float]:
        """Append one by one, each its own transaction; return seconds for each."""
        found = list(workload.events(count, tasks=self._tasks))
        state = workload.initial(self._tasks)
        connection = self._connect(durable=durable)
        took = []
        for event in found:
            start = time.perf_counter()
            connection.execute(self._INSERT, self._row(event))
            workload.change(state, event)
            took.append(time.perf_counter() - start)
        connection.close()
        return took

    def batches(self, count: int, *, size: int, durable: bool) -> float:
        """Append batches, each one transaction; return seconds in all."""
        found = list(workload.events(count, tasks=self._tasks))
        state = workload.initial(self._tasks)
        connection = self._connect(durable=durable)
        start = time.perf_counter()
        for at in range(0, count, size):
            connection.execute("begin")
            connection.executemany(self._INSERT, [self._row(e) for e in found[at : at + size]])
            connection.execute("commit")
            for event in found[at : at + size]:
                workload.change(state, event)
        took = time.perf_counter() - start
        connection.close()
        return took

    def _fold(self, connection: sqlite3.Connection, state: Any, after: int, upto: int) -> Any:
        query = "select type, data from events where seq > ? and seq <= ? order by seq"
        for name, data in connection.execute(query, (after, upto)):
            workload.change_by_name(state, name, orjson.loads(data))
        return state

    def replay(self) -> tuple[Any, float]:
        """Select, decode and fold everything."""
        connection = self._connect(durable=False)
        start = time.perf_counter()
        state = self._fold(connection, workload.initial(self._tasks), 0, 2**62)
        took = time.perf_counter() - start
        connection.close()
        return state, took

    def cold_open(self) -> tuple[Any, float]:
        """Read the newest snapshot and fold the rest."""
        start = time.perf_counter()
        connection = self._connect(durable=False)
        seq, data = connection.execute(
            "select seq, state from snapshots order by seq desc limit 1"
        ).fetchone()
        state = self._fold(connection, orjson.loads(data), seq, 2**62)
        took = time.perf_counter() - start
        connection.close()
        return state, took

    def states_at(self, seqs: Iterable[int]) -> Iterator[tuple[Any, float]]:
        """Yield the state at each seq and the seconds."""
        connection = self._connect(durable=False)
        query = "select seq, state from snapshots where seq <= ? order by seq desc limit 1"
        for wanted in seqs:
            start = time.perf_counter()
            row = connection.execute(query, (wanted,)).fetchone()
            seq, state = (
                (row[0], orjson.loads(row[1])) if row else (0, workload.initial(self._tasks))
            )
            state = self._fold(connection, state, seq, wanted)
            yield state, time.perf_counter() - start
        connection.close()
