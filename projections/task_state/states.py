"""The state of a task: checkpoints, files, data; what they may hold.

    {"checkpoints": [{"timestamp": 1772376300000, "depth": 0}], "files": ["a.txt"], "data": {}}

I1  `timestamp` is in milliseconds since 1970, `depth` that of the execution. Both are numbers;
    what we write are integers.
I2  The newest 50 checkpoints are kept by every event that adds one.
I3  Unknown fields pass: those of a file that was taken over survive.
"""

from typing import Any, TypeGuard

import orjson

from journal.errors import UsageError

Json = dict[str, Any]

SLOT = 110
"""Where the layer stands among the layers of an agent's memory (scratchpad + 10)."""
SCOPE = "thread"
"""A state lives as long as its thread, over all executions in it."""
BUDGET_MIN_TOKENS = 100
BUDGET_MAX_TOKENS = 800
"""How many tokens of a prompt the recalled state may take."""
STORE_TIMEOUT_S = 30.0
"""How long a store may wait for another writer."""

MAX_CHECKPOINTS = 50
OUTCOME = "__outcome"
"""The reserved key of `data`: only `on_complete` writes it."""
OUTCOMES = ("success", "failure", "aborted")
MERGES = ("shallow", "namespace")

_SHOWN_CHARACTERS = 60


def new_state() -> Json:
    """Return the state of a task that nothing happened to."""
    return {"checkpoints": [], "files": [], "data": {}}


def exists(state: Any) -> bool:
    """Say whether a thread has a state at all: `{}` is the one before the first event."""
    return is_record(state) and "checkpoints" in state


def check(state: Any) -> None:
    """Raise `UsageError` for a state that is none, naming the field, the value, what is allowed."""
    if not is_record(state):
        raise _refuse("the state", state, "an object with checkpoints, files, data")
    for name in ("checkpoints", "files", "data"):
        if name not in state:
            raise UsageError(
                f"{name}: it is missing; allowed: {'an object' if name == 'data' else 'a list'}",
                key=name,
            )
    checkpoints, files = state["checkpoints"], state["files"]
    if not is_list(checkpoints):
        raise _refuse("checkpoints", checkpoints, "a list of {timestamp, depth}")
    for index, checkpoint in enumerate(checkpoints):
        _check_checkpoint(checkpoint, f"checkpoints[{index}]")
    if not is_list(files):
        raise _refuse("files", files, "a list of texts")
    for index, file in enumerate(files):
        if not isinstance(file, str):
            raise _refuse(f"files[{index}]", file, "text")
    if not is_record(state["data"]):
        raise _refuse("data", state["data"], "an object")


def _check_checkpoint(checkpoint: Any, key: str) -> None:
    if not is_record(checkpoint):
        raise _refuse(key, checkpoint, "an object with timestamp and depth")
    for name, allowed in (("timestamp", "milliseconds since 1970"), ("depth", "a number")):
        value = checkpoint.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _refuse(f"{key}.{name}", value, allowed)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Say whether a JSON value is a list."""
    return isinstance(value, list)


def is_record(value: object) -> TypeGuard[dict[str, Any]]:
    """Say whether a JSON value is an object."""
    return isinstance(value, dict)


def show(value: Any) -> str:
    """Return a value as it stands in a message, cut to a readable length."""
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        text = repr(value)
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return text[: _SHOWN_CHARACTERS - 1] + "…"


def _refuse(key: str, value: Any, allowed: str) -> UsageError:
    return UsageError(f"{key}: {show(value)} is not allowed; allowed: {allowed}", key=key)
