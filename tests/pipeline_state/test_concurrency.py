"""Several processes on one name or one run: each command is applied once, or refused."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import orjson
import pytest

from projections.pipeline_state.run import PipelineRun
from tests.pipeline_state.making import HOUR_MS, PHASES, PROFILE, UUID, Desk, foreign_state

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from journal.errors import JournalError
from projections.pipeline_state.run import PipelineRun
sys.stdin.readline()
try:
    {verb}
    print("done")
except JournalError as error:
    print(type(error).__name__, error.message)
"""


def together(desk: Desk, verbs: list[str]) -> list[str]:
    """Run each verb in a process of its own, all let go at once; return what they said."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(verb=verb)],
            cwd=desk.folder,
            env={"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for verb in verbs
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60)[0].strip() for process in processes]
    assert all(said), said
    return said


@pytest.mark.slow
def test_of_several_starts_of_a_name_one_wins_and_the_others_are_refused(desk: Desk) -> None:
    init = (
        f"PipelineRun.init('review', pattern='1', phases={PHASES!r}, tier='claude', "
        f"profile={PROFILE!r}, plugin_version='2.1.0').close()"
    )
    said = together(desk, [init] * 5)
    assert Counter(words.split(" ")[0] for words in said) == {"done": 1, "UsageError": 4}
    assert sum("active run detected" in words for words in said) == 4
    assert len(list((desk.root / "temp" / "review").glob("*/pipeline-state.json"))) == 1


@pytest.mark.slow
def test_of_several_resumes_of_a_crashed_run_one_wins(desk: Desk) -> None:
    desk.write(foreign_state(started_at="2020-01-01T00:00:00Z"), age_ms=10**10)
    resume = f"PipelineRun.open('{UUID}').resume(choose='resume')"
    said = together(desk, [resume] * 4)
    assert Counter(words.split(" ")[0] for words in said) == {"done": 1, "UsageError": 3}
    assert sum("active run detected" in words for words in said) == 3


@pytest.mark.slow
def test_of_several_resumes_of_two_crashed_runs_of_a_name_one_wins(desk: Desk) -> None:
    for run in ("one", "two"):
        desk.write(foreign_state(started_at="2020-01-01T00:00:00Z"), run=run, age_ms=10**10)
    verbs = [f"PipelineRun.open('{run}').resume(choose='restart')" for run in ("one", "two")]
    said = together(desk, verbs)
    assert Counter(words.split(" ")[0] for words in said) == {"done": 1, "UsageError": 1}


@pytest.mark.slow
def test_of_several_starts_of_a_phase_one_wins_and_every_output_of_others_is_kept(
    desk: Desk,
) -> None:
    file = desk.write(foreign_state())
    verbs = [f"PipelineRun.open('{UUID}').done(1, ['out-{n}'])" for n in range(3)]
    verbs += [f"PipelineRun.open('{UUID}').set_metadata('key-{n}', {n})" for n in range(4)]
    said = together(desk, verbs)
    assert Counter(words.split(" ")[0] for words in said) == {"done": 5, "UsageError": 2}
    state = orjson.loads(file.read_bytes())
    assert {f"key-{n}" for n in range(4)} <= set(state["metadata"])
    assert len(state["phases"][1]["outputs"]) == 2
    with PipelineRun.open(UUID) as run:
        kinds = Counter(event.type for event in run.engine.events())
        assert (kinds["journal.taken_over"], kinds["metadata_set"]) == (1, 4)
        assert run.engine.verify().ok


def test_two_engines_on_one_run_see_each_others_verbs(desk: Desk) -> None:
    with desk.begin(run_id=UUID) as one, desk.open(UUID) as two:
        one.start(0)
        two.done(0, ["plan.md"])
        one.start(1)
        desk.clock.go(HOUR_MS)
        two.beat()
        assert one.state["phases"][0]["status"] == "done"
        assert [event.seq for event in two.engine.events()] == list(range(1, 7))
