"""What an import did: how many versions of which kind, and what is to be said about some.

The lists hold the first `LISTED` of each kind, so that a report stays small whatever the source.
"""

import msgspec

from projections.document.version import Problem

LISTED = 1000


class ImportReport(msgspec.Struct, kw_only=True):
    """What an import did.

    `imported` new versions, of which `deletions` delete the file and `texts` do not parse and
    were kept as text; `already` were there before; `late` have an event whose time is later than
    theirs, because time in a journal never goes back. `problems` were left out. `notes` are the
    reasons of the texts, and warnings such as a BOM. `seq` is the last one now.
    """

    imported: int = 0
    already: int = 0
    deletions: int = 0
    texts: int = 0
    late: int = 0
    seq: int = 0
    problem_count: int = 0
    problems: list[Problem] = []
    note_count: int = 0
    notes: list[Problem] = []

    @property
    def ok(self) -> bool:
        """Whether nothing was left out."""
        return not self.problem_count

    def summary(self) -> str:
        """Say in one line what was done."""
        if self.already and not self.imported:
            done = f"already imported, 0 new ({self.already} versions were there)"
        else:
            done = f"{self.imported} imported"
            kinds = {"deletions": self.deletions, "kept as text": self.texts}
            found = [f"{name}: {count}" for name, count in kinds.items() if count]
            if self.already:
                found.append(f"there before: {self.already}")
            if found:
                done += f" ({', '.join(found)})"
        if self.late:
            done += (
                f"; {self.late} of their events bear the time of the event before them, which is "
                "later than their own (source_time): a time in a journal never goes back. Import "
                "into a new folder, without init, and history begins with the first version"
            )
        return f"{done}; {self.problem_count} left out" if self.problem_count else done

    def add_problem(self, problem: Problem) -> None:
        """Count a problem and list it if there is room."""
        self.problem_count += 1
        if len(self.problems) < LISTED:
            self.problems.append(problem)

    def add_note(self, place: str, text: str) -> None:
        """Count a note and list it if there is room."""
        self.note_count += 1
        if len(self.notes) < LISTED:
            self.notes.append(Problem(place, text))
