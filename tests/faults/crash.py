"""Every disk that a power cut could leave of a recording.

The rules, for a cut after some operation:

data    A write, or a cut to a size, is sure once a sync of its file returned after it, and no
        sync of that file failed in between. Of those that are not sure any subset may be there,
        each one whole, or torn: cut short at any byte, with NUL where blocks never arrived (from
        some byte on, up to some byte, single sectors), while bytes that were overwritten show
        the old ones instead of NUL.
names   A name that came, went or changed, and a mode, is sure once its folder (for a mode: its
        file) was synced whole.
weak    Of the names that are not sure any subset may be there. No file system is as bad.
ordered Names reach the disk in their order, and any sync takes all earlier ones with it, as
        ext4, XFS and btrfs have it.

killed  No power cut: the process dies, and everything is there that was done before.

Stale bytes of other files in place of unwritten blocks are left out: file systems with a journal
do not hand them out, and the format takes it for granted (`journal.recovery`).
"""

import bisect
import itertools
import random
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from tests.faults.disk import (
    ROOT,
    Add,
    Known,
    Mode,
    Move,
    Operation,
    Recording,
    Remove,
    Sync,
    SyncFolder,
    Truncate,
    Write,
    items_of,
)
from tests.faults.tree import File, Tree

Model = Literal["killed", "weak", "ordered"]
MODELS: tuple[Model, ...] = ("killed", "weak", "ordered")

_ALL_SUBSETS_OF = 7
_EVERY_BYTE_UPTO = 400
_SECTOR = 512
_PAGE = 4096
_FRUITLESS = 40
_SHUFFLED_UPTO = 4096

Kept = tuple[tuple[int, int], ...]
"""Ranges of a write's bytes that reached the disk."""


class Tear(NamedTuple):
    """What is left of one write: the ranges that arrived; `sized`: the size did, too."""

    kept: Kept
    sized: bool


class Crash(NamedTuple):
    """One disk: the cut is before operation `cut`; what was not sure and is there; what is torn."""

    cut: int
    names: frozenset[int]
    data: frozenset[int]
    tears: dict[int, Tear]


class State(NamedTuple):
    """A disk after a power cut, what was promised by then, and how to name it in a message."""

    tree: Tree
    known: Known
    crash: Crash
    model: Model

    def __str__(self) -> str:
        crash = self.crash
        tears = ", ".join(f"operation {i} torn to {tear}" for i, tear in crash.tears.items())
        return (
            f"model {self.model}, cut before operation {crash.cut}, of the names "
            f"{sorted(crash.names)} and of the data {sorted(crash.data)} are there"
            + (f", {tears}" if tears else "")
        )


class Cut(NamedTuple):
    """A moment in a recording: what is sure by then, what is not, what is known."""

    at: int
    sure: frozenset[int]
    names: list[int]
    data: list[int]
    known: Known


def play_whole(recording: Recording) -> Tree:
    """Return the disk on which everything arrived."""
    cut = find_cuts(recording, "weak")[-1]
    return build(recording, Crash(cut.at, frozenset(cut.names), frozenset(cut.data), {}), cut.sure)


def states(recording: Recording, model: Model, *, limit: int, seed: int = 0) -> Iterator[State]:
    """Yield at most `limit` different disks of a recording, evenly over all cuts.

    What a cut could leave comes in full where that is little, else its corners first and then a
    sample, the same each time.
    """
    rng = random.Random(f"{model}{seed}")
    cuts = find_cuts(recording, "weak" if model == "killed" else model)
    torn = {
        i: _tears(write, rng)
        for i, write in enumerate(recording.operations)
        if isinstance(write, Write)
    }
    sources = [(cut, _crashes(torn, cut, model, rng)) for cut in cuts]
    seen: set[int] = set()
    while sources:
        left = []
        for cut, source in sources:
            for crash in itertools.islice(source, _FRUITLESS):
                tree = build(recording, crash, cut.sure)
                key = hash((tuple(tree.items()), cut.known))
                if key not in seen:
                    seen.add(key)
                    yield State(tree, cut.known, crash, model)
                    left.append((cut, source))
                    break
            if len(seen) >= limit:
                return
        sources = left


# --- what is sure --------------------------------------------------------------------------------


def find_cuts(recording: Recording, model: Model) -> list[Cut]:
    """Say for each moment of a recording what is sure, and what is known to the world."""
    operations = recording.operations
    sure: set[int] = set()
    spoiled: set[int] = set()
    names: list[int] = []
    data: list[int] = []
    known = recording.known
    found = [Cut(0, frozenset(), [], [], known)]
    for i, operation in enumerate(operations):
        match operation:
            case Known():
                known = operation
            case Write() | Truncate():
                data.append(i)
            case Add() | Remove() | Move() | Mode():
                names.append(i)
            case Sync(item, _, failed) if failed:
                # The kernel forgets these bytes: no later sync makes them sure.
                spoiled.update(d for d in data if _item_of(operations[d]) == item)
            case Sync(item, whole, _):
                sure.update(d for d in data if _item_of(operations[d]) == item and d not in spoiled)
                sure.update(
                    n
                    for n in names
                    if model == "ordered"
                    or (whole and operations[n] == Mode(item, getattr(operations[n], "mode", 0)))
                )
            case SyncFolder(folder):
                sure.update(
                    n for n in names if model == "ordered" or _folder_of(operations[n]) == folder
                )
        names = [n for n in names if n not in sure]
        data = [d for d in data if d not in sure]
        found.append(Cut(i + 1, frozenset(sure), names, data, known))
    return found


def _item_of(operation: Operation) -> int:
    return operation.item if isinstance(operation, Write | Truncate | Mode) else -1


def _folder_of(operation: Operation) -> int:
    match operation:
        case Add(folder) | Remove(folder):
            return folder
        case Move():
            return operation.to_folder
    return -1


# --- what may be left of the rest ----------------------------------------------------------------


def _crashes(
    tears: dict[int, list[Tear]], cut: Cut, model: Model, rng: random.Random
) -> Iterator[Crash]:
    """Yield the corners of what a cut could leave, then all of it or a sample without end."""
    if model == "killed":
        yield Crash(cut.at, frozenset(cut.names), frozenset(cut.data), {})
        return
    names = [frozenset(kept) for kept in _name_sets(cut.names, model)]
    data = [frozenset(kept) for kept in _subsets(cut.data)]
    for kept_names in (names[-1], names[0]):
        for kept_data in (data[-1], data[0]):
            yield Crash(cut.at, kept_names, kept_data, {})
    torn = {i: tears[i] for i in cut.data if tears.get(i)}
    writes = list(torn)
    ends = list(itertools.accumulate((len(found) for found in torn.values()), initial=0))
    pairs = len(names) * len(data)
    for number in _shuffled(pairs + ends[-1], rng):
        if number < pairs:
            yield Crash(cut.at, names[number // len(data)], data[number % len(data)], {})
            continue
        at = bisect.bisect_right(ends, number - pairs) - 1
        i = writes[at]
        tear = torn[i][number - pairs - ends[at]]
        kept = rng.choice((data[-1], frozenset(d for d in cut.data if d <= i), rng.choice(data)))
        yield Crash(cut.at, rng.choice((names[-1], rng.choice(names))), kept | {i}, {i: tear})
    while torn:
        yield _mixture(cut, names, torn, rng)


def _shuffled(count: int, rng: random.Random) -> Iterator[int]:
    """Yield the numbers below `count` in any order; of very many only some, perhaps twice."""
    if count <= _SHUFFLED_UPTO:
        yield from rng.sample(range(count), count)
    else:
        for _ in range(count):
            yield rng.randrange(count)


def _mixture(
    cut: Cut, names: list[frozenset[int]], torn: dict[int, list[Tear]], rng: random.Random
) -> Crash:
    """Drop some, tear some, keep the others."""
    writes = rng.sample(list(torn), min(len(torn), rng.randint(1, 3)))
    tears = {i: rng.choice(torn[i]) for i in writes}
    kept = frozenset(d for d in cut.data if d in tears or rng.random() < 0.7)
    return Crash(cut.at, rng.choice(names), kept, tears)


def _name_sets(names: list[int], model: Model) -> list[list[int]]:
    """Return the sets of names that may be there, none of them first, all of them last."""
    if model == "ordered":
        return [names[:end] for end in range(len(names) + 1)]
    return _subsets(names)


def _subsets(found: list[int]) -> list[list[int]]:
    """Return all subsets, or of many: prefixes, all but one, one alone; none first, all last."""
    if len(found) <= _ALL_SUBSETS_OF:
        masks = range(1 << len(found))
        return [[f for n, f in enumerate(found) if mask >> n & 1] for mask in masks]
    return [
        [],
        *([f] for f in found),
        *(found[:end] for end in range(2, len(found) - 1)),
        *(found[:n] + found[n + 1 :] for n in range(len(found))),
        found,
    ]


def _tears(write: Write, rng: random.Random) -> list[Tear]:
    """Return the ways in which a write may be torn."""
    size = len(write.data)
    cuts: Iterable[int] = range(size)
    if size > _EVERY_BYTE_UPTO:
        text = len(write.data.rstrip(b" \n"))  # the witness is padded: the text is what matters
        edges = (end + step for end in range(0, size, _SECTOR) for step in (-1, 0, 1))
        near = rng.sample(range(text), min(text, 60))
        cuts = sorted({c for c in (*edges, *near, text, size - 1) if 0 <= c < size})
    found = []
    for c in cuts:
        found += [Tear(((0, c),), False), Tear(((0, c),), True), Tear(((c, size),), True)]
    for unit in (_SECTOR, _PAGE):
        # Sectors lie at multiples of their size in the file, wherever the write began.
        for low in range(-(write.offset % unit), size, unit):
            found.append(Tear(((0, max(0, low)), (min(size, low + unit), size)), True))
    return found


# --- the disk ------------------------------------------------------------------------------------


def build(recording: Recording, crash: Crash, sure: frozenset[int]) -> Tree:
    """Make the disk that a crash leaves."""
    names: dict[int, dict[str, int]] = {folder: {} for folder in recording.folders}
    files: dict[int, File] = {}
    changed: dict[int, bytearray] = {}
    modes = dict(recording.modes)
    times: dict[int, int] = {}
    for item, folder, name, file in items_of(recording.base):
        names[folder][name] = item
        if file is not None:
            files[item] = file
    for i, operation in enumerate(recording.operations[: crash.cut]):
        if i not in sure and i not in crash.names and i not in crash.data:
            continue
        match operation:
            case Write(item, offset, data, mtime_ns):
                content = _content(changed, files, item)
                tear = crash.tears.get(i)
                for start, end in ((0, len(data)),) if tear is None else tear.kept:
                    _put(content, offset + start, data[start:end])
                if tear is not None and tear.sized and len(content) < offset + len(data):
                    content.extend(bytes(offset + len(data) - len(content)))
                times[item] = mtime_ns
            case Truncate(item, size):
                content = _content(changed, files, item)
                del content[size:]
                content.extend(bytes(size - len(content)))
            case Mode(item, mode):
                modes[item] = mode
            case Add(folder, name, item):
                names[folder][name] = item
            case Remove(folder, name):
                names[folder].pop(name, None)
            case Move(folder, name, to_folder, to_name, item):
                names[folder].pop(name, None)
                names[to_folder][to_name] = item
    tree: Tree = {}
    items = _Items(recording, files, changed, modes, times)
    _spread(tree, names, items, ROOT, "")
    return tree


class _Items(NamedTuple):
    """What there is to put at the names of a disk."""

    recording: Recording
    files: dict[int, File]
    changed: dict[int, bytearray]
    modes: dict[int, int]
    times: dict[int, int]

    def file(self, item: int) -> File:
        data = (
            bytes(self.changed[item]) if item in self.changed else self.files.get(item, _EMPTY).data
        )
        before = self.files.get(item, _EMPTY).mtime_ns
        return File(
            data, self.modes[item], self.recording.inodes[item], self.times.get(item, before)
        )


_EMPTY = File(b"")


def _content(changed: dict[int, bytearray], files: dict[int, File], item: int) -> bytearray:
    if item not in changed:
        changed[item] = bytearray(files[item].data if item in files else b"")
    return changed[item]


def _put(content: bytearray, offset: int, data: bytes) -> None:
    if data:
        content.extend(bytes(max(0, offset - len(content))))
        content[offset : offset + len(data)] = data


def _spread(
    tree: Tree, names: dict[int, dict[str, int]], items: _Items, folder: int, prefix: str
) -> None:
    for name, item in sorted(names[folder].items()):
        if item in names:
            tree[prefix + name] = None
            _spread(tree, names, items, item, f"{prefix}{name}/")
        else:
            tree[prefix + name] = items.file(item)
