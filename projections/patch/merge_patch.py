"""JSON Merge Patch (RFC 7396): a change written as the part of the value that changes.

    value {"a": {"b": 1, "c": 2}}   patch {"a": {"b": null, "d": 3}}   gives {"a": {"c": 2, "d": 3}}

An object in the patch is merged member by member, null removes the member, anything else (lists
too) replaces what was there. So a merge cannot store a null in an object.

Ownership is that of `operations`: `value` may be changed in place, lists of the patch are copied
unless `take=True` gives them up. The result is never deeper than the deeper of the two.
"""

from typing import Any

from journal.errors import UsageError
from projections.patch.value import MAX_DEPTH, Json, copy, depth


def merge(value: Any, patch: Any, *, take: bool = False) -> Any:
    """Merge `patch` into `value` and return the result.

    Raises `UsageError` for a patch deeper than `MAX_DEPTH`.
    """
    levels = depth(patch)
    if levels > MAX_DEPTH:
        raise UsageError(
            f"the merge patch is {levels} levels deep, the limit is {MAX_DEPTH}",
            advice="Flatten the value.",
        )
    if not isinstance(patch, dict):
        return patch if take else copy(patch)
    state: Json = value
    root = state if isinstance(state, dict) else {}
    pending: list[tuple[dict[str, Json], dict[str, Json]]] = [(root, patch)]
    while pending:
        target, changes = pending.pop()
        for key, new in changes.items():
            if new is None:
                target.pop(key, None)
            elif isinstance(new, dict):
                child = target.get(key)
                if not isinstance(child, dict):
                    child = target[key] = {}
                pending.append((child, new))
            else:
                target[key] = new if take else copy(new)
    return root
