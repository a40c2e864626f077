"""What every test can ask for, and how Hypothesis runs.

With CI set Hypothesis draws the same examples each time, so that a red run can be run again.
JOURNAL_HISTORIES names a folder with more real histories than the four that lie in tests/data.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("dev", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def histories() -> list[Path]:
    """Real histories of state files (`.jsonl.gz`, one version a line), each name once, sorted."""
    folders = [DATA]
    if named := os.environ.get("JOURNAL_HISTORIES"):
        folders.append(Path(named))
    found = {path.name: path for folder in folders for path in folder.glob("*.jsonl.gz")}
    if not found:
        pytest.fail(f"no history (*.jsonl.gz) in {', '.join(map(str, folders))}")
    return [found[name] for name in sorted(found)]


@pytest.fixture
def shared_path() -> Iterator[Path]:
    """An empty folder that every user of the machine can reach, unlike `tmp_path`."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)
