"""JSON Pointer: RFC 6901 and the messages for what is none."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journal.errors import UsageError
from projections import patch

TOKENS = st.lists(st.text(alphabet="~/01a-é\u2028", max_size=4), max_size=5)
STATE: Any = {
    "": {"": "empty twice"},
    "a/b": {"m~n": 8},
    "~1": "escape-like",
    "é": ["zero", {"-": "dash"}, None],
    "0": "zero is a name here",
}


@settings(max_examples=60)
@given(TOKENS)
def test_format_and_parse_are_inverse(tokens: list[str]) -> None:
    pointer = patch.format(tokens)
    assert patch.parse(pointer) == tokens
    assert patch.format(patch.parse(pointer)) == pointer


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", STATE),
        ("/", {"": "empty twice"}),
        ("//", "empty twice"),
        ("/a~1b/m~0n", 8),
        ("/~01", "escape-like"),
        ("/é/0", "zero"),
        ("/é/1/-", "dash"),
        ("/é/2", None),
        ("/0", "zero is a name here"),
    ],
)
def test_pointer_leads_to_its_value(pointer: str, found: Any) -> None:
    assert patch.get(STATE, pointer) is found or patch.get(STATE, pointer) == found


@pytest.mark.parametrize("pointer", ["a", "a/b", "#/a", " /a", "/~", "/~2", "/a~", "/~~0", 7, None])
def test_what_is_no_pointer_is_refused_with_itself_as_key(pointer: Any) -> None:
    with pytest.raises(UsageError) as caught:
        patch.parse(pointer)
    assert caught.value.key == str(pointer)
    with pytest.raises(UsageError):
        patch.get(STATE, pointer, default=None)


@pytest.mark.parametrize(
    "index",
    [*"-3٣²", "1٣", "", "00", "01", "-0", "+1", "1.0", "1e0", " 1", "1 ", "0x1", "1_0", "9" * 5000],
)
def test_index_grammar_is_strict(index: str) -> None:
    with pytest.raises(UsageError) as caught:
        patch.get(STATE, f"/é/{index}")
    assert caught.value.key == f"/é/{index}"
    assert 'the list at "/é"' in caught.value.message
    assert patch.get(STATE, f"/é/{index}", default="none") == "none"


def test_message_names_the_first_missing_place_and_what_is_there() -> None:
    with pytest.raises(UsageError) as caught:
        patch.get({"tasks": {"a": 1, "b": 2}}, "/tasks/c/deep/er")
    assert caught.value.message == 'the object at "/tasks" has no member "c"'
    assert caught.value.advice == 'Its members are "a", "b".'
    assert caught.value.key == "/tasks/c/deep/er"
    with pytest.raises(UsageError, match='the value at "/n" is a number: it holds no "x"'):
        patch.get({"n": 1}, "/n/x/y")
    with pytest.raises(UsageError, match="the list at the root has no index 1\nIt has 1 item;"):
        patch.get([1], "/1")
    with pytest.raises(UsageError, match=r'"k7" and 2 more\.$'):
        patch.get({f"k{i}": i for i in range(10)}, "/x")


@pytest.mark.parametrize(
    ("value", "word"),
    [(True, "a boolean"), (1, "a number"), (1.5, "a number"), ("", "text"), (None, "null")],
)
def test_message_says_what_a_scalar_is(value: Any, word: str) -> None:
    with pytest.raises(UsageError, match=f"is {word}: it holds"):
        patch.get(value, "/x")
