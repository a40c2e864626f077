"""A loop that is killed between any two of its writes: the next to open it makes all good."""

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from journal.errors import UsageError
from projections.agloop.agloop import AgLoop
from projections.agloop.projection import render
from projections.agloop.schema import check
from tests.agloop.life import (
    FEATURE,
    Clock,
    begin,
    checkpoints,
    finish,
    folder_of,
    foreign_state,
    put_checkpoint,
    put_state,
    read_state,
    reopen,
    task,
    types,
    write_plan,
)

WRITES = ("replace", "pwrite", "write", "unlink", "rename", "mkdir", "link")
pytestmark = pytest.mark.slow


def killed_at(point: int, act: Callable[[], None]) -> bool:
    """Run `act` in a child that dies before its write number `point`; say whether it died."""
    child = os.fork()
    if child == 0:
        left = point

        def watched(name: str) -> Callable[..., Any]:
            real = getattr(os, name)

            def call(*args: Any, **options: Any) -> Any:
                nonlocal left
                left -= 1
                if left < 0:
                    os._exit(9)
                return real(*args, **options)

            return call

        try:
            for name in WRITES:
                setattr(os, name, watched(name))
            act()
        except BaseException:  # noqa: BLE001 - told by the code
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 9), code
    return code == 9


def make_good(tmp_path: Path) -> list[str]:
    """Open what a kill left, check everything, and return the events."""
    with reopen(tmp_path) as loop:
        assert loop.engine.verify().ok
        check(loop.state)
        found = list(loop.engine.events())
        gone = {n for e in found if e.type == "checkpoints_pruned" for n in e.data["files"]}
        made = {e.data["file"] for e in found if e.type == "checkpoint_created"}
        assert made - gone <= set(checkpoints(tmp_path))
        entered = [e for e in found if e.type in ("phase_entered", "reset", "compacted")]
        assert len(made) == len(entered)  # all of an append or nothing of it
        assert render(loop.state) == (folder_of(tmp_path) / "state.json").read_bytes()
        assert "log.json" in loop.engine.rebuild().equal
    for name in checkpoints(tmp_path):
        json.loads((folder_of(tmp_path) / "checkpoints" / name).read_text())
    return types(found)


def live(tmp_path: Path) -> None:
    with reopen(tmp_path) as loop:
        loop.adopt_plan()
        loop.enter_phase("critique")
        loop.enter_phase("execute")
        finish(loop, "task-001")
        for _ in range(8):
            loop.compact()
        (folder_of(tmp_path) / "plan.yaml").unlink()
        loop.note("without a plan")
        loop.reset()


@pytest.mark.parametrize("first", range(7))
def test_a_loop_that_is_killed_goes_on(tmp_path: Path, first: int) -> None:
    point = first
    died = True
    while died:
        place = tmp_path / str(point)
        place.mkdir()
        with begin(place, "research", "plan"):
            write_plan(place, task(1))
        died = killed_at(point, lambda place=place: live(place))  # type: ignore[misc]
        found = make_good(place)
        assert found.count("reset") == (0 if "reset" not in found else 1)
        if not died:
            assert found[-1] in ("reset", "checkpoints_pruned")
        point += 49


@pytest.mark.parametrize("point", range(0, 60, 3))
def test_a_takeover_that_is_killed_is_completed(tmp_path: Path, point: int) -> None:
    put_state(tmp_path, foreign_state(current_phase="research"))
    put_checkpoint(tmp_path, "2026-02-01T10:00:00.000Z", foreign_state())
    (folder_of(tmp_path) / "log.json").write_bytes(b'{"agent":"x","action":"old"}\n')
    died = killed_at(point, lambda: AgLoop.init(folder_of(tmp_path), clock=Clock()).close())
    with reopen(tmp_path) as loop:
        loop.note("goes on")
        assert loop.engine.verify().ok
        found = types(loop.engine.events())
    assert found[:3] == ["journal.created", "journal.taken_over", "normalized"]
    assert found.count("log_line_adopted") == 1
    assert died or "checkpoint_adopted" in found
    assert read_state(tmp_path)["current_phase"] == "research"


@pytest.mark.parametrize("point", range(0, 50, 3))
def test_a_beginning_that_is_killed_is_completed_by_init(tmp_path: Path, point: int) -> None:
    died = killed_at(
        point,
        lambda: AgLoop.init(folder_of(tmp_path), feature_name=FEATURE, clock=Clock()).close(),
    )
    if died:
        with contextlib.suppress(UsageError):  # it had begun before the kill
            AgLoop.init(folder_of(tmp_path), feature_name=FEATURE, clock=Clock()).close()
    with reopen(tmp_path) as loop:
        assert types(loop.engine.events()) == ["journal.created", "initialized"]
        assert loop.state["feature_name"] == FEATURE
        assert loop.engine.verify().ok
