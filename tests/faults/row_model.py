"""Row 14: the engine beside a model of it, a plain list of states, driven by a state machine.

    append  batch  refuse  execute  reopen  crash  snapshot  prune  drift  restore  rebuild  fork

I1  After every step the engine's state is the model's; so is the state at a place picked at
    random among all that ever were, folded from the nearest snapshot.
I2  At the end the fold from nothing is the model's too, and `verify` finds nothing.
"""

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import journal
from tests.faults.row import Outcome, Row, Tier, Violation

EXAMPLES = {"quick": 60, "full": 4600}
STEPS = 50
NAMES = ("a", "b", "c", "ü/~")
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.integers(-3, 3),
    st.text(max_size=4),
    st.none(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.integers(0, 9), max_size=3),
)

_counted: Counter[str] = Counter()


def pointer(name: str) -> str:
    """Return the JSON Pointer of a member."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


class Model(RuleBasedStateMachine):
    """`states[seq]` is the state after event `seq`; index 0 is the state before the first."""

    def __init__(self) -> None:
        super().__init__()
        self._work = tempfile.TemporaryDirectory(
            dir="/dev/shm" if Path("/dev/shm").is_dir() else None
        )
        self.path = Path(self._work.name) / "run"
        self.states: list[dict[str, Any]] = []
        self.checkpoints: list[str] = []
        self.forks = 0

    @initialize()
    def make(self) -> None:
        journal.init(self.path).close()
        text = (self.path / "journal.yaml").read_text()
        text = text.replace("segment_bytes: 67108864", "segment_bytes: 1500")
        text += "snapshots: {min_bytes: 500, log_ratio: 2.0, keep: 5}\n"
        (self.path / "journal.yaml").write_text(
            "\n".join(line for line in text.split("\n") if line != "snapshots: {}")
        )
        self.engine = journal.open(self.path)
        self.states = [{}, {}]

    def teardown(self) -> None:
        if self.states:
            _equal(self.engine.replay(), self.states[-1], "the fold from nothing")
            report = self.engine.verify()
            if not report.ok:
                raise Violation(f"verify: {report.problems}")
            self.engine.close()
        self._work.cleanup()

    # --- what the model says ---------------------------------------------------------------------

    def _take(self, *states: dict[str, Any]) -> None:
        """Fill the model up to the engine's seq: the engine's own events leave the state alone."""
        own = self.engine.seq - (len(self.states) - 1) - len(states)
        if own < 0:
            raise Violation(f"{len(states)} events were due, the engine is at {self.engine.seq}")
        self.states += [self.states[-1]] * own
        self.states += states

    # --- appending -------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NAMES), value=VALUES)
    def append(self, name: str, value: Any) -> None:
        _counted["append"] += 1
        self.engine.append("set", {"path": pointer(name), "value": value})
        self._take({**self.states[-1], name: value})

    @rule(pairs=st.lists(st.tuples(st.sampled_from(NAMES), VALUES), min_size=2, max_size=5))
    def append_batch(self, pairs: list[tuple[str, Any]]) -> None:
        _counted["batch"] += 1
        self.engine.append_batch(
            [("set", {"path": pointer(name), "value": value}) for name, value in pairs]
        )
        state, states = self.states[-1], []
        for name, value in pairs:
            state = {**state, name: value}
            states.append(state)
        self._take(*states)

    @rule(name=st.sampled_from(NAMES))
    def remove_or_be_refused(self, name: str) -> None:
        _counted["remove"] += 1
        there = name in self.states[-1]
        try:
            self.engine.append_batch(
                [("set", {"path": "/x", "value": 1}), ("remove", {"path": pointer(name)})]
            )
        except journal.UsageError:
            if there:
                raise
            self._take()
            return
        if not there:
            raise Violation(f"{name!r} is not there, and was removed")
        first = {**self.states[-1], "x": 1}
        self._take(first, {key: value for key, value in first.items() if key != name})

    @rule(key=st.sampled_from(("k1", "k2", "k3")))
    def append_once(self, key: str) -> None:
        _counted["key"] += 1
        before = self.engine.seq
        event = self.engine.append("set", {"path": "/once", "value": key}, id=key)
        if event.seq > before:
            self._take({**self.states[-1], "once": key})
        else:
            self._take()

    # --- closing, crashing -----------------------------------------------------------------------

    @rule()
    def reopen(self) -> None:
        _counted["reopen"] += 1
        self.engine.close()
        self.engine = journal.open(self.path)
        self._take()

    @rule(torn=st.binary(min_size=1, max_size=40).filter(lambda data: b"\n" not in data))
    def crash_in_the_middle_of_an_append(self, torn: bytes) -> None:
        _counted["crash"] += 1
        self.engine._core.close()
        last = max((self.path / "log").glob("*.jsonl"))
        with last.open("ab") as log:
            log.write(torn)
        self.engine = journal.open(self.path)
        self._take()

    @rule(left=st.sampled_from((b"", b"\0" * 30, b'{"a": ')))
    def lose_the_view_in_a_power_cut(self, left: bytes) -> None:
        _counted["view lost"] += 1
        self.engine.close()
        (self.path / "state.json").write_bytes(left)
        self.engine = journal.open(self.path)
        self._take()

    # --- snapshots, rebuild ----------------------------------------------------------------------

    @rule()
    def snapshot(self) -> None:
        _counted["snapshot"] += 1
        self.checkpoints.append(self.engine.snapshot("manual", "of the model").file)
        self._take()

    @precondition(lambda self: self.checkpoints)
    @rule(data=st.data())
    def prune(self, data: st.DataObject) -> None:
        _counted["prune"] += 1
        name = data.draw(st.sampled_from(self.checkpoints))
        self.checkpoints.remove(name)
        self.engine.prune([name])
        self._take()

    @rule()
    def rebuild(self) -> None:
        _counted["rebuild"] += 1
        written = self.engine.rebuild().written
        if written:
            raise Violation(f"a rebuild of a healthy journal wrote {written}")
        self._take()

    # --- drift, restore, fork --------------------------------------------------------------------

    @rule(value=VALUES, adopt=st.booleans())
    def edit_the_view(self, value: Any, adopt: bool) -> None:
        _counted["drift"] += 1
        self.engine.close()
        edited = {**self.states[-1], "edited": value}
        (self.path / "state.json").write_text(json.dumps(edited))
        self.engine = journal.open(self.path, on_drift="adopt" if adopt else "replace")
        past = any(_same(edited, state) for state in self.states)
        if adopt and not past:
            self._take(edited)
        elif not adopt:
            self._take()
        elif self.engine.seq >= len(self.states):
            self._take(edited)
        else:
            self._take()

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        _counted["restore"] += 1
        seq = data.draw(st.integers(0, len(self.states) - 1))
        if self.engine.restore(seq) is None:  # The state is that one already.
            self._take()
            _equal(self.states[-1], self.states[seq], f"what need not be restored from {seq}")
        else:
            self._take(self.states[seq])

    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        _counted["fork"] += 1
        ends = [event.seq for event in self.engine.events() if event.part[0] == event.part[1]]
        seq = data.draw(st.sampled_from(ends))
        self.forks += 1
        place = Path(self._work.name) / f"fork-{self.forks}"
        self.engine.fork(place, at=seq)
        with journal.open(place) as forked:
            _equal(forked.state, self.states[seq], f"the fork at {seq}")
            if not forked.verify().ok:
                raise Violation(f"the fork at {seq} does not verify")

    # --- the laws --------------------------------------------------------------------------------

    @invariant()
    def states_are_equal(self) -> None:
        if not self.states:
            return
        if self.engine.seq != len(self.states) - 1:
            raise Violation(f"the engine is at {self.engine.seq}, not {len(self.states) - 1}")
        _equal(self.engine.state, self.states[-1], "the state")
        seq = (len(self.states) * 7919) % len(self.states)
        for place in {seq, len(self.states) // 2}:
            _equal(self.engine.state_at(place), self.states[place], f"the state at {place}")
        _counted["steps"] += 1


def _equal(found: Any, expected: Any, what: str) -> None:
    if not _same(found, expected):
        raise Violation(f"{what} is {found!r}, the model says {expected!r}")


def _same(a: Any, b: Any) -> bool:
    return repr(_ordered(a)) == repr(_ordered(b))


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted((key, _ordered(child)) for key, child in value.items())
    return [_ordered(child) for child in value] if isinstance(value, list) else value


def drive(examples: int, *, derandomize: bool = True) -> Counter[str]:
    """Run the machine so many times; return how often each rule was taken."""
    _counted.clear()
    run_state_machine_as_test(
        Model,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=derandomize,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
    return _counted


def run(tier: Tier) -> Outcome:
    """Drive the engine and the model side by side."""
    counted = drive(EXAMPLES[tier], derandomize=tier == "quick")
    rules = ", ".join(f"{name} {count:,}" for name, count in counted.most_common())
    return Outcome(counted["steps"], notes=(rules,))


ROW = Row(14, "the model: engine and plain Python, step by step", run)
