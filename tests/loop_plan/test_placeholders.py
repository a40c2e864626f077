"""Sentences that promise nothing that can be checked."""

import pytest

from projections.loop_plan.placeholders import find_placeholders


def faults(*sentences: str) -> list[str]:
    return list(find_placeholders("success_criteria", sentences))


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("TBD", "TBD"),
        ("SC1. tbd until 2027", "tbd"),
        ("SC2. TODO: 20 entries", "TODO"),
        ("<observable criterion — measurable, no placeholder>", "<observable"),
        ("SC1. <what> is shown in 200 ms", "<what>"),
        ("SC2. ...", "..."),
        ("SC2. Feed, cache … and 3 more", "…"),
    ],
)
def test_placeholder_is_found_even_beside_a_number(sentence: str, words: str) -> None:
    [fault] = faults("fine: 3 entries", sentence)
    assert fault.startswith("success_criteria[1]")
    assert f'"{words}' in fault
    assert "is a placeholder" in fault


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("The code is better", "better"),
        ("Improve the start", "Improve"),
        ("The start improves", "improves"),
        ("An improvement of the feed", "improvement"),
        ("It has good  performance.", "good  performance"),
        ("SC1. The feed is better", "better"),
        ("12) The feed is better", "better"),
        ("Start in 2 s. The feed is better.", "better"),
    ],
)
def test_vague_words_are_found_in_a_sentence_without_a_number(sentence: str, words: str) -> None:
    [fault] = faults(sentence)
    assert f'"{words}" cannot be observed' in fault


@pytest.mark.parametrize(
    "sentence",
    [
        "p95 improves to 200 ms",
        "20% better than before",
        "The betterment of the feed is shown",
        "Good answers, and performance counters are shown",
        "The list of todos shows its entries",
        "For a < 5 and b > 3 the feed is shown",
        "a <= b and c >= d",
        "SC1. The feed shows 20 entries",
    ],
)
def test_sentence_that_can_be_checked_passes(sentence: str) -> None:
    assert faults(sentence) == []


def test_empty_sentence_is_named() -> None:
    assert faults("  ") == ["success_criteria[0] is empty"]


def test_every_fault_of_every_sentence_is_named() -> None:
    found = faults("TBD", "fine", "TODO and <x>")
    assert [fault.split(" ")[0] for fault in found] == [
        "success_criteria[0]",
        "success_criteria[2]",
        "success_criteria[2]",
    ]
