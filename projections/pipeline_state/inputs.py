"""What callers bring to a run: phases, a platform profile, a manifest's version, models.

I1  It is refused with the field's name before anything is written; what fits is taken as it is,
    members that we do not know included.
I2  `plugin_version` comes from the manifest or the caller, and is a semantic version.

Profile, manifest and models are JSON values here; `journal.cli.pipeline` reads the files.
"""

import os
import re
from datetime import date
from pathlib import Path
from typing import Any

from journal import codec, regular
from journal.errors import Corrupt, UsageError
from projections.foreign import read_json
from projections.pipeline_state import schema

# https://semver.org, the grammar in short: three numbers, then a pre-release, then a build.
_VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


def read_value(path: str | os.PathLike[str], what: str) -> Any:
    """Return the JSON value in a file; raises `UsageError` where it is none, `OSError`."""
    try:
        return read_json(regular.read_file(path), path=path).value
    except Corrupt as error:
        raise UsageError(f"{what}: {error.message}", key=what, advice=error.advice) from error


# --- a new run -----------------------------------------------------------------------------------


def check_text(value: Any, what: str) -> str:
    """Return a text that is not empty; raises `UsageError`."""
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{what} is {value!r}", key=what, advice="It must be text, not empty.")
    return value


def plan_phases(given: Any) -> list[dict[str, Any]]:
    """Return the phases of a new run, each an object with `name` and `agent`.

    `index`, if there, must be the place in the list; members of our own state may not be given.
    Raises `UsageError`.
    """
    advice = 'A list is wanted, such as [{"name": "plan", "agent": "planner"}].'
    if not schema.is_list(given) or not given:
        raise UsageError("there are no phases", key="phases", advice=advice)
    return [_plan_phase(phase, index, advice) for index, phase in enumerate(given)]


def _plan_phase(phase: Any, index: int, advice: str) -> dict[str, Any]:
    place = f"phases[{index}]"
    if not schema.is_object(phase):
        raise UsageError(f"{place} is no object", key=place, advice=advice)
    for name in ("name", "agent"):
        value = phase.get(name)
        if not isinstance(value, str) or not value.strip():
            shown = "missing" if value is None else repr(value)
            raise UsageError(f"{place}.{name} is {shown}", key=f"{place}.{name}", advice=advice)
    fresh: dict[str, Any] = {"index": index, "status": "pending", "outputs": [], "error": None}
    for name, wanted in fresh.items():
        # 0 is not false here: what is given must be what a fresh phase has, or be left out.
        if name in phase and (phase[name], type(phase[name])) != (wanted, type(wanted)):
            raise UsageError(
                f"{place}.{name} is {phase[name]!r}; a new phase has {wanted!r}",
                key=f"{place}.{name}",
                advice="Leave it out.",
            )
    return {name: value for name, value in phase.items() if name not in fresh}


def read_version(
    *, version: str | None, manifest: str | Path | None, profile: dict[str, Any]
) -> str:
    """Return the plugin's version: given, or from its manifest (I2).

    Without either the manifest is the one that the profile names in
    `extensions.version_manifest_path`. Raises `UsageError`, `OSError`.
    """
    if version is not None and manifest is not None:
        raise UsageError("the version is given, and a manifest, too: give one of them")
    if version is not None:
        return check_version(version, "plugin_version")
    named = manifest or _get(profile, "extensions", "version_manifest_path")
    if not isinstance(named, str | Path) or not os.fspath(named):
        raise UsageError(
            "plugin_version is not known: no version, no manifest, and the profile names none",
            key="plugin_version",
            advice="Give --plugin-version, or --manifest FILE.",
        )
    found = read_value(named, "manifest")
    if not schema.is_object(found) or "version" not in found:
        raise UsageError(f"{os.fspath(named)} has no member `version`", key="manifest")
    return check_version(found["version"], f"version in {os.fspath(named)}")


def check_version(version: Any, what: str) -> str:
    """Return a semantic version; raises `UsageError` for anything else."""
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise UsageError(
            f"{what} is {version!r}", key="plugin_version", advice="Write it like 2.1.0 (semver)."
        )
    return version


def _get(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if schema.is_object(value) else None
    return value


# --- a platform profile --------------------------------------------------------------------------


def check_profile(profile: Any) -> dict[str, Any]:
    """Return a platform profile, an object; raises `UsageError` for anything else."""
    if not schema.is_object(profile):
        raise UsageError("the platform profile is no JSON object", key="platform_profile")
    join_warnings(profile)
    return profile


def join_warnings(profile: dict[str, Any]) -> str | None:
    """Return the profile's degradation warnings, joined by LF; None where there are none."""
    warnings = profile.get("degradation_warnings")
    if warnings is None:
        return None
    if not schema.is_list(warnings) or not all(isinstance(each, str) for each in warnings):
        raise UsageError(
            "platform_profile.degradation_warnings is no list of texts",
            key="platform_profile.degradation_warnings",
        )
    return "\n".join(warnings) or None


def workspace_root(profile: dict[str, Any]) -> str | None:
    """Return the scope root that a profile names for a workspace, such as `.claude`."""
    found = _get(profile, "scope_root", "workspace")
    return found if isinstance(found, str) and found else None


def tiers_version(profile: dict[str, Any]) -> str | None:
    """Return the profile's `model_tiers_version`."""
    found = profile.get("model_tiers_version")
    return found if isinstance(found, str) and found else None


# --- models and preferences ----------------------------------------------------------------------


def check_models(models: Any) -> dict[str, dict[str, Any]]:
    """Return step id -> the resolver's object, which names a `model`; raises `UsageError`."""
    if not schema.is_object(models):
        raise UsageError(
            "the models are no object",
            key="resolved_models",
            advice='An object is wanted, such as {"plan": {"model": "m", "effort": "high"}}.',
        )
    for step, resolved in models.items():
        model = _get(resolved, "model")
        if not isinstance(model, str) or not model:
            raise UsageError(
                f"resolved_models.{step} names no model",
                key=f"resolved_models.{step}",
                advice="It is the resolver's object: model, effort, source, warnings.",
            )
    return models


def check_date(text: str) -> str:
    """Return an ISO date; raises `UsageError` for anything else."""
    try:
        fits = date.fromisoformat(text).isoformat() == text
    except ValueError:
        fits = False
    if not fits:
        raise UsageError(
            f"the tiers version is {text!r}", key="tiers_version", advice="Write it 2026-03-01."
        )
    return text


def hash_preferences(path: str) -> tuple[str, str | None]:
    """Return a preference file as it is named in the state, and the hash of its content.

    The path is absolute, or begins with `~` where it was given so; the hash is None where there
    is no such file. Other `OSError` pass through: unreadable is not absent.
    """
    check_text(path, "preference file")
    named = path if path.startswith("~") else os.path.abspath(path)
    try:
        return named, f"sha256:{codec.sha256(regular.read_given(Path(path).expanduser()))}"
    except FileNotFoundError:
        return named, None
