"""A state file that no journal keeps yet: read strictly, and read in today's words.

I1  What does not parse, or is no object, is damaged (`Corrupt`); a newer version is
    `UnsupportedFormat`; a field that breaks a rule is `BrokenField`, which names the file and the
    field: it was written by somebody, so no command takes it for damage. Reading touches nothing.
I2  Old values read as new ones, missing later fields read as their documented defaults, and the
    deprecated fields go; each of these is one change, with its reason. What has no documented
    default (`last_active_at`, say) stays missing until the next write. Nothing else is changed.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from journal import codec, regular
from journal.errors import Corrupt, UnsupportedFormat, UsageError
from journal.event import format_time
from projections.foreign import read_json
from projections.loop_plan import schema
from projections.loop_plan.applying import apply_changes
from projections.loop_plan.rules import is_record, show
from projections.loop_plan.states import DEFAULTS, Json
from projections.patch import copy, format

DEPRECATED = ("awaiting_compact", "compact_handoff_at", "compact_verified_at")


class BrokenField(Corrupt):
    """A state file that parses and has a field which breaks a rule (I1)."""


class OldFile(msgspec.Struct, frozen=True):
    """A state file as found (`data`, `found`), its changes (I2), and the state that they give."""

    data: bytes
    found: Json
    changes: list[Json]
    state: Json
    modified: str

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes as found."""
        return codec.sha256(self.data)


def read_old_file(path: Path, slug: str) -> OldFile:
    """Read the state file of the plan `slug`; raises as I1 says."""
    data, stat = regular.read_with_stat(os.path.realpath(path))  # a link to it is followed
    found = parse_file(data, path)
    changes, state = read_old_state(found, slug, path)
    if state["slug"] != slug:
        raise _broken(
            path,
            f"slug: {show(state['slug'])} is not the name of the file",
            f"Allowed: {slug!r}. Rename the file, or mend the slug in it.",
        )
    modified = format_time(stat.st_mtime_ns // 1_000_000)
    return OldFile(data, found, changes, state, modified)


def read_old_state(found: Json, slug: str, path: Path) -> tuple[list[Json], Json]:
    """Return what is read differently in an object (I2), and the state that this gives.

    Raises `BrokenField` that names `path`.
    """
    changes = list(_find_changes(found, slug))
    state = copy(found)
    apply_changes(state, changes)
    try:
        schema.check(state)
    except UsageError as error:
        raise _broken(path, error.message, error.advice) from error
    return changes, state


def _broken(path: Path, why: str, allowed: str) -> BrokenField:
    advice = f"{allowed}\nMend it in the file; nothing was changed."
    return BrokenField(why, path=path, advice=advice)


def parse_file(data: bytes, path: Path) -> Json:
    """Return the bytes of a state file as an object of a version that is known.

    Raises `Corrupt` and `UnsupportedFormat`.
    """
    value = read_json(data, path=path).value
    if not is_record(value):
        raise Corrupt(
            f"the state of a plan is an object, and this is {show(value)}", path=path, offset=0
        )
    version = value.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > schema.VERSION:
        raise UnsupportedFormat(path=path, found=version, supported=schema.VERSION)
    return value


def _find_changes(found: Json, slug: str) -> Iterator[Json]:
    """Yield what is to be read differently than it stands (I2)."""
    phase, awaiting = found.get("current_phase"), found.get("awaiting_compact") is True
    if phase == "7c" or (awaiting and phase == "7a"):
        why = "7c is read as 7b" if phase == "7c" else "awaiting_compact in 7a is read as 7b"
        yield _change("current_phase", why, old=phase, new="7b")
    for name in DEPRECATED:
        if name in found:
            yield _change(name, "deprecated: the compact gate was removed", old=found[name])
    for name, value in (("slug", slug), ("version", schema.VERSION)):
        if name not in found:
            yield _change(name, "it was missing", new=value)
    if found.get("drift_check") == "drift":
        new: Json = {"status": "drift", "report": {}}
        yield _change("drift_check", "a drift has a report", old="drift", new=new)
    for name, make in DEFAULTS.items():
        default = make()
        if name not in found:
            yield _change(name, "it was missing; this is its default", new=default)
        elif found[name] is None and default is not None:
            yield _change(name, "null is read as its default", old=None, new=default)
        elif is_record(default) and is_record(found[name]) and name != "date_filter":
            yield from _find_missing_parts(name, found[name], default)


def _find_missing_parts(name: str, found: Json, default: Json) -> Iterator[Json]:
    for inner, value in default.items():
        if inner not in found:
            yield _change(f"{name}/{inner}", "it was missing; this is its default", new=value)


def _change(name: str, why: str, **values: Any) -> Json:
    return {"path": format(name.split("/")), **values, "why": why}
