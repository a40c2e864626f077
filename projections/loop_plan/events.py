"""What can happen to a plan; each class is the data of one type of event.

Types are the names in snake case. Fields with defaults may be left out. What an event does to the
state stands in `applying`.
"""

from typing import Any

import msgspec

from projections.loop_plan.states import Json

UNSET = msgspec.UNSET
Unset = msgspec.UnsetType


class _Event(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What all have in common: nothing else than their fields is allowed."""


# --- the plan and its phases ---------------------------------------------------------------------


class PlanStarted(_Event):
    """A plan begins in phase 0, iteration 1."""

    slug: str
    task_statement: str
    plan_path: str


class Normalized(_Event):
    """What a file that was taken over holds is read in today's words.

    Each change is {"path": pointer, "old"?, "new"?, "why"}: without `old` it is put in, without
    `new` taken out.
    """

    changes: list[dict[str, Any]]


class PhaseEntered(_Event):
    """The plan enters a phase."""

    phase: str


class IterationStarted(_Event):
    """The loop goes round once more."""

    iteration: int


class GateChosen(_Event):
    """What the user chose at the gate of phase 5."""

    iteration: int
    choice: str


class ExitSignalled(_Event):
    """The loop is left: the text that said so, and where it came from."""

    signal: str
    source: str


class InventoryFailed(_Event):
    """The scan of phase 3b failed; the plan stays there."""

    error: str


class InventoryRetried(_Event):
    """The scan of phase 3b is tried again."""


class InventorySkipped(_Event):
    """Phase 3b is left without its scan."""


class Resumed(_Event):
    """Work goes on in the phase where it stopped; an abandoned plan is active again."""

    phase: str


class IterationRestarted(_Event):
    """The iteration begins again in phase 1."""

    iteration: int


class StartedAfresh(_Event):
    """The plan begins anew; `backup` names the file that keeps the state before it."""

    backup: str


# --- goal ----------------------------------------------------------------------------------------


class RigorSet(_Event):
    """How strictly the plan is executed; `unanswered`: the question went unanswered."""

    rigor: str
    unanswered: bool = False


class Artifact(_Event):
    """A file that must exist, and what it must contain or do."""

    path: str
    provides: str


class KeyLink(_Event):
    """A connection that must be there."""

    from_: str = msgspec.field(name="from")
    to: str
    via: str


class MustHaves(_Event):
    """The three parts of the goal's contract."""

    truths: list[str] = []
    artifacts: list[Artifact] = []
    key_links: list[KeyLink] = []


class GoalSet(_Event):
    """The goal, its criteria and what it must have; a part that is left out stays as it is."""

    goal: str | Unset = UNSET
    success_criteria: list[str] | Unset = UNSET
    must_haves: MustHaves | Unset = UNSET


# --- lists that grow -----------------------------------------------------------------------------


class ExplorationAdded(_Event):
    """What agents explored in an iteration; `timestamp` is the event's time where it is empty."""

    iteration: int
    agents_dispatched: list[str]
    domains: list[str]
    findings_summary: str
    timestamp: str = ""


class Question(_Event):
    """A question to the user with its answer: null is none yet."""

    question: str
    header: str = ""
    multiSelect: bool = False  # noqa: N815 - the text's name
    options: list[str] = []
    answer: str | list[str] | None = None


class ClarificationAdded(_Event):
    """What the user was asked in an iteration, and answered."""

    iteration: int
    questions: list[Question]
    timestamp: str = ""


class ResearchAdded(_Event):
    """What research an iteration made, and where its findings stand."""

    iteration: int
    queries_fired: int
    sources_verified: int
    sources_rejected: int
    reject_reasons: list[str]
    findings_file: str | None = None
    timestamp: str = ""


class GapAcknowledged(_Event):
    """An agent stalled, and what was done instead."""

    phase: str
    iteration: int
    reason: str
    fallback: str
    timestamp: str = ""


class AdrCreated(_Event):
    """A decision record was made, or deliberately not (`skipped`, with the reason)."""

    adr_id: str | None
    slug: str
    status: str
    source_clarification_iteration: int
    skipped: bool = False
    reason: str | Unset = UNSET


class TestRecorded(_Event):
    """How far the tests of a task are; a field that is left out stays as it is."""

    __test__ = False  # no test of ours, whatever the collector thinks of its name

    task_id: str
    test_files: list[str] | Unset = UNSET
    red_confirmed_at: str | Unset = UNSET
    snapshot_at: str | Unset = UNSET
    green_confirmed_at: str | Unset = UNSET
    tamper_detected: bool | Unset = UNSET
    mutation_score: int | float | str | Unset = UNSET
    mutation_threshold_high: int | float | Unset = UNSET
    mutation_threshold_low: int | float | Unset = UNSET
    mutation_threshold_break: int | float | Unset = UNSET
    mutation_tier_result: str | Unset = UNSET


class BlockerAdded(_Event):
    """What is in the way of the execution, as text or as an object."""

    blocker: str | Json


class AgentDispatched(_Event):
    """An agent that works on the execution, as text or as an object."""

    agent: str | Json


# --- what is set whole ---------------------------------------------------------------------------


class ConstitutionConsulted(_Event):
    """Whether the project's constitution was found and read, and where it lies."""

    consulted: bool
    path: str | None = None


class Decision(_Event):
    """A decision of the project in short."""

    adr_id: str
    status: str
    title: str


class DecisionsLoaded(_Event):
    """The decisions that the project had at the start."""

    decisions: list[Decision]


class Pattern(_Event):
    """A pattern that several projects share; a candidate for a person's review only."""

    pattern_slug: str
    source_adrs: list[str]
    project_count: int


class PatternsSet(_Event):
    """The patterns that were found."""

    patterns: list[Pattern]


class DateFilterSet(_Event):
    """How old a source may be, and from where."""

    cutoff: str
    current_year_tag: str
    allowed_domains_default: list[str]


class Stage(_Event):
    """A stage of a plan, and what must be true before the next one can begin."""

    id: str
    exit_criteria: list[str]


class StagesSet(_Event):
    """The stages of the plan."""

    stages: list[Stage]


# --- drift, execution, verification --------------------------------------------------------------


class DriftChecked(_Event):
    """What phase 6 found: `status` is clean or drift, with a report."""

    status: str
    report: Json | Unset = UNSET


class DriftOverridden(_Event):
    """The user ships in spite of the drift."""

    category: str
    justification: str


class ExecutionStarted(_Event):
    """The user approved; execution begins, which is phase 7b."""

    log_path: str = ""


class TaskCompleted(_Event):
    """A task of the plan passed its gate."""

    task_id: str


class StageStarted(_Event):
    """Execution of a stage begins."""

    id: str


class StageVerified(_Event):
    """The verdict on a stage."""

    id: str
    status: str
    score: str | None = None
    gaps: list[Any] = []


class StageSignedOff(_Event):
    """A person signs for a stage that only a person can judge."""

    id: str
    by: str
    note: str


class VerificationRecorded(_Event):
    """The newest verdict on the plan."""

    status: str
    score: str | None = None
    gaps: list[Any] = []


class VerificationSignedOff(_Event):
    """A person signs for what only a person can judge."""

    by: str
    note: str


class Shipped(_Event):
    """Every task passed: the plan is done."""


class Aborted(_Event):
    """The user gave up; `signal` is the text that said so."""

    signal: str


class Abandoned(_Event):
    """Nobody worked on the plan for long; `idle_days` when that was found."""

    idle_days: int
