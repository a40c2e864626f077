"""Every plan of a folder at a glance: where it stands, how long nobody wrote, what was given up.

    the first that fits                                                    class
    completion_state is shipped, aborted or abandoned                      that
    phase is aborted                                                       aborted
    phase is done, shipped or complete                                     shipped
    phase is 7a, 7b or 7c and idle over 7 days, or 6 and over 14           stalled-7+
    phase is 0 to 5 or 3b, and idle over 14 days                           abandoned-candidate
    phase is 1 of iteration 1                                              phase-1-stub
    anything else                                                          active

I1  Idle counts from `last_active_at`, else from `last_update_at`; a time without zone is UTC.
    Where neither can be read nothing is idle.
I2  Only an abandoned-candidate is marked, and never one without `last_active_at`: it is unknown.
I3  Files are read as they stand, journal or not, and none is touched by looking. A damaged one is
    listed with its reason, and never stops the rest.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from journal import regular
from journal.errors import JournalError, UsageError
from journal.event import Clock, now_ms, parse_time, time_to_ms
from projections.loop_plan import events as e
from projections.loop_plan.old_file import parse_file, read_old_state
from projections.loop_plan.places import SUFFIX, folder_of
from projections.loop_plan.resuming import last_action
from projections.loop_plan.rules import is_list, is_record, is_time
from projections.loop_plan.states import Json

CANDIDATE = "abandoned-candidate"
STALLED = "stalled-7+"

_STALL = re.compile(
    r"\bstall|\btime[ds]?[ -]?out|\bhung\b|\bhangs?\b|\bno (answer|response)\b", re.IGNORECASE
)
_DAY_MS = 24 * 60 * 60 * 1000
_LATE = ("7a", "7b", "7c")
_EARLY = ("0", "1", "2", "3", "3b", "4", "5")
_ENDED = ("shipped", "aborted", "abandoned")
_SHIPPED = ("done", "shipped", "complete")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A plan in an audit; `idle_days` is null, and `idle_from` empty, where no time can be read.

    `unknown`: it has no `last_active_at`, so it is never marked (I2). `gaps`: how many gaps were
    acknowledged, `stalls`: how many of them are of an agent that stalled.
    """

    slug: str
    kind: str = msgspec.field(name="class")
    phase: str
    iteration: int | None
    completion_state: str
    idle_days: float | None
    idle_from: str
    unknown: bool
    last_action: str
    gaps: int
    stalls: int


class Damaged(msgspec.Struct, frozen=True):
    """A state file that cannot be read, and why."""

    file: str
    why: str


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What an audit found; `gaps` counts the acknowledged gaps of all plans by phase.

    `stalls` counts those of them whose reason says that an agent stalled.
    """

    folder: str
    plans: list[Entry]
    damaged: list[Damaged]
    gaps: dict[str, int]
    stalls: dict[str, int]


class Marked(msgspec.Struct, kw_only=True):
    """What marking did: `unknown` lists the candidates without `last_active_at`."""

    marked: list[str] = []
    unknown: list[str] = []
    refused: list[Damaged] = []


def audit(plans_dir: str | Path | None = None, *, clock: Clock = now_ms) -> Audit:
    """Look at every plan of the folder (I3). Raises `JournalError` where there is no folder."""
    folder, now = folder_of(plans_dir), clock()
    plans: list[Entry] = []
    damaged: list[Damaged] = []
    gaps: Counter[str] = Counter()
    stalls: Counter[str] = Counter()
    for slug, state in read_plans(folder):
        if isinstance(state, Damaged):
            damaged.append(state)
            continue
        plans.append(_describe(slug, state, now))
        for gap in _gaps(state):
            phase = str(gap.get("phase", "?"))
            gaps[phase] += 1
            stalls[phase] += _is_stall(gap)
    return Audit(
        folder=str(folder), plans=plans, damaged=damaged, gaps=dict(gaps), stalls=dict(+stalls)
    )


def read_plans(folder: Path) -> Iterator[tuple[str, Json | Damaged]]:
    """Yield every plan of the folder by name: its slug, and its state or why there is none."""
    if not folder.is_dir():
        raise JournalError(
            f"{folder}: there is no such folder, so there are no plans",
            advice="Name the folder of the plans with --plans-dir.",
        )
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        slug = path.name.removesuffix(SUFFIX)
        try:
            state = parse_file(regular.read_file(os.path.realpath(path)), path)
            _check(state, slug, path)
            yield slug, state
        except JournalError as error:
            why = error.message.removeprefix(f"{path}").lstrip(":, ")
            yield slug, Damaged(path.name, why)
        except OSError as error:
            yield slug, Damaged(path.name, error.strerror or str(error))


def _check(state: Json, slug: str, path: Path) -> None:
    """Raise `BrokenField` for a state that no command would take up, so that no class fits it."""
    # Other tools end a plan in phases of their own, and the table has a row for them.
    known = state | ({"current_phase": "done"} if state.get("current_phase") in _SHIPPED else {})
    read_old_state(known, slug, path)


def classify(state: Json, now_ms: int) -> str:
    """Return the class of a plan; the first row of the table that fits."""
    phase, ended = state.get("current_phase"), state.get("completion_state")
    idle = (find_idle(state, now_ms)[0] or 0) / _DAY_MS
    if ended in _ENDED:
        return str(ended)
    if phase == "aborted":
        return "aborted"
    if phase in _SHIPPED:
        return "shipped"
    if (phase in _LATE and idle > 7) or (phase == "6" and idle > 14):
        return STALLED
    if phase in _EARLY and idle > 14:
        return CANDIDATE
    if phase == "1" and state.get("iteration") == 1:
        return "phase-1-stub"
    return "active"


def find_idle(state: Json, now_ms: int) -> tuple[int | None, str]:
    """Return for how many milliseconds nobody wrote, and by which field (I1)."""
    for name in ("last_active_at", "last_update_at"):
        if is_time(state.get(name)):
            return max(0, now_ms - time_to_ms(parse_time(state[name]))), name
    return None, ""


def _describe(slug: str, state: Json, now: int) -> Entry:
    idle_ms, idle_from = find_idle(state, now)
    iteration = state.get("iteration")
    history = state.get("loop_gate_history")
    readable = is_list(history) and all(is_record(one) for one in history)
    return Entry(
        slug=slug,
        kind=classify(state, now),
        phase=state["current_phase"],
        iteration=iteration if isinstance(iteration, int) else None,
        completion_state=str(state.get("completion_state") or "active"),
        idle_days=None if idle_ms is None else round(idle_ms / _DAY_MS, 2),
        idle_from=idle_from,
        unknown=idle_from != "last_active_at",
        last_action=last_action(state) if readable else "none yet",
        gaps=len(_gaps(state)),
        stalls=sum(_is_stall(gap) for gap in _gaps(state)),
    )


def _gaps(state: Json) -> list[Json]:
    found: Any = state.get("gap_acknowledged")
    return [gap for gap in found if is_record(gap)] if is_list(found) else []


def _is_stall(gap: Json) -> bool:
    """Say whether the reason of a gap is that an agent stalled; a gap may be anything else."""
    return _STALL.search(str(gap.get("reason", ""))) is not None


# --- marking -------------------------------------------------------------------------------------


def abandon(state: Json, now_ms: int) -> list[msgspec.Struct]:
    """Mark a plan as abandoned (I2); raises `UsageError` for one that is no candidate."""
    kind = classify(state, now_ms)
    idle_ms, idle_from = find_idle(state, now_ms)
    if kind != CANDIDATE or idle_ms is None or idle_from != "last_active_at":
        why = kind if kind != CANDIDATE else "unknown: it has no last_active_at"
        raise UsageError(
            f"plan {state.get('slug')!r} is {why}, so it is not marked as abandoned",
            key="completion_state",
            advice="Allowed: a plan in phases 0 to 5 or 3b whose last_active_at is over 14 days "
            "ago.",
        )
    return [e.Abandoned(idle_days=idle_ms // _DAY_MS)]


def mark_abandoned(found: Audit, abandon_one: Callable[[str], object]) -> Marked:
    """Mark every candidate of an audit; one that is written to meanwhile is refused and listed."""
    result = Marked()
    for entry in found.plans:
        if entry.kind != CANDIDATE:
            continue
        if entry.unknown:
            result.unknown.append(entry.slug)
            continue
        try:
            abandon_one(entry.slug)
            result.marked.append(entry.slug)
        except JournalError as error:
            result.refused.append(Damaged(f"{entry.slug}{SUFFIX}", error.message))
    return result


def suggest_resume(entry: Entry) -> str:
    """Say how a plan is best taken up again."""
    start = f"journal plan resume {entry.slug} --choose"
    match entry.kind:
        case "shipped" | "aborted":
            return f"It has ended ({entry.kind}); to begin it anew: {start} fresh"
        case "phase-1-stub":
            return f"It hardly began; take it up: {start} resume (or restart, fresh)"
        case "abandoned" | "abandoned-candidate":
            return (
                f"Idle for {entry.idle_days} days, so what it found may be out of date: "
                f"{start} restart (or resume, fresh)"
            )
        case _:
            return f"Take it up where it stands, in phase {entry.phase}: {start} resume"
