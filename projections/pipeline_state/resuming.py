"""The resume table: what `resume` does with a run as it was found.

    state found                     what is done
    running, under an hour old      refused: an active run
    running, an hour old or more    crashed: --choose resume | restart | abort
    completed                       said; nothing changes
    escalated, failed               only with --confirm: failed phases pending again, running
    its file was damaged            only with --confirm, whatever else holds
    moved out of its scope          refused: the root that is recomputed is not the one recorded

    resume    running phases -> pending; outputs stay
    restart   every phase -> pending, outputs [], error null
    abort     failed, metadata.abort_reason

I1  Nothing resumes by itself: a crashed run needs a choice, everything worse a person's word.
I2  A tier is changed only where it differs, together with the resume, in one append.
"""

from typing import Any, Literal, NamedTuple

import msgspec

from journal.errors import UsageError
from projections.pipeline_state import inputs
from projections.pipeline_state.events import RunAborted, RunRestarted, RunResumed, TierChanged
from projections.pipeline_state.facts import Facts

Condition = Literal["live", "crashed", "completed", "escalated", "failed"]
CHOICES = ("resume", "restart", "abort")

_WAYS = (
    "Choose: --choose resume goes on where it stopped (running phases become pending), "
    "--choose restart begins anew, --choose abort gives it up."
)


class Wish(NamedTuple):
    """What the caller of `resume` wants; `profile` is the platform profile of `tier`."""

    choose: str | None = None
    confirm: bool = False
    tier: str | None = None
    profile: Any = None
    reason: str | None = None


def condition(state: Any, facts: Facts) -> Condition:
    """Say what a run is: live or crashed where it is running, else its status."""
    status: Condition | Literal["running"] = state["status"]
    if status != "running":
        return status
    return "crashed" if facts.is_old else "live"


def resume(state: Any, facts: Facts, wish: Wish, *, moved: str = "") -> list[msgspec.Struct]:
    """Return the events of a resume, none for a completed run; `moved` as of `places.say_moved`.

    Raises `UsageError` as the table says.
    """
    if wish.choose is not None and wish.choose not in CHOICES:
        raise UsageError(
            f"the choice is {wish.choose!r}", key="choose", advice=f"{_WAYS} Nothing was changed."
        )
    found = condition(state, facts)
    if found == "completed":
        return []
    if found == "live":
        raise refuse_live(facts)
    if moved:
        raise UsageError(
            moved,
            key="scope_root_dir",
            advice="Move it back under its root, or start a new run; nothing was changed.",
        )
    if facts.damaged and not wish.confirm:
        raise UsageError(
            f"corruption detected: the state file was found damaged ({facts.damaged}) and written "
            "again from the log; such a run is not resumed by itself",
            key="confirm",
            advice="Escalate to a human: look at `journal pipeline status` and at quarantine/ in "
            "the run's journal, then add --confirm.",
        )
    if found == "crashed":
        return _after_crash(state, facts, wish)
    return _after_end(state, wish)


def refuse_live(facts: Facts, run: str = "this run") -> UsageError:
    """Return the error for a start while a run of the name is live."""
    return UsageError(
        f"active run detected: {run} is running, and its last event is {say_age(facts.age_ms)} "
        "old; no new instance is started",
        key="status",
        advice="Wait until it ends, or until it has been silent for an hour.",
    )


def _after_crash(state: Any, facts: Facts, wish: Wish) -> list[msgspec.Struct]:
    if wish.choose is None:
        raise UsageError(
            f"the run is treated as crashed: it is running, and its last event is "
            f"{say_age(facts.age_ms)} old",
            key="choose",
            advice=_WAYS,
        )
    if wish.choose == "abort":
        reason = f"aborted after a crash: nothing was heard for {say_age(facts.age_ms)}"
        return [RunAborted(inputs.check_text(wish.reason or reason, "reason"))]
    event = RunResumed if wish.choose == "resume" else RunRestarted
    return [*_change_tier(state, wish), event(confirmed=wish.confirm)]


def _after_end(state: Any, wish: Wish) -> list[msgspec.Struct]:
    status = state["status"]
    if not wish.confirm:
        raise UsageError(
            f"the run is {status}; it is never resumed without a person's word",
            key="confirm",
            advice="Find out why, then add --confirm: failed phases become pending again.",
        )
    if wish.choose not in (None, "resume"):
        raise UsageError(
            f"--choose {wish.choose} is for a crashed run, and this one is {status}",
            key="choose",
            advice="Leave it out; --confirm alone makes the run running again.",
        )
    return [*_change_tier(state, wish), RunResumed(confirmed=True)]


def _change_tier(state: Any, wish: Wish) -> list[TierChanged]:
    """Return the change to the wished tier, none where it is the present one (I2)."""
    if wish.tier is None:
        if wish.profile is not None:
            raise UsageError(
                "a profile is given without its tier", key="tier", advice="Add --tier."
            )
        return []
    inputs.check_text(wish.tier, "tier")
    present = state["metadata"].get("runtime_tier")
    if present == wish.tier:
        return []
    if wish.profile is None:
        raise UsageError(
            f"tier {wish.tier!r} is not the present one ({present!r}), and its profile is missing",
            key="profile",
            advice="Add --profile FILE, the platform profile of that tier.",
        )
    profile = inputs.check_profile(wish.profile)
    return [
        TierChanged(
            source=present,
            to=wish.tier,
            platform_profile=profile,
            isolation_warning=inputs.join_warnings(profile),
        )
    ]


def say_age(age_ms: int) -> str:
    """Return an age for people, such as `2 h 5 min`."""
    if age_ms < 0:
        return "less than nothing (its time is in the future)"
    minutes, hours = age_ms // 60_000 % 60, age_ms // 3_600_000
    if not hours:
        return f"{minutes} min" if minutes else f"{age_ms / 1000:.0f} s"
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} days"
