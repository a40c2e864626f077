"""`journal doctor`: what is in a folder, what is wrong with it, and what each way out would cost.

I1  It changes nothing, takes no lock, and answers for every folder.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journal.cli import finding, opening, output, parsing
from journal.cli.anchoring import Anchors, AnchorsFile, read_anchors
from journal.cli.options import AsJson, Folder
from journal.cli.progress import Bar
from journal.errors import JournalError, UsageError

if TYPE_CHECKING:
    from journal.engine.doctor.report import DoctorReport, Part, Remedy


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    parsing.add(
        app,
        "doctor",
        doctor,
        "journal doctor",
        "journal doctor backups/run --anchors notes/heads.txt --json",
    )


def doctor(
    path: Annotated[
        str, typer.Argument(metavar="DIR", help="The folder.", show_default=False)
    ] = "",
    folder: Folder = None,
    anchors: Anchors = None,
    anchors_file: AnchorsFile = "",
    as_json: AsJson = False,
) -> None:
    """Look at a folder: what is there, what is healthy, what helps.

    Every byte is checked as `journal verify` does, and where the log is damaged a repair is tried
    in memory, so that it can be said what each remedy would do, lose and cost. Nothing is changed.
    It answers for a folder that is no journal, too. Anchors are those of `verify`. The exit code is
    0 where all is well, 5 where something is damaged, else that of the error that a command would
    meet.
    """
    from journal.engine.doctor.run import doctor as look

    if path and folder:
        raise UsageError("DIR and --dir are two answers to one question: give one")
    pairs = read_anchors(anchors, anchors_file)
    opening.let_own_projections_in()
    with Bar("looking") as bar:
        found = look(_place(path or folder), anchors=pairs, progress=bar)
    if as_json:
        output.put_report(found)
    else:
        _put(found)
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def _place(named: str | None) -> Path:
    if named:
        return Path(named)
    try:
        return finding.find(None)
    except UsageError:
        raise
    except JournalError:
        return Path()


def _put(found: "DoctorReport") -> None:
    output.put(output.plain(f"{found.path}: {found.what}"))
    if found.parts:
        output.put("\nwhat is here")
        width = max(len(part.name) for part in found.parts)
        for part in found.parts:
            _put_part(part, width)
    output.put("\nhealth")
    for problem in found.problems:
        place = ", ".join(
            text
            for text in (
                problem.segment,
                "" if problem.line is None else f"line {problem.line}",
                "" if problem.offset is None else f"byte {problem.offset}",
            )
            if text
        )
        kind = output.paint(f"{problem.kind}:", "bad", sys.stdout)
        words = " ".join(line.strip() for line in problem.message.splitlines())
        output.put(f"  {kind} {output.plain((place + ': ' if place else '') + words)}")
    if found.healthy:
        output.put(f"  {output.paint('healthy', 'good', sys.stdout)}: every byte was checked")
    elif not found.problems:
        output.put("  nothing to check")
    for note in found.notes:
        output.put(f"  note: {output.plain(note)}")
    if found.remedies:
        output.put("\nwhat to do" if found.kind != "none" else "\nwhat may be done")
    for number, remedy in enumerate(found.remedies, 1):
        _put_remedy(number, remedy)
    output.say("nothing was changed")


def _put_part(part: "Part", width: int) -> None:
    size = output.size(part.size_bytes) if part.size_bytes else ""
    line = f"  {output.plain(part.name):<{width}}  {size:>9}  {part.what}"
    health = output.paint(output.plain(part.health), "bad", sys.stdout) if part.health else ""
    output.put(f"{line}  {health}".rstrip())


def _put_remedy(number: int, remedy: "Remedy") -> None:
    does = f"`{remedy.command}` {remedy.does}" if remedy.command else remedy.does
    output.put(f"  {number}. {output.plain(does)}")
    cost: list[str] = []
    if remedy.seconds is not None:
        cost.append(_about(remedy.seconds))
    if remedy.written_bytes:
        cost.append(f"{output.size(remedy.written_bytes)} written")
    loses = remedy.loses or ("nothing" if cost else "")
    if loses:
        output.put(f"     loses {output.plain(loses)}")
    if cost:
        output.put(f"     costs {', '.join(cost)}")


def _about(seconds: float) -> str:
    if seconds < 1:
        return "under a second"
    return f"about {seconds:.0f} s" if seconds < 120 else f"about {seconds / 60:.0f} min"
