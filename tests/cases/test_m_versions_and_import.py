"""Group M: newer programs, unknown events, settings that do not fit, and imports."""

import io
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import journal
from journal.errors import Corrupt, UnsupportedFormat, UsageError
from projections.document import importing
from projections.document.exporting import export_events, write_versions
from projections.document.file import read_file
from projections.document.importing import import_versions
from projections.document.versions import read_versions
from tests.cases.made import (
    Child,
    Made,
    append_to,
    clock,
    files,
    make,
    make_segments,
    readable,
    refused,
    unchanged,
)

# --- M01: events that are not understood ---------------------------------------------------------

UNKNOWN = {
    "a type": (b"zz.future", b'{"x":[1,2.5,{"y":"z"}],"extra":null}'),
    "an engine's type": (b"journal.future", b'{"x":1}'),
    "a member": (b"set", b'{"path":"/k","value":1,"extra":2}'),
    "a missing member": (b"set", b'{"path":"/k"}'),
    "a wrong type": (b"set", b'{"path":7,"value":1}'),
    "no object": (b"set", b"[1]"),
    "null": (b"remove", b"null"),
}


@pytest.mark.parametrize(("type_name", "data"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_m01_event_that_is_not_understood_is_kept_counted_and_leaves_state_alone(
    tmp_path: Path, type_name: bytes, data: bytes
) -> None:
    made = make(tmp_path, 3)
    made.add(line := made.next_line(data, type=type_name.decode()))
    made.forget()
    with made.open() as engine:
        assert (engine.seq, engine.state) == (4, {"k": 3})
        append_to(engine, 6)
        engine.snapshot()
        assert engine.state == {"k": 6}
    assert made.lines()[3] == line
    with made.open() as engine:
        report = engine.verify()
        assert (report.ok, report.unknown) == (True, {type_name.decode(): 1})
        assert (engine.state_at(4), engine.state_at(5)) == ({"k": 3}, {"k": 5})
        engine.rebuild()
        out = io.BytesIO()
        export_events(engine, out)
        assert engine.verify().ok
    assert out.getvalue() == made.log.read_bytes()
    assert made.lines()[3] == line


@pytest.mark.parametrize("name", ["zz.future", "journal.created", "journal.lost", "", " ", "set\n"])
def test_m01_event_that_is_not_known_cannot_be_appended(tmp_path: Path, name: str) -> None:
    made = make(tmp_path, 2)
    with made.open() as engine:
        before = files(made.path)
        with pytest.raises(UsageError) as caught:
            engine.append(name, {})
        assert caught.value.key == "type"
        assert "set" in caught.value.advice
        assert files(made.path) == before


# --- M02: newer formats --------------------------------------------------------------------------


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("number", [2, 99])
def test_m02_settings_of_a_newer_format_are_refused_with_both_numbers(
    tmp_path: Path, number: int, read_only: bool
) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    settings.write_text(settings.read_text().replace("format: 1", f"format: {number}"))
    error = refused(made, UnsupportedFormat, 6, read_only=read_only)
    assert (error.path, error.found, error.supported) == (str(settings), number, 1)
    assert f"format {number}" in error.message
    assert "format 1" in error.message


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("number", [b"2", b"99", b"0", b'"1"', b"null"])
def test_m02_log_of_a_newer_format_is_refused_whatever_journal_yaml_says(
    tmp_path: Path, number: bytes, read_only: bool
) -> None:
    made = make(tmp_path)
    made.edit(1, b'"format":1', b'"format":' + number, sealed=True)
    error = refused(made, UnsupportedFormat, 6, read_only=read_only)
    assert error.path == str(made.log)
    assert "format 1" in error.message


def test_m02_newest_segment_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    """A newer program went on with our journal."""
    made = make_segments(tmp_path, 10)
    made.edit(1, b'"format":1', b'"format":2', sealed=True)
    for read_only in (False, True):
        error = refused(made, UnsupportedFormat, 6, read_only=read_only)
        assert error.path == str(made.segment(9))


@pytest.mark.parametrize("number", ["0", "1.5", "'1'", "true", "[]", "null", "-1"])
def test_m02_format_that_is_no_format_of_ours_is_refused(tmp_path: Path, number: str) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    settings.write_text(settings.read_text().replace("format: 1", f"format: {number}"))
    with unchanged(made), pytest.raises((UnsupportedFormat, Corrupt)) as caught:
        made.open()
    assert str(settings) in str(caught.value)


SETTINGS: dict[str, tuple[str, str, str]] = {
    "unknown key": ("batch_ms: 100", "batch_mz: 100", "batch_mz"),
    "unknown key inside": ("views: {}", "views: {every: 5}", "every"),
    "type of durability": ("durability: always", "durability: 1", "durability"),
    "unknown durability": ("durability: always", "durability: sometimes", "durability"),
    "YAML's yes": ("durability: always", "durability: on", "durability"),
    "type of a number": ("batch_ms: 100", "batch_ms: '100'", "batch_ms"),
    "a float": ("batch_ms: 100", "batch_ms: 100.5", "batch_ms"),
    "zero": ("batch_ms: 100", "batch_ms: 0", "batch_ms"),
    "negative": ("segment_bytes: 67108864", "segment_bytes: -1", "segment_bytes"),
    "null": ("projection: document", "projection:", "projection"),
    "a list": ("projection: document", "projection: [document]", "projection"),
    "views is a list": ("views: {}", "views: []", "views"),
    "views is text": ("views: {}", "views: every", "views"),
    "negative every_ms": ("views: {}", "views: {every_ms: -1}", "views.every_ms"),
    "type in files": ("views: {}", "views: {files: {state: 5}}", "views.files"),
    "keep 0": ("snapshots: {}", "snapshots: {keep: 0}", "snapshots.keep"),
    "ratio 0": ("snapshots: {}", "snapshots: {log_ratio: 0}", "snapshots.log_ratio"),
    "ratio NaN": ("snapshots: {}", "snapshots: {log_ratio: .nan}", "snapshots.log_ratio"),
    "no id": ("id: ", "# id: ", "id"),
}


@pytest.mark.parametrize(("old", "new", "key"), SETTINGS.values(), ids=SETTINGS.keys())
def test_m02_setting_that_does_not_fit_is_refused_and_named(
    tmp_path: Path, old: str, new: str, key: str
) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    text = settings.read_text()
    assert text.count(f"\n{old}") == 1
    settings.write_text(text.replace(f"\n{old}", f"\n{new}"))
    for read_only in (False, True):
        error = refused(made, Corrupt, 5, read_only=read_only)
        assert error.path == str(settings)
        assert key in error.why
        assert "by hand" in error.advice


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("format: 1\nid: a\n\tprojection: document\n", 3),
        ("format: 1\n  id: a\n", 2),
        ("format: [1\n", 2),
        ("format: 1\n---\nformat: 1\n", 2),
        ("format: &a 1\nid: *b\n", 1),
        ("format: !!python/object:os.system {}\n", 1),
        ("<<<<<<< ours\nformat: 1\n=======\nformat: 1\n>>>>>>> theirs\n", None),
        ("- format: 1\n", None),
        ("just text\n", None),
        ("1: 2\n", None),
        ("# nothing\n", None),
    ],
)
def test_m02_settings_that_are_no_mapping_are_refused_with_the_line(
    tmp_path: Path, text: str, line: int | None
) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    settings.write_text(text)
    error = refused(made, Corrupt, 5)
    assert error.path == str(settings)
    if line is not None:
        assert error.line == line


def test_m02_projection_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    settings.write_text(
        settings.read_text().replace("projection: document", "projection: no.such:THING")
    )
    error = refused(made, UsageError, 2)
    assert error.key == "projection"


OPTIONS: dict[str, tuple[dict[str, object], str]] = {
    "durability": ({"durability": "sometimes"}, "durability"),
    "no durability": ({"durability": ""}, "durability"),
    "every_ms": ({"views_every_ms": -1}, "views_every_ms"),
    "every_ms as text": ({"views_every_ms": "5"}, "views_every_ms"),
    "view": ({"view_files": {"stat": "x.json"}}, "view_files"),
    "time": ({"time": "soon"}, ""),
    "projection": ({"projection": "documents"}, "projection"),
}


@pytest.mark.parametrize(("options", "key"), OPTIONS.values(), ids=OPTIONS.keys())
def test_m02_option_that_does_not_fit_is_a_usage_error_and_no_journal_is_made(
    tmp_path: Path, options: dict[str, object], key: str
) -> None:
    with pytest.raises(UsageError) as caught:
        journal.init(tmp_path / "run", **options)
    assert caught.value.key == key
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("durability", ["Always", "sync", "", "none"])
def test_m02_durability_that_is_not_known_never_opens_as_a_weaker_one(
    tmp_path: Path, durability: str
) -> None:
    made = make(tmp_path)
    error = refused(made, UsageError, 2, durability=durability)
    assert error.key == "durability"


# --- M04, M05 and M08: imports -------------------------------------------------------------------


def versions_file(tmp_path: Path, count: int = 20) -> Path:
    path = tmp_path / "versions.jsonl"
    lines = [
        f'{{"n":{n},"time":"2026-03-01T00:00:{n:02d}Z","actor":"ann","message":"m{n}",'
        f'"path":"a.json","value":{{"k":{n},"list":{list(range(n))}}}}}\n'
        for n in range(1, count + 1)
    ]
    path.write_text("".join(lines))
    return path


def killed_after(engine_calls: int, path: Path, source: Path) -> None:
    """Import by batches of four versions and be killed right after so many of them."""
    importing.BATCH_VERSIONS = 4
    left = [engine_calls]
    append = journal.Engine.append_batch

    def append_and_count(self: journal.Engine, *arguments: object, **options: object) -> object:
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        return append(self, *arguments, **options)  # type: ignore[arg-type]

    journal.Engine.append_batch = append_and_count  # type: ignore[method-assign, assignment]
    import_versions(path, read_versions(source))


@pytest.mark.parametrize("calls", [0, 1, 3])
def test_m04_killed_import_leaves_the_source_and_whole_versions_and_the_next_run_completes(
    tmp_path: Path, calls: int
) -> None:
    source = versions_file(tmp_path)
    before = source.read_bytes()
    child = Child(lambda: killed_after(calls, tmp_path / "run", source))
    _, status = os.waitpid(child.pid, 0)
    child.close()
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert source.read_bytes() == before
    with journal.open(tmp_path / "run") as engine:
        assert engine.seq == 1 + 4 * calls
    report = import_versions(tmp_path / "run", read_versions(source))
    assert (report.imported, report.already) == (20 - 4 * calls, 4 * calls)
    import_versions(tmp_path / "whole", read_versions(source))
    states = []
    for name in ("run", "whole"):
        with journal.open(tmp_path / name) as engine:
            states.append([engine.state_at(seq) for seq in range(22)])
            assert engine.verify().ok
    assert states[0] == states[1]


@pytest.mark.parametrize("calls", [0, 2])
def test_m04_import_killed_before_anything_was_made_leaves_nothing_or_an_init_to_complete(
    tmp_path: Path, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while `init` makes the journal: journal.yaml is written last."""
    source = versions_file(tmp_path)
    left = [calls]
    replace = os.replace

    def replace_and_count(*arguments: object) -> None:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        replace(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", replace_and_count)
    with pytest.raises(KeyboardInterrupt):
        import_versions(tmp_path / "run", read_versions(source))
    monkeypatch.undo()
    assert import_versions(tmp_path / "run", read_versions(source)).seq == 21


def test_m05_second_import_says_already_imported_and_changes_no_byte_of_the_log(
    tmp_path: Path,
) -> None:
    source = versions_file(tmp_path)
    import_versions(tmp_path / "run", read_versions(source))
    made = Made(tmp_path / "run")
    log, state = made.log.read_bytes(), made.state.read_bytes()
    report = import_versions(tmp_path / "run", read_versions(source))
    assert report.summary() == "already imported, 0 new (20 versions were there)"
    assert (made.log.read_bytes(), made.state.read_bytes()) == (log, state)


def test_m05_import_that_grew_takes_in_what_is_new(tmp_path: Path) -> None:
    import_versions(tmp_path / "run", read_versions(versions_file(tmp_path, 7)))
    report = import_versions(tmp_path / "run", read_versions(versions_file(tmp_path, 12)))
    assert (report.imported, report.already, report.seq) == (5, 7, 13)


@pytest.mark.parametrize("old", ['"k":7', '"m7"', '"ann"', "00:00:07"])
def test_m05_import_of_another_past_is_refused_and_changes_nothing(
    tmp_path: Path, old: str
) -> None:
    source = versions_file(tmp_path, 7)
    import_versions(tmp_path / "run", read_versions(source))
    lines = source.read_text().splitlines(keepends=True)
    lines[6] = lines[6].replace(old, old.replace("7", "8").replace("ann", "bob"))
    source.write_text("".join(lines))
    made = Made(tmp_path / "run")
    log = made.log.read_bytes()
    with pytest.raises(UsageError, match="version 7"):
        import_versions(tmp_path / "run", read_versions(source))
    assert made.log.read_bytes() == log


def test_m05_journal_s_own_export_is_recognised_as_imported(tmp_path: Path) -> None:
    import_versions(tmp_path / "run", read_versions(versions_file(tmp_path)))
    exported = tmp_path / "exported.jsonl"
    with journal.open(tmp_path / "run") as engine, exported.open("wb") as out:
        write_versions(engine, out)
    report = import_versions(tmp_path / "run", read_versions(exported))
    assert (report.imported, report.already) == (0, 20)


def test_m07_single_file_becomes_one_version_with_its_own_time_and_nothing_is_invented(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.json"
    path.write_text('{"step": 7}')
    os.utime(path, (1_700_000_000, 1_700_000_000))
    import_versions(tmp_path / "run", read_file(path))
    with journal.open(tmp_path / "run") as engine:
        created, event = engine.events()
        assert (event.data["n"], event.data["path"]) == (1, "state.json")
        assert event.data["source_time"] == event.time == "2023-11-14T22:13:20.000Z"
        assert created.time == event.time
        assert ("author" in event.data, "message" in event.data, event.actor) == (False, False, "")
        assert engine.state == {"step": 7}


@pytest.mark.parametrize("missing", ["file", "folder"])
def test_m07_file_that_is_not_there_is_an_error_with_its_path_and_makes_nothing(
    tmp_path: Path, missing: str
) -> None:
    path = tmp_path / "none.json"
    if missing == "folder":
        path.mkdir()
    readers: list[Callable[[Path], object]] = [read_file, lambda name: list(read_versions(name))]
    for read in readers:
        with pytest.raises(OSError, match=r"none\.json") as caught:
            read(path)
        assert str(path) in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_m08_second_export_equals_the_first_and_time_travel_gives_the_same_answers(
    tmp_path: Path,
) -> None:
    source = versions_file(tmp_path)
    exports = []
    for name in ("first", "second"):
        import_versions(tmp_path / name, read_versions(source))
        source = tmp_path / f"{name}.jsonl"
        with journal.open(tmp_path / name) as engine, source.open("wb") as out:
            write_versions(engine, out)
            exports.append(source.read_bytes())
    assert exports[0] == exports[1]
    with journal.open(tmp_path / "first") as first, journal.open(tmp_path / "second") as second:
        for time in ("2026-03-01T00:00:00Z", "2026-03-01T00:00:07Z", "2027-01-01"):
            assert first.state_at(time) == second.state_at(time)
            assert first.seq_at(time) == second.seq_at(time)


def test_m08_exported_events_are_the_lines_of_the_log(tmp_path: Path) -> None:
    made = make_segments(tmp_path, 10)
    out = io.BytesIO()
    with made.open(clock=clock) as engine:
        assert export_events(engine, out) == 10
    lines = [line for first in (1, 5, 9) for line in made.lines(made.segment(first))]
    assert out.getvalue() == b"".join(lines)
    assert readable(made).damage is None
