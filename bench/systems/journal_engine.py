"""The journal engine itself, through its public API."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml  # noqa: F401 - what an opening imports is not what is measured

import journal
import journal.engine
from bench import workload

_COALESCED_MS = 1_000_000


class JournalEngine:
    """A journal in a folder of its own."""

    def __init__(self, folder: Path, tasks: int = workload.TASKS) -> None:
        self.folder = folder
        self._tasks = tasks
        self._projection = workload.projection(tasks)

    def _open(self, **options: Any) -> journal.Engine:
        return journal.open(self.folder, projection=self._projection, **options)

    def _init(self, *, durability: str, every_ms: int) -> journal.Engine:
        if (self.folder / "journal.yaml").exists():
            engine = self._open(durability=durability)
            engine.config.views.every_ms = every_ms
            return engine
        return journal.init(
            self.folder,
            projection=self._projection,
            durability=durability,
            views_every_ms=every_ms,
        )

    def fill(self, count: int) -> None:
        """Make a history, in batches of a thousand."""
        with self._init(durability="os", every_ms=_COALESCED_MS) as engine:
            batch: list[workload.TaskEvent] = []
            for event in workload.events(count, tasks=self._tasks):
                batch.append(event)
                if len(batch) == 1000:
                    engine.append_batch(batch, actor="bench")
                    batch = []
            engine.append_batch(batch, actor="bench")

    # --- appending -------------------------------------------------------------------------------

    def append(self, count: int, *, durable: bool, view: bool = False) -> list[float]:
        """Append one by one; return seconds for each. `view`: state.json with every append."""
        found = list(workload.events(count, tasks=self._tasks))
        took = []
        durability = "always" if durable else "os"
        with self._init(durability=durability, every_ms=0 if view else _COALESCED_MS) as engine:
            for event in found:
                start = time.perf_counter()
                engine.append(event, actor="bench")
                took.append(time.perf_counter() - start)
        return took

    def append_behind(self, count: int, place: Path) -> list[float]:
        """Append one by one to a fork of this journal at `place`; return seconds for each."""
        with self._open(read_only=True) as engine:
            engine.fork(place)
        return JournalEngine(place, self._tasks).append(count, durable=False)

    def batches(self, count: int, *, size: int, durable: bool) -> float:
        """Append batches; return seconds in all."""
        found = list(workload.events(count, tasks=self._tasks))
        durability = "always" if durable else "os"
        with self._init(durability=durability, every_ms=_COALESCED_MS) as engine:
            start = time.perf_counter()
            for at in range(0, count, size):
                engine.append_batch(found[at : at + size], actor="bench")
            return time.perf_counter() - start

    # --- reading ---------------------------------------------------------------------------------

    def replay(self) -> tuple[Any, float]:
        """Verify and fold everything from nothing; return the state and the seconds."""
        with self._open(read_only=True) as engine:
            start = time.perf_counter()
            state = engine.replay()
            return state, time.perf_counter() - start

    def verify(self) -> float:
        """Verify everything; return the seconds."""
        with self._open(read_only=True) as engine:
            start = time.perf_counter()
            report = engine.verify()
            took = time.perf_counter() - start
        if not report.ok:
            raise AssertionError(report.problems)
        return took

    def cold_open(self) -> tuple[Any, float]:
        """Open and read the current state."""
        start = time.perf_counter()
        with self._open(read_only=True) as engine:
            state = engine.state
            return state, time.perf_counter() - start

    def states_at(self, seqs: Iterable[int]) -> Iterator[tuple[Any, float]]:
        """Yield the state after each so-manieth event of the workload, and the seconds."""
        wanted = list(seqs)
        found_seqs = {number: seq_of(self.folder, number) for number in wanted}
        with self._open(read_only=True) as engine:
            for seq in wanted:
                start = time.perf_counter()
                state = engine.state_at(found_seqs[seq])
                yield state, time.perf_counter() - start

    def sizes(self, count: int) -> dict[str, float]:
        """Return bytes an event: of the log, of its payload and envelope, of everything."""
        log = sum(path.stat().st_size for path in (self.folder / "log").glob("*.jsonl"))
        whole = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
        return {"log": log / count, "all": whole / count, "beyond_log": (whole - log) / log}


def seq_of(folder: Path, number: int) -> int:
    """Return the seq of the so-manieth event; every segment begins with one of the engine's."""
    seq = number
    for first in sorted(int(path.stem) for path in (folder / "log").glob("*.jsonl")):
        seq += seq >= first
    return seq
