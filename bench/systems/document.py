"""A journal of the built-in projection, for commands that are measured as whole processes."""

import os
import random
import time
from pathlib import Path

import msgspec

import journal
from bench import workload
from projections.document.exporting import export_events
from projections.document.importing import import_versions
from projections.document.version import Version
from projections.document.versions import read_versions

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

    def export(self) -> float:
        """Write every event as its line to nowhere; return the seconds."""
        with journal.open(self.folder, read_only=True) as engine, open(os.devnull, "wb") as out:
            start = time.perf_counter()
            export_events(engine, out)
            return time.perf_counter() - start

    def scan(self, what: str) -> float:
        """Go through the whole history for what `what` finds there; return the seconds."""
        with journal.open(self.folder, read_only=True) as engine:
            last = engine.state["count"]
            start = time.perf_counter()
            if what == "replay":
                engine.replay()
            elif what == "blame":
                changes = sum(1 for _ in engine.blame("/tasks/7/note"))
                assert changes > 0
            else:
                found = engine.bisect(lambda state: state.get("count", 0) >= last, reads=["/count"])
                assert found.seq is not None
            return time.perf_counter() - start

    def imports(self, sources: list[Path], *, times: int) -> tuple[int, float]:
        """Import real histories, each so many times over; return the versions and the seconds."""
        count, took = 0, 0.0
        for source in sources:
            versions = [found for found in read_versions(source) if isinstance(found, Version)]
            many = [_later(one, again, versions[-1]) for again in range(times) for one in versions]
            place = self.folder / source.name.partition(".")[0]
            start = time.perf_counter()
            import_versions(place, many)
            took += time.perf_counter() - start
            count += len(many)
        return count, took


def _later(version: Version, again: int, last: Version) -> Version:
    if not again:
        return version
    return msgspec.structs.replace(version, n=version.n + again * last.n, time=last.time)


def _event(number: int, rng: random.Random) -> tuple[str, dict[str, object]]:
    if number % COUNT_EVERY == 0:
        return "set", {"path": "/count", "value": number}
    path = f"/tasks/{rng.randrange(workload.TASKS)}/note"
    return "set", {"path": path, "value": f"{rng.getrandbits(192):048x}"}
