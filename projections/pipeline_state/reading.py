"""A state file that others wrote: read strictly, and its old values read as new ones.

    a BOM, or anything before `{`            refused: the text calls it a parse error
    phases[].status "completed"              "done"
    pattern 3                                "3"
    scope_root "/home/u/proj/.claude"        scope_root_dir ".claude"; the absolute one goes
    metadata.tier, where source_tier lacks   source_tier, and runtime_tier; tier itself goes
    members of later versions, missing       empty: null, [] or {}
    current_phase                            the first phase that is not done
    plugin_version, missing                  stays missing: it is never invented

I1  Whatever is not a JSON object is `Corrupt` with its offset; nothing is guessed.
I2  What is read otherwise than it stands is listed, one operation of RFC 6902 each with the
    reason; applied to the value as it stands they give the value as it is read.
I3  Unknown members are left alone. Values of a wrong type are, too: `schema.check` names them.
"""

import os
from typing import Any

from journal.errors import Corrupt, UsageError
from projections import patch
from projections.foreign import read_json
from projections.pipeline_state import schema

_BOM = b"\xef\xbb\xbf"
_ESCALATE = "Corruption detected: a person has to look at it. Nothing was changed."

_LATER_PHASE: dict[str, Any] = {"agent": None, "outputs": [], "error": None}

_LATER_METADATA: dict[str, Any] = {
    "platform_profile": None,
    "tier_changes": [],
    "source_scope_root": None,
    "isolation_warning": None,
    "resolved_models": {},
    "preference_files_consulted": dict.fromkeys(schema.PREFERENCES),
    "model_tiers_version_at_run": None,
}


def read(data: bytes, path: str | os.PathLike[str]) -> Any:
    """Return the state that the bytes of a state file mean, old values as new ones.

    Raises `Corrupt` for what is not one JSON object.
    """
    value = read_raw(data, path)
    return patch.apply_patch(value, list_changes(value))


def read_raw(data: bytes, path: str | os.PathLike[str]) -> Any:
    """Return the JSON object in the bytes of a state file, as it stands (I1)."""
    if data.startswith(_BOM):
        raise Corrupt(
            "it begins with a byte order mark (0xEF 0xBB 0xBF); byte 0 must be 0x7B, {",
            path=path,
            offset=0,
            advice=_ESCALATE,
        )
    try:
        value = read_json(data, path=path).value
    except Corrupt as error:
        raise Corrupt(
            error.why,
            path=path,
            line=error.line,
            offset=error.offset,
            advice=f"{_ESCALATE}\n{error.advice}",
        ) from error
    if not schema.is_object(value):
        raise Corrupt("it holds no JSON object", path=path, offset=0, advice=_ESCALATE)
    return value


def check(state: Any, path: str | os.PathLike[str]) -> None:
    """Raise `Corrupt` that names the field where the state in a file breaks the schema."""
    try:
        schema.check(state)
    except UsageError as error:
        raise Corrupt(error.message, path=path, advice=_ESCALATE) from error


def list_changes(value: Any) -> list[dict[str, Any]]:
    """Return what is read otherwise than it stands in an object (I2)."""
    changes = _Changes()
    phases = value.get("phases")
    if schema.is_list(phases):
        for index, phase in enumerate(phases):
            if schema.is_object(phase):
                _read_phase(changes, phase, f"/phases/{index}")
    pattern = value.get("pattern")
    if type(pattern) is int and str(pattern) in schema.PATTERNS:
        changes.replace("/pattern", pattern, str(pattern), "a pattern is text")
    if schema.is_list(phases):
        _read_current(changes, value, _first_open(phases))
    _read_scope_root(changes, value)
    _read_metadata(changes, value)
    return changes.found


class _Changes:
    """Operations of RFC 6902, with the reason of each."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []

    def add(self, path: str, value: Any, why: str) -> None:
        self.found.append({"op": "add", "path": path, "value": value, "why": why})

    def replace(self, path: str, old: Any, value: Any, why: str) -> None:
        change = {"op": "replace", "path": path, "old": old, "value": value, "why": why}
        self.found.append(change)

    def remove(self, path: str, old: Any, why: str) -> None:
        self.found.append({"op": "remove", "path": path, "old": old, "why": why})


def _read_phase(changes: _Changes, phase: dict[str, Any], place: str) -> None:
    if phase.get("status") == "completed":
        changes.replace(f"{place}/status", "completed", "done", "a phase is done, not completed")
    for name, empty in _LATER_PHASE.items():
        if name not in phase:
            changes.add(f"{place}/{name}", empty, "it was missing")


def _read_current(changes: _Changes, value: dict[str, Any], due: int) -> None:
    """Read `current_phase` as the first phase that is not done, whatever number stands there."""
    why = "the first phase that is not done"
    if "current_phase" not in value:
        changes.add("/current_phase", due, why)
    elif type(value["current_phase"]) is int and value["current_phase"] != due:
        changes.replace("/current_phase", value["current_phase"], due, why)


def _first_open(phases: list[Any]) -> int:
    done = ("done", "completed")
    opened = (i for i, phase in enumerate(phases) if _get(phase, "status") not in done)
    return next(opened, len(phases))


def _get(value: Any, name: str) -> Any:
    return value.get(name) if schema.is_object(value) else None


def _read_scope_root(changes: _Changes, value: dict[str, Any]) -> None:
    """Read an absolute path as its last part: the root is found again from where the file lies."""
    why = "the root is found from where the file lies"
    named = value.get("scope_root_dir")
    if isinstance(named, str) and schema.is_absolute(named) and (name := _basename(named)):
        changes.replace("/scope_root_dir", named, name, why)
    old = value.get("scope_root")
    if isinstance(old, str) and (name := _basename(old)):
        if "scope_root_dir" not in value:
            changes.add("/scope_root_dir", name, why)
        changes.remove("/scope_root", old, why)


def _basename(path: str) -> str:
    parts = schema.split_path(path)
    if not parts or schema.is_absolute(parts[-1]) or not schema.is_safe_part(parts[-1]):
        return ""
    return parts[-1]


def _read_metadata(changes: _Changes, value: dict[str, Any]) -> None:
    metadata = value.get("metadata", {})
    if not schema.is_object(metadata):
        return
    if "metadata" not in value:
        changes.add("/metadata", {}, "it was missing")
    tier, source = metadata.get("tier"), metadata.get("source_tier")
    if source is None and isinstance(tier, str):
        changes.add("/metadata/source_tier", tier, "metadata.tier alone is the source tier")
        source = tier
    if metadata.get("runtime_tier") is None and isinstance(source, str):
        changes.add("/metadata/runtime_tier", source, "no other tier is known")
    if "tier" in metadata and isinstance(source, str):
        changes.remove("/metadata/tier", tier, "it is source_tier and runtime_tier now")
    for name, empty in _LATER_METADATA.items():
        if name not in metadata:
            changes.add(f"/metadata/{name}", empty, "it was missing")
