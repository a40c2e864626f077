"""Which reader a foreign file gets: its name's suffix decides, never its content."""

import os
from pathlib import PurePath
from typing import Literal

from projections.foreign.json_text import read_json, read_jsonl
from projections.foreign.reading import Reading
from projections.foreign.yaml_text import read_yaml

Kind = Literal["json", "jsonl", "yaml"]

_KINDS: dict[str, Kind] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".yaml": "yaml", ".yml": "yaml"}


def kind_of(path: str | os.PathLike[str]) -> Kind:
    """Return the kind of a file by its suffix in any case; what is not JSONL or YAML is JSON."""
    return _KINDS.get(PurePath(path).suffix.lower(), "json")


def read_document(data: bytes, *, path: str | os.PathLike[str], lenient: bool = False) -> Reading:
    """Read a whole file by the kind that its name says; a JSONL file is the list of its values.

    `lenient` lets the last of two equal keys count, with a warning.
    Raises `Corrupt` for anything that is not such a text.
    """
    match kind_of(path):
        case "jsonl":
            return read_jsonl(data, path=path, lenient=lenient)
        case "yaml":
            return read_yaml(data, path=path, lenient=lenient)
        case "json":
            return read_json(data, path=path, lenient=lenient)
