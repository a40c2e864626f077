"""The verbs of a checkpoint: (state, …) -> events, or `UsageError` that names the rule.

I1  A transition is checked in this order: the state is terminal; the transition is not legal; the
    attempts are used up; a reason lacks; passing evidence lacks.
I2  Texts are trimmed and must not be empty.
I3  A pass counts for the attempt in which it was recorded, and for no later one.

They take no clock: what a time is, the event's own time says.
"""

from typing import Any

from journal.errors import UsageError
from projections.checkpointed_loop import schema
from projections.checkpointed_loop.events import (
    EvidenceRecorded,
    Initialized,
    Reinitialized,
    Transitioned,
)


def initialize(*, task: str, objective: str, max_attempts: int, next_action: str) -> Initialized:
    """Return the first event of a checkpoint; raises `UsageError` for what does not fit."""
    if type(max_attempts) is not int or not 1 <= max_attempts <= schema.MAX_ATTEMPTS:
        raise UsageError(
            f"max attempts is {max_attempts!r}",
            key="max-attempts",
            advice=f"It is a whole number from 1 to {schema.MAX_ATTEMPTS}: a loop without a "
            "ceiling cannot be recovered.",
        )
    return Initialized(
        task_id=trim(task, "task"),
        objective=trim(objective, "objective"),
        max_attempts=max_attempts,
        next_action=trim(next_action, "next-action"),
    )


def reinitialize(_state: Any, first: Initialized) -> list[Reinitialized]:
    """Begin a new checkpoint in the place of the one that is there."""
    return [
        Reinitialized(
            task_id=first.task_id,
            objective=first.objective,
            max_attempts=first.max_attempts,
            next_action=first.next_action,
        )
    ]


def transition(
    state: Any, to: str, next_action: str | None = None, reason: str | None = None
) -> list[Transitioned]:
    """Go to another state (I1)."""
    at = state["state"]
    if at in schema.TERMINAL:
        raise UsageError(
            f"the checkpoint is {at}, which is terminal: no transition leaves it",
            key="to",
            advice="`init --force` starts a new one.",
        )
    legal = schema.LEGAL[at]
    if to not in legal:
        raise UsageError(
            f"no transition leads from {at} to {to!r}",
            key="to",
            advice=f"From {at} it goes to {', '.join(legal)}.",
        )
    if to == "running" and state["attempts"] >= state["maxAttempts"]:
        raise UsageError(
            f"attempt budget exhausted: {state['attempts']} of {state['maxAttempts']} are used",
            key="to",
            advice="Go to failed, or to blocked, with a reason.",
        )
    if to in schema.NEED_REASON and reason is None:
        raise UsageError(f"{to} needs a reason", key="reason", advice="Give --reason.")
    said = None if reason is None else trim(reason, "reason")
    action = None if next_action is None else trim(next_action, "next-action")
    if to == "succeeded" and not schema.has_passed(state):
        raise UsageError(
            "succeeded needs passing evidence, recorded since the last entry into verifying",
            key="evidence",
            advice="Run the check, and record it by `evidence --outcome passed`.",
        )
    return [Transitioned(to, action, said)]


def record_evidence(
    state: Any, check: str, outcome: str, artifact: str | None = None
) -> list[EvidenceRecorded]:
    """Record the outcome of a check that was run, only while verifying."""
    if state["state"] != "verifying":
        raise UsageError(
            f"evidence is recorded only while verifying, and the checkpoint is {state['state']}",
            key="state",
            advice="Go to verifying first.",
        )
    if outcome not in schema.OUTCOMES:
        raise UsageError(
            f"the outcome is {outcome!r}", key="outcome", advice="It is passed or failed."
        )
    left = None if artifact is None else trim(artifact, "artifact")
    return [EvidenceRecorded(trim(check, "check"), outcome, left)]


def trim(text: str, what: str) -> str:
    """Return a text without white space at its ends; raises `UsageError` for an empty one."""
    trimmed = text.strip()
    if not trimmed:
        raise UsageError(f"{what} is empty", key=what, advice="Give a text.")
    return trimmed
