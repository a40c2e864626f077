"""The events of a checkpoint: `initialized reinitialized transitioned evidence_recorded`.

I1  Times are nowhere in the data: what a time in the checkpoint is, the event's own time says.
"""

import msgspec


class Initialized(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A checkpoint begins, in the state `planned` with no attempt used."""

    task_id: str
    objective: str
    max_attempts: int
    next_action: str


class Reinitialized(Initialized, forbid_unknown_fields=True, kw_only=True):
    """A new checkpoint begins in the place of the one before, which stays in the log."""


class Transitioned(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The checkpoint goes to another state; a next action that is not given stays as it was."""

    to: str
    next_action: str | None = None
    reason: str | None = None


class EvidenceRecorded(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A check was run by somebody, with this outcome; `artifact` is the path of what it left."""

    check: str
    outcome: str
    artifact: str | None = None
