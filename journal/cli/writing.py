"""The commands that add to a journal: init, append, checkpoint.

I1  What is printed was acknowledged: it is printed after the journal is closed, so that in every
    durability it is on disk by then.

A caller's JSON is read by `journal.cli.given`.
"""

from collections.abc import Sequence
from typing import Annotated, Any, get_args

import typer

from journal import plural
from journal.cli import given, opening, output, parsing
from journal.cli.options import LOCK_TIMEOUT, AsJson, Folder, LockTimeout, read_count, read_seq
from journal.config import Durability
from journal.errors import UsageError
from journal.event import Draft, Event


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(
        app,
        "init",
        init,
        "journal init run",
        "journal init . --take-over",
        "journal init run --projection my.module:NAME",
    )
    parsing.add(
        app,
        "append",
        append,
        """journal append set '{"path": "/phase", "value": "plan"}' --actor planner""",
        "journal append merge - < change.json",
        "journal append --batch events.jsonl",
    )
    parsing.add(
        app, "checkpoint", checkpoint, "journal checkpoint --trigger 'before the risky step'"
    )


def init(
    *,
    folder: Annotated[str, typer.Argument(metavar="DIR", show_default=False)],
    projection: Annotated[
        str, typer.Option(metavar="NAME", help="What events mean; one's own is module:NAME.")
    ] = "document",
    durability: Annotated[
        str,
        typer.Option(
            metavar="always|batch|os",
            help="On disk with every append, a moment later, or when the system likes.",
        ),
    ] = "always",
    views_every_ms: Annotated[
        str, typer.Option(metavar="MS", help="Write state.json at most so often.")
    ] = "0",
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over", help="Begin with what the state.json that is there already holds."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a journal in the folder DIR.

    A file that stands where the state will be is never written over: it is taken over, or the
    journal is refused. One whose making was cut off is completed; its log stays as it is.
    """
    import journal

    if durability not in get_args(Durability):
        raise UsageError(
            f"--durability is {durability!r}; it is one of {', '.join(get_args(Durability))}",
            key="durability",
        )
    every_ms = read_count(views_every_ms, "--views-every-ms")
    opening.let_own_projections_in()
    with journal.init(
        folder,
        projection=projection,
        durability=durability,
        views_every_ms=every_ms,
        take_over=True if take_over else None,
        on_message=output.say,
    ) as engine:
        made = {
            "path": str(engine.path),
            "id": engine.id,
            "projection": engine.config.projection,
            "durability": engine.config.durability,
            "seq": engine.seq,
        }
    if as_json:
        output.put_json(made)
    else:
        output.put(output.plain(f"{folder}: a journal of projection {made['projection']}"))


def append(
    *,
    kind: Annotated[
        str | None, typer.Argument(metavar="TYPE", help="The event's type.", show_default=False)
    ] = None,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="Its data as JSON; - reads it from stdin; none is {}.",
            show_default=False,
        ),
    ] = None,
    folder: Folder = None,
    actor: Annotated[str, typer.Option(help="Who does it.", show_default=False)] = "",
    key: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="KEY",
            help="An idempotency key: the same TYPE and DATA again, by whatever actor, returns "
            "the recorded event.",
            show_default=False,
        ),
    ] = None,
    expect: Annotated[
        str,
        typer.Option(
            metavar="SEQ",
            help="Refuse (exit code 3) where an event after it may have changed the state.",
            show_default=False,
        ),
    ] = "",
    cause: Annotated[
        str, typer.Option(metavar="SEQ", help="The event that caused it.", show_default=False)
    ] = "",
    batch: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Append every event of a JSONL file (- is stdin) as one, all or nothing.",
            show_default=False,
        ),
    ] = None,
    lock_timeout: LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Append an event, and print it as it was recorded.

    Printed is its line of the log, which is JSON. With --batch each line of FILE is {"type",
    "data", "actor"?, "id"?, "cause"?}. The events are appended all or nothing, and printed one a
    line.
    """
    wanted = read_seq(expect) if expect else None
    if key == "":
        raise UsageError("--id is empty", key="id", advice="Give a key, or leave --id out.")
    if batch is None:
        draft = _one_event(kind, data, key or "", cause)
        with opening.for_writing(folder, lock_timeout) as engine:
            events = engine.append_batch([draft], actor=actor, expected_seq=wanted)
    elif kind is not None or key or cause:
        raise UsageError("--batch takes its events from FILE: no TYPE, DATA, --id or --cause")
    else:
        found = given.read_batch(batch)
        with opening.for_writing(folder, lock_timeout) as engine:
            try:
                events = engine.append_batch(found.drafts, actor=actor, expected_seq=wanted)
            except UsageError as error:
                raise (given.find_unfit(engine, found) or error) from error
    _put_stored(events)


def _put_stored(events: Sequence[Event]) -> None:
    """Print what was recorded; where that fails, say that it was recorded all the same."""
    try:
        for event in events:
            output.put_event(event)
        output.flush()
    except BrokenPipeError:
        raise
    except OSError:
        which = plural.are(events[0].seq, events[-1].seq)
        output.say(f"{which} stored; only printing failed, so do not append again")
        raise


def _one_event(kind: str | None, data: str | None, key: str, cause: str) -> Draft:
    if not kind:
        raise UsageError("the event's TYPE is missing", advice="See `journal append --help`.")
    value: Any = {} if data is None else given.read_data(data)
    return Draft(type=kind, data=value, id=key, cause=read_seq(cause) if cause else 0)


def checkpoint(
    folder: Folder = None,
    kind: Annotated[
        str, typer.Option("--type", metavar="T", help="1 to 40 of a-z, 0-9 and -.")
    ] = "manual",
    trigger: Annotated[
        str, typer.Option(metavar="TEXT", help="Why it is taken.", show_default=False)
    ] = "",
    lock_timeout: LockTimeout = LOCK_TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Keep the state as it is now.

    The checkpoint is a file in snapshots/ and an event, so that it comes back with a rebuild.
    """
    with opening.for_writing(folder, lock_timeout) as engine:
        found = engine.snapshot(kind, trigger)
    if as_json:
        output.put_report(found)
    else:
        words = f"checkpoint at event {found.seq}: snapshots/{found.file}"
        output.put(f"{words} ({output.size(found.size_bytes)})")
