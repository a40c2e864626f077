"""Ctrl-C at every place where Python lets a signal in: no lock is kept, nothing disagrees.

A signal's handler runs when a function of Python is entered, when a call has returned, and where a
loop goes back. A profile function is called at the first and after calls into C; what it raises
comes out there. An opcode tracer stops at what follows a call of any kind.
"""

import contextlib
import dis
import functools
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import journal
from journal import Engine, JournalError
from journal.locks import FolderLock
from tests.faults import lines_projection

Act = Callable[[Engine], object]
_HERE = __file__
_LETS_IN = {"CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD"}
HOWS = ("profile", "opcodes")


@functools.cache
def _cleanups(code: CodeType) -> list[tuple[int, int, int]]:
    entries: Any = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    return [(entry.start, entry.end, entry.target) for entry in entries]


def _cleanup_at(code: CodeType, offset: int) -> int:
    return next((target for start, end, target in _cleanups(code) if start <= offset < end), -1)


class _Interrupt:
    """Raises `KeyboardInterrupt` once, at the so-manieth place of a block."""

    def __init__(self, number: int, how: str) -> None:
        self._left = number
        self._how = how
        self._last: dict[FrameType, int] = {}
        self.came = False

    def _look(self, frame: FrameType, event: str, _: Any) -> None:
        if event in ("call", "c_return") and frame.f_code.co_filename != _HERE:
            self._count()

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename == _HERE:
            return self._trace
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            last = self._last.get(frame)
            self._last[frame] = frame.f_lasti
            code = frame.f_code
            let_in = last is not None and dis.opname[code.co_code[last]] in _LETS_IN
            # What is raised here must go where the call itself would send it.
            if let_in and _cleanup_at(code, last or 0) == _cleanup_at(code, frame.f_lasti):
                self._count()
        elif event in ("return", "exception"):
            self._last.pop(frame, None)
        return self._trace

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            self._stop()
            self.came = True
            raise KeyboardInterrupt

    def _stop(self) -> None:
        sys.setprofile(None)
        sys.settrace(None)
        self._last.clear()

    def during(self, act: Callable[[], object]) -> bool:
        """Run `act`; say whether it was cut off before its end."""
        if self._how == "profile":
            sys.setprofile(self._look)
        else:
            sys.settrace(self._trace)
        try:
            act()
        except KeyboardInterrupt:
            pass
        finally:
            self._stop()
        return self.came


def everywhere(act: Callable[[], object], how: str) -> Iterator[int]:
    """Yield after each run of `act` that was cut off, some places later each time, to its end."""
    number = 0
    while _Interrupt(number, how).during(act):
        yield number
        number += 1 if how == "profile" else 5


def make(tmp_path: Path, **settings: Any) -> Engine:
    return journal.init(tmp_path / "run", projection=lines_projection.PROJECTION, **settings)


def again(tmp_path: Path) -> Engine:
    return journal.open(
        tmp_path / "run", projection=lines_projection.PROJECTION, lock_timeout_s=2.0
    )


def check_locks_are_free(engine: Engine) -> None:
    """No thread of this process waits for ever, and no other process."""
    core = engine._core
    done = threading.Event()

    def pass_through() -> None:
        with core.mutex, core._view_mutex:
            done.set()

    thread = threading.Thread(target=pass_through, daemon=True)
    thread.start()
    assert done.wait(5.0), "a mutex is kept"
    thread.join()
    for path in (core.append_lock.path, core.view_lock.path):
        with FolderLock(path) as lock:
            assert lock.try_acquire(), f"the lock on {path} is kept"
            lock.release()
    assert not core.log._commit._place, "the place of the one who syncs is kept"


def check_views(engine: Engine) -> None:
    engine.flush()
    assert engine.state == engine.replay()
    assert json.loads((engine.path / "state.json").read_bytes()) == engine.state
    wanted = [json.dumps(e.data, separators=(",", ":")) for e in engine.events(types=["set"])]
    assert (engine.path / "lines.jsonl").read_text().splitlines() == wanted


def put(engine: Engine) -> object:
    return engine.append("set", {"path": "/a", "value": engine.seq}, actor="me")


def put_batch(engine: Engine) -> object:
    return engine.append_batch([("set", {"path": "/b", "value": n}) for n in range(2)])


def run(engine: Engine) -> object:
    return engine.execute(lambda state: [("set", {"path": "/c", "value": len(state)})])


def put_behind_another(engine: Engine) -> object:
    return engine.append("set", {"path": "/d", "value": 1}, id=f"key-{engine.seq}")


ACTS: dict[str, Act] = {
    "append": put,
    "append_batch": put_batch,
    "execute": run,
    "append with an id": put_behind_another,
    "snapshot": lambda engine: engine.snapshot(),
    "refresh": lambda engine: engine.refresh(),
    "flush": lambda engine: engine.flush(),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("views_every_ms", [0, 1_000_000])
@pytest.mark.parametrize("name", ACTS)
def test_after_ctrl_c_anywhere_no_lock_is_kept_and_the_views_agree(
    tmp_path: Path, name: str, views_every_ms: int, how: str
) -> None:
    act, count = ACTS[name], 0
    with make(tmp_path, views_every_ms=views_every_ms) as engine, again(tmp_path) as other:
        put(engine)

        def once() -> None:
            act(engine)

        for number in everywhere(once, how):
            check_locks_are_free(engine)
            if number % 3 == 0:  # what another writer appends is taken in by the next act
                put(other)
            if number % 2 == 0:  # without it the next act meets what the last one left
                put(engine)
                check_views(engine)
            count += 1
        check_views(engine)
        assert engine.verify().problems == []
    assert count > 1


@pytest.mark.slow
def test_after_ctrl_c_anywhere_in_a_rebuild_no_lock_is_kept_and_the_views_agree(
    tmp_path: Path,
) -> None:
    with make(tmp_path) as engine:
        put_batch(engine)
        engine.snapshot()
        state, view = engine.state, (engine.path / "state.json").read_bytes()
        for number in everywhere(engine.rebuild, "profile"):
            check_locks_are_free(engine)
            if number % 20 == 0:
                (engine.path / "state.json").unlink(missing_ok=True)
        engine.rebuild()
        assert engine.state == engine.replay() == state
        assert (engine.path / "state.json").read_bytes() == view
        check_views(engine)


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_after_ctrl_c_anywhere_in_a_rotation_the_next_append_works(
    tmp_path: Path, how: str
) -> None:
    make(tmp_path).close()
    settings = tmp_path / "run" / "journal.yaml"
    settings.write_text(settings.read_text().replace("67108864", "300"))
    with again(tmp_path) as engine:
        for _ in everywhere(lambda: put_batch(engine), how):
            check_locks_are_free(engine)
            put_batch(engine)
        check_views(engine)
        assert engine.verify().problems == []


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_after_ctrl_c_anywhere_in_close_closing_again_returns_and_the_journal_opens(
    tmp_path: Path, how: str
) -> None:
    make(tmp_path).close()
    number, cut_off = 0, True
    while cut_off:
        engine = again(tmp_path)
        put(engine)
        cut_off = _Interrupt(number, how).during(engine.close)
        engine.close()
        number += 1
    with again(tmp_path) as engine:
        check_views(engine)
        assert engine.verify().problems == []


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_a_sync_that_failed_is_never_forgotten_wherever_ctrl_c_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The kernel tells it once: the next sync would succeed over lost bytes."""
    number, cut_off, refused = 0, True, 0
    make(tmp_path).close()
    while cut_off:
        failed: list[int] = []

        def fail(fd: int, failed: list[int] = failed) -> None:
            failed.append(fd)
            raise OSError(5, "Input/output error")

        engine = again(tmp_path)
        monkeypatch.setattr(os, "fdatasync", fail)
        interrupt = _Interrupt(number, how)
        with contextlib.suppress(OSError):
            interrupt.during(functools.partial(put, engine))
        cut_off = interrupt.came
        monkeypatch.undo()
        if failed:
            with pytest.raises(JournalError):
                put(engine)
            refused += 1
        else:
            put(engine)
        engine.close()
        number += 1
    assert refused > (3 if how == "opcodes" else 0)
