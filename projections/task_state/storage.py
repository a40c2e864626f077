"""Where a layer keeps values by key: what every adapter can do, and reading many at once.

I1  A value is a JSON value other than null; a key is any text. What is stored and what is handed
    out are copies: changing either changes nothing else.
I2  A key without a value is absent: `get` gives None, `get_many` leaves it out. 0, "", false, []
    and {} are values and present.
I3  `get_many` promises no order; who needs one goes through the own list of keys.

`conformance` checks an adapter against this.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from journal import codec
from journal.errors import UsageError

_MAX_THREADS = 8


class StorageAdapter(Protocol):
    """Values by key (I1, I2); see also `BatchStorageAdapter`."""

    def get(self, key: str) -> Any:
        """Return the value of a key, None where it has none."""
        ...

    def set(self, key: str, value: Any) -> None:
        """Give a key a value; null is refused (`UsageError`)."""
        ...

    def delete(self, key: str) -> None:
        """Take the value of a key away; nothing happens where it has none."""
        ...

    def list(self, prefix: str) -> list[str]:
        """Return the keys that begin with a text and have a value."""
        ...


class BatchStorageAdapter(StorageAdapter, Protocol):
    """An adapter that reads many keys at once, as one over a network should."""

    def get_many(self, keys: Sequence[str]) -> dict[str, Any]:
        """Return the values of those keys that have one (I2, I3)."""
        ...


def storage_get_many(storage: StorageAdapter, keys: Sequence[str]) -> dict[str, Any]:
    """Return the values of those keys that have one, whatever the adapter can do.

    With its `get_many` where it has one, else by single gets in parallel. What one of them
    raises passes through.
    """
    wanted = list(dict.fromkeys(keys))
    batch = getattr(storage, "get_many", None)
    if callable(batch):
        found: Any = batch(wanted)
        return {key: found[key] for key in wanted if key in found and found[key] is not None}
    if not wanted:
        return {}
    with ThreadPoolExecutor(max_workers=min(_MAX_THREADS, len(wanted))) as pool:
        values = list(pool.map(storage.get, wanted))
    return {key: value for key, value in zip(wanted, values, strict=True) if value is not None}


def encode_stored(key: str, value: Any) -> bytes:
    """Return a value as compact JSON; raises `UsageError` for what cannot be stored (I1)."""
    check_key(key)
    if value is None:
        raise UsageError(
            f"{key}: null is no value of a key", key="value", advice="Delete the key instead."
        )
    return codec.encode_value(value, what="value")


def check_key(key: str) -> str:
    """Return a key; raises `UsageError` for what is no text, or text that no file can hold."""
    if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"{key!r} is not a key", key="key", advice="A key is text.")
    codec.encode_value(key, what="key")
    return key
