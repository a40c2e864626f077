"""Several processes on one plan: each command applied once, or refused with its reason."""

import subprocess
import sys
from pathlib import Path

import pytest

import journal
from tests.loop_plan.life import SLUG, begin, read_state, write_old

PROGRAM = """
import sys
from journal.errors import JournalError
from projections.loop_plan.plan import LoopPlan

folder, slug, name, what = sys.argv[1:]
done = []
for number in range(8):
    try:
        with LoopPlan.open(slug, folder) as plan:
            if what == "add":
                plan.add("blocker", f"{name}-{number}")
            else:
                plan.enter_phase(what)
        done.append(f"{name}-{number}")
    except JournalError as error:
        print("refused", error.message, file=sys.stderr)
print("\\n".join(done))
"""


def together(folder: Path, slug: str, whats: list[str]) -> tuple[list[str], list[str]]:
    """Run the program once for each of `whats` at the same time; what was done and refused."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(folder), slug, f"p{number}", what],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, what in enumerate(whats)
    ]
    done: list[str] = []
    refused: list[str] = []
    for process in running:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        done += out.split()
        refused += [line for line in err.splitlines() if line.startswith("refused")]
    return done, refused


@pytest.mark.slow
def test_entries_of_several_processes_are_all_there_once(tmp_path: Path) -> None:
    begin(tmp_path).close()
    done, refused = together(tmp_path, SLUG, ["add"] * 3)
    assert (len(done), refused) == (24, [])
    assert sorted(read_state(tmp_path)["execution"]["blockers"]) == sorted(done)


@pytest.mark.slow
def test_step_that_several_take_is_taken_once(tmp_path: Path) -> None:
    begin(tmp_path).close()
    done, refused = together(tmp_path, SLUG, ["1"] * 3)
    assert (len(done), len(refused)) == (1, 23)
    assert all("phase 1 → 1 is not a step" in words for words in refused)
    with journal.open(tmp_path / f"{SLUG}.journal", read_only=True) as engine:
        assert [event.type for event in engine.events()].count("phase_entered") == 1


@pytest.mark.slow
def test_file_of_before_is_taken_over_once(tmp_path: Path) -> None:
    write_old(tmp_path, {"slug": "old", "version": 1, "iteration": 1, "current_phase": "4"}, "old")
    done, refused = together(tmp_path, "old", ["add"] * 3)
    assert (len(done), refused) == (24, [])
    assert sorted(read_state(tmp_path, "old")["execution"]["blockers"]) == sorted(done)
    with journal.open(tmp_path / "old.journal", read_only=True) as engine:
        assert [event.type for event in engine.events()].count("journal.taken_over") == 1
