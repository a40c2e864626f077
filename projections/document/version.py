"""A history as it comes from elsewhere: its versions, and the places where there is none.

I1  A source yields its versions oldest first, `n` counting up (gaps are fine), and a `Problem`
    wherever it finds something that is not a version; it goes on behind it.
I2  A source streams: it holds one version in memory, not the history.
I3  It only reads. Nothing of the source is ever changed.

What a version means for a state, `translation` says.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import msgspec


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a file.

    `n` counts from 1. `time` is any ISO 8601 time. `path` is the file's name in its source: its
    suffix says how the content is read. Exactly one of these is given: `content`, the file's
    bytes, None where the version deletes the file; `value`, JSON data that was parsed before.
    `why` says of a content that it is known not to parse; `warnings` what the reader of a `value`
    passed over; `place` where the version stands, for messages.
    """

    n: int
    time: str
    author: str = ""
    message: str = ""
    path: str = ""
    content: bytes | msgspec.UnsetType | None = msgspec.UNSET
    value: Any = msgspec.UNSET
    why: str = ""
    warnings: tuple[str, ...] = ()
    place: str = ""

    @property
    def where(self) -> str:
        """The place of this version as it stands in a message."""
        return self.place or f"version {self.n}"


class Problem(msgspec.Struct, frozen=True):
    """Something in a source that could not be imported: where it stands and why."""

    place: str
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


class Source(Protocol):
    """What `read_versions` and `read_git` return; a list of versions serves as well."""

    def __iter__(self) -> Iterator[Version | Problem]:
        """Read the source from its start."""
        ...

    def total(self) -> int | None:
        """Count the versions, for a progress bar; None if that cannot be known."""
        ...
