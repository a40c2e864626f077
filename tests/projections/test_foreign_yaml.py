"""YAML from outside: the rules for scalars, the refusals, one verdict with both parsers."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import yaml

from journal.errors import Corrupt
from projections import patch
from projections.foreign import Mark, Reading, read_yaml, yaml_text

PATH = "plan.yaml"
PARSERS = [yaml.CSafeLoader, yaml.SafeLoader]
Read = Callable[..., Reading]


@pytest.fixture(params=PARSERS, ids=["c", "python"])
def read(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Read:
    monkeypatch.setattr(yaml_text, "parser_class", lambda: request.param)

    def reader(text: str | bytes, **options: Any) -> Reading:
        data = text if isinstance(text, bytes) else text.encode()
        return read_yaml(data, path=PATH, **options)

    return reader


def fault(read: Read, text: str | bytes, **options: Any) -> Corrupt:
    with pytest.raises(Corrupt) as caught:
        read(text, **options)
    assert caught.value.path == PATH
    assert caught.value.line
    assert caught.value.offset is not None
    assert caught.value.advice
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None), ("~", None), ("", None), ("true", True), ("false", False),
        ("0", 0), ("-17", -17),
        ("18446744073709551615", 2**64 - 1), ("-9223372036854775808", -(2**63)),
        ("1.10", 1.1), ("-0.0", -0.0), ("1e3", 1000.0), ("1.5E-2", 0.015), ("-0", 0),
        ("2025-01-02", "2025-01-02"), ("2025-01-02T03:04:05Z", "2025-01-02T03:04:05Z"),
        ("2025-02-30", "2025-02-30"), ("12:30:45", "12:30:45"), ("yes", "yes"), ("no", "no"),
        ("on", "on"), ("y", "y"), ("True", "True"), ("NULL", "NULL"), ("0o17", "0o17"),
        ("0x1F", "0x1F"), ("017", "017"), ("1_000", "1_000"), ("+1", "+1"), (".5", ".5"),
        ("5.", "5."), (".inf", ".inf"), (".nan", ".nan"), ("=", "="), ("1 2", "1 2"), ("٣", "٣"),
        ("'1'", "1"), ('"null"', "null"), ('"\\u00e9\\U0001F600"', "é😀"), ("!!str 1.10", "1.10"),
        ("!!int 7", 7), ("!!float 7", 7.0), ("!!bool true", True), ("!!null ~", None),
        ("[a, {b: c}]", ["a", {"b": "c"}]), ("{}", {}), ("!!map {}", {}), ("!!seq []", []),
        ("a b\n  c", "a b c"), ("|\n  a\n  b\n", "a\nb\n"), (">-\n  a\n  b\n", "a b"),
        ("http://x/y#z", "http://x/y#z"), ("[http://x:1/y, a]", ["http://x:1/y", "a"]),
    ],
)  # fmt: skip
def test_scalars_follow_the_json_schema(read: Read, text: str, value: Any) -> None:
    assert patch.equal(read(f"k: {text}").value, {"k": value})
    assert patch.equal(read(f"- {text}").value, [value])


def test_keys_are_text_as_written(read: Read) -> None:
    text = "1: a\n1.10: b\ntrue: c\n~: d\n'1.1': e\n2025-01-02: f\n\"\": g\n"
    assert read(text).value == dict(zip(
        ["1", "1.10", "true", "~", "1.1", "2025-01-02", ""], "abcdefg", strict=True
    ))  # fmt: skip
    assert 'the key "1" twice' in fault(read, "1: a\n'1': b").why


@pytest.mark.parametrize(
    ("text", "line", "column", "why"),
    [
        ("a:\n  b: 1\n\tc: 2\n", 3, 1, "tab used for indentation"),
        ("a:\n  - x\n \t- y\n", 3, 2, "tab used for indentation"),
        ("a:\t1\n", 1, 3, "tab outside of quoted text"),
        ("a: b\tc\n", 1, 5, "tab outside of quoted text"),
        ("a: '#'\t\n", 1, 7, "tab outside of quoted text"),
        ("a: b\t# c\n", 1, 5, "tab outside of quoted text"),
        ("a: 1\n\t\nb: 2\n", 2, 1, "tab used for indentation"),
        ("a: [1,\t2]\n", 1, 7, "tab outside of quoted text"),
        ("a: |\n\tx\n", 2, 1, "tab used for indentation"),
        ("a: |\n  \tx\n  y\n", 2, 3, "tab used for indentation"),
        ("a: &x\t'b'\n", 1, 6, "tab outside of quoted text"),
        ("a: &x # c\n\t'b'\n", 2, 1, "tab used for indentation"),
        ("a: |\t\n  x\n", 1, 5, "tab outside of quoted text"),
    ],
)
def test_tab_that_separates_is_refused(
    read: Read, text: str, line: int, column: int, why: str
) -> None:
    error = fault(read, text)
    assert error.why == f"column {column}: {why}"
    assert error.line == line


def test_tab_in_quotes_block_text_and_comments_is_text(read: Read) -> None:
    text = "#\thead\na: 'x\ty' # see\tthere\nb: |\n  all:\n  \tcc\t-o\nc: \"d\n  \te\"\n"
    assert read(text).value == {"a": "x\ty", "b": "all:\n\tcc\t-o\n", "c": "d e"}


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("steps: 1\nx: 2\nsteps: 3\n", 3,
         'column 1: the key "steps" twice in one mapping, first at line 1'),
        ("a: {b: 1, b: 2}", 1, 'column 11: the key "b" twice in one mapping, first at line 1'),
        ("- a: 1\n  'a': 2", 2, 'column 3: the key "a" twice'),
        ("x: &x {}\ny:\n  <<: *x\n  <<: *x\n", 4, 'column 3: the key "<<" twice'),
    ],
)  # fmt: skip
def test_equal_keys_are_refused_with_both_lines(read: Read, text: str, line: int, why: str) -> None:
    error = fault(read, text)
    assert error.why.startswith(why)
    assert error.line == line


def test_lenient_reader_lets_the_last_equal_key_count_and_says_so(read: Read) -> None:
    reading = read("a: 1\nb: 2\na: 3\n", lenient=True)
    assert reading.value == {"a": 3, "b": 2}
    assert reading.warnings == (
        'plan.yaml, line 3: the key "a" twice in one mapping, first at line 1; the last counts',
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("b: &b {x: 1, y: 2}\nt:\n  <<: *b\n  x: 9\n", {"x": 9, "y": 2}),
        ("b: &b {x: 1, y: 2}\nt:\n  x: 9\n  <<: *b\n", {"x": 9, "y": 2}),
        ("b: &b {x: 1}\nt:\n  <<: [*b, {x: 2, z: 3}]\n", {"x": 1, "z": 3}),
        ("b: &b {x: 1}\nc: &c {<<: *b, y: 2}\nt: {<<: *c}\n", {"x": 1, "y": 2}),
        ("t: {'<<': 1, <<: {a: 2}}\n", {"<<": 1, "a": 2}),
    ],
)
def test_merge_key_merges_and_own_keys_win(read: Read, text: str, value: Any) -> None:
    assert read(text).value["t"] == value


def test_merge_of_what_is_no_mapping_is_refused(read: Read) -> None:
    for text in ("<<: 1", "<<: [1]", "<<: [[{a: 1}]]", "<<:"):
        assert '"<<" merges a mapping or a list of them' in fault(read, text).why


def test_aliases_build_trees_without_shared_parts(read: Read) -> None:
    value = read("a: &a {x: [1]}\nb: *a\nc: [*a, *a]\nd: &d 1.10\ne: *d\n").value
    assert value["b"] == value["a"] == value["c"][0]
    value["a"]["x"].append(2)
    value["c"][0]["x"].append(3)
    assert value == {
        "a": {"x": [1, 2]}, "b": {"x": [1]}, "c": [{"x": [1, 3]}, {"x": [1]}], "d": 1.1, "e": 1.1
    }  # fmt: skip


BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("a: &a [*a]", 1, "column 8: the alias *a stands inside what it names"),
        ("a: &a\n  b: {c: *a}", 2, "column 10: the alias *a stands inside what it names"),
        ("a: *nothing", 1, "column 4: the alias *nothing has no anchor before it"),
        ("a: &a [1]\n*a : 2", 2, "column 1: a key is text"),
    ],
)
def test_alias_that_cannot_be_expanded_is_refused(
    read: Read, text: str, line: int, why: str
) -> None:
    error = fault(read, text)
    assert error.why.startswith(why)
    assert error.line == line


@pytest.mark.slow
def test_alias_bomb_is_refused_before_it_goes_off(read: Read) -> None:
    assert len(BOMB) < 500
    assert "the aliases up to here would bring in more than" in fault(read, BOMB).why
    wide = f"a: &a {'x' * 1000}\nb: [{', '.join(['*a'] * 2000)}]"
    assert "the aliases up to here" in fault(read, wide).why


def test_aliases_that_grow_too_deep_are_refused(read: Read) -> None:
    chain = "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 250))
    error = fault(read, chain)
    assert "nested deeper than 200 levels" in error.why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: 1\n---\nb: 2\n", "2 documents, expected 1 (the second starts at line 2)"),
        ("---\na: 1\n...\n---\n", "2 documents, expected 1 (the second starts at line 4)"),
        ("a: 1\n--- {}\n---\nc: 3", "3 documents, expected 1 (the second starts at line 2)"),
        ("a: 1\n---\nb: [", "at least 2 documents, expected 1 (the second starts at line 2)"),
    ],
)
def test_second_document_is_refused_with_its_line(read: Read, text: str, why: str) -> None:
    assert fault(read, text).why == why


def test_one_document_may_be_marked(read: Read) -> None:
    assert read("%YAML 1.2\n---\na: 1\n...\n# end\n").value == {"a": 1}
    assert read("# head\n---\na: 1\n").value == {"a": 1}
    assert read("---\n").value is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the file is empty"),
        (b"# only\n\n# comments", "no YAML document, nothing but comments"),
        (b"a: caf\xe9", "byte 0xE9 is not UTF-8"),
        ("a: 1".encode("utf-16"), "UTF-16 text, expected UTF-8"),
        (b"a: 1\n\0\0", "a NUL byte (2 in the file)"),
        (b"a: \x07", "column 4: the character U+0007 cannot stand in YAML as it is"),
        ("a: x\u2028y".encode(), "column 5: the character U+2028 cannot"),
        (b"# head\r%FOO\n---\na: 1", "column 7: the character U+000D cannot"),
        ("a: 1\n\ufeffb: 2".encode(), "column 1: the character U+FEFF cannot"),
        (b"%FOO bar\n---\na: 1", 'column 1: the directive "%FOO bar" is not read'),
        (b"%YAML 1.3\n---\na: 1", 'column 1: the directive "%YAML 1.3" is not read'),
        (b"a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> x\n",
         "git conflict markers at lines 2-6"),
        (b"<<<<<<< HEAD\nfoo\n=======\nbar\n>>>>>>> x\n", "git conflict markers at lines 1-5"),
        (b"[" * 201 + b"]" * 201, "column 201: nested deeper than 200 levels"),
        (b"[" * 2_000, "nest"),
        (b"n: 18446744073709551616", "column 4: the number 18446744073709551616 is too large"),
        (b"n: 1e999", "column 4: the number 1e999 is too large"),
        (b"n: " + b"9" * 5000, "(5000 characters) is too large"),
        (b'a: "\\ud83d"', "column "),
        (b'a: "\\UFFFFFFFF"', "column "),
        (b"? [a]\n: 1", "column 3: a key is text, not a mapping or sequence"),
        (b"? # c\n: 1", "column 2: a key is missing"),
        (b"a: !important x", "column 4: the tag !important is not read"),
        (b"a: !!python/object:os.system {}", "the tag !!python/object:os.system is not read"),
        (b"a: !!timestamp 2025-01-02", "the tag !!timestamp is not read"),
        (b"a: !!int 1.5", "!!int does not fit the text"),
        (b"!!str a: !!set {}", "the tag !!set is not read"),
        (b"!foo a: 1", "the tag !foo is not read"),
        (b"a: [1? 2]", "column "),
        (b"a: {x:[1]}", "column "),
        (b"a: |# c\n  x", "column "),
    ],
)  # fmt: skip
def test_whatever_is_wrong_is_one_class_with_a_place(read: Read, data: bytes, why: str) -> None:
    assert why in fault(read, data).why


@pytest.mark.parametrize(
    "text",
    [
        "title: Fix: the bug", "title: @home", "title: `x`", "title: *star* x", "title: [wip] x",
        'title: "a" b', "title: %d of x", "title: {{ var }}", "title: - x", "title: 'it's'",
        "- a\n b: c", "title: ,x: y: z", "title: |x", "a: }",
    ],
)  # fmt: skip
def test_plain_text_that_is_not_plain_yaml_is_refused_with_a_hint_to_quote(
    read: Read, text: str
) -> None:
    error = fault(read, f"first: 1\n{text}\n" if not text.startswith("-") else f"{text}\n")
    assert "quote" in error.advice.lower()
    assert error.why.startswith("column ")
    assert error.line is not None
    assert error.line >= 2


def test_text_cut_off_by_a_comment_is_a_lint_warning(read: Read) -> None:
    text = "title: Fix bug #12\nn: 1 # a number\nq: 'x' # quoted\nt: [a #b\n  , c]\nu: True\n"
    assert read(text).warnings == ()
    assert read(text, lint=True).warnings == (
        'plan.yaml, line 1: the text "Fix bug" ends where a comment begins',
        'plan.yaml, line 4: the text "a" ends where a comment begins',
        "plan.yaml, line 6: True is text; write true",
    )


def test_mapping_can_be_required(read: Read) -> None:
    assert read("a: 1", require_mapping=True).value == {"a": 1}
    for text in ("- a", "text", "---", "null"):
        assert fault(read, text, require_mapping=True).why == "the document is not a mapping"


PLAN = """\
# plan
base: &base {id: 1.10, done: no}
tasks:
  - id: 1.10
    title: 1.10
    n: 1.10
    depends_on: [1, 1.20, "2"]
    ok: true
    none:
  - <<: *base
    é/~: *base
"""


def test_numbers_stay_text_where_text_is_due(read: Read) -> None:
    asked: list[tuple[str, ...]] = []

    def due(tokens: Sequence[str]) -> bool:
        asked.append(tuple(tokens))
        return tokens[-1] in ("id", "title") or "depends_on" in tokens

    value = read(PLAN, text_at=due).value
    first, second = value["tasks"]
    assert first == {
        "id": "1.10", "title": "1.10", "n": 1.1, "depends_on": ["1", "1.20", "2"], "ok": True,
        "none": None,
    }  # fmt: skip
    assert second == {"id": "1.10", "done": "no", "é/~": {"id": "1.10", "done": "no"}}
    assert ("tasks", "0", "depends_on", "1") in asked
    assert ("tasks", "1", "id") in asked
    assert ("tasks", "1", "é/~", "id") in asked


def test_ids_that_look_like_numbers_keep_their_spelling(read: Read) -> None:
    text = "tasks: [{id: 1.1}, {id: 1.10}, {id: 1}, {id: '1'}, {id: 1e1}]"
    texts = read(text, positions=True).texts
    assert [texts.get(f"/tasks/{i}/id") for i in range(5)] == ["1.1", "1.10", "1", None, "1e1"]


def test_positions_are_kept_when_asked_for(read: Read) -> None:
    reading = read(PLAN, positions=True)
    assert read(PLAN).marks == {}
    assert read(PLAN).texts == {}
    assert reading.marks[""] == Mark(2, 1)
    assert reading.marks["/tasks"] == Mark(3, 1)
    assert reading.marks["/tasks/0"] == Mark(4, 5)
    assert reading.marks["/tasks/0/title"] == Mark(5, 5)
    assert reading.marks["/tasks/0/depends_on/2"] == Mark(7, 27)
    assert reading.marks["/tasks/1/é~1~0"] == Mark(11, 5)
    assert reading.texts["/tasks/0/id"] == "1.10"
    assert reading.texts["/tasks/0/ok"] == "true"
    assert reading.texts["/tasks/0/none"] == ""
    assert "/tasks/0/depends_on/2" not in reading.texts
    assert "/base/done" not in reading.texts
    assert reading.mark("/tasks/0/none/deep/er") == Mark(9, 5)
    assert reading.mark("/tasks/1/id") == Mark(10, 5)
    assert read(b"\xef\xbb\xbfa: 1\n", positions=True).marks["/a"] == Mark(1, 1)


def test_bom_at_the_start_is_a_warning(read: Read) -> None:
    reading = read(b"\xef\xbb\xbfa: 1\n")
    assert reading.value == {"a": 1}
    assert reading.warnings == ("plan.yaml, line 1: a UTF-8 byte order mark was passed over",)


def test_crlf_counts_as_one_line_end(read: Read) -> None:
    assert read("a: |\r\n  x\r\n  y\r\nb: 1\r\n").value == {"a": "x\ny\n", "b": 1}
    assert fault(read, "a: 1\r\nb: 2\r\na: 3\r\n").line == 3
