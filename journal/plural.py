"""How many of a thing, and which events, in words: one is not many.

count(1, "line")  1 line        span(3, 3)  event 3
count(2, "line")  2 lines       span(3, 5)  events 3 to 5
"""


def count(number: int, one: str, many: str = "") -> str:
    """Return `1 event`, `1,234 events`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def span(first: int, last: int) -> str:
    """Return which events those from `first` to `last` are."""
    return f"event {first}" if first == last else f"events {first} to {last}"


def are(first: int, last: int) -> str:
    """Return `span` with its verb, as in `events 3 to 5 are`."""
    return f"{span(first, last)} {'is' if first == last else 'are'}"
