"""Which journal a command means.

    --dir, then JOURNAL_DIR, then in each folder from the working directory upwards:
    a `journal.yaml` (or a log beside which it is missing), `.agloop/journal/`, one `*.journal/`

I1  Nothing is created and nothing guessed: several `*.journal/` side by side are listed and
    refused, and a folder that is named is taken as it is, journal or not; opening it says which.
"""

import os
from pathlib import Path

from journal.config import FILE_NAME, refuse_inside
from journal.errors import JournalError, UsageError
from journal.log.history import FOLDER_NAME
from journal.segment import name_of

VARIABLE = "JOURNAL_DIR"
_WAYS = "Name one with --dir, or go into its folder; `journal init DIR` makes a new one."


def find(named: str | None) -> Path:
    """Return the folder of the journal that a command means.

    Raises `JournalError` where there is none, `UsageError` for several, and for a file.
    """
    if named is not None:
        return _folder(Path(named), "--dir")
    if variable := os.environ.get(VARIABLE):
        return _folder(Path(variable), VARIABLE)
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (found := _in(folder)) is not None:
            # As short as it can be said, for messages.
            return Path(os.path.relpath(found, here)) if folder == here else found
    raise JournalError(f"no journal in {here}, nor in a folder above it", advice=_WAYS)


def _folder(path: Path, told_by: str) -> Path:
    if os.path.isfile(path):
        refuse_inside(path)
        raise UsageError(
            f"{path} is a file, and {told_by} names the folder of a journal",
            key="dir",
            advice="`journal doctor` says what journals lie in a folder; see also "
            f"`journal import file {path} -d DIR`.",
        )
    return path


def _in(folder: Path) -> Path | None:
    # A log without journal.yaml is a journal that lost it: better said than passed over.
    if (folder / FILE_NAME).exists() or (folder / FOLDER_NAME / name_of(1)).exists():
        return folder
    if (system := folder / ".agloop" / "journal").is_dir():
        return system
    beside = _journals_in(folder)
    if len(beside) > 1:
        names = "\n".join(f"  {path}" for path in beside)
        raise UsageError(
            f"{folder}: there are {len(beside)} journals here:\n{names}",
            key="dir",
            advice=f"Name one with --dir or {VARIABLE}.",
        )
    return beside[0] if beside else None


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # links in a circle
        return False


def _journals_in(folder: Path) -> list[Path]:
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if _is_folder(entry))
    except PermissionError:
        # A folder above us that may be passed through but not listed, as /home often is.
        return []
    return [folder / name for name in names if name.endswith(".journal")]
