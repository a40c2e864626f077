"""The projection `loop_plan`: what the events of a plan mean, and what may be written by hand.

I1  The state is `{}` before the plan begins; the file shows it from `plan_started` on.
I2  Hand-written changes of the file are adopted: the text tells its users to write it. They pass
    `check`, change nothing that never changes, and shorten or rewrite no append-only list.
"""

from typing import Any

from journal.errors import UsageError
from projections.loop_plan.applying import APPLY
from projections.loop_plan.rules import show
from projections.loop_plan.schema import check
from projections.loop_plan.states import GROWING, TEST_TIMES, Json
from projections.patch import equal
from projections.projection import Projection

NAME = "loop_plan"

_IMMUTABLE = ("slug", "version", "created_at")
_MISSING = object()


def check_adoption(old: Any, new: Any) -> None:
    """Raise `UsageError` where a file changed by hand may not be adopted (I2)."""
    for name in _IMMUTABLE:
        if name in old and not equal(old[name], new.get(name)):
            raise _refuse(name, new.get(name), f"never changes; it is {show(old[name])}")
    if old.get("rigor") is not None and new.get("rigor") != old["rigor"]:
        raise _refuse("rigor", new.get("rigor"), f"was set to {show(old['rigor'])} and stays so")
    for name in GROWING:
        before, after = old.get(name, []), new.get(name, [])
        if not equal(before, after[: len(before)]):
            what = f"only grows; its first {len(before)} items stay as they are"
            raise _refuse(name, after, what)
    _check_tests(old.get("tests_state", []), new.get("tests_state", []))


def _check_tests(old: list[Json], new: list[Json]) -> None:
    after = {entry["task_id"]: entry for entry in new}
    for entry in old:
        task = entry["task_id"]
        if task not in after:
            raise _refuse("tests_state", new, f"only grows; task {task!r} is gone")
        for name in TEST_TIMES:
            before = entry.get(name)
            if before is not None and after[task].get(name) != before:
                where = f"tests_state, task {task!r}: {name}"
                raise _refuse(where, after[task].get(name), f"is set once; it is {show(before)}")


def _refuse(key: str, value: Any, why: str) -> UsageError:
    return UsageError(f"{key}: {show(value)} cannot be adopted: it {why}", key=key)


PROJECTION = Projection(
    NAME,
    events=APPLY,
    initial=dict,
    check=check,
    adopts=True,
    check_adoption=check_adoption,
    makes_json=True,
)
