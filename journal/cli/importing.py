"""The ways in and out: `import versions|git|file`, and `export`."""

import contextlib
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, cast, get_args

import typer

from journal import config
from journal.cli import finding, opening, output, parsing
from journal.cli.options import AsJson, Folder, read_count, read_seq
from journal.cli.progress import Bar
from journal.cli.targets import open_target
from journal.errors import JournalError, UsageError

if TYPE_CHECKING:
    from projections.document.report import ImportReport

_SAID = 20
_SUFFIXES = {".csv": "csv", ".parquet": "parquet"}
_FORMATS = {
    "jsonl": ("projections.document.exporting", "export_events"),
    "csv": ("journal.engine.exporting.csv_rows", "write"),
    "parquet": ("journal.engine.exporting.parquet", "write"),
    "cloudevents": ("journal.engine.exporting.cloudevents", "write"),
}

_Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Import nothing if anything in the source is no version. (A version whose text does "
        "not parse is one: it is kept as text.)",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        cls=parsing.Group,
        help="Take in the history of a file: an event a version.",
        no_args_is_help=True,
        rich_markup_mode=None,
        epilog="\b\nExample:\n  journal import git . state.json -d run",
    )
    parsing.add(group, "versions", versions, "journal import versions history.jsonl.gz -d run")
    parsing.add(group, "git", git, "journal import git . state.json -d run")
    parsing.add(group, "file", file, "journal import file state.json -d run")
    app.add_typer(group, name="import")
    parsing.add(
        app,
        "export",
        export,
        "journal export -d run > events.jsonl",
        "journal export --format parquet -o events.parquet",
        "journal export versions | gzip > history.jsonl.gz",
    )


# --- in ------------------------------------------------------------------------------------------


def versions(
    path: Annotated[str, typer.Argument(metavar="FILE", show_default=False)],
    folder: Folder = None,
    strict: _Strict = False,
    as_json: AsJson = False,
) -> None:
    """Import a file that has one version a line.

    A line is {"n", "time", "content" or "content_b64" or "value", "actor"?, "message"?, "path"?};
    the file may be compressed by gzip. A journal that is not there yet is made; importing again
    goes on where it stopped.
    """
    from projections.document.versions import read_versions

    _import(read_versions(path), folder, strict=strict, as_json=as_json)


def git(
    *,
    repo: Annotated[str, typer.Argument(metavar="REPO", show_default=False)],
    path: Annotated[str, typer.Argument(metavar="PATH", show_default=False)],
    folder: Folder = None,
    revision: Annotated[
        str, typer.Option(metavar="REV", help="The commit, branch or tag to end at.")
    ] = "HEAD",
    order: Annotated[
        str,
        typer.Option(
            metavar="first-parent|topo", help="The main line only, or merged branches as well."
        ),
    ] = "first-parent",
    strict: _Strict = False,
    as_json: AsJson = False,
) -> None:
    """Import the versions of one file in a local git repository.

    Author, time and subject of each commit are kept. A rename is not followed: what came before it
    is the history of another path. A journal that is not there yet is made;
    importing again goes on where it stopped.
    """
    from projections.document.git import Order, read_git

    if order not in get_args(Order):
        raise UsageError(f"--order is {order!r}; it is first-parent or topo", key="order")
    source = read_git(repo, path, revision=revision, order=cast("Order", order))
    _import(source, folder, strict=strict, as_json=as_json)


def file(
    path: Annotated[str, typer.Argument(metavar="FILE", show_default=False)],
    folder: Folder = None,
    number: Annotated[
        str, typer.Option("--n", metavar="N", help="Which version of its history this is.")
    ] = "1",
    strict: _Strict = False,
    as_json: AsJson = False,
) -> None:
    """Import a file as it is now, with its time of change.

    JSON, JSONL and YAML are read by the name's suffix. A journal that is not there yet is made.
    """
    from projections.document.file import read_file

    source = read_file(path, n=read_count(number, "--n"))
    _import(source, folder, strict=strict, as_json=as_json)


def _import(source: Any, folder: str | None, *, strict: bool, as_json: bool) -> None:
    from projections.document.importing import import_versions

    path = _find(folder)
    with Bar("importing") as bar:
        if (path / config.FILE_NAME).exists():
            with opening.open_path(path) as engine:
                report = import_versions(engine, source, strict=strict, progress=bar)
        else:
            report = import_versions(path, source, strict=strict, progress=bar)
    if as_json:
        output.put_report(report)
    else:
        _put_report(path, report)
    if not report.ok:
        raise typer.Exit(JournalError.exit_code)


def _find(folder: str | None) -> Path:
    """Return the folder that is meant; raises `JournalError` with how an import begins."""
    try:
        return finding.find(folder)
    except UsageError:
        raise
    except JournalError as error:
        raise JournalError(
            error.message,
            advice="Name a folder with --dir: the import makes the journal in it, and history "
            "begins with the first version. (One made by `init` begins today, and takes no "
            "earlier times.)",
        ) from error


def _put_report(path: Path, report: "ImportReport") -> None:
    for problem in report.problems[:_SAID]:
        output.say_error(f"left out: {problem}")
    for note in report.notes[:_SAID]:
        output.say(str(note))
    more = max(report.problem_count - _SAID, 0) + max(report.note_count - _SAID, 0)
    if more:
        output.say(f"and {more} more; --json lists up to a thousand of each kind")
    at = f", now at event {report.seq}" if report.seq else ""
    output.put(output.plain(f"{path}: {report.summary()}{at}"))


# --- out -----------------------------------------------------------------------------------------


def export(
    *,
    what: Annotated[
        str, typer.Argument(metavar="events|versions", help="The log, or the document's past.")
    ] = "events",
    folder: Folder = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="jsonl|csv|parquet|cloudevents",
            help="How events are written; else as .csv or .parquet of FILE says, else jsonl.",
            show_default=False,
        ),
    ] = "",
    target: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write there: whole, or not at all.",
            show_default=False,
        ),
    ] = "",
    after: Annotated[
        str, typer.Option(metavar="SEQ", help="Events after this one.", show_default=False)
    ] = "",
    upto: Annotated[
        str, typer.Option(metavar="SEQ", help="Up to and with this one.", show_default=False)
    ] = "",
) -> None:
    """Print the events, or the versions of the document.

    Events are printed as they stand in the log, or as CSV, Parquet (it needs the package pyarrow)
    or CloudEvents; versions as JSON, one a line. What `export versions` prints, `journal import
    versions` takes in again. Of a damaged log every good event is printed, and the exit code is 5;
    a FILE is then not written.
    """
    form = form or _SUFFIXES.get(Path(target).suffix.lower(), "jsonl")
    write = _find_writer(what, form)
    if what == "versions" and after:
        raise UsageError("versions begin with the first one: no --after", key="after")
    if form == "parquet" and not target and sys.stdout.isatty():
        raise UsageError("Parquet is not for a terminal", advice="Give --output FILE, or a pipe.")
    stretch = {"upto": read_seq(upto) if upto else None}
    if what == "events":
        stretch["after"] = read_seq(after or "0")
    with contextlib.ExitStack() as opened:
        engine = opened.enter_context(opening.for_reading(folder))
        out: Any = _open(target, opened) if target else output.Results()
        write(engine, out, **stretch)


def _open(target: str, opened: contextlib.ExitStack) -> BinaryIO:
    return opened.enter_context(open_target(target))


def _find_writer(what: str, form: str) -> Any:
    """Return the function that writes what is asked for; raises `UsageError`."""
    if what not in ("events", "versions"):
        raise UsageError(f"{what!r} is exported nowhere; it is events or versions", key="what")
    if form not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise UsageError(f"--format is {form!r}; it is one of {known}", key="format")
    if what == "versions" and form != "jsonl":
        raise UsageError("versions are exported as jsonl only", key="format")
    module, name = ("", "write_versions") if what == "versions" else _FORMATS[form]
    return getattr(importlib.import_module(module or "projections.document.exporting"), name)
