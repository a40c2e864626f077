"""Row 1: every disk that a power cut could leave of a workload, with the laws tried on it."""

from pathlib import Path

from tests.faults import repairs
from tests.faults.crash import MODELS, states
from tests.faults.laws import Judge
from tests.faults.quick import settings_parsed_once
from tests.faults.row import Outcome, Row, Tier
from tests.faults.story import Workload, tell
from tests.faults.tree import memory_folder
from tests.faults.workloads import WORKLOADS

LIMITS = {"quick": 21_000, "full": 205_000}
"""How many states in all; the workloads share them evenly, and so do the models of a workload."""


def try_workload(workload: Workload, folder: Path, *, limit: int, seed: int = 0) -> int:
    """Tell the story of a workload and try the laws on what could be left of it; return how often.

    Raises `Violation`.
    """
    story = tell(workload, folder / "told")
    judge = Judge(story, folder / "left")
    count = 0
    for model in MODELS:
        for state in states(story.recording, model, limit=limit, seed=seed):
            judge.check(state)
            count += 1
    return count


def run(tier: Tier) -> Outcome:
    """Try all workloads."""
    limit = LIMITS[tier] // (2 * (len(WORKLOADS) + 3))
    notes = []
    with settings_parsed_once():
        for workload in WORKLOADS:
            with memory_folder() as folder:
                count = try_workload(workload, folder, limit=limit)
            notes.append((count, workload.name))
        with memory_folder() as folder:
            for subject in repairs.subjects(folder):
                count = repairs.try_repair(subject, folder / "left", limit=limit)
                notes.append((count, f"repair of {subject.name}"))
    total = sum(count for count, _ in notes)
    told = ", ".join(f"{name} {count:,}" for count, name in notes)
    return Outcome(total, notes=(f"models {', '.join(MODELS)}; states of each: {told}",))


ROW = Row(1, "crash states enumerated", run)
