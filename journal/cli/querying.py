"""`--query JQ`: a value looked at through jq, of the extra `jq`, which is loaded when it is asked.

I1  What comes out is what jq gives: none, one or many values, one after another. jq computes with
    doubles: integers beyond 2^53 lose their last digits on the way.
"""

import importlib
from collections.abc import Iterator
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
