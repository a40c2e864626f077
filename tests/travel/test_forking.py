"""Forks: the same history up to a seq, what might have been, a source that is as it was."""

import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import journal
from journal.engine.travel.changing import Change, Drop, Edit, Insert, read_edit
from journal.errors import Conflict, Corrupt, UsageError
from journal.event import Draft
from projections import patch
from projections.projection import Projection
from tests.travel import made

SOME = [[("set", {"path": f"/n{number}", "value": number})] for number in range(12)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A journal of several segments."""
    path = tmp_path / "source"
    made.make(path, SOME, segment_bytes=600)
    assert len(list((path / "log").glob("*.jsonl"))) > 2
    return path


def fork(
    source: Path, target: Path, at: int | None = None, changes: list[Change] | None = None
) -> Any:
    with journal.open(source, read_only=True) as engine:
        return engine.fork(target, at=at, changes=changes or [])


def drafted(event: made.Event) -> Draft:
    return Draft(type=event[0], data=event[1])


# --- what might have been ------------------------------------------------------------------------


@st.composite
def changes_of(draw: st.DrawFn, seqs: list[int]) -> list[Change]:
    found: list[Change] = []
    for seq in draw(st.lists(st.sampled_from(seqs), max_size=4, unique=True)):
        if draw(st.booleans()):
            found.append(Drop(seq))
        else:
            found.append(Edit(seq, drafted(draw(made.EVENTS))))
    for seq in draw(st.lists(st.sampled_from([0, 1, *seqs]), max_size=3)):
        found.append(Insert(seq, drafted(draw(made.EVENTS))))
    return found


def edited(events: list[journal.Event], changes: list[Change]) -> list[made.Event]:
    """The list as changed, in memory."""
    dropped = {change.seq for change in changes if isinstance(change, Drop)}
    edits = {change.seq: change.draft for change in changes if isinstance(change, Edit)}
    found: list[made.Event] = []
    for seq in range(len(events) + 1):
        if seq and seq not in dropped:
            event = edits.get(seq, events[seq - 1])
            if not event.type.startswith("journal."):
                found.append((event.type, event.data))
        found += [
            (change.draft.type, change.draft.data)
            for change in changes
            if isinstance(change, Insert) and change.seq == seq
        ]
    return found


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(appends=made.APPENDS, data=st.data())
def test_a_what_if_has_the_state_of_the_edited_list_folded_in_memory(
    tmp_path: Path, appends: list[list[made.Event]], data: st.DataObject
) -> None:
    path, target = made.fresh(tmp_path), made.fresh(tmp_path)
    made.make(path, appends)
    with journal.open(path, read_only=True) as engine:
        events = list(engine.events())
        at = data.draw(st.integers(1, len(events)))
        own = [e.seq for e in events[:at] if not e.type.startswith("journal.")]
        changes = data.draw(changes_of(own)) if own else []
        before = made.contents(path)
        wanted = edited(events[:at], changes)
        try:
            expected = made.fold(wanted)
        except UsageError:
            with pytest.raises(UsageError, match="changed history cannot be"):
                engine.fork(target, at=at, changes=changes)
            assert not target.exists()
            assert list(tmp_path.glob(".*")) == []
            return
        report = engine.fork(target, at=at, changes=changes)
    assert made.contents(path) == before
    with journal.open(target) as forked:
        assert patch.equal(forked.state, expected)
        assert forked.verify().ok
        assert (forked.id, forked.seq) == (report.id, report.shared + report.own)
        found = [(e.type, e.data) for e in forked.events() if not e.type.startswith("journal.")]
        assert found == wanted
        if changes:
            first = min(change.seq + isinstance(change, Insert) for change in changes)
            assert report.shared < max(first, 2)
    made.remove(path)
    made.remove(target)


def test_what_is_kept_keeps_its_time_actor_id_and_append(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    days = iter(range(100))
    with journal.init(source, clock=lambda: next(days) * 86_400_000) as engine:
        engine.append("set", {"path": "/a", "value": 1}, actor="ann")
        engine.append_batch(
            [
                Draft(type="set", data={"path": f"/{k}", "value": 1}, id=k, actor="bob")
                for k in "bcd"
            ]
        )
        cause = engine.seq
        engine.append("set", {"path": "/e", "value": 1}, cause=cause)
        kept = list(engine.events())[2:]
    fork(source, target, changes=[Drop(2), Insert(5, drafted(("set", {"path": "/f", "value": 0})))])
    with journal.open(target) as engine:
        found = [event for event in engine.events() if event.type == "set"]
        assert [(e.time, e.actor, e.id, e.part) for e in found if e.data["path"] != "/f"] == [
            (e.time, e.actor, e.id, (e.part[0], 4) if e.part[1] > 1 else e.part) for e in kept
        ]
        last = found[-1]
        assert next(e for e in found if e.seq == last.cause).data["path"] == "/d"
        with pytest.raises(Conflict):
            engine.append("set", {"path": "/b", "value": 2}, id="b")


def test_an_edit_keeps_what_it_does_not_give(tmp_path: Path, source: Path) -> None:
    with journal.open(source, read_only=True) as engine:
        edited_one = next(event for event in engine.events() if event.type == "set")
    new = read_edit(
        f'{edited_one.seq}={{"type": "set", "data": {{"path": "/n0", "value": "new"}}}}'
    )
    fork(source, tmp_path / "target", changes=[new])
    with journal.open(tmp_path / "target", read_only=True) as engine:
        first = next(event for event in engine.events() if event.type == "set")
        assert (first.time, first.actor) == (edited_one.time, edited_one.actor)
        assert engine.state["n0"] == "new"
        changes = engine.diff(first.seq, "head")
        assert "/n0" not in {change["path"] for change in changes}


def test_events_that_carry_state_are_taken_over_with_what_they_carry(
    tmp_path: Path, source: Path
) -> None:
    with journal.open(source) as engine:
        restored = engine.restore(4)
        assert restored is not None
        engine.append("set", {"path": "/late", "value": 1})
        events = [e for e in engine.events() if e.type in ("set", "journal.restored")]
    report = fork(source, tmp_path / "target", changes=[Drop(3)])
    kept = [event for event in events if event.seq != 3]
    with journal.open(tmp_path / "target", read_only=True) as engine:
        found = [e for e in engine.events() if e.type in ("set", "journal.restored")]
        assert [(e.type, e.data, e.time) for e in found] == [(e.type, e.data, e.time) for e in kept]
        as_patches = [
            ("patch", {"patch": e.data["patch"]}) if e.seq == restored.seq else (e.type, e.data)
            for e in kept
        ]
        assert engine.state == made.fold(as_patches)
    assert report.left_out == 0


class Old(msgspec.Struct):
    event_type = "counted"
    n: int

    def upcast(self) -> "New":
        return New(by=self.n)


class New(msgspec.Struct):
    event_type = "added"
    by: int


class Gone(msgspec.Struct):
    text: str


def add(state: Any, event: Any) -> Any:
    return state + event.data.by


def old_add(state: Any, event: Any) -> Any:
    return state + event.data.n


def test_old_types_are_appended_as_what_they_became_and_unknown_ones_left_out(
    tmp_path: Path,
) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    before = Projection(
        "sums",
        events={Old: old_add, Gone: lambda state, event: state},
        initial=int,
        revision="1",
    )
    after = Projection("sums", events={New: add}, upcasts=[Old], initial=int, revision="2")
    with journal.init(source, projection=before) as engine:
        for n in range(1, 5):
            engine.append("counted", {"n": n})
            engine.append("gone", {"text": "x"})
    with journal.open(source, read_only=True, projection=after) as engine:
        report = engine.fork(target, changes=[Drop(4)])
        assert engine.state == 10
    assert report.left_out == 3
    with journal.open(target, projection=after) as engine:
        assert engine.state == 8
        assert [e.type for e in engine.events() if e.type in ("added", "counted")] == [
            "counted",
            "added",
            "added",
        ]


def test_a_what_if_up_to_the_middle_of_an_append_has_its_first_events(tmp_path: Path) -> None:
    path = tmp_path / "source"
    counts = [("set", {"path": "/n", "value": n}) for n in range(5)]
    made.make(path, [[("set", {"path": "", "value": {}})], counts])
    for at in range(3, 8):
        for dropped in range(2, at + 1):
            target = tmp_path / f"{at} {dropped}"
            if dropped == 2:  # What the others stand in.
                fork(path, target, at, [Edit(2, drafted(("set", {"path": "", "value": {"n": 0}})))])
            else:
                fork(path, target, at, [Drop(dropped)])
            with journal.open(target, read_only=True) as forked:
                own = [e.data["value"] for e in forked.events(types=["set"])][1:]
                assert own == [n for n in range(at - 2) if n + 3 != dropped]
                assert forked.verify().ok


# --- what is shared ------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_event_can_be_forked_at(tmp_path: Path) -> None:
    path = tmp_path / "source"
    states = made.make(path, [*SOME[:5], SOME[5] + SOME[6], *SOME[7:]], segment_bytes=600)
    before = made.contents(path)
    with journal.open(path, read_only=True) as engine:
        events = list(engine.events())
        heads = [engine.head(seq) for seq in range(1, engine.seq + 1)]
        for event in events:
            target = tmp_path / f"at{event.seq}"
            engine.fork(target, at=event.seq)
            inside = event.part[0] % event.part[1]
            with journal.open(target) as forked:
                assert patch.equal(forked.state, states[event.seq])
                shared = list(forked.events(upto=event.seq))
                whole = event.seq - inside
                assert shared[:whole] == events[:whole]
                for there, here in zip(shared[whole:], events[whole:], strict=False):
                    assert there.part == (here.part[0], inside)
                    assert msgspec.structs.replace(there, part=here.part, crc=here.crc) == here
                # The anchors of the source are true of the fork, up to an append that is cut.
                anchors = [(head.seq, head.sha256) for head in heads[:whole]]
                assert forked.verify(anchors).ok
                source = forked.events(after=event.seq)
                named = next(e for e in source if e.type == "journal.forked").data["source"]
                head = heads[event.seq - 1]
                assert (named["seq"], named["sha256"]) == (head.seq, head.sha256)
                assert named["id"] == engine.id != forked.id
    assert made.contents(path) == before


@pytest.mark.slow
def test_closed_segments_are_linked_and_written_by_neither(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "target"
    report = fork(source, target)
    assert report.linked
    closed = {name: (source / "log" / name).read_bytes() for name in report.linked}
    for name in closed:
        ours, theirs = os.stat(source / "log" / name), os.stat(target / "log" / name)
        assert (ours.st_ino, ours.st_nlink) == (theirs.st_ino, 2)
        assert not ours.st_mode & 0o222
    for number in range(12):
        for path in (source, target):
            with journal.open(path) as engine:
                engine.append("set", {"path": f"/{path.name}{number}", "value": number})
    for path in (source, target):
        with journal.open(path) as engine:
            assert engine.verify().ok
            assert f"{path.name}11" in engine.state
            engine.rebuild()
        for name, data in closed.items():
            assert (path / "log" / name).read_bytes() == data
    assert stat.S_IMODE(target.stat().st_mode) == 0o700


def test_where_links_cannot_be_made_it_is_copied(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    report = fork(source, tmp_path / "target")
    assert report.linked == []
    with journal.open(tmp_path / "target") as engine:
        assert engine.verify().ok


def test_a_fork_can_be_forked(tmp_path: Path, source: Path) -> None:
    fork(source, tmp_path / "one", at=9)
    fork(tmp_path / "one", tmp_path / "two", changes=[Drop(8)])
    with journal.open(tmp_path / "two") as engine:
        engine.append("set", {"path": "/two", "value": 1})
        assert engine.verify().ok
    ids = {journal.open(tmp_path / name, read_only=True).id for name in ("source", "one", "two")}
    assert len(ids) == 3


def test_the_ids_of_shared_segments_are_known_to_the_fork(tmp_path: Path) -> None:
    path = tmp_path / "source"
    made.make(path, [], segment_bytes=600)
    with journal.open(path) as engine:
        first = engine.append("set", {"path": "/a", "value": 1}, id="k-1")
        for number in range(12):
            engine.append("set", {"path": f"/n{number}", "value": number})
    fork(path, tmp_path / "target")
    with journal.open(tmp_path / "target") as engine:
        assert engine.append("set", {"path": "/a", "value": 1}, id="k-1") == first


def test_damage_in_a_shared_segment_is_named_in_the_source(tmp_path: Path) -> None:
    path = tmp_path / "source"
    made.make(
        path, [[("set", {"path": f"/n{n}", "value": n})] for n in range(20)], segment_bytes=900
    )
    damaged = sorted((path / "log").glob("*.jsonl"))[1]
    data = damaged.read_bytes()
    damaged.chmod(0o600)
    damaged.write_bytes(data.replace(b'"set"', b'"sat"', 1))
    damaged.chmod(0o444)
    with pytest.raises(Corrupt) as caught:
        fork(path, tmp_path / "target")
    assert caught.value.path == str(damaged)
    assert sorted(tmp_path.iterdir()) == [path]


# --- what is refused -----------------------------------------------------------------------------

TWICE: list[Change] = [Drop(4), Edit(4, Draft(type="set", data={"path": "/a", "value": 1}))]
REFUSED: list[tuple[list[Change], str]] = [
    ([Drop(1)], "event 1 is the journal's own"),
    ([Drop(99)], "not among the events"),
    ([Drop(0)], "not among the events"),
    (TWICE, "changed twice"),
    ([Insert(3, Draft(type="journal.created", data={}))], "engine's own"),
    ([Insert(3, Draft(type="journal.restored", data={"x": 3}))], "without the state"),
    ([Edit(3, Draft(type="journal.adopted", data=[]))], "without the state"),
    ([Insert(3, Draft(type="never", data={}))], "an inserted event"),
    ([Insert(3, Draft(type="set", data={"path": "/no/where", "value": 1}))], "an inserted event"),
    ([Insert(3, Draft(type="set", data={"path": "/a", "value": 1}, id="k-1"))], "id 'k-1' of"),
]


@pytest.mark.parametrize(("changes", "why"), REFUSED)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    tmp_path: Path, source: Path, changes: list[Change], why: str
) -> None:
    with journal.open(source) as engine:
        engine.append("set", {"path": "/k", "value": 1}, id="k-1")
    before = made.contents(tmp_path)
    with pytest.raises(UsageError, match=why):
        fork(source, tmp_path / "target", changes=changes)
    after = made.contents(tmp_path)
    assert {name: seen[::2] for name, seen in after.items()} == {
        name: seen[::2] for name, seen in before.items()
    }


def test_a_dropped_event_on_which_another_stands_names_that_one(tmp_path: Path) -> None:
    source = tmp_path / "source"
    made.make(
        source, [[("set", {"path": "/a", "value": {}})], [("set", {"path": "/a/b", "value": 1})]]
    )
    with pytest.raises(UsageError, match=r"event 3 \(set\)"):
        fork(source, tmp_path / "target", changes=[Drop(2)])


@pytest.mark.parametrize("place", ["taken", "file", "source/inside", "source"])
def test_a_place_that_is_taken_or_lies_in_the_source_is_refused(
    tmp_path: Path, source: Path, place: str
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "a").touch()
    (tmp_path / "file").touch()
    before = made.contents(source)
    with pytest.raises(UsageError):
        fork(source, tmp_path / place)
    assert made.contents(source) == before


def test_an_empty_folder_and_a_deep_place_will_do(tmp_path: Path, source: Path) -> None:
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "empty", tmp_path / "a" / "b"):
        fork(source, place)
        with journal.open(place) as engine:
            assert engine.verify().ok


def test_a_damaged_part_is_not_copied(tmp_path: Path, source: Path) -> None:
    last = max((source / "log").glob("*.jsonl"))
    data = bytearray(last.read_bytes())
    data[-60] ^= 1
    last.write_bytes(data)
    with pytest.raises(journal.Corrupt):
        fork(source, tmp_path / "target", at=int(last.name[:20]) - 1 + data.count(b"\n"))
    assert not (tmp_path / "target").exists()
