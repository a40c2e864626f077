"""What a JSON value must look like, and every place where one does not.

I1  `fits` says yes or no and makes nothing; `faults` is asked only where it says no, and names
    each place with its value and what is allowed.
I2  Members that a shape does not name are allowed: unknown fields survive.

It knows no field of the system; see `schema`, `task_papers` and `plan`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeGuard

import orjson

from journal.errors import UsageError
from journal.event import parse_time
from projections.agloop.utf16 import units

_SHOWN = 80


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Say whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Say whether a JSON value is a list."""
    return isinstance(value, list)


class Fault(NamedTuple):
    """A value that does not fit: its place as JSON Pointer, and the words about it."""

    pointer: str
    why: str


class Shape:
    """Any JSON value."""

    says = "any JSON value"

    def fits(self, value: Any) -> bool:  # noqa: ARG002 - others look at it
        """Say whether a value fits."""
        return True

    def faults(self, value: Any, pointer: str = "") -> Iterator[Fault]:
        """Yield each fault of a value that stands at `pointer`."""
        if not self.fits(value):
            yield Fault(pointer, f"{name_of(pointer)} is {show(value)}; allowed: {self.says}")


class Is(Shape):
    """A value that passes a test."""

    def __init__(self, says: str, test: Callable[[Any], bool]) -> None:
        self.says = says
        self._test = test

    def fits(self, value: Any) -> bool:
        """Say whether a value fits."""
        return self._test(value)


class ListOf(Shape):
    """A list whose items all have one shape."""

    def __init__(self, item: Shape, *, at_least: int = 0) -> None:
        self._item = item
        self._at_least = at_least
        self.says = f"a list of at least {at_least}" if at_least else "a list"

    def fits(self, value: Any) -> bool:
        """Say whether a value fits."""
        if not is_list(value) or len(value) < self._at_least:
            return False
        return all(map(self._item.fits, value))

    def faults(self, value: Any, pointer: str = "") -> Iterator[Fault]:
        """Yield each fault of a list, and of its items."""
        if not is_list(value) or len(value) < self._at_least:
            yield Fault(pointer, f"{name_of(pointer)} is {show(value)}; allowed: {self.says}")
            return
        for index, item in enumerate(value):
            if not self._item.fits(item):
                yield from self._item.faults(item, f"{pointer}/{index}")


class Members(Shape):
    """An object with some members, and any others."""

    says = "an object"

    def __init__(
        self, needed: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None
    ) -> None:
        self.needed = needed
        self.optional = optional = optional or {}
        self._needed = [(name, shape.fits) for name, shape in needed.items()]
        self._optional = [(name, shape.fits) for name, shape in optional.items()]

    def fits(self, value: Any) -> bool:
        """Say whether a value fits."""
        if not is_object(value):
            return False
        for name, fits in self._needed:
            if name not in value or not fits(value[name]):
                return False
        return all(fits(value[name]) for name, fits in self._optional if name in value)

    def faults(self, value: Any, pointer: str = "") -> Iterator[Fault]:
        """Yield each fault of an object, and of its members."""
        if not is_object(value):
            yield Fault(pointer, f"{name_of(pointer)} is {show(value)}; allowed: {self.says}")
            return
        for name, shape in {**self.needed, **self.optional}.items():
            place = f"{pointer}/{name}"
            if name in value:
                if not shape.fits(value[name]):
                    yield from shape.faults(value[name], place)
            elif name in self.needed:
                yield Fault(place, f"{name_of(place)} is missing; allowed: {shape.says}")


class MapOf(Shape):
    """An object whose members all have one shape."""

    says = "an object"

    def __init__(self, member: Shape) -> None:
        self._member = member

    def fits(self, value: Any) -> bool:
        """Say whether a value fits."""
        return is_object(value) and all(map(self._member.fits, value.values()))

    def faults(self, value: Any, pointer: str = "") -> Iterator[Fault]:
        """Yield each fault of an object, and of its members."""
        if not is_object(value):
            yield from super().faults(value, pointer)
            return
        for name, member in value.items():
            if not self._member.fits(member):
                yield from self._member.faults(member, f"{pointer}/{name}")


def text(*, most_units: int | None = None) -> Shape:
    """Return the shape of a text of at most so many UTF-16 units."""
    if most_units is None:
        return Is("a text", lambda value: isinstance(value, str))
    return Is(
        f"a text of at most {most_units} characters (UTF-16 units)",
        lambda value: isinstance(value, str) and units(value) <= most_units,
    )


def filled_text(says: str = "a text that says something") -> Shape:
    """Return the shape of a text with more than white space in it."""
    return Is(says, lambda value: isinstance(value, str) and bool(value.strip()))


def matching(says: str, pattern: str) -> Shape:
    """Return the shape of a text that a pattern matches whole."""
    compiled = re.compile(pattern, re.ASCII)
    return Is(says, lambda value: isinstance(value, str) and bool(compiled.fullmatch(value)))


def one_of(*allowed: Any) -> Shape:
    """Return the shape of one of some texts, or null."""
    says = " | ".join("null" if one is None else str(one) for one in allowed)
    return Is(says, lambda value: isinstance(value, str | None) and value in allowed)


def integer(least: int, most: int | None = None) -> Shape:
    """Return the shape of an integer from `least` to `most`; a float or boolean is none."""
    says = f"an integer from {least} to {most}" if most is not None else f"an integer ≥ {least}"
    return Is(
        says,
        lambda value: type(value) is int and least <= value and (most is None or value <= most),
    )


def time(*, or_empty: bool = False) -> Shape:
    """Return the shape of an ISO 8601 time."""
    says = "an ISO 8601 time, such as 2026-03-01T14:45:00.000Z"
    return Is(says, lambda value: (or_empty and value == "") or is_time(value))


def is_time(value: Any) -> bool:
    """Say whether a value is an ISO 8601 time."""
    if not isinstance(value, str):
        return False
    try:
        parse_time(value)
    except UsageError:
        return False
    return True


def or_null(shape: Shape) -> Shape:
    """Return a shape that also null fits."""
    return _OrNull(shape)


class _OrNull(Shape):
    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.says = f"null or {shape.says}"

    def fits(self, value: Any) -> bool:
        return value is None or self._shape.fits(value)

    def faults(self, value: Any, pointer: str = "") -> Iterator[Fault]:
        yield from self._shape.faults(value, pointer)


ANY = Shape()
TEXT = text()
TRUTH = Is("true or false", lambda value: isinstance(value, bool))
OBJECT = Is("an object", is_object)


def refuse(shape: Shape, value: Any, what: str) -> None:
    """Raise `UsageError` for the first faults of a value; `what` names the value."""
    if shape.fits(value):
        return
    faults = list(shape.faults(value))
    words = "; ".join(fault.why for fault in faults[:5])
    more = f" (and {len(faults) - 5} more)" if len(faults) > 5 else ""
    raise UsageError(f"{what}: {words}{more}", key=name_of(faults[0].pointer))


def name_of(pointer: str) -> str:
    """Write a JSON Pointer as people say it: `/tasks/0/id` is `tasks[0].id`."""
    name = ""
    for token in pointer.split("/")[1:]:
        plain = token.replace("~1", "/").replace("~0", "~")
        if plain.isdecimal():
            name += f"[{plain}]"
        else:
            name += f".{plain}" if name else plain
    return name or "it"


def show(value: Any) -> str:
    """Write a value as JSON, cut to what a message can hold."""
    shown = orjson.dumps(value).decode()
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
