"""The commands that look: state, head, checkpoints, projections. None of them writes a byte."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from journal.cli import opening, output, parsing
from journal.cli.options import AsJson, Folder, read_place
from journal.errors import UsageError

if TYPE_CHECKING:
    from projections.projection import Projection

_At = Annotated[
    str,
    typer.Option(
        "--at",
        metavar="SEQ|TIME",
        help="As it was then; head~3, a checkpoint or '2 hours ago' names a place, too.",
        show_default=False,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(
        app,
        "state",
        state,
        "journal state",
        "journal state --at 120",
        "journal state --at 2026-03-01T14:45:00Z --query '.tasks | length'",
    )
    parsing.add(app, "head", head, "journal head", "journal head --at 120 --json")
    parsing.add(app, "checkpoints", checkpoints, "journal checkpoints --json")
    parsing.add(app, "projections", projections, "journal projections")


def state(
    folder: Folder = None,
    at: _At = "",
    query: Annotated[
        str,
        typer.Option("--query", "-q", metavar="JQ", help="Only this of it.", show_default=False),
    ] = "",
    raw: Annotated[
        bool, typer.Option("--raw", "-r", help="Print texts that a query gives without quotes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the state, as it is now or as it was.

    It is JSON, indented by two spaces, as state.json is; with --json on one line. Only digits are a
    seq; a time without a zone is UTC, and of events at that time the last one counts. What a query
    gives is printed value by value, as jq does (it needs the package jq).
    """
    place = read_place(at) if at else None
    with opening.for_reading(folder) as engine:
        seq = engine.seq if place is None else engine.seq_of(place)
        found = engine.state if place is None else engine.state_at(seq)
    if seq == 0 and place != 0:
        output.say(f"{output.plain(at)} is before the first event: this is the state at the start")
    if not query:
        _put_value(found, compact=as_json)
        return
    from journal.cli.querying import query as run

    for value in run(query, found):
        if raw and isinstance(value, str):
            output.put(value)
        else:
            _put_value(value, compact=as_json)


def _put_value(value: Any, *, compact: bool) -> None:
    if compact:
        output.put_json(value)
    else:
        output.put_bytes(
            orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )


def head(
    folder: Folder = None,
    at: _At = "",
    as_json: AsJson = False,
) -> None:
    """Print the end of history, to be noted elsewhere.

    It is SEQ:SHA256, an anchor for `journal verify --anchor`. The sha256 is that of the first
    bytes of a segment, which names the one before it with its own: it stands for all of history up
    to there, and nothing of that can be changed unseen.
    """
    place = read_place(at) if at else None
    with opening.for_reading(folder) as engine:
        found = engine.head(None if place is None else engine.seq_of(place))
        log = engine.path / "log"
    if as_json:
        output.put_report(found)
        return
    output.put(f"{found.seq}:{found.sha256}")
    if sys.stdout.isatty():
        output.say(f"the same as: head -c {found.offset} {log / found.segment} | sha256sum")


def checkpoints(folder: Folder = None, as_json: AsJson = False) -> None:
    """List what was kept: checkpoints, and the engine's own.

    The engine's own snapshots, of type auto, are only a cache; those that were asked for stay.
    """
    with opening.for_reading(folder) as engine:
        found = engine.snapshots()
    if as_json:
        output.put_report(found)
        return
    width = max((len(str(one.seq)) for one in found), default=1)
    kind_width = max((len(one.type) for one in found), default=1)
    for one in found:
        words = [one.trigger, f"not used: {one.problem}" if one.problem else ""]
        line = f"{one.seq:>{width}}  {one.time:<24}  {one.type:<{kind_width}}"
        line += f"  {output.size(one.size_bytes):>9}  {'; '.join(filter(None, words))}"
        output.put(output.plain(line).rstrip())
    if not found:
        output.say("no checkpoints yet; `journal checkpoint` takes one")


def projections(as_json: AsJson = False) -> None:
    """List the projections that are built in, and their events.

    Of `document`, which fits any JSON, what its events do, each with an example.
    """
    import textwrap

    from projections import catalog

    found: list[tuple[str, str, Projection | None]] = []
    for name, where in catalog.BUILT_IN.items():
        try:
            found.append((name, where, catalog.find(name)))
        except UsageError as error:  # one that is not whole keeps nobody from the others
            found.append((name, where, None))
            output.say_error(str(error))
    if as_json:
        output.put_json(
            [
                {"name": name, "module": where, "events": sorted(one.types if one else ())}
                for name, where, one in found
            ]
        )
        return
    for name, _, one in found:
        events = ", ".join(sorted(one.types)) if one else "cannot be loaded"
        output.put(textwrap.fill(f"{name}: {events}", 90, subsequent_indent="  "))
        if one is not None and name == "document":
            _put_events(one)
    output.say("one of your own: journal init DIR --projection package.module:NAME")


def _put_events(projection: "Projection") -> None:
    """Say what each event does, in the words of its class, and how it is appended."""
    import inspect
    import textwrap

    for kind, event in projection.types.items():
        start = f"  {kind:<9} "
        example = getattr(event, "example", "")
        words = (inspect.getdoc(event) or "").replace("`", "")
        words = words if example else words.partition("\n")[0]
        output.put(
            textwrap.fill(words, 90, initial_indent=start, subsequent_indent=" " * len(start))
        )
        if example:
            output.put(f"{'':{len(start)}}journal append {example}")
