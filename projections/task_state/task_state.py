"""`TaskState`: the layer that keeps a long task's checkpoints, artifacts and data.

    with TaskState("main", root=".task-state") as task:
        task.init()                       # loads the state, or begins an empty one
        task.store(depth=0)               # a checkpoint, at the end of each cycle
        task.record_artifact("report.md")
        task.set_task_data("phase", "plan")
        task.recall(budget=800)           # the state as text between <task_state> tags

I1  Every change is one event of the thread's journal, applied once, or refused with its reason.
    With `storage=` any adapter keeps the state instead, under `layers/task-state/<thread>/state`.
I2  What an agent may do wrong, naming the reserved key, is a normal answer (`Answer.ok` false);
    what a program does wrong is `UsageError`.
I3  Slot 110, scope thread, budget 100 to 800 tokens, store timeout 30 s: see `states`.
"""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, get_args

import msgspec

from journal.errors import UsageError
from journal.event import Clock, now_ms
from projections.patch import copy
from projections.task_state import commands
from projections.task_state.events import Initialized, SpawnedFrom
from projections.task_state.keepers import JournalKeeper, Keeper, StorageKeeper
from projections.task_state.places import check_thread, place_of
from projections.task_state.recall import recall
from projections.task_state.states import BUDGET_MAX_TOKENS, OUTCOME, Json, check, new_state, show
from projections.task_state.storage import StorageAdapter

MergeData = Literal["shallow", "namespace"]
Outcome = Literal["success", "failure", "aborted"]


class Answer(msgspec.Struct, frozen=True):
    """What became of a call: whether it was allowed, whether it changed anything, in words."""

    ok: bool
    changed: bool
    message: str


class TaskState:
    """The state of one thread; see this file's docstring."""

    def __init__(
        self,
        thread: str,
        *,
        root: str | Path | None = None,
        storage: StorageAdapter | None = None,
        merge_data: MergeData = "shallow",
        actor: str = "",
        on_message: Callable[[str], None] | None = None,
        clock: Clock = now_ms,
    ) -> None:
        """Open nothing yet.

        `root`: where journals lie; else `JOURNAL_DIR`, else `.task-state`. `merge_data`: how a
        child's data comes back, unless `on_return` says otherwise. Raises `UsageError` for a
        thread or a way to merge that is none.
        """
        self.thread = check_thread(thread)
        self.merge_data = _check_merge(merge_data)
        self.keeper: Keeper
        if storage is not None:
            self.keeper = StorageKeeper(storage, thread, clock=clock)
        else:
            place = place_of(thread, root)
            self.keeper = JournalKeeper(place, actor=actor, on_message=on_message, clock=clock)

    # --- the life of a layer ---------------------------------------------------------------------

    @property
    def state(self) -> Json | None:
        """A copy of the newest state, None where the thread has none.

        Raises `Corrupt` for a damaged file that no journal keeps yet, `Drift` for one that
        somebody else changed.
        """
        return self.keeper.load()

    def init(self, state: Json | None = None) -> Json:
        """Load the thread's state, or begin one: empty, or as given; return it.

        A file of before is taken over. Raises `UsageError` where a state is given and the thread
        has one already, or for one that is none, and as `state` does.
        """
        self.begin(state)
        found = self.keeper.load()
        assert found is not None, "a state that was begun is there"
        return found

    def begin(self, state: Json | None = None) -> Answer:
        """Do what `init` does, and say whether the state was begun now, or was there.

        Of many that begin one thread at once, one is told that it did.
        """
        given = msgspec.UNSET if state is None else _complete(state)
        if self.keeper.load() is None:
            if self.keeper.begin(Initialized(state=given)):
                return Answer(True, True, "begun")
        elif state is None and self.keeper.take_over():
            return Answer(True, True, "taken over")
        if state is not None:
            raise UsageError(
                f"thread {self.thread!r} has a state already",
                key="thread",
                advice="Give the state to another thread; or `on_return` merges it into this one.",
            )
        return Answer(True, False, "there already")

    def recall(self, budget: int = BUDGET_MAX_TOKENS) -> str | None:
        """Return the state as text of at most `budget` tokens, None without a state.

        See `recall.recall`; 0 or less means the whole state.
        """
        state = self.keeper.load()
        return None if state is None else recall(state, budget)

    def store(self, depth: int) -> Answer:
        """Add a checkpoint of now at a depth; the newest 50 are kept."""
        self.keeper.run(commands.store, depth)
        return Answer(True, True, f"a checkpoint at depth {depth}")

    def on_spawn(self) -> Json:
        """Return a deep copy of the state, for a child; an empty one where there is none."""
        return self.keeper.load() or new_state()

    def on_return(self, child: Json, child_id: str, merge_data: MergeData | None = None) -> Answer:
        """Merge what a child brings back: its checkpoints, its files, its data."""
        if child_id == OUTCOME:
            return _reserved("a child")
        self._check_other(child_id)
        merge = _check_merge(merge_data or self.merge_data)
        self.keeper.run(commands.take_back, child, child_id, merge)
        return Answer(True, True, f"{child_id!r} returned, its data merged {merge}")

    def on_complete(self, outcome: Outcome, depth: int) -> Answer:
        """Note how the execution ended, with a last checkpoint; without a state do nothing."""
        if self.keeper.run(commands.complete, outcome, depth):
            return Answer(True, True, f"completed: {outcome}")
        return Answer(True, False, "there is no state, so nothing was noted")

    # --- what an agent may call ------------------------------------------------------------------

    def record_artifact(self, path: str) -> Answer:
        """Note a file that was produced; twice is as good as once."""
        if self.keeper.run(commands.record_artifact, path):
            return Answer(True, True, f"recorded {path}")
        return Answer(True, False, f"{path} is recorded already")

    def set_task_data(self, key: str, value: Any) -> Answer:
        """Set a key of the task's data to any JSON value; the reserved key is refused (I2)."""
        if key == OUTCOME:
            return _reserved("a key")
        if self.keeper.run(commands.set_data, key, value):
            return Answer(True, True, f"set {key}")
        return Answer(True, False, f"{key} has that value already")

    # --- children as threads ---------------------------------------------------------------------

    def spawn(self, child_id: str) -> Answer:
        """Begin the thread `child_id` with a copy of the state, and note it in both.

        Repeating one that was cut off completes it. Raises `UsageError` where a thread of that
        name is there already and is not a child of this one.
        """
        if child_id == OUTCOME:
            return _reserved("a child")
        commands.check_child(child_id)
        self._check_other(child_id)
        child = self.keeper.sibling(child_id)
        try:
            state = self.keeper.load()
            commands.check_exists(state or {})
            event = SpawnedFrom(thread=self.thread, seq=self.keeper.seq(), state=copy(state))
            if not child.begin(event) and child.origin() != self.thread:
                raise UsageError(
                    f"there is a thread {child_id!r} already, and it is no child of this one",
                    key="child_id",
                    advice="Give the child another name.",
                )
        finally:
            child.close()
        # The child first: cut off in between, it is there, and the next call notes it here.
        self.keeper.run(commands.spawn, child_id, key=f"spawn:{child_id}")
        return Answer(True, True, f"{child_id!r} begins with a copy of the state")

    def take_back(self, child_id: str, merge_data: MergeData | None = None) -> Answer:
        """Merge the state of the thread `child_id` into this one."""
        if child_id == OUTCOME:
            return _reserved("a child")
        self._check_other(child_id)
        child = self.keeper.sibling(child_id)
        try:
            state = child.load()
        finally:
            child.close()
        if state is None:
            raise UsageError(
                f"there is no thread {child_id!r} that could return",
                key="child_id",
                advice="Spawn it first, or give the child's state.",
            )
        return self.on_return(state, child_id, merge_data)

    def _check_other(self, child_id: str) -> None:
        if child_id == self.thread:
            raise UsageError(
                f"child_id: {show(child_id)} is this thread, and no child of it; allowed: the name "
                "of another",
                key="child_id",
            )

    # --- leaving ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Bring everything to disk and close; safe to call again."""
        self.keeper.close()

    def __enter__(self) -> "TaskState":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _complete(state: Json) -> Json:
    """Return a state that was given, with the parts that it lacks."""
    found: Json = {**new_state(), **copy(state)}
    check(found)
    return found


def _check_merge(merge_data: str) -> MergeData:
    for known in get_args(MergeData):
        if merge_data == known:
            return known  # type: ignore[no-any-return]
    raise UsageError(
        f"merge_data: {show(merge_data)} is not allowed",
        key="merge_data",
        advice=f"Allowed: {', '.join(get_args(MergeData))}.",
    )


def _reserved(what: str) -> Answer:
    return Answer(False, False, f"refused: {OUTCOME!r} is reserved, so it cannot name {what}")
