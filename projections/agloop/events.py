"""The events of the AgLoop system: what can happen to a loop.

I1  An event names what was decided; what follows from it is in `applying`.
I2  `task_id` is the task that an event is about; it stands in the log line and in `last_action`.
I3  A meaning never changes: a new shape is a new event.

They hold no rules; commands check those before an event comes to be.
"""

from typing import Any

import msgspec

Json = dict[str, Any]
UNSET = msgspec.UNSET
UnsetType = msgspec.UnsetType


class _Event(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """An event of this system."""


# --- the loop ------------------------------------------------------------------------------------


class Initialized(_Event):
    """The loop begins."""

    feature_name: str = ""
    feature_description: str = ""
    complexity_level: str = "medium"


class Normalized(_Event):
    """What was read differently than it stands in a file that was taken over.

    `changes`: RFC 6902 operations, with `old` where there was a value.
    """

    changes: list[Json]


class FeatureSet(_Event):
    """What the loop is about; members left out stay as they are."""

    feature_name: str | UnsetType = UNSET
    feature_description: str | UnsetType = UNSET
    complexity_level: str | UnsetType = UNSET


class PhaseEntered(_Event):
    """The loop goes on to another phase."""

    phase: str
    from_phase: str
    task_id: str | None = None


class UserDecided(_Event):
    """A person decided to plan once more after the last iteration."""

    decision: str
    iteration: int


class Reset(_Event):
    """Everything begins anew; the history of phases stays."""

    reason: str = ""


class ContextSet(_Event):
    """A field of the compaction context has a new value."""

    field: str
    value: Any


class StateRecovered(_Event):
    """The state was brought back: from the `journal`, a `checkpoint`, or the `initial` state.

    `state` is the whole state of a checkpoint that was asked for.
    """

    source: str
    why: str = ""
    file: str = ""
    timestamp: str = ""
    state: Json | UnsetType = UNSET


# --- the plan ------------------------------------------------------------------------------------


class PlanAdopted(_Event):
    """A plan was read: its text as it stood in the file, and the tasks that were read from it."""

    path: str
    sha256: str
    text: str
    plan_id: str
    status: str
    tasks: list[Json]
    warnings: int = 0


class PlanMissing(_Event):
    """plan.yaml is gone and cannot be brought back; the loop plans again."""

    from_phase: str


class PlanRestored(_Event):
    """plan.yaml was gone and is written again from the plan with this sha256."""

    sha256: str


# --- tasks ---------------------------------------------------------------------------------------


class TaskStarted(_Event):
    """An attempt at a task begins."""

    task_id: str


class TaskResultRecorded(_Event):
    """The executor says what it did."""

    task_id: str
    result: Json


class TaskVerified(_Event):
    """The verifier says whether it is done."""

    task_id: str
    verification: Json


class TaskFailed(_Event):
    """A task is given up."""

    task_id: str
    reason: str


class TaskRetried(_Event):
    """A task goes back to pending, for another attempt."""

    task_id: str
    reason: str = ""


# --- objections ----------------------------------------------------------------------------------


class ObjectionRaised(_Event):
    """The critic objects."""

    objection: Json


class ObjectionAnswered(_Event):
    """Objection `number` (from 1) has a response."""

    number: int
    response: str
    resolved: bool = False


# --- checkpoints ---------------------------------------------------------------------------------


class CheckpointCreated(_Event):
    """The state of this event is kept in `file`; see `checkpoint` for what stands in it."""

    type: str
    trigger: str
    timestamp: str
    file: str
    plan_status: str = ""
    recent_turns: list[str] | UnsetType = UNSET


class CheckpointAdopted(_Event):
    """A checkpoint that somebody else wrote, as it stood in its file."""

    file: str
    sha256: str
    text: str


class CheckpointsPruned(_Event):
    """These checkpoints are past their retention; what was in them is in the log."""

    files: list[str]


# --- the log -------------------------------------------------------------------------------------


class LogNoted(_Event):
    """An entry of log.json that somebody asked for."""

    action: str
    task_id: str | None = None
    input_summary: str = ""
    output_summary: str = ""
    status: str = "success"
    metadata: Json | UnsetType = UNSET


class LogLineAdopted(_Event):
    """A line of log.json that somebody else wrote, without its LF."""

    line: str


class LogRecovered(_Event):
    """log.json was damaged, or gone, and is whole again."""

    why: str


# --- hooks ---------------------------------------------------------------------------------------


class SessionStarted(_Event):
    """A session of the client began."""

    source: str = ""
    session_id: str = ""


class PromptReceived(_Event):
    """A person said something; cut to 500."""

    prompt: str
    session_id: str = ""


class SubagentStarted(_Event):
    """A subagent was started."""

    agent: str = ""
    session_id: str = ""


class SubagentCompleted(_Event):
    """A subagent came to its end."""

    agent: str = ""
    session_id: str = ""


class Compacted(_Event):
    """The client is about to compact its context."""

    trigger: str = ""
    session_id: str = ""


class StopBlocked(_Event):
    """The client wanted to stop, and tasks are left."""

    reason: str
    session_id: str = ""


class StopAllowed(_Event):
    """The client wanted to stop, and may."""

    reason: str
    session_id: str = ""
