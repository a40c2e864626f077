"""A repair, cut off by a power cut anywhere: what must hold of whatever is left.

kept       The bytes of the damaged file are still there, in its place or in quarantine.
reading    Opening read-only works and hands out no event that never was.
refused    A writer that meets the damage is refused until the repair is complete; running it
           again completes it. Once it has returned nobody is refused.
repaired   Every readable event is there, what is not is a `journal.lost`; the state is the one
           that the journal had; `verify` finds no problem; there is nothing to repair any more.
settled    Opening a second time changes no byte.
"""

from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import journal
from journal import durable
from journal.engine import repairing
from journal.errors import Corrupt, JournalError
from journal.event import LOST, REPAIRED, Event
from tests.faults import healthy
from tests.faults.crash import MODELS, State, states
from tests.faults.disk import Known, Recorder, Recording
from tests.faults.healthy import Healthy
from tests.faults.laws import plain
from tests.faults.row import Violation
from tests.faults.story import FOLDER, fixed_clock
from tests.faults.tree import differences, read_tree, write_tree


class Subject(NamedTuple):
    """A damaged journal: what was healthy, the damaged file, its bytes, and the seqs lost in it."""

    name: str
    whole: Healthy
    path: str
    damaged: bytes
    lost: frozenset[int]


def subjects(folder: Path) -> list[Subject]:
    """Make journals with damage in the last segment, in a closed one, and in a first line."""
    found = []
    places = (("the last segment", -1, 2), ("a closed segment", 1, 3), ("a first line", 1, 0))
    for name, number, line in places:
        whole = healthy.make(folder / name.replace(" ", "-"), segment_bytes=900)
        path = whole.segments()[number]
        lines = whole.data(path).split(b"\n")
        lines[line] = lines[line].replace(b'"data":{', b'"data":[')
        first = int(path.rpartition("/")[2][:20])
        # A first line is made again, so nothing is lost with it.
        lost = frozenset({first + line}) if line else frozenset[int]()
        found.append(Subject(name, whole, path, b"\n".join(lines), lost))
    return found


def record(subject: Subject) -> Recording:
    """Damage the journal, repair it, and return what that did on disk."""
    subject.whole.put(subject.path, subject.damaged)
    with Recorder(subject.whole.root, Known(made=True)) as recorder:
        repairing.repair(subject.whole.folder)
        recorder.note(Known(made=True, acked=1))
    return recorder.stop()


def try_repair(subject: Subject, folder: Path, *, limit: int) -> int:
    """Try the laws on what could be left of a repair; return how many disks."""
    recording = record(subject)
    count = 0
    for model in MODELS:
        for state in states(recording, model, limit=limit):
            write_tree(str(folder), state.tree)
            boot = durable.boot_id() if model == "killed" else "the boot after the power cut"
            try:
                with mock.patch.object(durable, "boot_id", return_value=boot):
                    _check(subject, state, folder)
            except Violation as violation:
                raise Violation(f"repair, {subject.name}: {violation}\n  {state}") from None
            except Exception as error:
                why = f"repair, {subject.name}: crashed: {error!r}\n  {state}"
                raise Violation(why) from error
            count += 1
    return count


def _check(subject: Subject, state: State, root: Path) -> None:
    folder = root / FOLDER
    files = [file.data for file in state.tree.values() if file is not None]
    if subject.damaged not in files:
        raise Violation("kept: the bytes of the damaged file are gone")
    with journal.open(folder, read_only=True) as engine:
        _collect(engine, subject)
    try:
        journal.open(folder, clock=fixed_clock).close()
    except Corrupt as error:
        if state.known.acked:
            raise Violation(f"refused: after the repair had returned: {error}") from error
        _must_be_refused_unchanged(state, root)
    except JournalError as error:
        raise Violation(f"refused: {error!r}") from error
    # Opening does not read closed segments: it may be a repair that was not begun.
    repairing.repair(folder)
    with closing(journal.open(folder, clock=fixed_clock)) as engine:
        events = _collect(engine, subject)
        _check_events(subject, events)
        if plain(engine.state) != subject.whole.states[subject.whole.last_seq]:
            raise Violation(f"repaired: the state is {engine.state}")
        if not (verified := engine.verify()).ok:
            raise Violation(f"repaired: verify: {verified.problems}")
    if (plan := repairing.plan(folder)).segments:
        raise Violation(f"repaired: there is more to repair: {plan}")
    settled = read_tree(str(root))
    journal.open(folder, clock=fixed_clock).close()
    if changes := differences(settled, read_tree(str(root))):
        raise Violation(f"settled: {changes}")


def _must_be_refused_unchanged(state: State, root: Path) -> None:
    bare = {path: file and file._replace(inode=0, mtime_ns=0) for path, file in state.tree.items()}
    if changes := differences(bare, read_tree(str(root))):
        raise Violation(f"refused: and yet changed: {changes}")


def _collect(engine: journal.Engine, subject: Subject) -> list[Event]:
    events: list[Event] = []
    with suppress(Corrupt):
        events.extend(engine.events())
    for event in events:
        true = subject.whole.events.get(event.seq)
        if true is not None and event.type != LOST and not _is_equal(event, true):
            raise Violation(f"reading: event {event.seq} never was: {event}")
    return events


def _is_equal(event: Event, true: bytes) -> bool:
    """Compare all but the crc, which a repair computes anew."""
    import msgspec

    was = msgspec.json.decode(true, type=Event)
    members = ("time", "type", "actor", "id", "cause", "part")
    return plain(event.data) == plain(was.data) and all(
        getattr(event, name) == getattr(was, name) for name in members
    )


def _check_events(subject: Subject, events: list[Event]) -> None:
    seqs = [event.seq for event in events if event.type != LOST]
    wanted = [seq for seq in sorted(subject.whole.events) if seq not in subject.lost]
    if seqs[: len(wanted)] != wanted:
        raise Violation(f"repaired: events {seqs}, and {wanted} could be read")
    lost = {event.seq for event in events if event.type == LOST}
    if lost != subject.lost:
        raise Violation(f"repaired: {lost} are said to be lost")
    if REPAIRED not in [event.type for event in events]:
        raise Violation(f"repaired: it is not recorded: {[event.type for event in events]}")
