"""What the commands' options have in common, and how a place in history is written."""

from typing import Annotated

import typer

from journal.errors import UsageError

Folder = Annotated[
    str | None,
    typer.Option(
        "--dir",
        "-d",
        metavar="DIR",
        help="The journal's folder; else JOURNAL_DIR, else the nearest one from here upwards.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, always of the same shape.")]

LockTimeout = Annotated[
    str, typer.Option(metavar="SECONDS", help="How long to wait for another writer.")
]
LOCK_TIMEOUT = "10"

_LONGEST_SEQ = 19
_LONGEST_WAIT_S = 1e6


def read_place(text: str) -> int | str:
    """Return the seq that `text` names, if it is only digits, else `text` for `Engine.seq_of`."""
    return read_seq(text) if is_seq(text) else text


def is_seq(text: str) -> bool:
    """Say whether a text is digits only."""
    return text.isascii() and text.isdecimal()


def read_seq(text: str) -> int:
    """Return the seq that a text of digits names; raises `UsageError` for anything else."""
    if not is_seq(text):
        raise UsageError(f"{text!r} is not a seq", advice="A seq is digits only; 0 is before all.")
    if len(text.lstrip("0")) > _LONGEST_SEQ:
        raise UsageError(f"there is no event {text[:40]}")
    return int(text)


def read_count(text: str, what: str) -> int:
    """Return the number that a text of digits names; raises `UsageError` for anything else."""
    if not is_seq(text) or len(text) > _LONGEST_SEQ:
        raise UsageError(f"{what}: {text[:40]!r} is not a number from 0 on", key=what)
    return int(text)


def read_seconds(text: str) -> float:
    """Return a number of seconds from 0 on; raises `UsageError` for anything else."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _LONGEST_WAIT_S:
        raise UsageError(f"--lock-timeout: {text[:40]!r} is not a number of seconds")
    return seconds
