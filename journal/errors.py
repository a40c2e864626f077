"""The errors of a journal: one tree, each with an exit code and the facts it was raised with.

    JournalError          1  anything the engine says no to; the root of the tree
    ├─ ProjectionError    1  an apply function, or the state it made, is at fault
    ├─ UsageError         2  the caller's input: an invalid event, no such seq, a broken rule
    ├─ Conflict           3  the caller's belief: an expected seq, an idempotency key
    ├─ Locked             4  somebody else holds the journal
    ├─ Corrupt            5  bytes on disk are not what was written
    ├─ UnsupportedFormat  6  a journal written in a format that this version does not know
    └─ Drift              7  a view was changed by somebody else

`OSError` is not wrapped: it passes through with its path. The command line reads the exit code
off the class. `str(error)` is the whole message: where, what is wrong, what to do next.
"""

import os


class JournalError(Exception):
    """Root of the tree. `advice` says what to do next and is part of the message."""

    exit_code = 1

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(f"{message}\n{advice}" if advice else message)
        self.message = message
        self.advice = advice


class ProjectionError(JournalError):
    """An apply function failed, or made a state that is not a JSON value or breaks `check`."""

    def __init__(
        self, message: str, *, projection: str = "", seq: int | None = None, advice: str = ""
    ) -> None:
        super().__init__(message, advice=advice)
        self.projection = projection
        self.seq = seq


class UsageError(JournalError):
    """What the caller gave cannot be used. `key` names the place in it, such as `data.tasks[2]`."""

    exit_code = 2

    def __init__(self, message: str, *, key: str = "", advice: str = "") -> None:
        super().__init__(message, advice=advice)
        self.key = key


class Conflict(JournalError):
    """History is not what the caller believed: `expected` and `actual` say the two beliefs."""

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        expected: object = None,
        actual: object = None,
        advice: str = "",
    ) -> None:
        super().__init__(message, advice=advice)
        self.expected = expected
        self.actual = actual


class Locked(JournalError):
    """The lock on `path` was not free within `timeout_s` seconds; `holder` says who wrote last."""

    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        path: str | os.PathLike[str],
        timeout_s: float,
        holder: str = "",
        advice: str = "",
    ) -> None:
        super().__init__(message, advice=advice)
        self.path = os.fspath(path)
        self.timeout_s = timeout_s
        self.holder = holder


class Corrupt(JournalError):
    """Bytes on disk are not what was written: `path`, `line` (from 1), `offset` (in bytes), why."""

    exit_code = 5

    def __init__(
        self,
        why: str,
        *,
        path: str | os.PathLike[str],
        line: int | None = None,
        offset: int | None = None,
        seq: int | None = None,
        advice: str = "",
    ) -> None:
        self.path = os.fspath(path)
        self.line = line
        self.offset = offset
        self.seq = seq
        self.why = why
        place = self.path
        if line is not None:
            place += f", line {line}"
        if offset is not None:
            place += f", byte {offset}"
        super().__init__(f"{place}: {why}", advice=advice)


class UnsupportedFormat(JournalError):
    """`path` is in format `found`; this version reads and writes `supported`."""

    exit_code = 6

    def __init__(self, *, path: str | os.PathLike[str], found: object, supported: int = 1) -> None:
        self.path = os.fspath(path)
        self.found = found
        self.supported = supported
        super().__init__(
            f"{self.path}: format {found}, but this version of journal knows format {supported}",
            advice="Use a newer version of journal-engine; nothing was changed.",
        )


class Drift(JournalError):
    """The view at `path` was changed by somebody else; `pointer` is the first place it differs.

    `adoptable`: to adopt the change would not be refused.
    """

    exit_code = 7

    def __init__(
        self,
        why: str,
        *,
        path: str | os.PathLike[str],
        pointer: str | None = None,
        advice: str = "",
        adoptable: bool = False,
    ) -> None:
        self.path = os.fspath(path)
        self.pointer = pointer
        self.why = why
        self.adoptable = adoptable
        super().__init__(f"{self.path}: {why}", advice=advice)
