"""How a journal comes into being.

I1  The log is made first and `journal.yaml` last. A kill in between leaves an unfinished journal,
    which `init` completes and nothing else touches.
I2  What lies in the folder already is never written over: a file in the place of a view is taken
    over, or set aside, where that is asked for; else a new journal is refused.
"""

import contextlib
import os
import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from journal import codec, durable, locks, regular
from journal import config as configs
from journal.config import Config, Durability, ViewsConfig
from journal.engine import arguments
from journal.engine.checks import check_state
from journal.engine.core import LOG_FOLDER, SNAPSHOTS_FOLDER
from journal.engine.encoding import NewEvent, encode, to_draft
from journal.engine.engine import Engine
from journal.engine.opening import check_durability, created, open_journal
from journal.errors import Corrupt, UsageError
from journal.event import TAKEN_OVER, Clock, facts, format_time, now_ms, parse_time
from journal.log import lines as log_lines
from journal.log import writer as logs
from journal.log.lines import Encoded
from journal.log.reader import Reader
from journal.segment import Segment, name_of
from journal.witness import FILE_NAME as WITNESS
from projections import catalog
from projections.projection import Projection
from projections.view_kinds import DocumentView

Say = Callable[[str], None]
_DEFAULT = "document"
_COMMANDS = {
    "agloop": "journal agloop",
    "task_state": "journal task",
    "task_storage": "journal task",
    "pipeline_state": "journal pipeline",
    "loop_plan": "journal plan",
    "checkpointed_loop": "journal loop",
}


class TakeOver(msgspec.Struct, frozen=True, kw_only=True):
    """A file of another tool that becomes a journal: its parsed `state` is the first state.

    `path` names it, `sha256` is of its bytes as found, `modified` the time of its last change, if
    that is wanted. `events` come right after it, in the same append: what was read differently
    than it stands (`normalized`, say), its log lines.
    """

    path: str
    sha256: str
    state: Any
    modified: str = ""
    events: Sequence[NewEvent] = ()

    def encode(self, projection: Projection) -> list[Encoded]:
        """Return `journal.taken_over` and the events after it."""
        data = {"path": self.path, "sha256": self.sha256, "state": self.state}
        if self.modified:
            data["modified"] = self.modified
        limit_bytes = codec.MAX_ENGINE_EVENT_BYTES
        found = [Encoded(TAKEN_OVER, codec.encode_value(data, limit_bytes=limit_bytes))]
        return found + _encode_all(self.events, projection)


def _encode_all(events: Sequence[NewEvent], projection: Projection) -> list[Encoded]:
    drafts = [to_draft(event, "") for event in events]
    for draft in drafts:
        projection.name_type(draft.type)
    return [encode(draft) for draft in drafts]


def init_journal(
    path: str | Path,
    *,
    projection: str | Projection = _DEFAULT,
    durability: Durability = "always",
    views_every_ms: int = 0,
    view_files: dict[str, str] | None = None,
    time: str | None = None,
    take_over: TakeOver | bool | None = None,
    events: Sequence[NewEvent] = (),
    clock: Clock = now_ms,
    lock_timeout_s: float = 10.0,
    on_message: Say | None = None,
) -> Engine:
    """Make a journal in the folder `path`, or complete an unfinished one, and open it.

    `projection`: a name from the catalog, or `module:NAME`. `views_every_ms`: 0 writes the views
    with every append. `view_files`: where views lie, relative to `path`. `time`: when history
    begins, for histories from elsewhere. `take_over`: a file that stands where the state view
    will be, or True to have it read as JSON; its value is the first state, in the same write as
    the journal's first line. False sets it aside in quarantine/. `events` come in that write, too,
    so that nobody ever sees a journal without them. Raises `UsageError` where a journal is there
    already, or a file that is neither taken over nor set aside (I2), and `Corrupt` for one that
    cannot be read.
    """
    arguments.check(path=path, projection=projection, views_every_ms=views_every_ms, began=time)
    arguments.check(view_files=view_files, clock=clock, lock_timeout_s=lock_timeout_s)
    arguments.check(on_message=on_message)
    arguments.check_iterable("events", events, "a list of events")
    if not (take_over is None or isinstance(take_over, TakeOver | bool)):
        raise arguments.refusal("take_over", take_over, "a TakeOver, True or False,")
    events = [*events]
    folder = Path(path)
    found = catalog.find(projection) if isinstance(projection, str) else projection
    name = projection if isinstance(projection, str) else projection.name
    _refuse_place(folder)
    if take_over is True and not folder.is_dir():
        raise _nothing_to_take_over(folder, 0)
    began = format_time(clock()) if time is None else parse_time(time)
    files = view_files or {}
    _check_options(
        found, durability=durability, every_ms=views_every_ms, files=files, folder=folder
    )
    durable.make_folder(folder)
    with contextlib.closing(locks.FolderLock(folder)) as lock, lock.held(lock_timeout_s):
        if os.path.lexists(folder / configs.FILE_NAME):
            raise UsageError(f"{folder}: another process made a journal here just now")
        journal_id = _id_of_log(folder)
        if journal_id and projection == _DEFAULT:
            name, found = _begun_as(folder)
        settings = Config(
            id=journal_id,
            projection=name,
            durability=durability,
            views=ViewsConfig(every_ms=views_every_ms, files=files),
        )
        if not settings.id:
            _refuse_remains(folder)
            files_there = _files_there(folder, found, settings)
            if take_over is True:
                take_over = _read_first_state(folder, found, files_there)
            elif take_over is None:
                _refuse_files(folder, files_there)
            settings.id = _make_log(folder, name, began, found, take_over or None, events)
        settings.views.targets = _symlink_targets(folder, found, settings)
        configs.write(folder, settings)
    return open_journal(
        folder,
        projection=found,
        clock=clock,
        lock_timeout_s=lock_timeout_s,
        on_message=on_message,
    )


def _check_options(
    projection: Projection,
    *,
    durability: object,
    every_ms: object = 0,
    files: Mapping[str, str] | None = None,
    folder: Path = Path(),
) -> None:
    """Raise `UsageError` for options that a journal could not be opened with."""
    check_durability(durability)
    if not isinstance(every_ms, int) or every_ms < 0:
        raise UsageError(f"views_every_ms is {every_ms!r}, not 0 or more", key="views_every_ms")
    known = [view.name for view in projection.views]
    for name, file in (files or {}).items():
        if name not in known:
            raise UsageError(
                f"projection {projection.name!r} has no view {name!r}",
                key="view_files",
                advice=f"Its views: {', '.join(known)}.",
            )
        if why := configs.misplaced(file, folder):
            raise UsageError(f"view {name!r}: {why}", key="view_files")


def _refuse_place(folder: Path) -> None:
    """Raise `UsageError` for what is no folder for a new journal."""
    named = shlex.quote(str(folder))
    if folder.is_file():
        configs.refuse_inside(folder)
        raise UsageError(
            f"{folder}: a file, not a folder",
            key="path",
            advice=f"Name a folder; `journal import file {named} -d DIR` makes one of what the "
            "file holds.",
        )
    if os.path.lexists(folder / configs.FILE_NAME):
        raise UsageError(
            f"{folder}: there is a journal here already",
            advice=f"Open it; `journal status -d {named}` says what is in it.",
        )
    configs.refuse_inside(folder)


# --- what lies there already ---------------------------------------------------------------------


def _files_there(folder: Path, projection: Projection, settings: Config) -> list[Path]:
    """Return the files in the places of the document views; an empty one holds nothing."""
    paths = [
        folder / settings.views.files.get(view.name, view.file)
        for view in projection.views
        if isinstance(view, DocumentView)
    ]
    return [path for path in paths if path.exists() and not _is_empty(path)]


def _refuse_remains(folder: Path) -> None:
    """Raise `UsageError` beside what is left of a journal: a new log would contradict it."""
    left = [name for name in (WITNESS, SNAPSHOTS_FOLDER) if os.path.lexists(folder / name)]
    if left:
        at = shlex.quote(str(folder))
        raise UsageError(
            f"{folder}: {' and '.join(left)} are there, of a journal whose log is gone",
            key="path",
            advice=f"Put log/ back from a copy, and `journal init {at}` completes it; or move them "
            f"away, as `journal doctor {at}` says. Nothing was changed.",
        )


def _is_empty(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == 0


def _refuse_files(folder: Path, files: Sequence[Path]) -> None:
    """Raise `UsageError` where a new journal would write over a file (I2)."""
    for file in files:
        raise UsageError(
            f"{file} is there already, and a new journal would put its first state there",
            key="path",
            advice=f"`journal init {shlex.quote(str(folder))} --take-over` makes what it holds the "
            "first state (it must be JSON); or move it away, or name another folder. Nothing was "
            "changed.",
        )


def _read_first_state(folder: Path, projection: Projection, files: Sequence[Path]) -> TakeOver:
    """Read the file to be taken over; raises `UsageError` where there is none, `Corrupt`."""
    if len(files) != 1:
        raise _nothing_to_take_over(folder, len(files))
    from projections.foreign import read_json

    file = files[0]
    with open(regular.open_given(file), "rb") as opened:
        modified = format_time(os.fstat(opened.fileno()).st_mtime_ns // 1_000_000)
        data = opened.read()
    reader = projection.read_view
    try:
        state = reader(data, file) if reader else read_json(data, path=file).value
    except Corrupt as error:
        advice = "Mend the file, or move it away. Nothing was changed."
        raise Corrupt(
            error.why, path=file, line=error.line, offset=error.offset, advice=advice
        ) from error
    digest = codec.sha256(data)
    return TakeOver(path=file.name, sha256=digest, state=state, modified=modified)


def _nothing_to_take_over(folder: Path, count: int) -> UsageError:
    return UsageError(
        f"{folder}: one file is taken over, and in the place of the state there "
        f"{f'are {count}' if count else 'is none'}",
        key="take_over",
        advice="Nothing was changed.",
    )


# --- the log -------------------------------------------------------------------------------------


def _id_of_log(folder: Path) -> str:
    """Return the id in the log that is there, of an `init` that was cut off, say; "" if none is."""
    log_folder = folder / LOG_FOLDER
    regular.check_folder(log_folder)
    if log_folder.is_dir() and any(log_folder.iterdir()):
        durable.remove_leftovers(log_folder)
    if log_folder.is_dir() and any(log_folder.iterdir()):
        with contextlib.closing(Reader(log_folder)) as reader:
            return reader.journal_id
    return ""


def projection_of_log(folder: Path) -> str:
    """Return the projection that the log in a folder was begun with; "" where that is not known."""
    first = folder / LOG_FOLDER / name_of(1)
    with contextlib.suppress(Corrupt, OSError), Segment(first) as segment:
        return str(facts(segment.header()).get("projection", ""))
    return ""


def completed_by(folder: Path) -> str:
    """Return the command of the system whose journal this is, for one that lacks `journal.yaml`.

    It knows where the views lie, which `init` does not. Empty for any other journal.
    """
    is_systems = folder.name == "journal" or folder.name.endswith(".journal")
    return _COMMANDS.get(projection_of_log(folder), "") if is_systems else ""


def _begun_as(folder: Path) -> tuple[str, Projection]:
    """Return the projection that a journal to be completed has; raises `UsageError`."""
    if system := completed_by(folder):
        raise UsageError(
            f"{folder}: a journal of `{system}`, which lacks {configs.FILE_NAME}",
            key="path",
            advice=f"The next change by `{system}` writes it again; see `{system} --help`.",
        )
    name = projection_of_log(folder) or _DEFAULT
    return name, catalog.find(name)


def _make_log(  # noqa: PLR0917 - one caller
    folder: Path,
    name: str,
    time: str,
    projection: Projection,
    take_over: TakeOver | None,
    events: Sequence[NewEvent],
) -> str:
    """Make the log; return the id."""
    journal_id = secrets.token_hex(16)
    further = [] if take_over is None else take_over.encode(projection)
    further += _encode_all(events, projection)
    lines = log_lines.first_lines(created(name, journal_id), further, time=time)
    if further:
        state = projection.apply_new(projection.initial(), projection.decode_new(lines))
        check_state(state, projection)
    logs.create(folder / LOG_FOLDER, lines)
    return journal_id


def _symlink_targets(folder: Path, projection: Projection, settings: Config) -> dict[str, str]:
    targets = {}
    for view in projection.views:
        path = folder / settings.views.files.get(view.name, view.file)
        if path.is_symlink():
            targets[view.name] = str(path.readlink())
    return targets
