"""`AgLoop`: the loop in one folder `.agloop/`, as a Python program uses it.

    from projections.agloop.agloop import AgLoop

    with AgLoop.open(".agloop") as loop:
        loop.enter_phase("plan", agent="coordinator")
        loop.state["current_phase"]

I1  A verb is one command on the newest state: it returns the events it made, none where nothing
    changed, and raises `UsageError` where it breaks a rule.

How it is opened and run is in `running`; what may be done when, in `phases`, `tasks`, `commands`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from journal import regular
from journal.event import Event
from projections.agloop import (
    adoption,
    checkpoint,
    commands,
    entries,
    events,
    line,
    takeover,
    tasks,
)
from projections.agloop.adoption import PlanReport
from projections.agloop.checkpoints import CheckpointEntry
from projections.agloop.entries import Entry
from projections.agloop.records import AdoptedPlan
from projections.agloop.running import OpenLoop
from projections.agloop.schema import AGENT
from projections.agloop.standing import Standing, stand
from projections.agloop.tasks import Next


class AgLoop(OpenLoop):
    """One loop that is open; from `AgLoop.open` or `AgLoop.init`."""

    # --- looking ---------------------------------------------------------------------------------

    def status(self) -> Standing:
        """Return where the loop stands."""
        return stand(self)

    def next(self) -> Next:
        """Return the task that is next, and what stands in the way of others."""
        return tasks.find_next(self.state)

    def checkpoints(self) -> list[CheckpointEntry]:
        """Return the files in `checkpoints/`, newest first."""
        return self.checkpoint_files.list()

    def log(self, *, newest: int | None = None, agent: str = "", action: str = "") -> list[Entry]:
        """Return the entries of `log.json`; lines that are none are passed over."""
        found = entries.read(self.folder / takeover.LOG_FILE)
        return entries.select(found, newest=newest, agent=agent, action=action)

    def plan(self) -> AdoptedPlan | None:
        """Return the plan that was adopted last."""
        return self.records.plan()

    def plan_change(self) -> str:
        """Say how plan.yaml stands to the adopted plan; empty where they are one."""
        return adoption.describe_change(self.folder, self.records.plan())

    # --- mutations -------------------------------------------------------------------------------

    def set_feature(
        self,
        name: str | None = None,
        description: str | None = None,
        complexity: str | None = None,
        *,
        agent: str = AGENT,
    ) -> list[Event]:
        """Set what the loop is about; what is None stays."""
        return self.run(
            lambda state: commands.set_feature(state, name, description, complexity), agent=agent
        )

    def enter_phase(
        self,
        phase: str,
        *,
        task_id: str | None = None,
        user_decision: str = "",
        agent: str = AGENT,
    ) -> list[Event]:
        """Go on to another phase; the state after it is kept as a checkpoint."""

        def decide(state: Any) -> Sequence[msgspec.Struct]:
            found = commands.enter_phase(state, phase, task_id, user_decision)
            return [*found, self.keep_transition(state, phase)]

        return self.run(decide, agent=agent)

    def reset(self, *, reason: str = "", agent: str = AGENT) -> list[Event]:
        """Begin anew; the state before it is kept as a checkpoint."""

        def decide(state: Any) -> Sequence[msgspec.Struct]:  # noqa: ARG001 - from any phase
            trigger = f"reset: {reason}" if reason else "reset"
            kept = self.checkpoint_files.plan(checkpoint.RESET, trigger, self.now())
            return [kept, events.Reset(reason=reason)]

        return self.run(decide, agent=agent)

    def compact(
        self, *, turns: list[str] | None = None, trigger: str = "", agent: str = AGENT
    ) -> list[Event]:
        """Count a compaction of the client's context, and keep the state after it."""

        def decide(state: Any) -> Sequence[msgspec.Struct]:  # noqa: ARG001 - in any phase
            words = f"pre-compact: {trigger}" if trigger else "pre-compact"
            kept = self.checkpoint_files.plan(
                checkpoint.PRE_COMPACT, words, self.now(), turns=turns or []
            )
            return [events.Compacted(trigger=trigger), kept]

        return self.run(decide, agent=agent)

    def check_plan(self, path: str | Path | None = None) -> PlanReport:
        """Read a plan and say what its adoption would do; raises `PlanError`, `OSError`."""
        return adoption.report(self.state, adoption.read(self._plan_path(path)))

    def adopt_plan(self, path: str | Path | None = None, *, agent: str = AGENT) -> PlanReport:
        """Adopt a plan, plan.yaml if not another; raises `PlanError`, `OSError`."""
        if path is None:
            self.settle_plan(agent=agent)
        plan = adoption.read(self._plan_path(path))
        reports: list[PlanReport] = []

        def decide(state: Any) -> Sequence[msgspec.Struct]:
            reports.append(adoption.report(state, plan))
            return adoption.adopt(state, plan, self.records.plan())

        found = self.execute(decide, agent)
        reports[-1].adopted = bool(found)
        self.settle_plan(agent=agent)
        return reports[-1]

    def _plan_path(self, path: str | Path | None) -> Path:
        return self.folder / adoption.PLAN_FILE if path is None else Path(path)

    def start_task(self, task_id: str, *, agent: str = AGENT) -> list[Event]:
        """Begin an attempt at a task."""
        return self.run(lambda state: tasks.start(state, task_id), agent=agent)

    def record_result(self, task_id: str, result: Any, *, agent: str = AGENT) -> list[Event]:
        """Record what the executor of a task hands in."""
        return self.run(lambda state: tasks.record_result(state, task_id, result), agent=agent)

    def verify_task(self, task_id: str, verification: Any, *, agent: str = AGENT) -> list[Event]:
        """Record the verdict on a task."""
        return self.run(lambda state: tasks.verify(state, task_id, verification), agent=agent)

    def fail_task(self, task_id: str, reason: str, *, agent: str = AGENT) -> list[Event]:
        """Give a task up."""
        return self.run(lambda state: tasks.fail(state, task_id, reason), agent=agent)

    def retry_task(self, task_id: str, reason: str = "", *, agent: str = AGENT) -> list[Event]:
        """Put a task back to pending."""
        return self.run(lambda state: tasks.retry(state, task_id, reason), agent=agent)

    def raise_objection(self, objection: Any, *, agent: str = AGENT) -> list[Event]:
        """Record what the critic objects to."""
        return self.run(lambda state: commands.raise_objection(state, objection), agent=agent)

    def answer_objection(
        self, number: int, response: str, *, resolved: bool = False, agent: str = AGENT
    ) -> list[Event]:
        """Record the response to objection `number`, from 1."""
        return self.run(
            lambda state: commands.answer_objection(state, number, response, resolved=resolved),
            agent=agent,
        )

    def set_context(self, field: str, value: Any, *, agent: str = AGENT) -> list[Event]:
        """Set a field of the compaction context."""
        return self.run(lambda state: commands.set_context(state, field, value), agent=agent)

    def note(self, action: str, *, agent: str = AGENT, **what: Any) -> list[Event]:
        """Make an entry of the log; see `commands.note`."""
        return self.run(lambda state: commands.note(state, action, **what), agent=agent)

    # --- recovery --------------------------------------------------------------------------------

    def recover(self) -> list[str]:
        """Write everything again that can be made from the journal; return the names written."""
        rebuilt = self.engine.rebuild()
        written = [name for name in rebuilt.written if not name.startswith("snapshots/")]
        return written + [f"{checkpoint.FOLDER}/{name}" for name in self.checkpoint_files.restore()]

    def recover_from(self, path: str | Path, *, agent: str = AGENT) -> list[Event]:
        """Bring back the state of a checkpoint file, as a new event; history stays.

        Raises `Corrupt` or `UsageError` where the file holds no valid state.
        """
        found = checkpoint.decode(regular.read_given(path), str(path))
        state = takeover.read_state(found.state, str(path))
        event = events.StateRecovered(
            source="checkpoint",
            why="asked for",
            file=Path(path).name,
            timestamp=found.timestamp,
            state=state,
        )
        appended = self.run(lambda _: [event], agent=agent)
        for one in appended:
            self.say(line.describe_recovery(one.data, one.seq))
        return appended
