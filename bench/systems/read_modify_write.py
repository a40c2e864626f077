"""Read, modify, write: as the texts of agent loops tell their users to keep a state file.

The standard library's json with two spaces, a temporary file, a rename; with `durable`, also an
fsync of the file and of its folder.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

from bench import workload


class ReadModifyWrite:
    """One state.json in a folder of its own; no history."""

    def __init__(self, folder: Path, tasks: int = workload.TASKS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._tasks = tasks
        self._path = folder / "state.json"
        self._path.write_text(json.dumps(workload.initial(tasks), indent=2))

    def append(self, count: int, *, durable: bool, **_: Any) -> list[float]:
        """Change the file once for each event; return seconds for each."""
        took = []
        for event in workload.events(count, tasks=self._tasks):
            start = time.perf_counter()
            state = json.loads(self._path.read_text())
            workload.change(state, event)
            self._replace(json.dumps(state, indent=2), durable=durable)
            took.append(time.perf_counter() - start)
        return took

    def _replace(self, text: str, *, durable: bool) -> None:
        temporary = self.folder / "state.json.tmp"
        with temporary.open("w") as out:
            out.write(text)
            if durable:
                out.flush()
                os.fsync(out.fileno())
        os.replace(temporary, self._path)
        if durable:
            fd = os.open(self.folder, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
