"""What the log says of the plan and of the checkpoints, looked up where it is needed.

I1  The log is read once and from then on only its new end; parts without such events are not
    decoded.
"""

import threading
from typing import TYPE_CHECKING, NamedTuple

from journal.event import Event

if TYPE_CHECKING:
    from journal import Engine

_TYPES = ("plan_adopted", "reset", "checkpoint_created", "checkpoint_adopted", "checkpoints_pruned")


class AdoptedPlan(NamedTuple):
    """The plan that was adopted last; `is_current` where no reset came after it."""

    seq: int
    sha256: str
    text: str
    status: str
    plan_id: str
    is_current: bool


class Records:
    """The plan and the checkpoints of one open journal."""

    def __init__(self, engine: "Engine") -> None:
        """Read nothing yet."""
        self._engine = engine
        self._lock = threading.Lock()
        self._upto = 0
        self._plan: AdoptedPlan | None = None
        self._created: dict[str, Event] = {}
        self._adopted: set[str] = set()
        self._ever: dict[str, Event] = {}

    def plan(self) -> AdoptedPlan | None:
        """Return the plan that was adopted last."""
        self._catch_up()
        return self._plan

    def plan_status(self) -> str:
        """Return the status of the plan that the loop works on, empty where there is none."""
        plan = self.plan()
        return plan.status if plan is not None and plan.is_current else ""

    def created(self) -> dict[str, Event]:
        """Return the events of the checkpoints that were made and not pruned, by file name."""
        self._catch_up()
        return dict(self._created)

    def has_text_of(self, sha256: str) -> bool:
        """Say whether the log holds the bytes of a foreign checkpoint."""
        self._catch_up()
        return sha256 in self._adopted

    def event_of(self, name: str) -> Event | None:
        """Return the event of the checkpoint that had this file name, pruned or not."""
        self._catch_up()
        return self._ever.get(name)

    def _catch_up(self) -> None:
        with self._lock:
            upto = self._engine.seq
            if upto == self._upto:
                return
            for event in self._engine.events(self._upto, upto, types=_TYPES):
                self._take(event)
            self._upto = upto

    def _take(self, event: Event) -> None:
        data = event.data
        match event.type:
            case "plan_adopted":
                self._plan = AdoptedPlan(
                    seq=event.seq,
                    sha256=data["sha256"],
                    text=data["text"],
                    status=data["status"],
                    plan_id=data["plan_id"],
                    is_current=True,
                )
            case "reset":
                self._plan = self._plan and self._plan._replace(is_current=False)
            case "checkpoint_created":
                self._created[data["file"]] = event
                self._ever[data["file"]] = event
            case "checkpoint_adopted":
                self._adopted.add(data["sha256"])
            case _:
                for name in data["files"]:
                    self._created.pop(name, None)
