"""The transcript of the coding client: JSON Lines, of which the last assistant messages are wanted.

I1  Only the end of the file is read, however long it is; lines that are none are passed over.
"""

import os
from pathlib import Path
from typing import Any

import orjson

from journal import regular
from projections.agloop.shape import is_list, is_object
from projections.agloop.utf16 import cut

MOST_TURNS = 3
MOST_UNITS = 300
_FIRST_BYTES = 256 << 10
_MOST_BYTES = 16 << 20


def last_turns(path: Path, count: int = MOST_TURNS) -> list[str]:
    """Return the texts of the last assistant messages, oldest first, each cut to 300 units.

    Raises `OSError` where the file cannot be read.
    """
    size = _FIRST_BYTES
    with open(regular.open_given(path), "rb") as file:
        length = file.seek(0, os.SEEK_END)
        while True:
            start = max(0, length - size)
            file.seek(start)
            lines = file.read(length - start).split(b"\n")
            found = _texts(lines[1:] if start else lines)
            if len(found) >= count or not start or size >= _MOST_BYTES:
                return [cut(text, MOST_UNITS) for text in found[-count:]]
            size *= 4


def _texts(lines: list[bytes]) -> list[str]:
    found: list[str] = []
    for line in lines:
        try:
            value = orjson.loads(line)
        except ValueError:
            continue
        if text := _text_of(value):
            found.append(text)
    return found


def _text_of(entry: Any) -> str:
    """Return what an assistant said in an entry, empty for any other entry."""
    if not is_object(entry):
        return ""
    message = entry.get("message")
    inner = message if is_object(message) else entry
    if "assistant" not in (entry.get("type"), inner.get("role"), entry.get("role")):
        return ""
    content = message if isinstance(message, str) else inner.get("content", inner.get("text"))
    if isinstance(content, str):
        return content.strip()
    parts = content if is_list(content) else []
    texts = [
        part["text"]
        for part in parts
        if is_object(part) and part.get("type") in (None, "text")
        if isinstance(part.get("text"), str)
    ]
    return "\n".join(texts).strip()
