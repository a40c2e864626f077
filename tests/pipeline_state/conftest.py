"""What the tests of the pipeline state system stand on."""

from pathlib import Path

import pytest

from tests.pipeline_state.making import Desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """An empty workspace, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    for name in ("JOURNAL_DIR", "JOURNAL_DEBUG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Desk(tmp_path)
