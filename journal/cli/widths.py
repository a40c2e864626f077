"""How many columns of a terminal a text takes, and texts cut and filled up to so many.

I1  A wide character (of Chinese, Japanese, Korean; most pictures) takes two columns, one that
    stands on the one before it none. It is as Unicode has it; a terminal may think otherwise.
I2  A text of ASCII alone costs no look at its characters.
"""

import unicodedata

_NO_COLUMN = frozenset(("Mn", "Me", "Cf"))
_WIDE = frozenset("WF")


def width_of(text: str) -> int:
    """Return how many columns a text takes (I1)."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.category(character) in _NO_COLUMN:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1


def cut(text: str, columns: int) -> str:
    """Return a text in at most so many columns; one that was cut ends with `…`."""
    if len(text) * 2 <= columns:
        return text
    if text.isascii():
        return text if len(text) <= columns else f"{text[: columns - 1]}…"
    taken = end = 0
    for at, character in enumerate(text, 1):
        taken += _width(character)
        if taken > columns:
            return f"{text[:end]}…"
        if taken < columns:
            end = at
    return text


def fill(text: str, columns: int) -> str:
    """Return a text with blanks behind it up to so many columns."""
    return text + " " * (columns - width_of(text))
