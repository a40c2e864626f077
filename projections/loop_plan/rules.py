"""The kinds of rule that a schema is written in: scalars, lists, records.

I1  A rule looks at one value and raises `UsageError`, which names the place, the value, and what
    would be allowed. It changes nothing.
I2  A record lets members pass that it does not know: unknown fields of a file survive.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeGuard

import orjson

from journal.errors import UsageError

_SHOWN_CHARACTERS = 60


class Rule(Protocol):
    """What a value may be; `allowed` says it in words."""

    allowed: str

    def check(self, value: Any, key: str) -> None:
        """Raise `UsageError` for a value that is not allowed (I1)."""
        ...


class Scalar:
    """A value that one test decides about."""

    def __init__(self, allowed: str, test: Callable[[Any], bool]) -> None:
        self.allowed = allowed
        self._test = test

    def check(self, value: Any, key: str) -> None:
        """See `Rule`."""
        if not self._test(value):
            raise refuse(key, value, self.allowed)


class Nullable:
    """What another rule allows, or null."""

    def __init__(self, rule: Rule) -> None:
        self.allowed = f"{rule.allowed}, or null"
        self._rule = rule

    def check(self, value: Any, key: str) -> None:
        """See `Rule`."""
        if value is None:
            return
        try:
            self._rule.check(value, key)
        except UsageError as error:
            if error.key != key:
                raise
            raise refuse(key, value, self.allowed) from error


class ListOf:
    """A list of items that one rule allows; `unique` names a member that no two may share."""

    def __init__(self, rule: Rule, *, unique: str = "") -> None:
        self.allowed = f"a list, each item {rule.allowed}"
        self._rule = rule
        self._unique = unique

    def check(self, value: Any, key: str) -> None:
        """See `Rule`."""
        if not is_list(value):
            raise refuse(key, value, self.allowed)
        for index, item in enumerate(value):
            self._rule.check(item, f"{key}[{index}]")
        if self._unique:
            self._check_unique(value, key)

    def _check_unique(self, items: list[Any], key: str) -> None:
        seen: set[object] = set()
        for index, item in enumerate(items):
            name = item.get(self._unique)
            if name in seen:
                allowed = f"each {self._unique} once in {key}"
                raise refuse(f"{key}[{index}].{self._unique}", name, allowed)
            seen.add(name)


class Record:
    """An object whose known members keep to rules (I2); `members` stand in their written order."""

    def __init__(self, members: Mapping[str, Rule], *, required: Sequence[str] = ()) -> None:
        self.allowed = f"an object with {', '.join(members)}"
        self.members = dict(members)
        self._required = tuple(required)

    def check(self, value: Any, key: str) -> None:
        """See `Rule`; an empty `key` is the whole state."""
        if not is_record(value):
            raise refuse(key or "the state", value, self.allowed)
        for name in self._required:
            if name not in value:
                place = f"{key}.{name}" if key else name
                raise UsageError(
                    f"{place}: it is missing",
                    key=place,
                    advice=f"Allowed: {self.members[name].allowed}.",
                )
        for name, rule in self.members.items():
            if name in value:
                rule.check(value[name], f"{key}.{name}" if key else name)


def choice(*names: str) -> Scalar:
    """One of these texts."""
    allowed = ", ".join(f'"{name}"' for name in names)
    return Scalar(allowed, lambda value: isinstance(value, str) and value in names)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Say whether a JSON value is a list."""
    return isinstance(value, list)


def is_record(value: object) -> TypeGuard[dict[str, Any]]:
    """Say whether a JSON value is an object."""
    return isinstance(value, dict)


def is_time(value: object) -> bool:
    """Say whether a value is a time of ISO 8601 as text, with a zone or without."""
    if not isinstance(value, str) or len(value) < len("2026-03-01"):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def is_number(value: object) -> bool:
    """Say whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def show(value: Any) -> str:
    """Return a JSON value as it stands in a message, cut to a readable length."""
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        text = repr(value)
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return text[: _SHOWN_CHARACTERS - 1] + "…"


def refuse(key: str, value: Any, allowed: str) -> UsageError:
    """Return the error for a value that a rule does not allow (I1)."""
    return UsageError(
        f"{key}: {show(value)} is not allowed", key=key, advice=f"Allowed: {allowed}."
    )


ANYTHING = Scalar("any JSON value", lambda _: True)
TEXT = Scalar("text", lambda value: isinstance(value, str))
FILLED = Scalar(
    "text that is not empty", lambda value: isinstance(value, str) and value.strip() != ""
)
FLAG = Scalar("true or false", lambda value: isinstance(value, bool))
COUNT = Scalar(
    "a whole number from 0 on",
    lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
)
TIME = Scalar("a time such as 2026-03-01T14:45:00Z", is_time)
SHARE = Scalar("a number from 0 to 1", lambda value: is_number(value) and 0 <= value <= 1)
