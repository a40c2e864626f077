"""The state as text within a budget."""

import math

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.patch import copy
from projections.task_state.recall import count_tokens, recall
from projections.task_state.states import Json

CLOSING = "\n</task_state>"
STATES = st.fixed_dictionaries(
    {
        "checkpoints": st.lists(
            st.fixed_dictionaries({"timestamp": st.integers(0, 2**43), "depth": st.integers(0, 9)}),
            max_size=50,
        ),
        "files": st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9)),
        "data": st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
            st.text(st.characters(exclude_categories=["Cs"]), max_size=99),
            max_size=9,
        ),
    }
)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def whole(state: Json) -> str:
    body = orjson.dumps(state, option=orjson.OPT_INDENT_2).decode()
    return f"<task_state>\n{body}{CLOSING}"


def by_the_text(state: Json, budget: int) -> str:
    """The rule of the text, written down again in its plainest form."""
    shown = copy(state)
    if budget <= 0:
        return whole(shown)
    while math.ceil(units(whole(shown)) / 4) > budget and shown["checkpoints"]:
        del shown["checkpoints"][: math.ceil(len(shown["checkpoints"]) / 2)]
    text = whole(shown)
    if math.ceil(units(text) / 4) <= budget:
        return text
    kept, room = "", max(0, budget * 4 - 14)
    for character in text:
        room -= units(character)
        if room < 0:
            break
        kept += character
    return kept + CLOSING


@settings(max_examples=40)
@given(STATES, st.integers(-5, 900))
def test_recall_is_the_rule_of_the_text(state: Json, budget: int) -> None:
    before = copy(state)
    assert recall(state, budget) == by_the_text(state, budget)
    assert state == before, "the state itself is not changed"


@settings(max_examples=40)
@given(STATES, st.integers(4, 900))
def test_recall_fits_its_budget_and_closes_its_tag(state: Json, budget: int) -> None:
    text = recall(state, budget)
    assert count_tokens(text) <= budget
    assert text.endswith(CLOSING)


def test_small_state_is_shown_whole_in_the_form_of_the_text() -> None:
    state: Json = {
        "checkpoints": [{"timestamp": 1772376300000, "depth": 0}],
        "files": ["a.txt"],
        "data": {},
    }
    assert recall(state) == (
        "<task_state>\n"
        "{\n"
        '  "checkpoints": [\n'
        "    {\n"
        '      "timestamp": 1772376300000,\n'
        '      "depth": 0\n'
        "    }\n"
        "  ],\n"
        '  "files": [\n'
        '    "a.txt"\n'
        "  ],\n"
        '  "data": {}\n'
        "}\n"
        "</task_state>"
    )


@pytest.mark.parametrize("budget", [0, -1, -800])
def test_budget_of_nothing_means_the_whole_state(budget: int) -> None:
    state: Json = {"checkpoints": [], "files": ["x" * 10_000], "data": {}}
    assert recall(state, budget) == whole(state)


def test_older_half_of_the_checkpoints_goes_first_a_middle_one_with_it() -> None:
    checkpoints = [{"timestamp": n, "depth": 0} for n in range(5)]
    state: Json = {"checkpoints": checkpoints, "files": [], "data": {}}
    two = {**state, "checkpoints": checkpoints[3:]}
    assert recall(state, count_tokens(whole(state)) - 1) == whole(two)
    assert recall(state, count_tokens(whole(two))) == whole(two)
    one = {**state, "checkpoints": checkpoints[4:]}
    assert recall(state, count_tokens(whole(two)) - 1) == whole(one)


@pytest.mark.parametrize(("budget", "room"), [(1, 0), (3, 0), (4, 2), (5, 6), (10, 26)])
def test_tiny_budget_cuts_the_text_and_keeps_the_closing_tag(budget: int, room: int) -> None:
    state: Json = {"checkpoints": [], "files": ["x" * 99], "data": {}}
    assert recall(state, budget) == whole(state)[:room] + CLOSING


@pytest.mark.parametrize("shift", range(4))
def test_character_of_two_units_is_not_split(shift: int) -> None:
    state: Json = {"checkpoints": [], "files": ["x" * shift + "\U0001f600" * 500], "data": {}}
    text = recall(state, 100)
    assert "\ufffd" not in text
    text.encode("utf-8")
    assert 400 - units(text) in (0, 1)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)])
def test_token_is_four_units_the_last_one_counted_whole(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens
    assert count_tokens("\U0001f600" * 2) == 1
    assert count_tokens("\U0001f600" * 3) == 2
