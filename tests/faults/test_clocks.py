"""A sample of row 13, and that its shim says what it is told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import journal
from journal.errors import Drift
from tests.faults import aging, clocked, shimmed
from tests.faults.row import Violation
from tests.faults.tree import memory_folder


@pytest.fixture(name="library", scope="module")
def _library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = shimmed.build(tmp_path_factory.mktemp("shim")) if sys.platform == "linux" else None
    if library is None:
        pytest.skip("there is no C compiler")
    return library


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clock", "said"),
    [
        ("=0", "0 1970-01-01"),
        ("=-1500", "-1500000000 1969-12-31"),
        ("=4294967296000", "4294967296000000000 2106-02-07"),
    ],
)
def test_process_sees_the_clock_that_it_is_told(library: Path, clock: str, said: str) -> None:
    program = "import time, datetime; print(time.time_ns(), datetime.date.today())"
    env = {**os.environ, "LD_PRELOAD": str(library), "CLOCK": clock, "TZ": "UTC"}
    ran = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, check=True)
    assert ran.stdout.decode().strip() == said


@pytest.mark.slow
def test_processes_whose_clock_jumps_keep_seqs_times_and_state(library: Path) -> None:
    with memory_folder() as folder:
        clocks = (clocked.NOW, clocked.BACK, clocked.ON)
        assert clocked.live(folder / "life", library, "jumping", clocks, 1) > 60


@pytest.mark.slow
@pytest.mark.parametrize("name", aging.MOMENTS_S)
def test_times_of_files_say_nothing(tmp_path: Path, name: str) -> None:
    aging.age(tmp_path / "run", name, aging.MOMENTS_S[name])


def test_view_that_was_changed_is_drift_though_its_time_was_put_back(tmp_path: Path) -> None:
    with journal.init(tmp_path / "run") as engine:
        engine.append("set", {"path": "/k", "value": 1})
    view = tmp_path / "run/state.json"
    before = view.stat()
    with open(view, "r+b") as file:
        file.write(view.read_bytes().replace(b"1", b"7"))
    os.utime(view, ns=(before.st_atime_ns, before.st_mtime_ns))
    with journal.open(tmp_path / "run", read_only=True) as engine:
        assert [one.status for one in engine.status().views] == ["changed"]
    with pytest.raises(Drift, match="'/k'"):
        journal.open(tmp_path / "run")
    with journal.open(tmp_path / "run", on_drift="replace") as engine:
        assert engine.state == {"k": 1}
        engine.rebuild()
    kept = [path.read_bytes() for path in (tmp_path / "run/quarantine").iterdir()]
    assert any(b"7" in data for data in kept)


@pytest.mark.slow
def test_row_sees_a_journal_that_judges_a_view_by_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.view.is_disguised", lambda *_: False)
    with pytest.raises(Violation, match="not told"):
        aging.age(tmp_path / "run", "1970", 0)
