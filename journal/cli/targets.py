"""Files that a command writes because somebody named them.

I1  No part of a journal is written over: neither its log, its settings and its other private files,
    nor a view.
"""

import contextlib
import os
from pathlib import Path
from typing import BinaryIO

from journal import config, durable
from journal.errors import JournalError, UsageError

_PRIVATE = (config.FILE_NAME, "log", "snapshots", "quarantine", "witness.json")


def open_target(target: str) -> BinaryIO:
    """Open a file to be written from its start; raises `UsageError` for a journal's own (I1)."""
    refuse_own(target)
    return open(durable.open_target(target), "wb")


def refuse_own(target: str) -> None:
    """Raise `UsageError` where `target` is a file of a journal."""
    path = Path(os.path.realpath(target))
    beside = [path.parent / "journal", *path.parent.glob("*.journal")]
    for folder in (*path.parents, *beside):
        if (folder / config.FILE_NAME).exists() and _is_own(folder, path):
            raise UsageError(
                f"{target}: a file of the journal in {folder}",
                key="output",
                advice="Nothing was written. Name another file.",
            )


def _is_own(folder: Path, path: Path) -> bool:
    if path.is_relative_to(folder) and path.relative_to(folder).parts[0] in _PRIVATE:
        return True
    names = {"state.json"}
    with contextlib.suppress(JournalError, OSError):
        from projections import catalog

        settings = config.read(folder)
        views = catalog.find(settings.projection).views
        names = {settings.views.files.get(view.name, view.file) for view in views}
    return any(os.path.realpath(folder / name) == str(path) for name in names)
