"""The workload: a board of tasks that change, from a seed; the same for every system.

I1  `events(n, seed)` gives the same events everywhere; `digest` of the state that they fold to is
    the reference that every system has to reach, at the end and at every place that is asked for.
I2  The apply function is the projection's own; the floor folds through the same one.
"""

import hashlib
import random
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import orjson

from projections.projection import Projection

TASKS = 200
_STATUSES = ("pending", "in_progress", "blocked", "done")


class TaskChanged(msgspec.Struct, forbid_unknown_fields=True):
    """A task got another status."""

    task: int
    status: str
    note: str
    attempt: int


class TaskRenamed(msgspec.Struct, forbid_unknown_fields=True):
    """A task got another title."""

    task: int
    title: str


class TaskRetried(msgspec.Struct, forbid_unknown_fields=True):
    """A task starts anew."""

    task: int
    attempt: int
    reason: str


def change_task(state: Any, event: Any) -> Any:
    """Apply a change; the shape of every apply function."""
    data = event.data
    task = state["tasks"][data.task]
    task["status"] = data.status
    task["note"] = data.note
    task["attempt"] = data.attempt
    return state


def rename_task(state: Any, event: Any) -> Any:
    """Apply another title."""
    state["tasks"][event.data.task]["title"] = event.data.title
    return state


def retry_task(state: Any, event: Any) -> Any:
    """Apply another attempt."""
    data = event.data
    task = state["tasks"][data.task]
    task["status"] = "pending"
    task["note"] = data.reason
    task["attempt"] = data.attempt
    return state


APPLY: dict[type[Any], Any] = {
    TaskChanged: change_task,
    TaskRenamed: rename_task,
    TaskRetried: retry_task,
}
NAMES: dict[type[Any], str] = {
    TaskChanged: "task_changed",
    TaskRenamed: "task_renamed",
    TaskRetried: "task_retried",
}
BY_NAME = {name: APPLY[event] for event, name in NAMES.items()}
TaskEvent = TaskChanged | TaskRenamed | TaskRetried


def initial(tasks: int = TASKS) -> dict[str, Any]:
    """Return the board before the first event; some 50 KB of JSON for 200 tasks."""
    return {
        "tasks": [
            {
                "id": number,
                "title": f"task {number} " + "of the board " * 12,
                "status": "pending",
                "note": "",
                "attempt": 0,
            }
            for number in range(tasks)
        ]
    }


def projection(tasks: int = TASKS) -> Projection:
    """Return the projection of a board with so many tasks."""
    return Projection(
        "board",
        events=APPLY,
        initial=lambda: initial(tasks),
        revision=f"bench {tasks}",
        makes_json=True,
    )


def events(count: int, *, seed: int = 1, tasks: int = TASKS) -> Iterator[TaskEvent]:
    """Yield the events; each about 90 bytes of JSON, a line of some 220 bytes in the log."""
    rng = random.Random(seed)
    for number in range(count):
        task, words = rng.randrange(tasks), f"{rng.getrandbits(192):048x}"
        kind = rng.random()
        if kind < 0.8:
            yield TaskChanged(task, rng.choice(_STATUSES), words, number)
        elif kind < 0.9:
            yield TaskRenamed(task, words)
        else:
            yield TaskRetried(task, number, words)


def digest(state: Any) -> str:
    """Return the digest of a state: equal states, and only those, have equal ones."""
    return hashlib.sha256(orjson.dumps(state, option=orjson.OPT_SORT_KEYS)).hexdigest()


def reference(
    count: int, *, seed: int = 1, tasks: int = TASKS, places: Iterable[int] = ()
) -> dict[int, str]:
    """Return the digests of the state at some places and at the end, without any system."""
    wanted = {*places, count}
    state, found = initial(tasks), {}
    for number, event in enumerate(events(count, seed=seed, tasks=tasks), 1):
        APPLY[type(event)](state, Bare(event))
        if number in wanted:
            found[number] = digest(state)
    return found


def random_places(count: int, number: int) -> list[int]:
    """Return so many random places in a history, always the same."""
    rng = random.Random(7)
    return [rng.randrange(1, count) for _ in range(number)]


def digest_all(digests: Iterable[str]) -> str:
    """Return one digest of several, in order."""
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()


def change(state: Any, event: TaskEvent) -> None:
    """Apply one event to a state, for systems that keep the state themselves."""
    APPLY[type(event)](state, Bare(event))


def change_by_name(state: Any, name: str, data: dict[str, Any]) -> None:
    """Apply one event that was decoded to plain objects."""
    BY_NAME[name](state, Bare(SimpleNamespace(**data)))


class Bare:
    """An event with its data and nothing else: what the apply function needs."""

    __slots__ = ("data",)

    def __init__(self, data: Any = None) -> None:
        self.data = data
