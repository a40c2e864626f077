"""The export of a document's journal, and the law that nothing is lost on the way out and in."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import journal
from journal.engine import Engine
from journal.errors import Corrupt, UsageError
from journal.event import LOST, Draft, Event
from projections import patch
from projections.document.exporting import PATH, export_events, export_versions, write_versions
from projections.document.importing import import_versions
from projections.document.projection import PROJECTION
from projections.document.version import Version
from projections.document.versions import read_versions
from projections.projection import Projection

TIME = "2025-01-31T12:00:00Z"


def exported(path: Path) -> bytes:
    out = io.BytesIO()
    with journal.open(path, read_only=True) as engine:
        assert write_versions(engine, out) == out.getvalue().count(b"\n")
    return out.getvalue()


def changing(engine: Engine) -> list[Event]:
    """The events that are versions."""
    return [
        event
        for event in engine.events()
        if event.type in PROJECTION.types or event.type in ("journal.adopted", "journal.restored")
    ]


def check_round_trip(path: Path, folder: Path, *, stops: int = 5) -> None:
    """Law: export, import and export again gives the same bytes and the same past states."""
    first = exported(path)
    (folder / "v.jsonl").write_bytes(first)
    report = import_versions(folder / "again", read_versions(folder / "v.jsonl"), strict=True)
    assert report.ok
    assert exported(folder / "again") == first
    with (
        journal.open(path, read_only=True) as one,
        journal.open(folder / "again", read_only=True) as other,
    ):
        pairs = list(zip(changing(one), changing(other), strict=True))
        for before, after in pairs[:: max(1, len(pairs) // stops)]:
            assert patch.equal(one.state_at(before.seq), other.state_at(after.seq))
            assert patch.equal(one.state_at(before.time), other.state_at(before.time))
        assert orjson.dumps(one.state) == orjson.dumps(other.state)


@pytest.mark.parametrize("name", ["session-state", "journal-broken", "loop-rounds-250"])
def test_exported_history_comes_back_byte_for_byte(
    histories: list[Path], tmp_path: Path, name: str
) -> None:
    (path,) = (path for path in histories if path.name == f"{name}.jsonl.gz")
    import_versions(tmp_path / "j", read_versions(path))
    check_round_trip(tmp_path / "j", tmp_path)


@pytest.mark.slow
def test_every_exported_history_comes_back_byte_for_byte(
    histories: list[Path], tmp_path: Path
) -> None:
    for path in histories:
        folder = tmp_path / path.name
        import_versions(folder / "j", read_versions(path))
        check_round_trip(folder / "j", folder, stops=12)
        ours = import_versions(folder / "j", read_versions(folder / "v.jsonl"))
        assert (ours.imported, ours.ok) == (0, True)


STATES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from([1.0, -0.0]) | st.text("ab/~"),
    lambda child: st.lists(child, max_size=4) | st.dictionaries(st.text("ab", max_size=2), child),
    max_leaves=10,
)


@pytest.mark.slow
@settings(max_examples=40)
@given(values=st.lists(STATES | st.just(...), min_size=1, max_size=6))
def test_any_versions_come_back_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("law")
    source = [
        Version(n=n, time=TIME, path="s.json", **({"content": None} if v is ... else {"value": v}))
        for n, v in enumerate(values, 1)
    ]
    import_versions(folder / "j", source)
    check_round_trip(folder / "j", folder)


def test_each_kind_of_version_has_its_shape(tmp_path: Path) -> None:
    head: dict[str, Any] = {"time": TIME, "author": "ann", "message": "m", "path": "s.json"}
    source = [
        Version(n=3, content=b'{"a":1}', **head),
        Version(n=5, content=b"\xef\xbb\xbf[]", **head),
        Version(n=6, content=b"{", **head),
        Version(n=7, content=b"\xff", **head),
        Version(n=8, content=None, **head),
        Version(n=9, content=b"null", **head),
    ]
    import_versions(tmp_path / "j", source)
    found = [orjson.loads(line) for line in exported(tmp_path / "j").splitlines()]
    same = {"time": TIME, "actor": "ann", "message": "m", "path": "s.json"}
    assert [list(line)[:5] for line in found] == [["n", *same]] * 6
    assert all(same.items() <= line.items() for line in found)
    assert [line["n"] for line in found] == [3, 5, 6, 7, 8, 9]
    said = ["line 1: a UTF-8 byte order mark was passed over"]
    rest = [{k: v for k, v in line.items() if k not in ("n", *same)} for line in found]
    assert rest[:2] == [{"value": {"a": 1}}, {"value": [], "warnings": said}]
    assert rest[2]["content"] == "{"
    assert "expected" in rest[2]["why"]
    assert rest[3]["content_b64"] == "/w=="
    assert rest[4:] == [{"content": None}, {"value": None}]
    check_round_trip(tmp_path / "j", tmp_path)


def test_text_that_was_kept_stays_text_though_it_would_parse_now(tmp_path: Path) -> None:
    with journal.init(tmp_path / "j", time=TIME) as engine:
        kept = {"n": 1, "path": "s.json", "source_time": TIME, "text": "{}"}
        engine.append_batch([Draft(type="imported", data=kept, time=TIME)])
    (line,) = exported(tmp_path / "j").splitlines()
    assert orjson.loads(line)["why"] == "it was kept as text"
    check_round_trip(tmp_path / "j", tmp_path)


def test_changes_by_hand_are_versions_too(tmp_path: Path) -> None:
    with journal.init(tmp_path / "j", time=TIME) as engine:
        drafts = [
            Draft(type="set", data={"path": "/a", "value": 1}, actor="ann", time=TIME),
            Draft(type="merge", data={"patch": {"b": {"c": 2}}}, time="2025-01-31T12:00:00.500Z"),
            Draft(type="remove", data={"path": "/a"}, time="2025-01-31T12:01:00Z"),
        ]
        engine.append_batch(drafts)
    found = [orjson.loads(line) for line in exported(tmp_path / "j").splitlines()]
    assert [line["value"] for line in found] == [{"a": 1}, {"a": 1, "b": {"c": 2}}, {"b": {"c": 2}}]
    assert [line["message"] for line in found] == ["set", "merge", "remove"]
    assert [line["n"] for line in found] == [1, 2, 3]
    assert [line["actor"] for line in found] == ["ann", "", ""]
    assert {line["path"] for line in found} == {PATH}
    assert found[1]["time"] == "2025-01-31T12:00:00.500Z"
    check_round_trip(tmp_path / "j", tmp_path)


def test_changes_by_hand_between_imports_push_the_numbers_on(tmp_path: Path) -> None:
    source = [Version(n=n, time=TIME, path="t.json", value={"n": n}) for n in (1, 2, 3, 7)]
    import_versions(tmp_path / "j", source[:2])
    with journal.open(tmp_path / "j") as engine:
        engine.append_batch([Draft(type="set", data={"path": "/x", "value": 1}, time=TIME)])
        import_versions(engine, source)
        engine.snapshot()
    found = [orjson.loads(line) for line in exported(tmp_path / "j").splitlines()]
    assert [line["n"] for line in found] == [1, 2, 3, 4, 7]
    assert [line["value"] for line in found][2:] == [{"n": 2, "x": 1}, {"n": 3}, {"n": 7}]
    assert {line["path"] for line in found} == {"t.json"}
    check_round_trip(tmp_path / "j", tmp_path)


def test_engine_events_that_carry_state_are_versions(tmp_path: Path) -> None:
    with journal.init(tmp_path / "j", time=TIME) as engine:
        engine.append("set", {"path": "/a", "value": 1})
    (tmp_path / "j" / "state.json").write_text('{"a": 2, "b": []}')
    with journal.open(tmp_path / "j", on_drift="adopt"):
        pass
    found = [orjson.loads(line) for line in exported(tmp_path / "j").splitlines()]
    assert [line["value"] for line in found] == [{"a": 1}, {"a": 2, "b": []}]
    assert found[1]["message"] == "journal.adopted"
    check_round_trip(tmp_path / "j", tmp_path)


def test_versions_up_to_an_event_are_exported(tmp_path: Path) -> None:
    source = [Version(n=n, time=TIME, value=n) for n in (1, 2, 3)]
    import_versions(tmp_path / "j", source)
    with journal.open(tmp_path / "j", read_only=True) as engine:
        assert [line["value"] for line in export_versions(engine, upto=3)] == [1, 2]


def test_exported_values_stay_as_they_were_given(tmp_path: Path) -> None:
    source = [Version(n=n, time=TIME, value={"kept": list(range(n))}) for n in (1, 2, 3)]
    import_versions(tmp_path / "j", source)
    with journal.open(tmp_path / "j", read_only=True) as engine:
        found = list(export_versions(engine))
        assert [version["value"]["kept"] for version in found] == [[0], [0, 1], [0, 1, 2]]
        walk = export_versions(engine)
        next(walk)["value"]["kept"].append("changed by the caller")
        assert next(walk)["value"]["kept"] == [0, 1]


def test_exported_events_are_the_stored_lines(tmp_path: Path) -> None:
    odd = [
        1.0,
        -0.0,
        1e16,
        5e-324,
        2**64 - 1,
        -(2**63),
        "é\u2028\x00\U0001f600",
        {"": None, "/~": []},
    ]
    with journal.init(tmp_path / "j", time=TIME) as engine:
        for value in odd:
            engine.append("set", {"path": "/x", "value": value}, actor="ann", id=f"k{value}")
        engine.append_batch([("set", {"path": "", "value": odd}), ("remove", {"path": "/0"})])
        engine.snapshot()
        stored = b"".join(
            path.read_bytes() for path in sorted((tmp_path / "j/log").glob("*.jsonl"))
        )
        out = io.BytesIO()
        assert export_events(engine, out) == engine.seq
        assert out.getvalue() == stored
        part = io.BytesIO()
        assert export_events(engine, part, after=2, upto=4) == 2
        assert part.getvalue() == b"".join(stored.splitlines(keepends=True)[2:4])


def test_export_of_a_damaged_log_gives_the_good_lines_and_then_raises(tmp_path: Path) -> None:
    import_versions(tmp_path / "j", [Version(n=n, time=TIME, value=[n]) for n in (1, 2, 3)])
    out = io.BytesIO()
    with journal.open(tmp_path / "j", read_only=True) as engine:
        (segment,) = (tmp_path / "j/log").glob("*.jsonl")
        whole = segment.read_bytes()
        segment.write_bytes(whole.replace(b'"n":2', b'"n":9'))
        with pytest.raises(Corrupt, match="line 3"):
            export_events(engine, out)
    lines = whole.splitlines(keepends=True)
    assert out.getvalue() == b"".join([*lines[:2], *lines[3:]])


class Holed:
    """Stands for an engine with events that no engine would append."""

    path = Path("j")
    projection: Projection = PROJECTION

    def __init__(self, *events: Event) -> None:
        self._events = events

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        return iter(self._events)


def event(seq: int, kind: str, data: Any) -> Event:
    return Event(seq=seq, time=TIME, type=kind, data=data, crc="0" * 8)


def test_events_that_are_not_understood_are_no_versions() -> None:
    engine: Any = Holed(
        event(1, "set", {"path": "/a", "value": 1}),
        event(2, "zz.future", {"path": "/a", "value": 2}),
        event(3, "set", {"path": 7}),
        event(4, "set", {"path": "/a", "value": 3}),
    )
    found = [(version["n"], version["value"]) for version in export_versions(engine)]
    assert found == [(1, {"a": 1}), (2, {"a": 3})]


def test_versions_in_a_hole_are_left_out_and_told() -> None:
    engine: Any = Holed(
        event(1, "set", {"path": "/a", "value": 1}),
        event(2, LOST, {"upto": 4}),
        event(5, "set", {"path": "/b", "value": 2}),
        event(6, "journal.repaired", {"state": {"a": 3}}),
        event(7, "set", {"path": "/b", "value": 4}),
    )
    versions = export_versions(engine)
    found = [next(versions)["value"] for _ in range(3)]
    assert found == [{"a": 1}, {"a": 3}, {"a": 3, "b": 4}]
    with pytest.raises(Corrupt, match="events 2 to 4 are lost"):
        next(versions)


def test_versions_of_another_projection_are_refused(tmp_path: Path) -> None:
    other = Projection("other", events={}, initial=dict, revision="1")
    with journal.init(tmp_path / "j", projection=other) as engine:
        with pytest.raises(UsageError, match="projection is 'other'"):
            list(export_versions(engine))
        assert export_events(engine, io.BytesIO()) == 1
