"""`bench`: everything that is measured on one journal, in order, and the private place for it."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

import msgspec

from journal import codec
from journal.engine.benching import making, policies, timing
from journal.engine.benching.report import Benched, Breakdown, Timed
from journal.engine.core import Core
from journal.engine.engine import Engine
from journal.engine.opening import open_journal
from journal.errors import UsageError
from projections.projection import Projection

Progress = Callable[[int, int], None]
Stage = Callable[[str], Progress]
"""(what is done next) -> the progress of it."""

FEWEST = 2
_BUSY = 0.7


def bench(
    path: str | Path,
    *,
    projection: Projection | None = None,
    snapshots: Sequence[Mapping[str, object]] = (),
    stage: Stage | None = None,
) -> Benched:
    """Measure the journal in the folder `path`, which is only read.

    What writes works on a fork beside it, on the same disk, which is removed at the end (in the
    system's folder for temporary files where nothing can be made beside it). `snapshots` are
    policies to compare with the journal's own, as what differs: `{"keep": 10}`. Raises as opening
    and reading do: a damaged journal has to be mended first.
    """
    return _bench(Path(path), projection, snapshots, stage or _quiet, made_up=False)


def bench_made_up(
    events: int,
    *,
    folder: str | Path | None = None,
    snapshots: Sequence[Mapping[str, object]] = (),
    stage: Stage | None = None,
) -> Benched:
    """Measure a journal of so many events that is made up, in a private folder in `folder`.

    That is the working directory, if it is not given: its disk is measured, too. Raises
    `UsageError` for fewer than two events.
    """
    if events < FEWEST:
        raise UsageError(f"a journal of {events} events shows nothing; {FEWEST} are the least")
    stage = stage or _quiet
    notes: list[str] = []
    with _beside(Path(folder or Path.cwd()) / "journal", notes) as place:
        making.make(place / "journal", events, stage("making a journal"))
        found = _bench(place / "journal", None, snapshots, stage, made_up=True)
        return msgspec.structs.replace(found, notes=notes + found.notes)


def _quiet(_: str) -> Progress:
    return lambda _done, _total: None


def _bench(
    path: Path,
    projection: Projection | None,
    snapshots: Sequence[Mapping[str, object]],
    stage: Stage,
    *,
    made_up: bool,
) -> Benched:
    notes: list[str] = _busy()
    with open_journal(path, projection=projection, read_only=True) as engine:
        core = engine._core  # pyright: ignore[reportPrivateUsage]
        for changes in snapshots:  # before anything is measured
            policies.change_snapshots(core.config.snapshots, changes)
        reads, apart = _reads(engine, core, projection, stage, notes)
        with _beside(path, notes) as place:
            writes, split, appended = _writes(engine, place, stage, notes)
            weighing = stage("weighing the state")
            points = policies.weigh(core, engine.state_at)
            weighing(1, 1)
            comparing = stage("other policies")
            costs = policies.compare(core, points, place / "snapshots", snapshots, comparing)
        return Benched(
            path=str(path),
            projection=core.config.projection,
            events=engine.seq,
            log_bytes=core.history.bytes_after(0),
            state_bytes=len(codec.encode_state(engine.state)),
            durability=core.config.durability,
            views_every_ms=core.config.views.every_ms,
            made_up=made_up,
            timed=[*reads, *writes],
            breakdowns=[apart, *([split] if split else [])],
            policies=costs,
            appended=appended,
            notes=notes,
        )


def _busy() -> list[str]:
    """Say so where others are at work: a sync then waits for the processor, not for the disk."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load < cores * _BUSY:
        return []
    return [f"the machine was busy (load {load:.1f} on {cores} cores): times are longer than idle"]


@contextlib.contextmanager
def _beside(path: Path, notes: list[str]) -> Generator[Path]:
    """Give a private folder on the journal's disk, and remove it."""
    with contextlib.ExitStack() as stack:
        try:
            name = stack.enter_context(
                tempfile.TemporaryDirectory(prefix=".bench-", dir=path.absolute().parent)
            )
        except OSError as error:
            name = stack.enter_context(tempfile.TemporaryDirectory(prefix="journal-bench-"))
            notes.append(f"appends were measured in {name}, not beside the journal: {error}")
        yield Path(name)


def _reads(
    engine: Engine, core: Core, projection: Projection | None, stage: Stage, notes: list[str]
) -> tuple[list[Timed], Breakdown]:
    count = engine.seq

    def open_cold() -> None:
        with open_journal(engine.path, projection=projection, read_only=True) as other:
            _ = other.state

    def verify() -> None:
        said = "`journal verify` finds problems in this journal"
        if not engine.verify(progress=stage("verifying")).ok and said not in notes:
            notes.append(said)

    replay = timing.repeat("replay", lambda: engine.replay(stage("replaying")), per=count)
    verified = timing.repeat("verify", verify, per=count)
    opened = timing.repeat("cold open", open_cold)
    travel = timing.time_travel(engine)
    apart = timing.take_apart(core, stage("taking a replay apart"))
    return [replay, verified, opened, travel], apart


def _writes(
    engine: Engine, place: Path, stage: Stage, notes: list[str]
) -> tuple[list[Timed], Breakdown | None, int]:
    """Append the newest events again to a fork that ends before them, then rebuild it."""
    events = timing.last_events(engine)
    at = events[0].seq - 1 if events else engine.seq
    folder = place / "fork"
    engine.fork(folder, at=at, progress=stage("forking"))
    with open_journal(folder, projection=engine.projection, on_drift="replace") as fork:
        ways, refused = timing.append_again(fork, events)
        fork.config.durability = "os"
        rebuilt = timing.repeat("rebuild", lambda: fork.rebuild(stage("rebuilding")), per=fork.seq)
    if refused:
        notes.append(f"{refused} of {len(events)} events were refused when appended again")
    names = {
        timing.BOTH: "durable append that writes its view",
        timing.SYNC: "durable append",
        timing.VIEW: "append that writes its view, not synced",
        timing.LINE: "append, not synced",
    }
    writes = [
        msgspec.structs.replace(ways[way], name=name) for way, name in names.items() if way in ways
    ]
    return [rebuilt, *writes], timing.split_append(ways), len(events)
