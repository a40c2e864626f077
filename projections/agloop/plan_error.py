"""The one error for whatever is wrong with a plan.yaml: every fault at once, with its line."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from journal.errors import UsageError

_SHOWN = 20


class PlanFault(NamedTuple):
    """One fault: its line (from 1; None where it is about the whole file) and the reason."""

    line: int | None
    why: str


class PlanError(UsageError):
    """A plan cannot be used; `faults` are all that were found, by line."""

    def __init__(self, path: str | os.PathLike[str], faults: Sequence[PlanFault]) -> None:
        self.path = os.fspath(path)
        self.faults = sorted(faults, key=lambda fault: fault.line or 0)
        first = self.faults[0]
        self.line = first.line
        lines = [_place(self.path, fault) for fault in self.faults[:_SHOWN]]
        if len(self.faults) > _SHOWN:
            lines.append(f"and {len(self.faults) - _SHOWN} more")
        super().__init__(
            "\n".join(lines),
            key="plan.yaml",
            advice="Mend the plan and check it: journal agloop plan check. Nothing was changed.",
        )


def _place(path: str, fault: PlanFault) -> str:
    return f"{path}{'' if fault.line is None else f', line {fault.line}'}: {fault.why}"
