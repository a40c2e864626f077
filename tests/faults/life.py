"""A journal's life, step by step, with system calls that go wrong on the way; and what must hold.

I1  Nothing leaves the engine but `JournalError` and `OSError`, and no descriptor is lost.
I2  What raised has changed nothing, and the same engine then does it. But after a sync of the log
    that failed, or a write that could not be taken back, it appends nothing until reopened.
I3  Memory and disk agree: a fresh opening finds the state and the seq of the engine that goes on.
I4  A view, a witness or a snapshot of the policy that cannot be written refuses no append.
I5  At the end all that was acknowledged is there, once and in order, and nothing else; `verify`
    finds no problem, the views are as the log has them, nothing temporary is left, and a second
    opening changes nothing.
"""

import gc
import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import journal
from journal import codec
from journal import config as configs
from journal.config import SnapshotsConfig
from journal.engine import Engine
from journal.event import CHECKPOINT
from projections.document.projection import PROJECTION as DOCUMENT
from projections.projection import Projection
from tests.faults.faultpoint import Call, FaultPoint
from tests.faults.row import Violation

_START_MS = 1_772_000_000_000
_MOST_FAULTS = 2
_BY_HAND = "by hand"
_WRITES = ("pwrite", "write", "replace", "unlink", "fsync", "fchmod")


class Life:
    """One life, from `init` to the last opening. Each step is tried again until it is done."""

    def __init__(self, path: Path, projection: Projection, faults: dict[int, int]) -> None:
        """Prepare to live in `path`, an empty folder, with these faults (see `FaultPoint`)."""
        self.path = path
        self.point = FaultPoint(path, faults)
        self._several = len(faults) > 1
        self._projection = projection
        self._clock = itertools.count(_START_MS, 1000).__next__
        self._engine: Engine | None = None
        self._hits_before_engine = 0
        self._number = self._acknowledged = self._checkpoints = 0
        self._torn = False
        self._in_doubt = False  # after a failed sync nobody knows whether its event is on disk

    def run(self) -> None:
        """Live through all of it; raises `Violation`."""
        before = set(os.listdir("/proc/self/fd"))
        with self.point:
            self._live()
        self._check_end()
        if set(os.listdir("/proc/self/fd")) - before:
            gc.collect()  # A generator that an error left suspended holds its file until then.
        if lost := set(os.listdir("/proc/self/fd")) - before:
            raise Violation(f"{len(lost)} descriptors are lost (I1)")

    def _live(self) -> None:
        self._try("init", self._init)
        self._shrink()
        self._append(1)
        self._append(3)
        self._checkpoint()
        self._append(1)
        self._tear()
        self._append(1)
        self._append_elsewhere(4)
        self._append(2)
        self._change_views()
        self._append(1)
        self._try("close", self._close)
        self._tear()
        self._try("open", self._open)
        self._append(1)
        self._try("rebuild", self._now.rebuild)
        self._append(1)
        self._try("flush", self._now.flush)
        self._try("close", self._close)

    # --- steps -----------------------------------------------------------------------------------

    def _init(self) -> None:
        if (self.path / configs.FILE_NAME).exists():
            self._open()
            return
        self._engine = journal.init(
            self.path, projection=self._projection, clock=self._clock, lock_timeout_s=0.0
        )

    def _open(self) -> None:
        self._hits_before_engine = len(self.point.hit)
        self._engine = self._open_another()

    def _open_another(self, *, read_only: bool = False) -> Engine:
        return journal.open(
            self.path,
            projection=self._projection,
            clock=self._clock,
            lock_timeout_s=0.0,
            read_only=read_only,
        )

    def _close(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    @property
    def _now(self) -> Engine:
        if self._engine is None:
            self._open()
        assert self._engine is not None
        return self._engine

    def _append(self, size: int) -> None:
        """Append the next numbers as one append."""
        first = self._number + 1
        self._number += size
        drafts = [self._draft(n) for n in range(first, self._number + 1)]
        self._try("append", lambda: self._now.append_batch(drafts))
        self._acknowledged = self._number
        self._torn = self._in_doubt = False

    def _checkpoint(self) -> None:
        self._try("snapshot", lambda: self._now.snapshot(trigger="asked for"))
        self._checkpoints += 1
        if self._in_doubt:
            # A checkpoint has no id: one whose sync failed may be there beside the one asked again.
            _, found = self._on_disk()
            if found not in range(self._checkpoints, self._checkpoints + _MOST_FAULTS + 1):
                raise Violation(f"{found} checkpoints for {self._checkpoints} asked for (I2)")
            self._checkpoints = found

    def _draft(self, n: int) -> journal.Draft:
        if self._projection is DOCUMENT:
            return journal.Draft(type="set", data={"path": "/n", "value": n}, id=f"n{n}")
        if n % 2:
            return journal.Draft(type="counted", data={"n": n}, id=f"n{n}")
        return journal.Draft(type="entered", data={"text": f"entry {n}"}, id=f"n{n}")

    # --- what happens from outside ---------------------------------------------------------------

    def _shrink(self) -> None:
        """Let every few appends rotate and take a snapshot: a life is to be short."""
        with self.point.paused():
            self._close()
            settings = configs.read(self.path)
            settings.segment_bytes = 1000
            settings.snapshots = SnapshotsConfig(min_bytes=500, log_ratio=0.5, keep=2)
            configs.write(self.path, settings)
            self._open()

    def _tear(self) -> None:
        """Leave what a writer leaves that is killed in the middle of a write."""
        with self.point.paused():
            newest = max((self.path / "log").glob("*.jsonl"))
            if newest.stat().st_mode & 0o200:
                with newest.open("ab") as file:
                    file.write(b'{"seq":999,"time":"2026-03-01T1')
                self._torn = True

    def _append_elsewhere(self, count: int) -> None:
        """Let another engine append, and rotate."""
        with self.point.paused(), self._open_another() as other:
            for _ in range(count):
                self._number += 1
                other.append_batch([self._draft(self._number)])
        self._acknowledged = self._number

    def _change_views(self) -> None:
        """Change a view whose projection adopts, and add a line of somebody else's."""
        if self._projection is DOCUMENT:
            return
        with self.point.paused():
            view = self.path / "state.json"
            state = codec.decode_value(view.read_bytes())
            view.write_bytes(codec.encode_value({**state, "note": _BY_HAND}))
            with (self.path / "diary.jsonl").open("ab") as file:
                file.write(codec.encode_value({"text": _BY_HAND}) + b"\n")

    # --- trying, and what must hold then ---------------------------------------------------------

    def _try(self, name: str, step: Callable[[], Any]) -> None:
        """Do a step, again after each refusal, and check what must hold; raises `Violation`."""
        while True:
            seen = len(self.point.hit)
            try:
                step()
            except (journal.JournalError, OSError) as error:
                said = f"{type(error).__name__}: {error}"
                self._check_refused(name, said, self.point.hit[seen:])
            except Exception as error:
                raise Violation(f"{name} raised {type(error).__name__}: {error} (I1)") from error
            else:
                if self.point.hit[seen:]:
                    self._check_agreement(name)
                return

    def _check_refused(self, name: str, said: str, calls: Sequence[Call]) -> None:
        """Check what must hold after a refusal; reopen if the engine has to be."""
        syncs = [call for call in self.point.hit[self._hits_before_engine :] if _is_vital(call)]
        if self._engine is not None and (syncs or self._several):
            if self._is_dead():
                if not syncs and not self._several:
                    raise Violation(f"{name}: one refusal and the engine is dead: {said} (I2)")
                self._reopen()
                return
            if syncs:
                raise Violation(f"{name}: {syncs[0]} failed, and the engine goes on (I2)")
        if not calls:
            raise Violation(f"{name} is refused after the fault was over: {said} (I2)")
        if not any(self._may_refuse(name, call) for call in calls):
            raise Violation(f"{name} is refused: {said} (I4)")
        if not self._in_doubt and self._on_disk() != (self._acknowledged, self._checkpoints):
            raise Violation(f"{name} was refused ({said}) and has changed the log (I2)")

    def _may_refuse(self, name: str, call: Call) -> bool:
        """Say whether a step needs this call; torn bytes are saved before they are cut."""
        place = call.path.partition("/")[0]
        if place == "log":
            return True
        if name == "open":
            return call.name not in _WRITES or place in ("quarantine", ".")
        if name in ("append", "snapshot", "flush", "close"):
            return self._torn and place in ("quarantine", ".")
        return True

    def _is_dead(self) -> bool:
        assert self._engine is not None
        with self.point.paused():
            try:
                self._engine.refresh()
            except journal.JournalError as error:
                return "appends nothing more" in str(error)
        return False

    def _reopen(self) -> None:
        self._in_doubt = True
        self._try("close", self._close)
        self._try("open", self._open)

    def _on_disk(self) -> tuple[int, int]:
        """Return how many numbers and how many checkpoints a fresh reader finds."""
        with self.point.paused():
            if not (self.path / configs.FILE_NAME).exists():
                return 0, 0
            with self._open_another(read_only=True) as reader:
                events = list(reader.events())
            checkpoints = sum(event.type == CHECKPOINT for event in events)
            return sum(bool(event.id) for event in events), checkpoints

    def _check_agreement(self, name: str) -> None:
        if self._engine is None:
            return
        with self.point.paused(), self._open_another(read_only=True) as reader:
            ours, disk = self._engine, reader
            if (ours.seq, ours.state) != (disk.seq, disk.state):
                raise Violation(
                    f"after {name} the engine is at {ours.seq} with {ours.state}, the disk at "
                    f"{disk.seq} with {disk.state} (I3)"
                )

    # --- the end ---------------------------------------------------------------------------------

    def _check_end(self) -> None:
        with self._open_another() as engine:
            events = list(engine.events())
            report = engine.verify()
            self._check_views(engine, events)
        numbers = [int(event.id[1:]) for event in events if event.id]
        if numbers != list(range(1, self._number + 1)):
            raise Violation(f"{self._number} numbers were acknowledged, found: {numbers} (I5)")
        if not report.ok:
            raise Violation(f"verify finds {report.problems} (I5)")
        left = [str(found) for found in self.path.rglob("*.journal-tmp")]
        if left:
            raise Violation(f"left behind: {left} (I5)")
        before = _read_log(self.path)
        with self._open_another():
            pass
        if _read_log(self.path) != before:
            raise Violation("a second opening changed the log (I5)")

    def _check_views(self, engine: Engine, events: list[journal.Event]) -> None:
        """Check the views; what was written by hand was adopted, or is kept in quarantine."""
        shown = codec.decode_value((self.path / "state.json").read_bytes())
        if shown != engine.state:
            raise Violation(f"the view shows {shown}, the state is {engine.state} (I5)")
        if self._projection is DOCUMENT:
            return
        texts = [event.data["text"] for event in events if event.type == "entered"]
        lines = (self.path / "diary.jsonl").read_bytes().splitlines()
        if sorted(codec.decode_value(line)["text"] for line in lines) != sorted(texts):
            raise Violation(f"the diary has {lines}, the log {texts} (I5)")
        kept = [path.read_text() for path in self.path.glob("quarantine/*")]
        for name, adopted in (("state", "note" in shown), ("diary", _BY_HAND in texts)):
            if not adopted and not any(_BY_HAND in text for text in kept):
                raise Violation(f"what was written by hand into {name} is gone (I5)")


def _is_vital(call: Call) -> bool:
    """Say whether a call is (part of) a sync of the log, after whose failure nothing is known."""
    if call.path == "log":
        return call.name in ("open", "fsync")
    return call.name in ("fsync", "fdatasync") and call.path.startswith("log/")


def _read_log(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((path / "log").iterdir())}
