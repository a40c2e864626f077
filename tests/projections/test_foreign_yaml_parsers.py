"""YAML from outside: the parser in C and the one in Python, what they raise, and the time taken."""

import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from journal.errors import Corrupt
from projections import patch
from projections.foreign import read_yaml, yaml_text

PATH = "plan.yaml"
PARSERS = [yaml.CSafeLoader, yaml.SafeLoader]

PARTS = [
    "a", "- ", "? ", ": ", ":", "\n", "\n  ", "\t", " ", "#", " # c", "'", '"', "[", "]", "{", "}",
    ", ", ",", "|\n", ">", "&x ", "*x ", "!!str ", "!t ", "<<: ", "%", "---\n", "...\n", "1.10",
    "null", "é", "\u2028", "\ufeff", "\\ud800", "\\t", "@", "?", "::", "x: y\n", "k: v\n  z: w\n",
]  # fmt: skip


@settings(max_examples=60)
@given(st.lists(st.sampled_from(PARTS), max_size=10).map("".join))
def test_both_parsers_come_to_one_verdict(text: str) -> None:
    found: list[Any] = []
    with pytest.MonkeyPatch.context() as patched:
        for parser in PARSERS:
            patched.setattr(yaml_text, "parser_class", lambda parser=parser: parser)
            try:
                found.append(read_yaml(text.encode(), path=PATH, positions=True, lint=True))
            except Corrupt:
                found.append(None)
    c, python = found
    assert (c is None) is (python is None)
    if c is not None:
        assert patch.equal(c.value, python.value)
        assert (c.marks, c.texts, c.warnings) == (python.marks, python.texts, python.warnings)


def test_the_parser_in_c_is_taken_where_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    parser: object = yaml_text.parser_class()
    assert parser is yaml.CSafeLoader
    monkeypatch.delattr(yaml, "CSafeLoader")
    parser = yaml_text.parser_class()
    assert parser is yaml.SafeLoader


def test_errors_of_the_parser_that_are_not_yaml_errors_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for error in (ValueError("v"), RecursionError("r"), IndexError("i"), UnicodeError("u")):

        def fail(_: str, error: Exception = error) -> Any:
            raise error

        monkeypatch.setattr(yaml_text, "parser_class", lambda fail=fail: fail)
        with pytest.raises(Corrupt, match=f"not YAML: {error}"):
            read_yaml(b"a: 1", path=PATH)


@pytest.mark.slow
def test_five_megabytes_take_a_few_seconds() -> None:
    item = "  - id: task-{0}\n    text: |\n      number {0}\n      two\n    on: [a, 'b']\n"
    text = "tasks:\n" + "".join(item.format(i) for i in range(5_000_000 // len(item)))
    reading = read_yaml(text.encode(), path=PATH)
    assert len(reading.value["tasks"]) > 50_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["a: '{}'", "a: |\n  x\n  {}", "a: |\n  x\n{}", "a: b #{}", "{}a: 1"], ids=str
)
def test_time_to_look_at_tabs_does_not_grow_with_their_square(text: str) -> None:
    line = "x" if text.endswith("\n{}") else "\t"
    tabs = "  \tx\n" * 200_000 if line == "x" else "\t" * 1_000_000
    if text.startswith("{}"):
        tabs = "#\t\n" * 200_000
    start = time.perf_counter()
    assert read_yaml(text.format(tabs).encode(), path=PATH).value
    assert time.perf_counter() - start < 5
