"""The files in `checkpoints/`: what stands in one, how it is named, and which ones go.

    phase-transition-2026-03-01T14-45-00-000Z.json          {type}-{its timestamp}.json

    {"checkpoint_type": "phase-transition", "timestamp": "2026-03-01T14:45:00.000Z",
     "trigger": "phase: plan → critique", "state": {…},
     "plan_summary": {"status": "under_review", "task_count": 5, "completed_count": 0},
     "human_summary": "Phase: critique, Feature: Add search API, Progress: 0/5 tasks",
     "seq": 42, "sha256": "…"}                              ours; `recent_turns` of pre-compact

I1  The bytes are a function of the event that created it and the state at its seq, so that a
    checkpoint comes back from the log byte for byte. `sha256` is over the state as compact JSON.
I2  A second shape is read too: the state at the root, beside `_checkpoint`.
I3  What is kept goes by the time that stands inside, whoever wrote the file: the newest ten, and
    of the resets the newest five.
"""

from typing import Any, NamedTuple

import orjson

from journal import codec
from journal.errors import Corrupt, UsageError
from journal.event import Event, parse_time, time_to_ms
from projections.agloop.shape import is_object
from projections.foreign import read_json
from snapshots.retention import ANY_TYPE, Candidate, Rule, expired

Json = dict[str, Any]

FOLDER = "checkpoints"
TRANSITION = "phase-transition"
PRE_COMPACT = "pre-compact"
RESET = "reset"

RULES = {ANY_TYPE: Rule(keep_newest=10), RESET: Rule(min_keep=5)}
_MARKS = str.maketrans(":.", "--")


class Checkpoint(NamedTuple):
    """A checkpoint as it was read; `timestamp` as it stands inside, `time` as the log writes it."""

    type: str
    timestamp: str
    time: str
    trigger: str
    human_summary: str
    state: Any


def file_name(kind: str, timestamp: str) -> str:
    """Return the name of the file of a checkpoint."""
    return f"{kind}-{timestamp.translate(_MARKS)}.json"


def encode(event: Event, state: Json) -> bytes:
    """Return the bytes of the checkpoint that `event` (`checkpoint_created`) is about (I1)."""
    data: Json = event.data
    done = sum(task["status"] == "done" for task in state["tasks"])
    count = len(state["tasks"])
    phase = state["current_phase"]
    body: Json = {
        "checkpoint_type": data["type"],
        "timestamp": data["timestamp"],
        "trigger": data["trigger"],
        "state": state,
        "plan_summary": {
            "status": data.get("plan_status") or phase,
            "task_count": count,
            "completed_count": done,
        },
        "human_summary": (
            f"Phase: {phase}, Feature: {state['feature_name']}, Progress: {done}/{count} tasks"
        ),
        "seq": event.seq,
        "sha256": codec.sha256(codec.encode_state(state)),
    }
    if "recent_turns" in data:
        body["recent_turns"] = data["recent_turns"]
    return orjson.dumps(body, option=orjson.OPT_INDENT_2)


def decode(data: bytes, path: str) -> Checkpoint:
    """Read a checkpoint of either shape (I2).

    Raises `Corrupt` where it is no JSON, `UsageError` where it is no checkpoint.
    """
    value = read_json(data, path=path, lenient=True).value
    members = value if is_object(value) else {}
    inner = members.get("_checkpoint")
    if is_object(inner):
        state: Any = {name: v for name, v in members.items() if name != "_checkpoint"}
        kind, timestamp = inner.get("type"), inner.get("created_at")
        words = inner
    else:
        state = members.get("state")
        kind, timestamp = members.get("checkpoint_type"), members.get("timestamp")
        words = members
    if not isinstance(kind, str) or not isinstance(timestamp, str) or not is_object(state):
        raise UsageError(f"{path}: not a checkpoint: type, timestamp or state is missing", key=path)
    return Checkpoint(
        type=kind,
        timestamp=timestamp,
        time=parse_time(timestamp),
        trigger=_text(words.get("trigger")),
        human_summary=_text(words.get("human_summary")),
        state=state,
    )


def try_decode(data: bytes, path: str) -> Checkpoint | str:
    """Read a checkpoint, or say why it cannot be."""
    try:
        return decode(data, path)
    except Corrupt as error:
        return error.why
    except UsageError as error:
        return error.message


def past_retention(found: dict[str, Checkpoint], *, just_written: str = "") -> list[str]:
    """Return the names of the files that go (I3), oldest first; the one just written stays."""
    candidates = [Candidate(name, each.type, time_to_ms(each.time)) for name, each in found.items()]
    gone = expired(candidates, RULES, now_ms=0) - {just_written}
    return sorted(gone, key=lambda name: (found[name].time, name))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
