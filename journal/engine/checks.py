"""Whether a state is one that can be kept: a JSON value, not too large, not too deep."""

from typing import Any

import orjson

from journal import codec
from journal.errors import JournalError, ProjectionError, UsageError
from projections.projection import Projection

_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


def check_state(state: Any, projection: Projection) -> bytes:
    """Return the state as compact JSON.

    Raises `UsageError` for one that is too large or too deep, `ProjectionError` for one that is
    not a JSON value. It is read back and compared, unless the projection is known to make JSON.
    """
    try:
        encoded = orjson.dumps(state, option=_OPTIONS)
        fits = projection.makes_json or orjson.loads(encoded) == state
    except (TypeError, ValueError, RecursionError) as error:
        raise _unfit(state, projection, str(error)) from error
    if not fits:
        raise _unfit(state, projection, "it would not read back equal")
    if len(encoded) > codec.MAX_STATE_BYTES:
        raise UsageError(
            f"the state would be {len(encoded):,} bytes; {codec.MAX_STATE_BYTES:,} are allowed",
            key="state",
            advice="Keep large content in files of its own and their paths in the state.",
        )
    if codec.may_be_deep(state, encoded):
        codec.check_depth(state, "state")
    return encoded


def _unfit(state: Any, projection: Projection, reason: str) -> JournalError:
    key, why = codec.find_unfit(state, "state") or ("state", reason)
    if "nested" in why:
        return UsageError(f"{key}: {why}", key=key)
    return ProjectionError(
        f"projection {projection.name!r} made a state that is not a JSON value: {key}: {why}",
        projection=projection.name,
    )
