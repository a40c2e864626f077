"""A checkpoint that others wrote, read strictly: it is whole and in order, or it is refused.

I1  Nothing is guessed and nothing becomes a default: a malformed checkpoint stops for review.
I2  What is refused is `Corrupt` with the offset or the field; a newer `schemaVersion` is
    `UnsupportedFormat`.
"""

import os
from typing import Any

from journal.errors import Corrupt, UnsupportedFormat, UsageError
from projections.checkpointed_loop import schema
from projections.foreign import read_json

REVIEW = "The checkpoint is not valid: stop for review. Nothing was changed."
_BOM = b"\xef\xbb\xbf"


def read(data: bytes, path: str | os.PathLike[str]) -> Any:
    """Return the JSON object in the bytes of a checkpoint, whether it is in order or not."""
    if data.startswith(_BOM):
        why = "it begins with a byte order mark (0xEF 0xBB 0xBF); byte 0 must be 0x7B, {"
        raise Corrupt(why, path=path, offset=0, advice=REVIEW)
    try:
        value = read_json(data, path=path).value
    except Corrupt as error:
        raise Corrupt(
            error.why, path=path, line=error.line, offset=error.offset, advice=REVIEW
        ) from error
    if not schema.is_object(value):
        raise Corrupt("it holds no JSON object", path=path, offset=0, advice=REVIEW)
    return value


def read_whole(data: bytes, path: str | os.PathLike[str]) -> Any:
    """Return the checkpoint in these bytes; raises `Corrupt`, `UnsupportedFormat` (I2)."""
    value = read(data, path)
    version = value.get("schemaVersion")
    if type(version) is int and version > schema.VERSION:
        raise UnsupportedFormat(path=path, found=version, supported=schema.VERSION)
    try:
        schema.check(value)
    except UsageError as error:
        raise Corrupt(error.message, path=path, advice=REVIEW) from error
    return value
