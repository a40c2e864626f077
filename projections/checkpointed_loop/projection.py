"""The projection `checkpointed_loop`: what the events do to the checkpoint.

I1  Entering running uses one attempt. Entering failed or blocked sets `terminalReason`.
I2  Times in the checkpoint never go back, and an entry into verifying is later than all evidence
    before it, by a millisecond if need be: so a pass belongs to the attempt it was recorded in.
I3  A file that others changed is never adopted unasked.
"""

from typing import Any

from journal.errors import UsageError
from journal.event import format_time, parse_time, time_to_ms
from projections.checkpointed_loop import reading, schema
from projections.checkpointed_loop.events import (
    EvidenceRecorded,
    Initialized,
    Reinitialized,
    Transitioned,
)
from projections.projection import Projection
from projections.view_kinds import DocumentView


def _initialized(state: Any, event: Any) -> Any:
    if state:
        raise UsageError(
            "the checkpoint is initialized already",
            key="type",
            advice="`reinitialized` begins a new one in its place.",
        )
    return _begin(event.data, event.time)


def _reinitialized(_state: Any, event: Any) -> Any:
    return _begin(event.data, event.time)


def _begin(data: Initialized, time: str) -> dict[str, Any]:
    return {
        "schemaVersion": schema.VERSION,
        "taskId": data.task_id,
        "objective": data.objective,
        "state": "planned",
        "attempts": 0,
        "maxAttempts": data.max_attempts,
        "nextAction": data.next_action,
        "createdAt": time,
        "updatedAt": time,
        "history": [],
        "evidence": [],
    }


def _transitioned(state: Any, event: Any) -> Any:
    data: Transitioned = event.data
    _check_begun(state)
    at = _not_before(state, event.time)
    if data.to == "verifying" and state["evidence"]:
        last = parse_time(state["evidence"][-1]["at"])
        if at <= last:
            at = format_time(time_to_ms(last) + 1)
    entry = {"from": state["state"], "to": data.to, "at": at}
    if data.reason is not None:
        entry["reason"] = data.reason
    state["history"].append(entry)
    state["state"] = data.to
    state["updatedAt"] = at
    if data.to == "running":
        state["attempts"] += 1
    if data.next_action is not None:
        state["nextAction"] = data.next_action
    if data.to in schema.NEED_REASON:
        state["terminalReason"] = data.reason
    return state


def _evidence_recorded(state: Any, event: Any) -> Any:
    data: EvidenceRecorded = event.data
    _check_begun(state)
    at = _not_before(state, event.time)
    entry = {"check": data.check, "outcome": data.outcome, "at": at}
    if data.artifact is not None:
        entry["artifact"] = data.artifact
    state["evidence"].append(entry)
    state["updatedAt"] = at
    return state


def _check_begun(state: Any) -> None:
    if not state:
        raise UsageError("there is no checkpoint yet", key="type", advice="`initialized` is first.")


def _not_before(state: Any, time: str) -> str:
    """Return `time`, or the newest time that the lists have if that is later (I2)."""
    newest = [entries[-1]["at"] for name in schema.GROWING if (entries := state[name])]
    return max([time, *(parse_time(text) for text in newest)])


PROJECTION = Projection(
    "checkpointed_loop",
    events={
        Initialized: _initialized,
        Reinitialized: _reinitialized,
        Transitioned: _transitioned,
        EvidenceRecorded: _evidence_recorded,
    },
    initial=schema.initial,
    check=schema.check,
    check_adoption=schema.check_adoption,
    views=(DocumentView(render=schema.render),),
    read_view=reading.read,
    makes_json=True,
)
"""One task with a finite budget of attempts, kept in one file."""
