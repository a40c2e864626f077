"""The ways out of what the doctor found, each with what it would do, lose and cost.

I1  They stand in the order in which they are to be tried. Those that lose nothing come first; none
    is named that would be refused.
I2  What a repair would do is told by making it in memory. Seconds are estimated from what reading
    this log took just now.
"""

import contextlib
import os
import shlex
import stat
import time
from collections.abc import Sequence
from pathlib import Path

from journal import config as configs
from journal import plural, regular
from journal.engine import repairing
from journal.engine.beginning import completed_by
from journal.engine.core import LOG_FOLDER, QUARANTINE_FOLDER, SNAPSHOTS_FOLDER
from journal.engine.doctor.contents import size_of
from journal.engine.doctor.report import Remedy
from journal.engine.remedies import LOG_KINDS, OTHER_LOG, SEALED_KINDS, is_unlike
from journal.engine.reports import Verified, ViewStatus
from journal.errors import JournalError
from journal.witness import FILE_NAME as WITNESS
from snapshots.snapshot import parse_name

_FOLDERS_UP = 3


def for_problems(
    folder: Path, found_by_verify: Verified, views: Sequence[ViewStatus], took_s: float
) -> list[Remedy]:
    """Return the ways out of what `verify` found in `took_s` seconds."""
    kinds = {problem.kind for problem in found_by_verify.problems}
    if kinds & SEALED_KINDS:  # Evidence: nothing here may write over it.
        return [Remedy(command="", does=text) for text in found_by_verify.advice]
    found = [
        clear(path, "moves away what a writer would be refused by; the next one makes it anew")
        for path in (folder / SNAPSHOTS_FOLDER, folder / QUARANTINE_FOLDER, folder / WITNESS)
        if "folder" in kinds and _is_foreign(path, file=path.name == WITNESS)
    ]
    if found:
        return found  # What else there is can be planned when these are out of the way.
    if kinds & LOG_KINDS:
        return repairs(folder, took_s)
    if "projection" in kinds:
        by_hand = [Remedy(command="", does=text) for text in found_by_verify.advice]
        return _beside_its_module(folder) + by_hand
    files = [Path(view.path) for view in views] + _listed(folder / SNAPSHOTS_FOLDER)
    closed = [path for path in files if os.path.isfile(path) and not os.access(path, os.R_OK)]
    if closed and kinds & {"view", "snapshot"}:
        return [allow(path) for path in closed]
    found = [
        clear(path, "moves away what is no file; `journal rebuild` makes the snapshot again")
        for path in _listed(folder / SNAPSHOTS_FOLDER)
        if "snapshot" in kinds and _is_foreign(path, file=True)
    ]
    unlike = any(is_unlike(problem) for problem in found_by_verify.problems)
    if unlike:
        found.append(Remedy(command="", does=OTHER_LOG))
    in_the_way = [view for view in views if _is_in_the_way(Path(view.path))]
    adoptable = [view for view in views if "`journal adopt`" in view.advice]
    if "view" in kinds and adoptable:
        names = ", ".join(os.path.basename(view.path) for view in adoptable)
        found.append(
            Remedy(
                command=command("adopt", folder),
                does=f"records what somebody else changed in {names} as an event",
                seconds=took_s,
            )
        )
    if "view" in kinds:
        does = "moves it away: the view is written in its place at the next opening"
        found += [clear(Path(view.path), does) for view in in_the_way]
    if kinds & {"view", "snapshot"} and not in_the_way:
        found.append(
            Remedy(
                command=command("rebuild", folder),
                does=("where this log is the right one: " if unlike else "")
                + "folds the log from nothing and writes again every view and checkpoint that "
                "differs; what stood there is kept in quarantine/",
                loses="the edit of a view as such: it is in quarantine/ only" if adoptable else "",
                seconds=2 * took_s,
                written_bytes=sum(size_of(Path(view.path)) for view in views),
            )
        )
    if "snapshot" in kinds:
        # Those that this log asks for, a rebuild has put right by then.
        does = "moves it away, if it is still named after that: this log does not ask for it"
        found += [
            clear(path, does)
            for path in _listed(folder / SNAPSHOTS_FOLDER)
            if path.is_file() and any(path.name in one.message for one in found_by_verify.problems)
        ]
    return found


def command(words: str, path: Path) -> str:
    """Return a command of the command line that means the journal in `path` from here."""
    named = "" if str(path) == "." else f" -d {shlex.quote(str(path))}"
    return f"journal {words}{named}"


def look_at(folder: Path | str, does: str) -> Remedy:
    """Return the command that looks at another folder."""
    return Remedy(command=f"journal doctor {shlex.quote(str(folder))}", does=does)


def clear(path: Path, does: str) -> Remedy:
    """Return the command that moves something out of the way, to a name that is free."""
    aside = next(one for n in range(1, 1000) if not os.path.lexists(one := f"{path}.aside{n}"))
    return Remedy(command=f"mv {shlex.quote(str(path))} {shlex.quote(aside)}", does=does)


def _beside_its_module(folder: Path) -> list[Remedy]:
    """Say where the module of a projection lies, if it is near the journal; it is not run here."""
    try:
        module = configs.read(folder).projection.partition(":")[0].replace(".", os.sep)
    except (JournalError, OSError):
        return []
    here = Path(os.path.abspath(folder))
    for place in (here, *here.parents[:_FOLDERS_UP]):
        if any((place / name).is_file() for name in (f"{module}.py", f"{module}/__init__.py")):
            path, at = shlex.quote(str(place)), shlex.quote(str(folder))
            does = f"verifies all of it; that runs the module in {place}: only if you trust it"
            return [Remedy(command=f"PYTHONPATH={path} journal verify -d {at}", does=does)]
    return []


def _is_foreign(path: Path, *, file: bool) -> bool:
    """Say whether something else stands there than a folder, or a `file`."""
    if not file:
        return bool(regular.not_a_folder(path))
    return os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path))


def _is_in_the_way(path: Path) -> bool:
    """Say whether a folder, a FIFO or the like stands in the place of a view; a link may."""
    return os.path.lexists(path) and not os.path.islink(path) and not os.path.isfile(path)


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if parse_name(path.name) is not None)
    except OSError:
        return []


def repairs(folder: Path, took_s: float = 0.0) -> list[Remedy]:
    """Say what a repair would do, by making it in memory (I2)."""
    found = [
        Remedy(
            command="",
            does="put log/ back from a copy: what it has is exactly what was written",
        )
    ]
    start = time.monotonic()
    try:
        plan = repairing.plan(folder)
    except (JournalError, OSError) as error:
        return [*found, Remedy(command="", does=f"a repair cannot be planned: {error}")]
    planned_s = time.monotonic() - start
    cut_off = (folder / QUARANTINE_FOLDER / repairing.NOTE_NAME).exists()
    if cut_off and not plan.segments:
        does = "ends the repair that was cut off; nothing is damaged any more"
        return [Remedy(command=command("repair", folder), does=does, seconds=planned_s + took_s)]
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
                command=command(words, folder),
                does=does + how,
                loses=", ".join(lost),
                seconds=2 * planned_s + took_s,
                written_bytes=sum(size_of(folder / LOG_FOLDER / name) for name in segments),
            )
        )
    return found


def _readable(events: int) -> str:
    if not events:
        return "its first line; no event can be read"
    return f"the {plural.count(events, 'event')} that can be read"


def set_aside(folder: Path, names: Sequence[str]) -> Remedy:
    """Return the command that moves what is left of a journal into a folder of its own."""
    aside = next(one for n in range(1, 1000) if not (one := folder / f"left{n}").exists())
    moved = " ".join(shlex.quote(str(folder / name)) for name in names)
    named = shlex.quote(str(aside))
    return Remedy(
        command=f"mkdir {named} && mv {moved} {named}",
        does="without a copy of log/: moves aside what is left, so that a new journal can begin",
    )


# --- where there is no journal, or it does not open ----------------------------------------------


def init(folder: Path, does: str) -> Remedy:
    """Return the command that makes a journal, or completes one."""
    return Remedy(command=f"journal init {shlex.quote(str(folder))}", does=does)


def complete(folder: Path) -> Remedy:
    """Return what completes a journal without journal.yaml."""
    if system := completed_by(folder):
        does = f"the next change by `{system}` writes journal.yaml again; the log stays as it is"
        return Remedy(command="", does=does)
    does = "completes the journal: writes journal.yaml again; the log stays as it is"
    return init(folder, does)


def take_in(file: Path) -> Remedy:
    """Return the command that makes a journal of a file."""
    return Remedy(
        command=f"journal import file {shlex.quote(str(file))} -d DIR",
        does="makes a journal in DIR whose state is what this file holds",
    )


def allow(path: Path) -> Remedy:
    """Return what lets the user read a path: the mode of it, or of a folder above, forbids it."""
    for at in (path, *path.parents):
        with contextlib.suppress(OSError):
            found = at.lstat()
            if found.st_uid != os.geteuid():
                break
            rights = "u+rwx" if stat.S_ISDIR(found.st_mode) else "u+rw"
            does = "lets you use it: it is yours, and its mode forbids it"
            return Remedy(command=f"chmod {rights} {shlex.quote(str(at))}", does=does)
    does = f"{path} is somebody else's: be that user, or have the right to read it given to you"
    return Remedy(command="", does=does)


def for_refusal(error: OSError) -> list[Remedy]:
    """Return what helps against what the system refused."""
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else None
    if path is None:
        return [Remedy(command="", does="mend what the system says, and look again")]
    if isinstance(error, PermissionError):
        return [allow(path)]
    named = shlex.quote(str(path))
    back = Remedy(command="", does=f"put back what belongs at {path}, from a copy")
    if path.is_symlink() and path.exists():
        target = shlex.quote(str(path.resolve()))
        does = "puts a copy of what the link leads to in its place: no link is followed here"
        return [Remedy(command=f"rm {named} && cp -a {target} {named}", does=does), back]
    if os.path.lexists(path):
        return [back, clear(path, "moves away what does not belong there; then look again")]
    return [back]
