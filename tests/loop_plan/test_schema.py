"""Every field of a state: what it may hold, what is refused, in which order they stand."""

from typing import Any

import pytest

from journal.errors import UsageError
from projections.loop_plan.schema import PHASES, STATE, check
from projections.loop_plan.states import DEFAULTS, Json, new_state, put
from projections.patch import copy
from tests.loop_plan.life import TIME, ready_in, says

FULL: Json = {
    "slug": "offline-feed-caching",
    "version": 1,
    "created_at": "2026-04-15T13:22:00-07:00",
    "last_update_at": "2026-04-15T14:07:00-07:00",
    "task_statement": "Add offline caching to the feed screen with conflict resolution.",
    "iteration": 3,
    "current_phase": "5",
    "plan_path": "~/.claude/plans/offline-feed-caching.md",
    "exploration_history": [
        {
            "iteration": 1,
            "agents_dispatched": ["android-kmp-explorer", "swiftui-explorer"],
            "domains": ["similar-features"],
            "findings_summary": "1 paragraph per domain",
            "timestamp": "2026-04-15T13:25:00-07:00",
        }
    ],
    "clarifications": [
        {
            "iteration": 1,
            "questions": [
                {
                    "question": "Which screens need offline caching?",
                    "header": "Scope",
                    "multiSelect": True,
                    "options": ["Feed only", "Feed + profile"],
                    "answer": "Feed + profile",
                }
            ],
            "timestamp": "2026-04-15T13:28:00-07:00",
        }
    ],
    "research_history": [
        {
            "iteration": 2,
            "queries_fired": 8,
            "sources_verified": 12,
            "sources_rejected": 5,
            "reject_reasons": ["undated", "pre-2025-10", "undated"],
            "findings_file": "~/.claude/plans/offline-feed-caching.md#findings",
            "timestamp": "2026-04-15T13:50:00-07:00",
        }
    ],
    "loop_gate_history": [
        {"iteration": 1, "choice": "More research", "timestamp": "2026-04-15T13:35:00-07:00"}
    ],
    "drift_check": None,
    "drift_check_overrides": [{"timestamp": TIME, "category": "scope", "justification": "agreed"}],
    "exit_signal": None,
    "exit_signal_source": None,
    "execution": {
        "started_at": None,
        "completed_at": None,
        "tasks_completed": [],
        "blockers": [],
        "agents_dispatched": [],
        "execution_log_path": None,
    },
    "constitution_consulted": False,
    "constitution_path": None,
    "project_decisions": [{"adr_id": "0001", "status": "accepted", "title": "Use Koin for DI"}],
    "adrs_created": [
        {
            "adr_id": "0007",
            "slug": "use-room-3-for-persistence",
            "status": "proposed",
            "source_clarification_iteration": 2,
            "skipped": False,
        }
    ],
    "pattern_candidates": [
        {"pattern_slug": "event-sourcing", "source_adrs": ["projA/0003"], "project_count": 3}
    ],
    "rigor": "tdd-only",
    "goal": "Make the loop skills reach their goal.",
    "success_criteria": ["SC1. 3 of 3 pass"],
    "must_haves": {
        "truths": ["a truth"],
        "artifacts": [{"path": "a.py", "provides": "x"}],
        "key_links": [{"from": "A", "to": "B", "via": "import"}],
    },
    "verification": {"status": None, "score": None, "gaps": []},
    "stages": [{"id": "stage-1", "exit_criteria": ["measured"], "verification": None}],
    "tests_state": [
        {
            "task_id": "T7",
            "test_files": ["src/foo/test_bar.py"],
            "red_confirmed_at": "2026-04-28T13:42:00-07:00",
            "snapshot_at": "2026-04-28T13:43:00-07:00",
            "green_confirmed_at": "2026-04-28T13:50:00-07:00",
            "tamper_detected": False,
            "mutation_score": 0.85,
            "mutation_threshold_high": 0.80,
            "mutation_threshold_low": 0.60,
            "mutation_threshold_break": 0.50,
            "mutation_tier_result": "high",
        }
    ],
    "date_filter": {
        "cutoff": "2025-10-01",
        "current_year_tag": "2026",
        "allowed_domains_default": ["arxiv.org"],
    },
    "last_active_at": "2026-05-09T13:32:00-07:00",
    "completion_state": "active",
    "gap_acknowledged": [
        {
            "phase": "3",
            "iteration": 2,
            "reason": "research-agent stalled at 600s",
            "fallback": "inline search",
            "timestamp": "2026-04-29T11:00:00-07:00",
        }
    ],
}
"""The state of the text's example."""


def test_example_of_the_text_passes() -> None:
    check(FULL)


def test_new_state_has_the_fields_of_the_text_in_its_order() -> None:
    state = new_state("a", "b", "c", TIME)
    assert list(state) == list(FULL)
    assert [list(value) for value in state.values() if isinstance(value, dict)] == [
        list(value) for value in FULL.values() if isinstance(value, dict)
    ]
    check(state)


def at(state: Json, *path: str | int) -> Any:
    found: Any = state
    for step in path:
        found = found[step]
    return found


NOT_TEXT: list[Any] = [None, 1, True, [], {}]
NOT_FILLED: list[Any] = [*NOT_TEXT, "", "  "]
NOT_TIME: list[Any] = [1, "", "yesterday", "2026-13-01", "2026", True]
NOT_COUNT: list[Any] = [None, -1, 1.0, True, "1"]
NOT_SHARE: list[Any] = [-0.1, 1.1, "0.5", True]

BAD: dict[tuple[str | int, ...], list[Any]] = {
    ("slug",): [None, 1, "", "a/b", ".."],
    ("version",): [None, 0, 2, 1.0, True, "1"],
    ("created_at",): [None, *NOT_TIME],
    ("last_update_at",): [None, *NOT_TIME],
    ("task_statement",): NOT_FILLED,
    ("iteration",): [None, 0, -1, 1.0, True, "1"],
    ("current_phase",): [None, 5, "8", "7c", "", "Done"],
    ("plan_path",): NOT_FILLED,
    ("exploration_history",): [None, {}, [1]],
    ("exploration_history", 0, "iteration"): [0, "1", True],
    ("exploration_history", 0, "agents_dispatched"): [None, "a", [1]],
    ("exploration_history", 0, "domains"): [None, [None]],
    ("exploration_history", 0, "findings_summary"): NOT_TEXT,
    ("exploration_history", 0, "timestamp"): [None, *NOT_TIME],
    ("clarifications",): [None, [None]],
    ("clarifications", 0, "questions"): [None, ["what"]],
    ("clarifications", 0, "questions", 0, "question"): NOT_FILLED,
    ("clarifications", 0, "questions", 0, "header"): NOT_TEXT,
    ("clarifications", 0, "questions", 0, "multiSelect"): [None, 1, "yes"],
    ("clarifications", 0, "questions", 0, "options"): [None, [1]],
    ("clarifications", 0, "questions", 0, "answer"): [1, [1], {}],
    ("research_history",): [None, [1]],
    ("research_history", 0, "queries_fired"): NOT_COUNT,
    ("research_history", 0, "sources_verified"): NOT_COUNT,
    ("research_history", 0, "sources_rejected"): NOT_COUNT,
    ("research_history", 0, "reject_reasons"): [None, [1]],
    ("research_history", 0, "findings_file"): [1, []],
    ("loop_gate_history",): [None, {}],
    ("loop_gate_history", 0, "choice"): NOT_FILLED,
    ("drift_check",): ["drift", 1, [], {}, {"status": "clean"}],
    ("drift_check_overrides",): [None, {}],
    ("drift_check_overrides", 0, "timestamp"): [None, *NOT_TIME],
    ("drift_check_overrides", 0, "category"): NOT_FILLED,
    ("drift_check_overrides", 0, "justification"): NOT_FILLED,
    ("exit_signal",): ["", 1],
    ("exit_signal_source",): ["", "user", 1],
    ("execution",): [None, []],
    ("execution", "started_at"): NOT_TIME,
    ("execution", "completed_at"): NOT_TIME,
    ("execution", "tasks_completed"): [None, {}],
    ("execution", "blockers"): [None, "x"],
    ("execution", "agents_dispatched"): [None, 1],
    ("execution", "execution_log_path"): [1, []],
    ("constitution_consulted",): [None, 0, "no"],
    ("constitution_path",): ["", 1],
    ("project_decisions",): [None, [1]],
    ("project_decisions", 0, "adr_id"): NOT_FILLED,
    ("project_decisions", 0, "status"): NOT_TEXT,
    ("project_decisions", 0, "title"): NOT_TEXT,
    ("adrs_created",): [None, [1]],
    ("adrs_created", 0, "adr_id"): ["", 7],
    ("adrs_created", 0, "slug"): NOT_FILLED,
    ("adrs_created", 0, "status"): NOT_TEXT,
    ("adrs_created", 0, "source_clarification_iteration"): [None, 0, "2"],
    ("adrs_created", 0, "skipped"): [None, 0],
    ("pattern_candidates",): [None, [1]],
    ("pattern_candidates", 0, "pattern_slug"): NOT_FILLED,
    ("pattern_candidates", 0, "source_adrs"): [None, [1]],
    ("pattern_candidates", 0, "project_count"): NOT_COUNT,
    ("rigor",): ["", "strict", 1],
    ("goal",): ["", " ", 1],
    ("success_criteria",): [None, "x", [1]],
    ("must_haves",): [None, []],
    ("must_haves", "truths"): [None, [1]],
    ("must_haves", "artifacts"): [None, ["a.py"]],
    ("must_haves", "artifacts", 0, "path"): NOT_FILLED,
    ("must_haves", "artifacts", 0, "provides"): NOT_TEXT,
    ("must_haves", "key_links"): [None, [1]],
    ("must_haves", "key_links", 0, "from"): NOT_FILLED,
    ("must_haves", "key_links", 0, "to"): NOT_FILLED,
    ("must_haves", "key_links", 0, "via"): NOT_TEXT,
    ("verification",): [None, "passed"],
    ("verification", "status"): ["", "failed", 1],
    ("verification", "score"): [1, "4", "4/5 ", 0.8],
    ("verification", "gaps"): [None, {}],
    ("stages",): [None, [1], [{}], [{"id": "a"}, {"id": "a"}]],
    ("stages", 0, "id"): NOT_FILLED,
    ("stages", 0, "exit_criteria"): [None, [1]],
    ("stages", 0, "verification"): ["passed", {"status": "x"}],
    ("tests_state",): [None, [{}], [{"task_id": "a"}, {"task_id": "a"}]],
    ("tests_state", 0, "task_id"): NOT_FILLED,
    ("tests_state", 0, "test_files"): [None, [1]],
    ("tests_state", 0, "red_confirmed_at"): NOT_TIME,
    ("tests_state", 0, "snapshot_at"): NOT_TIME,
    ("tests_state", 0, "green_confirmed_at"): NOT_TIME,
    ("tests_state", 0, "tamper_detected"): [0, "no"],
    ("tests_state", 0, "mutation_score"): [*NOT_SHARE, "none"],
    ("tests_state", 0, "mutation_threshold_high"): NOT_SHARE,
    ("tests_state", 0, "mutation_threshold_low"): NOT_SHARE,
    ("tests_state", 0, "mutation_threshold_break"): NOT_SHARE,
    ("tests_state", 0, "mutation_tier_result"): ["", "medium", 1],
    ("date_filter",): [None, []],
    ("date_filter", "cutoff"): NOT_TIME,
    ("date_filter", "current_year_tag"): NOT_TEXT,
    ("date_filter", "allowed_domains_default"): [None, [1]],
    ("last_active_at",): [None, *NOT_TIME],
    ("completion_state",): [None, "", "done", 1],
    ("gap_acknowledged",): [None, [1]],
    ("gap_acknowledged", 0, "phase"): NOT_TEXT,
    ("gap_acknowledged", 0, "iteration"): [0, "2"],
    ("gap_acknowledged", 0, "reason"): NOT_FILLED,
    ("gap_acknowledged", 0, "fallback"): NOT_TEXT,
    ("gap_acknowledged", 0, "timestamp"): [None, *NOT_TIME],
}

GOOD: dict[tuple[str | int, ...], list[Any]] = {
    ("current_phase",): list(PHASES),
    ("drift_check",): ["clean", {"status": "drift", "report": {}}],
    ("exit_signal_source",): [None, "gate", "keyword", "abort", "drift_override"],
    ("rigor",): [None, "minimal", "tdd-only", "full"],
    ("goal",): [None, "x"],
    ("verification", "status"): [None, "passed", "gaps_found", "human_needed"],
    ("verification", "score"): [None, "0/0", "12/14"],
    ("completion_state",): ["active", "shipped", "aborted", "abandoned"],
    ("tests_state", 0, "mutation_score"): [
        0,
        1,
        0.5,
        None,
        "skipped — budget exceeded (15 min)",
        "skipped — no tool for stack",
    ],
    ("tests_state", 0, "mutation_tier_result"): ["high", "low", "break", "skipped", None],
    ("clarifications", 0, "questions", 0, "answer"): [None, "a", ["a", "b"]],
    ("created_at",): ["2026-04-15T13:22:00-07:00", "2026-04-15", "2026-04-15 13:22:00"],
}


def test_table_of_bad_values_names_every_field_of_the_schema() -> None:
    ours = {"3b_status", "3b_error"}
    assert {path[0] for path in BAD} == set(STATE.members) - ours
    for name, value in FULL.items():
        first = value[0] if isinstance(value, list) and value else value
        for inner in first if isinstance(first, dict) else ():
            paths = {(name, 0, inner), (name, inner)}
            known = inner in ("iteration", "timestamp") or paths & set(BAD)
            assert known, f"no bad value for {name}.{inner}"


@pytest.mark.parametrize("path", BAD, ids=lambda path: ".".join(map(str, path)))
def test_value_that_is_not_allowed_is_refused_by_its_place(path: tuple[str | int, ...]) -> None:
    key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]
    for value in BAD[path]:
        state = copy(FULL)
        at(state, *path[:-1])[path[-1]] = value
        with pytest.raises(UsageError) as caught:
            check(state)
        assert caught.value.key.startswith(key), value
        assert says(caught.value, key, "Allowed: "), value


@pytest.mark.parametrize("path", GOOD, ids=lambda path: ".".join(map(str, path)))
def test_value_that_is_allowed_passes(path: tuple[str | int, ...]) -> None:
    for value in GOOD[path]:
        state = copy(FULL)
        at(state, *path[:-1])[path[-1]] = value
        check(state)


@pytest.mark.parametrize("name", ["slug", "version", "iteration", "current_phase"])
def test_state_without_what_names_it_is_refused(name: str) -> None:
    state = copy(FULL)
    del state[name]
    with pytest.raises(UsageError, match=f"{name}: it is missing"):
        check(state)


@pytest.mark.parametrize("value", [None, [], 1, "x"])
def test_state_that_is_no_object_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="the state"):
        check(value)


def test_unknown_fields_pass_wherever_they_stand() -> None:
    state = copy(FULL)
    state["note"] = state["execution"]["note"] = state["stages"][0]["note"] = [1]
    check(state)


def test_signature_has_all_its_parts() -> None:
    state = copy(FULL)
    state["verification"]["signed_off"] = {"by": "Ann", "at": TIME, "note": "ok"}
    check(state)
    del state["verification"]["signed_off"]["note"]
    with pytest.raises(UsageError, match=r"verification\.signed_off\.note: it is missing"):
        check(state)


def test_gates_do_not_bind_states() -> None:
    check({**ready_in("7b"), "rigor": None, "success_criteria": ["TBD"], "must_haves": {}})
    check({**ready_in("done"), "completion_state": "shipped"})


@pytest.mark.parametrize("name", list(DEFAULTS))
def test_missing_field_is_put_in_at_its_place(name: str) -> None:
    state = new_state("a", "b", "c", TIME)
    order = list(state)
    del state[name]
    put(state, name, DEFAULTS[name]())
    assert list(state) == order


def test_unknown_fields_keep_their_place_when_one_is_put_in() -> None:
    state = {"slug": "a", "zzz": 1, "version": 1, "goal": None, "aaa": 2}
    put(state, "iteration", 1)
    put(state, "last_active_at", TIME)
    assert list(state) == ["slug", "zzz", "version", "iteration", "goal", "aaa", "last_active_at"]


def test_what_no_example_has_is_checked_as_well() -> None:
    """The members that a new state or the text's example lacks, and those of every history."""
    signed = {"by": "Ann", "at": TIME, "note": "ok"}
    bad: list[tuple[tuple[str | int, ...], Any]] = [
        (("3b_status",), "ok"),
        (("3b_error",), 7),
        (("adrs_created", 0, "reason"), 7),
        (("stages", 0, "started_at"), "soon"),
        *((("verification", "signed_off"), {**signed, name: 7}) for name in signed),
        *(
            ((name, 0, member), value)
            for name in ("exploration_history", "clarifications", "research_history")
            for member, value in (("iteration", 0), ("timestamp", "soon"))
        ),
        (("loop_gate_history", 0, "iteration"), True),
        (("loop_gate_history", 0, "timestamp"), 7),
        (("gap_acknowledged", 0, "iteration"), "1"),
        (("gap_acknowledged", 0, "timestamp"), None),
    ]
    for path, value in bad:
        state = copy(FULL)
        at(state, *path[:-1])[path[-1]] = value
        with pytest.raises(UsageError) as caught:
            check(state)
        assert says(caught.value, str(path[-1]), "Allowed: "), path
