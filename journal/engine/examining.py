"""A folder looked at from outside: what is there, what is healthy, and what each remedy would cost.

I1  Nothing is written, locked or made, whatever is found; it answers for a folder that is no
    journal, too, and for one that cannot be opened at all.
I2  What is damaged is what `verify` finds and what a dry run of `repair` counts: there is one
    classifier. Seconds are estimated from what reading this log took just now.
I3  The remedies stand in the order in which they are to be tried. Those that lose nothing come
    first; none is named that would be refused.
"""

import os
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from journal import config as configs
from journal import plural
from journal.engine import loose, repairing
from journal.engine.core import LOG_FOLDER, QUARANTINE_FOLDER, SNAPSHOTS_FOLDER
from journal.engine.engine import Engine
from journal.engine.opening import open_journal
from journal.engine.reports import Problem, ViewStatus
from journal.errors import Corrupt, JournalError, UnsupportedFormat
from journal.witness import FILE_NAME as WITNESS

Progress = Callable[[int, int], None]

_LOG_KINDS = frozenset({"damage", "gap", "order", "append", "witness", "corrupt"})
_TEMPORARY = ".journal-tmp"
_SEALED = frozenset({"anchor", "chain"})


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Something in the folder; `health` says what is wrong with it, empty for nothing."""

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


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at a folder found.

    `kind`: "journal", "unfinished" (a journal that was never finished, or has lost journal.yaml),
    "unreadable" (it cannot be opened) or "none". `healthy`: no problem, and nothing to be done.
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


def examine(path: str | os.PathLike[str], *, progress: Progress | None = None) -> Examination:
    """Look at a folder, whatever it is; changes nothing and raises nothing that it can tell (I1).

    Costs one `verify`, and one dry run of `repair` where the log is damaged.
    """
    folder = Path(path)
    if not folder.is_dir():
        return _none(folder, [])
    try:
        parts = _list_parts(folder)
    except OSError as error:
        return _unreadable(folder, [], error)
    if not (folder / configs.FILE_NAME).exists() and not (folder / LOG_FOLDER).is_dir():
        return _none(folder, parts)
    try:
        with open_journal(folder, read_only=True, on_message=lambda _: None) as engine:
            return _journal(engine, parts, progress)
    except (JournalError, OSError) as error:
        return _unreadable(folder, parts, error)


# --- a journal that opens ------------------------------------------------------------------------


def _journal(engine: Engine, parts: list[Part], progress: Progress | None) -> Examination:
    start = time.monotonic()
    found = engine.verify(progress=progress)
    took_s = time.monotonic() - start
    status = engine.status()
    notes = [*found.notes]
    if status.unfinished_bytes:
        notes.append(
            f"{plural.count(status.unfinished_bytes, 'byte')} of an append that nobody was told of "
            "stand at the end; the next writer keeps them in quarantine/ and goes on"
        )
    for kind, number in found.unknown.items():
        notes.append(f"{plural.count(number, 'event')} of type {kind} not understood, left alone")
    remedies = _remedies(engine, found.problems, status.views, took_s)
    leftovers = [part.name for part in parts if part.health == "left over"]
    if leftovers:
        notes.append("the next writer removes what killed writers left: " + ", ".join(leftovers))
    what = (
        f"a journal of projection {status.projection}, format {status.format}, durability "
        f"{status.durability}: {plural.count(status.seq, 'event')} in "
        f"{plural.count(status.segments, 'segment')}, the last at {status.time or 'no time yet'}"
    )
    return Examination(
        path=str(engine.path),
        kind="journal",
        what=what,
        healthy=not found.problems,
        parts=_with_health(parts, found.problems, status.views),
        problems=found.problems,
        notes=notes,
        remedies=remedies,
        exit_code=0 if found.ok else Corrupt.exit_code,
    )


def _remedies(
    engine: Engine, problems: Sequence[Problem], views: Sequence[ViewStatus], took_s: float
) -> list[Remedy]:
    kinds = {problem.kind for problem in problems}
    if kinds & _SEALED:
        return [_keep_as_evidence()]
    found: list[Remedy] = []
    if kinds & _LOG_KINDS:
        found += _repairs(engine.path, took_s)
    adoptable = [view for view in views if "`journal adopt`" in view.advice]
    if "view" in kinds and adoptable and not kinds & _LOG_KINDS:
        names = ", ".join(os.path.basename(view.path) for view in adoptable)
        found.append(
            Remedy(
                command="journal adopt",
                does=f"records what somebody else changed in {names} as an event",
                seconds=took_s,
            )
        )
    if kinds & {"view", "snapshot"} and not kinds & _LOG_KINDS:
        found.append(
            Remedy(
                command="journal rebuild",
                does="folds the log from nothing and writes again every view and checkpoint that "
                "differs; what stood there is kept in quarantine/",
                loses="the edit of a view as such: it is in quarantine/ only" if adoptable else "",
                seconds=2 * took_s,
                written_bytes=sum(_size(Path(view.path)) for view in views),
            )
        )
    if "projection" in kinds:
        found.append(
            Remedy(command="", does="mend the code of the projection; the log is as it was")
        )
    return found


def _keep_as_evidence() -> Remedy:
    return Remedy(
        command="",
        does="history was rewritten: keep this folder as it is, and put log/ back from a copy into "
        "another one; a repair or a rebuild here would write over the evidence",
    )


def _repairs(path: Path, took_s: float = 0.0) -> list[Remedy]:
    """Say what a repair would do, by making it in memory (I2)."""
    found = [
        Remedy(
            command="",
            does="put log/ back from a copy: what it has is exactly what was written",
        )
    ]
    start = time.monotonic()
    try:
        plan = repairing.plan(path)
    except (JournalError, OSError) as error:
        return [*found, Remedy(command="", does=f"a repair cannot be planned: {error}")]
    planned_s = time.monotonic() - start
    if not plan.segments:
        return found
    lost = [plural.span(first, last) for one in plan.segments for first, last in one.lost]
    option = "" if plan.state_from or not plan.lost_events else " --state FILE, or --skip-lost"
    today = f"; today's state comes from: {plan.state_from}" if plan.state_from else ""
    kept = sum(one.kept for one in plan.segments)
    names = ", ".join(one.segment for one in plan.segments)
    aside = any(one.quarantine for one in plan.segments)
    found.append(
        Remedy(
            command=f"journal repair{option}",
            does=f"writes {names} again with the {plural.count(kept, 'event')} that can be read"
            + (", and keeps the damaged bytes in quarantine/" if aside else "")
            + today,
            loses=", ".join(lost),
            seconds=2 * planned_s + took_s,
            written_bytes=sum(_size(path / LOG_FOLDER / one.segment) for one in plan.segments),
        )
    )
    return found


# --- what is no journal, or does not open --------------------------------------------------------


def _none(folder: Path, parts: list[Part]) -> Examination:
    if not folder.exists():
        what = "there is no such folder"
        remedies = [Remedy(command=f"journal init {folder}", does="makes a journal there")]
    elif not folder.is_dir():
        what = "a file, not a folder"
        remedies = [_import(folder)]
    else:
        kept = loose.find(folder)
        inside = loose.journals_in(folder)
        what = "no journal"
        remedies = [Remedy(command=one.command, does=one.does) for one in kept]
        remedies += [
            Remedy(command=f"journal doctor {name}", does="looks at the journal in it")
            for name in inside
        ]
        if not remedies:
            remedies = [Remedy(command=f"journal init {folder}", does="makes a journal here")]
        parts = [*parts, *(Part(name=one.file, what=one.what) for one in kept)]
    return Examination(
        path=str(folder),
        kind="none",
        what=what,
        healthy=False,
        parts=parts,
        problems=[],
        notes=[],
        remedies=remedies,
        exit_code=JournalError.exit_code,
    )


def _import(file: Path) -> Remedy:
    return Remedy(
        command=f"journal import file {file} -d DIR",
        does="makes a journal in DIR whose state is what this file holds",
    )


def _unreadable(folder: Path, parts: list[Part], error: JournalError | OSError) -> Examination:
    message = error.message if isinstance(error, JournalError) else str(error)
    advice = error.advice if isinstance(error, JournalError) else ""
    problem = Problem(kind="open", message=message)
    kind, remedies = "unreadable", [Remedy(command="", does=advice)] if advice else []
    if isinstance(error, PermissionError):
        remedies = [Remedy(command="", does="look as the user whose folder it is")]
    elif not (folder / configs.FILE_NAME).exists():
        kind = "unfinished"
        remedies = [
            Remedy(
                command=f"journal init {folder}",
                does="completes the journal: writes journal.yaml again; the log stays as it is",
            )
        ]
    elif isinstance(error, Corrupt) and str(folder / LOG_FOLDER) in str(error.path):
        remedies = _repairs(folder)
    what = {
        "unfinished": "a journal that was not finished, or has lost journal.yaml",
        "unreadable": "a journal that cannot be opened",
    }[kind]
    if isinstance(error, UnsupportedFormat):
        what = "a journal of a newer format"
    return Examination(
        path=str(folder),
        kind=kind,
        what=what,
        healthy=False,
        parts=parts,
        problems=[problem],
        notes=[],
        remedies=remedies,
        exit_code=error.exit_code if isinstance(error, JournalError) else JournalError.exit_code,
    )


# --- parts ---------------------------------------------------------------------------------------


def _list_parts(folder: Path) -> list[Part]:
    known = {
        configs.FILE_NAME: "settings",
        LOG_FOLDER: "the log, the only truth",
        SNAPSHOTS_FOLDER: "states by seq, a cache of the log",
        QUARANTINE_FOLDER: "bytes that were moved aside; nothing here deletes them",
        WITNESS: "what is on disk, and whose bytes the views have",
    }
    parts: list[Part] = []
    names = sorted(os.listdir(folder))
    for name in names:
        path = folder / name
        if name.endswith(_TEMPORARY):
            parts.append(Part(name=name, what="a temporary file", health="left over"))
        elif name in known:
            parts.append(Part(name=name, what=known[name], size_bytes=_size(path)))
    # Lost parts are worth a line, where this is a journal at all.
    if any(part.name in (configs.FILE_NAME, LOG_FOLDER) for part in parts):
        for name in (configs.FILE_NAME, LOG_FOLDER):
            if name not in names:
                parts.append(Part(name=name, what=known[name], health="missing"))
    return parts


def _with_health(
    parts: list[Part], problems: Sequence[Problem], views: Sequence[ViewStatus]
) -> list[Part]:
    kinds = {problem.kind for problem in problems}
    wrong = {
        LOG_FOLDER: kinds & (_LOG_KINDS | _SEALED) - {"witness"},
        SNAPSHOTS_FOLDER: kinds & {"snapshot"},
        WITNESS: kinds & {"witness"},
    }
    found = [
        msgspec.structs.replace(part, health="damaged") if wrong.get(part.name) else part
        for part in parts
    ]
    for view in views:
        health = "" if view.status == "healthy" else f"{view.status}: {view.why}".rstrip(": ")
        size = _size(Path(view.path))
        found.append(Part(name=view.path, what="a view", size_bytes=size, health=health))
    return found


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder; 0 for what cannot be looked at."""
    try:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode):
            return found.st_size
        return sum(_size(Path(entry.path)) for entry in os.scandir(path))
    except OSError:
        return 0
