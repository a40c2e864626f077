"""Group C: empty, missing, unreadable, of the wrong shape: different answers, none "start anew"."""

import os
from pathlib import Path

import pytest

import journal
from journal.errors import Corrupt, JournalError, UsageError
from projections.document.importing import import_versions
from projections.document.versions import read_versions
from tests.cases.made import (
    Made,
    append_to,
    as_nobody,
    clock,
    files,
    make,
    make_segments,
    owned_by_nobody,
    readable,
    refused,
    refused_as_corrupt,
    seal,
    unchanged,
)

# --- C01: an empty log ---------------------------------------------------------------------------


def alone(made: Made) -> None:
    """Leave nothing beside log/ and journal.yaml."""
    made.forget()
    made.state.unlink()


def test_c01_empty_log_alone_is_an_empty_journal_and_takes_appends(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.put(b"")
    alone(made)
    with unchanged(made), made.read() as engine:
        assert (engine.seq, engine.state, list(engine.events())) == (0, {}, [])
    with made.open() as engine:
        journal_id = engine.id
        (event,) = engine.events()
        (said,) = engine.messages
    assert (event.type, event.data["id"]) == ("journal.created", journal_id)
    assert "the log was empty" in said
    made.log_on()


def test_c01_empty_log_beside_a_witness_is_refused_with_both_numbers(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.put(b"")
    error = refused_as_corrupt(made, line=1, offset=0)
    for fact in ("events 1 to 5 are missing", "event 5 was known", "end at event 0"):
        assert fact in error.why
    found = readable(made)
    assert (found.seqs, found.damage is None) == ([], False)
    with made.read() as engine, pytest.raises(Corrupt, match="events 1 to 5"):
        _ = engine.state


@pytest.mark.parametrize("left", ["state.json", "a snapshot"])
def test_c01_empty_log_beside_a_state_is_refused_and_keeps_it(tmp_path: Path, left: str) -> None:
    made = make(tmp_path)
    if left == "a snapshot":
        with made.open() as engine:
            engine.snapshot()
        made.state.unlink()
    made.put(b"")
    made.forget()
    error = refused(made, Corrupt, 5)
    assert error.offset == 0
    assert ("state.json" if left == "state.json" else "events 1 to 5") in str(error)


def test_c01_log_without_its_only_segment_is_refused(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.log.unlink()
    error = refused(made, Corrupt, 5)
    assert error.path == str(made.path / "log")
    assert "00000000000000000001.jsonl" in error.why
    with pytest.raises(Corrupt):
        made.read()


def test_c01_journal_without_its_log_folder_is_refused(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.log.unlink()
    (made.path / "log").rmdir()
    for options in ({}, {"read_only": True}):
        error = refused(made, Corrupt, 5, **options)
        assert error.path == str(made.path / "log")
        assert "missing" in error.why


@pytest.mark.parametrize("first_seq", [5, 9])
def test_c01_empty_segment_among_others_is_refused_and_readers_get_the_rest(
    tmp_path: Path, first_seq: int
) -> None:
    made = make_segments(tmp_path, 12)
    made.put(b"", made.segment(first_seq))
    error = refused(made, Corrupt, 5)
    assert made.segment(first_seq).name in error.path or str(first_seq) in error.why
    found = readable(made)
    lost = range(first_seq, first_seq + 4)
    assert found.seqs == [seq for seq in range(1, 13) if seq not in lost]
    assert found.damage is not None
    with made.read() as engine:
        assert not engine.verify().ok


# --- C02: an empty view --------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"\n", b"  \n\t\n"])
def test_c02_empty_state_is_written_again_and_said(tmp_path: Path, content: bytes) -> None:
    made = make(tmp_path)
    whole = made.state.read_bytes()
    made.state.write_bytes(content)
    with unchanged(made), made.read() as engine:
        assert engine.state == {"k": 5}
    with made.open() as engine:
        assert engine.state == {"k": 5}
        (said,) = engine.messages
        assert engine.verify().ok
    assert "state.json: it is empty" in said
    assert made.state.read_bytes() == whole
    assert list(made.quarantined.values()) == [content]


def test_c02_missing_state_is_written_again_and_said(tmp_path: Path) -> None:
    made = make(tmp_path)
    whole = made.state.read_bytes()
    made.state.unlink()
    with made.open() as engine:
        assert engine.state == {"k": 5}
        (said,) = engine.messages
    assert "state.json was missing" in said
    assert made.state.read_bytes() == whole
    assert made.quarantined == {}


def test_c02_empty_witness_reads_as_missing(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.witness.write_bytes(b"")
    assert readable(made) == ([1, 2, 3, 4, 5], None)
    made.log_on()


def test_c02_empty_settings_are_refused_and_not_taken_for_defaults(tmp_path: Path) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    settings.write_bytes(b"")
    for options in ({}, {"read_only": True}):
        error = refused(made, Corrupt, 5, **options)
        assert (error.path, error.why) == (str(settings), "the file is empty")


def test_c02_missing_settings_are_an_unfinished_init_that_init_completes(tmp_path: Path) -> None:
    made = make(tmp_path)
    (made.path / "journal.yaml").unlink()
    for options in ({}, {"read_only": True}):
        error = refused(made, JournalError, 1, **options)
        assert "journal.yaml is missing" in error.message
        assert "journal init" in error.advice
    before = made.log.read_bytes()
    with journal.init(made.path, clock=clock) as engine:
        assert (engine.seq, engine.state) == (5, {"k": 5})
    assert made.log.read_bytes() == before


def test_c02_empty_snapshot_is_passed_over_and_said(tmp_path: Path) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        engine.snapshot()
        append_to(engine, 8)
    made.snapshot(5).write_bytes(b"")
    made.state.unlink()
    with made.open() as engine:
        assert engine.state == {"k": 8}
        assert any("the file is empty" in said for said in engine.messages)


# --- C04: unreadable is not corrupt --------------------------------------------------------------

PLACES = {
    "the log": lambda made: made.log,
    "state.json": lambda made: made.state,
    "witness.json": lambda made: made.witness,
    "journal.yaml": lambda made: made.path / "journal.yaml",
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_c04_folder_in_the_place_of_a_file_is_refused_and_nothing_is_made(
    tmp_path: Path, place: object
) -> None:
    made = make(tmp_path)
    path = place(made)  # type: ignore[operator]
    path.unlink()
    path.mkdir()
    (path / "mine.txt").write_text("do not touch")
    with unchanged(made), pytest.raises(IsADirectoryError) as caught:
        made.open()
    assert str(caught.value.filename) == str(path)


@pytest.mark.parametrize("name", ["log", "snapshots", "quarantine"])
def test_c04_file_in_the_place_of_a_folder_is_never_replaced(tmp_path: Path, name: str) -> None:
    made = make(tmp_path)
    if name == "log":
        made.log.unlink()
        (made.path / "log").rmdir()
    (made.path / name).write_text("do not touch")
    if name == "quarantine":  # Nothing needs it yet, and verify says that something will.
        with made.open() as engine:
            engine.append("set", {"path": "/k", "value": 100})
            assert [problem.kind for problem in engine.verify().problems] == ["folder"]
    else:
        with unchanged(made), pytest.raises(NotADirectoryError) as caught:
            made.open()
        assert str(caught.value.filename) == str(made.path / name)
    assert (made.path / name).read_text() == "do not touch"


@pytest.mark.parametrize("name", ["state.json", "journal.yaml", "the log", "witness.json"])
def test_c04_fifo_in_the_place_of_a_file_is_refused_and_never_waited_for(
    tmp_path: Path, name: str
) -> None:
    made = make(tmp_path)
    path = PLACES[name](made)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file") as caught:
        made.open()
    assert str(caught.value.filename) == str(path)


@pytest.mark.parametrize("name", ["journal.yaml", "the log", "witness.json"])
def test_c04_symlink_in_the_place_of_a_private_file_is_not_followed(
    tmp_path: Path, name: str
) -> None:
    made = make(tmp_path)
    path = PLACES[name](made)
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    with unchanged(made), pytest.raises(OSError, match=r"symbolic|not a regular") as caught:
        made.open()
    assert str(caught.value.filename) == str(path)
    assert elsewhere.read_bytes() == before


def test_c04_state_that_cannot_be_read_is_kept_as_it_is_while_its_stat_is_the_known_one(
    shared_path: Path,
) -> None:
    """The design decides otherwise than the case: such a file need not be read at all."""
    made = make(shared_path)
    owned_by_nobody(made)
    made.state.chmod(0)
    assert as_nobody(lambda: made.open().close()) is None
    assert made.state.stat().st_mode & 0o777 == 0
    assert made.quarantined == {}


@pytest.mark.parametrize("name", ["journal.yaml", "the log", "witness.json", "state.json"])
def test_c04_unreadable_file_is_a_permission_error_with_its_path(
    shared_path: Path, name: str
) -> None:
    made = make(shared_path)
    path = PLACES[name](made)
    owned_by_nobody(made)
    if name == "state.json":
        path.write_text("mine")
    path.chmod(0)
    before = files_but(made, path)
    answer = as_nobody(lambda: made.open().close())
    assert (answer["error"], answer["path"]) == ("PermissionError", str(path))
    assert files_but(made, path) == before
    assert path.stat().st_mode & 0o777 == 0


def files_but(made: Made, path: Path) -> dict[str, object]:
    """Return all files but one, which may not be read."""
    mode = path.stat().st_mode
    path.chmod(0o600)
    found: dict[str, object] = dict(files(made.path))
    path.chmod(mode)
    return found


# --- C05: what is not there ----------------------------------------------------------------------


@pytest.mark.parametrize("read_only", [False, True])
def test_c05_journal_that_is_not_there_is_an_error_and_nothing_is_made(
    tmp_path: Path, read_only: bool
) -> None:
    for path in (tmp_path / "none", tmp_path / "none" / "deeper", tmp_path):
        with pytest.raises(JournalError) as caught:
            journal.open(path, read_only=read_only)
        assert (type(caught.value), caught.value.exit_code) == (JournalError, 1)
        assert str(path) in caught.value.message
        assert "journal init" in caught.value.advice
    assert list(tmp_path.iterdir()) == []


def test_c05_file_where_a_journal_is_asked_for_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("not a journal")
    with pytest.raises((JournalError, OSError)) as caught:
        journal.open(path)
    assert str(path) in str(caught.value)
    with pytest.raises((JournalError, OSError)) as caught:
        journal.init(path)
    assert str(path) in str(caught.value)
    assert path.read_text() == "not a journal"


@pytest.mark.parametrize("seq", [-1, 6, 10**30])
def test_c05_seq_that_is_not_there_is_a_usage_error(tmp_path: Path, seq: int) -> None:
    made = make(tmp_path)
    with unchanged(made), made.read() as engine:
        for ask in (engine.state_at, engine.head):
            with pytest.raises(UsageError, match="from 1 to 5") as caught:
                ask(seq)
            assert caught.value.exit_code == 2


def test_c05_unknown_projection_is_a_usage_error_and_nothing_is_made(tmp_path: Path) -> None:
    for name in ("documents", "no.such.module:NAME", "json:loads", "json:", ":", ""):
        with pytest.raises(UsageError) as caught:
            journal.init(tmp_path / "run", projection=name)
        assert caught.value.key == "projection"
    assert list(tmp_path.iterdir()) == []


# --- C07: lines of the wrong shape ---------------------------------------------------------------

WRONG_SHAPES = [
    b"null",
    b"42",
    b"[]",
    b'"x"',
    b"{}",
    b"true",
    b"{",
    b"x",
    b'{"seq":"4"}',
    b'{"seq":4.0}',
    b'{"seq":true}',
    b'{"seq":-1}',
    b'{"seq":0}',
    b'{"seq":4}',
    b'{"seq":99999999999999999999999}',
    b'{"seq":4,"seq":4}',
    b'{"seq":4,"time":"2026-03-01T14:45:00.000Z"}',
    b'{"seq":4,"time":"2026-03-01T14:45:00.000Z","type":"set"}',
    b'{"seq":4,"time":"2026-03-01T14:45:00.000Z","type":7,"data":{}}',
    b'{"seq":4,"time":7,"type":"set","data":{}}',
    b'{"seq":4,"time":"today","type":"set","data":{}}',
    b'{"seq":4,"time":"2026-03-01T14:45:00.000Z","type":"set","data":{},"part":[1]}',
    b'{"seq":4,"time":"2026-03-01T14:45:00.000Z","type":"set","data":{},"cause":"x"}',
    b'{"time":"2026-03-01T14:45:00.000Z","seq":4,"type":"set","data":{}}',
    b' {"seq":4,"time":"2026-03-01T14:45:00.000Z","type":"set","data":{}}',
    b'{"seq":4,"time":"2026-03-01T14:45:00.000Z","type":"set","data":{',
]

# These say what an event says, in other words than ours: a check alone tells them.
DECODABLE = WRONG_SHAPES[17:18] + WRONG_SHAPES[20:21] + WRONG_SHAPES[23:25]


@pytest.mark.parametrize("shape", WRONG_SHAPES)
def test_c07_line_of_the_wrong_shape_is_refused_with_its_number_and_good_neighbours_stay(
    tmp_path: Path, shape: bytes
) -> None:
    """Between two good lines, and once in the place of one."""
    made = make(tmp_path)
    offset = made.offset(4)
    made.insert(4, shape + b"\n")
    error = refused_as_corrupt(made, line=4, offset=offset)
    assert error.why
    found = readable(made)
    assert found.seqs == [1, 2, 3, 4, 5]
    assert found.damage is not None
    assert (found.damage.line, found.damage.offset) == (4, offset)

    made.put([line for line in made.lines() if b'"value":4' not in line])
    refused_as_corrupt(made, line=4, offset=offset)
    assert readable(made).seqs[:3] == [1, 2, 3]


@pytest.mark.parametrize("shape", [shape for shape in WRONG_SHAPES if shape not in DECODABLE])
def test_c07_forged_line_of_the_wrong_shape_is_reported_with_its_number_by_every_reader(
    tmp_path: Path, shape: bytes
) -> None:
    """With a crc that fits, so that only what it says is wrong; no TypeError, no KeyError."""
    made = make(tmp_path)
    lines = made.lines()
    forged = shape.removesuffix(b"}") + b',"crc":"00000000"}\n'
    made.put(seal([*lines[:3], forged, *lines[4:]]))
    offset = made.offset(4)
    found = readable(made)
    assert found.seqs == [1, 2, 3, 5]
    assert found.damage is not None
    assert (found.damage.line, found.damage.offset) == (4, offset)
    with unchanged(made), made.read() as engine:
        (problem,) = engine.verify().problems
        assert (problem.kind, problem.line, problem.offset) == ("damage", 4, offset)
        assert engine.state_at(3) == {"k": 3}
        with pytest.raises(Corrupt, match="line 4"):
            engine.state_at(4)
    made.state.unlink()
    error = refused_as_corrupt(made, line=4, offset=offset)
    assert error.why


# --- C08: one bad part of an import --------------------------------------------------------------


def versions_file(tmp_path: Path) -> Path:
    """Ten versions, the sixth without its number."""
    path = tmp_path / "versions.jsonl"
    lines = []
    for n in range(1, 11):
        number = b"" if n == 6 else b'"n":%d,' % n
        lines.append(b'{%b"time":"2026-03-01T00:00:%02dZ","value":{"k":%d}}\n' % (number, n, n))
    path.write_bytes(b"".join(lines))
    return path


def test_c08_bad_version_is_reported_with_its_place_and_the_nine_others_come_in(
    tmp_path: Path,
) -> None:
    path = versions_file(tmp_path)
    report = import_versions(tmp_path / "run", read_versions(path))
    assert (report.imported, report.problem_count, report.ok) == (9, 1, False)
    assert report.problems[0].place == f"{path}, line 6"
    assert "`n`" in report.problems[0].why
    with journal.open(tmp_path / "run") as engine:
        assert [event.data["n"] for event in engine.events(after=1)] == [1, 2, 3, 4, 5, 7, 8, 9, 10]


def test_c08_strict_import_of_a_bad_version_imports_none_and_makes_nothing(tmp_path: Path) -> None:
    path = versions_file(tmp_path)
    with pytest.raises(UsageError, match="line 6") as caught:
        import_versions(tmp_path / "run", read_versions(path), strict=True)
    assert caught.value.exit_code == 2
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "line",
    [
        b"null", b"42", b"[]", b'"x"', b"{}", b"{", b"\xff\xfe", b'{"n":"6"}', b'{"n":true}',
        b'{"n":6}', b'{"n":6,"time":7,"value":1}', b'{"n":6,"time":"soon","value":1}',
        b'{"n":0,"time":"2026-03-01","value":1}', b'{"n":6,"n":6,"time":"2026-03-01","value":1}',
        b'{"n":6,"time":"2026-03-01","value":1,"content":"1"}', b'{"n":6,"time":"2026-03-01"}',
        b'{"n":6,"time":"2026-03-01","content_b64":"!"}',
        b'{"n":6,"time":"2026-03-01","value":NaN}',
        b'{"n":5,"time":"2026-03-01","value":1}', b"\x00" * 20,
    ],
)  # fmt: skip
def test_c08_every_kind_of_bad_line_costs_itself_alone(tmp_path: Path, line: bytes) -> None:
    path = versions_file(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[5] = line + b"\n"
    path.write_bytes(b"".join(lines))
    report = import_versions(tmp_path / "run", read_versions(path))
    assert (report.imported, report.problem_count) == (9, 1)
    assert report.problems[0].place == f"{path}, line 6"
    assert report.problems[0].why


@pytest.mark.parametrize("left", [0, 100, 175, 300, 690])
def test_a_reader_whose_segment_gets_shorter_is_told_and_does_not_wait(
    tmp_path: Path, left: int
) -> None:
    made = make(tmp_path, 6)
    assert left < made.log.stat().st_size
    with made.read() as engine:
        os.truncate(made.log, left)
        with pytest.raises(Corrupt):
            list(engine.events())
        with pytest.raises(Corrupt):
            engine.replay()
        assert not engine.verify().ok
        assert engine.audit().problems
