"""What can happen to a key of a storage, and the projection `task_storage`: its values by key."""

from typing import Any

import msgspec

from journal.errors import UsageError
from projections.projection import Projection
from projections.task_state.states import is_record, show

NAME = "task_storage"


class ValueSet(msgspec.Struct, forbid_unknown_fields=True):
    """A key got a value."""

    key: str
    value: Any


class ValueDeleted(msgspec.Struct, forbid_unknown_fields=True):
    """A key lost its value."""

    key: str


def _set(state: Any, event: Any) -> Any:
    state[event.data.key] = event.data.value
    return state


def _delete(state: Any, event: Any) -> Any:
    state.pop(event.data.key, None)
    return state


def check(state: Any) -> None:
    """Raise `UsageError` for a state that is no object of values other than null."""
    if not is_record(state):
        raise UsageError(f"the values of a storage are an object, not {show(state)}", key="state")
    for key, value in state.items():
        if value is None:
            raise UsageError(f"{key}: null is no value of a key", key=key)


PROJECTION = Projection(
    NAME,
    events={ValueSet: _set, ValueDeleted: _delete},
    initial=dict,
    check=check,
    makes_json=True,
)
