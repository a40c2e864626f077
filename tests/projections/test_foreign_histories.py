"""Real histories: exactly the versions known to be broken are refused, all others read strictly."""

import base64
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from journal.errors import Corrupt
from projections import patch
from projections.foreign import kind_of, read_document

BROKEN = {
    "loop-rounds": {77, 118, 1079, 1093, 1094, 1131, 1165},
    "loop-rounds-250": {77, 118},
    "session-state": {45},
    "feature-list": {24},
    "journal-broken": set(range(15, 39)),
    "sources-log": set(range(2, 37)),
}
TWICE = {"loop-rounds": {1076}}  # equal keys: read by a lenient reader only
BOM = {"feature-list": {25, 26}}
WHY = {
    ("loop-rounds-250", 77): "git conflict markers at lines 3-7",
    ("loop-rounds-250", 118): 'expected "," or "]" (the list begins at line 43), found "}"',
    ("session-state", 45): "git conflict markers at lines 55-59",
    ("journal-broken", 15): "the file is empty",
    ("journal-broken", 16): "expected a key in double quotes, found the end of the line",
    ("loop-rounds", 1165): "the value ends here, but text follows it (bytes: 10920)",
    ("loop-rounds", 1131): 'expected "," or "}" (the object begins at line 249)',
    ("sources-log", 2): "the line goes on after its value",
    ("feature-list", 24): "byte 0xE6 is not UTF-8 (invalid continuation byte)",
}


class JsonSchema(yaml.CSafeLoader):
    """PyYAML with no other types than those of JSON, as the independent reader."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012


for tag, pattern in {
    "null": "null|~|",
    "bool": "true|false",
    "int": "-?(0|[1-9][0-9]*)",
    "float": r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?",
}.items():
    JsonSchema.add_implicit_resolver(
        f"tag:yaml.org,2002:{tag}", re.compile(f"(?:{pattern})$"), None
    )


def versions(path: Path) -> Iterator[tuple[int, str, bytes]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            version = json.loads(line)
            if version.get("content_b64"):
                yield version["n"], version["path"], base64.b64decode(version["content_b64"])
            elif version["content"] is not None:
                yield version["n"], version["path"], version["content"].encode()


def independent(data: bytes, path: str) -> Any:
    text = data.decode("utf-8-sig")
    match kind_of(path):
        case "yaml":
            return yaml.load(text, Loader=JsonSchema)  # noqa: S506
        case "jsonl":
            return [json.loads(line) for line in text.split("\n") if line.strip()]
        case "json":
            return json.loads(text)


@pytest.mark.slow
def test_exactly_the_broken_versions_are_refused_and_all_others_read(
    histories: list[Path],
) -> None:
    for history in histories:
        name = history.name.removesuffix(".jsonl.gz")
        refused: dict[int, str] = {}
        twice: set[int] = set()
        marked: set[int] = set()
        for n, path, data in versions(history):
            try:
                reading = read_document(data, path=path, lenient=True)
            except Corrupt as error:
                refused[n] = error.why
                continue
            assert patch.equal(reading.value, independent(data, path))
            marked |= {n for warning in reading.warnings if "byte order mark" in warning}
            if any("twice" in warning for warning in reading.warnings):
                twice.add(n)
                with pytest.raises(Corrupt, match="twice"):
                    read_document(data, path=path)
            else:
                assert read_document(data, path=path) == reading
        assert refused.keys() == BROKEN.get(name, set()), name
        assert all(WHY.get((name, n), "") in why for n, why in refused.items()), name
        assert twice == TWICE.get(name, set()), name
        assert marked == BOM.get(name, set()), name
