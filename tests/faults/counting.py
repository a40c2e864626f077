"""A writer that counts, and the law of what may be found of its work.

Each event of the writer sets `/n` to the next number; an append holds one number or several. What
was acknowledged is said on a pipe as `append FIRST LAST SEQ` (of the last event of the append) and
`flush LAST`. After whatever befell the writer:

I1  The numbers in the log are 1, 2, 3 … in order, without a gap and none twice.
I2  What was promised is there, each number under the seq that was told.
I3  After the last acknowledged number stands at most one append more, and it is whole.
I4  The state is the newest number; so is the view after opening.
"""

import random
import sys
from pathlib import Path
from typing import Any, Literal, NamedTuple

import journal
from journal import config as configs
from journal.config import Durability, SnapshotsConfig
from journal.engine import Engine
from tests.faults.process import Say
from tests.faults.row import Violation

PATH = "/n"

Promise = Literal["all", "flush", "none"]


class Habits(NamedTuple):
    """How a writer works: its random plan and what it is given to do."""

    seed: int
    durability: Durability = "always"
    pad_bytes: int = 3000
    """Up to so many bytes of other content go along with some appends."""
    snapshots: bool = True


def make_journal(
    path: Path,
    *,
    durability: Durability = "always",
    views_every_ms: int = 0,
    segment_bytes: int = 16 << 10,
) -> None:
    """Make a journal with small segments and frequent snapshots, to be counted in."""
    journal.init(path, durability=durability, views_every_ms=views_every_ms).close()
    settings = configs.read(path)
    settings.segment_bytes = segment_bytes
    settings.snapshots = SnapshotsConfig(min_bytes=segment_bytes // 2, keep=5)
    configs.write(path, settings)


def count_on(path: Path, habits: Habits, say: Say, appends: int = sys.maxsize) -> None:
    """Open the journal and count on from where it stands, for ever or for so many appends."""
    plan = random.Random(habits.seed)
    with journal.open(path, durability=habits.durability, lock_timeout_s=30.0) as engine:
        newest = number_in(engine.state)
        if newest:
            say(f"append {newest} {newest} {append_again(engine, newest)}")
        for _ in range(appends):
            size = 1 if plan.random() < 0.7 else plan.randint(2, 8)
            first, newest = newest + 1, newest + size
            seq = engine.append_batch(make_append(first, newest, habits, plan))[-1].seq
            say(f"append {first} {newest} {seq}")
            if plan.random() < 0.03 and habits.snapshots:
                engine.snapshot(trigger=f"at {newest}")
            if plan.random() < 0.05:
                engine.flush()
                say(f"flush {newest}")


def make_append(first: int, last: int, habits: Habits, plan: random.Random) -> list[journal.Draft]:
    """Make the events of one append: the numbers, and now and then other content before them."""
    drafts = [
        journal.Draft(type="set", data={"path": PATH, "value": n}, actor="counter", id=f"n{n}")
        for n in range(first, last + 1)
    ]
    if plan.random() < 0.2:
        pad = "x" * plan.randrange(habits.pad_bytes)
        drafts.insert(0, journal.Draft(type="set", data={"path": "/pad", "value": pad}))
    return drafts


def append_again(engine: Engine, newest: int) -> int:
    """Append the newest number once more under its key: it is told its seq, and not counted twice.

    Its writer may have died before it was told, or after a sync that failed.
    """
    before = engine.seq
    event = engine.append("set", {"path": PATH, "value": newest}, id=f"n{newest}")
    if engine.seq != before or event.seq > before or event.data["value"] != newest:
        raise Violation(f"number {newest} was appended twice: {event}")
    return event.seq


def number_in(state: Any) -> int:
    """Return the newest number in a state."""
    return int(state.get("n", 0))


class Tally:
    """What was told of one journal so far, over all its writers, and what was found in it."""

    def __init__(self) -> None:
        """Nothing was told, nothing was found."""
        self.told: dict[int, int] = {}
        self.promised = 0
        self.found = 0
        self.found_seq = 0
        self.extra = 0

    def hear(self, lines: list[str], *, promise: Promise = "all") -> None:
        """Take in what a writer said, and what of it is a promise."""
        for line in lines:
            what, *numbers = line.split()
            last = int(numbers[-1])
            if what == "append":
                first, last, seq = map(int, numbers)
                seqs = range(seq - last + first, seq + 1)
                self.told.update(zip(range(first, last + 1), seqs, strict=True))
            if promise in ("all", what):
                self.promised = max(self.promised, last)

    def check(self, engine: Engine, *, lost: bool = False) -> None:
        """Raise `Violation` unless the laws hold; `lost`: numbers not promised may be gone."""
        extra: list[journal.Event] = []
        newest_told = max(self.told, default=self.found)
        for event in engine.events(after=self.found_seq):
            if event.type != "set" or event.data["path"] != PATH:
                continue
            number = event.data["value"]
            if number != self.found + 1:
                raise Violation(f"number {number} at seq {event.seq} comes after {self.found} (I1)")
            if number in self.told and self.told[number] != event.seq:
                raise Violation(
                    f"number {number} is at seq {event.seq}, and {self.told[number]} was told (I2)"
                )
            self.found = number
            if number > newest_told:
                extra.append(event)
        self.found_seq = engine.seq
        _check_extra(extra)
        if self.found < self.promised:
            raise Violation(f"{self.promised} was promised, and numbers end at {self.found} (I2)")
        if not lost and self.found < newest_told:
            raise Violation(f"{newest_told} was acknowledged, and numbers end at {self.found} (I2)")
        if number_in(engine.state) != self.found:
            raise Violation(f"the log counts to {self.found}, the state to {engine.state.get('n')}")
        self.extra += len(extra)
        self.told.clear()
        self.promised = self.found

    def check_view(self, path: Path) -> None:
        """Raise `Violation` unless the view shows what the log says (I4)."""
        shown = journal.codec.decode_value((path / "state.json").read_bytes())
        if number_in(shown) != self.found:
            raise Violation(f"the view shows {shown.get('n')}, the log counts to {self.found} (I4)")


def _check_extra(extra: list[journal.Event]) -> None:
    """Check that what nobody was told of is one whole append (I3)."""
    if not extra:
        return
    k, n = extra[-1].part
    seqs = [event.seq for event in extra]
    last = extra[-1].seq
    if k != n or seqs != list(range(last - len(seqs) + 1, last + 1)) or len(seqs) > n:
        raise Violation(f"not one append, whole: {[(e.seq, e.part) for e in extra]} (I3)")
    if n - len(seqs) not in (0, 1):  # one part may be other content
        raise Violation(f"half an append: {[(e.seq, e.part) for e in extra]} (I3)")
