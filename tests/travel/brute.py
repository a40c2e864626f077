"""Answers about a history by brute force: from the states alone, one after another.

`states[seq]` is the state after event `seq`. Nothing here uses the code that is asked.
"""

import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from journal.errors import UsageError
from projections import patch
from projections.document.importing import import_versions
from projections.document.translation import parse
from projections.document.version import Version
from projections.document.versions import read_versions

ABSENT = b""


class History(NamedTuple):
    """A journal, and the state after each of its events, from 0 on."""

    name: str
    path: Path
    states: list[Any]

    @property
    def last(self) -> int:
        """The last seq."""
        return len(self.states) - 1


def load(source: Path, folder: Path) -> History:
    """Import a history into a journal; the states come from its versions themselves."""
    states: list[Any] = [{}, {}]
    for version in read_versions(source):
        assert isinstance(version, Version)
        if version.content is None:
            states.append(None)
        else:
            parsed = parse(version)
            states.append(states[-1] if parsed.why else parsed.value)
    assert import_versions(folder / "run", read_versions(source)).imported == len(states) - 2
    return History(source.name, folder / "run", states)


def look(state: Any, pointer: str) -> bytes:
    """What is at a pointer, as JSON with sorted keys; ABSENT where nothing is."""
    try:
        return orjson.dumps(patch.get(state, pointer), option=orjson.OPT_SORT_KEYS)
    except UsageError:
        return ABSENT


def blame(states: list[Any], pointer: str, after: int, upto: int) -> list[tuple[int, bytes, bytes]]:
    """(seq, old, new) of each event that changed what is at the pointer, newest first."""
    looks = [look(state, pointer) for state in states[after : upto + 1]]
    pairs = enumerate(itertools.pairwise(looks), after + 1)
    return [(seq, old, new) for seq, (old, new) in pairs if old != new][::-1]


def bisect(states: list[Any], is_true: Callable[[Any], bool], after: int, upto: int) -> int | None:
    """The first seq after which it is true."""
    return next((seq for seq in range(after + 1, upto + 1) if is_true(states[seq])), None)


def is_monotone(states: list[Any], is_true: Callable[[Any], bool], after: int, upto: int) -> bool:
    """Whether it stays true once it is."""
    seen = [is_true(state) for state in states[after : upto + 1]]
    return seen == sorted(seen)


def places(value: Any, depth: int = 99, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Every place with its value, down to a depth."""
    yield pointer, value
    if depth and isinstance(value, dict):
        for name, child in value.items():
            yield from places(child, depth - 1, pointer + patch.format([name]))
    elif depth and isinstance(value, list):
        for index, child in enumerate(value):
            yield from places(child, depth - 1, f"{pointer}/{index}")


def leaves(value: Any) -> int:
    """How many leaves a value has: scalars, and empty objects and lists."""
    if value and isinstance(value, dict | list):
        return sum(map(leaves, value.values() if isinstance(value, dict) else value))
    return 1


def some_pointer(states: list[Any], rnd: random.Random) -> str:
    """A place of some state, seldom one that never was."""
    found = [pointer for pointer, _ in places(rnd.choice(states))]
    pointer = rnd.choice(found)
    return pointer if rnd.random() < 0.95 else f"{pointer}/never"
