"""A journal that is made up: a board of tasks whose notes and numbers change, from a fixed seed."""

import random
from collections.abc import Callable
from pathlib import Path

from journal.engine.beginning import init_journal
from journal.engine.benching.timing import MOST_APPENDS, SEED

_TASKS = 200
_BATCH = 1000
_NEVER_MS = 86_400_000
Progress = Callable[[int, int], None]


def make(folder: Path, count: int, progress: Progress | None = None) -> None:
    """Make a journal of the built-in projection with so many events and a state of some 40 KB."""
    rng = random.Random(SEED)
    with init_journal(folder, durability="os", views_every_ms=_NEVER_MS) as engine:
        engine.append("set", {"path": "", "value": _board()}, actor="bench")
        # The newest come one by one: these are appended again.
        alone = min(MOST_APPENDS, count - 1)
        for done in range(1, count - alone, _BATCH):
            size = min(_BATCH, count - alone - done)
            engine.append_batch([_change(rng, done + n) for n in range(size)], actor="bench")
            if progress is not None:
                progress(done + size, count)
        for number in range(count - alone, count):
            kind, data = _change(rng, number)
            engine.append(kind, data, actor="bench")


def _board() -> dict[str, object]:
    tasks = [
        {"id": n, "title": f"task {n} " + "of the board " * 10, "note": "", "attempt": 0}
        for n in range(_TASKS)
    ]
    return {"tasks": tasks}


def _change(rng: random.Random, number: int) -> tuple[str, dict[str, object]]:
    task = rng.randrange(_TASKS)
    if number % 4:
        value = f"{rng.getrandbits(192):048x}"
        return "set", {"path": f"/tasks/{task}/note", "value": value}
    return "set", {"path": f"/tasks/{task}/attempt", "value": number}
