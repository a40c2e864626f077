"""The library `eventsourcing` (PyPI) as its users use it: an aggregate, an application, SQLite.

Appends go through a method of an aggregate that stays in memory (its fastest way) and `save`; a
replay is `repository.get` without snapshots.
"""

import os
import time
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

from bench import workload


class Board(Aggregate):
    """The board; its state changes through the workload's own apply functions."""

    @event("Created")
    def __init__(self, tasks: int) -> None:
        self.state = workload.initial(tasks)

    @staticmethod
    def create_id(tasks: int) -> UUID:
        """Return the same id every time: there is one board in a database."""
        return uuid5(UUID(int=0), str(tasks))

    @event("TaskChanged")
    def change_task(self, task: int, status: str, note: str, attempt: int) -> None:
        """Change a task."""
        workload.change(self.state, workload.TaskChanged(task, status, note, attempt))

    @event("TaskRenamed")
    def rename_task(self, task: int, title: str) -> None:
        """Rename a task."""
        workload.change(self.state, workload.TaskRenamed(task, title))

    @event("TaskRetried")
    def retry_task(self, task: int, attempt: int, reason: str) -> None:
        """Let a task start anew."""
        workload.change(self.state, workload.TaskRetried(task, attempt, reason))

    def take(self, change: workload.TaskEvent) -> None:
        """Trigger the event that a change of the workload is."""
        if isinstance(change, workload.TaskChanged):
            self.change_task(change.task, change.status, change.note, change.attempt)
        elif isinstance(change, workload.TaskRenamed):
            self.rename_task(change.task, change.title)
        else:
            self.retry_task(change.task, change.attempt, change.reason)


class EventSourcing:
    """One aggregate in a database of its own."""

    def __init__(self, folder: Path, tasks: int = workload.TASKS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "events.db"
        self._tasks = tasks

    def _application(self) -> Application[UUID]:
        return Application(
            env={
                "PERSISTENCE_MODULE": "eventsourcing.sqlite",
                "SQLITE_DBNAME": os.fspath(self._path),
            }
        )

    def fill(self, count: int) -> None:
        """Make a history, saved a thousand events at a time."""
        application = self._application()
        board = Board(self._tasks)
        for number, change in enumerate(workload.events(count, tasks=self._tasks), 1):
            board.take(change)
            if number % 1000 == 0:
                application.save(board)
        application.save(board)
        application.close()

    def append(self, count: int, *, durable: bool, **_: Any) -> list[float]:
        """Trigger and save one by one; return seconds for each. The library always syncs."""
        assert durable
        found = list(workload.events(count, tasks=self._tasks))
        application = self._application()
        board = Board(self._tasks)
        application.save(board)
        took = []
        for change in found:
            start = time.perf_counter()
            board.take(change)
            application.save(board)
            took.append(time.perf_counter() - start)
        application.close()
        return took

    def replay(self) -> tuple[Any, float]:
        """Let the repository make the aggregate from its stored events."""
        application = self._application()
        start = time.perf_counter()
        board: Any = application.repository.get(Board.create_id(self._tasks))
        took = time.perf_counter() - start
        application.close()
        return board.state, took

    def cold_open(self) -> tuple[Any, float]:
        """Open and get the aggregate; without snapshots that is a replay."""
        start = time.perf_counter()
        application = self._application()
        board: Any = application.repository.get(Board.create_id(self._tasks))
        took = time.perf_counter() - start
        application.close()
        return board.state, took
