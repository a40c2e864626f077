"""The events of a run: what happened, in the words of the system's text.

    run_initialized  phase_started  phase_done  phase_failed  phase_retried  heartbeat
    tier_changed  models_resolved  preferences_consulted  metadata_set
    run_resumed  run_restarted  run_aborted  run_completed  run_escalated  run_failed
    normalized       an old file's values, read as new ones at take-over
    state_rebuilt    the state file was found missing or unreadable and is written again

I1  Times are nowhere in the data: what a time in the state is, the event's own time says.
I2  `normalized` and `state_rebuilt` are not of the run itself: they count for no age.

What they do to the state stands in `projection.py`.
"""

from typing import Any

import msgspec


class RunInitialized(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A run begins; `phases` are objects with `name` and `agent`, others of their members stay."""

    pipeline_id: str
    pipeline_name: str
    plugin_version: str
    scope_root_dir: str
    run_id: str
    pattern: str
    phases: list[dict[str, Any]]
    source_tier: str
    platform_profile: dict[str, Any]
    source_scope_root: str
    isolation_warning: str | None = None
    model_tiers_version: str | None = None


class PhaseStarted(msgspec.Struct, forbid_unknown_fields=True):
    """A pending phase is at work now."""

    index: int


class PhaseDone(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A running phase is done; `outputs` come after those that it has."""

    index: int
    outputs: list[str] = []


class PhaseFailed(msgspec.Struct, forbid_unknown_fields=True):
    """A running phase failed."""

    index: int
    error: str


class PhaseRetried(msgspec.Struct, forbid_unknown_fields=True):
    """A failed phase is pending again; its outputs stay, its error goes."""

    index: int


class Heartbeat(msgspec.Struct, forbid_unknown_fields=True):
    """The run is alive; changes no field."""


class TierChanged(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The run goes on in another tier; `source` is null where the tier so far is not known."""

    source: str | None = msgspec.field(name="from")
    to: str
    platform_profile: dict[str, Any]
    isolation_warning: str | None


class ModelsResolved(msgspec.Struct, forbid_unknown_fields=True):
    """Which model each step gets: step id -> the resolver's object."""

    models: dict[str, dict[str, Any]]
    tiers_version: str


class PreferencesConsulted(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which preference files were read; a hash is `sha256:` and hex, null where none is there."""

    user_path: str | None
    user_hash: str | None
    workspace_path: str | None
    workspace_hash: str | None


class MetadataSet(msgspec.Struct, forbid_unknown_fields=True):
    """A member of `metadata` that is the caller's own."""

    key: str
    value: Any


class RunResumed(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The run goes on; `confirmed`: a person said so."""

    confirmed: bool = False


class RunRestarted(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The run begins anew, every phase pending; `confirmed`: a person said so."""

    confirmed: bool = False


class RunAborted(msgspec.Struct, forbid_unknown_fields=True):
    """A crashed run is given up."""

    reason: str


class RunCompleted(msgspec.Struct, forbid_unknown_fields=True):
    """Every phase is done, and so is the run."""


class RunEscalated(msgspec.Struct, forbid_unknown_fields=True):
    """A person has to look at the run."""

    reason: str


class RunFailed(msgspec.Struct, forbid_unknown_fields=True):
    """The run failed."""

    reason: str


class Normalized(msgspec.Struct, forbid_unknown_fields=True):
    """Old values of a file read as new ones.

    `changes` are operations of RFC 6902, each with `why`, and `old` where there was a value.
    """

    changes: list[dict[str, Any]]


class StateRebuilt(msgspec.Struct, forbid_unknown_fields=True):
    """The state file was found as `why` says; `sha256` is of the bytes that stood there."""

    why: str
    sha256: str
