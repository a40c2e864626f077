"""What several commands ask for before they do anything.

I1  Each raises `UsageError`, which names the rule, what the plan holds, and what would be allowed.
"""

from collections.abc import Sequence

from journal.errors import UsageError
from projections.loop_plan.rules import show
from projections.loop_plan.states import Json

LATER_THAN_1 = ("2", "3", "3b", "4", "5", "6", "7a", "7b")


def slug_of(state: Json) -> str:
    """Return the plan's name, as it stands in what a person is told to do."""
    return str(state.get("slug", "SLUG"))


def phase_of(state: Json) -> str:
    """Return the phase in which the plan stands."""
    return str(state.get("current_phase", ""))


def check_working(state: Json) -> None:
    """Refuse to change a plan that has ended, or was given up."""
    ended, phase, slug = state.get("completion_state"), phase_of(state), slug_of(state)
    if ended in ("shipped", "aborted") or phase in ("done", "aborted"):
        raise UsageError(
            f"plan {slug!r} has ended: completion_state {show(ended)}, phase {show(phase)}",
            key="completion_state",
            advice=f"Allowed: `journal plan resume {slug} --choose fresh` begins it anew, and "
            "keeps what there is.",
        )
    if ended == "abandoned":
        raise UsageError(
            f"plan {slug!r} was marked as abandoned",
            key="completion_state",
            advice=f"Allowed: `journal plan resume {slug} --choose resume` makes it active again.",
        )


def check_phase(state: Json, phases: Sequence[str], what: str) -> None:
    """Refuse what belongs to other phases than the plan's."""
    phase = phase_of(state)
    if phase not in phases:
        allowed = f"phase {phases[0]}" if len(phases) == 1 else f"phases {', '.join(phases)}"
        raise UsageError(
            f"{what} is not for phase {phase}", key="current_phase", advice=f"Allowed: {allowed}."
        )


def check_rigor_first(state: Json, what: str) -> None:
    """Refuse whatever else phase 2 does before the rigor is on disk."""
    if phase_of(state) == "2" and state.get("rigor") is None:
        raise UsageError(
            f"rigor is not set: in phase 2 it comes before {what}",
            key="rigor",
            advice=f"Allowed: `journal plan rigor {slug_of(state)} minimal|tdd-only|full` first; "
            "without a word after the slug it is tdd-only.",
        )


def check_filled(text: str, name: str) -> str:
    """Return a text that must say something."""
    if not text.strip():
        raise UsageError(f"{name}: it is empty", key=name, advice="Allowed: any text.")
    return text
