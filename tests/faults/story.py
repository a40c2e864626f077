"""A story: what was done to a journal, what was promised meanwhile, and every disk operation.

A `Script` drives an engine as a program would and notes what it asked for and what it was
promised; a `Recorder` beside it sees the disk. Both go into a `Story`, which `tests.faults.laws`
judges whatever is left of it.

What a state must be is reckoned here from plain `set` events, without the engine's own fold.
"""

import copy
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import msgspec
import orjson

import journal
from journal import config as configs
from journal.config import Durability
from journal.engine import Engine, publishing
from journal.errors import Locked
from projections.projection import Projection
from tests.faults.disk import Known, Recorder, Recording

FOLDER = "j"
FORK = "f"
"""Where the journal, and a fork of it, lie below the root."""

BEGAN_MS = 1_772_000_000_000


def fixed_clock() -> int:
    """Return the time of every event: what must not change does not change by the clock."""
    return BEGAN_MS


class Append(NamedTuple):
    """One append: its events as (type, data), and the state after it.

    Of an engine event that carries state only the type is told; its data is the engine's affair.
    `id` is the key of its first event.
    """

    events: tuple[tuple[str, Any], ...]
    state: Any
    id: str = ""


class Story(NamedTuple):
    """What was done; `appends` in the order in which the log has them.

    `foreign`: values that somebody else wrote into the view.
    """

    name: str
    durability: Durability
    projection: Projection | None
    appends: list[Append]
    recording: Recording
    foreign: tuple[Any, ...] = ()

    def options(self) -> dict[str, Any]:
        """Return what to open its journal with."""
        return {"projection": self.projection, "clock": fixed_clock}


class Script:
    """Drives one journal below `root`, perhaps by several engines."""

    def __init__(
        self,
        root: Path,
        *,
        durability: Durability = "always",
        projection: Projection | None = None,
        **settings: Any,
    ) -> None:
        """`settings` are those of `journal.yaml`, put there once the journal is made."""
        self.root = root
        self.folder = root / FOLDER
        self.durability: Durability = durability
        self.projection = projection
        self.settings = settings
        self.appends: list[Append] = []
        self.known = Known()
        self.recorder: Recorder | None = None
        self.foreign: list[Any] = []
        self.now_s = 0.0

    # --- journals --------------------------------------------------------------------------------

    def init(self) -> Engine:
        """Make the journal."""
        engine = journal.init(
            self.folder,
            projection=self.projection or "document",
            durability=self.durability,
            clock=fixed_clock,
        )
        self.note(made=True)
        return engine

    def make(self) -> None:
        """Make the journal and give it the settings of the script; leaves it closed."""
        self.init().close()
        if self.settings:
            found = configs.read(self.folder)
            configs.write(self.folder, msgspec.structs.replace(found, **self.settings))

    def open(self) -> Engine:
        """Open the journal for writing; the lock is had at once or not at all."""
        return journal.open(
            self.folder, projection=self.projection, clock=fixed_clock, lock_timeout_s=0
        )

    def kill(self, engine: Engine) -> None:
        """Let the engine's process die: descriptors close, nothing else happens."""
        engine._core.close()

    def close(self, engine: Engine) -> None:
        """Close it, which syncs: from then on everything is promised."""
        engine.close()
        self.note(acked=len(self.appends))

    # --- what a program does ---------------------------------------------------------------------

    @property
    def state(self) -> Any:
        """A copy of the state after the last append."""
        return copy.deepcopy(self.appends[-1].state) if self.appends else {}

    def append(self, engine: Engine, count: int = 1, *, size: int = 8, id: str = "") -> None:
        """Append one event, or several as one."""
        number = sum(len(found.events) for found in self.appends)
        events = tuple(
            ("set", {"path": f"/k{n % 7}", "value": f"{n}:" + "v" * size})
            for n in range(number + 1, number + count + 1)
        )
        state = self.state
        for _, data in events:
            state[data["path"][1:]] = data["value"]
        self.ask(
            Append(events, state, id),
            lambda: engine.append(*events[0], id=id) if count == 1 else engine.append_batch(events),
        )

    def ask(self, append: Append, call: Callable[[], object]) -> None:
        """Note that an append is asked for, call, and note what that promises."""
        self.appends.append(append)
        number = len(self.appends)
        self.note(issued=number)
        try:
            call()
        except Locked:
            self.appends.pop()
            self.note(issued=number - 1)
            raise
        if self.durability == "always":
            self.note(acked=max(number, self.known.acked))

    def flush(self, engine: Engine) -> None:
        """Flush: from then on everything is promised."""
        engine.flush()
        self.note(acked=len(self.appends))

    def snapshot(self, engine: Engine) -> str:
        """Ask for a checkpoint; return its file's name."""
        info = engine.snapshot("manual", "by the script")
        self.note(acked=len(self.appends), checkpoints=(*self.known.checkpoints, info.file))
        return info.file

    def prune(self, engine: Engine, file: str) -> None:
        """Have a checkpoint deleted: from now on it may be gone, then it must be."""
        left = tuple(name for name in self.known.checkpoints if name != file)
        self.note(checkpoints=left)
        engine.prune([file])
        self.note(acked=len(self.appends), pruned=(*self.known.pruned, file))

    def fork(self, engine: Engine, at: int) -> None:
        """Fork the journal up to the append that ends at seq `at` into the folder beside it."""
        engine.fork(self.root / FORK, at=at)
        self.note(forked=True)

    def change_view(self, value: Any) -> None:
        """Write a value into the view, as somebody else would."""
        self.foreign.append(value)
        path = self.folder / "state.json"
        fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(fd, orjson.dumps(value))
        finally:
            os.close(fd)

    def note(self, **facts: Any) -> None:
        """Note what the outside world knows from here on."""
        self.known = self.known._replace(**facts)
        if self.recorder is not None:
            self.recorder.note(self.known)


class Workload(NamedTuple):
    """What a story is about: how the journal is made (`before`), and what is recorded (`then`)."""

    name: str
    before: Callable[[Script], None]
    then: Callable[[Script], None]
    options: Mapping[str, Any] = MappingProxyType({})


def tell(workload: Workload, root: Path) -> Story:
    """Run a workload below `root`, which must not exist; return its story."""
    os.mkdir(root)
    script = Script(root, **workload.options)
    clock = SimpleNamespace(monotonic=lambda: script.now_s)
    with mock.patch.object(publishing, "time", clock):
        workload.before(script)
        with Recorder(root, script.known) as recorder:
            script.recorder = recorder
            workload.then(script)
    return Story(
        workload.name,
        script.durability,
        script.projection,
        script.appends,
        recorder.stop(),
        tuple(script.foreign),
    )
