"""The commands that keep: checkpoint, recover."""

from typing import Annotated

import typer

from journal.cli import output, parsing
from journal.cli.agloop import reach
from journal.errors import UsageError


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(app, "checkpoint", checkpoint, "journal agloop checkpoint pre-compact")
    parsing.add(
        app,
        "recover",
        recover,
        "journal agloop recover",
        "journal agloop recover --from .agloop/checkpoints/reset-2026-03-01T14-45-00-000Z.json",
    )


def checkpoint(
    kind: Annotated[str, typer.Argument(metavar="TYPE", help="pre-compact", show_default=False)],
    folder: reach.Dir = None,
    agent: reach.Agent = "agloop",
) -> None:
    """Count a compaction of the client's context, and keep the state after it.

    The other types come by themselves: phase-transition with a phase, reset with a reset.
    """
    if kind != "pre-compact":
        raise UsageError(f"a checkpoint of type {kind!r} cannot be asked for; allowed: pre-compact")
    with reach.opened(folder) as loop:
        events = loop.compact(agent=agent)
    file = next(event.data["file"] for event in events if event.type == "checkpoint_created")
    output.put(output.plain(f"checkpoints/{file}"))


def recover(
    folder: reach.Dir = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE", help="Bring this checkpoint's state back.", show_default=False
        ),
    ] = None,
    agent: reach.Agent = "agloop",
) -> None:
    """Write state.json, log.json and the checkpoints again from the journal.

    What differs is kept in quarantine, also an edit of state.json that breaks a rule. With --from
    the state in a checkpoint comes back, as a new event; history stays.
    """
    if source is not None:
        with reach.opened(folder, on_drift="replace") as loop:
            events = loop.recover_from(source, agent=agent)
            state = loop.state
        reach.put_change(events, state)
        return
    with reach.opened(folder, on_drift="replace") as loop:
        healed = list(loop.messages)
        written = loop.recover()
    if written:
        output.put(output.plain(f"written again: {', '.join(written)}"))
    elif not healed:
        output.put("nothing to recover: every file is as the journal has it")
