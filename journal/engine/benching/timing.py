"""Timing one journal: its reads, the folding of its log taken apart, and appends to a fork.

I1  A thing is repeated until it has taken a fifth of a second, or often enough: the median of
    what is short means something, and what is long is done once.
"""

import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from journal.engine.benching.report import Breakdown, Share, Timed
from journal.engine.core import Core
from journal.engine.engine import Engine
from journal.errors import JournalError
from journal.event import CARRIES_STATE, Draft, Event, is_engine_type
from journal.regular import read_range
from journal.segment import BLOCK_BYTES, Segment
from projections.typed_lines import Unknown

_ENOUGH_S = 0.2
_MOST_RUNS = 50
_NEVER_MS = 86_400_000
MOST_PLACES = 200
MOST_APPENDS = 200
SEED = 7


def repeat(name: str, action: Callable[[], object], *, per: int = 0) -> Timed:
    """Time an action (I1)."""
    took: list[float] = []
    while not took or (sum(took) < _ENOUGH_S and len(took) < _MOST_RUNS):
        start = time.perf_counter()
        action()
        took.append(time.perf_counter() - start)
    return summed_up(name, took, per=per)


def summed_up(name: str, took_s: Sequence[float], *, per: int = 0) -> Timed:
    """Sum up how long the runs of something took."""
    found = sorted(seconds * 1000 for seconds in took_s)
    return Timed(
        name=name,
        runs=len(found),
        median_ms=statistics.median(found),
        p99_ms=found[min(int(len(found) * 0.99), len(found) - 1)],
        best_ms=found[0],
        per=per,
    )


def time_travel(engine: Engine) -> Timed:
    """Time the state at random places."""
    rng = random.Random(SEED)
    took: list[float] = []
    for _ in range(MOST_PLACES):
        place = rng.randint(1, engine.seq)
        start = time.perf_counter()
        engine.state_at(place)
        took.append(time.perf_counter() - start)
        if sum(took) > 10 * _ENOUGH_S:
            break
    return summed_up("state at any event", took)


# --- a replay taken apart ------------------------------------------------------------------------


def take_apart(core: Core, progress: Callable[[int, int], None] | None) -> Breakdown:
    """Return where the time of a replay goes: reading, checking, decoding, folding."""
    history, projection = core.history, core.projection
    reading = 0.0
    for name in history.names:
        with Segment(history.folder / name) as segment:
            size = history.size_of(segment)
            start = time.perf_counter()
            for at in range(0, size, BLOCK_BYTES):
                read_range(segment.fd, at, min(at + BLOCK_BYTES, size))
            reading += time.perf_counter() - start
    checking = decoding = folding = 0.0
    state: Any = projection.initial()
    unknown: list[Unknown] = []
    start = time.perf_counter()
    for block in history.blocks(0, history.tail.seq, numbered=False):
        checked = time.perf_counter()
        events = projection.decode(block.data, unknown)
        decoded = time.perf_counter()
        state = projection.apply(state, events)
        del events  # Freeing them is part of what they cost.
        folded = time.perf_counter()
        checking += checked - start
        decoding += decoded - checked
        folding += folded - decoded
        if progress is not None:
            progress(block.after.seq, history.tail.seq)
        start = time.perf_counter()
    shares = [
        Share(name="read", ms=reading * 1000),
        Share(name="check (CRC)", ms=max(checking - reading, 0.0) * 1000),
        Share(name="decode", ms=decoding * 1000),
        Share(name="fold", ms=folding * 1000),
    ]
    return Breakdown(name="a replay of everything", unit="ms", shares=shares)


# --- appends -------------------------------------------------------------------------------------

LINE, VIEW, SYNC, BOTH = "line", "view", "sync", "both"
_WAYS = {
    LINE: ("os", _NEVER_MS),
    VIEW: ("os", 0),
    SYNC: ("always", _NEVER_MS),
    BOTH: ("always", 0),
}


def last_events(engine: Engine, count: int = MOST_APPENDS) -> list[Event]:
    """Return the newest events that change the state, oldest first, so many at most.

    The journal's own events are not among them, but for those that carry a state.
    """
    found = [
        event
        for event in engine.events(max(engine.seq - 2 * count, 1))
        if not is_engine_type(event.type) or event.type in CARRIES_STATE
    ]
    return found[-count:]


def append_again(fork: Engine, events: Sequence[Event]) -> tuple[dict[str, Timed], int]:
    """Append them one by one to a fork that ends before them.

    Return each way's times, and how many were refused. The ways take turns: the line alone, with
    its view, with its sync, with both; the first turn of several warms up and is not counted.
    """
    took: dict[str, list[float]] = {way: [] for way in _WAYS}
    refused = 0
    cold = len(_WAYS) if len(events) > 4 * len(_WAYS) else 0
    for number, event in enumerate(events):
        way = list(_WAYS)[number % len(_WAYS)]
        durability, every_ms = _WAYS[way]
        fork.config.durability = durability  # type: ignore[assignment] # one of `_WAYS`
        fork.config.views.every_ms = every_ms
        draft = Draft(type=event.type, data=event.data, actor=event.actor)
        start = time.perf_counter()
        try:
            fork.append_history([draft])
        except JournalError:
            refused += 1  # What it followed was refused, or its rules are newer than it is.
            continue
        if number >= cold:
            took[way].append(time.perf_counter() - start)
    return {way: summed_up(way, found) for way, found in took.items() if found}, refused


def split_append(ways: dict[str, Timed]) -> Breakdown | None:
    """Return where the time of a durable append with its view goes; None if not all were timed."""
    if ways.keys() != _WAYS.keys():
        return None
    line = ways[LINE].median_ms
    sync = max(ways[SYNC].median_ms - line, 0.0)
    shares = [
        Share(name="line", ms=line),
        Share(name="fsync", ms=sync),
        Share(name="view", ms=max(ways[BOTH].median_ms - line - sync, 0.0)),
    ]
    return Breakdown(name="a durable append that writes its view", unit="ms", shares=shares)
