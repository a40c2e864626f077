"""Several processes on one thread: each change applied once."""

import subprocess
import sys
from pathlib import Path

import pytest

import journal
from tests.task_state.tasks import THREAD, folder_of, on_disk, read_state

PROGRAM = """
import sys
from projections.task_state.task_state import TaskState

root, thread, name = sys.argv[1:]
with TaskState(thread, root=root) as task:
    task.init()
    for number in range(8):
        task.record_artifact(f"{name}-{number}")
        task.record_artifact("shared")
        task.store(number)
"""


def together(root: Path, count: int = 3) -> None:
    """Run the program several times at the same time."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(root), THREAD, f"p{number}"],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    for process in running:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err


@pytest.mark.slow
@pytest.mark.parametrize("begun", [True, False])
def test_changes_of_several_processes_are_all_there_once(tmp_path: Path, begun: bool) -> None:
    if begun:
        with on_disk(tmp_path) as task:
            task.init()
    together(tmp_path)
    state = read_state(tmp_path)
    assert sorted(state["files"]) == sorted(
        ["shared", *(f"p{p}-{n}" for p in range(3) for n in range(8))]
    )
    assert len(state["checkpoints"]) == 24
    with journal.open(folder_of(tmp_path) / "journal", read_only=True) as engine:
        assert [event.type for event in engine.events()].count("initialized") == 1
        assert engine.verify().ok


@pytest.mark.slow
def test_of_many_that_begin_a_thread_one_does_and_the_others_are_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "journal", "task", "init", "--thread", THREAD]
    running = [
        subprocess.Popen(
            [*command, "--dir", str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    said: list[str] = []
    for process in running:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        said.append(out.split(";")[0])
    assert sorted(said) == [f"{THREAD}: begun", *[f"{THREAD}: there already"] * 3]
