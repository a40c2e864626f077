"""What does not fit a shape, in our words: msgspec's errors speak of arrays, `$` and objects.

    Expected `int`, got `str` - at `$.views.every_ms`
    views.every_ms is text, a whole number is expected

It decides nothing: whoever decodes raises its own error with these words.
"""

import re

_KINDS = {
    "object": "an object",
    "array": "a list",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
}
_MISSING = re.compile(r"Object missing required field `(.+)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.+)`", re.DOTALL)
_BOUND = re.compile(r"Expected `([^`]+)`( .+)")
_TYPE = re.compile(r"Expected `([^`]+)`(.*), got `([^`]+)`")


def say(error: Exception, whole: str = "it") -> str:
    """Say what does not fit, with its place first; `whole` is what the value itself is called."""
    why, _, place = str(error).partition(" - at `$")
    place = place.rstrip("`").lstrip(".")
    inside = f"{place}." if place else ""
    if found := _MISSING.fullmatch(why):
        return f"{inside}{found[1]} is missing"
    if found := _UNKNOWN.fullmatch(why):
        return f"{inside}{found[1]} is not known"
    if found := _TYPE.fullmatch(why):
        return f"{place or whole} is {_name(found[3])}, {_name(found[1])}{found[2]} is expected"
    if found := _BOUND.fullmatch(why):
        return f"{place or whole} is out of its range: {_name(found[1])}{found[2]} is expected"
    return f"{place or whole}: {why}"


def _name(kinds: str) -> str:
    return " or ".join(_KINDS.get(kind, kind) for kind in kinds.split(" | "))
