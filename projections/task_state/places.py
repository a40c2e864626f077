"""Where the state of a thread lies.

    <root>/layers/task-state/<thread>/state.json     the state, which others may read
    <root>/layers/task-state/<thread>/journal/       its log and what belongs to it, private

I1  A thread is named by any text: what a file name may not hold is percent-encoded (RFC 3986), so
    that no two threads share a folder and none leaves the root.
"""

import os
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from journal import regular
from journal.config import FILE_NAME
from journal.errors import UsageError
from projections.task_state.states import show

DEFAULT_ROOT = ".task-state"
_LAYER = Path("layers", "task-state")
_MAX_NAME_BYTES = 240


class Place(msgspec.Struct, frozen=True):
    """The folder of a thread's state."""

    root: Path
    thread: str

    @property
    def folder(self) -> Path:
        """Where the state and its journal lie."""
        return self.root / _LAYER / encode_part(self.thread)

    @property
    def state_file(self) -> Path:
        """The state, as others read it."""
        return self.folder / "state.json"

    @property
    def journal(self) -> Path:
        """The private part."""
        return self.folder / "journal"

    @property
    def has_journal(self) -> bool:
        """Whether a journal keeps the state already."""
        return (self.journal / FILE_NAME).exists()

    def refuse_links(self) -> None:
        """Raise `OSError` where a link stands in the place of a folder of ours, below the root."""
        folder = self.root
        for part in self.journal.relative_to(self.root).parts:
            folder /= part
            regular.check_folder(folder)


def place_of(thread: str, root: str | Path | None) -> Place:
    """Return where a thread's state lies; raises `UsageError` for a name that is none."""
    return Place(root_of(root), check_thread(thread))


def root_of(root: str | Path | None) -> Path:
    """Return the root that is meant: the one given, else `JOURNAL_DIR`, else `.task-state`."""
    return Path(root or os.environ.get("JOURNAL_DIR") or DEFAULT_ROOT).expanduser()


def check_thread(thread: str) -> str:
    """Return the name of a thread; raises `UsageError` for one that names no folder."""
    try:
        fits = bool(thread) and len(encode_part(thread)) <= _MAX_NAME_BYTES
    except UnicodeEncodeError:
        fits = False
    if fits:
        return thread
    raise UsageError(
        f"thread: {show(thread)} cannot name a thread",
        key="thread",
        advice=f"Allowed: text that is not empty, at most {_MAX_NAME_BYTES} bytes as the name of a "
        "folder.",
    )


def find_threads(root: str | Path | None) -> list[str]:
    """Return the names of all threads below a root that have a state or its journal, sorted."""
    folder = root_of(root) / _LAYER
    if not folder.is_dir():
        return []
    names = [entry.name for entry in folder.iterdir() if entry.is_dir()]
    places = [Place(root_of(root), unquote(name)) for name in names]
    # A folder that is not named as we name them is nobody's thread.
    ours = [p for p, name in zip(places, names, strict=True) if encode_part(p.thread) == name]
    return sorted(p.thread for p in ours if p.has_journal or p.state_file.exists())


def state_key(thread: str) -> str:
    """Return the key of a thread's state in a storage."""
    return f"layers/task-state/{thread}/state"


def encode_part(text: str) -> str:
    """Return any text as one part of a path (I1); a dot in front would hide it, or leave it."""
    found = quote(text, safe="")
    return "%2E" + found[1:] if found.startswith(".") else found
