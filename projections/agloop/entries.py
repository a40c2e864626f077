"""Reading `log.json` as its users do: line by line, what is no entry passed over."""

import os
from pathlib import Path
from typing import Any

import orjson

from journal import regular
from projections.agloop.shape import is_object

Entry = dict[str, Any]


def read(path: Path) -> list[Entry]:
    """Return the entries of a log, oldest first; none where there is no file."""
    return read_all(path)[0]


def read_all(path: Path) -> tuple[list[Entry], int]:
    """Return the entries of a log, as `read` does, and how many lines are none."""
    try:
        data = regular.read_file(os.path.realpath(path))
    except FileNotFoundError:
        return [], 0
    found: list[Entry] = []
    passed_over = 0
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            value = orjson.loads(line)
        except (ValueError, RecursionError):
            value = None
        if is_object(value):
            found.append(value)
        else:
            passed_over += 1
    return found, passed_over


def select(
    found: list[Entry], *, newest: int | None = None, agent: str = "", action: str = ""
) -> list[Entry]:
    """Return the entries of an agent, of an action, and of these only the newest so many."""
    chosen = [
        entry
        for entry in found
        if (not agent or entry.get("agent") == agent)
        and (not action or entry.get("action") == action)
    ]
    return chosen if newest is None else chosen[max(0, len(chosen) - newest) :]
