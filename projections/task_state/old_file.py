"""A state file that no journal keeps yet: read strictly, the parts that it lacks filled.

I1  What does not parse, or holds a field that breaks a rule, is `Corrupt`, with the offset or the
    field; it is left as it is.
I2  A missing part reads as empty, and is one change with its reason. Nothing else is changed.
"""

import os
from pathlib import Path

import msgspec

from journal import codec, regular
from journal.errors import Corrupt, UsageError
from projections.foreign import read_json
from projections.patch import copy
from projections.task_state.projection import apply_changes
from projections.task_state.states import Json, check, is_record, new_state, show

_MEND = "Nothing was changed. Mend the file by hand, or move it away to begin with an empty state."


class OldFile(msgspec.Struct, frozen=True):
    """A state file as found, its changes (I2), and the state that they give."""

    sha256: str
    found: Json
    changes: list[Json]
    state: Json


def read_old_file(path: Path) -> OldFile:
    """Read a state file; raises `Corrupt` as I1 says."""
    data = regular.read_file(os.path.realpath(path))  # a link to it is followed
    return parse_file(data, path)


def parse_file(data: bytes, path: Path) -> OldFile:
    """Return the bytes of a state file as a state; raises `Corrupt` as I1 says."""
    try:
        found = read_json(data, path=path).value
    except Corrupt as error:
        raise Corrupt(
            error.why, path=path, line=error.line, offset=error.offset, advice=_MEND
        ) from error
    if not is_record(found):
        raise Corrupt(f"the state is an object, and this is {show(found)}", path=path, advice=_MEND)
    changes = [
        {"path": f"/{name}", "new": value, "why": "it was missing"}
        for name, value in new_state().items()
        if name not in found
    ]
    state = copy(found)
    apply_changes(state, copy(changes))
    try:
        check(state)
    except UsageError as error:
        raise Corrupt(error.message, path=path, advice=_MEND) from error
    return OldFile(codec.sha256(data), found, changes, state)
