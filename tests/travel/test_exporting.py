"""Events for other tools: what csv, pyarrow and json read back is what the journal has."""

import csv
import importlib
import io
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

import journal
from journal.engine.exporting import cloudevents, columns, csv_rows, parquet
from journal.errors import Corrupt, JournalError
from journal.event import Draft

ODD = 'a "b", c\nd\r\ne;=1+1\t\u00e9\u2028😀'
VALUES: list[Any] = [1, 1.0, -0.0, 2**63, -(2**63), 0.1, None, True, "", ODD, [], {}, {ODD: [ODD]}]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[journal.Engine]:
    """A journal with every kind of value, actor and id."""
    with journal.init(tmp_path / "run", durability="os") as made:
        for number, value in enumerate(VALUES):
            data = {"path": "/v", "value": value}
            made.append("set", data, actor=ODD if number % 2 else "", id=f"k {number}\n")
        made.append_batch(
            [Draft(type="remove", data={"path": "/v"}, cause=3), ("merge", {"patch": {}})]
        )
        yield made


def damage(engine: journal.Engine, seq: int) -> None:
    log = next((engine.path / "log").glob("*.jsonl"))
    lines = log.read_bytes().splitlines(keepends=True)
    lines[seq - 1] = lines[seq - 1].replace(b'"value"', b'"valeu"')
    log.write_bytes(b"".join(lines))


def test_csv_reads_back(engine: journal.Engine) -> None:
    out = io.BytesIO()
    assert csv_rows.write(engine, out) == engine.seq
    rows = list(csv.DictReader(io.StringIO(out.getvalue().decode(), newline="")))
    events = list(engine.events())
    assert len(rows) == len(events)
    for row, event in zip(rows, events, strict=True):
        assert tuple(row) == columns.NAMES
        assert int(row["seq"]) == event.seq
        assert (row["time"], row["type"]) == (event.time, event.type)
        assert (row["actor"], row["id"]) == (event.actor, event.id)
        assert int(row["cause"] or 0) == event.cause
        assert orjson.dumps(orjson.loads(row["data"])) == orjson.dumps(event.data)


def test_parquet_reads_back(engine: journal.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    arrow = importlib.import_module("pyarrow.parquet")
    monkeypatch.setattr(parquet, "_GROUP_ROWS", 4)
    out = io.BytesIO()
    assert parquet.write(engine, out) == engine.seq
    file = arrow.ParquetFile(io.BytesIO(out.getvalue()))
    assert file.num_row_groups > 3
    table = file.read()
    assert table.schema.metadata[b"journal.id"] == engine.id.encode()
    rows = table.to_pylist()
    events = list(engine.events())
    for row, event in zip(rows, events, strict=True):
        assert row["seq"] == event.seq
        assert row["time"] == datetime.fromisoformat(event.time).astimezone(UTC)
        assert (row["type"], row["actor"] or "") == (event.type, event.actor)
        assert (row["id"] or "", row["cause"] or 0) == (event.id, event.cause)
        assert orjson.dumps(orjson.loads(row["data"])) == orjson.dumps(event.data)


def test_cloud_events_read_back(engine: journal.Engine) -> None:
    out = io.BytesIO()
    assert cloudevents.write(engine, out) == engine.seq
    found = [json.loads(line) for line in out.getvalue().splitlines()]
    for one, event in zip(found, engine.events(), strict=True):
        assert one["specversion"] == "1.0"
        assert (one["source"], one["id"]) == (f"urn:journal:{engine.id}", str(event.seq))
        assert (one["type"], one["time"]) == (event.type, event.time)
        assert one["datacontenttype"] == "application/json"
        assert one.get("actor", "") == event.actor
        assert one.get("idempotencykey", "") == event.id
        assert int(one.get("causationid", 0)) == event.cause
        assert orjson.dumps(one["data"]) == orjson.dumps(event.data)
        # Names of attributes are letters and digits in lower case, at most twenty.
        assert all(name.isascii() and name.isalnum() and name.islower() for name in one)
        assert all(len(name) <= 20 for name in one)
    assert [one["sequence"] for one in found] == sorted({one["sequence"] for one in found})
    assert len({(one["source"], one["id"]) for one in found}) == len(found)


WRITERS = pytest.mark.parametrize("writer", [csv_rows, parquet, cloudevents])


def seqs(writer: Any, data: bytes) -> list[int]:
    """The seqs in what a writer wrote."""
    if writer is csv_rows:
        return [int(row["seq"]) for row in csv.DictReader(io.StringIO(data.decode(), newline=""))]
    if writer is cloudevents:
        return [int(json.loads(line)["id"]) for line in data.splitlines()]
    table = importlib.import_module("pyarrow.parquet").read_table(io.BytesIO(data))
    return [int(seq) for seq in table["seq"].to_pylist()]


@WRITERS
def test_a_stretch_is_what_was_asked_for(engine: journal.Engine, writer: Any) -> None:
    for after, upto in ((0, None), (3, 7), (7, 7), (99, None)):
        out = io.BytesIO()
        last = engine.seq if upto is None else upto
        expected = list(range(after + 1, last + 1))
        assert writer.write(engine, out, after=after, upto=upto) == len(expected)
        assert seqs(writer, out.getvalue()) == expected


@WRITERS
def test_of_a_damaged_journal_every_good_event_is_written_and_the_damage_told(
    engine: journal.Engine, writer: Any
) -> None:
    damage(engine, 5)
    out = io.BytesIO()
    with journal.open(engine.path, read_only=True) as reader, pytest.raises(Corrupt):
        writer.write(reader, out)
    assert seqs(writer, out.getvalue()) == [seq for seq in range(1, engine.seq + 1) if seq != 5]


def test_parquet_without_the_package_says_how_to_get_it(
    engine: journal.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(JournalError, match=r"journal-engine\[parquet\]"):
        parquet.write(engine, io.BytesIO())
