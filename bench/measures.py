"""What is measured: for each measure its job, its systems, its sizes, and the ratios wanted.

A value is a cost: lower is better. `Wanted("journal", "floor", 1.2)` wants the journal's cost to be
at most 1.2 times the floor's within a round. Where that is not reached yet, `today` says what is:
the table shows both, and a run fails when the measured ratio is worse than that by more than half.
"""

from typing import Any

import msgspec


class Wanted(msgspec.Struct, frozen=True):
    """cost(`system`) <= `at_most` * cost(`other`); `today`: what is reached so far, if less."""

    system: str
    other: str
    at_most: float
    today: float | None = None

    @property
    def guarded(self) -> float:
        """The ratio that a run is held to."""
        return self.at_most if self.today is None else max(self.at_most, self.today)


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table; `full` and `quick` are the parameters of its job.

    `history`: it reads a history that is made once. `systems` may name one system several times
    with parameters of its own, as `name label` -> parameters.
    """

    name: str
    title: str
    unit: str
    job: str
    systems: dict[str, dict[str, Any]]
    full: dict[str, Any]
    quick: dict[str, Any]
    wanted: tuple[Wanted, ...] = ()
    history: bool = False


def _all(*names: str) -> dict[str, dict[str, Any]]:
    return {name: {} for name in names}


_CLI = ["-m", "journal"]

MEASURES = (
    Measure(
        name="replay",
        title="verified replay of a history",
        unit="us an event",
        job="replay",
        history=True,
        systems=_all("floor", "journal", "sqlite", "eventsourcing"),
        full={"events": 1_000_000},
        quick={"events": 100_000},
        wanted=(
            Wanted("journal", "floor", 1.2, today=1.5),
            Wanted("journal", "sqlite", 1 / 1.5, today=0.8),
            Wanted("journal", "eventsourcing", 1 / 20, today=1 / 5),
        ),
    ),
    Measure(
        name="verify",
        title="verify everything, beside a replay",
        unit="us an event",
        job="verify",
        history=True,
        systems=_all("journal"),
        full={"events": 1_000_000},
        quick={"events": 100_000},
    ),
    Measure(
        name="append-durable",
        title="durable append, one by one, view coalesced",
        unit="us",
        job="append",
        systems=_all("floor", "journal", "sqlite", "eventsourcing", "langgraph", "redis"),
        full={"events": 3000, "durable": True},
        quick={"events": 500, "durable": True},
        wanted=(Wanted("journal", "floor", 1.12, today=1.8),),
    ),
    Measure(
        name="append-view",
        title="durable append with state.json (50 KB) written each time",
        unit="us",
        job="append",
        systems={
            "journal": {"durable": True, "view": True},
            "read-modify-write unsynced": {"durable": False},
            "read-modify-write synced": {"durable": True},
        },
        full={"events": 1000},
        quick={"events": 200},
        wanted=(
            Wanted("journal", "read-modify-write unsynced", 1.0, today=2.5),
            Wanted("journal", "read-modify-write synced", 1 / 3, today=2),
        ),
    ),
    Measure(
        name="batches-durable",
        title="batches of 1,000, durable",
        unit="us an event",
        job="batches",
        systems=_all("floor", "journal", "sqlite", "redis"),
        full={"events": 200_000, "size": 1000, "durable": True},
        quick={"events": 20_000, "size": 1000, "durable": True},
        wanted=(
            Wanted("journal", "floor", 5, today=25),
            Wanted("journal", "redis", 1, today=6),
            Wanted("journal", "sqlite", 1, today=6),
        ),
    ),
    Measure(
        name="append-os",
        title="append, one by one, durability os",
        unit="us",
        job="append",
        systems=_all("floor", "journal", "sqlite", "redis"),
        full={"events": 50_000, "durable": False},
        quick={"events": 5000, "durable": False},
        wanted=(
            Wanted("journal", "floor", 9, today=110),
            Wanted("journal", "sqlite", 1 / 3, today=5),
        ),
    ),
    Measure(
        name="append-by-tasks",
        title="the same by tasks in the state",
        unit="us",
        job="append",
        systems={f"journal {n}": {"tasks": n} for n in (10, 200, 5000)},
        full={"events": 10_000, "durable": False},
        quick={"events": 2000, "durable": False},
        wanted=(Wanted("journal 5000", "journal 10", 1.5),),
    ),
    Measure(
        name="processes",
        title="8 processes, each append durable",
        unit="us an append",
        job="processes",
        systems=_all("floor", "journal"),
        full={"events": 16_000, "processes": 8},
        quick={"events": 1600, "processes": 8},
        wanted=(Wanted("journal", "floor", 1 / 1.7, today=1.8),),
    ),
    Measure(
        name="threads",
        title="32 threads beside one, each append durable",
        unit="us an append",
        job="threads",
        systems={"journal 1": {"threads": 1}, "journal 32": {"threads": 32}},
        full={"events": 8000},
        quick={"events": 1600},
        wanted=(Wanted("journal 32", "journal 1", 1 / 4, today=1.2),),
    ),
    Measure(
        name="cold-open",
        title="cold open to the current state",
        unit="ms",
        job="cold_open",
        history=True,
        systems=_all("floor", "journal", "sqlite"),
        full={"events": 1_000_000},
        quick={"events": 100_000},
        wanted=(Wanted("journal", "sqlite", 2, today=8),),
    ),
    Measure(
        name="state-at",
        title="state at any seq",
        unit="ms at p50",
        job="states_at",
        history=True,
        systems=_all("floor", "journal", "sqlite"),
        full={"events": 1_000_000, "places": 300},
        quick={"events": 100_000, "places": 50},
        wanted=(Wanted("journal", "floor", 1.5, today=1.8),),
    ),
    Measure(
        name="commands",
        title="whole commands on a long history, beside --help",
        unit="ms",
        job="command",
        history=True,
        systems={
            "document --help": {"command": [*_CLI, "--help"]},
            **{
                f"document {words[0]}": {"command": [*_CLI, *words, "-d", "{folder}"]}
                for words in (
                    ["log", "-n", "20"],
                    ["state", "--at", "{middle}"],
                    ["blame", "/tasks/7/note", "-n", "1"],
                    ["diff", "1000", "head~1000"],
                    ["bisect", "--monotone", "--when", ".count > {middle}"],
                )
            },
        },
        full={"events": 1_000_000, "runs": 9},
        quick={"events": 100_000, "runs": 3},
        wanted=tuple(
            # 60 ms beyond --help, which takes some 100.
            Wanted(f"document {name}", "document --help", 1.6, today=2.0)
            for name in ("log", "state", "blame", "diff", "bisect")
        ),
    ),
    Measure(
        name="bytes",
        title="bytes of log an event beyond payload and envelope, one by one",
        unit="bytes",
        job="sizes",
        systems=_all("journal"),
        full={"events": 5000},
        quick={"events": 1000},
    ),
    Measure(
        name="start",
        title="a whole command, beside the imports it cannot do without",
        unit="ms",
        job="command",
        systems={
            "python import": {"command": ["-c", "import typer, msgspec"]},
            "journal --help": {"command": [*_CLI, "--help"]},
            "journal log": {"command": [*_CLI, "log", "-n", "20", "-d", "{folder}"]},
            "journal state": {"command": [*_CLI, "state", "-d", "{folder}"]},
            "journal append": {
                "command": [*_CLI, "append", "set", '{"path":"/n","value":1}', "-d", "{folder}"]
            },
        },
        full={"runs": 15},
        quick={"runs": 5},
    ),
)
