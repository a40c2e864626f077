"""The rigor and the goal."""

from collections.abc import Callable
from typing import Any

import pytest

from journal.errors import UsageError
from projections.loop_plan import goal as gl
from projections.loop_plan import history
from projections.loop_plan.states import Json
from tests.loop_plan.life import GOAL, after, ready_in, says, state_in

LATE = ("2", "3", "3b", "4", "5", "6", "7a", "7b")


@pytest.mark.parametrize("rigor", ["minimal", "tdd-only", "full"])
@pytest.mark.parametrize("phase", LATE)
def test_rigor_is_set_once_in_any_phase_from_2_on(phase: str, rigor: str) -> None:
    state = state_in(phase)
    events = gl.set_rigor(state, rigor)
    assert len(events) == 1
    found = after(state, events)
    assert found["rigor"] == rigor
    assert gl.set_rigor(found, rigor) == []
    for other in {"minimal", "tdd-only", "full"} - {rigor}:
        with pytest.raises(UsageError) as caught:
            gl.set_rigor(found, other)
        assert says(caught.value, repr(rigor), "never changes", repr(other))


def test_unanswered_question_gives_tdd_only_and_says_so() -> None:
    state = state_in("2")
    [event] = gl.set_rigor(state)
    found = after(state, [event])
    assert found["rigor"] == "tdd-only"
    assert getattr(event, "unanswered") is True  # noqa: B009 - the struct's own field
    assert gl.set_rigor({**found, "rigor": "full"}) == [], "an answer of before counts"


@pytest.mark.parametrize("phase", ["0", "1"])
def test_rigor_is_not_set_before_phase_2(phase: str) -> None:
    with pytest.raises(UsageError, match="phases 2, 3"):
        gl.set_rigor(state_in(phase), "full")


@pytest.mark.parametrize("rigor", ["", "strict", "Full"])
def test_rigor_that_is_none_is_refused(rigor: str) -> None:
    with pytest.raises(UsageError, match="minimal, tdd-only, full"):
        gl.set_rigor(state_in("2"), rigor)


def test_rigor_comes_before_anything_else_of_phase_2() -> None:
    state = state_in("2")
    question = {"questions": [{"question": "Which screens?"}]}
    adr = {"adr_id": "1", "slug": "a", "status": "proposed"}
    commands: list[Callable[[Json], object]] = [
        lambda state: gl.set_goal(state, GOAL),
        lambda state: history.add(state, "clarification", question),
        lambda state: history.add(state, "adr", adr),
    ]
    for command in commands:
        with pytest.raises(UsageError) as caught:
            command(state)
        assert says(caught.value, "rigor is not set", "journal plan rigor")
        assert command({**state, "rigor": "full"})


def test_goal_is_set_with_criteria_and_must_haves() -> None:
    state = state_in("2", rigor="full")
    found = after(state, gl.set_goal(state, GOAL))
    assert {name: found[name] for name in GOAL} == GOAL


def test_part_that_is_left_out_stays_as_it_is() -> None:
    state = ready_in("4")
    found = after(state, gl.set_goal(state, {"goal": "Another goal."}))
    assert found["goal"] == "Another goal."
    assert found["success_criteria"] == GOAL["success_criteria"]
    assert found["must_haves"] == GOAL["must_haves"]


def test_goal_may_hold_placeholders_until_phase_2_is_left() -> None:
    state = state_in("2", rigor="full")
    assert after(state, gl.set_goal(state, {"success_criteria": ["TBD"]}))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({}, "says nothing"),
        ([], "goal"),
        ({"goal": ""}, "it is empty"),
        ({"goal": None}, "goal"),
        ({"goals": "x"}, "goals"),
        ({"success_criteria": "x"}, "success_criteria"),
        ({"success_criteria": [1]}, "success_criteria[0]"),
        ({"must_haves": {"truth": []}}, "truth"),
        ({"must_haves": {"artifacts": [{"path": "a"}]}}, "provides"),
        ({"must_haves": {"artifacts": [{"path": "", "provides": "a"}]}}, "must_haves.artifacts[0]"),
        ({"must_haves": {"key_links": [{"from": "a", "to": "b"}]}}, "via"),
    ],
)
def test_goal_that_does_not_fit_is_refused(value: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        gl.set_goal(ready_in("2"), value)
    assert said in str(caught.value)


@pytest.mark.parametrize("phase", ["0", "1"])
def test_goal_is_not_set_before_phase_2(phase: str) -> None:
    with pytest.raises(UsageError, match="the goal is not for phase"):
        gl.set_goal(state_in(phase), GOAL)


def test_rigor_stays_over_iterations() -> None:
    state: Json = ready_in("2", iteration=2)
    assert after(state, gl.set_goal(state, {"goal": "x"}))["rigor"] == "tdd-only"
