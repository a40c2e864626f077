"""`--query JQ`: a value looked at through jq, of the extra `jq`, which is loaded when it is asked.

I1  What comes out is what jq gives: none, one or many values, one after another. jq computes with
    doubles: integers beyond 2^53 lose their last digits on the way.
"""

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from journal.errors import JournalError, UsageError


def query(program: str, value: Any) -> Iterator[Any]:
    """Yield what the jq `program` makes of a JSON value.

    Raises `UsageError` for a program that is none, or that fails on the value; `JournalError`
    where the package jq is not installed.
    """
    compiled = _compile(program)
    try:
        yield from compiled.input_text(orjson.dumps(value).decode())
    except ValueError as error:
        raise _refusal(program, error) from error


def predicate(program: str) -> Callable[[Any], bool]:
    """Return a function that says whether the jq `program` is true of a JSON value.

    It is if the last value that it gives is neither false nor null, as with `jq -e`. It is
    compiled once. Raises as `query` does.
    """
    compiled = _compile(program)

    def is_true(value: Any) -> bool:
        try:
            found = compiled.input_text(orjson.dumps(value).decode()).all()
        except ValueError as error:
            raise _refusal(program, error) from error
        return bool(found) and found[-1] is not None and found[-1] is not False

    return is_true


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
