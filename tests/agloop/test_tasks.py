"""Tasks: what may be done with one when, the papers handed in about it, and which is next."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from journal.errors import UsageError
from projections.agloop.tasks import find_next
from tests.agloop.life import (
    FAIL,
    OBJECTION,
    PASS,
    RESULT,
    begin,
    executing,
    files,
    finish,
    full_state,
    state_task,
    task,
    task_of,
    types,
)


def test_a_task_from_pending_to_done(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        assert types(loop.start_task("task-001", agent="executor")) == ["task_started"]
        assert loop.state["current_task_id"] == "task-001"
        assert task_of(loop.state, "task-001")["status"] == "in_progress"
        loop.record_result("task-001", RESULT)
        assert task_of(loop.state, "task-001")["status"] == "in_progress"
        assert task_of(loop.state, "task-001")["result"] == RESULT
        loop.verify_task("task-001", PASS)
        found = task_of(loop.state, "task-001")
        assert found["status"] == "done"
        assert found["result"] == {**RESULT, "verified": True}
        assert found["verification"] == PASS
        assert loop.state["current_task_id"] is None


def test_a_failed_verification_keeps_the_task_in_progress(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        loop.start_task("task-001")
        loop.record_result("task-001", RESULT)
        loop.verify_task("task-001", FAIL)
        found = task_of(loop.state, "task-001")
        assert (found["status"], found["verification"]) == ("in_progress", FAIL)
        assert found["result"]["verified"] is False
        assert loop.state["current_task_id"] == "task-001"
        # A fresh attempt: nothing of the last one stays, and it counts as no retry.
        loop.start_task("task-001")
        found = task_of(loop.state, "task-001")
        assert (found["result"], found["verification"]) == (None, None)
        assert loop.state["retry_count"] == {}


def test_a_retry_counts_and_forgets_the_attempt(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        for count in (1, 2):
            loop.start_task("task-001")
            loop.record_result("task-001", RESULT)
            loop.verify_task("task-001", FAIL)
            loop.retry_task("task-001", "wrong index")
            found = task_of(loop.state, "task-001")
            assert found["status"] == "pending"
            assert (found["result"], found["verification"]) == (None, None)
            assert loop.state["retry_count"] == {"task-001": count}
            assert loop.state["current_task_id"] is None
        loop.start_task("task-001")
        loop.fail_task("task-001", "no such API")
        assert task_of(loop.state, "task-001")["status"] == "failed"
        assert loop.state["current_task_id"] is None
        loop.retry_task("task-001")
        assert loop.state["retry_count"] == {"task-001": 3}


ALLOWED = {
    "pending": {"start", "fail"},
    "in_progress": {"start", "result", "verify", "fail", "retry"},
    "done": set[str](),
    "failed": {"retry"},
}


@pytest.mark.parametrize("verb", ["start", "result", "verify", "fail", "retry"])
@pytest.mark.parametrize("status", ALLOWED)
def test_what_a_status_does_not_allow_is_refused_and_changes_nothing(
    tmp_path: Path, status: str, verb: str
) -> None:
    with executing(tmp_path, task(1)) as loop:
        if status != "pending":
            loop.start_task("task-001")
        if status == "failed":
            loop.fail_task("task-001", "no")
        elif status != "pending":
            loop.record_result("task-001", RESULT)
        if status == "done":
            loop.verify_task("task-001", PASS)
        before = files(tmp_path)
        act: Callable[[], Any] = {
            "start": lambda: loop.start_task("task-001"),
            "result": lambda: loop.record_result("task-001", RESULT),
            "verify": lambda: loop.verify_task("task-001", PASS),
            "fail": lambda: loop.fail_task("task-001", "no"),
            "retry": lambda: loop.retry_task("task-001"),
        }[verb]
        if verb in ALLOWED[status]:
            act()
        else:
            with pytest.raises(UsageError, match=f"task-001 is {status}; .* allowed where"):
                act()
            assert files(tmp_path) == before


def test_at_most_one_task_is_in_progress(tmp_path: Path) -> None:
    with executing(tmp_path, task(1), task(2)) as loop:
        loop.start_task("task-001")
        with pytest.raises(UsageError, match="task-001 is in progress, and at most one may be"):
            loop.start_task("task-002")
        with pytest.raises(
            UsageError, match="there is no task 'task-9'; tasks: task-001, task-002"
        ):
            loop.start_task("task-9")


def test_a_pass_needs_a_result_and_a_failure_a_reason(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        loop.start_task("task-001")
        with pytest.raises(UsageError, match="no result that could pass"):
            loop.verify_task("task-001", PASS)
        with pytest.raises(UsageError, match="for a reason"):
            loop.fail_task("task-001", " ")
        loop.verify_task("task-001", FAIL)


BAD_RESULTS: list[tuple[Any, str]] = [
    ([], "it is"),
    ("text", "it is"),
    *[
        ({k: v for k, v in RESULT.items() if k != name}, f"{name} is missing")
        for name in RESULT
        if name != "verified"
    ],
    ({**RESULT, "files_modified": "a.ts"}, "files_modified is"),
    ({**RESULT, "files_deleted": [1]}, r"files_deleted\[0\] is 1"),
    ({**RESULT, "summary": None}, "summary is null"),
    ({**RESULT, "warnings": {}}, "warnings is"),
    ({**RESULT, "verified": "no"}, "verified is"),
    ({**RESULT, "verified": True}, "verified is true; allowed: false"),
    (
        {**RESULT, "acceptance_criteria_confirmation": [{"criterion": "x", "met": 1}]},
        r"acceptance_criteria_confirmation\[0\].met is 1; allowed: true or false",
    ),
]


@pytest.mark.parametrize(("paper", "words"), BAD_RESULTS)
def test_a_result_that_is_not_by_its_schema_is_refused_with_the_place(
    tmp_path: Path, paper: Any, words: str
) -> None:
    with executing(tmp_path, task(1)) as loop:
        loop.start_task("task-001")
        before = files(tmp_path)
        with pytest.raises(UsageError, match=words):
            loop.record_result("task-001", paper)
        assert files(tmp_path) == before


BAD_VERIFICATIONS: list[tuple[Any, str]] = [
    (None, "it is null"),
    *[({k: v for k, v in PASS.items() if k != name}, f"{name} is missing") for name in PASS],
    ({**PASS, "verdict": "pass"}, r"verdict is \"pass\"; allowed: PASS \| FAIL"),
    ({**PASS, "verdict": "FAIL"}, "failure_details is missing"),
    (
        {**PASS, "criteria_results": [{"criterion": "x", "result": "PASS", "evidence": "y"}]},
        r"criteria_results\[0\].result is",
    ),
    (
        {**PASS, "specification_compliance": {"required_patterns": {}}},
        "specification_compliance.required_patterns.compliant is missing",
    ),
    ({**PASS, "overall_summary": 1}, "overall_summary is 1"),
]


@pytest.mark.parametrize(("paper", "words"), BAD_VERIFICATIONS)
def test_a_verification_that_is_not_by_its_schema_is_refused_with_the_place(
    tmp_path: Path, paper: Any, words: str
) -> None:
    with executing(tmp_path, task(1)) as loop:
        loop.start_task("task-001")
        loop.record_result("task-001", RESULT)
        before = files(tmp_path)
        with pytest.raises(UsageError, match=words):
            loop.verify_task("task-001", paper)
        assert files(tmp_path) == before


def test_unknown_members_of_papers_are_kept(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        loop.start_task("task-001")
        loop.record_result("task-001", {**RESULT, "tokens": 7})
        loop.verify_task("task-001", {**PASS, "by": "verifier"})
        found = task_of(loop.state, "task-001")
        assert (found["result"]["tokens"], found["verification"]["by"]) == (7, "verifier")


# --- next ----------------------------------------------------------------------------------------


def next_of(*tasks: Any) -> Any:
    return find_next(full_state(current_phase="execute", tasks=list(tasks)))


def test_the_task_in_progress_is_next() -> None:
    found = next_of(state_task(1), state_task(2, "in_progress"))
    assert found.task["id"] == "task-002"


def test_of_the_ready_ones_the_fewest_dependencies_then_the_lowest_number_win() -> None:
    done = [state_task(n, "done") for n in (1, 2)]
    assert (
        next_of(*done, state_task(3, "pending", 1, 2), state_task(4, "pending", 1)).task["id"]
        == "task-004"
    )
    assert (
        next_of(*done, state_task(1000), state_task(30), state_task(200)).task["id"] == "task-030"
    )
    assert next_of(state_task(2, "pending", 1), state_task(1)).task["id"] == "task-001"


def test_failed_dependencies_and_circles_are_reported() -> None:
    found = next_of(
        state_task(1, "failed"),
        state_task(2, "pending", 1),
        state_task(3, "pending", 4),
        state_task(4, "pending", 3),
    )
    assert found.task is None
    assert found.why == "every pending task waits for one that is not done"
    assert found.blocked == {"task-002": ["task-001"]}
    assert [sorted(cycle) for cycle in found.cycles] == [["task-003", "task-004"]]


@pytest.mark.parametrize(
    ("tasks", "why"),
    [
        ([], "there are no tasks yet"),
        ([state_task(1, "done"), state_task(2, "failed")], "every task is done or failed"),
    ],
)
def test_where_none_is_next_it_says_why(tasks: list[Any], why: str) -> None:
    assert (next_of(*tasks).task, next_of(*tasks).why) == (None, why)


def test_next_follows_the_plan_to_its_end(tmp_path: Path) -> None:
    with executing(tmp_path, task(3), task(1), task(2, 1, 3)) as loop:
        order = []
        while (found := loop.next().task) is not None:
            order.append(found["id"])
            finish(loop, found["id"])
    assert order == ["task-001", "task-003", "task-002"]


# --- objections ----------------------------------------------------------------------------------


def test_objections_are_raised_and_answered_by_number(tmp_path: Path) -> None:
    with begin(tmp_path, "research", "plan") as loop:
        loop.raise_objection(OBJECTION, agent="critic")
        loop.raise_objection({"objection": "no tests"})
        loop.answer_objection(1, "an index is task-004", resolved=True)
        first, second = loop.state["previous_objections"]
        assert first == {
            "iteration": 1,
            **OBJECTION,
            "response": "an index is task-004",
            "resolved": True,
        }
        assert list(first) == [
            "iteration",
            "objection",
            "response",
            "resolved",
            "objection_category",
            "severity",
        ]
        assert (second["response"], second["resolved"], second["severity"]) == (None, False, None)
        before = files(tmp_path)
        for number, response, words in (
            (0, "x", "allowed: 1 to 2"),
            (3, "x", "allowed: 1 to 2"),
            (1, " ", "response is empty"),
        ):
            with pytest.raises(UsageError, match=words):
                loop.answer_objection(number, response)
        bad: Any
        for bad in ({}, {"objection": ""}, {"objection": "x", "resolved": 1}, []):
            with pytest.raises(UsageError, match="the objection: "):
                loop.raise_objection(bad)
        assert files(tmp_path) == before
