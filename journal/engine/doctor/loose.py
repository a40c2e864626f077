"""What lies below a folder: journals, and state that no journal keeps yet.

The latter is told by the names of files and the fields that systems write.

I1  Of a file no more is asked than whose it is; what is in it is for its system to judge, when it
    takes it over. A file that does not read, or is over a mebibyte, is nobody's.
I2  Each is named with the command that takes it over, as it is to be typed from here.
I3  Of many the first are listed, and the others counted.
"""

import shlex
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from journal import config as configs
from journal import regular
from journal.engine.core import LOG_FOLDER, SNAPSHOTS_FOLDER
from journal.segment import name_of
from journal.witness import FILE_NAME as WITNESS

LEVELS = 2
"""How far down journals are looked for."""
_MANY = 20
_LOOKED_INTO = 1000
_LARGEST_BYTES = 1 << 20
_AGLOOP = {"$schema", "current_phase"}
_TASK = {"checkpoints", "files", "data"}
_LOOP = {"schemaVersion", "taskId", "maxAttempts"}


class Kept(NamedTuple):
    """A file of some system: what it is, and the command that takes it over."""

    file: str
    what: str
    command: str
    does: str


def find(folder: Path) -> tuple[list[Kept], int]:
    """Return the state files in a folder, and in the places below it that systems use; see I3."""
    found = [*_agloop(folder), *_pipelines(folder), *_plans(folder), *_threads(folder)]
    found += _loops(folder)
    if not found:
        names = ("state.json", "state.yaml", "plan.yaml", "log.json")
        found = [_of_nobody(path) for name in names if (path := folder / name).is_file()]
    return found[:_MANY], max(0, len(found) - _MANY)


def _of_nobody(path: Path) -> Kept:
    """Return a file that may be anybody's; only of one that reads as JSON a state can be made."""
    if path.name == "state.json" and _value(path) is not msgspec.UNSET:
        take_over = f"journal init {_quote(path.parent)} --take-over"
        return Kept(path.name, "a file of state", take_over, "makes a journal here that begins so")
    does = "makes a journal in DIR whose state is what the file holds"
    return Kept(path.name, "a file of state", f"journal import file {_quote(path)} -d DIR", does)


def _quote(path: Path | str) -> str:
    return shlex.quote(str(path))


def _fields(path: Path) -> set[str]:
    """Return the names of the members of the object in a file; none where it is none (I1)."""
    value = _value(path)
    return set(value) if isinstance(value, dict) else set()


def _value(path: Path) -> Any:
    """Return the JSON value in a file; UNSET where it has none, or is too large (I1)."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_BYTES:
            return msgspec.UNSET
        return msgspec.json.decode(regular.read_file(path))
    except (OSError, ValueError, RecursionError):
        return msgspec.UNSET


def remains_of(folder: Path) -> list[str]:
    """Return what is left of a journal whose log and journal.yaml are gone, by name."""
    return [name for name in (WITNESS, SNAPSHOTS_FOLDER) if (folder / name).exists()]


def journals_in(folder: Path) -> tuple[list[str], int]:
    """Return the folders below, to `LEVELS` and of threads, that hold a journal; see I3.

    So does one whose making was cut off, or that has lost journal.yaml.
    """
    places = ("*", "*/*", "layers/task-state/*/journal")
    marks = (configs.FILE_NAME, f"{LOG_FOLDER}/{name_of(1)}")
    found = {
        path.parents[mark.count("/")]
        for place in places
        for mark in marks
        for path in folder.glob(f"{place}/{mark}")
    }
    return [str(path) for path in sorted(found)[:_MANY]], max(0, len(found) - _MANY)


def _agloop(folder: Path) -> list[Kept]:
    place = folder if folder.name == ".agloop" else folder / ".agloop"
    names = ("state.json", "log.json", "checkpoints")
    there = [name for name in names if (place / name).exists()]
    if (not there and folder.name != ".agloop") and _fields(folder / "state.json") >= _AGLOOP:
        place, there = folder, ["state.json"]
    if not there or (place / "journal").exists():
        return []
    return [
        Kept(
            ".agloop/" if place.name == ".agloop" else there[0],
            "a loop of AgLoop",
            f"journal agloop init -d {_quote(place)}",
            "takes the loop over, with its log and its checkpoints",
        )
    ]


def _pipelines(folder: Path) -> list[Kept]:
    files = [folder / "pipeline-state.json", *folder.glob("*/pipeline-state.json")]
    files += folder.glob("*/*/*/pipeline-state.json")
    return [
        Kept(
            str(path.relative_to(folder)),
            "a run of a pipeline",
            f"journal pipeline status {_quote(path)}",
            "says how the run stands; the first change takes it over",
        )
        for path in sorted(files)
        if path.is_file() and not path.with_name("pipeline-state.journal").exists()
    ]


def _plans(folder: Path) -> list[Kept]:
    return [
        Kept(
            path.name,
            "a plan",
            f"journal plan status {_quote(path.name.removesuffix('.state.json'))} "
            f"--plans-dir {_quote(folder)}",
            "says where the plan stands; the first change takes it over",
        )
        for path in sorted(folder.glob("?*.state.json"))
        if not (folder / path.name.replace(".state.json", ".journal")).exists()
    ]


def _threads(folder: Path) -> list[Kept]:
    files = sorted(folder.glob("layers/task-state/*/state.json"))
    found = [
        Kept(
            str(path.relative_to(folder)),
            "the state of a task's thread",
            f"journal task init --thread {_quote(path.parent.name)} -d {_quote(folder)}",
            "takes the state over",
        )
        for path in files
        if not (path.parent / "journal").exists()
    ]
    loose = folder / "state.json"
    if not files and _fields(loose) >= _TASK:
        found.append(
            Kept(
                loose.name,
                "the state of a task",
                f"journal task init --thread main --from {_quote(loose)}",
                "begins a thread with it; the file itself stays as it is",
            )
        )
    return found


def _loops(folder: Path) -> list[Kept]:
    return [
        Kept(
            str(path.relative_to(folder)),
            "a checkpoint with a budget of attempts",
            f"journal loop takeover --file {_quote(path)}",
            "takes it over as it is",
        )
        for path in sorted([*folder.glob("*.json"), *folder.glob(".agent/*.json")])[:_LOOKED_INTO]
        if _fields(path) >= _LOOP and not path.with_suffix(".journal").exists()
    ]
