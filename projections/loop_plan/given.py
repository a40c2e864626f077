"""What a caller gives as JSON, read as the data of an event.

I1  Nothing is guessed and nothing passed over: a member that is missing, unknown or of another
    kind is refused by name, with the list of those that are allowed.
I2  The iteration of an entry is the plan's own unless it says an earlier one.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from journal import codec, unfit
from journal.errors import UsageError
from projections.loop_plan.rules import is_record, is_time, show
from projections.loop_plan.schema import VERDICTS, VERIFICATION
from projections.loop_plan.states import Json

Given = TypeVar("Given", bound=msgspec.Struct)


def read_as(value: Any, event: type[Given], what: str) -> Given:
    """Return a JSON value as the data of `event`; raises `UsageError` (I1)."""
    codec.encode_value(value, what=what)
    try:
        return msgspec.convert(value, event)
    except msgspec.ValidationError as error:
        said = unfit.say(error, "the whole")
        raise UsageError(
            f"{what}: {said}", key=what, advice=f"Allowed: {_shape(event)}."
        ) from error


def read_entry(state: Json, value: Any, event: type[Given], what: str, **filled: Any) -> Given:
    """Return an entry of an iteration; `filled` and the iteration are the plan's own (I2)."""
    if not is_record(value):
        raise UsageError(
            f"{what}: {show(value)} is not an object", key=what, advice=f"Allowed: {_shape(event)}."
        )
    now = int(state.get("iteration", 1))
    entry = read_as({"iteration": now, **filled, **value}, event, what)
    iteration: int = getattr(entry, "iteration", now)
    if not 1 <= iteration <= now:
        raise UsageError(
            f"{what}: iteration {iteration} is not one of this plan's",
            key="iteration",
            advice=f"Allowed: 1 to {now}; without it {now} is meant.",
        )
    check_times(value, ("timestamp",))
    return entry


def check_times(value: Json, names: Sequence[str]) -> None:
    """Refuse times that are none."""
    for name in names:
        if value.get(name) is not None and not is_time(value[name]):
            raise UsageError(
                f"{name}: {show(value[name])} is not a time",
                key=name,
                advice="Allowed: a time such as 2026-03-01T14:45:00Z.",
            )


def read_verdict(value: Any) -> Json:
    """Return a verdict of the verifier: status, score, gaps.

    Raises `UsageError` for what is none, and for a signature: a person signs by `sign-off`.
    """
    VERIFICATION.check(value, "verification")
    codec.encode_value(value, what="verification")
    found: Json = value
    unknown = [name for name in found if name not in ("status", "score", "gaps")]
    if unknown:
        raise UsageError(
            f"verification: {show(unknown[0])} is not part of a verdict",
            key=f"verification.{unknown[0]}",
            advice="Allowed: status, score, gaps; a signature is given by `sign-off`.",
        )
    if found.get("status") is None:
        raise UsageError(
            "verification.status: a verdict needs one",
            key="verification.status",
            advice=f"Allowed: {', '.join(VERDICTS)}.",
        )
    return {"score": None, "gaps": [], **found}


def _shape(event: type[msgspec.Struct]) -> str:
    fields = msgspec.structs.fields(event)
    filled = ("iteration", "phase")
    optional = (not field.required or field.name in filled for field in fields)
    names = [f.encode_name + ("?" if o else "") for f, o in zip(fields, optional, strict=True)]
    return f"an object with {', '.join(names)} (? may be left out)"
