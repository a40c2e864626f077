"""Group N: size, speed, growth; counted in bytes, calls and files, not in time."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import orjson
import pytest

import journal
from journal.engine import Engine
from tests.cases.made import ROOT, Made
from tests.cli.command import run
from tests.faults.faultpoint import FaultPoint

PAD = "x" * 60


def fill(engine: Engine, events: int) -> None:
    """Append so many events in batches; the state has a hundred members."""
    for start in range(0, events, 1000):
        engine.append_batch(
            ("set", {"path": f"/k{n % 100}", "value": [n, PAD]})
            for n in range(start, min(start + 1000, events))
        )


def make_long(path: Path, events: int) -> Made:
    with journal.init(path, durability="os", views_every_ms=60_000) as engine:
        fill(engine, events)
    return Made(path)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_long(tmp_path_factory.mktemp("n") / "run", 40_000)


@contextmanager
def read_bytes() -> Iterator[Counter[str]]:
    """Count the bytes that are read from files, by folder."""
    found = Counter[str]()
    real = os.pread

    def pread(fd: int, size: int, offset: int) -> bytes:
        data: bytes = real(fd, size, offset)
        name = Path(os.readlink(f"/proc/self/fd/{fd}"))
        found[name.parent.name if name.parent.name in {"log", "snapshots"} else name.name] += len(
            data
        )
        return data

    with mock.patch.object(os, "pread", pread):
        yield found


# --- N01: a long history -------------------------------------------------------------------------


def test_n01_opening_reads_a_snapshot_or_view_and_the_rest_alone(long: Made) -> None:
    size = long.log.stat().st_size
    assert size > 6_000_000
    with read_bytes() as found, long.read() as engine:
        assert engine.state["k99"] == [39_999, PAD]
    assert 0 < found["log"] < 600_000


def test_n01_listing_the_end_reads_the_end_alone(long: Made) -> None:
    with read_bytes() as found:
        said = run("log", "-n", "5", "-d", str(long.path), "--json")
    assert [line["data"]["value"][0] for line in said.lines] == list(range(39_995, 40_000))
    assert 0 < found["log"] < 600_000


def test_n01_the_state_at_a_seq_reads_from_the_snapshot_before_it(long: Made) -> None:
    with long.read() as engine, read_bytes() as found:
        assert engine.state_at(20_000)["k98"] == [19_998, PAD]
    assert 0 < found["log"] < 1_200_000


PEAK = """
import resource, sys
import journal

with journal.open(sys.argv[1], read_only=True) as engine:
    engine.state
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    engine.replay()
    for _ in engine.events(): pass
    assert engine.verify().ok
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_n01_the_memory_of_a_replay_does_not_grow_with_the_history(
    tmp_path: Path, long: Made
) -> None:
    grown = []
    for made in (make_long(tmp_path / "short", 10_000), long):
        done = subprocess.run(
            [sys.executable, "-c", PEAK, str(made.path)], cwd=ROOT, capture_output=True, check=True
        )
        grown.append(int(done.stdout) * 1024)
    assert grown[1] < grown[0] + 8_000_000
    assert max(grown) < 80_000_000


def test_n01_too_little_memory_is_said_as_that(long: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: object) -> Any:
        raise MemoryError

    monkeypatch.setattr(os, "pread", no_memory)
    said = run("state", "-d", str(long.path))
    assert (said.code, said.out) == (1, "")
    assert "there is not enough memory" in said.err


# --- N02: a projection that only grows -----------------------------------------------------------


def test_n02_an_append_writes_no_more_for_a_large_state_when_views_are_coalesced(
    tmp_path: Path,
) -> None:
    written = []
    for number, size in enumerate((1000, 2_000_000)):
        path = tmp_path / str(number)
        with journal.init(path, views_every_ms=60_000) as engine:
            engine.append("set", {"path": "", "value": {"big": "x" * size, "n": 0}})
            engine.flush()
            before = total(path)
            for n in range(20):
                engine.append("set", {"path": "/n", "value": n})
            written.append(total(path) - before)
        status = run("status", "-d", str(path), "--json").json
        assert size < status["state_bytes"] < size + 100
    assert abs(written[0] - written[1]) < 200


def total(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


# --- N04: append gets slower with length ---------------------------------------------------------


def test_n04_opening_and_appending_costs_the_same_after_a_longer_history(
    tmp_path: Path, long: Made
) -> None:
    calls, read = [], []
    for made in (make_long(tmp_path / "short", 12_000), long):
        with (
            FaultPoint(made.path) as point,
            read_bytes() as found,
            journal.open(made.path) as engine,
        ):
            engine.append("set", {"path": "/k0", "value": 1})
        calls.append(Counter(call.name for call in point.calls))
        read.append(found["log"])
    assert max(read) < 300_000
    assert abs(sum(calls[0].values()) - sum(calls[1].values())) < 12


# --- N05: one fsync an event ---------------------------------------------------------------------


@pytest.mark.parametrize("events", [20, 1000])
def test_n05_a_batch_is_one_write_and_one_sync_and_all_or_nothing(
    tmp_path: Path, events: int
) -> None:
    made = Made(tmp_path / "run")
    with journal.init(made.path, views_every_ms=60_000) as engine:
        engine.append("set", {"path": "/n", "value": 0})
        engine.flush()
        before = made.log.stat().st_size
        with FaultPoint(made.path) as point:
            engine.append_batch(("set", {"path": "/n", "value": n}) for n in range(events))
        log = Counter(c.name for c in point.calls if c.path.startswith("log/"))
    assert log["write"] + log["pwrite"] == 1
    assert log["fdatasync"] + log["fsync"] == 1
    whole = made.log.read_bytes()
    for cut in (before + 1, (before + len(whole)) // 2, len(whole) - 1):
        made.log.write_bytes(whole[:cut])
        made.forget()
        for name in ("state.json", "snapshots"):
            path = made.path / name
            for file in path.glob("*") if path.is_dir() else [path]:
                file.unlink(missing_ok=True)
        with journal.open(made.path) as engine:
            assert engine.state == {"n": 0}
        made.log.write_bytes(whole)


# --- N07: a hidden window ------------------------------------------------------------------------


@pytest.mark.slow
def test_n07_counts_and_lists_have_no_cap(long: Made) -> None:
    there = str(long.path)
    with long.read() as engine:
        last = engine.seq
        assert engine.verify().events == last
    assert last >= 40_001
    assert run("log", "-d", there, "--json").out.count("\n") == last
    assert run("export", "-d", there).out.count("\n") == last
    assert run("status", "-d", there, "--json").json["seq"] == last
    audit = orjson.loads(run("audit", "-d", there, "--json").out)
    assert audit["events"] == last


# --- N08: thousands of files ---------------------------------------------------------------------


@pytest.mark.slow
def test_n08_ten_thousand_events_are_a_few_files(tmp_path: Path) -> None:
    with journal.init(tmp_path / "run", durability="os") as engine:
        for n in range(10_000):
            engine.append("set", {"path": f"/k{n % 20}", "value": [n, PAD]})
    found = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(found) < 50
