"""Which phase follows which, and what entering one does.

    init → research → plan → critique → execute → verify → complete
    critique → plan, execute → plan, verify → execute | plan; any → init by a reset

I1  Leaving init needs a feature's name; complete needs every task done or failed.
I2  Critique sends the plan back at most until iteration 3; then a person decides.
"""

from typing import Any

from journal.errors import UsageError
from projections.agloop.schema import MOST_ITERATIONS, PHASES
from projections.agloop.shape import show

Json = dict[str, Any]

FOLLOWING = {
    "init": ("research",),
    "research": ("plan",),
    "plan": ("critique",),
    "critique": ("execute", "plan"),
    "execute": ("verify", "plan"),
    "verify": ("execute", "complete", "plan"),
    "complete": (),
}
PLANNED = ("plan", "critique", "execute", "verify")
"""The phases that look for plan.yaml."""


def check_transition(state: Json, phase: str, *, user_decision: str = "") -> None:
    """Raise `UsageError` where the loop may not go on to `phase` (I1, I2)."""
    current = state["current_phase"]
    following = FOLLOWING[current]
    if phase not in PHASES:
        raise UsageError(f"phase {show(phase)}; allowed: {' | '.join(PHASES)}", key="phase")
    if phase not in following:
        allowed = " | ".join(following) or "nothing but a reset"
        advice = "`journal agloop reset` goes back to init." if phase == "init" else ""
        raise UsageError(
            f"phase {phase!r} does not follow {current!r}; allowed: {allowed}",
            key="phase",
            advice=advice,
        )
    if current == "init" and not state["feature_name"].strip():
        raise UsageError(
            "feature_name is empty, and leaving init needs it",
            key="feature_name",
            advice="Set it: journal agloop feature 'Add search API'",
        )
    if phase == "complete":
        _check_finished(state)
    _check_iteration(state, phase, user_decision)


def _check_finished(state: Json) -> None:
    left = [task for task in state["tasks"] if task["status"] in ("pending", "in_progress")]
    if left:
        named = ", ".join(f"{task['id']} ({task['status']})" for task in left[:10])
        raise UsageError(
            f"complete is for loops whose tasks are all done or failed; left: {named}",
            key="tasks",
            advice="Finish them, or give them up: journal agloop task fail ID --reason T",
        )


def _check_iteration(state: Json, phase: str, user_decision: str) -> None:
    last = is_last_iteration(state, phase)
    if last and not user_decision.strip():
        raise UsageError(
            f"iteration is {state['iteration']}, the last one; planning once more is for a person "
            "to decide",
            key="user_decision",
            advice="Ask, and give the answer: journal agloop phase plan --user-decision TEXT",
        )
    if user_decision and not last:
        raise UsageError(
            f"a user's decision is for going back from critique to plan at iteration "
            f"{MOST_ITERATIONS}; this is {state['current_phase']} to {phase} at "
            f"{state['iteration']}",
            key="user_decision",
        )


def is_last_iteration(state: Json, phase: str) -> bool:
    """Say whether entering `phase` needs a person's decision (I2)."""
    return (
        state["current_phase"] == "critique"
        and phase == "plan"
        and state["iteration"] >= MOST_ITERATIONS
    )


def enter(state: Json, phase: str, time: str) -> None:
    """Change a state to one that has just entered `phase`, by its place in the table.

    The last entry of the history is closed and one opened. Planning anew forgets the objections
    and counts from 1; planning again, after critique, keeps them and counts on.
    """
    current = state["current_phase"]
    if phase == "plan" and current != "critique":
        state["iteration"] = 1
        state["previous_objections"] = []
    elif phase == "plan":
        state["iteration"] = min(state["iteration"] + 1, MOST_ITERATIONS)
    elif phase == "complete":
        state["current_task_id"] = None
        state["stop_hook_active"] = False
    open_entry(state, phase, time)


def open_entry(state: Json, phase: str, time: str) -> None:
    """Make `phase` the current one: close the last entry of the history, open the next."""
    history = state["phase_history"]
    if history and history[-1].get("exited_at") is None:
        history[-1]["exited_at"] = time
    history.append({"phase": phase, "entered_at": time, "exited_at": None})
    state["current_phase"] = phase
