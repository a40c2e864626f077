"""What only the log knows of a run: how old it is, and whether its file was found damaged.

I1  The age counts from the last event of the run itself. The engine's events (take-over, adoption
    and the rest of `journal.*`), `normalized` and `state_rebuilt` do not count. Without such an
    event it counts from the newest of `started_at`, `tier_changes[].at` and the file's mtime as
    it was at take-over.
I2  A file that was found damaged is remembered until the run is resumed, restarted or aborted:
    all three are a person's decision then.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from journal.errors import UsageError
from journal.event import TAKEN_OVER, Event, format_time, is_engine_type, parse_time, time_to_ms

if TYPE_CHECKING:
    import journal

HOUR_MS = 60 * 60 * 1000
NORMALIZED = "normalized"
STATE_REBUILT = "state_rebuilt"
_SETTLING = frozenset(("run_resumed", "run_restarted", "run_aborted"))


class Facts(NamedTuple):
    """`age_ms` since `since`, a time of the log's form; `damaged`: how the file was found."""

    age_ms: int
    since: str
    damaged: str = ""

    @property
    def is_old(self) -> bool:
        """Whether a running run of this age counts as crashed: exactly one hour is old."""
        return self.age_ms >= HOUR_MS


def of_engine(engine: "journal.Engine", now_ms: int) -> Facts:
    """Return the facts of a run from its log, as far as the engine has folded it."""
    return _of(engine.events(), engine.state, now_ms)


def of_file(state: Any, modified: str, now_ms: int) -> Facts:
    """Return the facts of a run that has no journal yet; `modified` is its file's mtime."""
    return _since(_newest_time(state, modified), now_ms)


def _of(events: Iterable[Event], state: Any, now_ms: int) -> Facts:
    since = modified = damaged = ""
    for event in events:
        if event.type == TAKEN_OVER:
            modified = event.data.get("modified", "")
        elif event.type == STATE_REBUILT:
            damaged = event.data.get("why", "") or "it was damaged"
        elif not is_engine_type(event.type) and event.type != NORMALIZED:
            since = event.time
            if event.type in _SETTLING:
                damaged = ""
    found = _since(since or _newest_time(state, modified), now_ms)
    return found._replace(damaged=damaged)


def _since(time: str, now_ms: int) -> Facts:
    return Facts(now_ms - time_to_ms(time), time)


def _newest_time(state: Any, modified: str) -> str:
    """Return the newest time that a state names, or `modified` (I1)."""
    metadata: dict[str, Any] = state.get("metadata") or {}
    named: list[Any] = [
        state.get("started_at"),
        *(each["at"] for each in metadata.get("tier_changes", [])),
    ]
    times = [modified] if modified else []
    for text in named:
        try:
            times.append(parse_time(text or ""))
        except UsageError:
            continue
    return max(times, default=format_time(0))
