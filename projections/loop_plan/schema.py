"""The state of a plan: every field in the text's order, and what it may hold.

I1  `STATE` is the one table: it checks a state, says what is allowed, and gives the order in
    which the fields of a new state stand.
I2  It says what a field may hold, never when: the gates bind transitions (see `phases` and
    `execution`), so that a state written by hand is judged by its fields alone.
I3  Only what names a plan and where it stands is required; entries that others wrote may lack
    members, and members that are not in the table pass.
"""

import re
from typing import Any

from journal.errors import UsageError
from projections.loop_plan.rules import (
    ANYTHING,
    COUNT,
    FILLED,
    FLAG,
    SHARE,
    TEXT,
    TIME,
    ListOf,
    Nullable,
    Record,
    Scalar,
    choice,
    is_list,
    is_number,
    is_record,
    refuse,
)
from projections.loop_plan.slug import check_slug

VERSION = 1
PHASES = ("0", "1", "2", "3", "3b", "4", "5", "6", "7a", "7b", "done", "aborted")
RIGORS = ("minimal", "tdd-only", "full")
VERDICTS = ("passed", "gaps_found", "human_needed")
COMPLETION_STATES = ("active", "shipped", "aborted", "abandoned")
EXIT_SOURCES = ("gate", "keyword", "abort", "drift_override")
TIERS = ("high", "low", "break", "skipped")

_SCORE = re.compile(r"[0-9]+/[0-9]+")
_ITERATION = Scalar(
    "a whole number from 1 on",
    lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 1,
)
_TEXTS = ListOf(TEXT)


def _is_slug(value: object) -> bool:
    try:
        return isinstance(value, str) and check_slug(value) == value
    except UsageError:
        return False


def _is_version(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value == VERSION


def _is_answer(value: Any) -> bool:
    if is_list(value):
        return all(isinstance(answer, str) for answer in value)
    return isinstance(value, str)


def _is_mutation_score(value: Any) -> bool:
    if isinstance(value, str):
        return value.startswith("skipped")
    return is_number(value) and 0 <= value <= 1


class DriftCheck:
    """Null, "clean", or the report of a drift."""

    allowed = 'null, "clean", or {"status": "drift", "report": {…}}'

    def check(self, value: Any, key: str) -> None:
        """See `Rule`."""
        if value is None or value == "clean":
            return
        if is_record(value) and value.get("status") == "drift":
            report = value.get("report")
            if is_record(report):
                return
            raise refuse(f"{key}.report", report, "an object")
        raise refuse(key, value, self.allowed)


SIGNED_OFF = Record({"by": FILLED, "at": TIME, "note": TEXT}, required=("by", "at", "note"))
VERIFICATION = Record(
    {
        "status": Nullable(choice(*VERDICTS)),
        "score": Nullable(
            Scalar(
                'text such as "4/5" (verified/total)',
                lambda value: isinstance(value, str) and bool(_SCORE.fullmatch(value)),
            )
        ),
        "gaps": ListOf(ANYTHING),
        "signed_off": SIGNED_OFF,
    }
)
MUST_HAVES = Record(
    {
        "truths": _TEXTS,
        "artifacts": ListOf(Record({"path": FILLED, "provides": TEXT})),
        "key_links": ListOf(Record({"from": FILLED, "to": FILLED, "via": TEXT})),
    }
)
EXECUTION = Record(
    {
        "started_at": Nullable(TIME),
        "completed_at": Nullable(TIME),
        "tasks_completed": ListOf(ANYTHING),
        "blockers": ListOf(ANYTHING),
        "agents_dispatched": ListOf(ANYTHING),
        "execution_log_path": Nullable(TEXT),
    }
)
STAGES = ListOf(
    Record(
        {
            "id": FILLED,
            "exit_criteria": _TEXTS,
            "verification": Nullable(VERIFICATION),
            "started_at": TIME,
        },
        required=("id",),
    ),
    unique="id",
)
DATE_FILTER = Record(
    {"cutoff": Nullable(TIME), "current_year_tag": TEXT, "allowed_domains_default": _TEXTS}
)
DECISIONS = ListOf(Record({"adr_id": FILLED, "status": TEXT, "title": TEXT}))
PATTERNS = ListOf(Record({"pattern_slug": FILLED, "source_adrs": _TEXTS, "project_count": COUNT}))

_QUESTION = Record(
    {
        "question": FILLED,
        "header": TEXT,
        "multiSelect": FLAG,
        "options": _TEXTS,
        "answer": Nullable(Scalar("text, or a list of texts", _is_answer)),
    }
)
TEST = Record(
    {
        "task_id": FILLED,
        "test_files": _TEXTS,
        "red_confirmed_at": Nullable(TIME),
        "snapshot_at": Nullable(TIME),
        "green_confirmed_at": Nullable(TIME),
        "tamper_detected": Nullable(FLAG),
        "mutation_score": Nullable(
            Scalar('a number from 0 to 1, or text such as "skipped — …"', _is_mutation_score)
        ),
        "mutation_threshold_high": Nullable(SHARE),
        "mutation_threshold_low": Nullable(SHARE),
        "mutation_threshold_break": Nullable(SHARE),
        "mutation_tier_result": Nullable(choice(*TIERS)),
    },
    required=("task_id",),
)
_ADR = Record(
    {
        "adr_id": Nullable(FILLED),
        "slug": FILLED,
        "status": TEXT,
        "source_clarification_iteration": _ITERATION,
        "skipped": FLAG,
        "reason": TEXT,
    }
)


def _entries(**members: Any) -> ListOf:
    return ListOf(Record({"iteration": _ITERATION, **members, "timestamp": TIME}))


STATE = Record(
    {
        "slug": Scalar("one safe part of a path", _is_slug),
        "version": Scalar(str(VERSION), _is_version),
        "created_at": TIME,
        "last_update_at": TIME,
        "task_statement": FILLED,
        "iteration": _ITERATION,
        "current_phase": choice(*PHASES),
        "plan_path": FILLED,
        "exploration_history": _entries(
            agents_dispatched=_TEXTS, domains=_TEXTS, findings_summary=TEXT
        ),
        "clarifications": _entries(questions=ListOf(_QUESTION)),
        "research_history": _entries(
            queries_fired=COUNT,
            sources_verified=COUNT,
            sources_rejected=COUNT,
            reject_reasons=_TEXTS,
            findings_file=Nullable(TEXT),
        ),
        "loop_gate_history": _entries(choice=FILLED),
        "drift_check": DriftCheck(),
        "drift_check_overrides": ListOf(
            Record({"timestamp": TIME, "category": FILLED, "justification": FILLED})
        ),
        "exit_signal": Nullable(FILLED),
        "exit_signal_source": Nullable(choice(*EXIT_SOURCES)),
        "execution": EXECUTION,
        "constitution_consulted": FLAG,
        "constitution_path": Nullable(FILLED),
        "project_decisions": DECISIONS,
        "adrs_created": ListOf(_ADR),
        "pattern_candidates": PATTERNS,
        "rigor": Nullable(choice(*RIGORS)),
        "goal": Nullable(FILLED),
        "success_criteria": _TEXTS,
        "must_haves": MUST_HAVES,
        "verification": VERIFICATION,
        "stages": STAGES,
        "tests_state": ListOf(TEST, unique="task_id"),
        "date_filter": DATE_FILTER,
        "last_active_at": TIME,
        "completion_state": choice(*COMPLETION_STATES),
        "gap_acknowledged": ListOf(
            Record(
                {
                    "phase": TEXT,
                    "iteration": _ITERATION,
                    "reason": FILLED,
                    "fallback": TEXT,
                    "timestamp": TIME,
                }
            )
        ),
        "3b_status": choice("failed"),
        "3b_error": TEXT,
    },
    required=("slug", "version", "iteration", "current_phase"),
)


def check(state: Any) -> None:
    """Raise `UsageError` for a state that breaks a rule of the table."""
    STATE.check(state, "")
