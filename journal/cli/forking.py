"""`journal fork` and `journal restore`: a journal that might have been, a state that comes back.

I1  Nothing takes an event out of a log. `journal redact` is there only to say so, and what to do.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from journal.cli import opening, output, parsing
from journal.cli.options import LOCK_TIMEOUT, AsJson, Folder, LockTimeout, read_place
from journal.cli.progress import Bar
from journal.errors import UsageError

if TYPE_CHECKING:
    from journal.engine.travel.forking import Forked


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(
        app,
        "fork",
        fork,
        "journal fork ../copy --at 120",
        "journal fork ../whatif --drop 57",
        """journal fork ../if --edit '57={"type": "set", "data": {"path": "/n", "value": 1}}'""",
    )
    parsing.add(
        app, "restore", restore, "journal restore 120", "journal restore 'before the risky step'"
    )
    app.command(
        "redact",
        hidden=True,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(redact)


def fork(
    *,
    destination: Annotated[str, typer.Argument(metavar="DEST", show_default=False)],
    folder: Folder = None,
    at: Annotated[
        str, typer.Option(metavar="SEQ|TIME", help="The last event of it.", show_default=False)
    ] = "",
    drops: Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="SEQ", help="Leave this event out (repeatable)."),
    ] = None,
    edits: Annotated[
        list[str] | None,
        typer.Option("--edit", metavar="SEQ=JSON", help="Put another event in its place."),
    ] = None,
    inserts: Annotated[
        list[str] | None,
        typer.Option("--insert", metavar="SEQ=JSON", help="Put an event right after this one."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a new journal with this one's history.

    It is the same up to and with --at, under an id of its own; its first own event names where it
    comes from. With --drop, --edit and --insert it is the history as it would have been: JSON is
    {"type", "data", "actor"?, "id"?, "cause"?, "time"?}, seqs are those of this journal, and
    `journal diff` shows the difference. This journal is only read; closed segments are shared.
    """
    from journal.engine.travel import changing

    told: list[changing.Change] = [
        *map(changing.read_drop, drops or ()),
        *map(changing.read_edit, edits or ()),
        *map(changing.read_insert, inserts or ()),
    ]
    place = read_place(at) if at else None
    with opening.for_reading(folder) as engine, Bar("forking") as bar:
        found = engine.fork(destination, at=place, changes=told, progress=bar)
    if as_json:
        output.put_report(found)
        return
    output.put(output.plain(f"{destination}: {_describe(found)}"))
    if found.left_out:
        unknown = output.count(found.left_out, "event")
        output.say(f"{unknown} of types that the projection does not know were left out")


def _describe(found: "Forked") -> str:
    """Say what a fork is made of, and what of it no event of the source is."""
    linked = f" ({output.count(len(found.linked), 'segment')} linked)" if found.linked else ""
    made = ["journal.forked"]
    if (notes := found.own - found.appended - 1) > 0:
        made.append(output.count(notes, "other note") + " of the engine")
    if found.appended:
        made.append(output.count(found.appended, "event") + " of the changed history")
    own = " and ".join(filter(None, [", ".join(made[:-1]), made[-1]]))
    return (
        f"{output.count(found.shared, 'event')} shared{linked}, "
        f"{output.count(found.own, 'event')} of its own: {own}"
    )


def restore(
    place: Annotated[str, typer.Argument(metavar="SEQ|TIME|CHECKPOINT", show_default=False)],
    folder: Folder = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.", show_default=False)] = "",
    lock_timeout: LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Bring an earlier state back, as a new event.

    History stays as it is: the difference is appended as `journal.restored`, which is printed.
    Where the state is that one already, nothing is appended.
    """
    with opening.for_writing(folder, lock_timeout) as engine:
        seq = engine.seq_of(read_place(place))
        event = engine.restore(seq, reason=reason)
    if event is None:
        output.say(f"the state is already as it was after event {seq:,}: nothing was appended")
    else:
        output.put_event(event)


def redact() -> None:
    """Refuse, and say how to come to a copy without a secret (I1)."""
    raise UsageError(
        "nothing is taken out of a log: its history is append-only",
        advice="`journal log --grep TEXT` finds the events; `journal fork DEST --at head --drop "
        "SEQ`, or --edit SEQ=JSON, makes a copy without them. Use that one, delete this folder "
        "and its backups, and take the secret for known.",
    )
