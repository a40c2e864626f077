"""The fields of a checkpoint: their order in the file, and what each may hold.

    planned -> running       running -> verifying | failed | blocked
    verifying -> succeeded | running | failed | blocked

I1  Members stand in one order, whoever wrote them; unknown ones come after those, and survive.
I2  A checkpoint is checked against itself: `history` is a chain of legal transitions from planned
    to `state`, `attempts` counts its entries into running and is at most `maxAttempts`, evidence
    needs an entry into verifying, and a success a pass since the last one.
I3  What is refused is named by its place (`history[2].to`), its value, and what is allowed.
"""

from collections.abc import Callable
from typing import Any, TypeGuard

import orjson

from journal.errors import UsageError
from journal.event import parse_time
from projections.patch import equal

VERSION = 1
STATES = ("planned", "running", "verifying", "succeeded", "failed", "blocked")
TERMINAL = ("succeeded", "failed", "blocked")
NEED_REASON = ("failed", "blocked")
OUTCOMES = ("passed", "failed")
LEGAL: dict[str, tuple[str, ...]] = {
    "planned": ("running",),
    "running": ("verifying", "failed", "blocked"),
    "verifying": ("succeeded", "running", "failed", "blocked"),
}
MAX_ATTEMPTS = 2**53 - 1
"""The largest integer that every reader of JSON reads exactly."""

FIELDS = (
    "schemaVersion",
    "taskId",
    "objective",
    "state",
    "attempts",
    "maxAttempts",
    "nextAction",
    "createdAt",
    "updatedAt",
    "history",
    "evidence",
    "terminalReason",
)
HISTORY_FIELDS = ("from", "to", "at", "reason")
EVIDENCE_FIELDS = ("check", "outcome", "at", "artifact")
IMMUTABLE = ("schemaVersion", "taskId", "createdAt")
GROWING = ("history", "evidence")

_NEXT = "Nothing was changed."


# --- order ---------------------------------------------------------------------------------------


def render(state: Any) -> bytes:
    """Write the checkpoint: JSON indented by two spaces, UTF-8 without BOM, a final LF (I1)."""
    return orjson.dumps(arrange(state), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def arrange(state: Any) -> Any:
    """Return the checkpoint with its members in order (I1)."""
    found = _in_order(state, FIELDS)
    if is_object(found):
        for name, fields in (("history", HISTORY_FIELDS), ("evidence", EVIDENCE_FIELDS)):
            if is_list(entries := found.get(name)):
                found[name] = [_in_order(entry, fields) for entry in entries]
    return found


def _in_order(value: Any, names: tuple[str, ...]) -> Any:
    if not is_object(value):
        return value
    known = {name: value[name] for name in names if name in value}
    return known | {name: value[name] for name in value if name not in known}


# --- what a field may hold -----------------------------------------------------------------------


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Say whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Say whether a JSON value is a list."""
    return isinstance(value, list)


class _Kind:
    """What a field may hold: how it is told, and how it is said."""

    def __init__(self, fits: Callable[[Any], bool], words: str) -> None:
        self.fits = fits
        self.words = words


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(parse_time(value))
    except UsageError:
        return False


def _is_count(value: Any, least: int) -> bool:
    return type(value) is int and least <= value <= MAX_ATTEMPTS


def _one_of(allowed: tuple[str, ...]) -> _Kind:
    return _Kind(
        lambda value: isinstance(value, str) and value in allowed, "one of " + ", ".join(allowed)
    )


_TEXT = _Kind(_is_text, "text that is not empty")
_TIME = _Kind(_is_time, "an ISO 8601 time such as 2026-03-01T14:45:00.000Z")

_FIELDS: dict[str, _Kind] = {
    "schemaVersion": _Kind(lambda value: type(value) is int and value == VERSION, str(VERSION)),
    "taskId": _TEXT,
    "objective": _TEXT,
    "state": _one_of(STATES),
    "attempts": _Kind(lambda value: _is_count(value, 0), "an integer from 0 on"),
    "maxAttempts": _Kind(lambda value: _is_count(value, 1), "an integer from 1 on"),
    "nextAction": _TEXT,
    "createdAt": _TIME,
    "updatedAt": _TIME,
    "history": _Kind(is_list, "a list of transitions"),
    "evidence": _Kind(is_list, "a list of evidence"),
    "terminalReason": _TEXT,
}
_HISTORY: dict[str, _Kind] = {
    "from": _one_of(STATES),
    "to": _one_of(STATES),
    "at": _TIME,
    "reason": _TEXT,
}
_EVIDENCE: dict[str, _Kind] = {
    "check": _TEXT,
    "outcome": _one_of(OUTCOMES),
    "at": _TIME,
    "artifact": _TEXT,
}
_OPTIONAL = frozenset(("terminalReason", "reason", "artifact"))


def initial() -> Any:
    """Return the state before the checkpoint is initialized: it has no field yet."""
    return {}


def check(state: Any) -> None:
    """Raise `UsageError` that names the first field which breaks the schema or the rest (I2)."""
    _check_members(state, "", _FIELDS)
    for index, entry in enumerate(state["history"]):
        _check_members(entry, f"history[{index}]", _HISTORY)
    for index, entry in enumerate(state["evidence"]):
        _check_members(entry, f"evidence[{index}]", _EVIDENCE)
    _check_history(state)
    _check_attempts(state)
    _check_evidence(state)
    _check_reason(state)


def _check_members(value: Any, place: str, kinds: dict[str, _Kind]) -> None:
    if not is_object(value):
        raise _refuse(place or "the checkpoint", value, "an object")
    for name, kind in kinds.items():
        key = f"{place}.{name}" if place else name
        if name not in value:
            if name not in _OPTIONAL:
                why = f"{key} is missing; it must be {kind.words}"
                raise UsageError(why, key=key, advice=_NEXT)
        elif not kind.fits(value[name]):
            raise _refuse(key, value[name], kind.words)


def _check_history(state: dict[str, Any]) -> None:
    """Follow the chain of transitions from planned to the state."""
    at = "planned"
    for index, entry in enumerate(state["history"]):
        if entry["from"] != at:
            raise _refuse(f"history[{index}].from", entry["from"], f"{at}, where it stood")
        legal = LEGAL.get(at, ())
        if entry["to"] not in legal:
            words = " or ".join(legal) or f"no transition: {at} is terminal"
            raise _refuse(f"history[{index}].to", entry["to"], words)
        if entry["to"] in NEED_REASON and "reason" not in entry:
            key = f"history[{index}].reason"
            raise UsageError(f"{key} is missing; {entry['to']} needs one", key=key, advice=_NEXT)
        at = entry["to"]
    if state["state"] != at:
        raise _refuse("state", state["state"], f"{at}, where its history ends")


def _check_attempts(state: dict[str, Any]) -> None:
    entered = sum(entry["to"] == "running" for entry in state["history"])
    if state["attempts"] != entered:
        words = f"{entered}, the number of its entries into running"
        raise _refuse("attempts", state["attempts"], words)
    if state["attempts"] > state["maxAttempts"]:
        raise _refuse("attempts", state["attempts"], f"at most {state['maxAttempts']}, maxAttempts")


def _check_evidence(state: dict[str, Any]) -> None:
    if state["evidence"] and not any(entry["to"] == "verifying" for entry in state["history"]):
        raise UsageError(
            "evidence is there, and the checkpoint was never verifying, when alone it is recorded",
            key="evidence",
            advice=_NEXT,
        )
    if state["state"] == "succeeded" and not has_passed(state):
        raise UsageError(
            "the state is succeeded, without a pass since the last entry into verifying",
            key="evidence",
            advice=_NEXT,
        )


def _check_reason(state: dict[str, Any]) -> None:
    if state["state"] not in NEED_REASON:
        if "terminalReason" in state:
            words = "left out: only failed and blocked have one"
            raise _refuse("terminalReason", state["terminalReason"], words)
    elif state.get("terminalReason") != state["history"][-1]["reason"]:
        words = "the reason of the last transition"
        raise _refuse("terminalReason", state.get("terminalReason"), words)


def has_passed(state: dict[str, Any]) -> bool:
    """Say whether a pass was recorded since the last entry into verifying."""
    entered = [entry["at"] for entry in state["history"] if entry["to"] == "verifying"]
    if not entered:
        return False
    since = parse_time(entered[-1])
    return any(
        entry["outcome"] == "passed" and parse_time(entry["at"]) >= since
        for entry in state["evidence"]
    )


def _refuse(key: str, value: Any, words: str) -> UsageError:
    text = orjson.dumps(value).decode()
    shown = text if len(text) <= 80 else text[:79] + "…"
    return UsageError(f"{key} is {shown}; it must be {words}", key=key, advice=_NEXT)


# --- what a foreign change may do ----------------------------------------------------------------


def check_adoption(old: Any, new: Any) -> None:
    """Raise `UsageError` where a changed checkpoint may not be adopted, though a person asks.

    No field of `IMMUTABLE` changes, and `history` and `evidence` only grow.
    """
    for name in IMMUTABLE:
        if not equal(old.get(name), new.get(name)):
            raise UsageError(
                f"{name} was changed from {old.get(name)!r}, and it never changes",
                key=name,
                advice="Put it back as it was.",
            )
    for name in GROWING:
        had = old.get(name, [])
        if not equal(new[name][: len(had)], had):
            raise UsageError(
                f"{name} was shortened or rewritten, and it only grows",
                key=name,
                advice="Put the earlier entries back as they were.",
            )
