"""What the command line prints: results on stdout, words on stderr.

I1  stdout carries results only, as UTF-8 with LF whatever the locale; words about them, engine
    messages and errors go to stderr as `journal: …`.
I2  Whatever comes from a file is printed without control characters, so that no data steers a
    terminal. JSON escapes them itself.
I3  Colour only on a terminal that wants it: not with NO_COLOR, not with TERM=dumb, not in a pipe.

It decides nothing about what is said.
"""

import errno
import os
import sys
from typing import IO, Any

import msgspec
import orjson

from journal import codec, plural
from journal.event import Event

_RESET = "\x1b[0m"
_STYLES = {
    "bad": "\x1b[1;31m",
    "good": "\x1b[32m",
    "changed": "\x1b[33m",
    "name": "\x1b[36m",
    "dim": "\x1b[2m",
}


# --- results -------------------------------------------------------------------------------------


def open_streams() -> bool:
    """Make up for a stderr that was closed; say so and return False if stdout was.

    The next file that is opened would get the number of the closed one, and with it whatever is
    printed: so nothing is opened then.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - to the end
    if sys.stdout is None:
        say_error("standard output is closed\nNothing was done; send it to /dev/null instead.")
        return False
    return True


def put(text: str) -> None:
    """Print one line of a result for people."""
    put_bytes(text.encode("utf-8", "surrogateescape") + b"\n")


def put_json(value: Any) -> None:
    """Print a JSON value on one line; its shape never changes with its size."""
    put_bytes(orjson.dumps(value) + b"\n")


def put_report(report: Any) -> None:
    """Print a report of the engine, or a list of them, as JSON on one line."""
    put_json(msgspec.to_builtins(report))


def put_event(event: Event) -> None:
    """Print an event as its line stands in the log."""
    put_bytes(stored_line(event))


def put_bytes(data: bytes) -> None:
    """Print bytes as they are; raises `OSError` that names stdout, `BrokenPipeError` as it is."""
    try:
        sys.stdout.buffer.write(data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _named(error) from error


class Results:
    """Standard output as something that is written to, for engine code that wants one."""

    def write(self, data: bytes) -> int:
        """Print bytes as they are; raises as `put_bytes`."""
        put_bytes(data)
        return len(data)


def flush() -> None:
    """Let everything printed so far reach whoever reads it; raises as `put_bytes`."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _named(error) from error


def _named(error: OSError) -> OSError:
    return OSError(error.errno or errno.EIO, error.strerror or str(error), "standard output")


def give_up_stdout() -> None:
    """Let what could not be printed vanish, so that the interpreter's own flush is quiet too."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):  # not a file: a test's
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def stored_line(event: Event) -> bytes:
    """Return the line of an event as it stands in the log, with its LF."""
    body = codec.encode_body(event, orjson.dumps(event.data))
    return body + codec.crc_suffix(int(event.crc, 16))


# --- words ---------------------------------------------------------------------------------------


def say(text: str) -> None:
    """Print words on stderr, the first line after `journal: `."""
    _write_words(text, paint("journal:", "dim", sys.stderr))


def say_error(text: str) -> None:
    """Print an error on stderr: `journal: ` and the message, then what to do next."""
    _write_words(text, paint("journal:", "bad", sys.stderr))


def _write_words(text: str, start: str) -> None:
    lines = [plain(line) for line in text.split("\n")]
    words = "\n".join([f"{start} {lines[0]}", *lines[1:]]) + "\n"
    try:
        sys.stderr.write(words)
        sys.stderr.flush()
    except BrokenPipeError:
        pass  # nobody listens to the words; the result and the exit code still count


def plain(text: str) -> str:
    """Return a text with everything that is no printable character written as an escape (I2)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shorten(value: Any, columns: int) -> str:
    """Return a JSON value on one line, cut to about so many columns, but not to nothing."""
    text = orjson.dumps(value).decode()
    columns = max(columns, 20)
    return plain(text if len(text) <= columns else text[: columns - 1] + "…")


count = plural.count


def size(size_bytes: int) -> str:
    """Return a size for people, in powers of a thousand."""
    if size_bytes < 1000:
        return count(size_bytes, "byte")
    amount = float(size_bytes)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 1000:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} TB"


# --- terminals -----------------------------------------------------------------------------------


def paint(text: str, style: str, stream: IO[str]) -> str:
    """Return `text` in a style of this file where `stream` takes colour (I3)."""
    return f"{_STYLES[style]}{text}{_RESET}" if takes_colour(stream) else text


def takes_colour(stream: IO[str]) -> bool:
    """Say whether a stream takes colour (I3)."""
    return not os.environ.get("NO_COLOR") and is_terminal(stream)


def is_terminal(stream: IO[str]) -> bool:
    """Say whether a stream is a terminal that can do more than print."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"
