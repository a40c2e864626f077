"""What an append promises: recorded as given, all or nothing, once, over no wrong belief."""

import dataclasses
import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

import journal
from journal.event import Draft
from projections.projection import Projection


@pytest.fixture
def run(tmp_path: Path) -> Path:
    journal.init(tmp_path / "run").close()
    return tmp_path / "run"


def test_an_event_is_recorded_as_given_and_state_follows(run: Path) -> None:
    with journal.open(run) as j:
        event = j.append("set", {"path": "/phase", "value": "plan"}, actor="ann", id="k", cause=1)
        assert (event.seq, event.type, event.actor, event.id, event.cause) == (
            2,
            "set",
            "ann",
            "k",
            1,
        )
        assert event.data == {"path": "/phase", "value": "plan"}
        assert j.state == {"phase": "plan"}
    with journal.open(run, read_only=True) as j:
        assert list(j.events(after=1)) == [event]


def test_a_batch_is_all_or_nothing(run: Path) -> None:
    with journal.open(run) as j:
        good = [("set", {"path": "/a", "value": 1}), ("set", {"path": "/b", "value": 2})]
        events = j.append_batch(good)
        assert [event.part for event in events] == [(1, 2), (2, 2)]
        before = (run / "log" / "00000000000000000001.jsonl").read_bytes()
        with pytest.raises(journal.UsageError, match="no member"):
            j.append_batch([("set", {"path": "/c", "value": 3}), ("remove", {"path": "/missing"})])
        assert j.state == {"a": 1, "b": 2}
        assert (run / "log" / "00000000000000000001.jsonl").read_bytes() == before


def test_an_empty_batch_appends_nothing(run: Path) -> None:
    with journal.open(run) as j:
        assert j.append_batch([]) == []
        assert j.seq == 1


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), "data.value"),
        ({1, 2}, "data.value"),
        (b"x", "data.value"),
        (float("nan"), "data.value"),
        (float("inf"), "data.value"),
        ((1, 2), "data.value"),
        ({1: "a", "1": "b"}, "data.value"),
        ({"deep": [{"\ud800": 1}]}, "data.value.deep[0]"),
        (2**64, "data.value"),
        (-(2**63) - 1, "data.value"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(
    run: Path, value: object, key: str
) -> None:
    with journal.open(run) as j:
        with pytest.raises(journal.UsageError) as caught:
            j.append("set", {"path": "/x", "value": value})
        assert caught.value.key.startswith(key)
        assert (j.seq, j.state) == (1, {})


@pytest.mark.parametrize(
    "value", [0.1, 1.0, 1, True, -0.0, 1e16, 5e-324, 2**64 - 1, -(2**63), "\x00\x7f\u2028", [[]]]
)
def test_what_is_accepted_reads_back_equal_to_the_type(run: Path, value: object) -> None:
    with journal.open(run) as j:
        j.append("set", {"path": "/x", "value": value})
    with journal.open(run, read_only=True) as j:
        found = j.state["x"]
        assert repr(found) == repr(value)
        assert j.verify().ok


def test_depth_200_is_accepted_and_201_refused(run: Path) -> None:
    def nested(depth: int) -> object:
        value: object = 1
        for _ in range(depth):
            value = [value]
        return value

    with journal.open(run) as j:
        j.append("merge", {"patch": {"x": nested(198)}})
        with pytest.raises(journal.UsageError, match="200"):
            j.append("merge", {"patch": {"x": nested(200)}})
        with pytest.raises(journal.UsageError, match="200"):
            j.append("set", {"path": "/x", "value": nested(200)})
        assert j.seq == 2


def test_an_unknown_type_is_refused_and_the_known_ones_are_named(run: Path) -> None:
    with journal.open(run) as j:
        with pytest.raises(journal.UsageError, match="merge, patch, remove, set"):
            j.append("sett", {"path": "/x", "value": 1})
        with pytest.raises(journal.UsageError, match="engine"):
            j.append("journal.created", {})


def test_an_expected_seq_that_holds_is_accepted_and_a_stale_one_conflicts(run: Path) -> None:
    with journal.open(run) as j:
        j.append("set", {"path": "/x", "value": 1}, expected_seq=1)
        with pytest.raises(journal.Conflict) as caught:
            j.append("set", {"path": "/x", "value": 2}, expected_seq=1)
        assert (caught.value.expected, caught.value.actual) == (1, 2)
        with pytest.raises(journal.Conflict):
            j.append("set", {"path": "/x", "value": 2}, expected_seq=9)
        assert j.state == {"x": 1}


def test_engine_events_that_leave_state_alone_do_not_conflict(run: Path) -> None:
    with journal.open(run) as j:
        believed = j.append("set", {"path": "/x", "value": 1}).seq
        j.snapshot()
        assert j.append("set", {"path": "/x", "value": 2}, expected_seq=believed).seq == 4
        j.restore(2)
        with pytest.raises(journal.Conflict, match="restored"):
            j.append("set", {"path": "/x", "value": 3}, expected_seq=4)


def test_a_known_id_gives_the_recorded_event_and_other_content_conflicts(run: Path) -> None:
    with journal.open(run) as j:
        first = j.append("set", {"path": "/x", "value": 1}, id="k")
        assert j.append("set", {"value": 1, "path": "/x"}, id="k") == first
        assert j.seq == first.seq
        with pytest.raises(journal.Conflict, match=f"event {first.seq}"):
            j.append("set", {"path": "/x", "value": 1.0}, id="k")


def test_ids_of_a_batch_are_all_new_or_all_known(run: Path) -> None:
    one, two = (Draft(type="set", data={"path": f"/{n}", "value": n}, id=n) for n in ("one", "two"))
    with journal.open(run) as j:
        events = j.append_batch([one, two])
        assert j.append_batch([one, two]) == events
        three = msgspec.structs.replace(two, id="three")
        with pytest.raises(journal.Conflict, match="all new or all known"):
            j.append_batch([one, three])
        with pytest.raises(journal.UsageError, match="twice"):
            j.append_batch([three, three])


def test_ids_are_known_over_rotations_and_without_their_derived_files(run: Path) -> None:
    set_segment_bytes(run, 600)
    with journal.open(run) as j:
        events = [j.append("set", {"path": "/x", "value": n}, id=f"k{n}") for n in range(40)]
        assert len(list((run / "log").glob("*.jsonl"))) > 5
    for path in (run / "log").glob("*.ids"):
        path.write_bytes(path.read_bytes()[:-3]) if events else None
    with journal.open(run) as j:
        for event in events:
            assert j.append("set", event.data, id=event.id) == event
        assert j.append("set", {"path": "/x", "value": 0}, id="new").seq > events[-1].seq


def set_segment_bytes(run: Path, size: int) -> None:
    path = run / "journal.yaml"
    text = path.read_text()
    assert "segment_bytes: 67108864" in text
    path.write_text(text.replace("segment_bytes: 67108864", f"segment_bytes: {size}"))


def test_times_never_go_back_when_the_clock_does(tmp_path: Path) -> None:
    clock = [1_800_000_000_000]
    with journal.init(tmp_path / "run", clock=lambda: clock[0]) as j:
        for step in (5_000, -86_400_000_000, 1, 2):
            clock[0] += step
            j.append("set", {"path": "/x", "value": step})
        times = [event.time for event in j.events()]
        assert times == sorted(times)
        assert times[2] == times[1]


def test_a_command_decides_on_the_newest_state_and_none_appends_nothing(run: Path) -> None:
    def increase(state: dict[str, int]) -> list[tuple[str, object]]:
        count = state.get("count", 0)
        return [("set", {"path": "/count", "value": count + 1})] if count < 3 else []

    with journal.open(run) as a, journal.open(run) as b:
        for engine in (a, b, a, b, a):
            engine.execute(increase)
        assert a.state == {"count": 3}
        assert a.refresh() == b.refresh() == 4


def test_what_a_command_raises_passes_through_and_nothing_is_written(run: Path) -> None:
    def refuse(state: object) -> None:
        raise journal.UsageError("not today")

    with journal.open(run) as j:
        with pytest.raises(journal.UsageError, match="not today"):
            j.execute(refuse)
        assert j.seq == 1


def test_a_command_with_a_known_id_runs_once(run: Path) -> None:
    runs = []

    def command(state: object) -> list[tuple[str, object]]:
        runs.append(1)
        return [("set", {"path": "/a", "value": 1}), ("set", {"path": "/b", "value": 2})]

    with journal.open(run) as j:
        first = j.execute(command, id="once")
        assert j.execute(command, id="once") == first
        assert (len(runs), len(first)) == (1, 2)


def test_the_state_handed_out_can_be_changed_without_harm(run: Path) -> None:
    with journal.open(run) as j:
        j.append("set", {"path": "/list", "value": [1]})
        j.state["list"].append(2)
        j.state_at(2)["list"].append(3)
        data: dict[str, Any] = {"path": "/more", "value": [1]}
        j.append("set", data)
        data["value"].append(2)
        assert j.state == {"list": [1], "more": [1]}


class Counted(msgspec.Struct, forbid_unknown_fields=True):
    by: int


class OldCounted(msgspec.Struct):
    event_type = "counted_v0"
    step: int

    def upcast(self) -> Counted:
        return Counted(by=self.step * 10)


def count(state: dict[str, int], event: object) -> dict[str, int]:
    state["n"] += event.data.by  # type: ignore[attr-defined]
    return state


def initial() -> dict[str, int]:
    return {"n": 0}


def test_typed_events_are_appended_and_old_types_are_read_but_not_written(tmp_path: Path) -> None:
    old = Projection("counter", events={OldCounted: count_old}, initial=initial)
    new = Projection("counter", events={Counted: count}, initial=initial, upcasts=[OldCounted])
    with journal.init(tmp_path / "run", projection=old) as j:
        j.append(OldCounted(step=2))
    with journal.open(tmp_path / "run", projection=new) as j:
        assert j.append(Counted(by=3)).type == "counted"
        assert j.state == {"n": 23}
        with pytest.raises(journal.UsageError, match="not written any more"):
            j.append(OldCounted(step=1))
        with pytest.raises(journal.UsageError, match="by"):
            j.append("counted", {"by": "three"})


def count_old(state: dict[str, int], event: object) -> dict[str, int]:
    state["n"] += event.data.step  # type: ignore[attr-defined]
    return state


def test_unknown_types_are_kept_and_reported_and_leave_state_alone(tmp_path: Path) -> None:
    old = Projection("counter", events={OldCounted: count_old}, initial=initial)
    new = Projection("counter", events={Counted: count}, initial=initial)
    with journal.init(tmp_path / "run", projection=old) as j:
        j.append(OldCounted(step=2))
    with journal.open(tmp_path / "run", projection=new) as j:
        assert j.state == {"n": 0}
        report = j.verify()
        assert report.ok
        assert report.unknown == {"counted_v0": 1}
        assert [event.type for event in j.events(after=1)] == ["counted_v0"]
        j.append(Counted(by=1))
        j.snapshot()
    for read_only in (True, False):
        with journal.open(tmp_path / "run", projection=new, read_only=read_only) as j:
            assert j.status().unknown == {"counted_v0": 1}
            assert any("counted_v0 (1)" in message for message in j.messages)
    (tmp_path / "run" / "state.json").unlink()
    (tmp_path / "run" / "witness.json").unlink()
    with journal.open(tmp_path / "run", projection=new) as j:
        assert j.status().unknown == {"counted_v0": 1}


def test_a_state_that_json_cannot_hold_is_the_projection_s_fault(tmp_path: Path) -> None:
    @dataclasses.dataclass
    class Thing:
        x: int

    def spoil(state: dict[str, object], event: object) -> dict[str, object]:
        state["thing"] = Thing(1)
        return state

    bad = Projection("bad", events={Counted: spoil}, initial=initial, revision="r")
    with journal.init(tmp_path / "run", projection=bad) as j:
        with pytest.raises(journal.ProjectionError, match="Thing"):
            j.append(Counted(by=1))
        assert j.state == {"n": 0}
        assert j.seq == 1


def test_a_failing_apply_function_writes_nothing_and_names_the_event(tmp_path: Path) -> None:
    def fail(state: dict[str, object], event: object) -> dict[str, object]:
        state["half"] = True
        raise KeyError("gone")

    bad = Projection("bad", events={Counted: fail}, initial=initial, revision="r")
    with journal.init(tmp_path / "run", projection=bad) as j:
        with pytest.raises(journal.ProjectionError, match="event 2") as caught:
            j.append(Counted(by=1))
        assert caught.value.seq == 2
        assert (j.state, j.seq) == ({"n": 0}, 1)


@pytest.mark.parametrize(
    "file",
    ["log/00000000000000000001.jsonl", "journal.yaml", "snapshots", "witness.json", "./log/x", ""],
)
def test_a_view_over_the_journal_s_own_files_is_refused(tmp_path: Path, file: str) -> None:
    with pytest.raises(journal.UsageError, match="view 'state'"):
        journal.init(tmp_path / "run", view_files={"state": file})
    assert not (tmp_path / "run").exists()
    journal.init(tmp_path / "run").close()
    settings = tmp_path / "run" / "journal.yaml"
    text = settings.read_text().replace("views: {}", f"views: {{files: {{state: '{file}'}}}}")
    assert text != settings.read_text()
    settings.write_text(text)
    with pytest.raises(journal.Corrupt, match=r"views\.files\.state"):
        journal.open(tmp_path / "run")
