"""State that no journal keeps yet, told by the names of the files that the systems use.

I1  Names alone are looked at: what is in a file is for its system to judge, when it takes it over.
"""

from pathlib import Path
from typing import NamedTuple

from journal import config as configs

_MANY = 20


class Kept(NamedTuple):
    """A file of some system: what it is, and the command that takes it over."""

    file: str
    what: str
    command: str
    does: str


def find(folder: Path) -> list[Kept]:
    """Return the state files in a folder, and in the places below it that systems use."""
    found = [*_agloop(folder), *_pipelines(folder), *_plans(folder), *_threads(folder)]
    if not found:
        found = [
            Kept(
                path.name,
                "a file of state",
                f"journal import file {path.name} -d DIR",
                "makes a journal in DIR whose state is what the file holds",
            )
            for name in ("state.json", "state.yaml", "plan.yaml", "log.json")
            if (path := folder / name).is_file()
        ]
    return found[:_MANY]


def journals_in(folder: Path) -> list[str]:
    """Return the folders below, one or two levels down, that hold a journal."""
    places = [*folder.glob(f"*/{configs.FILE_NAME}"), *folder.glob(f"*/*/{configs.FILE_NAME}")]
    return [str(path.parent) for path in sorted(places)[:_MANY]]


def _agloop(folder: Path) -> list[Kept]:
    place = folder if folder.name == ".agloop" else folder / ".agloop"
    names = ("state.json", "log.json", "checkpoints")
    if not any((place / name).exists() for name in names) or (place / "journal").exists():
        return []
    return [
        Kept(
            ".agloop/",
            "a loop of AgLoop",
            "journal agloop init",
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
            f"journal pipeline status {path}",
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
            f"journal plan status {path.name.removesuffix('.state.json')} --plans-dir {folder}",
            "says where the plan stands; the first change takes it over",
        )
        for path in sorted(folder.glob("?*.state.json"))
        if not (folder / path.name.replace(".state.json", ".journal")).exists()
    ]


def _threads(folder: Path) -> list[Kept]:
    return [
        Kept(
            str(path.relative_to(folder)),
            "the state of a task's thread",
            f"journal task init --thread {path.parent.name}",
            "takes the state over",
        )
        for path in sorted(folder.glob("layers/task-state/*/state.json"))
        if not (path.parent / "journal").exists()
    ]
