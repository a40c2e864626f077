"""A row of the table of faults: what is tried, how often, and what came of it.

I1  A row is a module `tests/faults/row_*.py` with a constant `ROW`; nothing else registers it.
I2  A law that does not hold is raised (`Violation`, or any other exception): a row that returns
    has held. What of it could not be tried is in `Outcome.skipped`, and why.

    ROW = Row(5, "kill -9", run)          # run(tier) -> Outcome
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

Tier = Literal["quick", "full"]
"""`quick` runs in CI, within minutes; `full` is the documented command, within hours."""

Lacking = Literal["right", "tool", "nothing"]
"""What this machine lacks for something: a right (root, a device, a part of the kernel), only a
program that can be installed, or nothing that is known."""


class Violation(AssertionError):
    """A law that did not hold; the message says which one, after what, and with which bytes."""


class Skipped(NamedTuple):
    """What was not tried, and why."""

    what: str
    why: str
    lacking: Lacking


@dataclass(frozen=True)
class Outcome:
    """What came of a row: how many faults were tried, and what was not; `notes` tell more."""

    count: int
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


class Row(NamedTuple):
    """One row: its number in the table, what is done, and how."""

    number: int
    title: str
    run: Callable[[Tier], Outcome]


def find_rows() -> list[Row]:
    """Return the rows of this package by number (I1)."""
    package = importlib.import_module("tests.faults")
    rows: list[Row] = []
    for found in pkgutil.iter_modules(package.__path__):
        if found.name.startswith("row_"):
            row = importlib.import_module(f"tests.faults.{found.name}").ROW
            if not isinstance(row, Row):
                raise TypeError(f"tests/faults/{found.name}.py: ROW is no Row")
            rows.append(row)
    numbers = [row.number for row in rows]
    if len(numbers) != len(set(numbers)):
        raise ValueError(f"two rows have the same number: {sorted(numbers)}")
    return sorted(rows)
