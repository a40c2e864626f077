"""The projection `pipeline_state`: what the events of a run do to its state.

I1  `current_phase` is the first phase that is not done, their number when all are.
I2  An event that names a phase which is not there raises `UsageError` when it is appended, so it
    never gets into the log; which event may follow which is said by `commands` and `resuming`.
I3  A file changed by others is adopted where it can be read, passes `schema.check`, and neither
    changes an immutable field nor shortens `tier_changes`.
I4  A state file found missing or unreadable is remembered as `state_rebuilt`, which changes no
    field: the file is as it was, and only `resume` asks for it.
"""

from typing import Any

from journal import codec
from journal.errors import Corrupt, UsageError
from projections.patch import apply_patch
from projections.pipeline_state import facts, reading, schema
from projections.pipeline_state.events import (
    Heartbeat,
    MetadataSet,
    ModelsResolved,
    Normalized,
    PhaseDone,
    PhaseFailed,
    PhaseRetried,
    PhaseStarted,
    PreferencesConsulted,
    RunAborted,
    RunCompleted,
    RunEscalated,
    RunFailed,
    RunInitialized,
    RunRestarted,
    RunResumed,
    StateRebuilt,
    TierChanged,
)
from projections.projection import Projection
from projections.view_kinds import DocumentView

# --- a run begins --------------------------------------------------------------------------------


def _run_initialized(state: Any, event: Any) -> Any:
    if state:
        raise UsageError(
            "the run is initialized already", key="run_id", advice="A new run has its own journal."
        )
    data: RunInitialized = event.data
    return {
        "pipeline_id": data.pipeline_id,
        "pipeline_name": data.pipeline_name,
        "plugin_version": data.plugin_version,
        "scope_root_dir": data.scope_root_dir,
        "run_id": data.run_id,
        "started_at": event.time,
        "pattern": data.pattern,
        "status": "running",
        "current_phase": 0,
        "phases": [_fresh_phase(index, phase) for index, phase in enumerate(data.phases)],
        "metadata": {
            "source_tier": data.source_tier,
            "runtime_tier": data.source_tier,
            "platform_profile": data.platform_profile,
            "tier_changes": [],
            "source_scope_root": data.source_scope_root,
            "isolation_warning": data.isolation_warning,
            "resolved_models": {},
            "preference_files_consulted": dict.fromkeys(schema.PREFERENCES),
            "model_tiers_version_at_run": data.model_tiers_version,
        },
    }


def _fresh_phase(index: int, phase: dict[str, Any]) -> dict[str, Any]:
    fresh: dict[str, Any] = {
        "index": index,
        "name": phase.get("name"),
        "status": "pending",
        "agent": phase.get("agent"),
        "outputs": [],
        "error": None,
    }
    return phase | fresh


# --- phases --------------------------------------------------------------------------------------


def _phase_started(state: Any, event: Any) -> Any:
    _phase(state, event.data.index)["status"] = "running"
    return _count(state)


def _phase_done(state: Any, event: Any) -> Any:
    data: PhaseDone = event.data
    phase = _phase(state, data.index)
    phase["status"] = "done"
    phase["error"] = None
    outputs: list[str] = phase["outputs"]
    outputs += [path for path in dict.fromkeys(data.outputs) if path not in outputs]
    return _count(state)


def _phase_failed(state: Any, event: Any) -> Any:
    phase = _phase(state, event.data.index)
    phase["status"] = "failed"
    phase["error"] = event.data.error
    return _count(state)


def _phase_retried(state: Any, event: Any) -> Any:
    phase = _phase(state, event.data.index)
    phase["status"] = "pending"
    phase["error"] = None
    return _count(state)


def _phase(state: Any, index: int) -> Any:
    phases = state.get("phases", [])
    if not 0 <= index < len(phases):
        raise UsageError(
            f"there is no phase {index}",
            key="data.index",
            advice=f"There are {len(phases)}; the first is 0.",
        )
    return phases[index]


def _count(state: Any) -> Any:
    phases = state["phases"]
    opened = (index for index, phase in enumerate(phases) if phase["status"] != "done")
    state["current_phase"] = next(opened, len(phases))
    return state


# --- metadata ------------------------------------------------------------------------------------


def _leave(state: Any, _event: Any) -> Any:
    return state


def _metadata(state: Any) -> dict[str, Any]:
    found: dict[str, Any] = state.setdefault("metadata", {})
    return found


def _tier_changed(state: Any, event: Any) -> Any:
    data: TierChanged = event.data
    metadata = _metadata(state)
    if data.source is not None:
        change = {"from": data.source, "to": data.to, "at": event.time}
        metadata["tier_changes"] = [*metadata.get("tier_changes", []), change]
    metadata["runtime_tier"] = data.to
    metadata["platform_profile"] = data.platform_profile
    metadata["isolation_warning"] = data.isolation_warning
    return state


def _models_resolved(state: Any, event: Any) -> Any:
    metadata = _metadata(state)
    metadata["resolved_models"] = event.data.models
    metadata["model_tiers_version_at_run"] = event.data.tiers_version
    return state


def _preferences_consulted(state: Any, event: Any) -> Any:
    data: PreferencesConsulted = event.data
    _metadata(state)["preference_files_consulted"] = {
        "user_path": data.user_path,
        "user_hash": data.user_hash,
        "workspace_path": data.workspace_path,
        "workspace_hash": data.workspace_hash,
    }
    return state


def _metadata_set(state: Any, event: Any) -> Any:
    _metadata(state)[event.data.key] = event.data.value
    return state


def _normalized(state: Any, event: Any) -> Any:
    return apply_patch(state, event.data.changes, take=True)


# --- the run -------------------------------------------------------------------------------------


def _run_resumed(state: Any, _event: Any) -> Any:
    """After a crash failed phases stay failed; an ended run gets them back, too."""
    again = ("running",) if state.get("status") == "running" else ("running", "failed")
    for phase in state.get("phases", []):
        if phase["status"] in again:
            phase["status"] = "pending"
            phase["error"] = None
    return _run_on(state)


def _run_restarted(state: Any, _event: Any) -> Any:
    for phase in state.get("phases", []):
        phase |= {"status": "pending", "outputs": [], "error": None}
    return _run_on(state)


def _run_on(state: Any) -> Any:
    state["status"] = "running"
    metadata = _metadata(state)
    for name in schema.REASONS:
        metadata.pop(name, None)
    return _count(state) if "phases" in state else state


def _run_aborted(state: Any, event: Any) -> Any:
    return _end(state, "failed", abort_reason=event.data.reason)


def _run_completed(state: Any, _event: Any) -> Any:
    return _end(state, "completed")


def _run_escalated(state: Any, event: Any) -> Any:
    return _end(state, "escalated", escalation_reason=event.data.reason)


def _run_failed(state: Any, event: Any) -> Any:
    return _end(state, "failed", failure_reason=event.data.reason)


def _end(state: Any, status: str, **reason: str) -> Any:
    state["status"] = status
    _metadata(state).update(reason)
    return state


# --- the file ------------------------------------------------------------------------------------


def note_rebuild(why: str, data: bytes) -> tuple[str, Any] | None:
    """Return the event for a state file that is written again, where it could not be read (I4)."""
    try:
        reading.read(data, "")
    except Corrupt as error:
        found = {"why": error.why if data else why, "sha256": codec.sha256(data)}
        return facts.STATE_REBUILT, found
    return None


PROJECTION = Projection(
    "pipeline_state",
    events={
        RunInitialized: _run_initialized,
        PhaseStarted: _phase_started,
        PhaseDone: _phase_done,
        PhaseFailed: _phase_failed,
        PhaseRetried: _phase_retried,
        Heartbeat: _leave,
        TierChanged: _tier_changed,
        ModelsResolved: _models_resolved,
        PreferencesConsulted: _preferences_consulted,
        MetadataSet: _metadata_set,
        RunResumed: _run_resumed,
        RunRestarted: _run_restarted,
        RunAborted: _run_aborted,
        RunCompleted: _run_completed,
        RunEscalated: _run_escalated,
        RunFailed: _run_failed,
        Normalized: _normalized,
        StateRebuilt: _leave,
    },
    initial=schema.initial,
    check=schema.check,
    adopts=True,
    check_adoption=schema.check_adoption,
    views=(DocumentView(render=schema.render),),
    read_view=reading.read,
    note_rebuild=note_rebuild,
    makes_json=True,
)
"""One run of a pipeline, kept in `pipeline-state.json`."""
