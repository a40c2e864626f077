"""What a start has to keep: the lock of the name, and who else runs under it.

I1  `init` and `resume` look for other runs of the name under the lock `{P}/.lock`, so that of two
    starts at the same time one sees the other. They look once before, too, so that a refusal
    leaves nothing behind, not even the lock file.
I2  A live run refuses every start. A crashed one, and one that cannot be read, must be settled
    before a new run begins.
I3  The lock is the kernel's: a killed holder leaves none, and the file it is on is never removed.
"""

import contextlib
import uuid
from collections.abc import Generator
from typing import Any

from journal import locks
from journal.errors import UsageError
from journal.event import Clock
from projections.pipeline_state import commands, inputs, places, resuming, standing
from projections.pipeline_state.events import RunInitialized
from projections.pipeline_state.places import Place


def prepare(
    name: str,
    *,
    pattern: str,
    phases: Any,
    tier: str,
    profile: Any,
    root: str | None,
    layout: str,
    run_id: str | None,
    pipeline_id: str | None,
    plugin_version: str | None,
    manifest: str | None,
) -> tuple[Place, RunInitialized]:
    """Return where a new run will lie and its first event; raises `UsageError`, `OSError`."""
    places.check_name(name)
    inputs.check_profile(profile)
    base, scope_root_dir = places.choose_root(root, layout, inputs.workspace_root(profile))
    event = commands.initialize(
        pipeline_id=pipeline_id or str(uuid.uuid4()),
        name=name,
        run_id=run_id or str(uuid.uuid4()),
        plugin_version=inputs.read_version(
            version=plugin_version, manifest=manifest, profile=profile
        ),
        scope_root_dir=scope_root_dir,
        pattern=pattern,
        phases=phases,
        tier=tier,
        profile=profile,
    )
    kind: places.Layout = "legacy" if layout == "legacy" else "data"
    return places.place_of(places.run_file(base, kind, name, event.run_id)), event


@contextlib.contextmanager
def holding(place: Place, timeout_s: float) -> Generator[None]:
    """Hold the start lock of a run's name; raises `Locked` after `timeout_s` seconds."""
    with locks.FileLock(place.lock) as lock, lock.held(timeout_s):
        yield


def refuse_new(place: Place, clock: Clock) -> None:
    """Raise where a new run of the name may not begin (I2)."""
    if places.is_run(place.file):
        raise UsageError(
            f"there is a run here already: {place.file}",
            key="run_id",
            advice="Give another run id, or none; `journal pipeline resume` continues that run.",
        )
    for other in _others(place, clock):
        run = _name(other)
        _refuse_live(other)
        if other.condition == "crashed":
            raise UsageError(
                f"{run} crashed, and is not settled",
                key="pipeline_name",
                advice=f"Settle it first: journal pipeline resume {other.place.file} --choose "
                "resume|restart|abort",
            )
        if other.condition == "damaged":
            raise UsageError(
                f"{run} cannot be read, so nobody knows whether it is live: {other.problem}",
                key="pipeline_name",
                advice="Corruption detected: a person has to look at it, mend its file or move its "
                "folder away.",
            )


def refuse_live_others(place: Place, clock: Clock) -> None:
    """Raise `UsageError` where another run of the name is live (I2)."""
    for other in _others(place, clock):
        _refuse_live(other)


def _others(place: Place, clock: Clock) -> list[standing.Standing]:
    # An unfinished `init` is passed over: whoever it was held the lock that we hold, so it is gone.
    folder = place.file.parent.parent
    return [standing.look(run, clock) for run in places.runs_in(folder) if run.file != place.file]


def _refuse_live(other: standing.Standing) -> None:
    if other.condition == "live" and other.facts is not None:
        raise resuming.refuse_live(other.facts, _name(other))


def _name(other: standing.Standing) -> str:
    return f"run {other.place.file.parent.name}"
