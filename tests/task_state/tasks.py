"""What the tests of task states stand on: a clock that ticks, threads on disk and in memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import typer
from typer.testing import CliRunner

from journal.cli import failing
from journal.cli.task import app as task_app
from projections.task_state.keepers import fold_new
from projections.task_state.memory_storage import MemoryStorage
from projections.task_state.states import Json
from projections.task_state.task_state import TaskState
from tests.cli.command import Ran

THREAD = "main"
START_MS = 1_772_376_300_000  # 2026-03-01T14:45:00Z

Make = Callable[..., TaskState]


class Clock:
    """A clock that goes on by one second with each look at it."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        self.now_ms += 1000
        return self.now_ms


def on_disk(root: Path, thread: str = THREAD, **options: Any) -> TaskState:
    """A thread that a journal keeps."""
    return TaskState(thread, root=root, **{"clock": Clock(), **options})


def in_memory(thread: str = THREAD, **options: Any) -> TaskState:
    """A thread that a storage in memory keeps."""
    return TaskState(thread, **{"storage": MemoryStorage(), "clock": Clock(), **options})


def folder_of(root: Path, thread: str = THREAD) -> Path:
    return root / "layers" / "task-state" / thread


def read_state(root: Path, thread: str = THREAD) -> Json:
    """The state as others read it."""
    found: Json = orjson.loads((folder_of(root, thread) / "state.json").read_bytes())
    return found


def write_old(root: Path, data: bytes | Json, thread: str = THREAD) -> Path:
    """A state file that no journal keeps."""
    path = folder_of(root, thread) / "state.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(data if isinstance(data, bytes) else orjson.dumps(data))
    return path


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes, folders with none."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }


def after(state: Json, events: list[Any], time_ms: int = START_MS) -> Json:
    """The state after events."""
    copied: Json = orjson.loads(orjson.dumps(state))
    return fold_new(copied, events, time_ms)


_app = typer.Typer(cls=failing.Commands)
_app.add_typer(task_app, name="task")


@_app.callback()
def _options() -> None:
    """Make it a group, as the whole command line is."""


def run(*args: str, root: Path | None = None, stdin: str | bytes = b"") -> Ran:
    """Run `journal task` with these arguments."""
    wanted = ["task", *args, *([] if root is None else ["-d", str(root)])]
    result = CliRunner().invoke(_app, wanted, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def help_of(*args: str) -> str:
    """Return the help of a command of the group."""
    return CliRunner().invoke(_app, ["task", *args, "--help"]).stdout
