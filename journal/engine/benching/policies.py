"""What another snapshot policy would cost, found without writing its snapshots into the journal.

I1  Where a policy would have taken snapshots follows from sizes alone (`snapshots.policy`): the
    log's, and the state's, which is weighed at some places and taken as growing evenly between.
I2  The times are measured: the state at the snapshot before a random place is written as a
    snapshot to a private folder, and the state at the place is had from there.
"""

import itertools
import random
import statistics
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from journal import codec, unfit
from journal.config import SnapshotsConfig
from journal.engine.benching.report import PolicyCost
from journal.engine.benching.timing import SEED
from journal.engine.core import Core
from journal.engine.states import Live, States
from journal.errors import UsageError
from journal.event import EARLIEST_TIME
from snapshots import retention, snapshot
from snapshots.store import Store

RATIOS = (1.0, 2.0, 4.0, 8.0, 16.0)
_WEIGHED = 64
_PLACES = 40
_MOST_S = 3.0
Progress = Callable[[int, int], None]


class Point(NamedTuple):
    """The log's bytes up to a seq, and the state's there."""

    seq: int
    log_bytes: int
    state_bytes: int


def weigh(core: Core, state_at: Callable[[int], object]) -> list[Point]:
    """Return points along the history, the first before it and the last at its end."""
    last = core.history.tail.seq
    total = core.history.bytes_after(0)
    seqs = sorted({last * number // _WEIGHED for number in range(_WEIGHED + 1)})
    return [
        Point(seq, total - core.history.bytes_after(seq), len(codec.encode_state(state_at(seq))))
        for seq in seqs
    ]


def place_snapshots(points: Sequence[Point], config: SnapshotsConfig) -> list[tuple[int, int]]:
    """Return (seq, bytes) of every snapshot that a policy keeps (I1)."""
    taken: list[tuple[int, int]] = []
    since, newest = 0, 0
    for before, after in itertools.pairwise(points):
        grown = after.log_bytes - before.log_bytes
        while grown > 0:
            due = since + max(config.min_bytes, config.log_ratio * newest)
            if due >= after.log_bytes:
                break
            part = (due - before.log_bytes) / grown
            seq = before.seq + round(part * (after.seq - before.seq))
            newest = round(before.state_bytes + part * (after.state_bytes - before.state_bytes))
            since = max(round(due), since + 1)
            if not taken or seq > taken[-1][0]:
                taken.append((seq, newest))
    thinned = set(retention.thin([seq for seq, _ in taken], config.keep))
    return [(seq, size) for seq, size in taken if seq not in thinned]


def compare(
    core: Core,
    points: Sequence[Point],
    folder: Path,
    further: Sequence[Mapping[str, object]] = (),
    progress: Progress | None = None,
) -> list[PolicyCost]:
    """Measure policies: the journal's own, the same with other ratios, and `further` ones.

    Each of those names what differs from the journal's own; raises `UsageError` for what
    `journal.yaml` would not take either.
    """
    own = core.config.snapshots
    ratios = sorted({*RATIOS, own.log_ratio})
    asked: list[Mapping[str, object]] = [{"log_ratio": ratio} for ratio in ratios]
    asked += further
    configs = [change_snapshots(own, changes) for changes in asked]
    found: list[PolicyCost] = []
    for number, config in enumerate(configs, 1):
        found.append(_measure(core, points, config, folder / f"{number}", config == own))
        if progress is not None:
            progress(number, len(configs))
    return found


def change_snapshots(own: SnapshotsConfig, changes: Mapping[str, object]) -> SnapshotsConfig:
    """Return a policy with some settings changed; raises `UsageError` for what is none."""
    known = msgspec.structs.asdict(own)
    for key in changes:
        if key not in known:
            raise UsageError(
                f"{key!r} is no setting of snapshots",
                key="snapshots",
                advice=f"Known are {', '.join(known)}, as in log_ratio=8,keep=100.",
            )
    try:
        found = msgspec.convert({**known, **changes}, SnapshotsConfig)
    except msgspec.ValidationError as error:
        raise UsageError(f"snapshots: {unfit.say(error)}", key="snapshots") from error
    if found.log_ratio <= 0 or found.min_bytes < 0 or found.keep < 1:
        raise UsageError(
            "snapshots: log_ratio is above 0, min_bytes 0 or more, keep 1 or more",
            key="snapshots",
        )
    return found


def _measure(
    core: Core, points: Sequence[Point], config: SnapshotsConfig, folder: Path, is_own: bool
) -> PolicyCost:
    snapshots = place_snapshots(points, config)
    seqs = [seq for seq, _ in snapshots]
    last = points[-1]
    store = Store(folder, lambda _: None)
    rng = random.Random(SEED)
    took: list[float] = []
    deadline = time.monotonic() + _MOST_S
    while len(took) < _PLACES and (not took or time.monotonic() < deadline):
        place = rng.randint(1, last.seq)
        took.append(_time_from(core, store, _before(seqs, place), place))
    took.sort()
    newest = min(_time_from(core, store, _before(seqs, last.seq), last.seq) for _ in range(3))
    size_bytes = sum(size for _, size in snapshots)
    return PolicyCost(
        log_ratio=config.log_ratio,
        min_bytes=config.min_bytes,
        keep=config.keep,
        is_own=is_own,
        every=last.seq // (len(seqs) + 1) if seqs else last.seq,
        snapshots=len(seqs),
        size_bytes=size_bytes,
        of_log=size_bytes / max(last.log_bytes, 1),
        state_at_p50_ms=statistics.median(took) * 1000,
        state_at_p99_ms=took[min(int(len(took) * 0.99), len(took) - 1)] * 1000,
        newest_ms=newest * 1000,
    )


def _before(seqs: Sequence[int], place: int) -> int:
    number = bisect_right(seqs, place)
    return seqs[number - 1] if number else 0


def _time_from(core: Core, store: Store, seq: int, place: int) -> float:
    """Return how long the state at `place` takes from a snapshot at `seq` (I2)."""
    states = States(core.projection, store)
    if seq:
        _write(core, store, core.states.at(core.history, seq))
    start = time.perf_counter()
    states.at(core.history, place)
    took = time.perf_counter() - start
    store.remove(*(entry.name for entry in store.list()))
    return took


def _write(core: Core, store: Store, live: Live) -> None:
    data = snapshot.encode(
        type=snapshot.AUTO,
        timestamp=live.time or EARLIEST_TIME,
        trigger="",
        seq=live.seq,
        projection=core.projection.name,
        revision=core.projection.revision,
        state_bytes=codec.encode_state(live.state),
        extra={"unknown": live.unknown} if live.unknown else None,
    )
    store.write(data, lasting=False)
