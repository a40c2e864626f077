"""Golden bytes of each format: what was written once is read, and written, by today's code.

    format-1/        a journal with every member of a line and every kind of file
    format-1.json    what it says: states, head, verify
    format-1-repaired/, .json    a journal with lost events and the repair that wrote them down
    format-2/        a journal of a format that this version does not know

The folders are never edited. A change of the format gets a new number, a folder of its own beside
these, and a reader of the old. `python -m tests.golden.test_golden` writes what is missing.
"""

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import journal
from journal.engine import Engine, repairing
from journal.errors import Corrupt, UnsupportedFormat
from journal.event import Draft, time_to_ms
from projections import catalog
from projections.document.projection import PROJECTION
from projections.projection import Projection

HERE = Path(__file__).parent
GOLDEN = HERE / "format-1"
EXPECTED = HERE / "format-1.json"
REPAIRED = HERE / "format-1-repaired"
NEWER = HERE / "format-2"
ID = "5f0c6e2b9d4a4c0f8a1b2c3d4e5f6071"

FROZEN = Projection(
    "document",
    events=PROJECTION.events,
    initial=dict,
    makes_json=True,
    # The real one is a digest of its source, which goes into snapshots and changes with the code.
    revision="0" * 64,
)

DERIVED = {"witness.json"}
"""Holds inode, time and process of the machine it was written on."""


class Clock:
    """A clock that says what it was told, so that the count of calls to it does not matter."""

    def __init__(self) -> None:
        self.time = ""

    def __call__(self) -> int:
        return time_to_ms(f"2026-03-01T{self.time}.000Z")


def generate(path: Path) -> None:
    """Make the golden journal of format 1: the same calls, clock and id give the same bytes."""
    clock = Clock()
    options: dict[str, Any] = {"projection": FROZEN, "clock": clock}
    clock.time = "10:00:00"
    with _fixed_id(), journal.init(path, **options) as engine:
        _append_values(engine, clock)
        clock.time = "10:10:00"
        engine.snapshot(type="manual", trigger="before the tear: é")
    _tear(path, b'{"seq":13,"time":"2026-03-01T10:1')
    clock.time = "11:00:00"
    with journal.open(path, **options) as engine:
        _append_drafts(engine)
    _let_segments_be_small(path)
    clock.time = "12:00:00"
    with journal.open(path, durability="os", **options) as engine:
        for number in range(3):
            engine.append("set", {"path": "/unsynced", "value": number}, actor="loop")
    clock.time = "13:00:00"
    (path / "state.json").write_bytes(b'{"again": [], "unsynced": "adopted"}\n')
    with journal.open(path, on_drift="adopt", **options) as engine:
        clock.time = "13:30:00"
        engine.restore(20, reason="back to before")
        engine.snapshot(type="nightly", trigger="")


def _append_values(engine: Engine, clock: Clock) -> None:
    """Each event of the projection, and values that writers are known to change."""
    clock.time = "10:00:01"
    engine.append("set", {"path": "/phase", "value": "plan"}, actor="planner", id="k-1")
    engine.append(
        "set", {"path": "/floats", "value": [0.1, 1.0, -0.0, 1e16, 1e-7, 5e-324]}, cause=2
    )
    clock.time = "09:59:59"  # A clock that goes back.
    engine.append("set", {"path": "/integers", "value": [2**53 + 1, 2**64 - 1, -(2**63)]})
    clock.time = "10:00:02"
    texts = ["é", "\u0000\t\n\u2028", '"\\/', "\U0001f600", "\x7f"]
    engine.append("merge", {"patch": {"texts": texts, "gone": 1, "a/b~c": None}})
    engine.append("patch", {"patch": [{"op": "add", "path": "/list", "value": [1, True, None]}]})
    engine.append("remove", {"path": "/gone"}, actor="ann\u2028", id="k-2", cause=5)
    events = [("set", {"path": "/batch", "value": number}) for number in range(3)]
    engine.append_batch(events, actor="batcher")
    engine.append_batch([Draft(type="set", data={"path": "/keyed", "value": {}}, id="k-3")])


def _tear(path: Path, data: bytes) -> None:
    with (path / "log" / "00000000000000000001.jsonl").open("ab") as log:
        log.write(data)


def _append_drafts(engine: Engine) -> None:
    """Three versions of a history from elsewhere, with times of their own."""
    time = "2026-03-01T13:00:00+02:00"
    versions: list[dict[str, Any]] = [
        {"path": "a.json", "patch": [{"op": "replace", "path": "", "value": {"v": 1}}]},
        {"path": "a.json", "text": "{", "why": "line 1: cut"},
        {"path": "a.json", "deleted": True, "author": "ann", "message": "gone"},
    ]
    drafts = [
        Draft(type="imported", data={"n": n, "source_time": time, **version}, time=time)
        for n, version in enumerate(versions, 1)
    ]
    engine.append_batch(drafts)
    engine.append("set", {"path": "", "value": {"again": []}})


def _let_segments_be_small(path: Path) -> None:
    settings = path / "journal.yaml"
    text = settings.read_text()
    settings.write_text(text.replace("segment_bytes: 67108864", "segment_bytes: 1500"))


def _fixed_id() -> Any:
    real = secrets.token_hex
    return mock.patch.object(secrets, "token_hex", lambda size: ID if size == 16 else real(size))


def generate_repaired(path: Path) -> None:
    """Make the golden journal that was repaired; how a repair words things may change."""
    clock = Clock()
    clock.time = "10:00:00"
    options: dict[str, Any] = {"projection": FROZEN, "clock": clock}
    with _fixed_id(), journal.init(path, **options) as engine:
        for number in range(2, 9):
            engine.append("set", {"path": "/k", "value": number})
    log = path / "log" / "00000000000000000001.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][:30] + b"\n"
    log.write_bytes(b"".join(lines))
    with (
        mock.patch.object(repairing, "now_ms", clock),
        mock.patch.object(catalog, "find", return_value=FROZEN),
    ):
        repairing.repair(path)
    clock.time = "11:00:00"
    with journal.open(path, **options) as engine:
        engine.append("set", {"path": "/after", "value": True})


def describe(path: Path) -> dict[str, Any]:
    """Return what a journal says: what must be the same for ever."""
    with journal.open(path, read_only=True, projection=FROZEN) as engine:
        head, report = engine.head(), engine.verify()
        return {
            "id": engine.id,
            "head": {"seq": head.seq, "segment": head.segment, "sha256": head.sha256},
            "types": [event.type for event in engine.events()],
            "times": [event.time for event in engine.events()],
            "states": [_state_at(engine, seq) for seq in range(head.seq + 1)],
            "checkpoints": [[each.seq, each.type, each.trigger] for each in engine.snapshots()],
            "problems": [problem.message for problem in report.problems],
            "segments": report.segments,
        }


def _state_at(engine: Engine, seq: int) -> Any:
    try:
        return engine.state_at(seq)
    except Corrupt:
        return "Corrupt"


def contents(path: Path) -> dict[str, bytes]:
    """Return the bytes below a folder, without what belongs to one machine."""
    found = (each for each in path.rglob("*") if each.is_file() and each.name not in DERIVED)
    return {str(each.relative_to(path)): each.read_bytes() for each in found}


@pytest.fixture
def golden(tmp_path: Path) -> Iterator[Path]:
    """A copy of the golden journal that can be opened for writing."""
    path = tmp_path / "golden"
    shutil.copytree(GOLDEN, path)
    for each in (path, *path.rglob("*")):
        each.chmod(0o700 if each.is_dir() else 0o600)
    before = contents(GOLDEN)
    yield path
    assert contents(GOLDEN) == before, "goldens are never edited"


def test_golden_journal_says_today_what_it_said_when_it_was_written(golden: Path) -> None:
    assert json.loads(json.dumps(describe(golden))) == json.loads(EXPECTED.read_text())


def test_golden_journal_has_every_member_of_a_line(golden: Path) -> None:
    log = b"".join(path.read_bytes() for path in sorted(golden.glob("log/*.jsonl")))
    for member in (
        "seq",
        "time",
        "type",
        "actor",
        "data",
        "id",
        "cause",
        "part",
        "unsynced",
        "crc",
    ):
        assert b'"%b":' % member.encode() in log, member
    for name in ("created", "rotated", "recovered", "checkpoint", "adopted", "restored"):
        assert b'"type":"journal.%b"' % name.encode() in log, name
    assert b'"previous":' in log


def test_same_calls_with_the_same_clock_and_id_write_the_golden_bytes(tmp_path: Path) -> None:
    generate(tmp_path / "run")
    written, wanted = contents(tmp_path / "run"), contents(GOLDEN)
    assert written.keys() == wanted.keys()
    for name, data in wanted.items():
        assert written[name] == data, name


def test_golden_journal_is_verified_clean_by_its_own_code_and_by_today_s(golden: Path) -> None:
    for projection in (FROZEN, None):
        with journal.open(golden, read_only=True, projection=projection) as engine:
            report = engine.verify()
            assert (report.problems, report.unknown) == ([], {})
            assert engine.state == json.loads(EXPECTED.read_text())["states"][-1]


def test_golden_journal_goes_on(golden: Path) -> None:
    lines = {path.name: path.read_bytes() for path in golden.glob("log/*.jsonl")}
    with journal.open(golden, projection=FROZEN) as engine:
        known = engine.append("set", {"path": "/phase", "value": "plan"}, id="k-1")
        assert known.seq == 2
        event = engine.append("set", {"path": "/more", "value": 1})
        assert event.seq == json.loads(EXPECTED.read_text())["head"]["seq"] + 1
        assert engine.verify().ok
    for name, data in lines.items():
        assert (golden / "log" / name).read_bytes().startswith(data)


def test_golden_views_and_checkpoints_are_rebuilt_byte_for_byte(golden: Path) -> None:
    """From nothing but log/ and journal.yaml."""
    for name in ("state.json", "witness.json", "snapshots", "quarantine"):
        path = golden / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    with journal.open(golden, projection=FROZEN) as engine:
        engine.rebuild()
        assert engine.verify().ok
    rebuilt, wanted = contents(golden), contents(GOLDEN)
    kept = [name for name in wanted if not name.startswith("quarantine")]
    assert {name: rebuilt[name] for name in kept} == {name: wanted[name] for name in kept}


def test_golden_repaired_journal_says_today_what_it_said_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "repaired"
    shutil.copytree(REPAIRED, path)
    found, wanted = describe(path), json.loads(REPAIRED.with_suffix(".json").read_text())
    assert json.loads(json.dumps(found)) == wanted
    assert "journal.lost" in found["types"]
    assert "journal.repaired" in found["types"]
    assert found["states"][3:6] == [{"k": 3}, "Corrupt", "Corrupt"]
    with journal.open(path, projection=FROZEN) as engine:
        engine.append("set", {"path": "/more", "value": 1})
        assert engine.verify().ok


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("settings", [True, False], ids=["settings say 2", "only the log says 2"])
def test_journal_of_format_2_is_refused_by_name_and_left_alone(
    tmp_path: Path, read_only: bool, settings: bool
) -> None:
    path = tmp_path / "newer"
    shutil.copytree(NEWER, path)
    if not settings:
        text = (path / "journal.yaml").read_text().replace("format: 2", "format: 1")
        (path / "journal.yaml").write_text(text)
    before = contents(path)
    with pytest.raises(UnsupportedFormat) as caught:
        journal.open(path, read_only=read_only)
    assert (caught.value.found, caught.value.supported, caught.value.exit_code) == (2, 1, 6)
    assert "format 2" in str(caught.value)
    assert "format 1" in str(caught.value)
    assert contents(path) == before


def make_newer(path: Path) -> None:
    """Make a journal as a later version may: format 2 in its settings and its first line."""
    from journal import codec

    with _fixed_id(), journal.init(path, projection=FROZEN, clock=lambda: 0):
        pass
    log = path / "log" / "00000000000000000001.jsonl"
    body = log.read_bytes()[: -codec.SUFFIX_BYTES].replace(b'"format":1', b'"format":2')
    log.write_bytes(bytes(codec.seal([body], 0)[0]))
    settings = path / "journal.yaml"
    settings.write_text(settings.read_text().replace("format: 1", "format: 2"))
    for name in ("state.json", "witness.json"):
        (path / name).unlink()


if __name__ == "__main__":
    for folder, make in ((GOLDEN, generate), (REPAIRED, generate_repaired)):
        if not folder.exists():
            make(folder)
            for name in DERIVED:
                os.unlink(folder / name)
            text = json.dumps(describe(folder), indent=1, ensure_ascii=True)
            folder.with_suffix(".json").write_text(text + "\n")
    if not NEWER.exists():
        make_newer(NEWER)
