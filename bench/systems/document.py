"""A journal of the built-in projection, for commands that are measured as whole processes."""

import random
from pathlib import Path

import journal
from bench import workload

COUNT_EVERY = 10
"""Every so-manieth event raises `/count`, which is monotone, to its own number."""


class Document:
    """A journal in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, count: int, *, seed: int = 1) -> None:
        """Make a history of a board of tasks, in batches of a thousand."""
        rng = random.Random(seed)
        with journal.init(self.folder, durability="os", views_every_ms=1_000_000) as engine:
            engine.append("set", {"path": "", "value": {**workload.initial(), "count": 0}})
            for start in range(0, count, 1000):
                engine.append_batch(
                    [_event(n, rng) for n in range(start, min(start + 1000, count))],
                    actor=f"actor {start // 1000 % 5}",
                )


def _event(number: int, rng: random.Random) -> tuple[str, dict[str, object]]:
    if number % COUNT_EVERY == 0:
        return "set", {"path": "/count", "value": number}
    path = f"/tasks/{rng.randrange(workload.TASKS)}/note"
    return "set", {"path": path, "value": f"{rng.getrandbits(192):048x}"}
