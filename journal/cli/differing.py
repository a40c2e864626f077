"""`journal diff` and `journal compare`: two states side by side, and two projections.

    journal diff 3 head        journal diff run@head whatif@head /tasks

I1  A place may name its journal: `DIR@PLACE`, where DIR is a folder. Only so is more than one
    journal opened. DIR alone, where it is no place of the journal that is meant, is DIR@head.
"""

import contextlib
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journal.cli import changes, opening, output, parsing
from journal.cli.options import AsJson, Folder, is_seq, read_place
from journal.cli.progress import Bar
from journal.errors import JournalError, UsageError

if TYPE_CHECKING:
    from journal import Engine
    from journal.engine.travel.comparing import Difference


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(
        app,
        "diff",
        diff,
        "journal diff 3 head",
        "journal diff '2 hours ago' now /tasks",
        "journal diff head ../whatif",
        "journal diff run@120 whatif@head --json",
    )
    parsing.add(app, "compare", compare, "journal compare --with my.module:NEW")


# --- diff ----------------------------------------------------------------------------------------


def diff(
    a: Annotated[str, typer.Argument(metavar="A", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", show_default=False)],
    pointer: Annotated[
        str, typer.Argument(metavar="POINTER", help="Only what is there.", show_default=False)
    ] = "",
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show what leads from the state at A to the one at B.

    A and B are seqs, times, head, head~3, a checkpoint or '2 hours ago'; with DIR@ in front, in the
    journal in the folder DIR, and DIR alone is its head. Items of lists are matched by a key where
    they have one. With --json it is a list of {"op", "path", "old", "value"}, a JSON Patch that has
    the old values, too. The exit code is 0 whether they differ or not.
    """
    from journal.engine.travel.comparing import diff_states

    with contextlib.ExitStack() as opened:
        journals = _Journals(opened, folder)
        state_a, name_a = journals.state(a)
        state_b, name_b = journals.state(b)
        found = diff_states(state_a, state_b, pointer)
    if as_json:
        output.put_json(found)
    elif found:
        changes.put_changes(found)
    else:
        where = f"at {output.plain(pointer)} " if pointer else ""
        output.put(f"equal: nothing {where}differs between {name_a} and {name_b}")


class _Journals:
    """The journals that a comparison needs, each opened once (I1)."""

    def __init__(self, opened: contextlib.ExitStack, folder: str | None) -> None:
        self._opened = opened
        self._folder = folder
        self._engines: dict[str | None, Engine] = {}

    def state(self, place: str) -> tuple[Any, str]:
        """Return the state at a place, and what to call it."""
        where, seq = self._find(place)
        name = f"event {seq:,}" + (f" of {output.plain(where)}" if where else "")
        return self._engine(where).state_at(seq), name

    def _find(self, place: str) -> tuple[str | None, int]:
        """Return the folder that a place names, None for none, and the seq there."""
        folder, _, rest = place.rpartition("@")
        if folder and os.path.isdir(folder):
            engine = self._engine(folder)
            try:
                return folder, engine.seq_of(read_place(rest))
            except UsageError as error:
                raise _said_of(error, f"{folder}: {error.message}") from error
        try:
            return None, self._engine(None).seq_of(read_place(place))
        except JournalError as error:
            if os.path.isdir(place) and not is_seq(place):
                return place, self._engine(place).seq
            if not isinstance(error, UsageError) or error.key != "place":
                raise
            nor = f", nor is {folder!r} a folder that has one" if folder else ""
            hint = "DIR@PLACE is one in another journal, and DIR alone its head."
            raise _said_of(error, error.message + nor, hint) from error

    def _engine(self, where: str | None) -> "Engine":
        key = where or self._folder
        if key not in self._engines:
            self._engines[key] = self._opened.enter_context(opening.for_reading(key))
        return self._engines[key]


def _said_of(error: UsageError, message: str, hint: str = "") -> UsageError:
    return UsageError(message, key=error.key, advice=f"{error.advice} {hint}".strip())


# --- compare -------------------------------------------------------------------------------------


def compare(
    other: Annotated[
        str,
        typer.Option("--with", metavar="NAME", help="A projection: built in, or module:NAME."),
    ],
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Say what another projection would make of the history.

    The whole history is folded with the journal's own projection and with the other one. The first
    event after which their states differ is named, and how they do.

    The exit code is 1 where they differ. An error has the same code, a message on stderr and
    nothing on stdout.
    """
    from projections import catalog

    opening.let_own_projections_in()
    projection = catalog.find(other)
    with opening.for_reading(folder) as engine, Bar("comparing") as bar:
        found = engine.compare(projection, bar)
    if as_json:
        output.put_report(found)
    else:
        _put_difference(found)
    if found.seq is not None:
        raise typer.Exit(JournalError.exit_code)


def _put_difference(found: "Difference") -> None:
    if found.seq is None:
        output.put(
            f"equal: the states are the same after each of {output.count(found.events, 'event')}"
        )
        return
    if found.seq:
        output.put(f"differs first after event {found.seq:,} ({found.type}, {found.time})")
    else:
        output.put("differs before the first event")
    if found.failed:
        output.put(output.plain(f"  the other projection fails there: {found.failed}"))
    changes.put_changes(found.changes, "  ")
