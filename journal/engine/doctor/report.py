"""What the doctor answers with, as data.

I1  Its shape is the same whatever is found: it is printed, or given as JSON as it is.
"""

import msgspec

from journal.engine.reports import Problem


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Something in the folder; `health` says what is wrong with it, and is empty where nothing is.

    `name` is relative to the folder; that of a view is its path.
    """

    name: str
    what: str
    size_bytes: int = 0
    health: str = ""


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """A way out: the command, or what to do by hand; what it does, loses, and costs.

    `loses`: empty for nothing. `seconds` and `written_bytes` are estimates, None where none is
    possible.
    """

    command: str
    does: str
    loses: str = ""
    seconds: float | None = None
    written_bytes: int | None = None


class DoctorReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at a folder found.

    `kind`: "journal", "unfinished" (a journal that was never finished, or has lost journal.yaml),
    "unreadable" (it cannot be opened), "inside" (a part of a journal) or "none". `healthy`: no
    problem, and nothing to be done.
    """

    path: str
    kind: str
    what: str
    healthy: bool
    parts: list[Part]
    problems: list[Problem]
    notes: list[str]
    remedies: list[Remedy]
    exit_code: int
