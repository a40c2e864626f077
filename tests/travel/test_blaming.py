"""Blame and bisect: how little they read, how little they hold, and lost events on the way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import journal
from journal.engine import repairing
from journal.engine.core import Core
from journal.engine.travel import blaming, walking
from journal.engine.travel.changing import Drop
from journal.errors import Corrupt, UsageError
from projections import patch
from tests.travel import brute, made

MANY = 20_000


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal of twenty thousand events with a counter, a rare and a single event."""
    path = tmp_path_factory.mktemp("long") / "run"
    made.make(path, [[("set", {"path": "/once", "value": 1})]], segment_bytes=1 << 20)
    with journal.open(path) as engine:
        for start in range(0, MANY, 1000):
            events: list[made.Event] = [
                ("set", {"path": f"/n/{n % 7}", "value": n}) for n in range(start, start + 1000)
            ]
            events[500] = ("set", {"path": "/rare", "value": start})
            engine.append_batch([("merge", {"patch": {"n": {}}}), *events])
    return path


class Counter:
    """Counts the events that are decoded, and the folds that are begun."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events = 0
        self.folded = 0
        decode, walk = walking.typed, walking.walk

        def count(core: Core, after: int, upto: int) -> Iterator[Any]:
            for event in decode(core, after, upto):
                self.events += 1
                yield event

        def count_walk(*args: Any) -> Iterator[Any]:
            for step in walk(*args):
                self.folded += 1
                yield step

        monkeypatch.setattr(blaming, "typed", count)
        monkeypatch.setattr(blaming, "walk", count_walk)


@pytest.mark.slow
def test_the_last_change_is_found_near_the_end(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with journal.open(long, read_only=True) as engine:
        counter = Counter(monkeypatch)
        change = next(engine.blame("/rare"))
        assert change.new == MANY - 1000
        assert counter.events <= 1024
        assert counter.folded <= 2048


@pytest.mark.slow
def test_what_cannot_have_changed_a_value_is_read_and_not_folded(
    long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with journal.open(long, read_only=True) as engine:
        counter = Counter(monkeypatch)
        changes = list(engine.blame("/once"))
        assert [change.seq for change in changes] == [2]
        assert counter.events == engine.seq
        assert counter.folded <= 2048


@pytest.mark.slow
def test_blame_of_the_whole_state_ends_when_every_value_is_explained(
    long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with journal.open(long, read_only=True) as engine:
        counter = Counter(monkeypatch)
        found = {one.pointer: one for one in engine.blame_all("/n")}
        assert found["/n/0"].value % 7 == 0
        assert len(found) == 7
        assert counter.events <= 1024
        with pytest.raises(UsageError):
            engine.blame_all("/never")


@pytest.mark.slow
def test_large_values_are_held_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blaming, "_GROUP_BYTES", 1000)
    appends = [[("set", {"path": "/n", "value": f"{n} " + "x" * 400})] for n in range(60)]
    states = made.make(tmp_path / "run", appends)
    sizes: list[int] = []
    sift = blaming._sift

    def note(core: Core, seqs: list[int], place: Any) -> tuple[list[blaming.Change], int]:
        sizes.append(len(seqs))
        return sift(core, seqs, place)

    monkeypatch.setattr(blaming, "_sift", note)
    with journal.open(tmp_path / "run", read_only=True) as engine:
        found = [change.seq for change in engine.blame("")]
    assert found == [seq for seq, _, _ in brute.blame(states, "", 0, len(states) - 1)]
    assert max(sizes) <= 4


def test_what_is_no_pointer_is_refused_when_it_is_asked(tmp_path: Path) -> None:
    made.make(tmp_path / "run", [])
    with journal.open(tmp_path / "run", read_only=True) as engine:
        for pointer in ("a", "/~2"):
            with pytest.raises(UsageError):
                engine.blame(pointer)
            with pytest.raises(UsageError):
                engine.watch(0, pointer=pointer)


# --- lost events ---------------------------------------------------------------------------------


@pytest.fixture
def holed(tmp_path: Path) -> tuple[Path, int, int]:
    """A journal that lost an event and was given its state; the lost seq, the seq that mends."""
    path = tmp_path / "run"
    appends = [[("set", {"path": f"/n{n % 3}", "value": n})] for n in range(9)]
    states = made.make(path, appends, segment_bytes=1 << 20, min_bytes=1 << 20)
    log = next((path / "log").glob("*.jsonl"))
    lines = log.read_bytes().splitlines(keepends=True)
    lines[5] = lines[5].replace(b'"value"', b'"valeu"')
    log.write_bytes(b"".join(lines))
    repairing.repair(path, state=states[-1])
    with journal.open(path) as engine:
        (mend,) = [event.seq for event in engine.events() if event.type == "journal.repaired"]
        engine.append("set", {"path": "/n0", "value": "after"})
        engine.append("set", {"path": "/n1", "value": "after"})
        assert engine.verify().ok
    return path, 6, mend


def test_blame_tells_what_it_knows_before_it_says_what_is_lost(
    holed: tuple[Path, int, int],
) -> None:
    path, lost, mend = holed
    with journal.open(path, read_only=True) as engine:
        found: list[int] = []
        with pytest.raises(Corrupt, match="lost"):  # noqa: PT012 - what came first is looked at
            for change in engine.blame("/n0"):
                found.append(change.seq)
        assert found == [mend + 1]
        # Before the loss everything is known.
        assert [change.seq for change in engine.blame("/n0", upto=lost - 1)] == [5, 2]
        with pytest.raises(Corrupt):
            list(engine.blame("/n2"))


def test_blame_of_the_whole_state_needs_what_is_lost_only_where_the_answer_lies_there(
    holed: tuple[Path, int, int],
) -> None:
    path, _, mend = holed
    with journal.open(path) as engine:
        with pytest.raises(Corrupt):
            engine.blame_all()
        engine.append("set", {"path": "/n2", "value": "after"})
        assert {one.pointer: one.seq for one in engine.blame_all()} == {
            "/n0": mend + 1,
            "/n1": mend + 2,
            "/n2": mend + 3,
        }


def test_bisect_and_stepping_stop_at_what_is_lost(holed: tuple[Path, int, int]) -> None:
    path, lost, mend = holed
    with journal.open(path, read_only=True) as engine:
        assert engine.bisect(lambda state: state.get("n0") == 3).seq == 5
        with pytest.raises(Corrupt):
            engine.bisect(lambda state: state.get("n0") == "after")
        assert engine.bisect(lambda state: state["n0"] == "after", after=mend).seq == mend + 1
        stepper = engine.stepper()
        assert stepper.go_to(lost - 1).event.seq == lost - 1
        with pytest.raises(Corrupt):
            stepper.go_to(lost)
        assert stepper.go_to(mend + 1).event.seq == mend + 1
        with pytest.raises(Corrupt):
            engine.diff(lost, "head")


def test_a_fork_shares_what_is_lost_and_changes_nothing_across_it(
    holed: tuple[Path, int, int], tmp_path: Path
) -> None:
    path, lost, mend = holed
    with journal.open(path, read_only=True) as engine:
        engine.fork(tmp_path / "same")
        engine.fork(tmp_path / "late", changes=[Drop(mend + 1)])
        with pytest.raises(Corrupt):
            engine.fork(tmp_path / "across", changes=[Drop(lost - 1)])
        state = engine.state
    assert not (tmp_path / "across").exists()
    with journal.open(tmp_path / "same") as same, journal.open(tmp_path / "late") as late:
        assert patch.equal(same.state, state)
        assert same.verify().ok
        assert late.state["n0"] != "after"


def test_a_predicate_that_refuses_names_the_event(tmp_path: Path) -> None:
    made.make(tmp_path / "run", [[("set", {"path": "/n", "value": 1})]])

    def refuse(state: Any) -> bool:
        if "n" in state:
            raise UsageError("no", advice="ask otherwise")
        return False

    with (
        journal.open(tmp_path / "run", read_only=True) as engine,
        pytest.raises(UsageError, match=r"as of event 2: no\nask otherwise"),
    ):
        engine.bisect(refuse)
