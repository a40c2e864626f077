"""The verbs of a plan, each one command of `phases`, `goal`, `history`, `execution`, `audit`.

I1  A verb decides nothing: it hands its command to `_run`, which whoever has a plan implements.
I2  `audit.abandon` needs to know what time it is; nothing else here does.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from journal.event import Clock, Event
from projections.loop_plan import audit as audits
from projections.loop_plan import execution, goal, history, phases

Command = Callable[..., list[msgspec.Struct]]
"""(state, …) -> events, or `UsageError` with the rule that is broken."""


class Verbs:
    """What can be done to a plan; see `plan.LoopPlan`."""

    _clock: Clock

    def _run(self, command: Command, *args: Any) -> list[Event]:
        """Run a command on the newest state, and record its events in one append."""
        raise NotImplementedError

    def enter_phase(self, phase: str) -> list[Event]:
        """Take one step; see `phases.enter_phase`."""
        return self._run(phases.enter_phase, phase)

    def set_rigor(self, rigor: str | None = None) -> list[Event]:
        """Set the rigor once; see `goal.set_rigor`."""
        return self._run(goal.set_rigor, rigor)

    def set_goal(self, value: Any) -> list[Event]:
        """Set goal, criteria, must-haves; see `goal.set_goal`."""
        return self._run(goal.set_goal, value)

    def add(self, kind: str, value: Any) -> list[Event]:
        """Add an entry of a kind; see `history.add`."""
        return self._run(history.add, kind, value)

    def set_part(self, name: str, value: Any) -> list[Event]:
        """Set a part whole; see `history.set_part`."""
        return self._run(history.set_part, name, value)

    def choose_gate(self, choice: str, source: str = "gate") -> list[Event]:
        """Record the user's choice at the gate; see `phases.choose_gate`."""
        return self._run(phases.choose_gate, choice, source)

    def record_inventory(self, result: str, error: str = "") -> list[Event]:
        """Record how the inventory went; see `phases.record_inventory`."""
        return self._run(phases.record_inventory, result, error)

    def check_drift(self, report: Any = "clean") -> list[Event]:
        """Record what phase 6 found; see `execution.check_drift`."""
        return self._run(execution.check_drift, report)

    def override_drift(self, category: str, justification: str) -> list[Event]:
        """Ship in spite of a drift; see `execution.override_drift`."""
        return self._run(execution.override_drift, category, justification)

    def start_execution(self, log_path: str = "") -> list[Event]:
        """Begin the execution; see `execution.start_execution`."""
        return self._run(execution.start_execution, log_path)

    def complete_task(self, task_id: str) -> list[Event]:
        """Record that a task passed; see `execution.complete_task`."""
        return self._run(execution.complete_task, task_id)

    def start_stage(self, stage_id: str) -> list[Event]:
        """Begin a stage; see `execution.start_stage`."""
        return self._run(execution.start_stage, stage_id)

    def verify_stage(self, stage_id: str, verdict: Any) -> list[Event]:
        """Record the verdict on a stage; see `execution.verify_stage`."""
        return self._run(execution.verify_stage, stage_id, verdict)

    def sign_off_stage(self, stage_id: str, by: str, note: str) -> list[Event]:
        """Sign for a stage; see `execution.sign_off_stage`."""
        return self._run(execution.sign_off_stage, stage_id, by, note)

    def record_verification(self, verdict: Any) -> list[Event]:
        """Record the verdict on the plan; see `execution.record_verification`."""
        return self._run(execution.record_verification, verdict)

    def sign_off(self, by: str, note: str) -> list[Event]:
        """Sign for the plan; see `execution.sign_off`."""
        return self._run(execution.sign_off, by, note)

    def ship(self) -> list[Event]:
        """Ship the plan; see `execution.ship`."""
        return self._run(execution.ship)

    def abort(self, signal: str = execution.ABORT) -> list[Event]:
        """Give the plan up; see `execution.abort`."""
        return self._run(execution.abort, signal)

    def abandon(self) -> list[Event]:
        """Mark the plan as abandoned, if it still is a candidate; see `audit.abandon`."""
        return self._run(audits.abandon, self._clock())
