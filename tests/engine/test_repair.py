"""Repair: what is readable is kept, what is lost is written down, and the old file stays."""

from collections.abc import Callable
from pathlib import Path

import pytest

import journal
from journal.engine import repairing
from journal.segment import list_names

Damage = Callable[[bytes], bytes | None]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    journal.init(folder).close()
    settings = folder / "journal.yaml"
    settings.write_text(
        settings.read_text().replace("segment_bytes: 67108864", "segment_bytes: 2000")
    )
    with journal.open(folder) as j:
        for n in range(60):
            j.append("set", {"path": f"/k{n % 7}", "value": n})
    return folder


def flip(at: int) -> Damage:
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


DAMAGES: dict[str, tuple[int, Damage]] = {
    "a flipped bit in the last segment": (-1, flip(400)),
    "a flipped bit in a closed segment": (1, flip(700)),
    "a flipped bit in a stored crc": (1, lambda data: flip(data.find(b'"crc":"') + 9)(data)),
    "the first line of the last segment": (-1, flip(20)),
    "the first line of the first segment": (0, flip(20)),
    "a segment of zeros": (1, lambda data: bytes(len(data))),
    "a segment of noise": (1, lambda data: b"\x80\xff\n" * (len(data) // 3)),
    "a missing segment": (1, lambda data: None),
    "the missing first segment": (0, lambda data: None),
    "a last line cut off": (-1, lambda data: b"".join(lines(data)[:-1])),
    "a last line cut in the middle": (-1, lambda data: data[:-30]),
    "a closed segment cut in the middle": (1, lambda data: data[:-30]),
    "a foreign line": (1, lambda data: lines(data)[0] + b"hello\n" + b"".join(lines(data)[1:])),
    "a doubled line": (1, lambda data: lines(data)[0] * 2 + b"".join(lines(data)[1:])),
    "an empty closed segment": (1, lambda data: b""),
    "an empty last segment": (-1, lambda data: b""),
}


def spoil(run: Path, kind: str) -> None:
    number, damage = DAMAGES[kind]
    path = run / "log" / list_names(run / "log")[number]
    path.chmod(0o600)
    data = damage(path.read_bytes())
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data)


def snapshot_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_plan_changes_nothing(run: Path, kind: str) -> None:
    spoil(run, kind)
    before = snapshot_of(run)
    assert repairing.plan(run).segments
    assert snapshot_of(run) == before


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_repaired_journal_has_every_readable_event_and_todays_state(run: Path, kind: str) -> None:
    with journal.open(run) as j:
        state, seq = j.state, j.seq
        events = {event.seq: event for event in j.events()}
    spoil(run, kind)
    with journal.open(run, read_only=True) as j:
        readable: set[int] = set()
        try:
            for event in j.events():
                readable.add(event.seq)
                assert event == events[event.seq]
        except journal.Corrupt:
            pass
    done = repairing.repair(run)
    assert done.done
    with journal.open(run) as j:
        assert j.state == state
        report = j.verify()
        assert report.problems == []
        kept = {event.seq: event for event in j.events() if event.seq <= seq}
        for number in readable:
            assert (kept[number].type, kept[number].data) == (
                events[number].type,
                events[number].data,
            )
        lost = sorted(set(events) - set(kept)) + [n for n in kept if kept[n].type == "journal.lost"]
        assert len(lost) == done.lost_events
        j.append("set", {"path": "/after", "value": 1})
        assert j.rebuild().written == []
    assert repairing.plan(run).segments == []


def test_the_old_file_stays_whole_in_quarantine(run: Path) -> None:
    spoil(run, "a flipped bit in a closed segment")
    name = list_names(run / "log")[1]
    damaged = (run / "log" / name).read_bytes()
    (repair,) = repairing.repair(run).segments
    assert (run / "quarantine" / repair.quarantine).read_bytes() == damaged


def test_a_state_between_a_hole_and_the_next_carried_state_is_refused(run: Path) -> None:
    spoil(run, "a segment of zeros")
    (repair,) = repairing.repair(run).segments
    ((first, last),) = repair.lost
    with journal.open(run, read_only=True) as j:
        assert j.state_at(first - 1)
        with pytest.raises(journal.Corrupt, match=f"events {first} to {last} are lost"):
            j.state_at(last + 1)


def forget_states(run: Path) -> None:
    (run / "witness.json").unlink()
    for path in (run / "snapshots").glob("*"):
        path.unlink()


def test_without_todays_state_a_repair_wants_one_and_changes_nothing(run: Path) -> None:
    spoil(run, "a segment of zeros")
    forget_states(run)
    before = snapshot_of(run)
    with pytest.raises(journal.UsageError, match="--state FILE"):
        repairing.repair(run)
    assert snapshot_of(run) == before
    repairing.repair(run, state={"given": True})
    with journal.open(run, on_drift="replace") as j:
        assert j.state == {"given": True}


def test_skip_lost_folds_what_is_left(run: Path) -> None:
    spoil(run, "a segment of zeros")
    forget_states(run)
    repairing.repair(run, skip_lost=True)
    with journal.open(run, on_drift="replace") as j:
        assert j.state["k3"] == 59


@pytest.mark.parametrize("step", range(12))
@pytest.mark.parametrize("kind", ["a segment of zeros", "a foreign line"])
def test_a_repair_that_was_cut_off_is_refused_until_it_is_run_again(
    run: Path, kind: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with journal.open(run) as j:
        state = j.state
    spoil(run, kind)

    class Cut(BaseException):
        pass

    from journal import durable

    count = [0]

    def counting(name: str) -> None:
        real = getattr(durable, name)

        def call(*args: object, **kwargs: object) -> object:
            count[0] += 1
            if count[0] == step + 1:
                raise Cut
            return real(*args, **kwargs)

        monkeypatch.setattr(durable, name, call)

    for name in ("write_file", "link_aside", "sync", "write_at", "remove"):
        counting(name)
    try:
        repairing.repair(run)
        cut = False
    except Cut:
        cut = True
    monkeypatch.undo()
    if cut and (run / "quarantine" / "repair.json").exists():
        with pytest.raises(journal.Corrupt, match="cut off"):
            journal.open(run)
    repairing.repair(run)
    with journal.open(run) as j:
        assert j.state == state
        assert j.verify().problems == []
