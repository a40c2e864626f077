"""Where a run lies, what it is called, and which scope root it belongs to.

    layout data     {root}/temp/{P}/{run}/pipeline-state.json                root four folders up
    layout legacy   {root}/superpipelines/temp/{P}/{run}/pipeline-state.json     root five up

I1  A root is never read from the state: it is recomputed from where the file lies, so that a
    workspace can be moved, and then compared with the name that the state has for it.
I2  Names and run ids are single parts of a path; nothing that is made lies outside the root.
I3  The private part of `X.json` is `X.journal/` beside it. The start lock of a name is
    `{P}/.lock`, a file that is never deleted: the kernel's lock on it vanishes with its holder.
"""

import os
import re
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from journal import config
from journal.errors import JournalError, UsageError
from journal.log.history import FOLDER_NAME
from projections.pipeline_state import schema

Layout = Literal["data", "legacy"]

STATE_FILE = "pipeline-state.json"
DATA_ROOT = ".superpipelines"
INFIX = "superpipelines"
TEMP = "temp"
LOCK = ".lock"

_NAME = re.compile(r"[a-z0-9-]{1,48}")
_UUID4 = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE
)
_STAMP = re.compile(r"([0-9]{8})-([0-9]{6})")


# --- names ---------------------------------------------------------------------------------------


def check_name(name: str) -> str:
    """Return the name of a new pipeline; raises `UsageError` for one that cannot be one."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"the pipeline's name is {name!r}",
            key="pipeline_name",
            advice="It is 1 to 48 of a-z, 0-9 and -.",
        )
    return name


def check_run_id(run_id: str, name: str) -> str:
    """Return the id of a new run of `name`: a UUID v4, or `{name}-{YYYYMMDD-HHMMSS}`."""
    if _UUID4.fullmatch(run_id) or _is_stamped(run_id, name):
        return run_id
    raise UsageError(
        f"the run id is {run_id!r}",
        key="run_id",
        advice=f"It is a UUID v4, or {name}-YYYYMMDD-HHMMSS; left out, a UUID is made.",
    )


def _is_stamped(run_id: str, name: str) -> bool:
    found = _STAMP.fullmatch(run_id.removeprefix(f"{name}-"))
    if not found or not run_id.startswith(f"{name}-"):
        return False
    try:
        datetime.fromisoformat("T".join(found.groups()))
    except ValueError:
        return False
    return True


# --- layouts -------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A state file: the layout it lies in and the scope root that this gives (I1)."""

    file: Path
    layout: Layout
    root: Path

    @property
    def private(self) -> Path:
        """The folder of the run's journal (I3)."""
        return self.file.with_name(self.file.name.removesuffix(".json") + ".journal")

    @property
    def is_taken_over(self) -> bool:
        """Whether the run has a journal that is finished; without one its file is all there is."""
        return (self.private / config.FILE_NAME).exists()

    @property
    def has_log(self) -> bool:
        """Whether the run has a log, be it of an `init` that was cut off before it was finished."""
        folder = self.private / FOLDER_NAME
        return folder.is_dir() and any(entry.suffix == ".jsonl" for entry in folder.iterdir())

    @property
    def lock(self) -> Path:
        """The start lock of the run's name (I3)."""
        return _up(self.file, 2) / LOCK


def place_of(file: str | os.PathLike[str]) -> Place:
    """Return where a state file lies; legacy if its fourth folder up is `superpipelines`."""
    path = Path(os.path.abspath(file))
    fourth = _up(path, 4)
    if fourth.name == INFIX:
        return Place(path, "legacy", _up(path, 5))
    return Place(path, "data", fourth)


def _up(path: Path, levels: int) -> Path:
    for _ in range(levels):
        path = path.parent
    return path


def temp_folder(root: Path, layout: Layout) -> Path:
    """Return the folder under a scope root in which the names lie."""
    return root / TEMP if layout == "data" else root / INFIX / TEMP


def say_moved(place: Place, state: Any) -> str:
    """Say how the recomputed root differs from what the state has; empty where it does not."""
    named = state.get("scope_root_dir")
    if not isinstance(named, str):
        return ""
    wanted = schema.split_path(named)
    if list(place.root.parts[-len(wanted) :]) == wanted:
        return ""
    return (
        f"scope_root_dir is {named!r}, but from where the file lies (layout {place.layout}) the "
        f"root is {place.root}: the run was moved out of its scope"
    )


def say_renamed(place: Place, state: Any) -> str:
    """Say where the folders of a run are called otherwise than its state says; else empty."""
    found = [
        f"{field} is {state.get(field)!r} and its folder {folder.name!r}"
        for field, folder in (("pipeline_name", _up(place.file, 2)), ("run_id", place.file.parent))
        if state.get(field) != folder.name
    ]
    return "; ".join(found)


# --- a new run's place ---------------------------------------------------------------------------


def choose_root(root: str | None, layout: str, workspace: str | None) -> tuple[Path, str]:
    """Return the scope root of a new run, and its `scope_root_dir`.

    Layout data: the folder `.superpipelines`, given itself or by the folder that holds it. Layout
    legacy: what `workspace`, the profile's `scope_root.workspace`, names; it must be where `root`
    ends. Raises `UsageError`.
    """
    if layout == "data":
        base = Path(os.path.abspath(root or DATA_ROOT))
        return (base if base.name == DATA_ROOT else base / DATA_ROOT), DATA_ROOT
    if layout != "legacy":
        raise UsageError(f"the layout is {layout!r}", key="layout", advice="It is data or legacy.")
    if root is None and workspace is None:
        raise UsageError(
            "layout legacy needs a root: the profile has no scope_root.workspace",
            key="root",
            advice="Give the scope root, such as .claude.",
        )
    base = Path(os.path.abspath(root or workspace or ""))
    if workspace is None or schema.is_absolute(workspace):
        return base, base.name
    parts = schema.split_path(workspace)
    if ".." in parts or list(base.parts[-len(parts) :]) != parts:
        raise UsageError(
            f"the root is {base}, and the profile's scope_root.workspace is {workspace!r}",
            key="root",
            advice="Give a root that ends with it.",
        )
    return base, "/".join(parts)


def run_file(root: Path, layout: Layout, name: str, run_id: str) -> Path:
    """Return the state file of a run; raises `UsageError` where it would lie elsewhere (I2)."""
    file = temp_folder(root, layout) / name / run_id / STATE_FILE
    # Not `resolve`, which raises what is no error of a file where links lead in a circle.
    if not Path(os.path.realpath(file.parent)).is_relative_to(os.path.realpath(root)):
        raise UsageError(
            f"{file.parent} leads out of {root}", key="root", advice="Remove the symlink there."
        )
    return file


# --- finding a run -------------------------------------------------------------------------------


def is_run(file: Path) -> bool:
    """Say whether a run is here: its file, or the log of its journal where the file is gone."""
    return os.path.lexists(file) or place_of(file).has_log


def find(run: str, root: str | None = None) -> Place:
    """Return the run that a file, a folder or a run id under `root` names.

    Raises `JournalError` where there is none, `UsageError` where there are several.
    """
    named = Path(run)
    for file in (named / STATE_FILE, named):
        if is_run(file) and not file.is_dir():
            return place_of(file)
    found = [
        folder / run / STATE_FILE
        for _, folder in name_folders(root)
        if schema.is_safe_part(run) and is_run(folder / run / STATE_FILE)
    ]
    if len(found) > 1:
        listed = "\n".join(f"  {file}" for file in found)
        raise UsageError(f"there are {len(found)} runs {run!r}:\n{listed}", advice="Name the file.")
    if not found:
        raise JournalError(
            f"there is no run {run!r}: no such file or folder, and no such run id under "
            f"{root or DATA_ROOT}",
            advice="`journal pipeline list` shows the runs; --root DIR says where they lie.",
        )
    return place_of(found[0])


def name_folders(root: str | None) -> list[tuple[str, Path]]:
    """Return (name, folder) of every pipeline under a root, in both layouts, sorted."""
    base = Path(os.path.abspath(root or DATA_ROOT))
    bases = [base] if base.name == DATA_ROOT else [base, base / DATA_ROOT]
    found: list[tuple[str, Path]] = []
    for temp in [temp for base in bases for temp in (base / TEMP, base / INFIX / TEMP)]:
        if temp.is_dir():
            found += sorted((entry.name, entry) for entry in temp.iterdir() if entry.is_dir())
    return found


def runs_in(folder: Path) -> list[Place]:
    """Return the runs in the folder of a name, sorted by run id."""
    if not folder.is_dir():
        return []
    files = sorted(entry / STATE_FILE for entry in folder.iterdir() if entry.is_dir())
    return [place_of(file) for file in files if is_run(file)]
