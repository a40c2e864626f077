"""What is wanted of each measure, what is reached so far where that is less, and why.

I1  A `today` stands only where the wanted ratio is not reached, and never without a `why`.
I2  Milliseconds are told and never judged: `beyond` is held to a ratio, `told` to nothing.
"""

import msgspec


class Wanted(msgspec.Struct, frozen=True):
    """Of `system` is wanted a cost of at most `at_most` times that of `other`.

    `key`: not the cost, but this detail of it. Without `other` the cost itself is at most
    `at_most`. `beyond`: the cost is at most the other's and `at_most` of the measure's unit; the
    run is then held to the ratio `today`. `told`: no run is held to it. `quick`: whether it is
    said of quick runs, too.
    """

    system: str
    other: str
    at_most: float
    today: float | None = None
    why: str = ""
    key: str = "value"
    beyond: bool = False
    told: bool = False

    @property
    def guard(self) -> float:
        """The ratio that a run is held to; exceeded by more than half it is broken."""
        if self.beyond:
            return self.today or float("inf")
        return self.at_most if self.today is None else max(self.at_most, self.today)


_FOUND = "the place is searched for, lines and snapshot are checked; the floor does neither"
_ENCODED = "each event is checked, encoded, read back typed and folded before it is written"
_ALONE = f"{_ENCODED}, under a lock, behind a tail that is looked at each time"
_RENAMED = "a view is a rename, which the file system flushes, and the witness beside it"
_BESIDE = "some thirty microseconds of Python stand beside the sync"
_WAITED = "who waited for the disk waits for the interpreter next, behind thirty-one others"
_EIGHT = "each of the eight takes in and folds what the other seven wrote, on two cores"

REPLAY = (
    Wanted("journal", "floor", 1.2),
    Wanted("journal", "eventsourcing", 1 / 20),
    Wanted("journal", "sqlite", 1 / 1.5),
    Wanted("journal", "", 80, key="grown_mb"),
)
VERIFY = (Wanted("journal verify", "journal replay", 2),)
COLD_OPEN = (Wanted("journal", "sqlite", 2),)
OPEN_BY_HISTORY = (
    Wanted("journal 1000000", "journal 1000", 2, told=True),
    Wanted("journal 100000", "journal 1000", 2, told=True),
)
STATE_AT = (
    Wanted("journal", "bare", 1.5, today=2.0, why=_FOUND),
    Wanted("journal", "bare", 1.5, key="p99_ms"),
    Wanted("journal", "", 0.5, key="beyond_log"),
)
COMMANDS = tuple(
    Wanted(f"document {name}", "document --help", 60, beyond=True, today=1.8)
    for name in ("log", "state", "blame", "bisect", "diff")
)
SCAN = (
    Wanted("document blame", "document replay", 2),
    Wanted("document bisect", "document replay", 2),
)
EXPORT = (
    Wanted("document 1000000", "document 100000", 1.2),
    Wanted("document 50000", "document 10000", 1.2),
)
APPEND_DURABLE = (Wanted("journal", "floor", 1.12, today=1.3, why=_BESIDE),)
APPEND_VIEW = (
    Wanted("journal", "read-modify-write unsynced", 1.0),
    Wanted("journal", "read-modify-write synced", 1 / 3, today=0.55, why=_RENAMED),
)
BATCHES = (
    Wanted("journal", "floor", 5, today=10.5, why=_ENCODED),
    Wanted("journal", "redis", 1, today=1.8, why=_ENCODED),
    Wanted("journal", "sqlite", 1, today=1.7, why=_ENCODED),
)
APPEND_OS = (
    Wanted("journal", "floor", 9, today=33, why=_ALONE),
    Wanted("journal", "sqlite", 1 / 3, today=1.6, why=_ALONE),
)
APPEND_BY_HISTORY = (
    Wanted("journal 1000000", "journal 1000", 1.25),
    Wanted("journal 100000", "journal 1000", 1.25),
)
APPEND_BY_TASKS = (Wanted("journal 5000", "journal 10", 1.25),)
PROCESSES = (
    Wanted("journal", "floor", 1 / 1.7, today=1.6, why=_EIGHT),
    Wanted("journal", "", 1 / 0.98, key="unfairness"),
    Wanted("journal", "", 100, key="worst_ms", told=True),
)
THREADS = (Wanted("journal 32", "journal 1", 1 / 4, today=0.7, why=_WAITED),)
IMPORT = (Wanted("document twice", "document once", 1.15),)
BYTES = (Wanted("journal", "", 20),)
START = tuple(
    Wanted(f"journal {name}", "python import", 100, beyond=True, today=2.6)
    for name in ("--help", "log", "state", "append")
)
REPLAY_LONG = (
    Wanted("journal", "floor", 1.2),
    Wanted("journal", "", 80, key="grown_mb"),
)
OPEN_LONG = (
    Wanted("journal 10000000", "journal 1000000", 1.5),
    Wanted("journal 10000000", "sqlite 10000000", 2),
    Wanted("journal 200000", "journal 20000", 1.5),
)
APPEND_LONG = (
    Wanted("journal 10000000", "journal 1000", 1.25),
    Wanted("journal 200000", "journal 1000", 1.25),
)
