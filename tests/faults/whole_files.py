"""Whole files of a healthy journal that are missing, empty, exchanged, doubled, cut, or foreign.

refused   A writer gets `Corrupt`, or what the case names; nothing is changed; readers get every
          event that is there and no other one, and are told.
told      Readers are; opening for writing does not read so far.
harmless  All is as the log has it, and files of other people stay as they are.
"""

import itertools
import os
from collections.abc import Iterator
from typing import Literal, NamedTuple

import journal
from journal.errors import Corrupt, JournalError
from journal.segment import name_of
from tests.faults import healthy
from tests.faults.healthy import Healthy
from tests.faults.laws import plain, seal_witness
from tests.faults.row import Violation
from tests.faults.story import FOLDER, fixed_clock
from tests.faults.tree import File, Tree, differences, read_tree, write_tree

Expected = Literal["refused", "told", "harmless"]

_LOG = f"{FOLDER}/log"
_FOREIGN_NAMES = (
    "notes.txt",
    ".DS_Store",
    "00000000000000000001.jsonl.bak",
    "00000000000000000001 (copy).jsonl",
    "00000000000000000001.jsonl~",
    "1.jsonl",
    "tmp",
)


class Case(NamedTuple):
    """What was done to the files, the files now, and what is to come of it."""

    name: str
    tree: Tree
    expected: Expected


def cases(subject: Healthy) -> Iterator[Case]:
    """Yield every case."""
    yield from _segments(subject)
    yield from _cut_at_lines(subject)
    yield from _foreign_files(subject)
    yield from _derived_files(subject)


def _segments(subject: Healthy) -> Iterator[Case]:
    names = subject.segments()
    for name in names:
        yield Case(f"{name} missing", _without(subject.tree, name), "refused")
        yield Case(f"{name} empty", subject.with_file(name, b""), "refused")
        data = subject.data(name)
        twice: Expected = "refused" if name == names[-1] else "told"
        yield Case(f"{name} twice", subject.with_file(name, data + data), twice)
        beyond = f"{_LOG}/{name_of(900)}"
        yield Case(f"{name} also as {beyond}", _with(subject.tree, beyond, data), "refused")
    for a, b in itertools.combinations(names, 2):
        tree = {**subject.with_file(a, subject.data(b))}
        tree[b] = subject.tree[a]
        yield Case(f"{a} and {b} swapped", tree, "refused")
        yield Case(f"{a} in place of {b}", subject.with_file(b, subject.data(a)), "refused")
    yield Case("no segment at all", _without(subject.tree, *names), "refused")
    log = [path for path in subject.tree if path.startswith(_LOG)]
    yield Case("no folder log", _without(subject.tree, *log), "refused")


def _cut_at_lines(subject: Healthy) -> Iterator[Case]:
    """Cut each segment at each line: at the end only the witness tells."""
    for name in subject.segments():
        data = subject.data(name)
        for at in [at + 1 for at, byte in enumerate(data[:-1]) if byte == 0x0A]:
            yield Case(f"{name} cut at {at}", subject.with_file(name, data[:at]), "refused")
            tree = _without(subject.with_file(name, data[:at]), f"{FOLDER}/state.json")
            yield Case(f"{name} cut at {at}, no view", tree, "refused")


def _foreign_files(subject: Healthy) -> Iterator[Case]:
    folders = [FOLDER, *(path for path, file in subject.tree.items() if file is None)]
    for folder, name in itertools.product(sorted(set(folders)), _FOREIGN_NAMES):
        tree = _with(subject.tree, f"{folder}/{name}", b"something of somebody else's\0\xff")
        yield Case(f"{folder}/{name} put there", tree, "harmless")


def _derived_files(subject: Healthy) -> Iterator[Case]:
    tree = subject.tree
    for path in subject.files():
        if "/snapshots/" in path or path.endswith((".ids", "/witness.json", "/state.json")):
            yield Case(f"{path} missing", _without(tree, path), "harmless")
            yield Case(f"{path} empty", subject.with_file(path, b""), "harmless")
    snapshot = next(path for path in tree if "/snapshots/" in path)
    data = subject.data(snapshot)
    for seq in (1, subject.last_seq):
        moved = f"{FOLDER}/snapshots/{seq:020d}.manual.json"
        yield Case(f"{snapshot} also as {moved}", _with(tree, moved, data), "harmless")
    beyond = f"{FOLDER}/snapshots/{subject.last_seq + 1:020d}.manual.json"
    yield Case(f"{snapshot} also as {beyond}", _with(tree, beyond, data), "refused")
    view = f"{FOLDER}/state.json"
    for seq in range(1, subject.last_seq):
        yield Case(f"view of event {seq}, no witness", _stale(subject, view, seq), "harmless")
    witness = f"{FOLDER}/witness.json"
    text = subject.data(witness)
    said = b'"synced":{"seq":%d,' % subject.last_seq
    ahead = text.replace(said, b'"synced":{"seq":%d,' % (subject.last_seq + 1))
    assert ahead != text
    yield Case("witness ahead", subject.with_file(witness, seal_witness(ahead, 4096)), "refused")


def _with(tree: Tree, path: str, data: bytes) -> Tree:
    return {**tree, path: File(data)}


def _without(tree: Tree, *paths: str) -> Tree:
    return {path: file for path, file in tree.items() if path not in paths}


def _stale(subject: Healthy, view: str, seq: int) -> Tree:
    return _without(_with(subject.tree, view, subject.states[seq]), f"{FOLDER}/witness.json")


# --- the laws ------------------------------------------------------------------------------------


def try_all(subject: Healthy) -> int:
    """Try every case; return how many. Raises `Violation`."""
    count = 0
    for case in cases(subject):
        write_tree(str(subject.root), case.tree)
        try:
            if case.expected == "refused":
                _must_be_refused(subject, case)
            elif case.expected == "told":
                _read(subject, told=True)
            else:
                _must_be_harmless(subject, case)
        except Violation as violation:
            raise Violation(f"{case.name}: {violation}") from None
        except Exception as error:
            raise Violation(f"{case.name}: crashed: {error!r}") from error
        count += 1
    return count


def _must_be_refused(subject: Healthy, case: Case) -> None:
    _read(subject, told=True)
    try:
        journal.open(subject.folder, clock=fixed_clock).close()
    except Corrupt as error:
        if not error.path.startswith(str(subject.folder)):
            raise Violation(f"names {error.path}") from error
    else:
        raise Violation("opened for writing")
    if changes := differences(case.tree, read_tree(str(subject.root))):
        raise Violation(f"refused, and yet changed: {changes}")


def _read(subject: Healthy, *, told: bool) -> None:
    """Read what is there: every event must be a true one, and damage must be told."""
    before = read_tree(str(subject.root))
    try:
        with journal.open(subject.folder, read_only=True) as engine:
            for event in engine.events():
                if healthy.tell(event) != subject.events.get(event.seq):
                    raise Violation(f"a reader gets an event {event.seq} that never was")
    except Corrupt as error:
        if not told:
            raise Violation(f"a reader is told of damage, and there is none: {error}") from error
    except JournalError as error:
        raise Violation(f"a reader gets {error!r}") from error
    else:
        if told:
            raise Violation("a reader is told of no damage")
    if changes := differences(before, read_tree(str(subject.root))):
        raise Violation(f"reading changed something: {changes}")


def _must_be_harmless(subject: Healthy, case: Case) -> None:
    _read(subject, told=False)
    with journal.open(subject.folder, clock=fixed_clock) as engine:
        events = {event.seq: healthy.tell(event) for event in engine.events()}
        if events != subject.events:
            raise Violation(f"the events are {sorted(events)}")
        for seq, state in subject.states.items():
            if plain(engine.state_at(seq)) != state:
                raise Violation(f"the state at {seq} is wrong")
        if plain(engine.state) != subject.states[subject.last_seq]:
            raise Violation("the state is wrong")
        if (subject.folder / "state.json").read_bytes() != subject.data(f"{FOLDER}/state.json"):
            raise Violation("the view is not the log's")
    for path, file in case.tree.items():
        is_foreign = os.path.basename(path) in _FOREIGN_NAMES
        if is_foreign and file is not None and (subject.root / path).read_bytes() != file.data:
            raise Violation(f"{path}, a file of somebody else's, was changed")
