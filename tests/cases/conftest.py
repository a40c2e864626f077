"""Folders for the tests of this folder."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def shared_path() -> Iterator[Path]:
    """An empty folder that every user of the machine can reach, unlike `tmp_path`."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)
