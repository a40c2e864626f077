"""What a bench tells: seconds and bytes, as they were measured on one journal."""

import msgspec


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was timed, `runs` times: the median, the 99th percentile, the least.

    `per`: how many events one run is about; 0 where that says nothing.
    """

    name: str
    runs: int
    median_ms: float
    p99_ms: float
    best_ms: float
    per: int = 0

    @property
    def each_us(self) -> float:
        """Microseconds for each event that a run is about."""
        return self.median_ms * 1000 / self.per if self.per else 0.0


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a whole: what it is, and how long it takes."""

    name: str
    ms: float


class Breakdown(msgspec.Struct, frozen=True, kw_only=True):
    """Where the time of something goes."""

    name: str
    unit: str
    shares: list[Share]


class PolicyCost(msgspec.Struct, frozen=True, kw_only=True):
    """What the snapshots of one policy cost and give: that of `snapshots` in `journal.yaml`.

    `every` is how many events lie between two on average, `of_log` their bytes beside the log's.
    The times are those of `state_at` at random places, and of reading the newest state.
    """

    log_ratio: float
    min_bytes: int
    keep: int
    is_own: bool
    every: int
    snapshots: int
    size_bytes: int
    of_log: float
    state_at_p50_ms: float
    state_at_p99_ms: float
    newest_ms: float


class Benched(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was measured; `made_up` is whether the journal was made for it.

    `appended` says what was appended: so many of the journal's own last events again, to a fork.
    """

    path: str
    projection: str
    events: int
    log_bytes: int
    state_bytes: int
    durability: str
    views_every_ms: int
    made_up: bool
    timed: list[Timed]
    breakdowns: list[Breakdown]
    policies: list[PolicyCost]
    appended: int = 0
    notes: list[str] = []
