"""`journal bench`: it measures, it tells, and it leaves the journal alone."""

import os
import re
from pathlib import Path

import pytest

from journal.config import SnapshotsConfig
from journal.engine.benching.policies import Point, place_snapshots
from tests.cli.command import Run


def bytes_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a folder: its bytes, and when it was changed."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
def test_bench_measures_a_journal_and_changes_nothing_in_it_or_beside_it(journal: Run) -> None:
    before, beside = bytes_of(Path("run")), os.listdir()
    found = journal("bench", "--json").json
    assert found["events"] == 4
    assert found["appended"] == 3
    names = {one["name"] for one in found["timed"]}
    assert {"replay", "verify", "rebuild", "cold open", "state at any event"} <= names
    assert [share["name"] for share in found["breakdowns"][0]["shares"]] == [
        *("read", "check (CRC)", "decode", "fold")
    ]
    assert sum(cost["is_own"] for cost in found["policies"]) == 1
    assert bytes_of(Path("run")) == before
    assert os.listdir() == beside


@pytest.mark.slow
def test_bench_makes_a_journal_up_and_leaves_a_page_that_needs_nothing_else(run: Run) -> None:
    ran = run("bench", "--events", "300", "--html", "bench.html")
    assert ran.code == 0
    assert "where the time of a durable append that writes its view goes" in ran.out
    assert os.listdir() == ["bench.html"]
    page = Path("bench.html").read_text()
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|<script|<img|@import", page)


def test_bench_of_a_folder_without_a_journal_says_so(run: Run) -> None:
    ran = run("bench", "nowhere")
    assert ran.code != 0
    assert "there is no such folder" in ran.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["run", "--events", "10"], "it goes with no journal"),
        (["run", "--dir", "run"], "the journal is named twice"),
        (["--events", "1"], "shows nothing"),
        (["--events", "many"], "is not a number"),
        (["--events", "9", "--snapshots", "keep"], "is not a key and a number"),
        (["--events", "9", "--snapshots", "kept=3"], "no setting of snapshots"),
        (["--events", "9", "--snapshots", "keep=0"], "keep 1 or more"),
        (["--events", "9", "--snapshots", "keep=1.5"], "keep is a number, a whole number"),
    ],
)
def test_bench_refuses_what_makes_no_sense(run: Run, args: list[str], words: str) -> None:
    ran = run("bench", *args)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_a_policy_that_was_asked_for_stands_last_and_is_named_by_what_differs(run: Run) -> None:
    given = ["--events", "300", "--snapshots", "min_bytes=100,keep=3"]
    costs = run("bench", *given, "--json").json["policies"]
    assert (costs[-1]["min_bytes"], costs[-1]["keep"], costs[-1]["snapshots"]) == (100, 3, 3)
    assert len(costs) == 6
    assert "4, min_bytes 100 bytes, keep 3 " in run("bench", *given).out


def test_a_policy_with_a_larger_ratio_keeps_fewer_bytes_and_never_more_than_its_share() -> None:
    points = [Point(n * 1000, n * 230_000, 50_000) for n in range(50)]
    sizes = []
    for ratio in (1.0, 2.0, 4.0, 8.0, 16.0):
        config = SnapshotsConfig(log_ratio=ratio)
        sizes.append(sum(size for _, size in place_snapshots(points, config)))
        assert sizes[-1] <= points[-1].log_bytes / ratio + 50_000
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] > 0


def test_a_policy_keeps_no_more_snapshots_than_it_says() -> None:
    points = [Point(n * 1000, n * 230_000, 50_000) for n in range(50)]
    kept = place_snapshots(points, SnapshotsConfig(log_ratio=1.0, keep=7))
    assert len(kept) == 7
    assert [seq for seq, _ in kept] == sorted({seq for seq, _ in kept})
