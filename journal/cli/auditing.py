"""`journal audit`: an account of a journal, to be read and handed on.

I1  It reads the log once, and once more for `--verify`; it answers for a damaged journal, too, and
    says so by exit code 5.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from journal.cli import opening, output, parsing
from journal.cli.anchoring import Anchors, AnchorsFile, read_anchors
from journal.cli.options import AsJson, Folder
from journal.cli.progress import Bar
from journal.cli.targets import open_target
from journal.errors import Corrupt, UsageError

if TYPE_CHECKING:
    from journal.engine.audit.report import Audit
    from journal.engine.reports import Verified

_FORMATS = ("markdown", "html")
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown"}


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
        typer.Option("--output", "-o", metavar="FILE", help="Write it there.", show_default=False),
    ] = "",
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="markdown|html",
            help="Else as the name of FILE says, else markdown.",
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
    form = form or _SUFFIXES.get(Path(target).suffix.lower(), "markdown")
    if form not in _FORMATS:
        raise UsageError(f"--format is {form!r}; it is one of {', '.join(_FORMATS)}", key="format")
    pairs = read_anchors(anchors, anchors_file)
    with opening.for_reporting(folder) as engine:
        with Bar("reading") as bar:
            account = engine.audit(bar)
        verified = None
        if verify or pairs:
            with Bar("verifying") as bar:
                verified = engine.verify(pairs, bar)
    _put(account, verified, form=form, target=target, as_json=as_json)
    if account.problems or (verified is not None and not verified.ok):
        raise typer.Exit(Corrupt.exit_code)


def _put(
    account: "Audit", verified: "Verified | None", *, form: str, target: str, as_json: bool
) -> None:
    if as_json:
        data = _to_json(account, verified)
    else:
        from journal.engine.audit import markdown, page

        render = page.render if form == "html" else markdown.render
        data = render(account, verified).encode("utf-8", "replace")
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
