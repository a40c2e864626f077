"""The state of a thread in short."""

import msgspec

from journal.event import format_time
from projections.task_state.recall import count_tokens, recall
from projections.task_state.states import OUTCOME, Json


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants to know of a state; `exists` is false where the thread has none.

    `newest` is the time of the newest checkpoint, `depth` that of its execution; `tokens` what the
    whole state takes when it is recalled.
    """

    thread: str
    exists: bool
    checkpoints: int = 0
    newest: str | None = None
    depth: int | float | None = None
    files: int = 0
    data_keys: list[str] = []
    outcome: str | None = None
    tokens: int = 0


def summarize(thread: str, state: Json | None) -> Summary:
    """Return the state of a thread in short."""
    if state is None:
        return Summary(thread=thread, exists=False)
    newest: Json = state["checkpoints"][-1] if state["checkpoints"] else {}
    outcome = state["data"].get(OUTCOME)
    return Summary(
        thread=thread,
        exists=True,
        checkpoints=len(state["checkpoints"]),
        newest=format_time(int(newest["timestamp"])) if newest else None,
        depth=newest.get("depth"),
        files=len(state["files"]),
        data_keys=list(state["data"]),
        outcome=outcome if isinstance(outcome, str) else None,
        tokens=count_tokens(recall(state, 0)),
    )
