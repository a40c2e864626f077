"""Text measured in UTF-16 units, as the scripts of the system's text measure it.

I1  A character beyond U+FFFF counts two, and is never cut in its middle.
"""


def units(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, limit: int) -> str:
    """Return a text of at most `limit` units in all; one that was cut ends in `…`."""
    if units(text) <= limit:
        return text
    taken = text.encode("utf-16-le", "surrogatepass")[: 2 * (limit - 1)]
    if 0xD8 <= taken[-1] <= 0xDB:
        taken = taken[:-2]  # the first half of a pair (I1)
    return taken.decode("utf-16-le", "surrogatepass") + "…"
