"""`langgraph-checkpoint-sqlite` (PyPI): a checkpoint of the whole state for every change."""

import os
import sqlite3
import time
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from bench import workload


class LangGraph:
    """One thread's checkpoints in a database of its own."""

    def __init__(self, folder: Path, tasks: int = workload.TASKS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "checkpoints.db"
        self._tasks = tasks

    def append(self, count: int, *, durable: bool, **_: Any) -> list[float]:
        """Put one checkpoint for each event; return seconds for each."""
        connection = sqlite3.connect(os.fspath(self._path), check_same_thread=False)
        connection.execute(f"pragma synchronous={'full' if durable else 'off'}")
        saver = SqliteSaver(connection)
        saver.setup()
        state = workload.initial(self._tasks)
        took = []
        config: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
        for number, data in enumerate(list(workload.events(count, tasks=self._tasks)), 1):
            start = time.perf_counter()
            workload.change(state, data)
            checkpoint = empty_checkpoint()
            checkpoint["channel_values"] = {"board": state}
            checkpoint["channel_versions"] = {"board": number}
            config = saver.put(
                config, checkpoint, {"source": "loop", "step": number}, {"board": number}
            )
            took.append(time.perf_counter() - start)
        connection.close()
        return took
