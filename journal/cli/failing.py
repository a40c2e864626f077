"""How a command fails: one line on stderr, what to do next, and the exit code of the error's class.

    0 done   1 the engine or the system says no   2 the call is wrong   3 Conflict   4 Locked
    5 Corrupt   6 UnsupportedFormat   7 Drift   130 stopped by Ctrl-C   141 nobody reads the output

I1  Nobody sees a traceback, unless JOURNAL_DEBUG asks for it.
I2  The code is read off the error's class; `OSError` is 1, and its path is said.
"""

import os
import stat
import sys
import traceback
from typing import Any

import typer

from journal.cli import output
from journal.cli.parsing import Group
from journal.errors import JournalError

STOPPED = 130
UNREAD = 141


class Commands(Group):
    """The commands; whatever one raises is explained, and becomes its exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; raises `typer.Exit` with the code where it fails."""
        try:
            found = super().invoke(ctx)
            output.flush()
            return found
        except (JournalError, OSError, MemoryError, KeyboardInterrupt) as error:
            raise typer.Exit(explain(error)) from error


def explain(error: BaseException) -> int:
    """Say on stderr what went wrong and return the exit code."""
    if isinstance(error, BrokenPipeError):
        output.give_up_stdout()
        return UNREAD
    _flush_results()
    if os.environ.get("JOURNAL_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, KeyboardInterrupt):
        return STOPPED
    if isinstance(error, JournalError):
        output.say_error(str(error))
        return error.exit_code
    if isinstance(error, OSError):
        output.say_error(say_os_error(error))
    elif isinstance(error, MemoryError):
        output.say_error("there is not enough memory for this\nNothing was changed.")
    else:
        output.say_error(
            f"this is a fault in journal itself: {type(error).__name__}: {error}\n"
            "With JOURNAL_DEBUG=1 it says where; the log is as it was, or has whole events more."
        )
    return JournalError.exit_code


def _flush_results() -> None:
    """Print the results that came before the error, so that they stand before it."""
    try:
        output.flush()
    except OSError:
        output.give_up_stdout()


def say_os_error(error: OSError) -> str:
    """Say what the system refused, and where; of a mode that forbids, whose file it is."""
    names = [
        os.fsdecode(n) for n in (error.filename, error.filename2) if isinstance(n, str | bytes)
    ]
    words = f"{' -> '.join(names)}: " if names else ""
    words += error.strerror or str(error) or type(error).__name__
    if isinstance(error, PermissionError) and names:
        words += _say_owner(names[0])
    return words


def _say_owner(path: str) -> str:
    """Say who owns the file that may not be used, or the folder that hides it."""
    import pwd

    def name(user: int) -> str:
        try:
            return pwd.getpwuid(user).pw_name
        except KeyError:
            return f"user {user}"

    while True:
        try:
            found = os.stat(path, follow_symlinks=False)
            owner = found.st_uid
            if owner == os.geteuid():
                return _say_mode(path, found.st_mode)
            return f" (it belongs to {name(owner)}, you are {name(os.geteuid())})"
        except OSError:
            above = os.path.dirname(path)
            if above in ("", path):
                return ""
            path = above


def _say_mode(path: str, mode: int) -> str:
    """Say the mode of one's own file or folder, and how to use it where the mode forbids it."""
    wanted, letters = (0o700, "rwx") if stat.S_ISDIR(mode) else (0o600, "rw")
    said = f" (it is yours, and its mode is {stat.S_IMODE(mode):o})"
    return (
        said if mode & wanted == wanted else f"{said}\n`chmod u+{letters} {path}` lets you use it."
    )
