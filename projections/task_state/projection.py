"""The projection `task_state`: what each event does to the state of a task.

I1  Times of checkpoints are the events'.
I2  Every event that adds checkpoints keeps the newest 50.
I3  A child's outcome stays the child's: it never becomes the parent's.
I4  Before `initialized` there is no state: what would change one leaves it at `{}`, which `check`
    refuses, so that no such event gets into the log.
I5  A file that somebody else changed is not adopted unasked.
"""

from typing import Any

from journal.event import time_to_ms
from projections.projection import Apply, Projection
from projections.task_state import events as e
from projections.task_state.states import (
    MAX_CHECKPOINTS,
    OUTCOME,
    Json,
    check,
    exists,
    is_record,
    new_state,
)

NAME = "task_state"


def _begin(state: Json, event: Any) -> Json:  # noqa: ARG001 - the shape of an apply function
    given = event.data.state
    return given if is_record(given) else new_state()


def _normalize(state: Json, event: Any) -> Json:
    apply_changes(state, event.data.changes)
    return state


def apply_changes(state: Json, changes: list[Json]) -> None:
    """Make the changes of a `normalized` event in the state."""
    for change in changes:
        state[change["path"].removeprefix("/")] = change["new"]


def _on_state(apply: Apply) -> Apply:
    """Make `apply` one that leaves alone what is no state yet (I4)."""

    def run(state: Json, event: Any) -> Json:
        changed: Json = apply(state, event) if exists(state) else state
        return changed

    return run


def _store(state: Json, event: Any) -> Json:
    _add_checkpoint(state, event)
    return state


def _record(state: Json, event: Any) -> Json:
    files = state["files"]
    if event.data.path not in files:
        files.append(event.data.path)
    return state


def _set(state: Json, event: Any) -> Json:
    state["data"][event.data.key] = event.data.value
    return state


def _spawn(state: Json, event: Any) -> Json:  # noqa: ARG001 - the shape of an apply function
    return state


def _return(state: Json, event: Any) -> Json:
    data: e.ChildReturned = event.data
    state["checkpoints"].extend(data.checkpoints)
    _keep_newest(state)
    files, kept = state["files"], state["data"]
    files += [file for file in data.files if file not in files]
    if data.merge_data == "namespace":
        kept[data.child_id] = data.data
    else:
        kept |= {key: value for key, value in data.data.items() if key != OUTCOME}
    return state


def _complete(state: Json, event: Any) -> Json:
    state["data"][OUTCOME] = event.data.outcome
    _add_checkpoint(state, event)
    return state


def _add_checkpoint(state: Json, event: Any) -> None:
    checkpoint = {"timestamp": time_to_ms(event.time), "depth": event.data.depth}
    state["checkpoints"].append(checkpoint)
    _keep_newest(state)


def _keep_newest(state: Json) -> None:
    del state["checkpoints"][:-MAX_CHECKPOINTS]


PROJECTION = Projection(
    NAME,
    events={
        e.Initialized: _begin,
        e.SpawnedFrom: _begin,
        e.Normalized: _normalize,
        e.CheckpointStored: _on_state(_store),
        e.ArtifactRecorded: _on_state(_record),
        e.DataSet: _on_state(_set),
        e.ChildSpawned: _on_state(_spawn),
        e.ChildReturned: _on_state(_return),
        e.Completed: _on_state(_complete),
    },
    initial=dict,
    check=check,
    makes_json=True,
)
