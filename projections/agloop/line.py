"""The lines of `log.json`: one for each event, and what a line of somebody else's must be.

    {"timestamp":"2026-03-01T14:45:00.000Z","agent":"agloop","action":"task_started",
     "task_id":"task-001","phase":"execute","input_summary":"","output_summary":"",
     "status":"success","metadata":{"seq":7}}                        (on one line)

I1  The nine members of the text's table in its order; `phase` is the one after the event;
    `metadata.seq` is the event's seq, by which a line of ours is known.
I2  The engine's own events make no line. A line that was adopted is its own, byte for byte.
I3  Summaries have at most 500 UTF-16 units in all; what was cut ends in `…`.
"""

from collections.abc import Callable
from typing import Any

import orjson

from journal.event import Event, is_engine_type
from projections.agloop.schema import AGENT
from projections.agloop.shape import is_object
from projections.agloop.utf16 import cut

Json = dict[str, Any]

MOST_UNITS = 500
MOST_LINE_BYTES = 4 << 20
STATUSES = ("success", "failure", "skipped")

_FAILURES = frozenset(("task_failed", "plan_missing"))


def render(state: Any, event: Event) -> bytes | None:
    """Return the line of an event, with its LF; None where it makes none (I2)."""
    if is_engine_type(event.type) or not is_object(event.data):
        return None
    data: Json = event.data
    try:
        if event.type == "log_line_adopted":
            return f"{data['line']}\n".encode()
        said = _SUMMARIES[event.type](data, event.seq)
    except (KeyError, TypeError, AttributeError):
        said = "", ""  # an event of another version, which leaves the state alone as well
    noted = event.type == "log_noted" and "action" in data
    return (
        orjson.dumps(
            {
                "timestamp": event.time,
                "agent": event.actor or AGENT,
                "action": data["action"] if noted else event.type,
                "task_id": data.get("task_id"),
                "phase": state["current_phase"],
                "input_summary": cut(said[0], MOST_UNITS),
                "output_summary": cut(said[1], MOST_UNITS),
                "status": data.get("status", "success") if noted else _status(event),
                "metadata": {**(data.get("metadata", {}) if noted else {}), "seq": event.seq},
            }
        )
        + b"\n"
    )


def adopt(line: bytes) -> tuple[str, Any] | None:
    """Return the event that takes in a line of somebody else's, or None for what is none.

    One with our `metadata.seq` is none either: it shows an event that the log does not have, or
    has otherwise.
    """
    if len(line) > MOST_LINE_BYTES:
        return None
    try:
        value = orjson.loads(line)
        text = line.decode()
    except (ValueError, RecursionError):
        return None
    if not is_object(value):
        return None
    metadata = value.get("metadata")
    if is_object(metadata) and "seq" in metadata:
        return None
    return "log_line_adopted", {"line": text.removesuffix("\n")}


def note_repair(why: str) -> tuple[str, Any]:
    """Return the event that remembers why log.json was mended."""
    return "log_recovered", {"why": why}


def _status(event: Event) -> str:
    if event.type in _FAILURES:
        return "failure"
    verification = event.data.get("verification")
    failed = is_object(verification) and verification.get("verdict") == "FAIL"
    return "failure" if failed else "success"


def describe_recovery(data: Json, seq: int) -> str:
    """Say in the text's words from what a state was recovered; `seq` is that of the event."""
    match data.get("source"):
        case "journal":
            return f"State recovered from the journal (seq {seq - 1})"
        case "checkpoint":
            return f"State recovered from checkpoint {data.get('timestamp', '')}"
        case _:
            return "State corrupted, no valid checkpoints, starting fresh"


Say = Callable[[Json, int], tuple[str, str]]


_SUMMARIES: dict[str, Say] = {
    "initialized": lambda d, _: (d.get("feature_name", ""), "loop initialized"),
    "normalized": lambda d, _: ("", f"{len(d['changes'])} fields read as what they mean now"),
    "feature_set": lambda d, _: (
        d.get("feature_name", ""),
        ", ".join(f"{name} set" for name in d),
    ),
    "phase_entered": lambda d, _: (
        f"phase: {d['from_phase']} → {d['phase']}",
        f"entered {d['phase']}",
    ),
    "user_decided": lambda d, _: (d["decision"], f"plan again at iteration {d['iteration']}"),
    "reset": lambda d, _: (d.get("reason", ""), "everything but the phase history is initial"),
    "context_set": lambda d, _: (d["field"], _shown(d["value"])),
    "state_recovered": lambda d, seq: (d.get("why", ""), describe_recovery(d, seq)),
    "plan_adopted": lambda d, _: (
        f"{d['plan_id']} ({d['path']})",
        f"{len(d['tasks'])} tasks, status {d['status']}",
    ),
    "plan_missing": lambda d, _: (
        f"phase: {d['from_phase']}",
        "Plan missing, returning to plan phase",
    ),
    "plan_restored": lambda d, _: ("plan.yaml was missing", f"written again: {d['sha256']}"),
    "task_started": lambda d, _: ("", f"{d['task_id']} in progress"),
    "task_result_recorded": lambda d, _: ("", str(d["result"].get("summary", ""))),
    "task_verified": lambda d, _: (
        str(d["verification"].get("verdict", "")),
        str(d["verification"].get("overall_summary", "")),
    ),
    "task_failed": lambda d, _: (d["reason"], f"{d['task_id']} failed"),
    "task_retried": lambda d, _: (d.get("reason", ""), f"{d['task_id']} pending again"),
    "objection_raised": lambda d, _: (str(d["objection"].get("objection", "")), ""),
    "objection_answered": lambda d, _: (
        f"objection {d['number']}",
        d["response"] + (" (resolved)" if d.get("resolved") else ""),
    ),
    "checkpoint_created": lambda d, _: (d["trigger"], d["file"]),
    "checkpoint_adopted": lambda d, _: ("", d["file"]),
    "checkpoints_pruned": lambda d, _: ("", ", ".join(d["files"])),
    "log_noted": lambda d, _: (d.get("input_summary", ""), d.get("output_summary", "")),
    "log_recovered": lambda d, _: (d["why"], "log.json is whole again"),
    "session_started": lambda d, _: (d.get("source", ""), ""),
    "prompt_received": lambda d, _: (d["prompt"], ""),
    "subagent_started": lambda d, _: (d.get("agent", ""), ""),
    "subagent_completed": lambda d, _: (d.get("agent", ""), ""),
    "compacted": lambda d, _: (d.get("trigger", ""), ""),
    "stop_blocked": lambda d, _: ("", d["reason"]),
    "stop_allowed": lambda d, _: ("", d["reason"]),
}


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
