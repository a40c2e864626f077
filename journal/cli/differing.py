"""`journal diff` and `journal compare`: two states side by side, and two projections.

    journal diff 3 head        journal diff run@head whatif@head /tasks

I1  A place may name its journal: `DIR@PLACE`, where DIR is a folder. Only so is more than one
    journal opened.
"""

import contextlib
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journal.cli import changes, opening, output, parsing
from journal.cli.options import AsJson, Folder, read_place
from journal.cli.progress import Bar
from journal.errors import JournalError, UsageError

if TYPE_CHECKING:
    from journal.engine.travel.comparing import Difference


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(
        app,
        "diff",
        diff,
        "journal diff 3 head",
        "journal diff '2 hours ago' now /tasks",
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
    journal in the folder DIR. Items of lists are matched by a key where they have one. With --json
    it is a list of {"op", "path", "old", "value"}, a JSON Patch that has the old values, too.
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
        self._engines: dict[str | None, Any] = {}

    def state(self, place: str) -> tuple[Any, str]:
        """Return the state at a place, and what to call it."""
        folder, found, rest = place.rpartition("@")
        where = folder if found and os.path.isdir(folder) else None
        key = where or self._folder
        if key not in self._engines:
            self._engines[key] = self._opened.enter_context(opening.for_reading(key))
        engine = self._engines[key]
        try:
            seq = engine.seq_of(read_place(rest if where else place))
        except UsageError as error:
            if where or not folder:
                raise
            raise UsageError(
                f"{error.message}, nor is {folder!r} a folder that has one",
                key=error.key,
                advice=error.advice,
            ) from error
        name = f"event {seq:,}" + (f" of {output.plain(where)}" if where else "")
        return engine.state_at(seq), name


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
    event after which their states differ is named, and how they do; then the exit code is 1.
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
