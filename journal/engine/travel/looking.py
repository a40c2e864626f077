"""Looking at places of a state: what is there, and which places an event may have changed.

I1  What is there is told as JSON with sorted keys, so that equal bytes are equal values, and no
    bytes are no value. It stays as it is when the state goes on.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from journal import codec
from projections.patch import Json, parse
from projections.patch import format as format_pointer
from projections.patch.touching import ITEMS, relate

_MOST_REMEMBERED = 100_000


class Place:
    """One place, named by a JSON Pointer."""

    def __init__(self, pointer: str) -> None:
        """Raise `UsageError` for what is not a pointer."""
        self.pointer = pointer
        self._tokens = parse(pointer)
        self._related: dict[str, bool] = {}

    def find(self, state: Any) -> tuple[bool, Any]:
        """Return (whether there is a value, the value)."""
        node: Json = state
        for token in self._tokens:
            if isinstance(node, dict) and token in node:
                node = node[token]
            elif isinstance(node, list) and _is_index(token, len(node)):
                node = node[int(token)]
            else:
                return False, None
        return True, node

    def look(self, state: Any) -> bytes:
        """Return what is there (I1)."""
        there, value = self.find(state)
        return codec.encode_sorted(value) if there else b""

    def may_be_touched(self, places: Iterable[str] | None) -> bool:
        """Say whether an event that touches `places` can change it (None: any place).

        What was asked once is remembered: the events of a history touch the same places again.
        """
        if places is None:
            return True
        for place in places:
            known = self._related.get(place)
            if known is None:
                if len(self._related) >= _MOST_REMEMBERED:
                    self._related.clear()
                known = self._related[place] = relate(place, self.pointer)
            if known:
                return True
        return False


def _is_index(token: str, length: int) -> bool:
    return (
        token.isascii()
        and token.isdecimal()
        and (token == "0" or token[0] != "0")
        and len(token) < 19
        and int(token) < length
    )


def value_of(look: bytes) -> Any:
    """Return the value that was looked at, `msgspec.UNSET` where there was none."""
    return codec.decode_value(look) if look else msgspec.UNSET


class Places:
    """Many places, to be asked which of them an event may have changed."""

    def __init__(self, pointers: Iterable[str]) -> None:
        """Sort them by what is above them."""
        self._places = {pointer: Place(pointer) for pointer in pointers}
        self._below: dict[str, list[str]] = {}
        for pointer in self._places:
            for above in _above(pointer):
                self._below.setdefault(above, []).append(pointer)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, pointer: str) -> Place:
        return self._places[pointer]

    def drop(self, pointers: Iterable[str]) -> None:
        """Ask about these no more."""
        for pointer in list(pointers):
            del self._places[pointer]

    def may_be_touched(self, places: Iterable[str] | None) -> bool:
        """Say whether one of them may be touched."""
        return any(place.may_be_touched(places) for place in self._places.values())

    def touched(self, places: Iterable[str] | None) -> Iterator[str]:
        """Yield the pointers of those that may be touched; one may come twice."""
        if places is None:
            yield from self._places
            return
        for place in places:
            head = place[: place.index(ITEMS)] if ITEMS in place else place
            if head in self._places:
                yield head
            for above in _above(head):
                if above in self._places:
                    yield above
            for below in self._below.get(head, ()):
                if below in self._places and (head == place or relate(place, below)):
                    yield below


def _above(pointer: str) -> Iterator[str]:
    while pointer:
        pointer = pointer[: pointer.rindex("/")]
        yield pointer


def leaves(value: Any, depth: int) -> dict[str, Any]:
    """Return the values `depth` levels down, or where it ends before, by their pointers."""
    found: dict[str, Any] = {}
    _collect(value, depth, [], found)
    return found


def _collect(value: Json, depth: int, tokens: list[str | int], found: dict[str, Any]) -> None:
    if depth and value and isinstance(value, dict | list):
        pairs: Iterable[tuple[str | int, Json]]
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for token, child in pairs:
            _collect(child, depth - 1, [*tokens, token], found)
    else:
        found[format_pointer(tokens)] = value
