"""The runs under a root, and the status of one: reports for people and for programs.

I1  `list_runs` changes nothing and never fails for one run's sake: a damaged one is listed so.
I2  `read_status` reads; only where the state file is not as the log has it does it open the run as
    any verb would, so that the file is rebuilt, adopted, or refused as `Drift`.
"""

from typing import Any

import msgspec

from journal.event import Clock, now_ms
from projections.pipeline_state import places, resuming, schema, standing
from projections.pipeline_state.run import Options, PipelineRun
from projections.pipeline_state.standing import Standing


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a list.

    `status` is the state's own, empty where it cannot be had. `condition`: live, crashed,
    completed, escalated, failed, damaged, unfinished. `age_ms` since the run was last heard of.
    `looks_complete`: every phase is done, but nobody completed the run.
    """

    name: str
    run_id: str
    status: str
    condition: str
    age_ms: int | None
    current_phase: int | None
    phases_done: int
    phases: int
    looks_complete: bool
    problem: str
    file: str


class RunStatus(RunReport, frozen=True, kw_only=True):
    """One run in full; `moved` and `renamed` say where its folders differ from its state.

    `damaged`: how its file was found, until somebody resumes it; `next`: what to do.
    """

    layout: str
    root: str
    moved: str
    renamed: str
    since: str
    damaged: str
    taken_over: bool
    next: str
    state: Any


def list_runs(root: str | None = None, *, clock: Clock = now_ms) -> list[RunReport]:
    """Return every run under a root, in both layouts, by name and run id."""
    found = [run for _, folder in places.name_folders(root) for run in places.runs_in(folder)]
    return [report(standing.look(run, clock)) for run in found]


def read_status(
    run: str,
    *,
    root: str | None = None,
    options: Options = Options(),  # noqa: B008 - frozen, and never changed
) -> RunStatus:
    """Return the status of a run; raises as `PipelineRun.open` where it cannot be read."""
    place = places.find(run, root)
    found = standing.look(place, options.clock)
    if found.file_differs or found.condition in ("damaged", "unfinished"):
        PipelineRun.open(str(place.file), options=options).close()
        found = standing.look(place, options.clock)
    return _describe(found)


def report(found: Standing) -> RunReport:
    """Return the report of a run as it stands."""
    state = found.state if schema.is_object(found.state) else {}
    phases = state.get("phases", [])
    done = sum(phase["status"] == "done" for phase in phases)
    return RunReport(
        name=state.get("pipeline_name", found.place.file.parent.parent.name),
        run_id=state.get("run_id", found.place.file.parent.name),
        status=state.get("status", ""),
        condition=found.condition,
        age_ms=None if found.facts is None else found.facts.age_ms,
        current_phase=state.get("current_phase"),
        phases_done=done,
        phases=len(phases),
        looks_complete=found.condition in ("live", "crashed") and 0 < len(phases) == done,
        problem=found.problem,
        file=str(found.place.file),
    )


def _describe(found: Standing) -> RunStatus:
    state = found.state if schema.is_object(found.state) else {}
    place, known = found.place, found.facts
    moved = places.say_moved(place, state) if state else ""
    return RunStatus(
        **msgspec.structs.asdict(report(found)),
        layout=place.layout,
        root=str(place.root),
        moved=moved,
        renamed=places.say_renamed(place, state) if state else "",
        since=known.since if known else "",
        damaged=known.damaged if known else "",
        taken_over=place.is_taken_over,
        next=_say_next(found, moved),
        state=found.state,
    )


def _say_next(found: Standing, moved: str) -> str:
    if found.condition == "completed":
        return "nothing: the run is completed"
    if found.condition == "live":
        return _say_next_phase(found.state)
    if moved:
        return "move the run back under its root; until then it is not resumed"
    confirm = " --confirm, once a person has looked at it"
    if found.condition == "crashed":
        ways = "|".join(resuming.CHOICES)
        damaged = found.facts is not None and found.facts.damaged
        return f"resume --choose {ways}" + (confirm if damaged else "")
    return f"resume{confirm}"


def _say_next_phase(state: Any) -> str:
    for status, words in (("failed", "retry-phase"), ("running", "done"), ("pending", "start")):
        for phase in state["phases"]:
            if phase["status"] == status:
                return f"{words} {phase['index']} ({phase['name']})"
    return "complete: every phase is done"
