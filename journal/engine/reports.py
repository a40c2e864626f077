"""What the engine answers with: reports that are printed, or given as JSON as they are."""

from typing import Any

import msgspec

from journal.log.history import Head


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it should be; `line` from 1, `offset` in bytes."""

    kind: str
    segment: str = ""
    line: int | None = None
    offset: int | None = None
    seq: int | None = None
    message: str


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What `verify` found; `ok` means no problems. `notes` are worth knowing and no problems.

    `advice`: what to do about the problems, a sentence for each kind of them.
    """

    ok: bool
    events: int
    segments: int
    head: Head
    problems: list[Problem]
    notes: list[str] = []
    unknown: dict[str, int] = {}
    advice: list[str] = []


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """What `rebuild` did: the files it found equal, and those it wrote."""

    seq: int
    events: int
    equal: list[str]
    written: list[str]
    removed: list[str] = []


class CheckpointInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One snapshot, as `checkpoints` lists it; `problem` says why it is not used, if it is not."""

    seq: int
    type: str
    time: str
    trigger: str
    file: str
    size_bytes: int
    problem: str = ""


class ViewStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A view as it stands; `status` is one of the words of `journal.engine.looking`."""

    name: str
    path: str
    status: str
    seq: int | None = None
    why: str = ""
    advice: str = ""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What a journal is and where it stands. Sizes in bytes; `synced` as far as is known.

    `state_bytes` is 0 where damage leaves the newest state unknown. `healthy` as far as a glance
    can tell: no message, and no view that needs anybody. Behind event `read_after` every byte was
    read; before it only the ends and the sizes of the segments.
    """

    path: str
    id: str
    format: int
    projection: str
    durability: str
    seq: int
    time: str
    synced: int
    segments: int
    log_bytes: int
    state_bytes: int
    snapshots: int
    views: list[ViewStatus]
    unfinished_bytes: int
    unknown: dict[str, int]
    writer: str
    messages: list[str]
    healthy: bool
    read_after: int = 0


def to_plain(report: msgspec.Struct) -> Any:
    """Return a report as a JSON value."""
    return msgspec.to_builtins(report)
