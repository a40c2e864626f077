"""The command line: `journal COMMAND …`.

    failing      the group of commands: errors become words on stderr and exit codes
    output       results on stdout, words on stderr, colour
    progress     a bar for long work
    finding      which journal is meant
    opening      how it is opened
    options      what the options have in common
    given        JSON that the caller gives
    targets      files that a command writes because somebody named them
    reading      state, head, checkpoints, projections
    querying     `state --query`
    listing      log
    effects      log --touching and --stat
    differing    diff, compare
    tracing      blame, bisect
    forking      fork, restore
    stepping     step
    auditing     audit
    bench        bench
    writing      init, append, checkpoint
    keeping      status, verify, rebuild, adopt, repair
    doctor       doctor
    importing    import, export
    systems      the groups of the five systems, loaded when one is used
    demo         demo

I1  A command parses, calls the engine and prints; nothing is done here that Python cannot do
    through `journal.open`.
I2  What a command does not need is not imported: typer is, the engine when it is wanted.
"""

import sys
from typing import Annotated

import typer

from journal.cli import (
    auditing,
    bench,
    demo,
    differing,
    doctor,
    failing,
    forking,
    importing,
    keeping,
    listing,
    output,
    reading,
    stepping,
    systems,
    tracing,
    writing,
)
from journal.errors import JournalError

app = typer.Typer(
    name="journal",
    cls=systems.WithSystems,
    help="An event-sourced journal: every change is an event in a log, state is a fold of them.",
    epilog="\b\nExample:\n  journal init run && journal append -d run set "
    """'{"path": "/phase", "value": "plan"}'""",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(asked: bool) -> None:
    if asked:
        from journal import __version__
        from journal.cli import output

        output.put(f"journal {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Say which this is."),
    ] = False,
) -> None:
    """Hold what stands before a command."""


for _commands in (
    *(writing, reading, listing, differing, tracing, stepping, forking),
    *(keeping, doctor, auditing, bench, importing, demo),
):
    _commands.add_to(app)


def main() -> None:
    """Run the command line of this process; ends with the exit code of the command."""
    if not output.open_streams():
        sys.exit(JournalError.exit_code)
    try:
        app(prog_name="journal")
    except KeyboardInterrupt:
        sys.exit(failing.STOPPED)
    except Exception as error:  # noqa: BLE001 - the last place where anybody can be told
        sys.exit(failing.explain(error))
