"""The import of versions: each kind of version, their times, and what is no version."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

import journal
from journal.errors import UsageError
from projections import patch
from projections.document.importing import import_versions
from projections.document.report import LISTED, ImportReport
from projections.document.version import Problem, Version
from projections.document.versions import read_versions

MISSING: Any = object()


def version(n: int, data: Any = MISSING, /, **changes: Any) -> Version:
    """Version `n` at minute `n`, of JSON data unless it gets a content."""
    given: dict[str, Any] = {} if data is MISSING else {"content": json.dumps(data).encode()}
    when = f"2025-01-31T12:{n:02}:00Z"
    members = {"n": n, "time": when, "author": "ann", "path": "s.json", **given, **changes}
    return Version(**members)


def counted(count: int) -> list[Version]:
    return [version(n, {"n": n, "kept": [n // 2]}) for n in range(1, count + 1)]


def events(path: Path) -> list[journal.Event]:
    with journal.open(path, read_only=True) as engine:
        return [event for event in engine.events() if event.type == "imported"]


def states(path: Path) -> list[Any]:
    with journal.open(path, read_only=True) as engine:
        return [engine.state_at(event.seq) for event in events(path)]


# --- kinds of versions ---------------------------------------------------------------------------


def test_deletion_makes_the_state_null_and_a_return_replaces_it(tmp_path: Path) -> None:
    source = [
        version(1, {"a": 1}),
        version(2, content=None),
        version(3, content=None),
        version(4, {"b": 2}),
    ]
    report = import_versions(tmp_path / "j", source)
    assert states(tmp_path / "j") == [{"a": 1}, None, None, {"b": 2}]
    assert report.deletions == 2
    assert [event.data.get("patch") for event in events(tmp_path / "j")][3] == [
        {"op": "replace", "path": "", "value": {"b": 2}}
    ]


def test_text_that_does_not_parse_leaves_the_state_alone(tmp_path: Path) -> None:
    source = [
        version(1, {"a": 1}),
        version(2, content=b'{"a":'),
        version(3, content=b"\xff\x00"),
        version(4, content=b""),
        version(5, {"a": 2}),
    ]
    report = import_versions(tmp_path / "j", source)
    assert states(tmp_path / "j") == [{"a": 1}, {"a": 1}, {"a": 1}, {"a": 1}, {"a": 2}]
    found = [event.data for event in events(tmp_path / "j")]
    assert found[1]["text"] == '{"a":'
    assert "end of the file" in found[1]["why"]
    assert found[2]["text_b64"] == "/wA="
    assert found[3]["text"] == ""
    assert "empty" in found[3]["why"]
    assert found[4]["patch"] == [{"op": "replace", "path": "/a", "value": 2}]
    assert report.texts == report.note_count == 3
    assert report.ok


def test_bom_and_doubled_key_are_warnings_in_event_and_report(tmp_path: Path) -> None:
    source = [version(1, content=b'\xef\xbb\xbf{"a":1,\n"a":2}')]
    report = import_versions(tmp_path / "j", source)
    assert states(tmp_path / "j") == [{"a": 2}]
    said = events(tmp_path / "j")[0].data["warnings"]
    assert len(said) == 2
    assert said[0].startswith("line 1: ")
    assert "byte order mark" in said[0]
    assert '"a"' in said[1]
    assert [note.why for note in report.notes] == said
    assert report.texts == 0


def test_only_the_format_changed_is_an_empty_patch(tmp_path: Path) -> None:
    source = [version(1, content=b'{"a":1}'), version(2, content=b'{\n "a": 1\n}\n')]
    import_versions(tmp_path / "j", source)
    assert events(tmp_path / "j")[1].data["patch"] == []


@pytest.mark.parametrize(
    ("path", "content", "value"),
    [
        ("s.jsonl", b'{"a":1}\n2\n', [{"a": 1}, 2]),
        ("s.yaml", b"a: 1.0\n", {"a": 1.0}),
        ("s.yml", b"- yes\n- 1\n", ["yes", 1]),
        ("no-suffix", b"[1]", [1]),
        ("", b"7", 7),
    ],
)
def test_suffix_of_the_path_says_how_the_content_is_read(
    tmp_path: Path, path: str, content: bytes, value: Any
) -> None:
    import_versions(tmp_path / "j", [version(1, content=content, path=path)])
    (found,) = states(tmp_path / "j")
    assert patch.equal(found, value) or (path == "s.yml" and patch.equal(found, [True, 1]))


def test_value_too_deep_for_an_event_is_kept_as_text(tmp_path: Path) -> None:
    deep = b"[" * 199 + b"]" * 199
    report = import_versions(tmp_path / "j", [version(1, content=deep), version(2, [1])])
    first, second = events(tmp_path / "j")
    assert first.data["text"] == deep.decode()
    assert "nested more than" in first.data["why"]
    assert second.data["n"] == 2
    assert (report.imported, report.texts) == (2, 1)


@pytest.mark.slow
def test_version_that_no_event_can_hold_is_left_out_with_the_reason(tmp_path: Path) -> None:
    large = b'["' + b"x" * (17 << 20) + b'"]'
    report = import_versions(
        tmp_path / "j", [version(1, [1]), version(2, content=large), version(3, [2])]
    )
    assert [event.data["n"] for event in events(tmp_path / "j")] == [1, 3]
    assert report.problem_count == 1
    assert "bytes as JSON" in report.problems[0].why


@pytest.mark.parametrize("value", [float("nan"), (1, 2), {1: 2}, 2**64, "\ud800", b"x"])
def test_value_that_is_no_json_is_left_out_with_the_reason(tmp_path: Path, value: Any) -> None:
    report = import_versions(tmp_path / "j", [version(1, value=value), version(2, [2])])
    assert states(tmp_path / "j") == [[2]]
    assert report.problems[0].place == "version 1"


def test_author_longer_than_an_actor_may_be_is_kept_whole_in_the_data(tmp_path: Path) -> None:
    import_versions(tmp_path / "j", [version(1, 1, author="a" * 3000)])
    (found,) = events(tmp_path / "j")
    assert (len(found.actor), len(found.data["author"])) == (1000, 3000)
    assert import_versions(tmp_path / "j", [version(1, 1, author="a" * 3000)]).already == 1


# --- times ---------------------------------------------------------------------------------------


def test_journal_begins_at_the_time_of_the_first_version(tmp_path: Path) -> None:
    import_versions(
        tmp_path / "j", [version(1, 1, time="2024-02-29T23:30:00+01:00"), version(2, 2)]
    )
    with journal.open(tmp_path / "j", read_only=True) as engine:
        times = [event.time for event in engine.events()]
        assert times == ["2024-02-29T22:30:00.000Z"] * 2 + ["2025-01-31T12:02:00.000Z"]
        assert engine.state_at("2025-01-01") == 1


def test_time_never_goes_back_and_late_events_are_counted(tmp_path: Path) -> None:
    source = [version(9, 1), version(10, 2, time="2025-01-31T11:00:00Z"), version(11, 3)]
    report = import_versions(tmp_path / "j", source)
    first, second, third = events(tmp_path / "j")
    assert first.time == second.time < third.time
    assert second.data["source_time"] == "2025-01-31T11:00:00Z"
    assert report.late == 1


# --- bad parts of a source -----------------------------------------------------------------------


def ten_lines(path: Path) -> Path:
    """Ten versions, of which the sixth lacks its `n`."""
    lines = [
        {"n": n, "time": "2025-01-31", "path": "s.json", "content": str(n)} for n in range(1, 11)
    ]
    del lines[5]["n"]
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return path


def test_one_bad_line_is_left_out_and_told_with_its_place(tmp_path: Path) -> None:
    source = ten_lines(tmp_path / "h.jsonl")
    report = import_versions(tmp_path / "j", read_versions(source))
    assert states(tmp_path / "j") == [1, 2, 3, 4, 5, 7, 8, 9, 10]
    assert (report.imported, report.problem_count, report.ok) == (9, 1, False)
    assert report.problems == [Problem(f"{source}, line 6", "Object missing required field `n`")]
    assert report.summary() == "9 imported; 1 left out"


def test_strict_import_imports_nothing_where_one_line_is_bad(tmp_path: Path) -> None:
    source = ten_lines(tmp_path / "h.jsonl")
    with pytest.raises(UsageError, match=r"1 problem in the source, so nothing was(.|\n)*line 6: "):
        import_versions(tmp_path / "j", read_versions(source), strict=True)
    assert not (tmp_path / "j").exists()
    import_versions(tmp_path / "k", counted(3))
    with pytest.raises(UsageError, match="1 problem"):
        import_versions(tmp_path / "k", [*counted(5), Problem("here", "bad")], strict=True)
    assert len(events(tmp_path / "k")) == 3
    assert import_versions(tmp_path / "k", counted(5), strict=True).imported == 2


def test_strict_import_refuses_a_source_that_can_be_read_only_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="read only once"):
        import_versions(tmp_path / "j", iter(counted(2)), strict=True)
    assert import_versions(tmp_path / "j", iter(counted(2))).imported == 2


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (version(2, 1), "n is 2 after 2"),
        (version(1, 1), "n is 1 after 2"),
        (version(3), "either a content or a value"),
        (version(3, 1, value=1), "either a content or a value"),
        (version(3, 1, time="yesterday"), "'yesterday' is not a time"),
        (version(3, content=None, why="no"), "no content"),
        (version(2**63, 1, time="2025-01-31"), "must count up"),
    ],
)
def test_version_that_is_not_sound_is_left_out(tmp_path: Path, bad: Version, said: str) -> None:
    source = [version(1, 1), version(2, 2), bad, version(4, 4)]
    report = import_versions(tmp_path / "j", source)
    assert states(tmp_path / "j") == [1, 2, 4]
    assert said in report.problems[0].why


def test_source_without_versions_makes_no_journal(tmp_path: Path) -> None:
    report = import_versions(tmp_path / "j", [Problem("line 1", "bad")])
    assert (report.imported, report.problem_count) == (0, 1)
    assert not (tmp_path / "j").exists()


def test_report_lists_the_first_problems_and_counts_all() -> None:
    report = ImportReport()
    for n in range(LISTED + 5):
        report.add_problem(Problem(f"line {n}", "bad"))
        report.add_note(f"line {n}", "odd")
    assert (len(report.problems), report.problem_count) == (LISTED, LISTED + 5)
    assert (len(report.notes), report.note_count) == (LISTED, LISTED + 5)
    assert str(report.problems[0]) == "line 0: bad"
