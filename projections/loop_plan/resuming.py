"""Commands that take up a plan again, and what is said before.

I1  `resume` goes on where the plan stands, `restart` goes to phase 1 of the same iteration,
    `fresh` begins at phase 0 of iteration 1 with a new `created_at`, in the same journal.
I2  A failed inventory is settled first: `retry` stays in 3b, `skip` goes on to 4.
I3  A plan that has ended can only be started afresh; an abandoned one becomes active again.
"""

import msgspec

from journal.errors import UsageError
from projections.loop_plan import events as e
from projections.loop_plan.guards import check_working, phase_of, slug_of
from projections.loop_plan.rules import show
from projections.loop_plan.states import Json

Events = list[msgspec.Struct]

CHOICES = ("resume", "restart", "fresh")
INVENTORY_CHOICES = ("retry", "skip")


def announce(state: Json) -> str:
    """Say where the plan stands, as the text has it; the last action is the newest gate choice."""
    return (
        f"Resuming {slug_of(state)} from iteration {state.get('iteration')}, phase "
        f"{phase_of(state)}. Last action: {last_action(state)}."
    )


def last_action(state: Json) -> str:
    """Return the newest choice at the gate, or `none yet`."""
    history: list[Json] = state.get("loop_gate_history") or []
    return str(history[-1].get("choice", "none yet")) if history else "none yet"


def ask(state: Json) -> str:
    """Return the question that comes after the announcement, with the ways to answer it."""
    slug = slug_of(state)
    if _failed_inventory(state):
        return (
            f"The inventory of phase 3b failed: {state.get('3b_error', 'no reason given')}. Retry "
            f"or skip it? `journal plan resume {slug} --choose retry|skip` (or restart|fresh)"
        )
    if _has_ended(state):
        return (
            f"It has ended ({state.get('completion_state')}). Start fresh? "
            f"`journal plan resume {slug} --choose fresh`"
        )
    return (
        f"Resume from phase {phase_of(state)}, restart the current iteration, or start fresh? "
        f"`journal plan resume {slug} --choose {'|'.join(CHOICES)}`"
    )


def resume(state: Json, choice: str, *, backup: str = "") -> Events:
    """Take up the plan as the user chose; `backup` is where the state before `fresh` is kept."""
    if choice == "fresh":
        return [e.StartedAfresh(backup=backup)]
    if choice not in (*CHOICES, *INVENTORY_CHOICES):
        allowed = ", ".join((*CHOICES, *INVENTORY_CHOICES))
        raise UsageError(f"choose: {choice!r} is none", key="choose", advice=f"Allowed: {allowed}.")
    if _has_ended(state):
        check_working(state)
    failed = _failed_inventory(state)
    if choice in INVENTORY_CHOICES and not failed:
        raise UsageError(
            f"choose: {choice!r} is for a failed inventory; the phase is {phase_of(state)}, "
            f"3b_status {show(state.get('3b_status'))}",
            key="choose",
            advice=f"Allowed: {', '.join(CHOICES)}.",
        )
    match choice:
        case "retry":
            return [e.InventoryRetried()]
        case "skip":
            return [e.InventorySkipped()]
        case "restart":
            return [e.IterationRestarted(iteration=state["iteration"])]
        case _:
            if failed:
                raise UsageError(
                    f"choose: the inventory failed ({state.get('3b_error', 'why is not said')}) "
                    "and is settled first",
                    key="choose",
                    advice="Allowed: retry, skip, restart, fresh.",
                )
            return [e.Resumed(phase=phase_of(state))]


def _failed_inventory(state: Json) -> bool:
    return phase_of(state) == "3b" and state.get("3b_status") == "failed"


def _has_ended(state: Json) -> bool:
    return phase_of(state) in ("done", "aborted") or state.get("completion_state") in (
        "shipped",
        "aborted",
    )
