"""`journal audit`: an account of a journal, to be read and handed on.

I1  It reads the log once, and once more for `--verify`; it answers for a damaged journal, too, and
    says so by exit code 5.
I2  What is written is what the name of the file promises: a suffix that promises something else is
    refused before anything is read, unless an option names the format.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from journal.cli import opening, output, parsing
from journal.cli.anchoring import Anchors, AnchorsFile, read_anchors
from journal.cli.options import AsJson, Folder
from journal.cli.progress import Bar
from journal.cli.targets import open_target, refuse_own
from journal.errors import Corrupt, UsageError

if TYPE_CHECKING:
    from journal.engine.audit.report import Audit
    from journal.engine.reports import Verified

_FORMATS = ("markdown", "html")
_SUFFIXES = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "markdown",
    "": "markdown",
}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    parsing.add(
        app,
        "audit",
        audit,
        "journal audit",
        "journal audit --output audit.html --verify",
        "journal audit --anchors notes/heads.txt --json",
    )


def audit(
    *,
    folder: Folder = None,
    target: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write it there: .html and .htm is HTML; .md, .markdown, .txt and no suffix is "
            "Markdown.",
            show_default=False,
        ),
    ] = "",
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="markdown|html",
            help="Whatever the name of FILE says; without both it is Markdown.",
            show_default=False,
        ),
    ] = "",
    verify: Annotated[
        bool, typer.Option("--verify", help="Verify all of it, and say so in the account.")
    ] = False,
    anchors: Anchors = None,
    anchors_file: AnchorsFile = "",
    as_json: AsJson = False,
) -> None:
    """Give an account of the journal: who did what and when.

    Events by type and actor, gaps in time, what happened to the journal itself (recoveries,
    repairs, adopted edits, forks, deleted checkpoints) and the heads that can be noted. As HTML it
    is one file with pictures that needs nothing else. With --verify, or anchors, everything is
    checked as `journal verify` does. The exit code is 5 where there are problems.
    """
    if target:
        refuse_own(target)
    form = _choose(form, target, as_json=as_json)
    pairs = read_anchors(anchors, anchors_file)
    with opening.for_reporting(folder) as engine:
        with Bar("reading") as bar:
            account = engine.audit(bar)
        verified = None
        if verify or pairs:
            with Bar("verifying") as bar:
                verified = engine.verify(pairs, bar)
    if as_json:
        data = _to_json(account, verified)
    else:
        from journal.engine.audit import markdown, page

        render = page.render if form == "html" else markdown.render
        data = render(account, verified, pairs).encode("utf-8", "replace")
    _put(data, target)
    if account.problems or (verified is not None and not verified.ok):
        raise typer.Exit(Corrupt.exit_code)


def _choose(form: str, target: str, *, as_json: bool) -> str:
    """Return how the account is written (I2); raises `UsageError`."""
    if form and form not in _FORMATS:
        raise UsageError(f"--format is {form!r}; it is one of {', '.join(_FORMATS)}", key="format")
    if form and as_json:
        raise UsageError(f"--json goes with no --format, and this one is {form}", key="format")
    if form or as_json:
        return form
    suffix = Path(target).suffix
    if suffix.lower() in _SUFFIXES:
        return _SUFFIXES[suffix.lower()]
    json = " --json writes JSON." if suffix.lower() in (".json", ".jsonl") else ""
    raise UsageError(
        f"--output {target}: a report is not written as {suffix}",
        key="output",
        advice="Name it .html or .htm for HTML, .md, .markdown or .txt for Markdown, or give "
        f"--format {'|'.join(_FORMATS)}.{json} Nothing was written.",
    )


def _put(data: bytes, target: str) -> None:
    if target:
        with open_target(target) as file:
            file.write(data)
        output.say(f"written: {target}")
    else:
        output.put_bytes(data)


def _to_json(account: "Audit", verified: "Verified | None") -> bytes:
    """Return the account as one line of JSON; `verified` is null where it was not asked for."""
    import orjson

    plain: dict[str, Any] = msgspec.to_builtins(account)
    plain["verified"] = None if verified is None else msgspec.to_builtins(verified)
    return orjson.dumps(plain) + b"\n"
