"""One look at a folder: what is there, what is healthy, and what each remedy would cost.

I1  Nothing is written, locked or made, whatever is found; it answers for a folder that is no
    journal, too, and for one that cannot be opened at all.
I2  What is damaged is what `verify` finds and what a dry run of `repair` counts: there is one
    classifier.
I3  The log is checked without the code of its projection, where that does not come.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from journal import config as configs
from journal import plural
from journal.engine import arguments
from journal.engine.core import LOG_FOLDER, SNAPSHOTS_FOLDER
from journal.engine.doctor import loose, remedies
from journal.engine.doctor.contents import (
    LEFT_OVER,
    find_obstacles,
    find_others,
    list_parts,
    size_of,
)
from journal.engine.doctor.report import DoctorReport, Part, Remedy
from journal.engine.engine import Engine
from journal.engine.opening import open_journal
from journal.engine.remedies import LOG_KINDS, SEALED_KINDS
from journal.engine.reports import Problem, ViewStatus
from journal.errors import Corrupt, JournalError, UnsupportedFormat
from journal.witness import FILE_NAME as WITNESS
from journal.witness import WitnessFile

Progress = Callable[[int, int], None]
Anchors = Iterable[tuple[int, str]]

_NO_ANCHOR = (
    "no anchor was given: one noted earlier (`journal head`) would show, by `--anchor SEQ:SHA256`, "
    "whether history up to it was rewritten with its CRCs made anew"
)


def doctor(
    path: str | os.PathLike[str], *, anchors: Anchors = (), progress: Progress | None = None
) -> DoctorReport:
    """Look at a folder, whatever it is; changes nothing and raises nothing that it can tell (I1).

    `anchors` are pairs (seq, sha256) noted earlier; raises `UsageError` for what is none. Costs
    one `verify`, and one dry run of `repair` where the log is damaged.
    """
    anchors = list(anchors) if isinstance(anchors, Iterator) else anchors
    arguments.check(path=path, anchors=anchors, progress=progress)
    found = _look(Path(path), anchors, progress)
    if anchors and found.kind != "journal":
        notes = [*found.notes, "the anchors were not checked: no log could be opened"]
        found = msgspec.structs.replace(found, notes=notes)
    return found


def _look(folder: Path, anchors: Anchors, progress: Progress | None) -> DoctorReport:
    parts: list[Part] = []
    try:
        if (around := configs.find_around(folder)) is not None:
            return _inside(folder, around)
        if not folder.is_dir():
            return _none(folder, parts)
        parts = list_parts(folder)
        if not os.path.lexists(folder / configs.FILE_NAME) and not (folder / LOG_FOLDER).is_dir():
            return _none(folder, parts)
        with open_journal(
            folder, read_only=True, on_message=lambda _: None, without_code=True
        ) as engine:
            return _journal(engine, parts, anchors, progress)
    except (JournalError, OSError) as error:
        return _unreadable(folder, parts, error)


# --- a journal that opens ------------------------------------------------------------------------


def _journal(
    engine: Engine, parts: list[Part], anchors: Anchors, progress: Progress | None
) -> DoctorReport:
    start = time.monotonic()
    found = engine.verify(anchors, progress)
    took_s = time.monotonic() - start
    status = engine.status()
    notes = [*found.notes]
    for kind, number in found.unknown.items():
        notes.append(f"{plural.count(number, 'event')} of type {kind} not understood, left alone")
    leftovers = [part.name for part in parts if part.health == LEFT_OVER]
    if leftovers:
        notes.append("the next writer removes what killed writers left: " + ", ".join(leftovers))
    wrong = {problem.kind for problem in found.problems}
    has_witness = _has_witness(engine.path)
    if all(part.name != WITNESS for part in parts):
        notes.append(f"{WITNESS} is missing, as a power cut may leave it; the next writer makes it")
    elif not has_witness:
        notes.append(
            f"{WITNESS} cannot be read, so it vouches for nothing; the next writer makes it"
        )
    notes += _say_id(engine)
    files = engine.config.views.files  # where the projection's code does not come, as far as known
    own = [view.path for view in status.views] or [*files.values(), "state.json"]
    notes += find_others(engine.path, own)
    notes += find_obstacles(engine.path)
    if not anchors:
        notes.append(_NO_ANCHOR)
    what = (
        f"a journal of projection {status.projection}, format {status.format}, durability "
        f"{status.durability}: {plural.count(status.seq, 'event')} in "
        f"{plural.count(status.segments, 'segment')}, the last at {status.time or 'no time yet'}"
    )
    return DoctorReport(
        path=str(engine.path),
        kind="journal",
        what=what,
        healthy=not found.problems,
        parts=_with_health(parts, wrong, status.views, has_witness=has_witness),
        problems=found.problems,
        notes=notes,
        remedies=remedies.for_problems(engine.path, found, status.views, took_s),
        exit_code=0 if found.ok else Corrupt.exit_code,
    )


def _say_id(engine: Engine) -> list[str]:
    """Note where journal.yaml and the log are two journals' (an edit, or a log from elsewhere)."""
    if engine.id == engine.config.id:
        return []
    return [
        f"{configs.FILE_NAME} has the id {engine.config.id}, and the log is that of journal "
        f"{engine.id}: put the right log/ back, or, where this is the right one, write its id into "
        f"{configs.FILE_NAME}"
    ]


def _has_witness(folder: Path) -> bool:
    with contextlib.closing(WitnessFile(folder, write=False)) as file:
        try:
            return file.read() is not None
        except OSError:
            return False


def _with_health(
    parts: list[Part], kinds: set[str], views: Sequence[ViewStatus], *, has_witness: bool
) -> list[Part]:
    """Mark what is damaged: the log too, where it is the witness that tells of its end."""
    wrong = {
        LOG_FOLDER: bool(kinds & (LOG_KINDS | SEALED_KINDS)),
        SNAPSHOTS_FOLDER: "snapshot" in kinds and not kinds & LOG_KINDS,
        WITNESS: not has_witness,
    }
    found = [
        msgspec.structs.replace(part, health="damaged")
        if wrong.get(part.name) and not part.health
        else part
        for part in parts
    ]
    for view in views:
        health = "" if view.status == "healthy" else f"{view.status}: {view.why}".rstrip(": ")
        size = size_of(Path(view.path))
        found.append(Part(name=view.path, what="a view", size_bytes=size, health=health))
    return found


# --- what is no journal, or does not open --------------------------------------------------------


def _inside(path: Path, around: Path) -> DoctorReport:
    """Answer for a part of a journal: what to look at is the journal."""
    look = remedies.look_at(around, "looks at the journal that it is a part of")
    return _answer(path, "inside", f"a part of the journal in {around}", remedies=[look])


def _none(folder: Path, parts: list[Part]) -> DoctorReport:
    notes: list[str] = []
    if not folder.exists():
        what = "there is no such folder"
        ways = [remedies.init(folder, "makes a journal there")]
    elif not folder.is_dir():
        what = "a file, not a folder"
        ways = [remedies.take_in(folder)]
    else:
        kept, more_kept = loose.find(folder)
        inside, more_inside = loose.journals_in(folder)
        what, ways = "no journal", _for_remains(folder)
        ways += [Remedy(command=one.command, does=one.does) for one in kept]
        ways += [remedies.look_at(name, "looks at the journal in it") for name in inside]
        if not ways:
            ways = [remedies.init(folder, "makes a journal here")]
        notes += [f"journals are looked for {loose.LEVELS} folders down, not deeper"]
        for count, noun in ((more_kept, "file of state"), (more_inside, "journal")):
            if count:
                more = plural.count(count, f"more {noun}")
                notes.append(f"{more} below are not listed: look at a folder nearer to them")
        parts = [*parts, *(Part(name=one.file, what=one.what) for one in kept)]
    return _answer(folder, "none", what, parts=parts, notes=notes, remedies=ways)


def _for_remains(folder: Path) -> list[Remedy]:
    left = loose.remains_of(folder)
    if not left:
        return []
    does = (
        f"{' and '.join(left)} are of a journal whose log is gone: put log/ back from a copy, and "
        "look again"
    )
    return [Remedy(command="", does=does), remedies.set_aside(folder, left)]


def _unreadable(folder: Path, parts: list[Part], error: JournalError | OSError) -> DoctorReport:
    message = error.message if isinstance(error, JournalError) else _say(error)
    kind, ways = "unreadable", []
    if isinstance(error, OSError):
        ways = remedies.for_refusal(error)
    elif error.advice:
        ways = [Remedy(command="", does=error.advice)]
    what = "a journal that cannot be opened"
    if isinstance(error, JournalError) and not os.path.lexists(folder / configs.FILE_NAME):
        kind, what = "unfinished", "a journal that was not finished, or has lost journal.yaml"
        ways = [remedies.complete(folder)]
    elif isinstance(error, Corrupt) and str(folder / LOG_FOLDER) in str(error.path):
        ways = remedies.repairs(folder)
    elif isinstance(error, Corrupt) and error.path == str(folder / configs.FILE_NAME):
        does = "moves it away; `journal init` then writes it anew, with its settings as by default"
        ways.append(remedies.clear(folder / configs.FILE_NAME, does))
    if isinstance(error, UnsupportedFormat):
        what = "a journal of a newer format"
    return _answer(
        folder,
        kind,
        what,
        parts=parts,
        problems=[Problem(kind="open", message=message)],
        notes=find_obstacles(folder),
        remedies=ways,
        exit_code=error.exit_code if isinstance(error, JournalError) else JournalError.exit_code,
    )


def _answer(
    path: Path,
    kind: str,
    what: str,
    *,
    remedies: list[Remedy],
    parts: Sequence[Part] = (),
    problems: Sequence[Problem] = (),
    notes: Sequence[str] = (),
    exit_code: int = JournalError.exit_code,
) -> DoctorReport:
    return DoctorReport(
        path=str(path),
        kind=kind,
        what=what,
        healthy=False,
        parts=[*parts],
        problems=[*problems],
        notes=[*notes],
        remedies=remedies,
        exit_code=exit_code,
    )


def _say(error: OSError) -> str:
    what = error.strerror or str(error)
    return f"{error.filename}: {what}" if error.filename else what
