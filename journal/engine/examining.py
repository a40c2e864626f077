"""A folder looked at from outside: what is there, what is healthy, and what each remedy would cost.

I1  Nothing is written, locked or made, whatever is found; it answers for a folder that is no
    journal, too, and for one that cannot be opened at all.
I2  What is damaged is what `verify` finds and what a dry run of `repair` counts: there is one
    classifier. Seconds are estimated from what reading this log took just now.
I3  The remedies stand in the order in which they are to be tried. Those that lose nothing come
    first; none is named that would be refused.
"""

import contextlib
import os
import shlex
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from journal import config as configs
from journal import plural
from journal.engine import loose, repairing
from journal.engine.contents import (
    LEFT_OVER,
    Part,
    find_obstacles,
    find_others,
    list_parts,
    size_of,
)
from journal.engine.core import LOG_FOLDER, QUARANTINE_FOLDER, SNAPSHOTS_FOLDER
from journal.engine.engine import Engine
from journal.engine.opening import open_journal
from journal.engine.reports import Problem, ViewStatus
from journal.errors import Corrupt, JournalError, UnsupportedFormat
from journal.witness import FILE_NAME as WITNESS
from journal.witness import WitnessFile

Progress = Callable[[int, int], None]

_LOG_KINDS = frozenset({"damage", "gap", "order", "append", "witness", "corrupt", "repair"})
_SEALED = frozenset({"anchor", "chain"})


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
    parts: list[Part] = []
    try:
        if not folder.is_dir():
            return _none(folder, parts)
        parts = list_parts(folder)
        if not (folder / configs.FILE_NAME).exists() and not (folder / LOG_FOLDER).is_dir():
            return _none(folder, parts)
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
    for kind, number in found.unknown.items():
        notes.append(f"{plural.count(number, 'event')} of type {kind} not understood, left alone")
    remedies = _remedies(engine, found.problems, status.views, took_s)
    leftovers = [part.name for part in parts if part.health == LEFT_OVER]
    if leftovers:
        notes.append("the next writer removes what killed writers left: " + ", ".join(leftovers))
    if all(part.name != WITNESS for part in parts):
        notes.append(f"{WITNESS} is missing, as a power cut may leave it; the next writer makes it")
    elif not _has_witness(engine.path):
        notes.append(
            f"{WITNESS} cannot be read, so it vouches for nothing; the next writer makes it"
        )
    notes += find_others(engine.path, [view.path for view in status.views])
    notes += find_obstacles(engine.path)
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


def _has_witness(folder: Path) -> bool:
    with contextlib.closing(WitnessFile(folder, write=False)) as file:
        try:
            return file.read() is not None
        except OSError:
            return False


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
                command=_command("adopt", engine.path),
                does=f"records what somebody else changed in {names} as an event",
                seconds=took_s,
            )
        )
    in_the_way = [view for view in views if Path(view.path).is_dir()]
    if "view" in kinds:
        found += [Remedy(command="", does=_move_away(Path(view.path))) for view in in_the_way]
    if kinds & {"view", "snapshot"} and not kinds & _LOG_KINDS and not in_the_way:
        found.append(
            Remedy(
                command=_command("rebuild", engine.path),
                does="folds the log from nothing and writes again every view and checkpoint that "
                "differs; what stood there is kept in quarantine/",
                loses="the edit of a view as such: it is in quarantine/ only" if adoptable else "",
                seconds=2 * took_s,
                written_bytes=sum(size_of(Path(view.path)) for view in views),
            )
        )
    if "projection" in kinds:
        found.append(
            Remedy(command="", does="mend the code of the projection; the log is as it was")
        )
    return found


def _command(words: str, path: Path) -> str:
    """Return a command of the command line that means the journal in `path` from here."""
    named = "" if str(path) == "." else f" -d {shlex.quote(str(path))}"
    return f"journal {words}{named}"


def _move_away(path: Path) -> str:
    return f"move the folder {path} away: the view is written in its place at the next opening"


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
    cut_off = (path / QUARANTINE_FOLDER / repairing.NOTE_NAME).exists()
    if cut_off and not plan.segments:
        does = "ends the repair that was cut off; nothing is damaged any more"
        return [Remedy(command=_command("repair", path), does=does, seconds=planned_s + took_s)]
    if not plan.segments:
        return found
    found = [] if cut_off else found
    segments = [one.segment for one in plan.segments]
    kept = sum(one.kept for one in plan.segments)
    aside = any(one.quarantine for one in plan.segments)
    does = (
        ("completes the repair that was cut off: " if cut_off else "")
        + f"writes {', '.join(segments)} again with {_readable(kept)}"
        + (", and keeps the damaged bytes in quarantine/" if aside else "")
        + (f"; today's state comes from: {plan.state_from}" if plan.state_from else "")
    )
    ways = [("repair", "")]
    if plan.lost_events and not plan.state_from:
        ways = [
            ("repair --state FILE", "; FILE has today's state: state.json, say, if you trust it"),
            ("repair --skip-lost", "; goes on as if the lost events had changed nothing"),
        ]
    lost = [plural.span(first, last) for one in plan.segments for first, last in one.lost]
    for words, how in ways:
        found.append(
            Remedy(
                command=_command(words, path),
                does=does + how,
                loses=", ".join(lost),
                seconds=2 * planned_s + took_s,
                written_bytes=sum(size_of(path / LOG_FOLDER / name) for name in segments),
            )
        )
    return found


def _readable(events: int) -> str:
    if not events:
        return "its first line; no event can be read"
    return f"the {plural.count(events, 'event')} that can be read"


# --- what is no journal, or does not open --------------------------------------------------------


def _none(folder: Path, parts: list[Part]) -> Examination:
    if not folder.exists():
        what = "there is no such folder"
        remedies = [Remedy(command=_init(folder), does="makes a journal there")]
    elif not folder.is_dir():
        what = "a file, not a folder"
        remedies = [_import(folder)]
    else:
        kept = loose.find(folder)
        inside = loose.journals_in(folder)
        what = "no journal"
        remedies = [Remedy(command=one.command, does=one.does) for one in kept]
        remedies += [
            Remedy(command=f"journal doctor {shlex.quote(name)}", does="looks at the journal in it")
            for name in inside
        ]
        if not remedies:
            remedies = [Remedy(command=_init(folder), does="makes a journal here")]
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


def _init(folder: Path) -> str:
    return f"journal init {shlex.quote(str(folder))}"


def _import(file: Path) -> Remedy:
    return Remedy(
        command=f"journal import file {shlex.quote(str(file))} -d DIR",
        does="makes a journal in DIR whose state is what this file holds",
    )


def _unreadable(folder: Path, parts: list[Part], error: JournalError | OSError) -> Examination:
    message = error.message if isinstance(error, JournalError) else _say(error)
    advice = error.advice if isinstance(error, JournalError) else _advise(error)
    problem = Problem(kind="open", message=message)
    kind, remedies = "unreadable", [Remedy(command="", does=advice)] if advice else []
    if isinstance(error, JournalError) and not (folder / configs.FILE_NAME).exists():
        kind = "unfinished"
        remedies = [
            Remedy(
                command=_init(folder),
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
        notes=find_obstacles(folder),
        remedies=remedies,
        exit_code=error.exit_code if isinstance(error, JournalError) else JournalError.exit_code,
    )


def _say(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what


def _advise(error: OSError) -> str:
    """Say what helps against what the system refused."""
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    if path is None:
        return "mend what the system says, and look again"
    if isinstance(error, PermissionError):
        with contextlib.suppress(OSError):
            found = path.lstat()
            if found.st_uid == os.geteuid():
                rights = "u+rwx" if stat.S_ISDIR(found.st_mode) else "u+rw"
                named = shlex.quote(str(path))
                return f"`chmod {rights} {named}`: it is yours, and its mode forbids it"
        return f"{path} is somebody else's: be that user, or have the right to read it given to you"
    return f"put back what belongs at {path}: no link, folder or other thing is taken in its place"


# --- parts ---------------------------------------------------------------------------------------


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
        size = size_of(Path(view.path))
        found.append(Part(name=view.path, what="a view", size_bytes=size, health=health))
    return found
