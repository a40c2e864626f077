"""What is added to the lists of a plan, and what is set whole."""

from typing import Any

import pytest

from journal.errors import UsageError
from projections.loop_plan import execution as ex
from projections.loop_plan.history import KINDS, PARTS, add, set_part
from projections.loop_plan.states import Json
from tests.loop_plan.life import TIME, after, ready_in, says

EXPLORATION: Json = {
    "agents_dispatched": ["explorer"],
    "domains": ["tests"],
    "findings_summary": "one paragraph",
}
CLARIFICATION: Json = {
    "questions": [
        {
            "question": "Which screens?",
            "header": "Scope",
            "multiSelect": True,
            "options": ["Feed", "All"],
            "answer": "Feed",
        }
    ]
}
RESEARCH: Json = {
    "queries_fired": 8,
    "sources_verified": 12,
    "sources_rejected": 1,
    "reject_reasons": ["undated"],
    "findings_file": "a.md#findings",
}
GAP: Json = {"reason": "stalled at 600 s", "fallback": "searched inline"}
ADR: Json = {"adr_id": "0007", "slug": "use-room", "status": "proposed"}
TEST: Json = {"task_id": "T7", "test_files": ["a.py"], "red_confirmed_at": TIME}


@pytest.mark.parametrize(
    ("kind", "value", "name"),
    [
        ("exploration", EXPLORATION, "exploration_history"),
        ("clarification", CLARIFICATION, "clarifications"),
        ("research", RESEARCH, "research_history"),
    ],
)
def test_entry_gets_iteration_and_time_in_the_order_of_the_text(
    kind: str, value: Json, name: str
) -> None:
    state = ready_in("4", iteration=2)
    found = after(state, add(state, kind, value))
    [entry] = found[name]
    assert entry == {"iteration": 2, **value, "timestamp": found["last_active_at"]}
    assert [*entry] == ["iteration", *value, "timestamp"]
    again = after(found, add(found, kind, {**value, "iteration": 1, "timestamp": "2026-02-01"}))
    assert again[name][0] == entry
    assert (again[name][1]["iteration"], again[name][1]["timestamp"]) == (1, "2026-02-01")


def test_gap_gets_the_phase_too() -> None:
    state = ready_in("3")
    found = after(state, add(state, "gap", GAP))
    assert found["gap_acknowledged"] == [
        {"phase": "3", "iteration": 1, **GAP, "timestamp": found["last_active_at"]}
    ]


def test_question_may_wait_for_its_answer() -> None:
    state = ready_in("2")
    found = after(state, add(state, "clarification", {"questions": [{"question": "Why?"}]}))
    assert found["clarifications"][0]["questions"] == [
        {"question": "Why?", "header": "", "multiSelect": False, "options": [], "answer": None}
    ]


def test_decision_record_is_kept_once_and_a_skipped_one_says_why() -> None:
    state = ready_in("2")
    found = after(state, add(state, "adr", ADR))
    assert found["adrs_created"] == [{**ADR, "source_clarification_iteration": 1, "skipped": False}]
    with pytest.raises(UsageError, match="recorded already"):
        add(found, "adr", ADR)
    skipped = {**ADR, "adr_id": None, "skipped": True}
    with pytest.raises(UsageError, match="reason"):
        add(found, "adr", skipped)
    found = after(found, add(found, "adr", {**skipped, "reason": "no project root"}))
    assert found["adrs_created"][1]["reason"] == "no project root"
    with pytest.raises(UsageError, match="adr_id"):
        add(found, "adr", {**ADR, "adr_id": None})


@pytest.mark.parametrize("what", ["waits for a key", {"what": "a key", "since": "today"}])
def test_blocker_and_agent_are_text_or_objects(what: Any) -> None:
    state = ready_in("7b")
    found = after(state, [*add(state, "blocker", what), *add(state, "agent", what)])
    assert found["execution"]["blockers"] == [what]
    assert found["execution"]["agents_dispatched"] == [what]


# --- tests ---------------------------------------------------------------------------------------


def test_tests_of_a_task_are_one_entry_in_the_order_of_the_text() -> None:
    state = ready_in("7b")
    state = after(state, add(state, "test", TEST))
    later = {"task_id": "T7", "test_files": ["a.py", "b.py"], "snapshot_at": TIME}
    state = after(state, add(state, "test", {**later, "mutation_score": 0.4}))
    result = {"task_id": "T7", "mutation_score": 0.9, "mutation_tier_result": "high"}
    state = after(state, add(state, "test", {**result, "tamper_detected": False}))
    state = after(state, add(state, "test", {"task_id": "T8"}))
    first, second = state["tests_state"]
    assert [*first] == [
        "task_id",
        "test_files",
        "red_confirmed_at",
        "snapshot_at",
        "green_confirmed_at",
        "tamper_detected",
        "mutation_score",
        "mutation_threshold_high",
        "mutation_threshold_low",
        "mutation_threshold_break",
        "mutation_tier_result",
    ]
    assert first["test_files"] == ["a.py", "b.py"]
    assert (first["red_confirmed_at"], first["snapshot_at"]) == (TIME, TIME)
    assert (first["mutation_score"], first["mutation_tier_result"]) == (0.9, "high")
    assert second["task_id"] == "T8"
    assert second["test_files"] == []


@pytest.mark.parametrize("name", ["red_confirmed_at", "snapshot_at", "green_confirmed_at"])
def test_time_of_a_task_is_set_once(name: str) -> None:
    state = ready_in("7b")
    state = after(state, add(state, "test", {"task_id": "T7", name: TIME}))
    assert add(state, "test", {"task_id": "T7", name: TIME}), "the same time says nothing else"
    with pytest.raises(UsageError) as caught:
        add(state, "test", {"task_id": "T7", name: "2026-03-02T00:00:00Z"})
    assert says(caught.value, name, TIME, "set once")


def test_minimal_rigor_keeps_the_tests_empty() -> None:
    with pytest.raises(UsageError, match="stays empty"):
        add(ready_in("7b", rigor="minimal"), "test", TEST)


# --- refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [object(), {"a": object()}, {"a": float("nan")}, {1: 2}])
def test_value_that_is_no_json_is_refused(value: Any) -> None:
    for kind in ("blocker", "exploration"):
        with pytest.raises(UsageError):
            add(ready_in("7b"), kind, value)
    with pytest.raises(UsageError):
        set_part(ready_in("7b"), "patterns", value)
    with pytest.raises(UsageError):
        ex.check_drift(ready_in("6"), value)
    with pytest.raises(UsageError):
        ex.record_verification(ready_in("7b"), {"status": "passed", "gaps": [value]})


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("exploration", [], "is not an object"),
        ("exploration", {"domains": []}, "agents_dispatched"),
        ("exploration", {**EXPLORATION, "findings_summary": 1}, "findings_summary"),
        ("exploration", {**EXPLORATION, "note": "x"}, "note"),
        ("exploration", {**EXPLORATION, "iteration": 9}, "1 to 1"),
        ("exploration", {**EXPLORATION, "iteration": 0}, "1 to 1"),
        ("exploration", {**EXPLORATION, "timestamp": "soon"}, "is not a time"),
        ("clarification", {"questions": []}, "at least one question"),
        ("clarification", {"questions": [{"question": " "}]}, "it is empty"),
        ("clarification", {"questions": [{"header": "x"}]}, "question"),
        ("research", {**RESEARCH, "queries_fired": -1}, "below 0"),
        ("research", {**RESEARCH, "sources_verified": True}, "sources_verified"),
        ("research", {**RESEARCH, "reject_reasons": "undated"}, "reject_reasons"),
        ("gap", {"reason": "", "fallback": "x"}, "it is empty"),
        ("gap", {"reason": "x"}, "fallback"),
        ("gap", {**GAP, "phase": "8"}, "'8'"),
        ("adr", {**ADR, "source_clarification_iteration": 2}, "1 to 1"),
        ("adr", {**ADR, "slug": ""}, "it is empty"),
        ("adr", "0007", "adr"),
        ("test", {}, "task_id"),
        ("test", {"task_id": " "}, "task_id"),
        ("test", {"task_id": "T", "mutation_score": 2}, "from 0 to 1"),
        ("test", {"task_id": "T", "red_confirmed_at": "now"}, "a time"),
        ("blocker", "", "says nothing"),
        ("agent", [], "says nothing"),
        ("story", {}, "exploration, clarification, research, gap, adr, test, blocker, agent"),
    ],
)
def test_entry_that_does_not_fit_is_refused_by_name(kind: str, value: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        add(ready_in("2"), kind, value)
    assert says(caught.value, said, "Allowed")


# --- set whole -----------------------------------------------------------------------------------

SET: dict[str, tuple[Any, str, Any]] = {
    "decisions": (
        [{"adr_id": "0001", "status": "accepted", "title": "Use Koin"}],
        "project_decisions",
        [{"adr_id": "0001", "status": "accepted", "title": "Use Koin"}],
    ),
    "patterns": (
        [{"pattern_slug": "p", "source_adrs": ["a/1"], "project_count": 3}],
        "pattern_candidates",
        [{"pattern_slug": "p", "source_adrs": ["a/1"], "project_count": 3}],
    ),
    "date-filter": (
        {"cutoff": "2020-01-01", "current_year_tag": "2026", "allowed_domains_default": []},
        "date_filter",
        {"cutoff": "2020-01-01", "current_year_tag": "2026", "allowed_domains_default": []},
    ),
    "constitution": ({"consulted": True, "path": "c.md"}, "constitution_path", "c.md"),
    "stages": (
        [{"id": "s1", "exit_criteria": ["3 pass"]}],
        "stages",
        [{"id": "s1", "exit_criteria": ["3 pass"], "verification": None}],
    ),
}


@pytest.mark.parametrize("part", PARTS)
def test_part_is_set_whole(part: str) -> None:
    value, name, kept = SET[part]
    state = ready_in("2")
    assert after(state, set_part(state, part, value))[name] == kept


def test_every_kind_and_part_has_its_test() -> None:
    assert set(PARTS) == set(SET)
    assert set(KINDS) == {
        *("exploration", "clarification", "research", "gap", "adr", "test", "blocker", "agent")
    }


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("decisions", {}, "decisions"),
        ("decisions", [{"adr_id": "1", "status": "accepted"}], "title"),
        ("decisions", [{"adr_id": "", "status": "a", "title": "b"}], "decisions[0].adr_id"),
        ("patterns", [{"pattern_slug": "p", "source_adrs": []}], "project_count"),
        ("patterns", [{"pattern_slug": "p", "source_adrs": [], "project_count": -1}], "project_c"),
        ("date-filter", {"cutoff": "2020-01-01"}, "current_year_tag"),
        ("constitution", {"consulted": True}, "path"),
        ("constitution", {"consulted": False, "path": "x"}, "nothing was consulted"),
        ("constitution", {}, "consulted"),
        ("stages", [{"id": "a", "exit_criteria": []}] * 2, "each id once"),
        ("stages", [{"id": "", "exit_criteria": []}], "stages[0].id"),
        ("stages", [{"id": "a"}], "exit_criteria"),
        ("stages", [{"id": "a", "exit_criteria": [], "verification": None}], "verification"),
        ("mood", [], "decisions, patterns, date-filter, constitution, stages"),
    ],
)
def test_part_that_does_not_fit_is_refused_by_name(part: str, value: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        set_part(ready_in("2"), part, value)
    assert says(caught.value, said, "Allowed")


def test_date_filter_needs_a_date() -> None:
    value = {"cutoff": "some day", "current_year_tag": "2026", "allowed_domains_default": []}
    with pytest.raises(UsageError, match="a time"):
        set_part(ready_in("2"), "date-filter", value)


def test_constitution_that_was_not_found_is_said_too() -> None:
    state = ready_in("0", constitution_consulted=True, constitution_path="c.md")
    found = after(state, set_part(state, "constitution", {"consulted": False}))
    assert (found["constitution_consulted"], found["constitution_path"]) == (False, None)


def test_stages_under_way_stay_in_their_places() -> None:
    one = {"id": "s1", "exit_criteria": ["3 pass"]}
    two = {"id": "s2", "exit_criteria": ["4 pass"]}
    state = ready_in("7b")
    state = after(state, set_part(state, "stages", [one]))
    state = after(state, ex.start_stage(state, "s1"))
    started = state["stages"][0]
    for wrong in ([], [two], [two, one], [{**one, "exit_criteria": []}]):
        with pytest.raises(UsageError) as caught:
            set_part(state, "stages", wrong)
        assert says(caught.value, "'s1'", "under way")
    found = after(state, set_part(state, "stages", [one, two]))
    assert found["stages"] == [started, {**two, "verification": None}]
