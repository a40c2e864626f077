"""How a loop is opened, begun or taken over, and how a command runs in it: `AgLoop` but its verbs.

I1  Every mutation is decided inside the lock on the newest state; one that is refused changes
    nothing on disk.
I2  Before each mutation the plan is looked for; after each the files in `checkpoints/` are made.
I3  A folder that other tools have written is taken over by its first mutation, or by `init`.
I4  What was mended on the way (the state, the log, the plan) is said: `messages`, `on_message`.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from journal.errors import Drift
from journal.event import TAKEN_OVER, Clock, Draft, Event, format_time, now_ms
from projections.agloop import adoption, checkpoint, commands, events, line, takeover
from projections.agloop.checkpoints import Checkpoints
from projections.agloop.opening import Opening, Say, Watch, draft
from projections.agloop.records import Records
from projections.agloop.schema import AGENT

if TYPE_CHECKING:
    from journal import Engine

Json = dict[str, Any]
Decide = Callable[[Any], Sequence[msgspec.Struct]]
"""(state) -> events; raises `UsageError` with the rule that is broken."""

_LOOKED_BACK = 30
_BEGINNINGS = ("initialized", TAKEN_OVER)


class OpenLoop:
    """One loop that is open, without its verbs."""

    def __init__(self, opening: Opening, engine: "Engine") -> None:
        """Take the parts; used by `open` and `init` only."""
        self.folder = opening.folder
        self.engine = engine
        self._opening = opening
        self.records = Records(engine)
        folder = self.folder / checkpoint.FOLDER
        self.checkpoint_files = Checkpoints(
            folder,
            engine,
            self.records,
            self.say,
            lock_timeout_s=opening.lock_timeout_s,
        )

    # --- opening ---------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        read_only: bool = False,
        on_drift: str = "refuse",
        lock_timeout_s: float = 10.0,
        on_message: Say | None = None,
        clock: Clock = now_ms,
    ) -> Self:
        """Open the loop in `folder`, the `.agloop/` itself.

        A folder without a journal, but with files of other tools, is taken over. `on_drift`:
        what to do about a `state.json` that somebody else made invalid: refuse, or replace.
        Raises `JournalError` where there is no loop, and as `journal.open` does.
        """
        opening = Opening(
            folder=Path(folder),
            watch=Watch(),
            lock_timeout_s=lock_timeout_s,
            on_message=on_message,
            clock=clock,
        )
        if opening.has_journal:
            try:
                engine = opening.open(read_only=read_only, on_drift=on_drift)
            except Drift as drift:
                if Path(drift.path).is_symlink():  # The engine says what helps with links.
                    raise
                raise opening.explain(drift) from drift
            found = cls(opening, engine)
            return found if read_only else found._mended()
        if opening.has_log and not read_only:
            return cls(opening, opening.make())._mended()
        if read_only or not takeover.is_there(opening.folder):
            raise opening.refuse_missing()
        return cls._take_over(opening, [])

    @classmethod
    def init(
        cls,
        folder: str | Path,
        *,
        feature_name: str = "",
        feature_description: str = "",
        complexity_level: str = "",
        agent: str = AGENT,
        lock_timeout_s: float = 10.0,
        on_message: Say | None = None,
        clock: Clock = now_ms,
    ) -> Self:
        """Begin a loop in `folder`, or take over what other tools wrote there.

        One whose beginning was cut off is completed. Raises `UsageError` where there is a loop
        already, or an argument breaks a rule.
        """
        first = commands.initialize(feature_name, feature_description, complexity_level)
        opening = Opening(
            folder=Path(folder),
            watch=Watch(),
            lock_timeout_s=lock_timeout_s,
            on_message=on_message,
            clock=clock,
        )
        if opening.has_journal:
            loop = cls(opening, opening.open())._mended()
            loop._or_close(lambda: loop._begin(first, agent, accepts=()))
            return loop
        if not opening.has_log and takeover.is_there(opening.folder):
            loop = cls._take_over(opening, first)
        else:
            loop = cls(opening, opening.make(events=first, agent=agent))._mended()
        if not opening.made:  # Another process began it, or took it over, at the same time.
            loop.close()
            raise opening.refuse_present()
        decide = partial(
            commands.set_feature,
            name=feature_name or None,
            description=feature_description or None,
            complexity=complexity_level or None,
        )

        def finish() -> None:
            # What was cut off may have been begun with other words, or not at all.
            loop._begin(first, agent, accepts=_BEGINNINGS)
            if feature_name or feature_description or complexity_level:
                loop.run(decide, agent=agent)

        loop._or_close(finish)
        return loop

    @classmethod
    def _take_over(cls, opening: Opening, first: Sequence[msgspec.Struct]) -> Self:
        """Make a journal of what other tools wrote (I3)."""
        engine, found = opening.take_over()
        loop = cls(opening, engine)

        def finish() -> None:
            if found.path is None:
                begin = [*(first or commands.initialize()), *found.further]
                loop._begin(begin, AGENT, accepts=_BEGINNINGS)
            for text in found.said:
                loop.say(text)
            loop.checkpoint_files.adopt()

        loop._or_close(finish)
        return loop._mended()

    def _begin(
        self, first: Sequence[msgspec.Struct], agent: str, *, accepts: tuple[str, ...]
    ) -> None:
        """Append the first events, unless there are some: a kill may have come before them.

        Raises `UsageError` where the loop has begun with an event that is none of `accepts`.
        """

        def begin(state: Any) -> Sequence[msgspec.Struct]:  # noqa: ARG001 - the shape of a command
            begun = next(iter(self.engine.events(types=_BEGINNINGS)), None)
            if begun is None:
                return first
            if begun.type in accepts:
                return []
            raise self._opening.refuse_present()

        self.engine.execute(begin, actor=agent)

    def _mended(self) -> Self:
        """Say what was mended at opening, and make the files that a kill prevented."""

        def mend() -> None:
            self._say_rebuilt()
            self.checkpoint_files.heal()

        self._or_close(mend)
        return self

    def _or_close(self, do: Callable[[], object]) -> None:
        try:
            do()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the journal; safe to call again."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- running ---------------------------------------------------------------------------------

    @property
    def state(self) -> Json:
        """A copy of the newest state."""
        found: Json = self.engine.state
        return found

    @property
    def messages(self) -> list[str]:
        """What was mended on the way, in words (I4)."""
        return self.engine.messages

    def run(self, decide: Decide, *, agent: str = AGENT) -> list[Event]:
        """Settle a missing plan, then run a command (see `engine.execute`) and what it entails."""
        self.settle_plan(agent=agent)
        return self.execute(decide, agent)

    def execute(self, decide: Decide, agent: str) -> list[Event]:
        """Run a command and what it entails: its checkpoints, and words about what was mended."""

        def command(state: Any) -> list[Draft]:
            now = self.now()
            return [draft(event, now) for event in decide(state)]

        found = self.engine.execute(command, actor=agent or AGENT)
        self._say_rebuilt()
        self.checkpoint_files.write(found)
        return found

    def settle_plan(self, *, agent: str = AGENT) -> list[Event]:
        """Write a missing plan.yaml again, or go back to planning; return the events."""
        if not adoption.is_missing(self.folder):
            return []

        def decide(state: Any) -> Sequence[msgspec.Struct]:
            if not adoption.is_missing(self.folder):
                return []
            found = adoption.settle_missing(state, self.records.plan())
            if found and isinstance(found[0], events.PlanMissing):
                found.append(self.keep_transition(state, "plan"))
            return found

        found = self.execute(decide, agent)
        plan = self.records.plan()
        for event in found:
            if event.type == "plan_missing":
                self.say(adoption.MISSING)
            elif event.type == "plan_restored" and plan is not None:
                adoption.write_back(self.folder, plan, self._opening.lock_timeout_s)
                self.say("plan.yaml was missing; it is written again from the journal")
        return found

    def keep_transition(self, state: Json, phase: str) -> msgspec.Struct:
        """Return the event of the checkpoint of a transition; holds the append lock."""
        trigger = commands.describe_transition(state, phase)
        return self.checkpoint_files.plan(checkpoint.TRANSITION, trigger, self.now())

    def now(self) -> str:
        """Return the time that the next event will have at least."""
        return max(format_time(self._opening.clock()), self.engine.time)

    # --- words -----------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Say something to whoever opened the loop (I4)."""
        self.engine.messages.append(text)
        if self._opening.on_message is not None:
            self._opening.on_message(text)

    def _say_rebuilt(self) -> None:
        """Say that state.json was written again, where this opening or append found it so (I4)."""
        if not self._opening.watch.rebuilt:
            return
        self._opening.watch.rebuilt = 0
        after = max(0, self.engine.seq - _LOOKED_BACK)
        for event in deque(self.engine.events(after, types=("state_recovered",)), maxlen=1):
            self.say(line.describe_recovery(event.data, event.seq))
