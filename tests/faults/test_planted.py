"""A sample of row 11, what it found, and that its tools see what they are there to see."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

import journal
from journal import config as configs
from projections.agloop.agloop import AgLoop
from projections.checkpointed_loop.loop import CheckpointedLoop
from projections.loop_plan.audit import audit
from projections.pipeline_state.listing import list_runs
from projections.task_state.task_state import TaskState
from tests.cli.command import run
from tests.faults import hostile_names, systems
from tests.faults.commanding import Exited
from tests.faults.planted_systems import (
    Place,
    Stage,
    fixed_clock,
    make_stages,
    names_of,
    try_place,
)
from tests.faults.row import Violation
from tests.faults.systems import LOOP, RUN_FOLDER, SYSTEMS
from tests.faults.tree import memory_folder, read_tree

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and FIFOs are planted")


@pytest.fixture(name="work")
def _work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file.json").write_text("{}")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def begin(work: Path, name: str) -> None:
    """Let a system begin in the working folder."""
    system = SYSTEMS[name]
    systems.put(work, system.given)
    for act in systems.acting(system.begin).values():
        act(work)


def go_on(work: Path, name: str) -> list[str]:
    """Run the verbs of a system; return what those said that were refused."""
    said: list[str] = []
    for act in systems.acting(SYSTEMS[name].verbs).values():
        try:
            act(work)
        except Exited as error:
            said.append(error.words)
    return said


# --- what was found, and its mends ---------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_journal_of_a_system_is_not_looked_for_behind_a_link(work: Path, name: str) -> None:
    private = work / SYSTEMS[name].private
    private.parent.mkdir(parents=True)
    private.symlink_to(work.parent / "outside")
    before = read_tree(str(work.parent / "outside"))
    systems.put(work, SYSTEMS[name].given)
    with pytest.raises(Exited, match="is a symlink"):
        next(iter(systems.acting(SYSTEMS[name].begin).values()))(work)
    go_on(work, name)
    assert read_tree(str(work.parent / "outside")) == before


def test_thread_and_storage_of_a_task_are_not_looked_for_behind_a_link(work: Path) -> None:
    for name in ("layers", "storage"):
        (work / ".task-state").mkdir(exist_ok=True)
        (work / ".task-state" / name).symlink_to(work.parent / "outside")
    with pytest.raises(OSError, match="symlink"), TaskState("main") as task:
        task.init()
    assert run("task", "storage", "set", "k", "1").code == 1
    assert os.listdir(work.parent / "outside") == ["file.json"]


@pytest.mark.slow
def test_checkpoints_behind_a_link_are_neither_written_nor_pruned_nor_read(work: Path) -> None:
    outside = work.parent / "outside"
    systems.put(work, systems.AGLOOP.foreign)
    (work / ".agloop/checkpoints").rename(outside / "theirs")
    (work / ".agloop/checkpoints").symlink_to(outside / "theirs")
    before = read_tree(str(outside))
    said: list[str] = []
    with AgLoop.open(work / ".agloop", on_message=said.append) as loop:
        loop.enter_phase("critique")
        types = {event.type for event in loop.engine.events()}
    assert read_tree(str(outside)) == before
    assert "checkpoint_adopted" not in types
    assert any("checkpoints" in one and "symlink" in one for one in said), said


@pytest.mark.parametrize("plant", [os.symlink, os.link], ids=["a symlink", "a hard link"])
def test_file_in_a_checkpoint_s_place_keeps_its_mode_where_it_is_somebody_else_s(
    work: Path, plant: object
) -> None:
    begin(work, "loop")
    theirs, file = work.parent / "outside/file.json", work / LOOP
    theirs.chmod(0o644)
    file.unlink()
    (os.symlink if plant is os.symlink else os.link)(theirs, file)
    loop = CheckpointedLoop(file)
    with pytest.raises(journal.errors.Drift):
        loop.transition("running")
    assert theirs.stat().st_mode & 0o777 == 0o644
    loop.rebuild()
    assert theirs.stat().st_mode & 0o777 == 0o644
    assert (file.is_symlink(), file.lstat().st_mode & 0o777) == (False, 0o600)


@pytest.mark.slow
def test_links_in_a_circle_are_an_error_with_a_path_and_no_fault_of_the_program(work: Path) -> None:
    circle = work / "circle"
    circle.symlink_to("circle")
    journal.init(work / "run").close()
    for command in (
        ("fork", "circle/new", "--at", "head", "-d", "run"),
        ("pipeline", "init", "x", "--root", "circle/.superpipelines", *_pipeline(work)),
    ):
        ran = run(*command)
        assert ran.code in (1, 2), ran
        assert "circle" in ran.err
    (work / "plans").mkdir()
    (work / "plans/feed.state.json").symlink_to("feed.state.json")
    assert len(audit(work / "plans").damaged) == 1


def _pipeline(work: Path) -> list[str]:
    systems.put(work, systems.PIPELINE.given)
    words = "--pattern 1 --phases phases.json --tier c --profile profile.json"
    return [*words.split(), "--plugin-version", "1.0.0"]


@pytest.mark.slow
def test_journal_of_a_system_in_which_nothing_was_begun_is_told(work: Path) -> None:
    for private, view, projection in (
        (f"{RUN_FOLDER}/pipeline-state.journal", "pipeline-state.json", "pipeline_state"),
        (".agent/checkpoints/task.journal", "task.json", "checkpointed_loop"),
        ("plans/feed.journal", "feed.state.json", "loop_plan"),
    ):
        journal.init(
            work / private, projection=projection, view_files={"state": f"../{view}"}
        ).close()
    assert [one.condition for one in list_runs()] == ["damaged"]
    for words in (
        ("pipeline", "status", systems.RUN),
        ("loop", "transition", "--file", LOOP, "--to", "running"),
        ("loop", "status", "--file", LOOP),
        ("plan", "status", "feed", "--plans-dir", "plans"),
    ):
        ran = run(*words)
        assert (ran.code, "was begun in this journal" in ran.err) == (1, True), ran
    new = ["--task", "t", "--objective", "o", "--max-attempts", "3", "--next-action", "n"]
    ran = run("loop", "init", "--force", "--file", LOOP, *new)
    assert (ran.code, json.loads(ran.out)["taskId"]) == (0, "t")


def test_root_of_all_folders_is_no_file_of_a_checkpoint() -> None:
    with pytest.raises(journal.UsageError, match="is a folder"):
        CheckpointedLoop("/")


# --- samples, and the tools ----------------------------------------------------------------------


@pytest.fixture(name="kept", scope="module")
def _kept() -> Iterator[Stage]:
    with memory_folder() as folder, fixed_clock():
        folder.chmod(0o755)
        yield next(one for one in make_stages(folder) if str(one) == "agloop, kept")


@pytest.mark.slow
def test_names_that_a_system_opens_are_found_by_listening(kept: Stage) -> None:
    names = names_of(kept)
    for name in ("state.json", "log.json", "plan.yaml", "checkpoints", "journal/journal.yaml"):
        assert f".agloop/{name}" in names
    assert any(name.endswith(".0123456789abcdef.journal-tmp") for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["a FIFO", "a link to a file", "a folder"])
def test_plant_in_the_place_of_a_system_s_log_or_checkpoints_is_survived(
    kept: Stage, kind: str
) -> None:
    with fixed_clock():
        for number, name in enumerate((".agloop/log.json", ".agloop/checkpoints")):
            root = kept.made.parent / f"{kind}-{number}"
            assert try_place(root, Place(kept, name, kind)) == len(kept.acts)


@pytest.mark.slow
def test_row_sees_checkpoints_that_are_written_behind_a_link(kept: Stage) -> None:
    place = Place(kept, ".agloop/checkpoints", "a link to a folder")
    with (
        fixed_clock(),
        mock.patch("journal.regular.check_folder"),
        pytest.raises(Violation, match="outside of the folder"),
    ):
        try_place(kept.made.parent / "seen", place)


@pytest.mark.slow
@pytest.mark.parametrize("use", ["a view's path in journal.yaml", "fork", "a thread", "a run id"])
def test_hostile_name_is_refused_or_confined(use: str) -> None:
    with memory_folder() as folder:
        folder.chmod(0o755)
        hostile_names.import_all(folder / "healthy")
        how = hostile_names.USES[use]
        assert hostile_names.try_use(folder / "x", use, how, hostile_names.NAMES) > 30


@pytest.mark.slow
@pytest.mark.parametrize("use", hostile_names.POINTER_USES)
def test_hostile_pointer_is_refused_or_read(use: str) -> None:
    with memory_folder() as folder:
        folder.chmod(0o755)
        hostile_names.import_all(folder / "healthy")
        how = hostile_names.POINTER_USES[use]
        assert hostile_names.try_use(folder / "x", use, how, hostile_names.POINTERS) > 20


@pytest.mark.slow
def test_row_sees_a_view_that_is_written_outside() -> None:
    with memory_folder() as folder:
        folder.chmod(0o755)
        use = "a view's path in journal.yaml"
        names = {"up and away": "../../../outside/new.json"}
        with (
            mock.patch.object(configs, "misplaced", return_value=""),
            pytest.raises(Violation, match=r"outside/new\.json"),
        ):
            hostile_names.try_use(folder / "x", use, hostile_names.USES[use], names)
