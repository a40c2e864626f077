"""The verbs of a run: (state, …) -> events, or `UsageError` that names the rule.

I1  They change nothing: an event is made only where it may happen, and what it does is said by
    `projection`. They take no clock and no random; ids come from the caller.
I2  A refusal says what was asked, what stands in the way, and what would be allowed.

    start       pending -> running        done        running -> done
    fail_phase  running -> failed         retry_phase failed -> pending
    complete    every phase done          escalate, fail   a running run

`resuming` has the verb resume.
"""

from collections.abc import Sequence
from typing import Any

from journal.errors import UsageError
from projections.pipeline_state import inputs, places, schema
from projections.pipeline_state.events import (
    Heartbeat,
    MetadataSet,
    ModelsResolved,
    PhaseDone,
    PhaseFailed,
    PhaseRetried,
    PhaseStarted,
    PreferencesConsulted,
    RunCompleted,
    RunEscalated,
    RunFailed,
    RunInitialized,
)

_RESERVED = frozenset(
    (*schema.RUN_FIELDS, *schema.METADATA_FIELDS, *schema.REASONS, "tier", "scope_root")
)


def initialize(
    *,
    pipeline_id: str,
    name: str,
    run_id: str,
    plugin_version: str,
    scope_root_dir: str,
    pattern: str,
    phases: Any,
    tier: str,
    profile: Any,
) -> RunInitialized:
    """Return the first event of a run; raises `UsageError` for a field that does not fit."""
    if pattern not in schema.PATTERNS:
        raise UsageError(
            f"the pattern is {pattern!r}",
            key="pattern",
            advice=f"It is one of {', '.join(schema.PATTERNS)}.",
        )
    inputs.check_profile(profile)
    return RunInitialized(
        pipeline_id=inputs.check_text(pipeline_id, "pipeline_id"),
        pipeline_name=places.check_name(name),
        plugin_version=inputs.check_version(plugin_version, "plugin_version"),
        scope_root_dir=scope_root_dir,
        run_id=places.check_run_id(run_id, name),
        pattern=pattern,
        phases=inputs.plan_phases(phases),
        source_tier=inputs.check_text(tier, "tier"),
        platform_profile=profile,
        source_scope_root=inputs.workspace_root(profile) or scope_root_dir,
        isolation_warning=inputs.join_warnings(profile),
        model_tiers_version=inputs.tiers_version(profile),
    )


# --- phases --------------------------------------------------------------------------------------


def start(state: Any, index: int) -> list[PhaseStarted]:
    """Start a pending phase."""
    _check_phase(state, index, "start", ("pending",))
    return [PhaseStarted(index)]


def done(state: Any, index: int, outputs: Sequence[str] = ()) -> list[PhaseDone]:
    """Finish a running phase; `outputs` are paths, added to those that it has."""
    _check_phase(state, index, "done", ("running",))
    return [PhaseDone(index, [inputs.check_text(path, "output") for path in outputs])]


def fail_phase(state: Any, index: int, error: str) -> list[PhaseFailed]:
    """Fail a running phase."""
    _check_phase(state, index, "fail-phase", ("running",))
    return [PhaseFailed(index, inputs.check_text(error, "error"))]


def retry_phase(state: Any, index: int) -> list[PhaseRetried]:
    """Make a failed phase pending again."""
    _check_phase(state, index, "retry-phase", ("failed",))
    return [PhaseRetried(index)]


def _check_phase(state: Any, index: int, verb: str, allowed: tuple[str, ...]) -> None:
    _check_running(state, verb)
    phases = state["phases"]
    if isinstance(index, bool) or not 0 <= index < len(phases):
        words = f"0 to {len(phases) - 1}" if phases else "none"
        raise UsageError(f"there is no phase {index}", key="index", advice=f"There are: {words}.")
    status = phases[index]["status"]
    if status not in allowed:
        raise UsageError(
            f"phase {index} ({phases[index]['name']}) is {status}, and {verb} is for one that is "
            f"{' or '.join(allowed)}",
            key=f"phases[{index}].status",
            advice=_ADVICE.get(status, ""),
        )


_ADVICE = {
    "pending": "`start` makes it running.",
    "running": "`done` or `fail-phase` ends it.",
    "failed": "`retry-phase` makes it pending again.",
    "done": "A phase that is done stays so, but for `resume --choose restart` after a crash.",
}


def _check_running(state: Any, verb: str) -> None:
    status = state["status"]
    if status == "running":
        return
    advice = "Nothing but its metadata changes any more."
    if status != "completed":
        advice = "It needs a person: `resume RUN --confirm` makes it running again."
    raise UsageError(
        f"the run is {status}, and {verb} is for one that is running", key="status", advice=advice
    )


# --- the run -------------------------------------------------------------------------------------


def beat(state: Any) -> list[Heartbeat]:
    """Say that the run is alive."""
    _check_running(state, "beat")
    return [Heartbeat()]


def complete(state: Any) -> list[RunCompleted]:
    """Complete the run: every phase must be done."""
    _check_running(state, "complete")
    opened = [
        f"{phase['index']} ({phase['name']}) is {phase['status']}"
        for phase in state["phases"]
        if phase["status"] != "done"
    ]
    if opened:
        raise UsageError(
            f"complete needs every phase done: phase {', '.join(opened)}",
            key="phases",
            advice="Finish them, or end the run by `escalate` or `fail`.",
        )
    return [RunCompleted()]


def escalate(state: Any, reason: str) -> list[RunEscalated]:
    """Hand the run to a person."""
    _check_running(state, "escalate")
    return [RunEscalated(inputs.check_text(reason, "reason"))]


def fail(state: Any, reason: str) -> list[RunFailed]:
    """End the run as failed."""
    _check_running(state, "fail")
    return [RunFailed(inputs.check_text(reason, "reason"))]


# --- metadata ------------------------------------------------------------------------------------


def set_metadata(_state: Any, key: str, value: Any) -> list[MetadataSet]:
    """Set a member of `metadata` that is not the schema's own, whatever the run's status."""
    inputs.check_text(key, "key")
    if key in _RESERVED:
        raise UsageError(
            f"metadata {key!r} belongs to the schema and is not set by hand",
            key=key,
            advice="Models are set by `models`, preferences by `prefs`, a tier by `resume --tier`; "
            "plugin_version and source_tier never change. Use a name of your own.",
        )
    return [MetadataSet(key, value)]


def record_models(state: Any, models: Any, tiers_version: str) -> list[ModelsResolved]:
    """Record which model each step gets, and the date of the tiers it was resolved by."""
    _check_running(state, "models")
    return [ModelsResolved(inputs.check_models(models), inputs.check_date(tiers_version))]


def record_preferences(
    state: Any, user: str | None = None, workspace: str | None = None
) -> list[PreferencesConsulted]:
    """Record which preference files were consulted, with the hash of what stands there now.

    A path that is not given is the one recorded before, hashed again.
    """
    _check_running(state, "prefs")
    before = state["metadata"].get("preference_files_consulted", {})
    user = before.get("user_path") if user is None else user
    workspace = before.get("workspace_path") if workspace is None else workspace
    if user is None and workspace is None:
        raise UsageError(
            "no preference file is named, and none was recorded before",
            key="preference_files_consulted",
            advice="Give --user FILE, --workspace FILE, or both.",
        )
    user_path, user_hash = inputs.hash_preferences(user) if user else (None, None)
    workspace_path, workspace_hash = (
        inputs.hash_preferences(workspace) if workspace else (None, None)
    )
    return [
        PreferencesConsulted(
            user_path=user_path,
            user_hash=user_hash,
            workspace_path=workspace_path,
            workspace_hash=workspace_hash,
        )
    ]
