"""What is measured: for each measure its job, its systems, its sizes, and what is wanted.

A value is a cost: lower is better. `Wanted("journal", "floor", 1.2)` wants the journal's cost to be
at most 1.2 times the floor's, both from the same run. There is one guard, the ratio that a run is
held to: it is the wanted one where that is met, else `today`, what is reached so far, with the
reason in `why`. A run fails when a ratio is worse than its guard by more than half.
"""

from typing import Any

import msgspec

from bench import wants
from bench.wants import Wanted

System = dict[str, dict[str, Any]]
"""Name, or `name label` -> parameters of its own."""


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table; `full` and `quick` are the parameters of its job.

    `history`: it reads a history that is made once. `systems` may name one system several times
    with parameters of its own; `quick_systems` are those of a quick run, if it has others. `long`:
    it is run only when asked for. `lines`: its picture has the number in a label as abscissa,
    called so.
    """

    name: str
    title: str
    unit: str
    job: str
    systems: System
    full: dict[str, Any]
    quick: dict[str, Any]
    quick_systems: System | None = None
    wanted: tuple[Wanted, ...] = ()
    history: bool = False
    long: bool = False
    lines: str = ""
    rounds: int = 5
    quick_rounds: int = 3


def _all(*names: str) -> System:
    return {name: {} for name in names}


def _by(parameter: str, sizes: dict[str, tuple[int, ...]], **more: Any) -> System:
    return {
        f"{name} {size}": {parameter: size, **more}
        for name, found in sizes.items()
        for size in found
    }


_CLI = ["-m", "journal"]
_COMMANDS = {
    "log": ["log", "-n", "20"],
    "state": ["state", "--at", "{middle}"],
    "blame": ["blame", "/tasks/7/note", "-n", "1"],
    "bisect": ["bisect", "--monotone", "--when", ".count > {middle}"],
    "diff": ["diff", "1000", "head~1000"],
}
_MILLION = 1_000_000
_LONG = 10_000_000
# The library keeps every event in memory and takes half a minute for a million.
_FEWER = {"events": 100_000}

READS = (
    Measure(
        name="replay",
        title="verified replay",
        unit="us an event",
        job="replay",
        history=True,
        systems={**_all("floor", "journal", "sqlite"), "eventsourcing": _FEWER},
        full={"events": _MILLION},
        quick={"events": 100_000},
        quick_systems={**_all("floor", "journal", "sqlite"), "eventsourcing": {"events": 20_000}},
        wanted=wants.REPLAY,
    ),
    Measure(
        name="verify",
        title="verify everything, beside a replay",
        unit="us an event",
        job="verify",
        history=True,
        systems={"journal replay": {"job": "replay"}, "journal verify": {}},
        full={"events": _MILLION},
        quick={"events": 100_000},
        wanted=wants.VERIFY,
        rounds=3,
    ),
    Measure(
        name="cold-open",
        title="cold open to the current state",
        unit="ms",
        job="cold_open",
        history=True,
        systems=_all("floor", "journal", "sqlite"),
        full={"events": _MILLION},
        quick={"events": 100_000},
        wanted=wants.COLD_OPEN,
        rounds=9,
        quick_rounds=5,
    ),
    Measure(
        name="open-by-history",
        title="cold open by the length of history",
        unit="ms",
        job="cold_open",
        history=True,
        lines="events",
        systems=_by(
            "events",
            {
                "journal": (1_000, 10_000, 100_000, _MILLION),
                "sqlite": (1_000, 10_000, 100_000, _MILLION),
                "eventsourcing": (1_000, 10_000, 100_000),
            },
        ),
        quick_systems=_by("events", {"journal": (1_000, 100_000), "sqlite": (1_000, 100_000)}),
        full={},
        quick={},
        wanted=wants.OPEN_BY_HISTORY,
        rounds=3,
    ),
    Measure(
        name="state-at",
        title="state at any seq",
        unit="ms at p50",
        job="states_at",
        history=True,
        systems={"bare": {"of": "journal"}, "journal": {}, "sqlite": {}},
        full={"events": _MILLION, "places": 300},
        quick={"events": 100_000, "places": 60},
        wanted=wants.STATE_AT,
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
                f"document {name}": {"command": [*_CLI, *words, "-d", "{folder}"]}
                for name, words in _COMMANDS.items()
            },
        },
        full={"events": _MILLION, "runs": 5},
        quick={"events": 50_000, "runs": 2},
        wanted=wants.COMMANDS,
    ),
    Measure(
        name="scan",
        title="blame and bisect through a whole history, beside a replay",
        unit="us an event",
        job="scan",
        history=True,
        systems={f"document {what}": {"what": what} for what in ("replay", "blame", "bisect")},
        full={"events": _MILLION},
        quick={"events": 50_000},
        wanted=wants.SCAN,
        rounds=3,
    ),
    Measure(
        name="export",
        title="export as JSON lines, by the length of history",
        unit="us an event",
        job="export",
        history=True,
        lines="events",
        systems=_by("events", {"document": (100_000, _MILLION)}),
        full={},
        quick={},
        quick_systems=_by("events", {"document": (10_000, 50_000)}),
        wanted=wants.EXPORT,
        rounds=3,
        quick_rounds=2,
    ),
)

WRITES = (
    Measure(
        name="append-durable",
        title="durable append, one by one, view coalesced",
        unit="us at p50",
        job="append",
        systems=_all(
            *("floor", "least", "journal", "sqlite", "eventsourcing", "langgraph", "redis")
        ),
        full={"events": 2000, "durable": True},
        quick={"events": 300, "durable": True},
        wanted=wants.APPEND_DURABLE,
        rounds=7,
    ),
    Measure(
        name="append-view",
        title="durable append with state.json (50 KB) written each time",
        unit="us at p50",
        job="append",
        systems={
            "journal": {"durable": True, "view": True},
            "read-modify-write unsynced": {"durable": False},
            "read-modify-write synced": {"durable": True},
        },
        full={"events": 1000},
        quick={"events": 200},
        wanted=wants.APPEND_VIEW,
    ),
    Measure(
        name="batches-durable",
        title="batches of 1,000, durable",
        unit="us an event",
        job="batches",
        systems=_all("floor", "least", "journal", "sqlite", "redis"),
        full={"events": 200_000, "size": 1000, "durable": True},
        quick={"events": 20_000, "size": 1000, "durable": True},
        wanted=wants.BATCHES,
    ),
    Measure(
        name="append-os",
        title="append, one by one, durability os",
        unit="us at p50",
        job="append",
        systems=_all("floor", "least", "journal", "sqlite", "redis"),
        full={"events": 30_000, "durable": False},
        quick={"events": 5000, "durable": False},
        wanted=wants.APPEND_OS,
    ),
    Measure(
        name="append-by-history",
        title="append by the length of history, durability os",
        unit="us at p50",
        job="append_behind",
        history=True,
        lines="events",
        systems=_by("events", {"journal": (1_000, 10_000, 100_000, _MILLION)}),
        full={"count": 5000},
        quick={"count": 2000},
        quick_systems=_by("events", {"journal": (1_000, 100_000)}),
        wanted=wants.APPEND_BY_HISTORY,
        rounds=3,
    ),
    Measure(
        name="append-by-tasks",
        title="append by tasks in the state, durability os",
        unit="us at p50",
        job="append",
        lines="tasks",
        systems={
            **_by("tasks", {"journal": (10, 200, 5000), "sqlite": (10, 200, 5000)}, events=5000),
            **_by("tasks", {"langgraph": (10, 200, 5000)}, events=300),
            **_by("tasks", {"read-modify-write": (10, 200, 5000)}, events=100),
        },
        full={"durable": False},
        quick={"durable": False},
        quick_systems=_by("tasks", {"journal": (10, 200, 5000)}, events=2000),
        wanted=wants.APPEND_BY_TASKS,
        rounds=3,
    ),
    Measure(
        name="processes",
        title="8 processes, each append durable",
        unit="us an append",
        job="processes",
        systems=_all("floor", "journal"),
        full={"events": 16_000, "processes": 8},
        quick={"events": 2400, "processes": 8},
        wanted=wants.PROCESSES,
    ),
    Measure(
        name="threads",
        title="32 threads beside one, each append durable",
        unit="us an append",
        job="threads",
        systems={"journal 1": {"threads": 1}, "journal 32": {"threads": 32}},
        full={"events": 8000},
        quick={"events": 1600},
        wanted=wants.THREADS,
    ),
    Measure(
        name="import",
        title="import of real histories, and of each twice over",
        unit="us a version",
        job="imports",
        systems={"document once": {"times": 1}, "document twice": {"times": 2}},
        full={"most_bytes": 10_000_000},
        quick={"most_bytes": 30_000},
        wanted=wants.IMPORT,
        rounds=2,
        quick_rounds=2,
    ),
    Measure(
        name="bytes",
        title="bytes of log an event beyond payload and envelope, one by one",
        unit="bytes",
        job="sizes",
        systems=_all("journal"),
        full={"events": 5000},
        quick={"events": 1000},
        wanted=wants.BYTES,
        rounds=1,
        quick_rounds=1,
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
        full={"runs": 7},
        quick={"runs": 3},
        wanted=wants.START,
    ),
)

LONG = (
    Measure(
        name="replay-long",
        title="verified replay of ten million",
        unit="us an event",
        job="replay",
        history=True,
        long=True,
        systems=_all("floor", "journal"),
        full={"events": _LONG},
        quick={"events": 200_000},
        wanted=wants.REPLAY_LONG,
        rounds=3,
        quick_rounds=1,
    ),
    Measure(
        name="open-long",
        title="cold open of a million and of ten million",
        unit="ms",
        job="cold_open",
        history=True,
        long=True,
        systems=_by("events", {"journal": (_MILLION, _LONG), "sqlite": (_MILLION, _LONG)}),
        full={},
        quick={},
        quick_systems=_by("events", {"journal": (20_000, 200_000)}),
        wanted=wants.OPEN_LONG,
        rounds=7,
    ),
    Measure(
        name="append-long",
        title="append behind a thousand and behind ten million, durability os",
        unit="us at p50",
        job="append_behind",
        history=True,
        long=True,
        systems=_by("events", {"journal": (1_000, _LONG)}),
        full={"count": 5000},
        quick={"count": 500},
        quick_systems=_by("events", {"journal": (1_000, 200_000)}),
        wanted=wants.APPEND_LONG,
        rounds=2,
        quick_rounds=1,
    ),
)

MEASURES = (*READS, *WRITES, *LONG)
