"""Journals of random events: small segments, many snapshots, appends of one and of several."""

import itertools
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import journal
from journal import config
from journal.config import SnapshotsConfig
from journal.errors import UsageError
from projections import patch
from projections.document.projection import PROJECTION
from projections.projection import Projection

Event = tuple[str, Any]

NAMES = st.sampled_from(["a", "a", "b", "list", "list", "0", "-", "x/y"])
SCALARS = st.sampled_from([None, True, False, 0, 0.0, -0.0, 1, 1.0, "", "text"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
POINTERS = st.lists(NAMES | st.sampled_from(["1", "2"]), max_size=3).map(patch.format)
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "replace"]), "path": POINTERS, "value": VALUES}
    )
    | st.fixed_dictionaries({"op": st.just("remove"), "path": POINTERS})
    | st.fixed_dictionaries({"op": st.just("move"), "from": POINTERS, "path": POINTERS}),
    min_size=1,
    max_size=3,
)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.fixed_dictionaries({"path": POINTERS, "value": VALUES}).map(lambda data: ("set", data)),
    st.fixed_dictionaries({"path": POINTERS}).map(lambda data: ("remove", data)),
    st.fixed_dictionaries({"patch": VALUES}).map(lambda data: ("merge", data)),
    st.fixed_dictionaries({"patch": OPERATIONS}).map(lambda data: ("patch", data)),
)
_INNER = {"a": {"a": 1, "list": [1, [2]]}, "list": [{"a": 1}, {"a": 1, "b": []}, 3], "b": "text"}
BASE: Event = ("set", {"path": "", "value": {"a": _INNER, "list": [_INNER, 1, 1], "b": {}, "0": 1}})
"""A first event, so that there is something at most pointers."""

# Drawn from a few, so that values are written again as they are, and come back.
APPENDS = (
    st.lists(EVENTS, min_size=1, max_size=8)
    .flatmap(
        lambda few: st.lists(
            st.lists(st.sampled_from([BASE, *few]), min_size=1, max_size=3), min_size=1, max_size=25
        )
    )
    .map(lambda appends: [[BASE], *appends])
)

PLAIN = Projection(
    "document",
    events=PROJECTION.events,
    initial=dict,
    revision="without touches",
)
"""The same projection, but it does not say where its events can change the state."""

_numbers = itertools.count()


def fresh(folder: Path) -> Path:
    """A path in `folder` where nothing is."""
    return folder / f"j{next(_numbers)}"


def apply(state: Any, event: Event) -> Any:
    """The state after an event of the document, by the functions of `projections.patch` alone."""
    kind, data = event
    match kind:
        case "set":
            return patch.set_value(state, data["path"], data["value"])
        case "remove":
            return patch.remove_value(state, data["path"])
        case "merge":
            return patch.merge(state, data["patch"])
        case _:
            return patch.apply_patch(state, data["patch"])


def fold(events: Iterable[Event]) -> Any:
    """The state after some events; raises `UsageError` where one cannot be applied."""
    state: Any = {}
    for event in events:
        state = apply(state, event)
    return state


def make(
    path: Path,
    appends: Iterable[list[Event]],
    *,
    segment_bytes: int = 2000,
    min_bytes: int = 400,
    projection: Projection = PROJECTION,
) -> list[Any]:
    """Make a journal; what cannot be applied is left out. Return the state after each seq."""
    with journal.init(path, durability="os", projection=projection):
        pass
    settings = config.read(path)
    settings.segment_bytes = segment_bytes
    settings.snapshots = SnapshotsConfig(min_bytes=min_bytes, log_ratio=1.0, keep=5)
    config.write(path, settings)
    states: list[Any] = [{}, {}]
    with journal.open(path, projection=projection) as engine:
        for number, append in enumerate(appends):
            try:
                events = engine.append_batch(append, actor=f"a{number % 3}")
            except UsageError:
                continue
            states += [patch.copy(states[-1])] * (events[0].seq - len(states))
            for event in events:
                states.append(apply(patch.copy(states[-1]), (event.type, event.data)))
        # What was refused may have begun a new segment before.
        states += [patch.copy(states[-1])] * (engine.seq + 1 - len(states))
    return states


def contents(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Every file below a folder: its bytes, its time of change, its mode."""
    return {
        str(path.relative_to(folder)): (
            path.read_bytes() if path.is_file() else b"",
            path.lstat().st_mtime_ns,
            path.lstat().st_mode,
        )
        for path in sorted([folder, *folder.rglob("*")])
    }


def remove(path: Path) -> None:
    """Take a journal away, so that many do not fill the disk."""
    shutil.rmtree(path)
