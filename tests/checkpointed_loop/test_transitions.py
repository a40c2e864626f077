"""Transitions, attempts, reasons and evidence: the rules, in their order."""

from typing import Any

import pytest

from journal.errors import UsageError
from projections.checkpointed_loop import commands, schema
from tests.checkpointed_loop.making import NOON, ROADS, Desk

REASON = {"failed": "no way", "blocked": "no owner"}


def refused(desk: Desk, key: str, words: str, **wish: Any) -> None:
    """Transition, expect a refusal by the name `key` that changes nothing."""
    before = desk.bytes()
    with pytest.raises(UsageError, match=words) as caught:
        desk.loop.transition(**wish)
    assert caught.value.key == key
    assert caught.value.advice
    assert desk.bytes() == before


@pytest.mark.parametrize("state", list(ROADS))
@pytest.mark.parametrize("to", [*schema.STATES, "done", "", "Running"])
def test_only_the_transitions_of_the_text_are_legal(desk: Desk, state: str, to: str) -> None:
    desk.stand_at(state)
    if to in schema.LEGAL.get(state, ()):
        desk.go(*([("pass",)] if to == "succeeded" else []))
        found = desk.loop.transition(to, reason=REASON.get(to))
        assert (found["state"], found["history"][-1]["to"]) == (to, to)
    elif state in schema.TERMINAL:
        refused(desk, "to", "terminal: no transition leaves it", to=to)
    else:
        refused(desk, "to", f"no transition leads from {state} to '{to}'", to=to)


def test_entering_running_uses_an_attempt_until_the_budget_is_exhausted(desk: Desk) -> None:
    desk.begin(max_attempts=2)
    assert desk.go(("running",))["attempts"] == 1
    assert desk.go(("verifying",))["attempts"] == 1
    assert desk.go(("running",), ("verifying",))["attempts"] == 2
    refused(desk, "to", "attempt budget exhausted: 2 of 2 are used", to="running")
    assert desk.go(("failed", "the same failure"))["attempts"] == 2


@pytest.mark.parametrize("to", ["failed", "blocked"])
@pytest.mark.parametrize("state", ["running", "verifying"])
def test_failed_and_blocked_need_a_reason_and_keep_it(desk: Desk, state: str, to: str) -> None:
    desk.stand_at(state)
    refused(desk, "reason", f"{to} needs a reason", to=to)
    refused(desk, "reason", "reason is empty", to=to, reason="  ")
    found = desk.loop.transition(to, reason="  waiting for the owner ")
    assert found["terminalReason"] == "waiting for the owner"
    assert found["history"][-1]["reason"] == "waiting for the owner"


def test_a_reason_is_kept_where_it_is_given_and_no_terminal_one_is_made_of_it(desk: Desk) -> None:
    desk.stand_at("verifying")
    found = desk.loop.transition("running", reason="a null row", next_action=" Fix it ")
    assert found["history"][-1]["reason"] == "a null row"
    assert found["nextAction"] == "Fix it"
    assert "terminalReason" not in found
    found = desk.go(("verifying",), ("pass",), ("succeeded", "it passes"))
    assert found["history"][-1]["reason"] == "it passes"
    assert "terminalReason" not in found
    assert found["nextAction"] == "Fix it"


def test_success_needs_a_pass(desk: Desk) -> None:
    desk.stand_at("verifying")
    words = "succeeded needs passing evidence"
    refused(desk, "evidence", words, to="succeeded")
    desk.go(("miss",))
    refused(desk, "evidence", words, to="succeeded")
    desk.go(("pass",))
    assert desk.loop.transition("succeeded")["state"] == "succeeded"


@pytest.mark.parametrize("step_ms", [1000, 1, 0, -1000])
def test_a_pass_of_an_earlier_attempt_does_not_let_a_later_one_succeed_whatever_the_clock_says(
    desk: Desk, step_ms: int
) -> None:
    desk.step_ms = step_ms
    desk.stand_at("verifying")
    desk.go(("pass",), ("running",), ("verifying",))
    refused(desk, "evidence", "since the last entry into verifying", to="succeeded")
    desk.go(("pass",))
    desk.go(("succeeded",))
    times = [entry["at"] for name in ("history", "evidence") for entry in desk.read()[name]]
    assert min(times) >= NOON
    assert [e["at"] for e in desk.read()["history"]] == sorted(
        e["at"] for e in desk.read()["history"]
    )


def test_the_rules_are_asked_in_their_order(desk: Desk) -> None:
    desk.begin(max_attempts=1)
    desk.go(("running",), ("verifying",))
    refused(desk, "to", "no transition leads", to="planned", reason="", next_action="")
    refused(desk, "to", "attempt budget", to="running", reason="", next_action="")
    refused(desk, "reason", "reason is empty", to="succeeded", reason="", next_action="")
    refused(desk, "next-action", "next-action is empty", to="succeeded", next_action=" ")
    refused(desk, "evidence", "passing evidence", to="succeeded")
    desk.go(("blocked", "no owner"))
    refused(desk, "to", "terminal", to="nowhere", reason="")


# --- evidence ------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [state for state in schema.STATES if state != "verifying"])
def test_evidence_is_recorded_only_while_verifying(desk: Desk, state: str) -> None:
    desk.stand_at(state)
    before = desk.bytes()
    with pytest.raises(UsageError, match=f"only while verifying, and the checkpoint is {state}"):
        desk.loop.evidence("npm test", "passed")
    assert desk.bytes() == before


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (("npm test", "pass"), "outcome"),
        (("npm test", "PASSED"), "outcome"),
        (("npm test", ""), "outcome"),
        ((" ", "passed"), "check"),
        (("npm test", "passed", "\t"), "artifact"),
    ],
)
def test_evidence_that_does_not_fit_is_refused_by_name(
    desk: Desk, given: tuple[str, ...], key: str
) -> None:
    desk.stand_at("verifying")
    before = desk.bytes()
    with pytest.raises(UsageError) as caught:
        desk.loop.evidence(given[0], given[1], artifact=given[2] if len(given) > 2 else None)
    assert caught.value.key == key
    assert desk.bytes() == before


def test_evidence_is_trimmed_and_stands_in_the_order_it_came(desk: Desk) -> None:
    desk.stand_at("verifying")
    desk.loop.evidence(" npm test ", "failed", artifact=" out.txt ")
    found = desk.loop.evidence("npm test", "passed")
    assert [list(entry.values())[:2] for entry in found["evidence"]] == [
        ["npm test", "failed"],
        ["npm test", "passed"],
    ]
    assert found["evidence"][0]["artifact"] == "out.txt"
    assert "artifact" not in found["evidence"][1]


# --- a checkpoint begins -------------------------------------------------------------------------


def test_a_new_checkpoint_has_these_members_in_this_order(desk: Desk) -> None:
    found = desk.begin(task=" migration ", next_action=" Inspect the fixture ")
    assert list(found.items()) == [
        ("schemaVersion", 1),
        ("taskId", "migration"),
        ("objective", "Move the users"),
        ("state", "planned"),
        ("attempts", 0),
        ("maxAttempts", 3),
        ("nextAction", "Inspect the fixture"),
        ("createdAt", NOON),
        ("updatedAt", NOON),
        ("history", []),
        ("evidence", []),
    ]


@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        ("task", " ", "task"),
        ("objective", "", "objective"),
        ("next_action", "\n", "next-action"),
        ("max_attempts", 0, "max-attempts"),
        ("max_attempts", -1, "max-attempts"),
        ("max_attempts", 2**53, "max-attempts"),
        ("max_attempts", 1.0, "max-attempts"),
        ("max_attempts", True, "max-attempts"),
        ("max_attempts", "3", "max-attempts"),
    ],
)
def test_what_does_not_fit_is_refused_by_name_and_nothing_is_made(
    desk: Desk, name: str, value: Any, key: str
) -> None:
    with pytest.raises(UsageError) as caught:
        desk.begin(**{name: value})
    assert caught.value.key == key
    assert desk.bytes() == {}


@pytest.mark.parametrize("state", list(ROADS))
def test_init_on_a_checkpoint_that_is_there_is_refused(desk: Desk, state: str) -> None:
    desk.stand_at(state)
    before = desk.bytes()
    with pytest.raises(UsageError, match="there is a checkpoint here already") as caught:
        desk.begin()
    assert "--force" in caught.value.advice
    assert desk.bytes() == before


def test_force_begins_a_new_one_and_the_history_stays_in_the_log(desk: Desk) -> None:
    desk.stand_at("failed")
    desk.ms += 1000
    found = desk.begin(task="second", force=True)
    assert (found["taskId"], found["state"], found["history"]) == ("second", "planned", [])
    assert found["createdAt"] > NOON
    assert "terminalReason" not in found
    assert desk.types() == ["initialized", "transitioned", "transitioned", "reinitialized"]
    assert desk.read() == found


def test_the_updated_time_moves_with_every_event_and_the_created_one_never(desk: Desk) -> None:
    created = desk.begin()["createdAt"]
    last = created
    for step in (("running",), ("verifying",), ("miss",), ("pass",), ("succeeded",)):
        found = desk.go(step)
        assert found["updatedAt"] > last
        assert found["createdAt"] == created
        last = found["updatedAt"]


def test_commands_change_nothing_themselves(desk: Desk) -> None:
    state = desk.stand_at("verifying")
    before = schema.render(state)
    commands.transition(state, "running", "x", "y")
    commands.record_evidence(state, "x", "passed")
    assert schema.render(state) == before
