"""How a run stands, read without changing anything: from its journal, or from its file alone.

I1  Nothing is locked, repaired, rebuilt or taken over here.
I2  `look` never raises for one run: what is wrong with it is its `problem`, so that the others can
    be listed. A run whose state cannot be had is `damaged`.
"""

import os
from pathlib import Path
from typing import Any, Literal

import msgspec

import journal
from journal import codec, regular
from journal.errors import JournalError
from journal.event import Clock, format_time
from projections import patch
from projections.pipeline_state import facts, reading, resuming
from projections.pipeline_state.facts import Facts
from projections.pipeline_state.places import Place

Condition = resuming.Condition | Literal["damaged", "unfinished"]

_HEALTHY = ("healthy", "behind")


class Found(msgspec.Struct, frozen=True):
    """A state file without a journal: as it stands, as it is read, and what differs."""

    raw: Any
    state: Any
    changes: list[dict[str, Any]]
    sha256: str
    modified: str


class Standing(msgspec.Struct, frozen=True):
    """A run as it stands; `state` and `facts` are None where they cannot be had."""

    place: Place
    condition: Condition
    state: Any = None
    facts: Facts | None = None
    problem: str = ""
    messages: tuple[str, ...] = ()
    file_differs: bool = False


def read_file(place: Place) -> Found:
    """Read a state file that has no journal yet.

    Raises `Corrupt` that names the offset or the field, `OSError`.
    """
    # A link to the file is followed here; the journal records where it leads when it is made.
    data, found = regular.read_with_stat(os.path.realpath(place.file))
    raw = reading.read_raw(data, place.file)
    changes = reading.list_changes(raw)
    state = patch.apply_patch(codec.copy_value(raw), changes)
    reading.check(state, place.file)
    modified = format_time(found.st_mtime_ns // 1_000_000)
    return Found(raw, state, changes, codec.sha256(data), modified)


def refuse_unbegun(place: Place, state: Any) -> None:
    """Raise `JournalError` for a journal in which no run was ever begun."""
    if not state:
        raise JournalError(
            f"{place.private}: no run was begun in this journal",
            advice="Move the run's folder away, and begin it again: `journal pipeline init`.",
        )


def look(place: Place, clock: Clock) -> Standing:
    """Return how a run stands (I2)."""
    if not place.is_taken_over and place.has_log and not os.path.lexists(place.file):
        why = "its `init` was cut off before the state file was written; any verb completes it"
        return Standing(place, "unfinished", problem=why)
    try:
        return _look(place, clock)
    except (JournalError, OSError) as error:
        return Standing(place, "damaged", problem=str(error))


def _look(place: Place, clock: Clock) -> Standing:
    if not place.is_taken_over:
        found = read_file(place)
        known = facts.of_file(found.state, found.modified, clock())
        return Standing(place, resuming.condition(found.state, known), found.state, known)
    regular.check_folder(place.private)
    with journal.open(place.private, read_only=True) as engine:
        state = engine.state
        refuse_unbegun(place, state)
        known = facts.of_engine(engine, clock())
        views = engine.status().views
        messages = tuple(engine.messages)
    wrong = [f"{Path(view.path).name} is {view.status}" for view in views if _differs(view.status)]
    condition = resuming.condition(state, known)
    return Standing(place, condition, state, known, "; ".join(wrong), messages, bool(wrong))


def _differs(status: str) -> bool:
    return status not in _HEALTHY
