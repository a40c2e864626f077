"""JSON that a caller gives is read strictly; what is wrong with it is named with its place."""

from pathlib import Path

import pytest

from tests.cli.command import Run
from tests.cli.test_commands import segment

BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("", "empty"),
        ("{", "line 1"),
        ('{"path": "/a", "value": NaN}', "NaN"),
        ('{"path": "/a", "value": 1, "value": 2}', '"value" twice'),
        ('{"path": "/a", "value": "\\ud83d"}', "surrogate"),
        ('{"path": "/a", "value": 18446744073709551616}', "18446744073709551616"),
        ('{"path": "/a", "value": 1} {}', "line 1"),
        ('{"path": "/a", "value": ' + "[" * 201 + "]" * 201 + "}", "200"),
    ],
)
def test_data_that_is_no_json_value_is_refused_with_its_place(
    journal: Run, data: str, why: str
) -> None:
    before = segment().read_bytes()
    for args, stdin in ((("set", data), b""), (("set", "-"), data.encode())):
        done = journal("append", *args, stdin=stdin)
        assert (done.code, done.out) == (2, "")
        assert why in done.err
        assert ("DATA" if not stdin else "standard input") in done.err or not data
    assert segment().read_bytes() == before


def test_data_that_is_not_utf_8_is_refused_with_its_byte(journal: Run) -> None:
    done = journal("append", "set", "-", stdin=b'{"path": "/a", "value": "\xff"}')
    assert done.code == 2
    assert "line 1, byte 25: " in done.err
    assert "0xFF" in done.err


def test_a_bom_is_passed_over_and_said(journal: Run) -> None:
    done = journal("append", "set", "-", stdin=BOM + b'{"path": "/a", "value": 1}')
    assert done.code == 0
    assert "byte order mark" in done.err


GOOD = b'{"type": "set", "data": {"path": "/a", "value": {}}}'


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b'{"type": "set", "data": {"path": "/a", "value": NaN}}', "NaN"),
        (b'{"type": "set", "data": {}, "data": {}}', '"data" twice'),
        (b'{"type": "set"}', "data is missing"),
        (b'{"data": {}}', "type is missing"),
        (b'{"type": "set", "data": {}, "tpye": 1}', "tpye is not known"),
        (b'{"type": "set", "data": {}, "cause": -1}', "cause is out of its range"),
        (b'{"type": "set", "data": {}, "id": 7}', "id is a whole number, text is expected"),
        (b"[]", "a line is a list"),
        (b'{"type": "unheard_of", "data": {}}', "unheard_of"),
        (b'{"type": "set", "data": {"path": "/a"}}', "data.value is missing"),
        (b'{"type": "set", "data": {"path": "/a/b/c", "value": 1}}', 'no member "b"'),
        (b'{"type": "journal.lost", "data": {}}', "journal.lost"),
    ],
)
def test_a_bad_line_of_a_batch_is_named_and_nothing_is_appended(
    journal: Run, bad: bytes, why: str
) -> None:
    before = segment().read_bytes()
    Path("batch.jsonl").write_bytes(b"\n".join([GOOD, b"", bad, GOOD, b""]))
    done = journal("append", "--batch", "batch.jsonl")
    assert (done.code, done.out) == (2, "")
    assert "batch.jsonl, line 3" in done.err
    assert why in done.err
    assert "Nothing was appended." in done.err
    assert segment().read_bytes() == before


def test_lines_are_numbered_as_an_editor_does_behind_a_bom_and_blank_lines(journal: Run) -> None:
    batch = BOM + b"\n\n" + GOOD + b"\r\n" + b'{"type": "no", "data": 1}'
    done = journal("append", "--batch", "-", stdin=batch)
    assert "standard input, line 4: 'no' is not an event" in done.err


def test_an_empty_batch_is_refused(journal: Run) -> None:
    assert journal("append", "--batch", "-").code == 2


def test_a_batch_that_breaks_a_rule_only_as_a_whole_keeps_its_reason(journal: Run) -> None:
    line = GOOD[:-1] + b', "id": "k"}\n'
    done = journal("append", "--batch", "-", stdin=line * 2)
    assert done.code == 2
    assert "an id stands twice in one append" in done.err
