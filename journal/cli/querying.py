"""`--query JQ`: a value looked at through jq, of the extra `jq`, which is loaded when it is asked.

I1  What comes out is what jq gives: none, one or many values, one after another. jq computes with
    doubles: integers beyond 2^53 lose their last digits on the way.
I2  A program may never end, and no Python runs while jq does. So Ctrl-C ends the process itself
    then, as it does any other program: only what reads asks a query, and it holds nothing.
"""

import contextlib
import importlib
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any

import orjson

from journal.cli.jq_reads import members_read
from journal.errors import JournalError, UsageError
from projections.patch import format as format_pointer


def query(program: str, value: Any) -> Iterator[Any]:
    """Yield what the jq `program` makes of a JSON value.

    Raises `UsageError` for a program that is none, or that fails on the value; `JournalError`
    where the package jq is not installed.
    """
    compiled = _compile(program)
    try:
        with stoppable():
            yield from compiled.input_text(orjson.dumps(value).decode())
    except ValueError as error:
        raise _refusal(program, error) from error


def predicate(program: str) -> tuple[Callable[[Any], bool], list[str] | None]:
    """Return a function that says whether the jq `program` is true of a JSON value.

    It is if the last value that it gives is neither false nor null, as with `jq -e`. It is
    compiled once; ask it while `stoppable`. Beside it stand the JSON Pointers of what the program
    reads of an object, None where that may be all. Raises as `query` does.
    """
    compiled = _compile(program)
    names = members_read(program)

    def is_true(value: Any) -> bool:
        if names is not None and isinstance(value, dict):
            value = {name: value[name] for name in names if name in value}
        try:
            found = compiled.input_text(orjson.dumps(value).decode()).all()
        except ValueError as error:
            raise _refusal(program, error) from error
        return bool(found) and found[-1] is not None and found[-1] is not False

    return is_true, None if names is None else [format_pointer([name]) for name in names]


@contextlib.contextmanager
def stoppable() -> Generator[None]:
    """Let Ctrl-C end the process at once, whatever jq is at (I2); exit status 130 in a shell."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _compile(program: str) -> Any:
    try:
        jq: Any = importlib.import_module("jq")
    except ImportError as error:
        raise JournalError(
            "a query needs the package jq, which is not installed",
            advice="Install it: python -m pip install 'journal-engine[jq]'. Without it, pipe the "
            "JSON into the program jq.",
        ) from error
    try:
        return jq.compile(program)
    except ValueError as error:
        raise _refusal(program, error) from error


def _refusal(program: str, error: ValueError) -> UsageError:
    return UsageError(
        f"the query {program!r}: {str(error).strip()}",
        key="query",
        advice="A query is a jq program, such as '.tasks | length'.",
    )
