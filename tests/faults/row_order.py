"""Row 3: bytes that were not synced, in any order; and whole files that are not where they were.

Of several appends that no sync covered, and of one batch over many pages, every set of writes
and every pair of sectors and of pages may be missing: a healthy journal is never refused for it.
Whole files missing, empty, swapped, doubled, cut at a line, from elsewhere, out of date, ahead:
what is damage is named and nothing is changed, the rest is none.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

from tests.faults import healthy, whole_files
from tests.faults.crash import Crash, Cut, State, Tear, build, find_cuts
from tests.faults.disk import Recording, Write
from tests.faults.laws import Judge
from tests.faults.quick import settings_parsed_once
from tests.faults.row import Outcome, Row, Tier
from tests.faults.story import Script, Story, Workload, tell
from tests.faults.tree import memory_folder
from tests.faults.workloads import make_and_append

PAIRS = {"quick": 1_500, "full": 100_000}
_SETS_OF = {"quick": 8, "full": 11}
_SECTOR, _PAGE = 512, 4096


def _single(script: Script) -> None:
    engine = script.open()
    for _ in range(7):
        script.append(engine, size=60)
    script.kill(engine)


def _batches(script: Script) -> None:
    engine = script.open()
    for count in (1, 3, 2, 1, 4, 1):
        script.append(engine, count, size=90)
    script.kill(engine)


def _long_lines(script: Script) -> None:
    engine = script.open()
    for size in (700, 5_000, 30, 9_000, 300):
        script.append(engine, size=size)
    script.kill(engine)


def _in_turn(script: Script) -> None:
    one, two = script.open(), script.open()
    for count in (1, 2, 1):
        script.append(one, count, size=50)
        script.append(two, size=200)
    script.kill(one)
    script.kill(two)


def _again_and_again(script: Script) -> None:
    """Each process finds what the one before it left in memory, and goes on behind it."""
    for count in (1, 2, 1):
        engine = script.open()
        script.append(engine, count, size=50)
        script.append(engine, size=300)
        script.kill(engine)


def _one_batch(script: Script) -> None:
    engine = script.open()
    script.append(engine, 40, size=400)
    script.kill(engine)


def workloads() -> Iterator[Workload]:
    """Yield the shapes of appends, in the modes that leave them unsynced."""
    for mode in ("os", "batch"):
        for then in (_single, _batches, _long_lines, _in_turn, _again_and_again, _one_batch):
            name = f"{then.__name__.strip('_').replace('_', ' ')}, mode {mode}"
            yield Workload(name, make_and_append, then, {"durability": mode})
    # With `always` a write waits alone for its sync; this is the moment right before it.
    yield Workload("one batch, mode always", make_and_append, _one_batch)


def try_orders(story: Story, folder: Path, *, pairs: int, sets_of: int) -> int:
    """Try the laws on every set of missing writes, sectors and pages; return how many disks."""
    judge = Judge(story, folder)
    count = 0
    for state in _disks(story.recording, pairs=pairs, sets_of=sets_of):
        judge.check(state)
        count += 1
    return count


def _disks(recording: Recording, *, pairs: int, sets_of: int) -> Iterator[State]:
    cut = max(find_cuts(recording, "ordered"), key=lambda cut: len(_of_log(recording, cut)))
    lines = _of_log(recording, cut)
    others = frozenset(cut.data) - frozenset(lines)
    for rest in (others, frozenset[int]()):
        for kept in _subsets(lines[-sets_of:]):
            gone = {i: Tear((), True) for i in lines if i in lines[-sets_of:] and i not in kept}
            yield _disk(recording, cut, frozenset(lines) | rest, gone)
    for unit in (_SECTOR, _PAGE):
        units = _units(recording, lines, unit)
        for holes in itertools.islice(itertools.combinations_with_replacement(units, 2), pairs):
            tears = {i: _torn(recording, i, holes, unit) for i in lines}
            yield _disk(recording, cut, frozenset(cut.data), tears)


def _of_log(recording: Recording, cut: Cut) -> list[int]:
    return [
        i
        for i in cut.data
        if isinstance(write := recording.operations[i], Write) and write.data.startswith(b'{"seq":')
    ]


def _subsets(found: list[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(found) + 1):
        yield from itertools.combinations(found, size)


def _units(recording: Recording, lines: list[int], unit: int) -> list[int]:
    """Return the numbers of the sectors, or pages, that unsynced lines lie in."""
    found: set[int] = set()
    for i in lines:
        write = recording.operations[i]
        assert isinstance(write, Write)
        found.update(range(write.offset // unit, (write.offset + len(write.data) - 1) // unit + 1))
    return sorted(found)


def _torn(recording: Recording, i: int, holes: tuple[int, ...], unit: int) -> Tear:
    """Return what is left of a write where these sectors are missing."""
    write = recording.operations[i]
    assert isinstance(write, Write)
    kept, start, size = [], 0, len(write.data)
    for hole in sorted(set(holes)):
        low = min(max(hole * unit - write.offset, start), size)
        kept.append((start, low))
        start = min(max(low, (hole + 1) * unit - write.offset), size)
    return Tear((*kept, (start, size)), True)


def _disk(recording: Recording, cut: Cut, data: frozenset[int], tears: dict[int, Tear]) -> State:
    crash = Crash(cut.at, frozenset(cut.names), data, tears)
    return State(build(recording, crash, cut.sure), cut.known, crash, "ordered")


def run(tier: Tier) -> Outcome:
    """Try all orders, and all whole files."""
    notes, total = [], 0
    with settings_parsed_once():
        for workload in workloads():
            with memory_folder() as folder:
                story = tell(workload, folder / "told")
                count = try_orders(
                    story, folder / "left", pairs=PAIRS[tier], sets_of=_SETS_OF[tier]
                )
            total += count
            notes.append(f"{workload.name} {count:,}")
        with memory_folder() as folder:
            count = whole_files.try_all(healthy.make(folder / "j", segment_bytes=900))
    told = f"disks of unsynced appends: {', '.join(notes)}"
    return Outcome(total + count, notes=(told, f"whole files: {count:,}"))


ROW = Row(3, "unsynced appends in any order; whole files", run)
