"""Group I: byte order marks, other encodings, line ends and control characters.

In the log every byte counts, so what another program made of it is refused: named, with the way
back, after which the log is whole again. In files of people's (state.json, journal.yaml, imports)
what can be read without guessing is read.
"""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import journal
from journal.errors import Corrupt, Drift, UsageError
from projections.document.exporting import export_events
from projections.document.importing import import_versions
from projections.document.versions import read_versions
from tests.cases.made import (
    files,
    make,
    readable,
    refused,
    refused_as_corrupt,
    seal,
    unchanged,
)

BOM = b"\xef\xbb\xbf"


# --- I01: byte order marks -----------------------------------------------------------------------


@pytest.mark.parametrize("line", [1, 2, 3, 5])
def test_i01_bom_before_a_line_of_the_log_is_refused_by_name_and_taking_it_out_mends_it(
    tmp_path: Path, line: int
) -> None:
    """The design counts every byte: the case's "works" holds after the way back that is told."""
    made = make(tmp_path)
    whole = made.log.read_bytes()
    offset = made.offset(line)
    made.insert(line, BOM)
    error = refused_as_corrupt(made, line=line, offset=offset)
    assert "byte order mark" in error.why
    assert "three bytes" in error.advice
    found = readable(made)
    assert found.seqs == [seq for seq in range(1, 6) if seq != line]
    assert found.damage is not None
    assert "byte order mark" in found.damage.why
    made.put(whole)
    made.log_on()


def test_i01_bom_in_state_json_is_no_drift_and_ours_has_none(tmp_path: Path) -> None:
    made = make(tmp_path)
    whole = made.state.read_bytes()
    made.state.write_bytes(BOM + whole)
    with made.read() as engine:
        assert engine.state == {"k": 5}
    with made.open() as engine:
        assert engine.state == {"k": 5}
    assert made.state.read_bytes() == whole
    assert list(made.quarantined.values()) == [BOM + whole]


def test_i01_bom_in_a_state_that_was_edited_does_not_hide_the_edit(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.state.write_bytes(BOM + b'{"k": 6}')
    assert refused(made, Drift, 7).pointer == "/k"
    with made.open(on_drift="adopt") as engine:
        assert engine.state == {"k": 6}


def test_i01_bom_in_journal_yaml_is_passed_over(tmp_path: Path) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    settings.write_bytes(BOM + settings.read_bytes())
    with made.open() as engine:
        assert (engine.state, engine.messages) == ({"k": 5}, [])


def test_i01_bom_before_the_witness_makes_it_read_as_missing(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.witness.write_bytes(BOM + made.witness.read_bytes())
    made.log_on()


def test_i01_bom_in_an_import_is_passed_over_in_the_file_and_said_in_a_version(
    tmp_path: Path,
) -> None:
    content = base64.b64encode(BOM + b'{"a":1}').decode()
    line = b'{"n":1,"time":"2026-03-01","path":"a.json","content_b64":"%b"}\n' % content.encode()
    source = tmp_path / "versions.jsonl"
    source.write_bytes(BOM + line)
    report = import_versions(tmp_path / "run", read_versions(source))
    assert (report.imported, report.problems) == (1, [])
    assert "byte order mark" in report.notes[0].why
    with journal.open(tmp_path / "run") as engine:
        assert engine.state == {"a": 1}


def test_i01_no_file_of_ours_begins_with_a_bom(tmp_path: Path) -> None:
    made = make(tmp_path)
    with made.open() as engine:
        engine.append("set", {"path": "/bom", "value": "\ufeff"})
        engine.snapshot()
    assert not [name for name, file in files(made.path).items() if file.data.startswith(BOM)]
    made.log_on()


# --- I02: UTF-16 ---------------------------------------------------------------------------------

WIDE: dict[str, Callable[[bytes], bytes]] = {
    "UTF-16 with a BOM": lambda data: data.decode().encode("utf-16"),
    "UTF-16BE with a BOM": lambda data: b"\xfe\xff" + data.decode().encode("utf-16-be"),
    "UTF-16LE": lambda data: data.decode().encode("utf-16-le"),
    "UTF-16BE": lambda data: data.decode().encode("utf-16-be"),
}


@pytest.mark.parametrize("wide", WIDE.values(), ids=WIDE.keys())
def test_i02_log_in_utf_16_is_refused_by_name_and_nothing_is_appended_to_it(
    tmp_path: Path, wide: Callable[[bytes], bytes]
) -> None:
    made = make(tmp_path)
    whole = made.log.read_bytes()
    made.put(wide(whole))
    for _ in range(2):
        error = refused_as_corrupt(made, line=1, offset=0)
        assert "UTF-16 text, expected UTF-8" in error.why
        assert "iconv" in error.advice
        found = readable(made)
        assert (found.seqs, found.damage is None) == ([], False)
        # Nothing but the log is left: it is refused all the same.
        made.forget()
        made.state.unlink(missing_ok=True)
    made.put(whole)
    made.log_on()


@pytest.mark.parametrize("wide", WIDE.values(), ids=WIDE.keys())
def test_i02_state_in_utf_16_is_drift_by_name_and_is_not_taken_for_zeros(
    tmp_path: Path, wide: Callable[[bytes], bytes]
) -> None:
    """NUL bytes of a power cut come in blocks; an editor's are every second byte."""
    made = make(tmp_path)
    made.state.write_bytes(wide(b'{"k": 6}\n'))
    error = refused(made, Drift, 7)
    assert error.path == str(made.state)
    assert "UTF-16 text, expected UTF-8" in error.why
    with made.read() as engine:
        assert engine.state == {"k": 5}
    with made.open(on_drift="replace") as engine:
        assert engine.state == {"k": 5}
    assert list(made.quarantined.values()) == [wide(b'{"k": 6}\n')]


def test_i02_settings_in_utf_16_are_refused_by_name(tmp_path: Path) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    settings.write_bytes(settings.read_bytes().decode().encode("utf-16"))
    error = refused(made, Corrupt, 5)
    assert (error.path, error.why) == (str(settings), "UTF-16 text, expected UTF-8")


def test_i02_line_in_utf_16_behind_ours_is_cut_and_kept(tmp_path: Path) -> None:
    """As another program's `echo >> log` leaves it: NUL bytes at the end, the table says cut."""
    made = make(tmp_path)
    made.add(line := made.next_line().decode().encode("utf-16-le"))
    with made.open() as engine:
        assert engine.state == {"k": 5}
        assert "UTF-16" in engine.messages[0]
    assert line in made.quarantined.values()
    made.log_on()


@pytest.mark.parametrize("wide", WIDE.values(), ids=WIDE.keys())
def test_i02_import_of_utf_16_is_a_problem_by_name(
    tmp_path: Path, wide: Callable[[bytes], bytes]
) -> None:
    source = tmp_path / "versions.jsonl"
    source.write_bytes(wide(b'{"n":1,"time":"2026-03-01","value":1}'))
    report = import_versions(tmp_path / "run", read_versions(source))
    assert (report.imported, report.problem_count) == (0, 1)
    assert "UTF-16 text, expected UTF-8" in report.problems[0].why
    assert not (tmp_path / "run").exists()


# --- I04 and I05: what is no UTF-8 ---------------------------------------------------------------


@pytest.mark.parametrize("text", ["\ud83d", "a\udc00b", "\udfff\ud800"])
def test_i04_lone_surrogate_is_rejected_with_its_path_before_a_byte_is_written(
    tmp_path: Path, text: str
) -> None:
    made = make(tmp_path, 2)
    places: dict[str, dict[str, Any]] = {
        "data.value.a[0]": {"data": {"path": "/k", "value": {"a": [text]}}},
        "data.value": {"data": {"path": "/k", "value": {text: 1}}},
        "actor": {"data": {"path": "/k", "value": 1}, "actor": text},
        "id": {"data": {"path": "/k", "value": 1}, "id": text},
    }
    with made.open() as engine:
        before = files(made.path)
        for key, arguments in places.items():
            with pytest.raises(UsageError, match="lone surrogate") as caught:
                engine.append("set", **arguments)
            assert caught.value.key.startswith(key)
        with pytest.raises(UsageError):
            engine.append(text, {})
        with pytest.raises(UsageError):
            engine.snapshot(trigger=text)
        assert files(made.path) == before


ESCAPES = {
    "a lone surrogate as escape": rb"\ud83d",
    "half a pair": rb"a\udc00b",
    "CESU bytes": b"\xed\xa0\xbd",
    "0xFF 0xFE": b"\xff\xfe",
    "Latin-1": b"caf\xe9",
    "a cut character": b"\xe2\x82",
    "an overlong form": b"\xc0\xaf",
    "beyond U+10FFFF": b"\xf4\x90\x80\x80",
    "a raw tab": b"a\tb",
    "a raw control character": b"a\x01b",
    "a wrong escape": rb"\x41",
}


@pytest.mark.parametrize("text", ESCAPES.values(), ids=ESCAPES.keys())
def test_i05_line_that_is_no_json_text_is_refused_with_line_and_offset_and_the_others_stay(
    tmp_path: Path, text: bytes
) -> None:
    """I04, I05 and I08: in the place of a good line."""
    made = make(tmp_path)
    offset = made.offset(3)
    made.edit(3, b'"/k"', b'"/' + text + b'"')
    refused_as_corrupt(made, line=3, offset=offset)
    found = readable(made)
    assert found.seqs == [1, 2, 4, 5]
    assert found.damage is not None
    assert (found.damage.line, found.damage.offset) == (3, offset)


@pytest.mark.parametrize("text", ESCAPES.values(), ids=ESCAPES.keys())
def test_i05_forged_line_that_is_no_json_text_leaves_no_traceback(
    tmp_path: Path, text: bytes
) -> None:
    """With a check that fits. What the decoder lets through is at least no other event's fault."""
    made = make(tmp_path)
    lines = made.lines()
    lines[2] = lines[2].replace(b'"/k"', b'"/k","x":"' + text + b'"')
    made.put(seal(lines))
    found = readable(made)
    assert found.seqs in ([1, 2, 4, 5], [1, 2, 3, 4, 5])
    assert (found.damage is None) == (3 in found.seqs)
    with unchanged(made), made.read() as engine:
        report = engine.verify()
        if found.damage is not None:
            assert (found.damage.line, [found.line for found in report.problems]) == (3, [3])


@pytest.mark.parametrize("text", ESCAPES.values(), ids=ESCAPES.keys())
def test_i05_state_that_is_no_json_text_is_drift_with_line_and_column_or_byte(
    tmp_path: Path, text: bytes
) -> None:
    made = make(tmp_path)
    made.state.write_bytes(b'{\n "k": "' + text + b'"}\n')
    error = refused(made, Drift, 7)
    assert (error.path, "line 2" in error.why) == (str(made.state), True)
    with made.read() as engine:
        assert engine.state == {"k": 5}
    with made.open(on_drift="replace"):
        pass
    assert b'{\n "k": "' + text + b'"}\n' in made.quarantined.values()


@pytest.mark.parametrize("text", [b"caf\xe9", b"\xff\xfe", b"\xed\xa0\xbd"])
def test_i05_settings_that_are_no_utf_8_are_refused_with_the_byte(
    tmp_path: Path, text: bytes
) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    settings.write_bytes(b"# " + text + b"\n" + settings.read_bytes())
    error = refused(made, Corrupt, 5)
    assert (error.path, error.offset) == (str(settings), 5 if text == b"caf\xe9" else 2)


def test_i05_versions_that_are_no_utf_8_are_kept_as_they_are_and_leave_state_alone(
    tmp_path: Path,
) -> None:
    raw = b'{"name": "caf\xe9"}'
    source = tmp_path / "versions.jsonl"
    source.write_bytes(
        b'{"n":1,"time":"2026-03-01","path":"a.json","content":"{}"}\n'
        b'{"n":2,"time":"2026-03-02","path":"a.json","content_b64":"%b"}\n' % base64.b64encode(raw)
    )
    report = import_versions(tmp_path / "run", read_versions(source))
    assert (report.imported, report.texts) == (2, 1)
    with journal.open(tmp_path / "run") as engine:
        assert engine.state == {}
        event = list(engine.events())[-1]
    assert base64.b64decode(event.data["text_b64"]) == raw
    assert "byte 0xE9" in event.data["why"]


# --- I07: line ends ------------------------------------------------------------------------------


def test_i07_log_with_crlf_is_refused_by_name_and_is_whole_when_converted_back(
    tmp_path: Path,
) -> None:
    """The design's only line break is LF and its checks count every byte; nothing is lost."""
    made = make(tmp_path)
    whole = made.log.read_bytes()
    made.put(whole.replace(b"\n", b"\r\n"))
    error = refused_as_corrupt(made, line=1, offset=0)
    assert "converted to CRLF" in error.why
    assert "sed -i" in error.advice
    with made.read() as engine:
        (problem, *_) = engine.verify().problems
    assert (problem.line, "converted to CRLF" in problem.message) == (1, True)
    made.put(made.log.read_bytes().replace(b"\r\n", b"\n"))
    assert made.log.read_bytes() == whole
    made.log_on()


@pytest.mark.parametrize("line", [2, 3, 5])
def test_i07_one_line_with_crlf_is_refused_by_name_with_its_place(
    tmp_path: Path, line: int
) -> None:
    made = make(tmp_path)
    offset = made.offset(line)
    made.replace(line, made.lines()[line - 1][:-1] + b"\r\n")
    error = refused_as_corrupt(made, line=line, offset=offset)
    assert "converted to CRLF" in error.why
    found = readable(made)
    assert found.seqs[: line - 1] == list(range(1, line))
    assert found.damage is not None


def test_i07_log_with_cr_is_refused_by_name(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.put(made.log.read_bytes().replace(b"\n", b"\r"))
    error = refused_as_corrupt(made, line=1, offset=0)
    assert "converted to CR" in error.why


@pytest.mark.parametrize("end", [b"\r\n", b"\r", b"\n\n", b""])
def test_i07_line_ends_of_state_json_are_no_drift(tmp_path: Path, end: bytes) -> None:
    made = make(tmp_path)
    whole = made.state.read_bytes()
    made.state.write_bytes(whole.replace(b"\n", end))
    with made.open() as engine:
        assert engine.state == {"k": 5}
    assert made.state.read_bytes() == whole


def test_i07_line_ends_of_journal_yaml_do_not_matter(tmp_path: Path) -> None:
    made = make(tmp_path)
    settings = made.path / "journal.yaml"
    settings.write_bytes(settings.read_bytes().replace(b"\n", b"\r\n"))
    with made.open() as engine:
        assert (engine.state, engine.messages) == ({"k": 5}, [])


def test_i07_import_with_crlf_is_read(tmp_path: Path) -> None:
    source = tmp_path / "versions.jsonl"
    source.write_bytes(b'{"n":1,"time":"2026-03-01","value":1}\r\n' * 1)
    assert import_versions(tmp_path / "run", read_versions(source)).imported == 1


# --- I08: control characters ---------------------------------------------------------------------


def test_i08_every_character_comes_back_as_it_went_in_from_every_place(tmp_path: Path) -> None:
    characters = [chr(code) for code in (*range(0x100), 0x2028, 0x2029, 0xFEFF, 0xFFFF, 0x10FFFF)]
    value = {"text": "".join(characters), "list": characters, "keys": dict.fromkeys(characters, 1)}
    made = make(tmp_path, 1)
    with made.open() as engine:
        engine.append("set", {"path": "/k", "value": value}, actor="\u0000a\n", id="\u2028")
        engine.snapshot(trigger="\u0000\u2028")
        assert engine.verify().ok
    assert len(made.lines()) == 3
    assert b"\0" not in made.log.read_bytes()
    with made.open() as engine:
        event = next(engine.events(after=1, upto=2))
        assert (event.data["value"], event.actor, event.id) == (value, "\u0000a\n", "\u2028")
        assert engine.state == engine.state_at(2) == {"k": value}
        assert engine.snapshots()[0].trigger == "\u0000\u2028"
        again = engine.append("set", {"path": "/k", "value": value}, actor="x", id="\u2028")
        assert again.seq == 2
        exported = tmp_path / "events.jsonl"
        with exported.open("wb") as out:
            export_events(engine, out)
    assert exported.read_bytes() == made.log.read_bytes()
