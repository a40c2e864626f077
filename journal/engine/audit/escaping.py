"""Words from a log, made harmless for HTML and SVG, and without surprises for any text.

I1  Marks of HTML are escaped; characters that cannot be printed, or that turn the direction of
    text, are written as their number.
"""

import unicodedata
from html import escape


def text(found: str) -> str:
    """Return words from the log as text of a page (I1)."""
    return escape(plain(found))


def plain(found: str) -> str:
    """Return words from the log on one line, with a number for what is no visible character."""
    return "".join(c if _is_plain(c) else _number(c) for c in found)


def _is_plain(character: str) -> bool:
    return character.isprintable() and unicodedata.category(character) != "Cf"


def _number(character: str) -> str:
    return " " if character in "\t\r\n" else f"\\u{{{ord(character):x}}}"
