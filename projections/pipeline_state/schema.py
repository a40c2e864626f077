"""The fields of `pipeline-state.json`: their order in the file, and what each may hold.

I1  Members stand in the order of the system's text, whoever wrote them; members that the text does
    not know come after those, and survive.
I2  What is refused is named by its place (`phases[2].status`), its value, and what is allowed.
I3  Fields that came with later versions may be missing, as in a file of an earlier version;
    `plugin_version` and `source_tier` among them: they are never invented.

It judges a state as it stands, and a file that others changed against the one before; what the
verbs may do is said by `commands` and `resuming`.
"""

import re
from collections.abc import Callable
from typing import Any, TypeGuard

import orjson

from journal.errors import UsageError
from journal.event import parse_time
from projections.patch import equal

PATTERNS = ("1", "2", "2b", "3", "4", "5")
RUN_STATUSES = ("running", "completed", "escalated", "failed")
PHASE_STATUSES = ("pending", "running", "done", "failed")
PREFERENCES = ("user_path", "user_hash", "workspace_path", "workspace_hash")

RUN_FIELDS = (
    "pipeline_id",
    "pipeline_name",
    "plugin_version",
    "scope_root_dir",
    "run_id",
    "started_at",
    "pattern",
    "status",
    "current_phase",
    "phases",
    "metadata",
)
PHASE_FIELDS = ("index", "name", "status", "agent", "outputs", "error")
METADATA_FIELDS = (
    "source_tier",
    "runtime_tier",
    "platform_profile",
    "tier_changes",
    "source_scope_root",
    "isolation_warning",
    "resolved_models",
    "preference_files_consulted",
    "model_tiers_version_at_run",
)
TIER_CHANGE_FIELDS = ("from", "to", "at")

REASONS = ("abort_reason", "escalation_reason", "failure_reason")
"""Why a run ended: members of `metadata` that the text does not know, gone when it goes on."""

IMMUTABLE = ("pipeline_id", "pipeline_name", "plugin_version", "run_id", "started_at")
IMMUTABLE_METADATA = ("source_tier", "source_scope_root")

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_NEXT = "Nothing was changed."


# --- order ---------------------------------------------------------------------------------------


def render(state: Any) -> bytes:
    """Write the state file: JSON indented by two spaces, UTF-8 without BOM, no final LF (I1)."""
    return orjson.dumps(arrange(state), option=orjson.OPT_INDENT_2)


def arrange(state: Any) -> Any:
    """Return the state with its members in the text's order (I1)."""
    if not is_object(state):
        return state
    found = _in_order(state, RUN_FIELDS)
    if is_list(phases := found.get("phases")):
        found["phases"] = [_in_order(phase, PHASE_FIELDS) for phase in phases]
    if is_object(metadata := found.get("metadata")):
        metadata = _in_order(metadata, METADATA_FIELDS)
        if is_list(changes := metadata.get("tier_changes")):
            metadata["tier_changes"] = [_in_order(each, TIER_CHANGE_FIELDS) for each in changes]
        if "preference_files_consulted" in metadata:
            consulted = metadata["preference_files_consulted"]
            metadata["preference_files_consulted"] = _in_order(consulted, PREFERENCES)
        found["metadata"] = metadata
    return found


def _in_order(value: Any, names: tuple[str, ...]) -> Any:
    if not is_object(value):
        return value
    known = {name: value[name] for name in names if name in value}
    return known | {name: value[name] for name in value if name not in known}


# --- what a field may hold -----------------------------------------------------------------------


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Say whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Say whether a JSON value is a list."""
    return isinstance(value, list)


class _Kind:
    """What a field may hold: how it is told, and how it is said."""

    def __init__(self, fits: Callable[[Any], bool], words: str) -> None:
        self.fits = fits
        self.words = words


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_time(value: Any) -> bool:
    """Say whether a value is an ISO 8601 time."""
    try:
        return isinstance(value, str) and bool(parse_time(value))
    except UsageError:
        return False


def is_safe_part(value: Any) -> bool:
    """Say whether a name is one part of a path that leads nowhere else."""
    if not isinstance(value, str) or value in ("", ".", ".."):
        return False
    return len(value.encode()) <= 255 and not any(mark in value for mark in "/\\\0")


def split_path(path: str) -> list[str]:
    """Return the parts of a path of either kind of system, without empty and `.` ones."""
    return [part for part in re.split(r"[/\\]", path) if part not in ("", ".")]


def is_absolute(path: str) -> bool:
    """Say whether a path of either kind of system is absolute, or begins at home."""
    return path.startswith(("/", "\\", "~")) or re.match(r"[A-Za-z]:", path) is not None


def _is_relative_folder(value: Any) -> bool:
    if not isinstance(value, str) or is_absolute(value):
        return False
    parts = split_path(value)
    return bool(parts) and all(is_safe_part(part) for part in parts)


def _is_tier_change(value: Any) -> bool:
    if not is_object(value):
        return False
    return _is_text(value.get("from")) and _is_text(value.get("to")) and is_time(value.get("at"))


def _holds_objects(value: Any) -> bool:
    return is_object(value) and all(is_object(each) for each in value.values())


def _all_fit(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def all_fit(value: Any) -> bool:
        return is_list(value) and all(fits(item) for item in value)

    return all_fit


def _one_of(allowed: tuple[str, ...]) -> _Kind:
    # A tuple holds what equals: 1 is not among texts, but a list must not be asked for its hash.
    return _Kind(
        lambda value: isinstance(value, str) and value in allowed, "one of " + ", ".join(allowed)
    )


def _or_null(kind: _Kind) -> _Kind:
    return _Kind(lambda value: value is None or kind.fits(value), f"{kind.words}, or null")


_TEXT = _Kind(_is_text, "text that is not empty")
_OBJECT = _Kind(is_object, "an object")
_ANY_TEXT = _Kind(lambda value: isinstance(value, str), "text")
_HASH_KIND = _Kind(
    lambda value: isinstance(value, str) and _HASH.fullmatch(value) is not None,
    "`sha256:` and 64 hexadecimal digits",
)

_RUN: dict[str, _Kind] = {
    "pipeline_id": _TEXT,
    "pipeline_name": _Kind(is_safe_part, "a name without / and \\"),
    "plugin_version": _TEXT,
    "scope_root_dir": _Kind(_is_relative_folder, "the name of a folder, not an absolute path"),
    "run_id": _Kind(is_safe_part, "a name without / and \\"),
    "started_at": _Kind(is_time, "an ISO 8601 time such as 2026-03-01T14:45:00Z"),
    "pattern": _one_of(PATTERNS),
    "status": _one_of(RUN_STATUSES),
    "current_phase": _Kind(
        lambda value: type(value) is int and value >= 0, "the index of a phase, from 0 on"
    ),
    "phases": _Kind(is_list, "a list of phases"),
    "metadata": _OBJECT,
}
_LATER = frozenset(("plugin_version", "scope_root_dir"))

_PHASE: dict[str, _Kind] = {
    "name": _TEXT,
    "status": _one_of(PHASE_STATUSES),
    "agent": _or_null(_ANY_TEXT),
    "outputs": _Kind(_all_fit(_is_text), "a list of paths"),
    "error": _Kind(
        lambda value: value is None or isinstance(value, str) or is_object(value),
        "null, text or an object",
    ),
}

_METADATA: dict[str, _Kind] = {
    "source_tier": _TEXT,
    "runtime_tier": _TEXT,
    "platform_profile": _or_null(_OBJECT),
    "tier_changes": _Kind(
        _all_fit(_is_tier_change), "a list of {from, to, at}, two tiers and a time"
    ),
    "source_scope_root": _or_null(_TEXT),
    "isolation_warning": _or_null(_ANY_TEXT),
    "resolved_models": _Kind(
        _holds_objects,
        "an object with an object for each step id",
    ),
    "preference_files_consulted": _OBJECT,
    "model_tiers_version_at_run": _or_null(_TEXT),
}

_PREFERENCES: dict[str, _Kind] = {
    name: _or_null(_HASH_KIND if name.endswith("_hash") else _TEXT) for name in PREFERENCES
}


def initial() -> Any:
    """Return the state before the run is initialized: it has no field yet."""
    return {}


def check(state: Any) -> None:
    """Raise `UsageError` that names the first field which breaks the schema (I2)."""
    if not is_object(state):
        raise _refuse("the state", state, "an object")
    _check_members(state, "", _RUN, required=frozenset(_RUN) - _LATER)
    phases = state["phases"]
    for index, phase in enumerate(phases):
        _check_phase(phase, f"phases[{index}]", index)
    if state["current_phase"] > len(phases):
        words = f"at most {len(phases)}, the number of the phases"
        raise _refuse("current_phase", state["current_phase"], words)
    metadata = state["metadata"]
    if "tier" in metadata:
        raise UsageError(
            "metadata.tier is a field of old files; it is not written any more",
            key="metadata.tier",
            advice=f"It is source_tier and runtime_tier now. {_NEXT}",
        )
    _check_members(metadata, "metadata.", _METADATA)
    consulted = metadata.get("preference_files_consulted", {})
    _check_members(consulted, "metadata.preference_files_consulted.", _PREFERENCES)


def _check_phase(phase: Any, place: str, index: int) -> None:
    if not is_object(phase):
        raise _refuse(place, phase, "an object")
    found = phase.get("index")
    if type(found) is not int or found != index:
        raise _refuse(f"{place}.index", found, f"{index}, its place in the list")
    _check_members(phase, f"{place}.", _PHASE, required=frozenset(_PHASE))


def _check_members(
    value: dict[str, Any],
    place: str,
    kinds: dict[str, _Kind],
    *,
    required: frozenset[str] = frozenset(),
) -> None:
    for name, kind in kinds.items():
        if name not in value:
            if name in required:
                raise UsageError(
                    f"{place}{name} is missing; it must be {kind.words}",
                    key=f"{place}{name}",
                    advice=_NEXT,
                )
        elif not kind.fits(value[name]):
            raise _refuse(f"{place}{name}", value[name], kind.words)


def _refuse(key: str, value: Any, words: str) -> UsageError:
    text = orjson.dumps(value).decode()
    shown = text if len(text) <= 80 else text[:79] + "…"
    return UsageError(f"{key} is {shown}; it must be {words}", key=key, advice=_NEXT)


# --- what a foreign change may do ----------------------------------------------------------------


def check_adoption(old: Any, new: Any) -> None:
    """Raise `UsageError` where a file changed by others may not become the state.

    No field of `IMMUTABLE` changes once it is there, and `tier_changes` only grows.
    """
    _check_unchanged(old, new, IMMUTABLE, "")
    before, after = old.get("metadata", {}), new["metadata"]
    _check_unchanged(before, after, IMMUTABLE_METADATA, "metadata.")
    grown, had = after.get("tier_changes", []), before.get("tier_changes", [])
    if not equal(grown[: len(had)], had):
        raise UsageError(
            "metadata.tier_changes was shortened or rewritten, and it only grows",
            key="metadata.tier_changes",
            advice="Put the earlier entries back as they were; new ones come after them.",
        )


def _check_unchanged(
    old: dict[str, Any], new: dict[str, Any], names: tuple[str, ...], place: str
) -> None:
    for name in names:
        if old.get(name) is not None and not equal(old[name], new.get(name)):
            raise UsageError(
                f"{place}{name} was changed from {old[name]!r}, and it never changes after init",
                key=f"{place}{name}",
                advice="Put it back as it was.",
            )
