"""Commands on what a plan is to reach: the rigor, and the goal with its criteria.

I1  The rigor is an event of its own, on disk before anything else of phase 2; once set it stays.
I2  A goal may be written with placeholders: the gate out of phase 2 finds them, not this.
"""

from typing import Any

import msgspec

from journal.errors import UsageError
from projections.loop_plan import events as e
from projections.loop_plan.given import read_as
from projections.loop_plan.guards import (
    LATER_THAN_1,
    check_filled,
    check_phase,
    check_rigor_first,
    check_working,
)
from projections.loop_plan.schema import MUST_HAVES, RIGORS
from projections.loop_plan.states import Json

DEFAULT_RIGOR = "tdd-only"
"""Where the question goes unanswered."""


def set_rigor(state: Json, rigor: str | None = None) -> list[msgspec.Struct]:
    """Set the rigor, once, in any phase from 2 on; None: the question went unanswered.

    The same rigor again makes no event.
    """
    check_working(state)
    wanted = rigor if rigor is not None else DEFAULT_RIGOR
    if wanted not in RIGORS:
        raise UsageError(
            f"rigor: {wanted!r} is none", key="rigor", advice=f"Allowed: {', '.join(RIGORS)}."
        )
    known = state.get("rigor")
    if known == wanted or (known is not None and rigor is None):
        return []
    if known is not None:
        raise UsageError(
            f"rigor: it was set to {known!r} and never changes, so not to {wanted!r}",
            key="rigor",
            advice=f"Allowed: {known}. A plan that is started afresh is asked again.",
        )
    check_phase(state, LATER_THAN_1, "the rigor")
    return [e.RigorSet(rigor=wanted, unanswered=rigor is None)]


def set_goal(state: Json, value: Any) -> list[msgspec.Struct]:
    """Set the goal, the success criteria, the must-haves; what is left out stays as it is."""
    check_working(state)
    check_phase(state, LATER_THAN_1, "the goal")
    check_rigor_first(state, "the goal")
    found = read_as(value, e.GoalSet, "goal")
    if found == e.GoalSet():
        raise UsageError(
            "goal: it says nothing",
            key="goal",
            advice="Allowed: one or more of goal, success_criteria, must_haves.",
        )
    if isinstance(found.goal, str):
        check_filled(found.goal, "goal")
    if isinstance(found.must_haves, e.MustHaves):
        MUST_HAVES.check(value["must_haves"], "must_haves")
    return [found]
