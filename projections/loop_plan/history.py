"""Commands that add to the lists of a plan, and those that set a part of it whole.

    add   exploration clarification research gap adr test blocker agent
    set   decisions patterns date-filter constitution stages

I1  What is given is read as the data of an event, by name and kind of each member.
I2  An entry gets the plan's iteration (a gap its phase too) and the event's time, where it does
    not say its own.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from journal.errors import UsageError
from projections.loop_plan import events as e
from projections.loop_plan.applying import is_under_way
from projections.loop_plan.given import check_times, read_as, read_entry
from projections.loop_plan.guards import (
    check_filled,
    check_rigor_first,
    check_working,
    phase_of,
)
from projections.loop_plan.rules import is_record, show
from projections.loop_plan.schema import DATE_FILTER, DECISIONS, PATTERNS, PHASES, STAGES, TEST
from projections.loop_plan.states import TEST_TIMES, Json

Events = list[msgspec.Struct]


def add(state: Json, kind: str, value: Any) -> Events:
    """Add an entry of a kind; see this file's docstring."""
    check_working(state)
    return _named(_ADD, kind, "kind")(state, value)


def set_part(state: Json, name: str, value: Any) -> Events:
    """Set a part of the plan whole; see this file's docstring."""
    check_working(state)
    return _named(_SET, name, "part")(state, value)


_Command = Callable[[Json, Any], Events]


def _named(commands: dict[str, _Command], name: str, what: str) -> _Command:
    if name not in commands:
        raise UsageError(
            f"{what}: {name!r} is none", key=what, advice=f"Allowed: {', '.join(commands)}."
        )
    return commands[name]


# --- add -----------------------------------------------------------------------------------------


def _exploration(state: Json, value: Any) -> Events:
    return [read_entry(state, value, e.ExplorationAdded, "exploration")]


def _clarification(state: Json, value: Any) -> Events:
    check_rigor_first(state, "a clarification")
    found = read_entry(state, value, e.ClarificationAdded, "clarification")
    if not found.questions:
        raise _refuse("questions", "it is empty", "at least one question")
    for question in found.questions:
        check_filled(question.question, "question")
    return [found]


def _research(state: Json, value: Any) -> Events:
    found = read_entry(state, value, e.ResearchAdded, "research")
    for name in ("queries_fired", "sources_verified", "sources_rejected"):
        if getattr(found, name) < 0:
            raise _refuse(name, f"{getattr(found, name)} is below 0", "a whole number from 0 on")
    return [found]


def _gap(state: Json, value: Any) -> Events:
    found = read_entry(state, value, e.GapAcknowledged, "gap", phase=phase_of(state))
    if found.phase not in PHASES:
        raise _refuse("phase", f"{found.phase!r} is none", ", ".join(PHASES))
    check_filled(found.reason, "reason")
    return [found]


def _adr(state: Json, value: Any) -> Events:
    check_rigor_first(state, "a decision record")
    now = int(state.get("iteration", 1))
    filled: Any = value
    if is_record(value):
        filled = {"source_clarification_iteration": now, **value}
    found = read_as(filled, e.AdrCreated, "adr")
    if not 1 <= found.source_clarification_iteration <= now:
        what = f"{found.source_clarification_iteration} is not one of this plan's iterations"
        raise _refuse("source_clarification_iteration", what, f"1 to {now}")
    check_filled(found.slug, "slug")
    if found.skipped and not (isinstance(found.reason, str) and found.reason.strip()):
        raise _refuse("reason", "it is missing", "a text: a skipped record says why")
    if not found.skipped and not found.adr_id:
        raise _refuse("adr_id", "it is missing", "a text; null only where it was skipped")
    known = {adr.get("adr_id") for adr in state.get("adrs_created", [])}
    if found.adr_id is not None and found.adr_id in known:
        raise _refuse("adr_id", f"{found.adr_id!r} is recorded already", "each record once")
    return [found]


def _test(state: Json, value: Any) -> Events:
    if state.get("rigor") == "minimal":
        raise UsageError(
            'tests_state: rigor is "minimal", so no test pipeline runs and it stays empty',
            key="rigor",
            advice="Allowed: tests with rigor tdd-only or full.",
        )
    found = read_as(value, e.TestRecorded, "test")
    TEST.check(value, "test")
    entries: list[Json] = state.get("tests_state", [])
    known: Json = next((one for one in entries if one["task_id"] == found.task_id), Json())
    for name in TEST_TIMES:
        wanted, there = getattr(found, name), known.get(name)
        if wanted is not e.UNSET and there is not None and wanted != there:
            what = f"task {found.task_id!r} has it as {show(there)}, so not {show(wanted)}"
            raise _refuse(name, what, "each time of a task is set once")
    return [found]


def _blocker(state: Json, value: Any) -> Events:  # noqa: ARG001 - the shape of a command
    return [read_as({"blocker": _said(value, "blocker")}, e.BlockerAdded, "blocker")]


def _agent(state: Json, value: Any) -> Events:  # noqa: ARG001 - the shape of a command
    return [read_as({"agent": _said(value, "agent")}, e.AgentDispatched, "agent")]


def _said(value: Any, what: str) -> Any:
    if (isinstance(value, str) and value.strip()) or (is_record(value) and value):
        return value
    raise _refuse(what, f"{show(value)} says nothing", "text, or an object")


# --- set -----------------------------------------------------------------------------------------


def _decisions(state: Json, value: Any) -> Events:  # noqa: ARG001 - the shape of a command
    found = read_as({"decisions": value}, e.DecisionsLoaded, "decisions")
    DECISIONS.check(value, "decisions")
    return [found]


def _patterns(state: Json, value: Any) -> Events:  # noqa: ARG001 - the shape of a command
    found = read_as({"patterns": value}, e.PatternsSet, "patterns")
    PATTERNS.check(value, "patterns")
    return [found]


def _date_filter(state: Json, value: Any) -> Events:  # noqa: ARG001 - the shape of a command
    found = read_as(value, e.DateFilterSet, "date-filter")
    DATE_FILTER.check(value, "date-filter")
    check_times(value, ("cutoff",))
    return [found]


def _constitution(state: Json, value: Any) -> Events:  # noqa: ARG001 - the shape of a command
    found = read_as(value, e.ConstitutionConsulted, "constitution")
    if found.consulted and not found.path:
        raise _refuse("path", "it is missing", "the path of the constitution that was consulted")
    if not found.consulted and found.path:
        raise _refuse("path", f"{found.path!r}, and nothing was consulted", "null")
    return [found]


def _stages(state: Json, value: Any) -> Events:
    """Set the stages; in phase 7b those that are under way stay, in their places."""
    found = read_as({"stages": value}, e.StagesSet, "stages")
    STAGES.check(value, "stages")
    known: list[Json] = state.get("stages", [])
    for index, stage in enumerate(known):
        if not is_under_way(stage):
            continue
        after = found.stages[index] if index < len(found.stages) else None
        kept = (stage["id"], stage.get("exit_criteria", []))
        if after is None or (after.id, after.exit_criteria) != kept:
            what = f"stage {stage['id']!r} was started or verified and would not stay as it is"
            raise _refuse(
                f"stages[{index}]", what, "the stages that are under way first, unchanged"
            )
    return [found]


def _refuse(key: str, what: str, allowed: str) -> UsageError:
    return UsageError(f"{key}: {what}", key=key, advice=f"Allowed: {allowed}.")


_ADD: dict[str, _Command] = {
    "exploration": _exploration,
    "clarification": _clarification,
    "research": _research,
    "gap": _gap,
    "adr": _adr,
    "test": _test,
    "blocker": _blocker,
    "agent": _agent,
}

_SET: dict[str, _Command] = {
    "decisions": _decisions,
    "patterns": _patterns,
    "date-filter": _date_filter,
    "constitution": _constitution,
    "stages": _stages,
}

KINDS = tuple(_ADD)
PARTS = tuple(_SET)
