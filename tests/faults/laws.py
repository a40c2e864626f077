"""What must hold of whatever a power cut left: the laws, in the order in which they are tried.

found      A view as found is a state of this history, or can be told from one: it does not parse.
           With `always` it shows no event that is not in the log.
reading    Opening read-only works, hands out every promised event, and changes nothing. Only
           where good lines stand behind NUL bytes it says at the end that something is amiss.
opening    A healthy journal is never refused.
kept       Every promised event is there, in order; of the others whole appends only, and none
           that was not asked for. Promised checkpoints are there and whole, pruned ones are not.
equal      State and view are the fold of the events, reckoned without the engine.
saved      What recovery cut off lies in quarantine, as many bytes as it says.
tidy       No temporary file is left.
settled    Opening a second time changes no byte.
going on   Appending works, a key that was seen is known, `verify` finds no problem.
forked     A fork is a whole journal of its own, or unfinished and no journal.
"""

import os
import re
import zlib
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import orjson

import journal
from journal import durable
from journal import witness as witnesses
from journal.engine import Engine
from journal.errors import Corrupt, Drift, JournalError
from journal.event import CARRIES_STATE, CREATED, ENGINE_PREFIX, RECOVERED, Event
from tests.faults.crash import State
from tests.faults.disk import Known
from tests.faults.lines_projection import LINES
from tests.faults.row import Violation
from tests.faults.story import FOLDER, FORK, Story, fixed_clock
from tests.faults.tree import Tree, differences, read_tree, write_tree

VIEW = "state.json"
_STAT = re.compile(rb'"inode": *[0-9]+,"mtime_ns":[0-9]+|"crc":"[0-9a-f]+"\}|"sha256":"[0-9a-f]+"')
_PROBE = {"path": "/probe", "value": [1, 1.0, True]}


class Judge:
    """Tries the laws on what is left of one story, in one folder that is used again and again."""

    def __init__(self, story: Story, root: Path) -> None:
        """`root` is emptied for each state."""
        self._story = story
        self._root = str(root)
        self._folder = root / FOLDER
        self._fork = root / FORK
        self._ends = [0]
        self._events: list[tuple[str, bytes]] = []
        self._states = [plain({} if story.projection is None else story.projection.initial())]
        for append in story.appends:
            self._events += [_tell(name, data) for name, data in append.events]
            self._ends.append(len(self._events))
            self._states.append(plain(append.state))
        self._settled: set[int] = set()
        self._foreign = {plain(value) for value in story.foreign}

    def check(self, state: State) -> None:
        """Raise `Violation` where a law does not hold."""
        write_tree(self._root, state.tree)
        self._know_inodes(state.tree)
        # Who died without the machine finds the same boot, and everything as it was written.
        boot = durable.boot_id() if state.model == "killed" else "the boot after the power cut"
        try:
            with mock.patch.object(durable, "boot_id", partial(str, boot)):
                self._check(state.known)
        except Violation as violation:
            raise Violation(f"{self._story.name}: {violation}\n  {state}") from None
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise Violation(f"{self._story.name}: crashed: {why}\n  {state}") from error

    def _check(self, known: Known) -> None:
        finished = (self._folder / "journal.yaml").exists()
        if known.made and not finished:
            raise Violation("kept: init had returned, and journal.yaml is not there")
        seen = self._look_at_view(known)
        if finished:
            self._read(known)
        with closing(self._revive(finished)) as engine:
            events = list(engine.events())
            reached = self._check_events(events, known)
            self._check_state(engine, reached)
            self._check_past(engine, _told(events), reached // 2)
            self._check_checkpoints(engine, known)
            self._check_quarantine(events)
        if seen > reached and self._story.durability == "always":
            raise Violation(f"found: the view shows append {seen}, the log ends at {reached}")
        settled = read_tree(self._root)
        if left := [path for path in settled if path.endswith(".journal-tmp") and FORK not in path]:
            raise Violation(f"tidy: {left}")
        # Many disks are the same once they are recovered: what comes then is tried once.
        key = _recovered(settled)
        if key not in self._settled:
            self._open().close()
            if changes := differences(settled, read_tree(self._root)):
                raise Violation(f"settled: {changes}")
            self._go_on(reached)
            self._settled.add(key)
        self._check_fork(known)

    # --- before anything is opened ---------------------------------------------------------------

    def _look_at_view(self, known: Known) -> int:
        """Return the first append whose state the view as found shows, 0 if it shows none."""
        try:
            value = orjson.loads((self._folder / VIEW).read_bytes())
        except (FileNotFoundError, ValueError):
            return 0
        shown = plain(value)
        if shown in self._states[: known.issued + 1] and shown not in self._foreign:
            return self._states.index(shown)
        if self._foreign:
            return 0  # Somebody else wrote in place, so what a tear leaves is a mixture.
        raise Violation(f"found: {VIEW} shows no state of this history: {value}")

    def _know_inodes(self, tree: Tree) -> None:
        """Let the witness name the views by the inodes that they have here.

        On a disk that survived they are what they were, so that a stat that fits proves nothing.
        """
        path = f"{FOLDER}/{witnesses.FILE_NAME}"
        file = tree.get(path)
        if file is None or witnesses.decode(file.data) is None:
            return
        text = file.data
        for name, old in tree.items():
            if old is not None and (said := b'"inode":%d,' % old.inode) in text:
                inode = os.stat(f"{self._root}/{name}").st_ino
                text = text.replace(said, b'"inode": %d,' % inode)  # a space: not found again
        if text != file.data:
            Path(f"{self._root}/{path}").write_bytes(seal_witness(text, len(file.data)))

    def _read(self, known: Known) -> None:
        before = read_tree(self._root)
        events: list[Event] = []
        try:
            engine = journal.open(self._folder, read_only=True, projection=self._story.projection)
        except JournalError as error:
            raise Violation(f"reading: refused: {error}") from error
        with closing(engine):
            try:
                events.extend(engine.events())
            except Corrupt as error:
                if not _has_hole(before):
                    raise Violation(f"reading: told of damage: {error}") from error
        if changes := differences(before, read_tree(self._root)):
            raise Violation(f"reading: it changed something: {changes}")
        if _has_hole(before):
            events = _whole_appends(events)
        self._check_events(events, known)

    # --- after recovery --------------------------------------------------------------------------

    def _revive(self, finished: bool) -> Engine:
        """Open the journal, or complete its beginning."""
        if finished:
            return self._open()
        story = self._story
        try:
            return journal.init(
                self._folder,
                projection=story.projection or "document",
                durability=story.durability,
                clock=fixed_clock,
            )
        except JournalError as error:
            raise Violation(f"opening: init: {type(error).__name__}: {error}") from error

    def _open(self) -> Engine:
        options = self._story.options()
        try:
            return journal.open(self._folder, **options)
        except Drift as error:
            if not self._foreign:
                raise Violation(f"opening: our own view is taken for drift: {error}") from error
            engine = journal.open(self._folder, on_drift="replace", **options)
            engine.rebuild()
            return engine
        except JournalError as error:
            raise Violation(f"opening: refused: {type(error).__name__}: {error}") from error

    def _check_events(self, events: list[Event], known: Known) -> int:
        """Return how many appends are there."""
        if [event.seq for event in events] != list(range(1, len(events) + 1)):
            raise Violation(f"kept: seqs {[event.seq for event in events]}")
        if not events or events[0].type != CREATED:
            raise Violation("kept: the first event is not journal.created")
        got = [_tell(event.type, event.data) for event in _told(events)]
        if got != self._events[: len(got)]:
            raise Violation(f"kept: events that were never appended, or not in this order: {got}")
        if len(got) not in self._ends:
            raise Violation(f"kept: half an append: {len(got)} events, appends end at {self._ends}")
        reached = self._ends.index(len(got))
        if not known.acked <= reached <= known.issued:
            raise Violation(
                f"kept: {reached} appends are there; {known.acked} were promised to be, and "
                f"{known.issued} asked for"
            )
        return reached

    def _check_state(self, engine: Engine, reached: int) -> None:
        wanted = self._states[reached]
        if plain(engine.state) != wanted:
            raise Violation(f"equal: the state is {engine.state}, not {wanted!r}")
        try:
            shown = orjson.loads((self._folder / VIEW).read_bytes())
        except (FileNotFoundError, ValueError) as error:
            raise Violation(f"equal: after recovery {VIEW}: {error}") from error
        if plain(shown) != wanted:
            raise Violation(f"equal: {VIEW} shows {shown}, not {wanted!r}")
        if self._story.projection is not None:
            lines = [
                plain(orjson.loads(x)) for x in (self._folder / LINES).read_bytes().splitlines()
            ]
            told = [data for _, data in self._events[: self._ends[reached]]]
            if sorted(lines) != sorted(told):
                raise Violation(f"equal: {LINES} has {lines}, not {told}")

    def _check_checkpoints(self, engine: Engine, known: Known) -> None:
        found = {info.file: info.problem for info in engine.snapshots()}
        for file in known.checkpoints:
            if problem := found.get(file, "missing"):
                raise Violation(f"kept: checkpoint {file}: {problem}")
        if back := found.keys() & set(known.pruned):
            raise Violation(f"kept: pruned, and still there: {back}")

    def _check_past(self, engine: Engine, events: list[Event], number: int) -> None:
        """Compare the state right after one of the appends, asked for by its seq."""
        seq = events[self._ends[number] - 1].seq if number else 0
        if plain(engine.state_at(seq)) != self._states[number]:
            raise Violation(f"equal: the state at {seq} is {engine.state_at(seq)}")

    def _check_quarantine(self, events: list[Event]) -> None:
        for event in events:
            if event.type == RECOVERED:
                saved = self._folder / "quarantine" / event.data["quarantine"]
                if not saved.exists() or saved.stat().st_size != event.data["bytes"]:
                    raise Violation(f"saved: {saved.name} has not {event.data['bytes']} bytes")

    def _go_on(self, reached: int) -> None:
        wanted = {**orjson.loads(self._states[reached]), "probe": _PROBE["value"]}
        with closing(self._open()) as engine:
            event = engine.append("set", _PROBE, id="probe")
            keyed = [append for append in self._story.appends[:reached] if append.id]
            for append in keyed[:1] + keyed[-1:]:
                if engine.append(*append.events[0], id=append.id).seq > event.seq:
                    raise Violation(f"going on: key {append.id!r} is not known any more")
            verified = engine.verify()
        if not verified.ok:
            raise Violation(f"going on: verify: {verified.problems}")
        with journal.open(self._folder, read_only=True, projection=self._story.projection) as j:
            if j.seq != event.seq or plain(j.state) != plain(wanted):
                raise Violation(f"going on: an append after recovery is lost: {j.state}")

    def _check_fork(self, known: Known) -> None:
        if not (self._fork / "journal.yaml").exists():
            if known.forked:
                raise Violation("forked: fork had returned, and the fork is not there")
            return
        with journal.open(self._fork, **self._story.options()) as fork:
            got = [
                _tell(event.type, event.data)
                for event in fork.events()
                if not event.type.startswith(ENGINE_PREFIX)
            ]
            at = self._ends.index(len(got))
            if got != self._events[: len(got)] or plain(fork.state) != self._states[at]:
                raise Violation(f"forked: its events or its state are not those of append {at}")
            if not (verified := fork.verify()).ok:
                raise Violation(f"forked: verify: {verified.problems}")


def _told(events: list[Event]) -> list[Event]:
    """Return the events that a story tells: those of its own, and the engine's with a state."""
    return [
        event
        for event in events
        if event.type in CARRIES_STATE or not event.type.startswith(ENGINE_PREFIX)
    ]


def _tell(name: str, data: Any) -> tuple[str, bytes]:
    return name, b"" if name in CARRIES_STATE else plain(data)


def _whole_appends(events: list[Event]) -> list[Event]:
    """Return the events before the first that is missing, without the last append if cut off."""
    end = 0
    for at, event in enumerate(events, 1):
        if event.seq != at:
            break
        if event.part[0] == event.part[1]:
            end = at
    return events[:end]


def _has_hole(tree: Tree) -> bool:
    """Say whether NUL bytes stand in the log, whose lines have none."""
    return any(
        file is not None and b"\0" in file.data
        for path, file in tree.items()
        if path.endswith(".jsonl")
    )


def _recovered(tree: Tree) -> int:
    """Return what tells a recovered journal from others, but for bytes that are only kept."""
    found: list[object] = []
    for path, file in tree.items():
        if file is not None and path.endswith(witnesses.FILE_NAME):
            found.append((path, _STAT.sub(b"", file.data)))
        elif "/quarantine" not in path:
            found.append((path, file and (file.data, file.mode)))
    return hash(tuple(found))


def plain(value: Any) -> bytes:
    """Write a JSON value so that equal bytes are strictly equal values."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def seal_witness(text: bytes, size: int) -> bytes:
    """Give changed bytes of a witness their crc and their size again."""
    body = text[: text.rindex(b',"crc":"')]
    whole = body + b',"crc":"%08x"}' % zlib.crc32(body)
    return whole.ljust(size - 1) + b"\n"
