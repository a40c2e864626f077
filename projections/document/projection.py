"""The projection `document`: any JSON value as state, changed by pointer, merge or patch.

    set       {"path": "/phase", "value": "plan"}          JSON Pointer (RFC 6901)
    remove    {"path": "/tasks/0"}
    merge     {"patch": {"phase": "plan", "note": null}}   RFC 7396: null removes a member
    patch     {"patch": [{"op": "add", "path": "/tasks/-", "value": {}}]}   RFC 6902
    imported  {"n": 7, "path": "state.json", "author": "ann", "source_time": "...",
               "message": "...", "patch": [...]}           one version of a history from elsewhere

I1  The state is `{}` at first, so that `set /phase` works on an empty journal.
I2  An event that cannot be applied raises `UsageError` when it is appended, so it never gets into
    the log; what is in the log always applies.
I3  `imported` holds one of `patch` (from the state before it), `deleted`, which makes the state
    null, and `text` or `text_b64`, a version that does not parse, which leaves the state alone.
I4  The apply functions own what was decoded (`take`): it goes into the state uncopied.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from journal.errors import UsageError
from projections.patch import apply_patch, merge, remove_value, set_value
from projections.patch.touching import (
    touched_by_merge,
    touched_by_patch,
    touched_by_remove,
    touched_by_set,
)
from projections.projection import Projection


class Set(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Put `value` at `path`, which "" makes the whole state; what is above it must be there.

    A member or item is replaced, a new member is added, /tasks/- appends to the list /tasks.
    """

    example: ClassVar[str] = """set '{"path": "/tasks/-", "value": {"id": 7}}'"""

    path: str
    value: Any


class Remove(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Take out the member or item at `path`, which must be there."""

    example: ClassVar[str] = """remove '{"path": "/tasks/0"}'"""

    path: str


class Merge(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Merge `patch` into the whole state (RFC 7396): null removes a member, a list is replaced."""

    example: ClassVar[str] = """merge '{"patch": {"phase": "plan", "note": null}}'"""

    patch: Any


class Patch(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Apply the operations of `patch` in order, all or none (RFC 6902)."""

    example: ClassVar[str] = """patch '{"patch": [{"op": "remove", "path": "/note"}]}'"""

    patch: list[dict[str, Any]]


class Imported(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Take in one version of a history from elsewhere; `journal import` makes it.

    See I3. `n` numbers the versions of the source, `path` is the file's name there, `author`,
    `source_time` and `message` are the source's own words. `why` is the reason why a text does
    not parse; `warnings` what a reader passed over, such as a BOM or a doubled key.
    """

    n: int
    path: str = ""
    author: str = ""
    source_time: str = ""
    message: str = ""
    patch: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    text: str | msgspec.UnsetType = msgspec.UNSET
    text_b64: str | msgspec.UnsetType = msgspec.UNSET
    why: str = ""
    deleted: bool = False
    warnings: list[str] = []


def _set(state: Any, event: Any) -> Any:
    return set_value(state, event.data.path, event.data.value, take=True)


def _remove(state: Any, event: Any) -> Any:
    return remove_value(state, event.data.path)


def _merge(state: Any, event: Any) -> Any:
    return merge(state, event.data.patch, take=True)


def _patch(state: Any, event: Any) -> Any:
    return apply_patch(state, event.data.patch, take=True, name="data.patch")


def _imported(state: Any, event: Any) -> Any:
    data: Imported = event.data
    texts = (data.text is not msgspec.UNSET) + (data.text_b64 is not msgspec.UNSET)
    if (data.patch is not msgspec.UNSET) + data.deleted + texts != 1:
        raise UsageError(
            f"imported: version {data.n} must have exactly one of patch, deleted, text, text_b64",
            key="data",
            advice="Leave this event to `journal import`; to change the state use set or patch.",
        )
    if data.deleted:
        return None
    if data.patch is msgspec.UNSET:
        return state
    return apply_patch(state, data.patch, take=True, name="data.patch")


def _touched_by_imported(data: Imported) -> list[str]:
    if data.deleted:
        return [""]
    return [] if data.patch is msgspec.UNSET else touched_by_patch(data.patch)


_TOUCHES: dict[type[Any], Callable[[Any], list[str]]] = {
    Set: lambda data: touched_by_set(data.path),
    Remove: lambda data: touched_by_remove(data.path),
    Merge: lambda data: touched_by_merge(data.patch),
    Patch: lambda data: touched_by_patch(data.patch),
    Imported: _touched_by_imported,
}


def _touches(event: Any) -> list[str]:
    return _TOUCHES[event.data.__class__](event.data)


PROJECTION = Projection(
    "document",
    events={Set: _set, Remove: _remove, Merge: _merge, Patch: _patch, Imported: _imported},
    initial=dict,
    makes_json=True,
    touches=_touches,
)
