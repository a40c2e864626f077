"""An event-sourced journal: every mutation is an event in a JSONL log, state is a fold of them.

    import journal

    with journal.init("run") as j:
        j.append("set", {"path": "/phase", "value": "plan"})
    with journal.open("run") as j:
        j.state                       # {"phase": "plan"}

`import journal` loads the ground floor only (errors, events, the log); `open` and `init` bring the
engine with the projections. What both return is a `journal.Engine`; see `help(journal.Engine)`.
"""

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

# The ground floor, complete: whoever reads a log without the engine finds everything loaded.
from journal import codec, config, durable, keys, recovery, segment, witness
from journal.errors import (
    Conflict,
    Corrupt,
    Drift,
    JournalError,
    Locked,
    ProjectionError,
    UnsupportedFormat,
    UsageError,
)
from journal.event import Draft, Event
from journal.log.history import History

if TYPE_CHECKING:
    from journal.engine import DoctorReport, Engine, TakeOver

__version__ = "0.1.0"

__all__ = [
    "Conflict",
    "Corrupt",
    "Draft",
    "Drift",
    "Engine",
    "Event",
    "History",
    "JournalError",
    "Locked",
    "ProjectionError",
    "TakeOver",
    "UnsupportedFormat",
    "UsageError",
    "codec",
    "config",
    "doctor",
    "durable",
    "init",
    "keys",
    "open",
    "recovery",
    "segment",
    "witness",
]


def open(path: str | Path, **options: Any) -> "Engine":
    """Open the journal in the folder `path`; see `journal.engine.opening.open_journal`.

    Options: read_only, projection, durability, on_drift, lock_timeout_s, on_message, clock,
    without_code.
    """
    # The one upward edge: the engine is loaded when it is first wanted, not by `import journal`.
    engine: Engine = importlib.import_module("journal.engine").open_journal(path, **options)
    return engine


def init(path: str | Path, **options: Any) -> "Engine":
    """Make a journal in the folder `path` and open it; see `journal.engine.beginning.init_journal`.

    Options: projection, durability, views_every_ms, view_files, time, take_over, events,
    lock_timeout_s, on_message, clock.
    """
    engine: Engine = importlib.import_module("journal.engine").init_journal(path, **options)
    return engine


def doctor(path: str | Path, *, anchors: Iterable[tuple[int, str]] = ()) -> "DoctorReport":
    """Look at any folder and change nothing; see `journal.engine.doctor.run.doctor`.

    What is there, what is wrong with it, and what each remedy would do, lose and cost. `anchors`
    are pairs (seq, sha256) noted earlier, as for `Engine.verify`.
    """
    run = importlib.import_module("journal.engine.doctor.run")
    found: DoctorReport = run.doctor(path, anchors=anchors)
    return found


def __getattr__(name: str) -> Any:
    """Bring `Engine` and `TakeOver` with the engine, when they are first asked for."""
    if name in ("Engine", "TakeOver"):
        return getattr(importlib.import_module("journal.engine"), name)
    raise AttributeError(f"module 'journal' has no attribute {name!r}")
