"""plan.yaml: what a planner writes, read strictly and judged as a whole.

    plan_id: plan-20260301-144500
    feature: Add search API
    created_at: 2026-03-01T14:45:00Z
    updated_at: 2026-03-01T14:45:00Z
    status: approved
    pre_mortem: {overall_risk_level: low, critical_failure_modes: [slow], assumptions: [none]}
    tasks:
      - {id: task-001, title: Index, description: "", depends_on: [], failure_modes: [],
         acceptance_criteria: [it is built], estimated_effort: small}
    dag_edges: []          # [a, b]: b depends on a
    critique_history: []

I1  All faults are found at once, each with its line: `PlanError`. So is what is no YAML.
I2  Where text is due a number or date stays the text that was written (`1.10`).
I3  What may be left out is filled in with a warning; unknown keys are kept, and one that looks
    like a slip of the pen is warned of.
I4  `depends_on` rules; edges that say something else are a warning that lists them.
"""

import difflib
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from journal import codec
from journal.errors import Corrupt
from journal.event import parse_time
from projections.agloop import shape
from projections.agloop.graph import find_cycles
from projections.agloop.plan_error import PlanError, PlanFault
from projections.agloop.schema import FAILURE_MODE, TASK_ID
from projections.agloop.shape import ANY, TEXT, ListOf, Members, is_list, is_object
from projections.foreign import Reading, read_yaml

Json = dict[str, Any]

STATUSES = ("draft", "under_review", "approved", "in_progress", "completed")
RISKS = ("low", "medium", "high", "critical")
EFFORTS = ("small", "medium", "large")


def _is_plan_id(value: Any) -> bool:
    if not isinstance(value, str) or not re.fullmatch(r"plan-[0-9]{8}-[0-9]{6}", value):
        return False
    try:
        datetime.strptime(f"{value[5:]}+0000", "%Y%m%d-%H%M%S%z")
    except ValueError:
        return False
    return True


def _is_edge(value: Any) -> bool:
    return is_list(value) and len(value) == 2 and all(isinstance(end, str) for end in value)


_FILLED = shape.filled_text()
_TASK = Members(
    {
        "id": TASK_ID,
        "depends_on": ListOf(TEXT),
        "acceptance_criteria": ListOf(_FILLED, at_least=1),
        "estimated_effort": shape.one_of(*EFFORTS),
    },
    {"title": TEXT, "description": TEXT, "failure_modes": ListOf(FAILURE_MODE)},
)
_PLAN = Members(
    {
        "plan_id": shape.Is("plan-YYYYMMDD-HHmmss, such as plan-20260301-144500", _is_plan_id),
        "feature": _FILLED,
        "created_at": shape.time(),
        "updated_at": shape.time(),
        "status": shape.one_of(*STATUSES),
        "pre_mortem": Members(
            {
                "overall_risk_level": shape.one_of(*RISKS),
                "critical_failure_modes": ListOf(ANY, at_least=1),
                "assumptions": ListOf(ANY, at_least=1),
            }
        ),
        "tasks": ListOf(_TASK, at_least=1),
        "dag_edges": ListOf(
            shape.Is("an edge [from_id, to_id]", _is_edge),
        ),
        "critique_history": ListOf(ANY),
    }
)
_TASK_DEFAULTS = ("title", "description", "failure_modes")
_TEXT_KEYS = frozenset(("plan_id", "feature", "created_at", "updated_at", "status"))
_TASK_TEXTS = frozenset(("id", "title", "description", "estimated_effort"))
_TASK_TEXT_LISTS = frozenset(("depends_on", "acceptance_criteria"))
_MOST_EDGES = 10
_MOST_NAMES = 200
_MOST_GUESSES = 20


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan that may be adopted.

    `text` is the file's, `tasks` as the state keeps them but for what the loop knows of them;
    `warnings` are whole sentences with path and line. `lines` says where each task stands.
    """

    path: str
    sha256: str
    text: str
    plan_id: str
    status: str
    tasks: list[Json]
    warnings: list[str]
    lines: dict[str, int]


def read_plan(data: bytes, path: str | os.PathLike[str]) -> Plan:
    """Read and judge the bytes of a plan.yaml; raises `PlanError` (I1)."""
    try:
        reading = read_yaml(
            data,
            path=path,
            require_mapping=True,
            text_at=_is_text,
            positions=True,
            lint=True,
        )
    except Corrupt as error:
        raise PlanError(path, [PlanFault(error.line, error.why)]) from error
    faults = list(_find_faults(reading))
    if faults:
        raise PlanError(path, faults)
    value: Json = reading.value
    judge = _Judge(os.fspath(path), reading)
    tasks = [judge.task(index, task) for index, task in enumerate(value["tasks"])]
    judge.edges(value["dag_edges"], tasks)
    judge.unknown_keys()
    return Plan(
        path=os.fspath(path),
        sha256=codec.sha256(data),
        text=data.decode(),
        plan_id=value["plan_id"],
        status=value["status"],
        tasks=tasks,
        warnings=[*reading.warnings, *judge.warnings],
        lines={task["id"]: judge.line(f"/tasks/{n}") or 1 for n, task in enumerate(tasks)},
    )


def _is_text(tokens: Sequence[str]) -> bool:
    """Say whether the table has text where an unquoted number or boolean stands (I2)."""
    match tokens:
        case [key]:
            return key in _TEXT_KEYS
        case ["pre_mortem", "overall_risk_level"]:
            return True
        case ["tasks", _, key]:
            return key in _TASK_TEXTS
        case ["tasks", _, key, _]:
            return key in _TASK_TEXT_LISTS
        case ["dag_edges", _, _]:
            return True
        case _:
            return False


# --- faults --------------------------------------------------------------------------------------


def _find_faults(reading: Reading) -> Iterator[PlanFault]:
    def at(pointer: str) -> int | None:
        mark = reading.mark(pointer)
        return None if mark is None else mark.line

    value: Json = reading.value
    for fault in _PLAN.faults(value) if not _PLAN.fits(value) else ():
        yield PlanFault(at(fault.pointer), fault.why)
    created, updated = value.get("created_at"), value.get("updated_at")
    timed = shape.is_time(created) and shape.is_time(updated)
    if timed and parse_time(str(updated)) < parse_time(str(created)):
        why = f"updated_at is {updated}; allowed: created_at ({created}) or later"
        yield PlanFault(at("/updated_at"), why)
    tasks = value.get("tasks")
    if is_list(tasks):
        ids = {task["id"]: None for task in tasks if _has_id(task)}
        guess = _Guess(ids, cutoff=0.6)
        for pointer, why in _find_task_faults(tasks, guess):
            yield PlanFault(at(pointer), why)
        edges = value.get("dag_edges")
        for index, edge in enumerate(edges if is_list(edges) else ()):
            for end in edge if _is_edge(edge) else ():
                if end not in ids:
                    why = f"dag_edges[{index}] names {end!r}, which is no task{guess(end)}"
                    yield PlanFault(at(f"/dag_edges/{index}"), why)


def _has_id(task: Any) -> bool:
    return is_object(task) and isinstance(task.get("id"), str)


def _find_task_faults(tasks: list[Any], guess: "_Guess") -> Iterator[tuple[str, str]]:
    """Yield what is wrong between tasks: ids, dependencies, cycles; each with its pointer."""
    places: dict[str, int] = {}
    for index, task in enumerate(tasks):
        if not _has_id(task):
            continue
        if task["id"] in places:
            first = places[task["id"]]
            why = f"tasks[{index}].id is {task['id']!r}, as of tasks[{first}]; ids are unique"
            yield f"/tasks/{index}/id", why
        places.setdefault(task["id"], index)
    needs: dict[str, list[str]] = {}
    for task_id, index in places.items():
        depends_on = tasks[index].get("depends_on")
        listed = depends_on if is_list(depends_on) else []
        known: list[str] = []
        for place, needed in enumerate(listed):
            pointer = f"/tasks/{index}/depends_on/{place}"
            if needed == task_id:
                yield pointer, f"{task_id} depends on itself"
            elif isinstance(needed, str) and needed not in places:
                why = f"{task_id} depends on {needed!r}, which is no task{guess(needed)}"
                yield pointer, why
            elif isinstance(needed, str):
                known.append(needed)
        needs[task_id] = known
    for cycle in find_cycles(needs):
        way = " → ".join([*cycle, cycle[0]])
        yield f"/tasks/{places[cycle[0]]}", f"tasks depend on each other in a circle: {way}"


class _Guess:
    """Guesses at what was meant by a name that is not known.

    Only among so many names and only so often: messages hold no more, and it takes time.
    """

    def __init__(self, known: Iterable[str], *, cutoff: float) -> None:
        self._known = list(itertools.islice(known, _MOST_NAMES))
        self._cutoff = cutoff
        self._left = _MOST_GUESSES

    def __call__(self, name: str) -> str:
        """Return words for a message, empty where nothing is near."""
        self._left -= 1
        if self._left < 0:
            return ""
        found = difflib.get_close_matches(name, self._known, n=1, cutoff=self._cutoff)
        return f"; did you mean {found[0]!r}?" if found else ""


# --- what is no fault ----------------------------------------------------------------------------


class _Judge:
    """Makes the tasks of a plan without faults, and the warnings about it (I3, I4)."""

    def __init__(self, path: str, reading: Reading) -> None:
        self._path = path
        self._reading = reading
        self.warnings: list[str] = []

    def line(self, pointer: str) -> int | None:
        """Return the line of a value."""
        mark = self._reading.mark(pointer)
        return None if mark is None else mark.line

    def _warn(self, pointer: str, why: str) -> None:
        line = self.line(pointer)
        self.warnings.append(f"{self._path}{'' if line is None else f', line {line}'}: {why}")

    def task(self, index: int, task: Json) -> Json:
        """Return a task as the state keeps it: texts first, then the members it alone has."""
        task_id = task["id"]
        defaults: Json = {"title": task_id, "description": "", "failure_modes": []}
        for name in _TASK_DEFAULTS:
            if name not in task:
                shown = shape.show(defaults[name])
                self._warn(f"/tasks/{index}", f"{task_id} has no {name}; it reads as {shown}")
        depends_on = list(dict.fromkeys(task["depends_on"]))
        if len(depends_on) < len(task["depends_on"]):
            self._warn(f"/tasks/{index}/depends_on", f"{task_id} names a dependency twice")
        return {
            **task,
            **{n: task.get(n, defaults[n]) for n in _TASK_DEFAULTS},
            "depends_on": depends_on,
        }

    def edges(self, edges: list[list[str]], tasks: list[Json]) -> None:
        """Warn where the edges are not what `depends_on` says (I4)."""
        drawn = {(edge[0], edge[1]) for edge in edges}
        meant = {(needed, task["id"]) for task in tasks for needed in task["depends_on"]}
        for found, what in (
            (meant - drawn, "not among dag_edges, but in depends_on"),
            (drawn - meant, "among dag_edges, but not in depends_on"),
        ):
            if found:
                listed = ", ".join(f"[{a}, {b}]" for a, b in sorted(found)[:_MOST_EDGES])
                more = f" … ({len(found)})" if len(found) > _MOST_EDGES else ""
                self._warn("/dag_edges", f"{what}, which rules: {listed}{more}")

    def unknown_keys(self) -> None:
        """Warn of keys that are close to one that is known."""
        value: Json = self._reading.value
        self._unknown("", value, _PLAN)
        for index, task in enumerate(value["tasks"]):
            self._unknown(f"/tasks/{index}", task, _TASK)

    def _unknown(self, pointer: str, members: Json, known: Members) -> None:
        names = [*known.needed, *known.optional]
        guess = _Guess(names, cutoff=0.75)
        for name in members:
            if name not in names and (near := guess(name)):
                self._warn(f"{pointer}/{name}", f"{name!r} is not a key of the plan's{near}")
