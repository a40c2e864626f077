"""What can happen to the state of a task; each class is the data of one type of event."""

from typing import Any

import msgspec

from projections.task_state.states import Json


class _Event(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What all have in common: nothing else than their fields is allowed."""


class Initialized(_Event):
    """A state begins: empty, or as given."""

    state: Json | msgspec.UnsetType = msgspec.UNSET


class SpawnedFrom(_Event):
    """A state begins as a copy of another thread's, as it was after its event `seq`."""

    thread: str
    seq: int
    state: Json


class Normalized(_Event):
    """What a file that was taken over lacked: each change is {"path", "new", "why"}."""

    changes: list[Json]


class CheckpointStored(_Event):
    """A store cycle ended at a depth; the checkpoint's time is the event's."""

    depth: int


class ArtifactRecorded(_Event):
    """A file was produced."""

    path: str


class DataSet(_Event):
    """A key of the task's data got a value."""

    key: str
    value: Any


class ChildSpawned(_Event):
    """A child execution got a copy of the state, which stays as it is."""

    child_id: str


class ChildReturned(_Event):
    """A child execution brought its state back.

    `checkpoints` and `files` are those that the parent did not hold. `data` is the child's whole
    map: shallow, its keys replace the parent's; namespace, it is stored under `child_id`.
    """

    child_id: str
    merge_data: str
    checkpoints: list[Json] = []
    files: list[str] = []
    data: Json = {}


class Completed(_Event):
    """The execution ended: success, failure or aborted."""

    outcome: str
    depth: int
