"""A storage adapter that keeps its values in memory, and forgets them with the process."""

from collections.abc import Sequence
from typing import Any

from journal import codec
from projections.task_state.storage import check_key, encode_stored


class MemoryStorage:
    """Values by key, in memory; safe to use from several threads."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        # Encoded, so that no copy is shared; a dict's single operations are atomic.
        self._values: dict[str, bytes] = {}

    def get(self, key: str) -> Any:
        """See `StorageAdapter`."""
        found = self._values.get(check_key(key))
        return None if found is None else codec.decode_value(found)

    def set(self, key: str, value: Any) -> None:
        """See `StorageAdapter`."""
        self._values[key] = encode_stored(key, value)

    def delete(self, key: str) -> None:
        """See `StorageAdapter`."""
        self._values.pop(check_key(key), None)

    def list(self, prefix: str) -> list[str]:
        """See `StorageAdapter`; the keys are sorted."""
        return sorted(key for key in tuple(self._values) if key.startswith(prefix))

    def get_many(self, keys: Sequence[str]) -> dict[str, Any]:
        """See `BatchStorageAdapter`."""
        found = {key: self.get(key) for key in keys}
        return {key: value for key, value in found.items() if value is not None}
