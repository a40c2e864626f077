"""What a caller may give: every argument of the public calls is of its kind before it is used.

    arguments.check(after=after, upto=upto)

I1  A name has one meaning in all calls, and so one check, in `_CHECKS`.
I2  A refusal is a `UsageError` whose `key` is the name; it shows the value, short, whatever it is.
I3  Nothing is converted: True is no seq, 1.0 is none, and None is only what it is the default for.

Whether a seq is there, a projection is known, or an event fits is asked by those who know. An
event's own members are checked in `journal.engine.encoding`, where they cost nothing more.
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from journal import codec
from journal.engine.drift import OnDrift
from journal.errors import UsageError
from projections.projection import Projection

_MAX_MS = 2**31


def check(**given: object) -> None:
    """Raise `UsageError` for the first argument that is not of its kind."""
    for name, value in given.items():
        if (wanted := _CHECKS[name](value)) is not None:
            raise refusal(name, value, wanted)


def refusal(name: str, value: object, wanted: str) -> UsageError:
    """Make the error for an argument: what it is, and what is wanted."""
    return UsageError(f"{name} is {codec.show(value)}; {wanted} is wanted", key=name)


def check_iterable(name: str, value: Any, wanted: str) -> None:
    """Raise `UsageError` unless `value` can be gone through and is no text and no mapping."""
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes, Mapping)):
        raise refusal(name, value, wanted)


def check_each(name: str, values: Iterable[Any], *kinds: type[Any]) -> None:
    """Raise `UsageError` for the first value that is of none of the kinds."""
    for value in values:
        if not isinstance(value, kinds):
            raise refusal(name, value, " or ".join(kind.__name__ for kind in kinds))


# --- kinds: what is wanted instead, or None ------------------------------------------------------


def is_seq(value: Any) -> bool:
    """Say whether it is a whole number from 0 that fits into 64 bits; True is none."""
    return value.__class__ is int and 0 <= value < 2**63


def _seq(value: object) -> str | None:
    return None if is_seq(value) else "a seq (a whole number, 0 or more)"


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        return "text"
    why = codec.text_fault(value)
    return None if why is None else f"text that can be written (this has a {why})"


def _place(value: object) -> str | None:
    """Whether there is such a place, who looks for it says with what there is."""
    fits = isinstance(value, str) or value.__class__ is int
    return None if fits else "a seq, or text that names a place,"


def _event(value: object) -> str | None:
    return None if value.__class__ is int else "the seq of an event"


def _time(value: object) -> str | None:
    return None if isinstance(value, str) else "a time, such as '2026-03-01T14:45:00Z',"


def _path(value: object) -> str | None:
    wanted = "the path of a file or folder"
    if not isinstance(value, (str, os.PathLike)):
        return wanted
    try:
        raw = os.fsencode(value)
    except (TypeError, ValueError):
        return wanted
    return wanted if b"\0" in raw or isinstance(os.fspath(value), bytes) else None


def _callable(value: object) -> str | None:
    return None if callable(value) else "a function"


def _yes_or_no(value: object) -> str | None:
    return None if isinstance(value, bool) else "True or False"


def _seconds(value: Any) -> str | None:
    fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = fits and 0 <= value <= threading.TIMEOUT_MAX
    return None if fits else "a number of seconds, 0 or more,"


def _milliseconds(value: Any) -> str | None:
    fits = value.__class__ is int and 0 <= value < _MAX_MS
    return None if fits else "a whole number of milliseconds, 0 or more,"


def _texts(value: object) -> str | None:
    wanted = "a list of texts"
    if not isinstance(value, (list, tuple, set, frozenset)):
        return wanted
    return next((wanted for one in value if _text(one) is not None), None)


def _anchors(value: object) -> str | None:
    wanted = "a list of pairs (seq, sha256 of 64 hexadecimal digits)"
    if not isinstance(value, (list, tuple, set, frozenset)):
        return wanted
    for pair in value:
        if not isinstance(pair, tuple) or len(pair) != 2 or _seq(pair[0]):
            return wanted
        if not isinstance(pair[1], str) or len(pair[1]) != 64 or not pair[1].isalnum():
            return wanted
    return None


def _files(value: object) -> str | None:
    fits = isinstance(value, Mapping) and all(
        isinstance(part, str) for pair in value.items() for part in pair
    )
    return None if fits else "a mapping from the name of a view to its path"


def _projection(value: object) -> str | None:
    return None if isinstance(value, (str, Projection)) else "a Projection"


def _on_drift(value: object) -> str | None:
    known = get_args(OnDrift)
    return None if isinstance(value, str) and value in known else f"one of {', '.join(known)}"


def _or_none(kind: Callable[[object], str | None]) -> Callable[[object], str | None]:
    return lambda value: None if value is None else kind(value)


_CHECKS: dict[str, Callable[[object], str | None]] = {
    "path": _path,
    "destination": _path,
    "after": _seq,
    "upto": _or_none(_seq),
    "seq": _or_none(_event),
    "seq of a change": _seq,
    "expected_seq": _or_none(_seq),
    "depth": _seq,
    "at": _place,
    "at_or_end": _or_none(_place),
    "place": _place,
    "a": _place,
    "b": _place,
    "time": _time,
    "began": _or_none(_time),
    "pointer": _text,
    "watched": _or_none(_text),
    "type": _text,
    "trigger": _text,
    "reason": _text,
    "actor": _text,
    "id": _text,
    "types": _texts,
    "files": _texts,
    "anchors": _anchors,
    "view_files": _or_none(_files),
    "command": _callable,
    "predicate": _callable,
    "clock": _callable,
    "progress": _or_none(_callable),
    "on_message": _or_none(_callable),
    "read_only": _yes_or_no,
    "monotone": _yes_or_no,
    "count": _yes_or_no,
    "lock_timeout_s": _seconds,
    "views_every_ms": _milliseconds,
    "projection": _projection,
    "other": _projection,
    "on_drift": _on_drift,
}
