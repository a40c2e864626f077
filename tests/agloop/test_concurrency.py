"""Several processes at once: each command applied once, or refused with its reason."""

import json
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from journal.errors import UsageError
from projections.agloop import hooks
from projections.agloop.agloop import AgLoop
from tests.agloop.life import (
    actions,
    begin,
    checkpoints,
    executing,
    folder_of,
    foreign_state,
    put_checkpoint,
    put_state,
    read_log,
    read_state,
    reopen,
    task,
    types,
)

REFUSED = 3
pytestmark = pytest.mark.slow


def race(count: int, act: Callable[[int], Any]) -> list[int]:
    """Run `act(n)` in `count` processes at once; return their exit codes."""

    def job(n: int) -> None:
        code = 0
        try:
            act(n)
        except UsageError:
            code = REFUSED
        except BaseException:  # noqa: BLE001 - told by the code
            code = 1
        os._exit(code)

    context = multiprocessing.get_context("fork")
    jobs = [context.Process(target=job, args=(n,)) for n in range(count)]
    for one in jobs:
        one.start()
    for one in jobs:
        one.join(60)
    return sorted(one.exitcode if one.exitcode is not None else -1 for one in jobs)


def test_of_many_that_enter_a_phase_one_does_and_the_others_are_refused(tmp_path: Path) -> None:
    begin(tmp_path).close()

    def act(n: int) -> None:
        with reopen(tmp_path) as loop:
            loop.enter_phase("research", agent=f"agent-{n}")

    assert race(6, act) == [0, *[REFUSED] * 5]
    assert actions(tmp_path).count("phase_entered") == 1
    assert len(checkpoints(tmp_path)) == 1
    assert len(read_state(tmp_path)["phase_history"]) == 1


def test_of_many_that_start_a_task_one_does(tmp_path: Path) -> None:
    executing(tmp_path, *(task(n) for n in range(1, 7))).close()

    def act(n: int) -> None:
        with reopen(tmp_path) as loop:
            loop.start_task(f"task-{n + 1:03d}")

    assert race(6, act) == [0, *[REFUSED] * 5]
    state = read_state(tmp_path)
    assert sum(one["status"] == "in_progress" for one in state["tasks"]) == 1


def test_notes_and_compactions_of_many_are_all_there_once(tmp_path: Path) -> None:
    begin(tmp_path).close()

    def act(n: int) -> None:
        with reopen(tmp_path) as loop:
            for i in range(4):
                loop.note(f"note-{n}-{i}")
                loop.compact()

    assert race(4, act) == [0] * 4
    entries = read_log(tmp_path)
    notes = sorted(e["action"] for e in entries if e["action"].startswith("note-"))
    assert notes == sorted(f"note-{n}-{i}" for n in range(4) for i in range(4))
    assert read_state(tmp_path)["compaction_context"]["compaction_count"] == 16
    names = [e["output_summary"] for e in entries if e["action"] == "checkpoint_created"]
    assert len(set(names)) == 16
    with reopen(tmp_path) as loop:
        assert loop.engine.verify().ok
        loop.compact()
    assert len(checkpoints(tmp_path)) == 10


@pytest.mark.parametrize("taken_over", [False, True])
def test_of_many_that_begin_a_loop_one_does_and_the_others_are_refused(
    tmp_path: Path, taken_over: bool
) -> None:
    if taken_over:
        put_state(tmp_path, foreign_state())

    def act(n: int) -> None:
        AgLoop.init(folder_of(tmp_path), feature_name=f"feature-{n}").close()

    assert race(8, act) == [0, *[REFUSED] * 7]
    expected = ["normalized", "feature_set"] if taken_over else ["initialized"]
    assert actions(tmp_path) == expected
    with reopen(tmp_path) as loop:
        assert loop.engine.verify().ok


def test_two_that_take_over_at_once_make_one_journal(tmp_path: Path) -> None:
    put_state(tmp_path, foreign_state())
    put_checkpoint(tmp_path, "2026-02-01T10:00:00.000Z", foreign_state())
    (folder_of(tmp_path) / "log.json").write_bytes(b'{"agent":"x","action":"old"}\n')

    def act(n: int) -> None:
        with reopen(tmp_path) as loop:
            loop.note(f"note-{n}")

    assert race(4, act) == [0] * 4
    with reopen(tmp_path) as loop:
        found = types(loop.engine.events())
        assert loop.engine.verify().ok
    assert found.count("journal.taken_over") == 1
    assert found.count("log_line_adopted") == 1
    assert found.count("log_noted") == 4


def test_hooks_of_a_client_and_an_old_script_that_appends_go_together(tmp_path: Path) -> None:
    executing(tmp_path, task(1)).close()
    stdin = json.dumps({"cwd": str(tmp_path), "prompt": "hello"}).encode()

    def act(n: int) -> None:
        for i in range(5):
            if n == 0:
                with (folder_of(tmp_path) / "log.json").open("ab") as file:
                    file.write(json.dumps({"agent": "script", "action": f"s{i}"}).encode() + b"\n")
            else:
                assert hooks.run("user-prompt", stdin, here=tmp_path).said == []

    assert race(3, act) == [0] * 3
    with reopen(tmp_path) as loop:
        loop.note("last")
        assert loop.engine.verify().ok
        found = types(loop.engine.events())
    told = [entry["action"] for entry in read_log(tmp_path)]
    assert [one for one in told if one.startswith("s") and one[1:].isdigit()] == [
        f"s{i}" for i in range(5)
    ]
    assert told.count("prompt_received") == found.count("prompt_received") == 10
    assert found.count("log_line_adopted") == 5
    assert "log_recovered" not in found


def test_threads_of_one_process_share_a_loop(tmp_path: Path) -> None:
    import threading

    with AgLoop.init(folder_of(tmp_path), feature_name="x") as loop:
        threads = [
            threading.Thread(target=lambda n=n: [loop.note(f"t{n}-{i}") for i in range(5)])
            for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert loop.engine.verify().ok
    assert sum(entry["action"].startswith("t") for entry in read_log(tmp_path)) == 20
