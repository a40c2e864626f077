"""Group J: JSON values that readers and writers disagree about."""

from pathlib import Path
from typing import Any

import orjson
import pytest

import journal
from journal import codec
from journal.errors import Corrupt, Drift, UsageError
from projections.document.exporting import export_versions
from projections.document.importing import import_versions
from projections.document.version import Version
from projections.document.versions import read_versions
from tests.cases.made import (
    Made,
    files,
    make,
    readable,
    refused,
    refused_as_corrupt,
    seal,
    unchanged,
)

# --- J01: large integers -------------------------------------------------------------------------

LARGE = [2**53 - 1, 2**53, 2**53 + 1, 9007199254740993, 2**63 - 1, 2**63, 2**64 - 1, -(2**63)]


def test_j01_large_integers_are_exact_in_state_view_snapshot_and_export(tmp_path: Path) -> None:
    made = make(tmp_path, 1)
    with made.open() as engine:
        engine.append("set", {"path": "/k", "value": LARGE})
        engine.snapshot()
    text = ",".join(map(str, LARGE)).encode()
    with made.open() as engine:
        assert engine.state == engine.state_at(2) == {"k": LARGE}
        assert [version["value"] for version in export_versions(engine)] == [{"k": LARGE}]
        assert engine.verify().ok
    assert text in made.log.read_bytes()
    assert text in made.snapshot(2).read_bytes()
    assert text in made.state.read_bytes().translate(None, b" \n")


def test_j01_large_integers_in_a_foreign_state_are_adopted_exactly(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.state.write_bytes(b'{"k": 9007199254740993}')
    with made.open(on_drift="adopt") as engine:
        assert engine.state == {"k": 9007199254740993}


# --- J02 and J04: long numbers, deep nesting -----------------------------------------------------

DIGITS = 5000
NEST = 2000


@pytest.mark.parametrize(
    "value",
    [b"9" * DIGITS, b"-" + b"9" * DIGITS, b"1" + b"0" * 20, b"[" * NEST + b"]" * NEST],
    ids=["digits", "minus digits", "10^20", "nested"],
)
def test_j02_value_beyond_the_limits_on_a_line_is_refused_with_its_line(
    tmp_path: Path, value: bytes
) -> None:
    """J02 and J04: as damage, and as a forgery that fits its check."""
    made = make(tmp_path)
    lines = made.lines()
    changed = lines[1].replace(b'"value":2', b'"value":' + value)
    made.put([lines[0], changed, *lines[2:]])
    refused_as_corrupt(made, line=2, offset=len(lines[0]))
    assert readable(made).seqs == [1, 3, 4, 5]

    made.put(seal([lines[0], changed, *lines[2:]]))
    found = readable(made)
    assert found.seqs in ([1, 3, 4, 5], [1, 2, 3, 4, 5])
    with unchanged(made), made.read() as engine:
        report = engine.verify()
        assert report.events == len(found.seqs)
        if found.damage is not None:
            assert (found.damage.line, [each.line for each in report.problems]) == (2, [2])


@pytest.mark.parametrize(
    "number",
    [10**DIGITS, -(10**DIGITS), 2**64, -(2**63) - 1, 2**1000],
    ids=["5,001 digits", "minus 5,001 digits", "2^64", "-2^63 - 1", "2^1000"],
)
def test_j02_integer_of_thousands_of_digits_is_rejected_at_once(
    tmp_path: Path, number: int
) -> None:
    made = make(tmp_path, 2)
    with made.open() as engine:
        before = files(made.path)
        with pytest.raises(UsageError, match="outside") as caught:
            engine.append("set", {"path": "/k", "value": [1, number]})
        assert caught.value.key == "data.value[1]"
        assert len(caught.value.message) < 400
        assert files(made.path) == before


@pytest.mark.parametrize(
    "value",
    [b"9" * DIGITS, b"[" * NEST + b"]" * NEST, b'{"a":' * NEST],
    ids=["digits", "nested", "nested and cut"],
)
def test_j02_value_beyond_the_limits_in_state_json_is_drift_or_rebuilt_and_no_traceback(
    tmp_path: Path, value: bytes
) -> None:
    made = make(tmp_path)
    made.state.write_bytes(b'{"k": ' + value + b"}")
    with unchanged(made), made.read() as engine:
        assert engine.state == {"k": 5}
        assert not engine.verify().ok
    if value.startswith(b"{"):  # It ends before its value does.
        made.open().close()
    else:
        error = refused(made, Drift, 7)
        assert "line 1" in error.why
        made.open(on_drift="replace").close()
    assert b'{"k": ' + value + b"}" in made.quarantined.values()
    made.log_on()


def nested(levels: int, *, objects: bool = False) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value} if objects else [value]
    return value


@pytest.mark.parametrize("objects", [False, True])
def test_j04_nesting_up_to_the_limit_is_kept_and_above_it_is_rejected_before_a_byte_is_written(
    tmp_path: Path, objects: bool
) -> None:
    """Counted are the levels of the event's data and of the state it makes: 200 each."""
    made = make(tmp_path, 1)
    levels = codec.MAX_DEPTH - 1
    with made.open() as engine:
        engine.append("set", {"path": "/k", "value": nested(levels, objects=objects)})
        before = files(made.path)
        for deeper in (levels + 1, levels + 2, NEST, 100_000):
            with pytest.raises(UsageError, match="nested more than 200 deep"):
                engine.append("set", {"path": "/k", "value": nested(deeper, objects=objects)})
        assert files(made.path) == before
    with made.open() as engine:
        assert engine.state == engine.state_at(2) == {"k": nested(levels, objects=objects)}
        assert engine.verify().ok


def test_j04_state_that_grows_deeper_step_by_step_is_stopped_at_the_limit(tmp_path: Path) -> None:
    """Each event is flat enough; the state that they make together must be, too."""
    made = make(tmp_path, 1)
    half = nested(codec.MAX_DEPTH // 2)
    with made.open() as engine:
        engine.append("set", {"path": "/k", "value": half})
        pointer = "/k" + "/0" * (codec.MAX_DEPTH // 2)
        before = files(made.path)
        with pytest.raises(UsageError, match="201 levels deep"):
            engine.append("set", {"path": pointer, "value": half})
        assert files(made.path) == before
        assert engine.state == {"k": half}
    made.log_on()


def test_j04_deep_settings_are_refused_without_a_traceback(tmp_path: Path) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    settings.write_bytes(settings.read_bytes() + b"deep: " + b"[" * 600 + b"]" * 600 + b"\n")
    assert refused(made, Corrupt, 5).path == str(settings)


def test_j04_deep_import_is_kept_as_text_and_said(tmp_path: Path) -> None:
    text = b"[" * NEST + b"]" * NEST
    version = Version(n=1, time="2026-03-01", path="a.json", content=text)
    report = import_versions(tmp_path / "run", [version])
    assert (report.imported, report.texts) == (1, 1)
    assert "levels" in report.notes[0].why


# --- J05: the same key twice ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (b'{"last_seq":3,"last_seq":9}', "last_seq"),
        (b'{"a":{"b":1,\n"b":1}}', "b"),
        (b'[{"":1,"":1}]', ""),
        (b'{"a":1,"\\u0061":2}', "a"),
    ],
)
def test_j05_key_that_stands_twice_in_state_json_is_drift_naming_key_and_line(
    tmp_path: Path, text: bytes, key: str
) -> None:
    made = make(tmp_path)
    made.state.write_bytes(text)
    error = refused(made, Drift, 7)
    assert f'the key "{key}" twice' in error.why
    assert f"line {text.count(bytes([10])) + 1}" in error.why
    with made.read() as engine:
        assert engine.state == {"k": 5}


@pytest.mark.parametrize(
    "member", [b'"seq":9', b'"data":{}', b'"type":"remove"', b'"crc":"00000000"']
)
def test_j05_member_that_stands_twice_on_a_line_of_the_log_is_refused(
    tmp_path: Path, member: bytes
) -> None:
    made = make(tmp_path)
    offset = made.offset(3)
    made.edit(3, b',"crc":', b"," + member + b',"crc":')
    refused_as_corrupt(made, line=3, offset=offset)
    found = readable(made)
    assert found.seqs == [1, 2, 4, 5]
    assert found.damage is not None
    assert found.damage.line == 3


def test_j05_forged_line_with_two_seqs_is_a_problem_to_verify(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.edit(3, b',"crc":', b',"seq":9,"crc":', sealed=True)
    with unchanged(made), made.read() as engine:
        (problem,) = engine.verify().problems
    assert (problem.kind, problem.seq) == ("order", 3)


@pytest.mark.parametrize("key", ["durability", "id", "format"])
def test_j05_setting_that_stands_twice_is_refused_with_both_lines(tmp_path: Path, key: str) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    lines = settings.read_text().splitlines()
    first = next(n for n, line in enumerate(lines, 1) if line.startswith(f"{key}:"))
    settings.write_text("\n".join([*lines, lines[first - 1], ""]))
    error = refused(made, Corrupt, 5)
    assert (error.path, error.line) == (str(settings), len(lines) + 1)
    assert f"{key} stands twice, first at line {first}" in error.why


def test_j05_nested_setting_that_stands_twice_is_refused(tmp_path: Path) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    text = settings.read_text().replace("views: {}", "views:\n  every_ms: 5\n  every_ms: 7")
    settings.write_text(text)
    assert "every_ms stands twice" in refused(made, Corrupt, 5).why


def test_j05_key_that_stands_twice_in_an_imported_version_is_said_and_the_last_counts(
    tmp_path: Path,
) -> None:
    source = tmp_path / "versions.jsonl"
    content = orjson.dumps('{"a":1,"a":2}').decode()
    source.write_text(f'{{"n":1,"time":"2026-03-01","path":"a.json","content":{content}}}\n')
    report = import_versions(tmp_path / "run", read_versions(source))
    assert (report.imported, report.problem_count) == (1, 0)
    assert 'the key "a" twice' in report.notes[0].why
    with journal.open(tmp_path / "run") as engine:
        assert engine.state == {"a": 2}


# --- J07: values that change on the way ----------------------------------------------------------

CHANGING: dict[str, Any] = {
    "floats": [0.1, 1.0, -0.0, 0.0, 1e16, 1e-7, 1e22, 5e-324, 1.7976931348623157e308],
    "one": [1, 1.0, True, "1"],
    "key order": {"b": 1, "a": 2, "aa": 3, "": 4},
    "times": ["2026-03-01T00:00:00Z", "2026-03-01T00:00:00.000+00:00"],
    "escapes": ['"\\/\b\f\n\r\t', "<>&'", "\u2028", "\U0001f600", "é", "e\u0301"],
    "empty": [[], {}, "", None, False, 0],
}  # fmt: skip


@pytest.mark.parametrize("value", CHANGING.values(), ids=CHANGING.keys())
def test_j07_value_comes_back_as_it_was_and_every_digest_holds(tmp_path: Path, value: Any) -> None:
    made = make(tmp_path, 1)
    with made.open() as engine:
        engine.append("set", {"path": "/k", "value": value})
        engine.snapshot()
        head = engine.head()
    log = made.log.read_bytes()
    with made.open() as engine:
        assert repr(engine.state) == repr(engine.state_at(2)) == repr({"k": value})
        report = engine.verify([(head.seq, head.sha256)])
        assert (report.problems, report.notes) == ([], [])
        before = made.state.read_bytes()
        rebuilt = engine.rebuild()
        assert (rebuilt.written, made.state.read_bytes()) == ([], before)
    assert made.log.read_bytes() == log


def test_j07_equal_numbers_of_another_type_are_another_event(made_with_key: Made) -> None:
    """1, 1.0 and true under one idempotency key are three contents."""
    with made_with_key.open() as engine:
        assert engine.append("set", {"path": "/k", "value": 1}, id="one").seq == 2
        for value in (1.0, True, "1"):
            with pytest.raises(journal.Conflict, match="event 2"):
                engine.append("set", {"path": "/k", "value": value}, id="one")


@pytest.fixture
def made_with_key(tmp_path: Path) -> Made:
    made = make(tmp_path, 1)
    with made.open() as engine:
        engine.append("set", {"path": "/k", "value": 1}, id="one")
    return made
