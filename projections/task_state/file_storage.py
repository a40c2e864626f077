"""A storage adapter with one JSON file a key, in folders as the key's slashes say.

    layers/task-state/main/state   ->  <root>/layers/task-state/main/state.json

I1  No two keys share a file and none leaves the root: what a name may not hold is percent-encoded,
    so is a dot in front; an empty part is the name `%`; a part that is too long goes on in the
    next folder, which a `%` at its end says; a folder that would end in `.json` does not.
I2  A file is replaced whole and durably. One that cannot be read as JSON is `Corrupt`, never
    absent and never a default.
I3  Folders of journals are passed over: what lies in them is no value.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import orjson

from journal import codec, durable, regular
from journal.config import FILE_NAME
from projections.foreign import read_json
from projections.task_state.places import encode_part
from projections.task_state.storage import check_key, encode_stored

_SUFFIX = ".json"
_EMPTY = "%"
_GOES_ON = "%"
_LONGEST_NAME = 200
_CHARACTER = re.compile(r"%[0-9A-F]{2}|.", re.DOTALL)


class FileStorage:
    """Values by key, each in a file of its own below a folder."""

    def __init__(self, root: str | Path) -> None:
        """Make nothing yet."""
        self.root = Path(root)

    def get(self, key: str) -> Any:
        """See `StorageAdapter`; raises `Corrupt` for a damaged file."""
        path = self.path_of(key)
        try:
            data = regular.read_file(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return read_json(data, path=path).value

    def set(self, key: str, value: Any) -> None:
        """See `StorageAdapter`."""
        stored = codec.decode_value(encode_stored(key, value))
        path = self.path_of(key)
        durable.make_folder(path.parent)
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        durable.write_file(path, orjson.dumps(stored, option=options))

    def delete(self, key: str) -> None:
        """See `StorageAdapter`; folders stay."""
        try:
            durable.remove(self.path_of(key))
        except (FileNotFoundError, NotADirectoryError):
            return

    def list(self, prefix: str) -> list[str]:
        """See `StorageAdapter`; the keys are sorted."""
        return sorted(key for key in self._keys() if key.startswith(prefix))

    def get_many(self, keys: Sequence[str]) -> dict[str, Any]:
        """See `BatchStorageAdapter`."""
        found = {key: self.get(key) for key in keys}
        return {key: value for key, value in found.items() if value is not None}

    def path_of(self, key: str) -> Path:
        """Return the file of a key (I1)."""
        names: list[str] = []
        *folders, last = check_key(key).split("/")
        for part in folders:
            names += _split(part)
            if names[-1].endswith(_SUFFIX):
                names[-1] = names[-1].removesuffix(_SUFFIX) + "%2Ejson"
        *further, name = _split(last)
        return self.root.joinpath(*names, *further, name + _SUFFIX)

    def _keys(self) -> Iterator[str]:
        """Yield the key of every file that is named as we name them."""
        for folder, inner, files in os.walk(self.root):
            if FILE_NAME in files:
                inner.clear()
                continue
            for file in files:
                if file.endswith(_SUFFIX):
                    path = Path(folder, file)
                    key = self._key_of(path)
                    if self.path_of(key) == path:
                        yield key

    def _key_of(self, path: Path) -> str:
        """Return the key whose file this would be."""
        *folders, last = path.relative_to(self.root).parts
        key = ""
        for name in folders:
            if name != _EMPTY and name.endswith(_GOES_ON):
                key += unquote(name.removesuffix(_GOES_ON), errors="replace")
            else:
                key += _decode(name) + "/"
        return key + _decode(last.removesuffix(_SUFFIX))


def _split(part: str) -> list[str]:
    """Return the names that stand for one part of a key (I1)."""
    encoded = encode_part(part)
    if not encoded:
        return [_EMPTY]
    names: list[str] = []
    name = ""
    for character in _CHARACTER.findall(encoded):
        if len(name) + len(character) > _LONGEST_NAME:
            names.append(name + _GOES_ON)
            name = ""
        name += character
    return [*names, name]


def _decode(name: str) -> str:
    return "" if name == _EMPTY else unquote(name, errors="replace")
