"""What the tests of time travel stand on: real histories, each imported once, and their versions.

A test that asks for `history` runs once for each history there is: those in tests/data, and with
JOURNAL_HISTORIES those in the folder that it names.
"""

import os
from pathlib import Path

import pytest

from tests.conftest import DATA
from tests.travel.brute import History, load

SUFFIX = ".jsonl.gz"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test that asks for one every history there is."""
    if "history" in metafunc.fixturenames:
        folders = [DATA, *(Path(name) for name in [os.environ.get("JOURNAL_HISTORIES")] if name)]
        found = {path.name: path for folder in folders for path in folder.glob(f"*{SUFFIX}")}
        paths = [found[name] for name in sorted(found)]
        names = [path.name.removesuffix(SUFFIX) for path in paths]
        metafunc.parametrize("history", paths, ids=names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def history(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> History:
    """A history: the states that its versions give, and a journal into which it was imported."""
    path: Path = request.param
    return load(path, tmp_path_factory.mktemp("history"))
