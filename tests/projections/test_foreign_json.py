"""JSON and JSON Lines from outside: every fault is named with its place, nothing is guessed."""

import json
import sys
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journal.errors import Corrupt
from projections import patch
from projections.foreign import read_document, read_json, read_jsonl
from projections.foreign.json_scanner import Scanner
from projections.foreign.source import Source
from projections.foreign.suffix import kind_of

PATH = "state.json"
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def fault(data: bytes, **options: Any) -> Corrupt:
    with pytest.raises(Corrupt) as caught:
        read_json(data, path=PATH, **options)
    assert caught.value.path == PATH
    assert caught.value.advice
    return caught.value


def scan(text: str) -> Any:
    source = Source(text.encode(), PATH)
    return Scanner(source, 0, len(source.text), lenient=True).read()


@settings(max_examples=60)
@given(JSON, st.booleans(), st.sampled_from([None, 2]))
def test_what_json_writes_is_read_back_by_both_readers(
    value: Any, ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert patch.equal(read_json(text.encode(), path=PATH).value, value)
    assert patch.equal(scan(text), value)


@settings(max_examples=60)
@given(JSON, st.data())
def test_damaged_text_is_read_as_the_standard_library_reads_it_or_refused(
    value: Any, data: Any
) -> None:
    text = json.dumps(value)
    at = data.draw(st.integers(0, len(text)))
    new = data.draw(st.text(alphabet='{}[]",:0123456789.eE+-\\uDd8truefalsn \n\t', max_size=3))
    text = text[:at] + new + text[at + data.draw(st.integers(0, 2)) :]
    try:
        wanted = json.loads(text)
    except ValueError:
        fault(text.encode(), lenient=True)
        return
    try:
        # Of what the standard library reads, this is all that is no value of ours.
        orjson.dumps(wanted)
        storable = "Infinity" not in json.dumps(wanted)
    except TypeError:
        storable = False
    if storable and "NaN" not in text and "Infinity" not in text:
        assert patch.equal(read_json(text.encode(), path=PATH, lenient=True).value, wanted)
        assert patch.equal(scan(text), wanted)
    elif text.count('"') == 0:  # else a value that another of the same key replaced may be at fault
        fault(text.encode(), lenient=True)


@pytest.mark.parametrize(
    "text",
    ["1", "1.0", "-0.0", "0.0", "0", "true", "1e2", str(2**53 + 1), str(2**64 - 1), str(-(2**63))],
)
def test_numbers_keep_their_type_and_sign(text: str) -> None:
    value = read_json(text.encode(), path=PATH).value
    assert (type(value), repr(value)) == (type(json.loads(text)), repr(json.loads(text)))
    assert repr(scan(text)) == repr(value)


def test_minus_zero_without_a_point_is_the_integer_zero() -> None:
    assert patch.equal(read_json(b"-0", path=PATH).value, 0)
    assert patch.equal(scan("-0"), 0)


@pytest.mark.parametrize(
    ("data", "line", "offset", "why"),
    [
        (b"", 1, 0, "the file is empty"),
        (b" \r\n\t\n", 1, 0, "the file holds nothing but white space"),
        (b"\0" * 64, 1, 0, "the file holds nothing but NUL bytes (64 of them)"),
        (b'{"a": 1}\n\0\0', 2, 9, "a NUL byte (2 in the file)"),
        (b"{\0\0\0\0\0\0\0\0", 1, 1, "a NUL byte (8 in the file)"),
        ('{"a": 1}'.encode("utf-16"), 1, 0, "UTF-16 text, expected UTF-8"),
        ('{"a": 1}'.encode("utf-16-le"), 1, 0, "UTF-16 text, expected UTF-8"),
        ('{"a": 1}'.encode("utf-16-be"), 1, 0, "UTF-16 text, expected UTF-8"),
        ('{"a": 1}'.encode("utf-32"), 1, 0, "UTF-32 text, expected UTF-8"),
        ('{"a": 1}'.encode("utf-32-le"), 1, 0, "UTF-32 text, expected UTF-8"),
        ('{"a": 1}'.encode("utf-32-be"), 1, 0, "UTF-32 text, expected UTF-8"),
        (b'{"a":\n"caf\xe9"}', 2, 10, "byte 0xE9 is not UTF-8 (invalid continuation byte)"),
        (b'["\xed\xa0\xbd"]', 1, 2, "byte 0xED is not UTF-8 (invalid continuation byte)"),
        (b'\xef\xbb\xbf["\xff"]', 1, 5, "byte 0xFF is not UTF-8 (invalid start byte)"),
        (b'{"a": 1', 1, 7, "found the end of the file"),
        (b'["a', 1, 3, "the end of the file inside a text that begins at line 1"),
        ('{"é": 1}\n}'.encode(), 2, 10, "the value ends here, but text follows it (bytes: 1)"),
        (b'{"a": 1}{"a"', 1, 8, "the value ends here, but text follows it (bytes: 4)"),
        (b'{"a": 1}\n\xef\xbb\xbf{"b": 2}', 2, 9, "the value ends here, but text follows it"),
        (b'{"a": [1,\n2}}', 2, 11, 'expected "," or "]" (the list begins at line 1), found "}"'),
        (b'{"a": 3 (text)"}', 1, 8, 'expected "," or "}" (the object begins at line 1), found "("'),
        (b'{"a": "say "no" twice"}', 1, 12, 'found "no"'),
        (b'{"a": 1,}', 1, 8, 'expected a value after the comma, found "}"'),
        (b"[1,]", 1, 3, 'expected a value after the comma, found "]"'),
        (b"{a: 1}", 1, 1, 'expected a key in double quotes, found "a"'),
        (b'{"a" 1}', 1, 5, 'expected ":" after the key, found "1"'),
        (b'{"a":}', 1, 5, 'expected a value, found "}"'),
        (b"[NaN]", 1, 1, 'found "NaN"'),
        (b"[-Infinity]", 1, 1, 'found "-Infinity"'),
        (b"[1, 1e999]", 1, 4, "the number 1e999 is too large"),
        (b"[01]", 1, 1, 'found "01"'),
        (b"[1.]", 1, 1, 'found "1."'),
        (b"[None]", 1, 1, 'found "None"'),
        (b'["\\ud83d"]', 1, 2, "\\ud83d is half of a pair"),
        (b'["x\\udc00\\ud83d"]', 1, 3, "\\udc00 is half of a pair"),
        (b'{"\\ud83d\\u0041": 1}', 1, 2, "\\ud83d is half of a pair"),
        (b'["\\x"]', 1, 2, '"\\x" is no escape'),
        (b'["\\u12"]', 1, 2, '"\\u" is no escape'),
        (b'["a\nb"]', 1, 3, "the control character U+000A inside a text"),
        (b'["a\tb"]', 1, 3, "the control character U+0009 inside a text"),
        (b"[18446744073709551616]", 1, 1, "the integer 18446744073709551616 is outside"),
        (b"[-9223372036854775809]", 1, 1, "the integer -9223372036854775809 is outside"),
        (b"[" + b"9" * 5000 + b"]", 1, 1, "(5000 characters) is outside"),
        (b"[" * 201 + b"]" * 201, 1, 200, "nested deeper than 200 levels"),
        (b"[" * 100_000, 1, 200, "nested deeper than 200 levels"),
        (b'{"a":' * 100_000, 1, 1000, "nested deeper than 200 levels"),
        (b'{"seq": 3,\n"seq": 9}', 2, 11, 'the key "seq" twice in one object, first at line 1'),
        (b'{"a": {"\\u0061": 1, "a": 1}}', 1, 20, 'the key "a" twice in one object'),
    ],
)
def test_fault_is_named_with_line_and_offset(data: bytes, line: int, offset: int, why: str) -> None:
    error = fault(data)
    assert why in error.why
    assert (error.line, error.offset) == (line, offset)
    assert str(error).startswith(f"state.json, line {line}, byte {offset}: ")


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"[NaN]", "write null"),
        (b"[True]", "Write true."),
        (b"['a']", "double quotes"),
        (b"// c\n1", "no comments"),
        (b"[01]", "no leading zeros"),
        (b"[1,]", "Remove the comma"),
        (b'["a"b"]', r"written \"."),
        (b"[1\xef\xbb\xbf]", "byte order mark inside"),
        (b"1\xef\xbb\xbf2", "byte order mark inside"),
        (b'{"a": 1}\n"b"}', "torn write"),
        (b"\xff\xfe1\0", "iconv -f UTF-16"),
        (b"\xff", "Save the file as UTF-8."),
    ],
)
def test_advice_says_what_would_be_right(data: bytes, hint: str) -> None:
    assert hint in fault(data).advice


MARKED = """{
  "a": 1,
<<<<<<< HEAD
  "b": null
=======
  "b": "x"
>>>>>>> other
}
"""
DIFF3 = "<<<<<<< ours\n1\n||||||| base\n2\n=======\n3\n>>>>>>> theirs\n"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (MARKED, "lines 3-7"),
        (MARKED.replace("\n", "\r\n"), "lines 3-7"),
        (MARKED + MARKED, "lines 3-7 and 11-15"),
        (DIFF3, "lines 1-7"),
        ("{}\n<<<<<<< HEAD\n", "line 2"),
        ('{"a": 1\n>>>>>>> other\n}', "line 2"),
    ],
)
def test_conflict_markers_are_the_reason_whatever_else_is_wrong(text: str, where: str) -> None:
    for data in (text.encode(), text.encode() + b"\xff", text.encode() + b"\0"):
        error = fault(data)
        assert error.why == f"git conflict markers at {where}"
        assert f" {error.line}-" in f" {where}-"
        assert data[error.offset :].startswith((b"<<<<<<<", b">>>>>>>"))
    with pytest.raises(Corrupt, match=f"git conflict markers at {where}"):
        read_jsonl(text.encode(), path="log.jsonl")


def test_marker_like_text_inside_a_value_is_no_conflict() -> None:
    text = json.dumps({"a": "<<<<<<< HEAD\n=======\n>>>>>>> x"})
    assert read_json(text.encode(), path=PATH).value == json.loads(text)


def test_bom_at_the_start_is_a_warning_and_counts_in_offsets() -> None:
    for lenient in (False, True):
        reading = read_json(b'\xef\xbb\xbf{"a": 1}', path=PATH, lenient=lenient)
        assert reading.value == {"a": 1}
        (warning,) = reading.warnings
        assert warning == "state.json, line 1: a UTF-8 byte order mark was passed over"
    assert fault(b"\xef\xbb\xbf[x]").offset == 4
    assert "found U+FEFF" in fault(b"\xef\xbb\xbf\xef\xbb\xbf[]").why


def test_lenient_reader_lets_the_last_equal_key_count_and_says_so() -> None:
    data = b'{"a": 1,\n "b": {"c": 1, "c": [2]},\n "a": 3}'
    reading = read_json(data, path=PATH, lenient=True)
    assert reading.value == {"a": 3, "b": {"c": [2]}}
    assert reading.warnings == (
        'state.json, line 2: the key "c" twice in one object, first at line 2; the last counts',
        'state.json, line 3: the key "a" twice in one object, first at line 1; the last counts',
    )


def test_depth_of_the_limit_is_read_also_near_the_end_of_the_stack() -> None:
    data = b"[" * 200 + b"]" * 200
    assert patch.depth(read_json(data, path=PATH).value) == 200

    def down(frames: int) -> Any:
        return down(frames - 1) if frames else read_json(data, path=PATH).value

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(300)
    try:
        assert patch.depth(down(120)) == 200
    finally:
        sys.setrecursionlimit(limit)


def test_lines_end_at_lf_only_and_the_last_may_lack_it() -> None:
    data = '{"a": "x\u2028y\u0085z"}\n[2]\r\n3'.encode()
    assert read_jsonl(data, path="log.jsonl").value == [{"a": "x\u2028y\u0085z"}, [2], 3]
    assert read_jsonl(b"1\n", path="log.jsonl").value == [1]


def test_blank_line_is_passed_over_with_a_warning() -> None:
    reading = read_jsonl(b"1\n\n \t\n2\n", path="log.jsonl")
    assert reading.value == [1, 2]
    assert reading.warnings == (
        "log.jsonl, line 2: a blank line was passed over",
        "log.jsonl, line 3: a blank line was passed over",
    )


@pytest.mark.parametrize(
    ("data", "line", "offset", "why"),
    [
        (b"", 1, 0, "the file is empty"),
        (b"\n\n", 1, 0, "nothing but white space"),
        (b'1\n{"a": 1}{"b": 2}\n', 2, 10, "the line goes on after its value"),
        (b"1\r2", 1, 2, "the line goes on after its value"),
        (b'{\n"a": 1\n}\n', 1, 1, "found the end of the line"),
        (b'1\n{"a": "\xff"}\n3', 2, 9, "byte 0xFF is not UTF-8"),
        (b"1\n\xef\xbb\xbf2\n", 2, 2, "found U+FEFF"),
        (b'1\n{"a": 1, "a": 2}\n', 2, 11, 'the key "a" twice'),
        (b"1\n2\n[3", 3, 6, "found the end of the line"),
        (b"1\n\0\0\0\0\n", 2, 2, "a NUL byte (4 in the file)"),
    ],
)
def test_fault_in_a_line_is_named_with_line_and_offset(
    data: bytes, line: int, offset: int, why: str
) -> None:
    with pytest.raises(Corrupt) as caught:
        read_jsonl(data, path="log.jsonl")
    assert why in caught.value.why
    assert (caught.value.line, caught.value.offset) == (line, offset)


def test_suffix_decides_the_reader() -> None:
    kinds = {"a.json": "json", "a.JSONL": "jsonl", "a.ndjson": "jsonl", "a.yml": "yaml"}
    kinds |= {
        "x/a.yaml": "yaml",
        "a.txt": "json",
        "yaml": "json",
        ".yaml": "json",
        "a.b.Yaml": "yaml",
    }
    assert {path: kind_of(path) for path in kinds} == kinds
    assert read_document(b'"1"\n2', path="a.jsonl").value == ["1", 2]
    assert read_document(b"- 1\n- b", path="a.yaml").value == [1, "b"]
    assert read_document(b"[1]", path="a").value == [1]
    for path, data in (
        ("a.jsonl", b'{"a":1,"a":2}'),
        ("a.yaml", b"a: 1\na: 2"),
        ("a", b'{"a":1,"a":2}'),
    ):
        with pytest.raises(Corrupt, match="twice"):
            read_document(data, path=path)
        assert len(read_document(data, path=path, lenient=True).warnings) == 1
