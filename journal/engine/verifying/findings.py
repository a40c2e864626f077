"""What a verify has found so far: problems, and notes on what is no problem."""

from typing import Any

from journal.engine.reports import Problem


class Findings:
    """The lists that the parts of a verify write into, in the order of the log."""

    def __init__(self) -> None:
        """Nothing is found yet."""
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.adoptable = False

    def add(self, kind: str, message: str, **place: Any) -> None:
        """Report a problem; `place` has what is known of segment, line, offset and seq."""
        self.problems.append(Problem(kind=kind, message=message, **place))

    def note(self, text: str) -> None:
        """Report what is worth knowing and no problem."""
        self.notes.append(text)
