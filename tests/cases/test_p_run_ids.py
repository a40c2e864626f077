"""Group P: names that become files. Each is refused, or has a place of its own inside the root."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

import journal
from journal.errors import UsageError
from projections.loop_plan.plan import LoopPlan
from projections.pipeline_state.run import PipelineRun
from projections.task_state.file_storage import FileStorage
from projections.task_state.task_state import TaskState
from tests.pipeline_state.making import PHASES, PROFILE

NAMES = [
    *(
        "a",
        "A",
        "a/b",
        "a_b",
        "a%2Fb",
        "a%252Fb",
        "a\\b",
        "a:b",
        "a b",
        " a",
        "a ",
        "a.",
        ".a",
        "a~",
    ),
    *(
        "",
        ".",
        "..",
        "...",
        "../up",
        "../../up",
        "/abs",
        "~",
        "~root",
        "a/../b",
        "a//b",
        "./a",
        "-a",
    ),
    *("a\nb", "a\tb", "a\x00b", "a\x1b[31mb", "\ud800", "é", "e\u0301", "\u202egnp", "con", "nul"),
    *("*", "a?b", '"', "'; rm -rf ~", "$(id)", "`id`", "a" * 300, "é" * 200, "state.json", "log"),
]


def name_thread(root: Path, name: str) -> None:
    with TaskState(name, root=root) as task:
        task.init()


def name_key(root: Path, name: str) -> None:
    FileStorage(root).set(name, "1")


def name_plan(root: Path, name: str) -> None:
    if not name:
        raise UsageError("an empty slug is made from the statement")
    LoopPlan.init("a statement", slug=name, plans_dir=root).close()


def name_run(root: Path, name: str) -> None:
    run_pipeline(root, "nightly", name)


def name_pipeline(root: Path, name: str) -> None:
    run_pipeline(root, name, None)


def run_pipeline(root: Path, name: str, run_id: str | None) -> None:
    PipelineRun.init(
        name,
        pattern="1",
        phases=PHASES,
        tier="claude",
        profile=PROFILE,
        plugin_version="1.0.0",
        root=str(root),
        run_id=run_id,
    ).close()


def name_checkpoint(root: Path, name: str) -> None:
    with journal.open(root / "run") if (root / "run").exists() else journal.init(root / "run") as j:
        j.append("set", {"path": "/n", "value": j.seq})
        j.snapshot(name)


def places(root: Path) -> set[str]:
    return {str(path) for path in root.rglob("*")}


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [name_thread, name_key, name_plan, name_run, name_pipeline, name_checkpoint],
    ids=lambda make: make.__name__,
)
def test_p01_a_name_is_refused_or_has_a_place_of_its_own_inside_the_root(
    tmp_path: Path, make: Callable[[Path, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = tmp_path / "deep" / "down" / "root"
    root.mkdir(parents=True)
    outside = places(tmp_path)
    taken, refused = 0, 0
    for name in NAMES:
        inside = places(root)
        with contextlib.suppress(UsageError):
            make(root, name)
            taken += 1
            assert places(root) > inside, f"{name!r} has the place of another"
            continue
        refused += 1
        assert places(root) == inside, f"{name!r} was refused and has left something"
    assert places(tmp_path) - places(root) == outside, "a name leads out of the root"
    assert taken + refused == len(NAMES)
    assert refused >= 1
    assert taken >= 1 or make is name_run, "a run's id is a UUID, or its name and a time"
