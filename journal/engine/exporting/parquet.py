"""Parquet: the columns of an event, typed and compressed, for tools that read columns.

    seq int64, time timestamp[ms, UTC], type, actor, id string, cause int64, data string (JSON)

I1  pyarrow is an extra (`parquet`), and is loaded when it is asked for.
I2  A file is whole however it ends: where damage cuts the events short, it has those before.
"""

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from journal.engine.exporting.columns import NAMES, Row, row_of
from journal.errors import JournalError
from journal.event import time_to_ms

if TYPE_CHECKING:
    from journal.engine.engine import Engine

_GROUP_ROWS = 65_536
_GROUP_BYTES = 64 << 20


def write(engine: "Engine", out: BinaryIO, *, after: int = 0, upto: int | None = None) -> int:
    """Write the events after `after` up to and with `upto` as Parquet; return how many.

    Raises `JournalError` where pyarrow is not installed, `Corrupt` at the end, after all good
    events, where some are damaged.
    """
    arrow, parquet = _load()
    text, number = arrow.string(), arrow.int64()
    names = arrow.dictionary(arrow.int32(), text)
    types = [number, arrow.timestamp("ms", tz="UTC"), names, names, text, number, text]
    schema = arrow.schema(
        [
            arrow.field(name, kind, nullable=name in ("actor", "id", "cause"))
            for name, kind in zip(NAMES, types, strict=True)
        ],
        metadata={"journal.id": engine.id, "journal.projection": engine.config.projection},
    )
    count = 0
    with parquet.ParquetWriter(_Sink(out), schema, compression="zstd") as writer:
        for rows in _groups(map(row_of, engine.events(after, upto))):
            columns = list(zip(*rows, strict=True))
            columns[1] = tuple(map(time_to_ms, columns[1]))
            arrays = [
                arrow.array(column, kind) for column, kind in zip(columns, types, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
            count += len(rows)
    return count


def _load() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise JournalError(
            "Parquet needs the package pyarrow, which is not installed",
            advice="Install it: python -m pip install 'journal-engine[parquet]'.",
        ) from error


def _groups(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Yield the rows in groups of bounded number and size; a last one before damage, too (I2)."""
    group: list[Row] = []
    size = 0
    try:
        for row in rows:
            group.append(row)
            size += len(row.data)
            if len(group) == _GROUP_ROWS or size > _GROUP_BYTES:
                yield group
                group, size = [], 0
    except JournalError:
        if group:
            yield group
        raise
    if group:
        yield group


class _Sink:
    """What pyarrow writes to: `out`, which may be a pipe, and so cannot tell where it is."""

    closed = False
    mode = "wb"

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._at = 0

    def write(self, data: Any) -> int:
        """Write bytes."""
        plain = bytes(data)
        self._out.write(plain)
        self._at += len(plain)
        return len(plain)

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._at

    def flush(self) -> None:
        """Do nothing: who gave `out` flushes it."""

    def close(self) -> None:
        """Do nothing: who gave `out` closes it."""

    def readable(self) -> bool:
        """Return False."""
        return False

    def writable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return False."""
        return False
