"""One version of a history becomes the data of one `imported` event.

    {"n": 7, "path": "tasks.json", "author": "ann", "source_time": "2025-01-31T12:00:00Z",
     "message": "...", "patch": [{"op": "replace", "path": "/phase", "value": "plan"}]}

I1  The patch leads from the state before to the version's value, so that the state after a
    version that parses equals it strictly, whatever stood there before.
I2  Reading is lenient: a BOM or a doubled key is a warning in the event. What does not parse is
    kept whole, with the reason, and leaves the state alone.
I3  The same version after the same state gives the same data.
"""

import base64
from typing import Any, NamedTuple

import msgspec

from journal import codec
from journal.errors import Corrupt, UsageError
from projections.document.version import Version
from projections.foreign import read_document
from projections.patch import MAX_DEPTH, apply_patch, depth, diff
from projections.patch.value import size

# Below this no text that we read becomes a state of more than MAX_STATE_BYTES.
_SURELY_FITS_BYTES = codec.MAX_STATE_BYTES // 8


class Translation(NamedTuple):
    """The data of an event, its size as compact JSON, and the state after it."""

    data: dict[str, Any]
    size_bytes: int
    state: Any


class Parsed(NamedTuple):
    """The value of a version, or `why` it has none."""

    value: Any
    warnings: tuple[str, ...] = ()
    why: str = ""


def parse(version: Version) -> Parsed:
    """Read the content of a version that is no deletion, by the suffix of its path."""
    if version.value is not msgspec.UNSET:
        return Parsed(version.value, version.warnings)
    if version.why:
        return Parsed(None, why=version.why)
    content = content_of(version)
    try:
        reading = read_document(content, path=version.path, lenient=True)
    except Corrupt as error:
        place = "" if error.line is None else f"line {error.line}, byte {error.offset}: "
        return Parsed(None, why=place + error.why)
    prefix = f"{version.path}, "
    return Parsed(reading.value, tuple(said.removeprefix(prefix) for said in reading.warnings))


def content_of(version: Version) -> bytes:
    """Return the bytes of a version that has some."""
    assert isinstance(version.content, bytes)
    return version.content


def translate(version: Version, state: Any) -> Translation:
    """Make the data of the event for `version`, which comes after `state`; `state` is given up.

    Raises `UsageError` for a version that no event can hold.
    """
    head = _head(version)
    if version.content is None:
        return _finish({**head, "deleted": True}, None)
    parsed = parse(version)
    if parsed.why:
        return _keep_text(head, version, parsed.why, state)
    try:
        _check(version, parsed.value)
        patch = diff(state, parsed.value)
        said = {"warnings": list(parsed.warnings)} if parsed.warnings else {}
        data = {**head, "patch": patch, **said}
        encoded = codec.encode_value(data)
    except UsageError as error:
        if not isinstance(version.content, bytes):
            raise
        return _keep_text(head, version, error.message, state)
    # Copied into the state, because a later version changes the state and not this event.
    return Translation(data, len(encoded), apply_patch(state, patch))


def _head(version: Version) -> dict[str, Any]:
    """Return the members that every version has, without the empty ones."""
    members = {
        "path": version.path,
        "author": version.author,
        "source_time": version.time,
        "message": version.message,
    }
    return {"n": version.n, **{name: text for name, text in members.items() if text}}


def _keep_text(head: dict[str, Any], version: Version, why: str, state: Any) -> Translation:
    return _finish({**head, **text_of(content_of(version)), "why": why}, state)


def text_of(content: bytes) -> dict[str, str]:
    """Return the member that keeps `content`: as text, or in base64 where it is no UTF-8."""
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"text_b64": base64.b64encode(content).decode()}


def _finish(data: dict[str, Any], state: Any) -> Translation:
    return Translation(data, len(codec.encode_value(data)), state)


def _check(version: Version, value: Any) -> None:
    """Raise `UsageError` for a value that is too deep or too large for a state."""
    if isinstance(version.content, bytes) and len(version.content) < _SURELY_FITS_BYTES:
        return  # what `read_document` lets through is not too deep
    if (levels := depth(value)) > MAX_DEPTH:
        raise UsageError(f"it is {levels} levels deep; {MAX_DEPTH} are allowed")
    try:
        taken = size(value)
    except TypeError as error:
        raise UsageError(f"it is not a JSON value: {error}") from error
    if taken > codec.MAX_STATE_BYTES:
        raise UsageError(
            f"it takes {taken:,} bytes as a state; {codec.MAX_STATE_BYTES:,} are allowed"
        )
