"""Anchors: heads of history that were noted earlier, given one by one or in a file.

120:4e0748…                                     as `journal head` prints it, a line each
{"seq":120,"sha256":"4e0748…"}                  as `journal head --json` does
# a line that says something, or nothing        is passed over
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer

from journal.cli import given
from journal.errors import UsageError

Anchors = Annotated[
    list[str] | None,
    typer.Option("--anchor", metavar="SEQ:SHA256", help="A head noted earlier (repeatable)."),
]
AnchorsFile = Annotated[
    str,
    typer.Option(
        "--anchors",
        metavar="FILE",
        help="A file of such heads, one a line; - is stdin.",
        show_default=False,
    ),
]


class _Head(msgspec.Struct):
    seq: int
    sha256: str


def read_anchors(noted: Sequence[str] | None, path: str) -> list[tuple[int, str]]:
    """Return all anchors as (seq, sha256); raises `UsageError` with the line that is none."""
    from journal.engine.verifying.chain import read_anchor

    found = [read_anchor(text) for text in noted or ()]
    if not path:
        return found
    before = len(found)
    raw = given.read_stdin() if path == "-" else given.read_file(path)
    for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            found.append(read_anchor(_from_json(text) if text.startswith("{") else text))
        except UsageError as error:
            raise UsageError(
                f"{path}, line {number}: {error.message}", key=error.key, advice=error.advice
            ) from error
    if len(found) == before:
        raise UsageError(
            f"{path}: there is no anchor in it",
            key="anchors",
            advice="A line is SEQ:SHA256, as `journal head` prints it. Nothing was checked.",
        )
    return found


def _from_json(text: str) -> str:
    try:
        head = msgspec.json.decode(text, type=_Head)
    except msgspec.DecodeError:
        return text
    return f"{head.seq}:{head.sha256}"
