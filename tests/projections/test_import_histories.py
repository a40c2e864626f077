"""The import of real histories: every version gives the state that other code reads from it."""

import functools
import gzip
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

import journal
from journal.errors import JournalError
from projections import patch
from projections.document.importing import import_versions
from projections.document.versions import read_versions
from projections.foreign import read_document


@functools.cache
def expected(path: Path) -> list[tuple[dict[str, Any], Any]]:
    """Each version of a history, and the state after it: read by other code where that is known."""
    found: list[tuple[dict[str, Any], Any]] = []
    state: Any = {}
    with gzip.open(path) as lines:
        for line in lines:
            raw = orjson.loads(line)
            try:
                state = parse(raw)
            except (ValueError, JournalError):
                pass
            found.append((raw, state))
    return found


def parse(raw: dict[str, Any]) -> Any:
    text = raw.get("content")
    if text is None:
        if "content_b64" in raw:
            raise ValueError("not UTF-8")
        return None
    match Path(raw["path"]).suffix:
        case ".json":
            return json.loads(text.removeprefix("\ufeff"))
        case ".jsonl":
            if not text:
                raise ValueError("empty")
            return [json.loads(line) for line in text.split("\n") if line.strip()]
        case _:
            return read_document(text.encode(), path=raw["path"]).value


def check_history(path: Path, folder: Path, every: int) -> list[journal.Event]:
    report = import_versions(folder, read_versions(path))
    wanted = expected(path)
    assert report.imported == len(wanted)
    assert report.ok
    with journal.open(folder, read_only=True) as engine:
        assert engine.verify().ok
        found = [event for event in engine.events() if event.type == "imported"]
        for event, (raw, state) in list(zip(found, wanted, strict=True))[::every]:
            assert patch.equal(engine.state_at(event.seq), state), raw["n"]
    for event, (raw, _) in zip(found, wanted, strict=True):
        assert event.data["n"] == raw["n"]
        assert event.data["source_time"] == raw["time"]
        assert event.time == raw["time"].replace("Z", ".000Z")
        assert event.actor == event.data["author"] == raw["actor"]
        assert event.data.get("message", "") == raw["message"]
        assert event.data.get("deleted", False) == (raw.get("content", "") is None)
        if "why" in event.data:
            assert event.data.get("text") == raw.get("content")
            assert event.data.get("text_b64") == raw.get("content_b64")
    again = import_versions(folder, read_versions(path))
    assert (again.imported, again.already, again.ok) == (0, len(wanted), True)
    assert again.summary().startswith("already imported, 0 new")
    return found


BROKEN: dict[str, set[int]] = {
    "journal-broken": set(range(15, 39)),
    "session-state": {45},
    "loop-rounds-250": {77, 118},
    "gap-register": set(),
}
"""Versions that do not parse, as the one who collected the histories found them."""


@pytest.mark.parametrize("name", BROKEN)
def test_each_version_of_a_small_history_gives_its_state(
    histories: list[Path], tmp_path: Path, name: str
) -> None:
    (path,) = (path for path in histories if path.name == f"{name}.jsonl.gz")
    found = check_history(path, tmp_path / "j", every=40)
    assert {event.data["n"] for event in found if "why" in event.data} == BROKEN[name]


@pytest.mark.slow
def test_each_version_of_every_history_gives_its_state(
    histories: list[Path], tmp_path: Path
) -> None:
    for path in histories:
        check_history(path, tmp_path / path.name, every=1)
