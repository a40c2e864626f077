"""What asks for an event: store, spawn, return, complete, artifact, data.

I1  A command looks at the state and returns events, none where nothing would change; it raises
    `UsageError` with the rule, the value and what would be allowed. It changes nothing itself.
I2  A checkpoint of a child is inherited, and not added again, where the parent holds an equal
    {timestamp, depth}; of several equal ones, as many as the parent holds.

That the reserved key is refused as a normal answer is `task_state`'s business.
"""

from collections import Counter
from typing import Any

import msgspec

from journal import codec
from journal.errors import UsageError
from projections.patch import copy, equal
from projections.task_state import events as e
from projections.task_state.states import MERGES, OUTCOMES, Json, check, exists, show

Events = list[msgspec.Struct]


def store(state: Json, depth: int) -> Events:
    """Add a checkpoint."""
    check_exists(state)
    return [e.CheckpointStored(depth=check_depth(depth))]


def record_artifact(state: Json, path: str) -> Events:
    """Add a file; one that is there already makes no event."""
    check_exists(state)
    if not _is_filled(path):
        raise _refuse("path", path, "text that is not empty")
    return [] if path in state["files"] else [e.ArtifactRecorded(path=path)]


def set_data(state: Json, key: str, value: Any) -> Events:
    """Set a key of the data; an equal value that is there already makes no event."""
    check_exists(state)
    if not _is_text(key):
        raise _refuse("key", key, "text")
    codec.encode_value(value, what="value")
    if key in state["data"] and equal(state["data"][key], value):
        return []
    return [e.DataSet(key=key, value=value)]


def spawn(state: Json, child_id: str) -> Events:
    """Note that a child got a copy of the state."""
    check_exists(state)
    return [e.ChildSpawned(child_id=check_child(child_id))]


def take_back(state: Json, child: Any, child_id: str, merge_data: str) -> Events:
    """Merge what a child brings back (I2)."""
    check_exists(state)
    check_child(child_id)
    if merge_data not in MERGES:
        raise _refuse("merge_data", merge_data, ", ".join(MERGES))
    check(child)
    known = Counter(_identity(checkpoint) for checkpoint in state["checkpoints"])
    fresh: list[Json] = []
    for checkpoint in child["checkpoints"]:
        identity = _identity(checkpoint)
        if known[identity]:
            known[identity] -= 1
        else:
            fresh.append(copy(checkpoint))
    files = [file for file in dict.fromkeys(child["files"]) if file not in state["files"]]
    returned = e.ChildReturned(
        child_id=child_id,
        merge_data=merge_data,
        checkpoints=fresh,
        files=files,
        data=copy(child["data"]),
    )
    return [returned]


def _identity(checkpoint: Json) -> tuple[object, object]:
    return checkpoint["timestamp"], checkpoint["depth"]


def complete(state: Json, outcome: str, depth: int) -> Events:
    """Note the outcome and add a last checkpoint; without a state nothing is noted."""
    if outcome not in OUTCOMES:
        raise _refuse("outcome", outcome, ", ".join(OUTCOMES))
    check_depth(depth)
    return [e.Completed(outcome=outcome, depth=depth)] if exists(state) else []


def check_depth(depth: int) -> int:
    """Return the depth of an execution; raises `UsageError` for what is none."""
    if not _is_whole(depth) or not 0 <= depth < 2**53:
        raise _refuse("depth", depth, "a whole number from 0 on")
    return depth


def check_child(child_id: str) -> str:
    """Return the id of a child execution; raises `UsageError` for what is none."""
    if not _is_filled(child_id):
        raise _refuse("child_id", child_id, "text that is not empty")
    return child_id


def check_exists(state: Json) -> None:
    """Refuse where the thread has no state."""
    if not exists(state):
        raise UsageError(
            "this thread has no state yet",
            key="thread",
            advice="Begin one: `TaskState.init()`, or `journal task init --thread T`.",
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_filled(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _refuse(key: str, value: Any, allowed: str) -> UsageError:
    return UsageError(f"{key}: {show(value)} is not allowed; allowed: {allowed}", key=key)
