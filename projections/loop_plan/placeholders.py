"""Sentences that promise nothing that can be checked: placeholders and vague words.

I1  TBD, TODO, a text in angle brackets and an ellipsis are placeholders wherever they stand.
I2  Vague words are only refused in a sentence without a digit: "p95 improves to 200 ms" can be
    checked. The number of a criterion ("SC1.") is no such digit.
I3  Each fault is named with its place, the words, and why.
"""

import re
from collections.abc import Iterable, Iterator

_LABEL = re.compile(r"^\s*(?:[A-Za-z]{0,4}[ -]?\d+(?:\.\d+)*[.:)]|[-*])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_PLACEHOLDERS = (
    (re.compile(r"\bTBD\b", re.IGNORECASE), "is a placeholder"),
    # Written small it may be what the sentence is about: a list of todos.
    (re.compile(r"\bTODO\b"), "is a placeholder"),
    # A text in brackets, not "a < 5 and b > 3".
    (re.compile(r"<(?![\s=\d])[^<>]*>"), "is a placeholder"),
    (re.compile(r"…|\.\.\."), "is a placeholder"),
)
_VAGUE = re.compile(r"\b(?:better|improve\w*|good\s+performance)\b", re.IGNORECASE)


def find_placeholders(place: str, sentences: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with the sentences of the list called `place` (I3)."""
    for index, sentence in enumerate(sentences):
        where = f"{place}[{index}]"
        if not sentence.strip():
            yield f"{where} is empty"
            continue
        for pattern, why in _PLACEHOLDERS:
            if found := pattern.search(sentence):
                yield f'{where} "{sentence}": "{found.group()}" {why}'
        for one in _SENTENCE_END.split(_LABEL.sub("", sentence)):
            found = _VAGUE.search(one)
            if found and not re.search(r"\d", one):
                yield (
                    f'{where} "{sentence}": "{found.group()}" cannot be observed: say by how much, '
                    "with a number"
                )
