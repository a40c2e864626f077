"""`journal blame` and `journal bisect`: which events changed a value, since when something is true.

I1  What is found is printed as it is found; of `--json` the list, too.
"""

import itertools
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import msgspec
import orjson
import typer

from journal import plural
from journal.cli import changes, opening, output, parsing
from journal.cli.columns import Columns
from journal.cli.gist import gist
from journal.cli.options import AsJson, Folder, read_count, read_place
from journal.cli.progress import Bar
from journal.cli.widths import cut, fill, width_of
from journal.errors import JournalError, UsageError
from journal.event import RESTORED, facts

if TYPE_CHECKING:
    from journal import Engine
    from journal.engine.travel.blaming import Change, LastChange

_WIDEST_POINTER = 40
_LEAST_VALUE = 14
_LEAST_TABLE = 30

_After = Annotated[
    str, typer.Option(metavar="SEQ|TIME", help="Only events after this.", show_default=False)
]
_Upto = Annotated[
    str, typer.Option(metavar="SEQ|TIME", help="Only up to and with this.", show_default=False)
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(
        app,
        "blame",
        blame,
        "journal blame",
        "journal blame /phase -n 1",
        "journal blame /tasks --depth 2",
    )
    parsing.add(
        app,
        "bisect",
        bisect,
        "journal bisect --when '.tasks | length > 10'",
        "journal bisect --when '.round >= 600' --monotone --json",
    )


# --- blame ---------------------------------------------------------------------------------------


def blame(
    *,
    pointer: Annotated[
        str | None,
        typer.Argument(metavar="POINTER", help="A JSON Pointer.", show_default=False),
    ] = None,
    folder: Folder = None,
    newest: Annotated[
        str | None, typer.Option("-n", metavar="N", help="Only the newest N changes.")
    ] = None,
    depth: Annotated[
        str | None,
        typer.Option(metavar="N", help="Every value N levels down, with its last change."),
    ] = None,
    after: _After = "",
    upto: _Upto = "",
    as_json: AsJson = False,
) -> None:
    """Say which events changed a value, the newest first.

    An event counts if the value at POINTER, or anything below it, is another one after it. Without
    a POINTER, or with --depth, every value of the state (or of what is at POINTER) is listed with
    the event that last changed it.
    """
    table = pointer is None or depth is not None
    if table and (newest is not None or after):
        raise UsageError("-n and --after are for the changes of one POINTER", key="pointer")
    levels = 1 if depth is None else read_count(depth, "--depth")
    number = None if newest is None else read_count(newest, "-n")
    with opening.for_reading(folder) as engine:
        last = engine.seq_of(read_place(upto)) if upto else engine.seq
        if table:
            _put_last_changes(
                engine, engine.blame_all(pointer or "", depth=levels, upto=last), as_json
            )
            return
        first = engine.seq_of(read_place(after)) if after else 0
        found = itertools.islice(engine.blame(pointer or "", after=first, upto=last), number)
        if as_json:
            _put_list(found)
        elif not _put_found(engine, found):
            output.say(f"no event from {first + 1} to {last} changed what is at {pointer!r}")


def _put_list(found: Iterable["Change"]) -> None:
    """Print a list on one line, item by item: it may be longer than memory."""
    start = b"["
    for change in found:
        output.put_bytes(start + orjson.dumps(msgspec.to_builtins(change)))
        start = b","
    output.put_bytes(b"[]\n" if start == b"[" else b"]\n")


def _put_found(engine: "Engine", found: Iterable["Change"]) -> bool:
    """Print each change on a line; say whether there was one."""
    columns = Columns(engine.seq, type_width=0)
    origins = _Origins(engine)
    change = None
    for change in found:
        head = (change.seq, change.time, change.type, change.actor)
        room = columns.room(*head) if output.is_terminal(sys.stdout) else sys.maxsize
        origin = origins.of(change)
        columns.put(*head, _describe(change, room - len(origin)) + origin)
        output.flush()
    return change is not None


def _describe(change: "Change", room: int) -> str:
    if change.old is msgspec.UNSET:
        return output.paint(f"+ {changes.show(change.new, room - 2)}", "good", sys.stdout)
    if change.new is msgspec.UNSET:
        return output.paint(f"- {changes.show(change.old, room - 2)}", "bad", sys.stdout)
    return changes.describe_within(change.old, change.new, room)


def _put_last_changes(engine: "Engine", found: list["LastChange"], as_json: bool) -> None:
    if as_json:
        output.put_report(found)
        return
    columns = Columns(engine.seq, type_width=0, least_room=_LEAST_TABLE)
    origins = _Origins(engine)
    # All are known, so the columns are as wide as they need to be from the first line on.
    for one in found:
        columns.room(one.seq, one.time, one.type, one.actor)
    names = [output.plain(one.pointer) or '""' for one in found]
    longest = max(map(width_of, names), default=0)
    wide = not output.is_terminal(sys.stdout)
    width = min(longest, _WIDEST_POINTER, sys.maxsize if wide else columns.width // 3)
    for one, name in zip(found, names, strict=True):
        head = (one.seq, one.time, one.type, one.actor)
        room = sys.maxsize if wide else columns.room(*head)
        pointer = fill(cut(name, max(room - _LEAST_VALUE, width)), width) + "  "
        origin = origins.of(one)
        value = changes.show(one.value, room - width_of(pointer) - len(origin))
        columns.put(*head, f"{pointer}{value}{origin}")


class _Origins:
    """Where a value comes from that a restore brought back: whom to ask next."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._known: dict[int, str] = {}

    def of(self, change: "Change | LastChange") -> str:
        """Return words that go behind the value; none for what is new with the event."""
        if change.type != RESTORED:
            return ""
        if change.seq not in self._known:
            (event,) = self._engine.events(change.seq - 1, change.seq)
            self._known[change.seq] = f"  (as of event {facts(event).get('seq')})"
        return self._known[change.seq]


# --- bisect --------------------------------------------------------------------------------------


def bisect(
    *,
    when: Annotated[str, typer.Option("--when", metavar="JQ", help="What is to be true.")],
    folder: Folder = None,
    after: _After = "",
    upto: _Upto = "",
    monotone: Annotated[
        bool,
        typer.Option("--monotone", help="Once true it stays true: look at a few states only."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the first event after which something is true.

    JQ is a jq program on the state (it needs the package jq): what it gives last is true if it is
    neither false nor null. Every state is looked at, in order; but where it names the members that
    it reads (.round > 3, or .tasks | length), only those in which they may have changed. With
    --monotone the history is halved. A program that never ends is ended by Ctrl-C (`timeout 60
    journal bisect …` does it unasked).

    The exit code is 1 where there is no such event; --json then has null for both. An error has
    the same code, a message on stderr and nothing on stdout.
    """
    from journal.cli.querying import predicate, stoppable

    is_true, reads = predicate(when)
    with opening.for_reading(folder) as engine:
        first = engine.seq_of(read_place(after)) if after else 0
        last = engine.seq_of(read_place(upto)) if upto else engine.seq
        with Bar("looking") as bar, stoppable():
            found = engine.bisect(
                is_true, after=first, upto=last, monotone=monotone, reads=reads, progress=bar
            )
    event = found.event
    if as_json:
        line = b"null" if event is None else output.stored_line(event).rstrip(b"\n")
        seq = b"null" if found.seq is None else b"%d" % found.seq
        output.put_bytes(b'{"seq":%b,"event":%b}\n' % (seq, line))
    elif event is not None:
        columns = Columns(event.seq, type_width=0)
        head = (event.seq, event.time, event.type, event.actor)
        columns.put(*head, gist(event, columns.room(*head)))
    if found.from_start and event is not None:
        output.say(f"it was true before, too: as of event {first}")
    output.say(f"looked at {output.count(found.states, 'state')}")
    if event is None:
        output.say(
            f"it is not true after event {last}; if once true it stays true, it never was"
            if monotone
            else f"it is true after none of them: {plural.span(first + 1, last)}"
        )
        raise typer.Exit(JournalError.exit_code)
