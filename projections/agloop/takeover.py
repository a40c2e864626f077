"""A folder `.agloop/` that other tools have written so far: what its journal begins with.

    state.json reads and passes the rules     it is the first state
    it cannot be read, or is gone             the newest checkpoint that can be; else it begins anew
    it reads and breaks a rule                refused, with the field and what is allowed

I1  Nothing is written here, and nothing guessed: what was read differently than it stands is
    listed in one event (`normalized`).
I2  A key that stands twice is refused: which one counts is for a person to say, and an older
    checkpoint would lose what the file has.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from journal import codec, regular
from journal.errors import Corrupt, UsageError
from journal.event import format_time
from projections.agloop import entries, events, line
from projections.agloop.checkpoint import FOLDER, Checkpoint
from projections.agloop.checkpoints import read_folder
from projections.agloop.schema import SCHEMA, check, complete
from projections.agloop.shape import is_object, show
from projections.foreign import read_json
from projections.patch import diff_with_old

Json = dict[str, Any]

STATE_FILE = "state.json"
LOG_FILE = "log.json"


class Found(NamedTuple):
    """What a folder holds to begin with.

    `path` is the file whose value `state` is (None: there is none, and the loop begins anew),
    `completed` the state as it is read; `further` are the events that come right after; `said` is
    for a person.
    """

    path: str | None
    sha256: str
    modified: str
    state: Any
    completed: Any
    further: Sequence[msgspec.Struct]
    said: list[str]
    state_file_is_sound: bool


def is_there(folder: Path) -> bool:
    """Say whether a folder holds anything to take over."""
    if (folder / STATE_FILE).exists() or (folder / LOG_FILE).exists():
        return True
    return any(isinstance(found, Checkpoint) for _, _, found in read_folder(folder / FOLDER))


def find(folder: Path) -> Found:
    """Read what a folder's journal begins with; where state and log disagree, that is said.

    Raises `UsageError` where `state.json` breaks a rule, `Corrupt` where a key stands twice in
    it, `OSError` where it cannot be opened.
    """
    found = _find(folder)
    return found._replace(said=[*found.said, *_compare(folder, found)])


def _compare(folder: Path, found: Found) -> list[str]:
    """Say what the state and log.json each know alone; nothing is invented to make them agree."""
    phase = None if found.completed is None else found.completed["current_phase"]
    try:
        lines = entries.read(folder / LOG_FILE)
    except OSError:
        return []  # the log never stops anything, and opening says what is wrong with it
    told = [entry["phase"] for entry in lines if entry.get("phase")]
    if not told:
        return []
    if phase is None:
        return [f"{LOG_FILE} is there and no state: its lines are kept, and the loop begins anew"]
    if told[-1] == phase:
        return []
    return [
        f"{found.path} is in phase {phase}, the last line of {LOG_FILE} in {show(told[-1])}: "
        "both are kept as they are, and the state counts"
    ]


def _find(folder: Path) -> Found:
    path = folder / STATE_FILE
    try:
        # Through a symlink: the journal notes where it leads.
        data, at_once = regular.read_with_stat(os.path.realpath(path))
    except FileNotFoundError:
        return _fall_back(folder, "state.json is missing", was_there=False)
    try:
        reading = read_json(data, path=path)
    except Corrupt as error:
        if _reads_leniently(data):
            raise
        return _fall_back(folder, error.why, was_there=True)
    return _take(
        reading.value,
        STATE_FILE,
        data,
        modified=format_time(at_once.st_mtime_ns // 1_000_000),
        said=list(reading.warnings),
    )


def _reads_leniently(data: bytes) -> bool:
    try:
        read_json(data, path=STATE_FILE, lenient=True)
    except Corrupt:
        return False
    return True


def read_state(value: Any, path: str) -> Json:
    """Return a state as it is read (missing later fields filled in).

    Raises `UsageError` where it is of another schema or breaks a rule.
    """
    schema = value.get("$schema") if is_object(value) else None
    if schema != SCHEMA:
        raise UsageError(
            f"{path}: $schema is {show(schema)}; allowed: {SCHEMA!r}",
            key="$schema",
            advice="Nothing was changed. This version reads no other state.",
        )
    completed: Json = complete(value)
    check(completed)
    return completed


def _take(value: Any, name: str, data: bytes, *, modified: str, said: list[str]) -> Found:
    completed = read_state(value, name)
    changes = diff_with_old(value, completed)
    further: list[msgspec.Struct] = []
    if changes:
        further.append(events.Normalized(changes=changes))
    return Found(
        path=name,
        sha256=codec.sha256(data),
        modified=modified,
        state=value,
        completed=completed,
        further=further,
        said=said,
        state_file_is_sound=name == STATE_FILE,
    )


def _fall_back(folder: Path, why: str, *, was_there: bool) -> Found:
    """Take the newest checkpoint that is whole and passes the rules, else begin anew."""
    found = [
        (each.time, name, data, each)
        for name, data, each in read_folder(folder / FOLDER)
        if isinstance(each, Checkpoint)
    ]
    for _, name, data, each in sorted(found, key=lambda one: one[:2], reverse=True):
        try:
            taken = _take(each.state, f"{FOLDER}/{name}", data, modified="", said=[])
        except UsageError:
            continue
        note = events.StateRecovered(
            source="checkpoint", why=why, file=f"{FOLDER}/{name}", timestamp=each.timestamp
        )
        return taken._replace(further=[*taken.further, note], said=[_describe(note)])
    if not was_there:
        return _anew([], [])
    note = events.StateRecovered(source="initial", why=why)
    return _anew([note], [_describe(note)])


def _anew(further: list[msgspec.Struct], said: list[str]) -> Found:
    return Found(
        path=None,
        sha256="",
        modified="",
        state=None,
        completed=None,
        further=further,
        said=said,
        state_file_is_sound=False,
    )


def _describe(note: events.StateRecovered) -> str:
    return line.describe_recovery({"source": note.source, "timestamp": note.timestamp}, 0)
