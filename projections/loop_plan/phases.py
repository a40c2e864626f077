"""Commands on the phases of a plan: the steps, the gate at 5, the inventory at 3b.

    0 → 1 → 2 → 3 → 3b → 4 → 5 ─ gate ─→ 6 → 7a → 7b → done      any → aborted
                3 → 4        ├─ More research → 3         6 → 5 where there is drift
                             ├─ More exploration → 1
                             └─ More clarification → 2    these three raise `iteration`

I1  A command looks at the state and returns events, or raises `UsageError` with the rule, the
    value and what would be allowed; it changes nothing itself.
I2  Gates bind steps, never states: `enter_phase` asks them, `schema.check` does not.
"""

from typing import Any

import msgspec

from journal.errors import UsageError
from projections.loop_plan import events as e
from projections.loop_plan.execution import abort, ship, start_execution
from projections.loop_plan.guards import check_filled, check_phase, check_working, phase_of, slug_of
from projections.loop_plan.placeholders import find_placeholders
from projections.loop_plan.rules import show
from projections.loop_plan.schema import PHASES
from projections.loop_plan.states import Json

Events = list[msgspec.Struct]

STEPS: dict[str, tuple[str, ...]] = {
    "0": ("1",),
    "1": ("2",),
    "2": ("3",),
    "3": ("3b", "4"),
    "3b": ("4",),
    "4": ("5",),
    "5": (),
    "6": ("5", "7a"),
    "7a": ("7b",),
    "7b": ("done",),
}
"""From where to where `enter_phase` leads; 5 is left by the gate, every phase by `abort`."""

SHIP_IT = "Ship it"
GATE = {SHIP_IT: "6", "More research": "3", "More exploration": "1", "More clarification": "2"}
"""Choice at the gate -> where it leads."""


def enter_phase(state: Json, phase: str) -> Events:
    """Take one step of the graph; `done` ships, `7b` begins the execution, `aborted` aborts."""
    here = phase_of(state)
    if phase not in PHASES:
        raise UsageError(
            f"phase: {phase!r} is none", key="phase", advice=f"Allowed: {', '.join(PHASES)}."
        )
    if phase == "aborted":
        return abort(state)
    check_working(state)
    if here == "5":
        raise UsageError(
            f"phase 5 → {phase}: phase 5 is left by the user's choice at the gate",
            key="phase",
            advice=f"Allowed: `journal plan gate {slug_of(state)} CHOICE` with {_choices()}.",
        )
    steps = STEPS.get(here, ())
    if phase not in steps:
        allowed = " or ".join([*steps, "aborted"])
        raise UsageError(
            f"phase {here} → {phase} is not a step of the plan",
            key="phase",
            advice=f"Allowed from phase {here}: {allowed}.",
        )
    return _step(state, here, phase)


def _step(state: Json, here: str, phase: str) -> Events:
    match here, phase:
        case "2", "3":
            check_goal(state)
        case "3b", "4" if state.get("3b_status") == "failed":
            raise UsageError(
                f"the inventory failed ({state.get('3b_error', 'why is not said')}), "
                "so phase 3b stays",
                key="3b_status",
                advice=f"Allowed: `journal plan resume {slug_of(state)} --choose retry` or `skip`.",
            )
        case "6", _:
            _check_drift_gate(state, phase)
        case "7a", _:
            return start_execution(state)
        case "7b", _:
            return ship(state)
        case _:
            pass
    return [e.PhaseEntered(phase=phase)]


def check_goal(state: Json) -> None:
    """Refuse to leave phase 2 forward without rigor, criteria and truths that can be checked."""
    faults = missing_of_goal(state)
    if faults:
        raise UsageError(
            "phase 2 → 3 is not open yet: " + "; ".join(faults),
            key="phase",
            advice="Allowed: rigor set, and success_criteria and must_haves.truths each with at "
            "least one sentence that can be checked (`journal plan goal "
            f"{slug_of(state)} FILE`): no TBD, TODO, <…>, …; and no better, improve, "
            "good performance in a sentence without a number.",
        )


def missing_of_goal(state: Json) -> list[str]:
    """Say what phase 2 still lacks to be left, one sentence each."""
    faults: list[str] = []
    if state.get("rigor") is None:
        faults.append("rigor is null")
    must_haves: Json = state.get("must_haves") or {}
    for place, sentences in (
        ("success_criteria", state.get("success_criteria")),
        ("must_haves.truths", must_haves.get("truths")),
    ):
        if not sentences:
            faults.append(f"{place} is empty")
        faults += find_placeholders(place, sentences or [])
    return faults


def _check_drift_gate(state: Json, phase: str) -> None:
    found, slug = state.get("drift_check"), slug_of(state)
    if found is None:
        raise UsageError(
            f"phase 6 → {phase}: drift_check is null, the check has not run",
            key="drift_check",
            advice=f"Allowed: `journal plan drift {slug} clean|FILE` first.",
        )
    clean = found == "clean"
    if phase == "5" and clean:
        raise UsageError(
            'phase 6 → 5: drift_check is "clean"',
            key="drift_check",
            advice="Allowed: back to 5 only where there is drift; on with 7a.",
        )
    if phase == "7a" and not clean and state.get("exit_signal_source") != "drift_override":
        raise UsageError(
            'phase 6 → 7a: drift_check is "drift", and nobody has overridden it',
            key="drift_check",
            advice=f"Allowed: back to phase 5, or `journal plan override {slug} --category C "
            "--why T` and then 7a.",
        )


# --- the gate ------------------------------------------------------------------------------------


def choose_gate(state: Json, choice: str, source: str = "gate") -> Events:
    """Record what the user chose at the gate of phase 5, and go where that leads.

    `source` is `gate` for one of its four choices, or `keyword` for any text that means to ship.
    """
    check_working(state)
    check_phase(state, ("5",), "the gate")
    check_filled(choice, "choice")
    if source == "keyword":
        return _leave(state, choice, source)
    if source != "gate":
        raise UsageError(
            f"source: {source!r} is not one of the gate's",
            key="source",
            advice="Allowed: gate, keyword; to give up there is `journal plan abort`, and a drift "
            "is overridden by `journal plan override`.",
        )
    named = {name.lower(): name for name in GATE}.get(choice.strip().lower())
    if named is None:
        raise UsageError(
            f"choice: {choice!r} is none of the gate's",
            key="choice",
            advice=f"Allowed: {_choices()}; another text that means to ship: --source keyword.",
        )
    if named == SHIP_IT:
        return _leave(state, named, source)
    iteration = int(state["iteration"])
    return [
        e.GateChosen(iteration=iteration, choice=named),
        e.IterationStarted(iteration=iteration + 1),
        e.PhaseEntered(phase=GATE[named]),
    ]


def _leave(state: Json, signal: str, source: str) -> Events:
    return [
        e.GateChosen(iteration=state["iteration"], choice=signal),
        e.ExitSignalled(signal=signal, source=source),
        e.PhaseEntered(phase=GATE[SHIP_IT]),
    ]


def _choices() -> str:
    return ", ".join(show(name) for name in GATE)


# --- the inventory -------------------------------------------------------------------------------


def record_inventory(state: Json, result: str, error: str = "") -> Events:
    """Record how the scan of phase 3b went: `ok` goes on to 4, `failed` stays, with the error.

    `ok` after a failure says that it was tried again.
    """
    check_working(state)
    check_phase(state, ("3b",), "the inventory")
    if result == "failed":
        return [e.InventoryFailed(error=check_filled(error, "error"))]
    if result != "ok" or error:
        value: Any = result if result != "ok" else f"ok --error {error}"
        raise UsageError(
            f"inventory: {value!r} is not a result",
            key="result",
            advice="Allowed: ok, or failed with --error TEXT.",
        )
    retried: Events = [e.InventoryRetried()] if state.get("3b_status") == "failed" else []
    return [*retried, e.PhaseEntered(phase="4")]
