"""Row 15: known bugs switched on, one by one; the laws of rows 1 and 2 must catch each.

A bug is caught by a law that does not hold, or because the workload itself cannot be done any
more. A bug that breaks the code in a way that no bug would (a name that is missing) is a fault
of this file.
"""

from pathlib import Path

from journal.errors import JournalError
from tests.faults import healthy
from tests.faults.mutants import MUTANTS, Mutant
from tests.faults.quick import settings_parsed_once
from tests.faults.row import Outcome, Row, Tier, Violation
from tests.faults.row_crash import try_workload
from tests.faults.row_damage import kind_of, try_file
from tests.faults.tree import memory_folder
from tests.faults.workloads import WORKLOADS

_DAMAGES = 2_000


def catch(mutant: Mutant, folder: Path, *, states: int = 3_000) -> str:
    """Switch a bug on and return what caught it; raises `Violation` where nothing did."""
    for number, where in enumerate(mutant.where):
        try:
            _try(mutant, where, folder / str(number), states)
        except Violation as caught:
            if isinstance(caught.__cause__, TypeError | AttributeError | NameError):
                raise
            return f"{where}: {_law_of(caught, where)}"
        except (JournalError, OSError) as caught:
            return f"{where}: the workload failed ({type(caught).__name__})"
    raise Violation(f"mutant {mutant.name!r} is caught by nothing in {', '.join(mutant.where)}")


def _try(mutant: Mutant, where: str, folder: Path, states: int) -> None:
    folder.mkdir()
    if where.startswith("damage: "):
        kind, _, without = where.removeprefix("damage: ").partition(", ")
        subject = healthy.make(folder / "made", segment_bytes=900)
        if without == "no witness":
            subject = subject.without_witness()
        with mutant.patch():
            for path in reversed(subject.files()):  # The last segment first.
                if kind_of(path) == kind:
                    try_file(subject, path, limit=_DAMAGES)
        return
    (workload,) = (workload for workload in WORKLOADS if workload.name == where)
    with mutant.patch():
        try_workload(workload, folder, limit=states)


def _law_of(caught: Violation, where: str) -> str:
    """Return the words that name the law: `where: law: how`, or `file, damage: how`."""
    said = str(caught).partition("\n")[0]
    return said.removeprefix(f"{where}: ").split(": ")[0 if said.startswith(where) else 1][:80]


def run(tier: Tier) -> Outcome:
    """Switch on each bug in turn."""
    notes = []
    with settings_parsed_once():
        for mutant in MUTANTS:
            with memory_folder() as folder:
                notes.append(f"{mutant.name}: caught by {catch(mutant, folder)}")
    return Outcome(len(MUTANTS), notes=tuple(notes))


ROW = Row(15, "known bugs switched on", run)
