"""The answer to an append of many events: what the log has of them, decoded once it is looked at.

I1  It says what the lines say: it holds the very bytes that were written, and decodes those.
I2  It is a sequence like any other, equal to a list of the same events; it never changes.

Who appends thousands seldom looks at the answer, and decoding it costs as much as writing it.
"""

from collections.abc import Iterator, Sequence
from typing import overload

from journal import codec
from journal.event import Event


class Answer(Sequence[Event]):
    """The events of one append, in order."""

    __slots__ = ("_count", "_held")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, lines: bytes, count: int) -> None:
        """Hold `lines`, which are checked and hold so many events."""
        self._count = count
        self._held: bytes | list[Event] = lines

    def _events(self) -> list[Event]:
        held = self._held
        if isinstance(held, bytes):
            # One assignment: threads that look at once both decode, and see equal events.
            self._held = held = codec.decode_events(held)
        return held

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        return self._events()[index]

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Answer):
            return self._events() == other._events()
        return self._events() == other if isinstance(other, list) else NotImplemented

    def __repr__(self) -> str:
        return repr(self._events())
