"""One file for each system that is measured; `find` gives it by name.

A system is a class with `fill`, `append`, `batches`, `replay`, `cold_open`, `states_at`; what it
cannot do it does not have. Each works in a folder of its own.
"""

import importlib
from typing import Any

WHERE = {
    "floor": "bench.systems.floor:Floor",
    "least": "bench.systems.least:Least",
    "bare": "bench.systems.bare:Bare",
    "journal": "bench.systems.journal_engine:JournalEngine",
    "document": "bench.systems.document:Document",
    "sqlite": "bench.systems.sqlite:Sqlite",
    "read-modify-write": "bench.systems.read_modify_write:ReadModifyWrite",
    "eventsourcing": "bench.systems.eventsourcing_library:EventSourcing",
    "langgraph": "bench.systems.langgraph_checkpoints:LangGraph",
    "redis": "bench.systems.redis_server:Redis",
}


class Missing(Exception):
    """The system is not installed, or its server is not here."""


def find(name: str) -> Any:
    """Return the class of a system; raises `Missing` with the reason."""
    module, _, attribute = WHERE[name].partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise Missing(f"{error.name or error} is not installed") from error
