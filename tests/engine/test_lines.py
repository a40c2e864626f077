"""A view of lines: appended in place, foreign lines adopted once, damage taken out and kept."""

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import journal
from journal import durable
from journal.errors import JournalError
from journal.event import Event
from projections.projection import Projection
from projections.view_kinds import DocumentView, LinesView, render_json


class Noted(msgspec.Struct, forbid_unknown_fields=True):
    text: str


class Silent(msgspec.Struct, forbid_unknown_fields=True):
    pass


class LineTaken(msgspec.Struct, forbid_unknown_fields=True):
    line: str


class Mended(msgspec.Struct, forbid_unknown_fields=True):
    why: str


def count(state: Any, event: Any) -> Any:
    state["events"] = state.get("events", 0) + 1
    return state


def line(state: Any, event: Event) -> bytes | None:
    match event.type:
        case "noted":
            found = {"n": event.seq, "text": event.data["text"]}
            return json.dumps(found).encode() + b"\n"
        case "line_taken":
            return str(event.data["line"]).encode() + b"\n"
        case "mended":
            return json.dumps({"n": event.seq, "mended": event.data["why"]}).encode() + b"\n"
        case _:
            return None


def adopt(found: bytes) -> tuple[str, Any] | None:
    try:
        value = json.loads(found)
        text = found.decode()
    except ValueError:
        return None
    if not isinstance(value, dict) or "n" in value:
        return None
    return "line_taken", {"line": text.removesuffix("\n")}


def make(
    revision: str = "1", *, beside: bool = True, adopt: Callable[[bytes], Any] = adopt
) -> Projection:
    return Projection(
        "lines",
        events={Noted: count, Silent: count, LineTaken: count, Mended: count},
        initial=dict,
        adopts=True,
        revision=revision,
        views=(
            DocumentView(render=render_json),
            LinesView(
                name="log",
                file="log.txt",
                line=line,
                adopt=adopt,
                note_repair=lambda why: ("mended", {"why": why}),
                corrupt_beside=beside,
            ),
        ),
    )


PROJECTION = make()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with journal.init(tmp_path / "run", projection=PROJECTION) as j:
        for text in ("one", "two", "three"):
            j.append(Noted(text))
    return tmp_path / "run"


def opened(run: Path, **options: Any) -> journal.Engine:
    return journal.open(run, projection=PROJECTION, **options)


def texts(run: Path) -> list[Any]:
    """What stands in the file, by line: the text of ours, the whole of others'."""
    lines = (run / "log.txt").read_bytes().split(b"\n")[:-1]
    return [json.loads(part).get("text") or json.loads(part) for part in lines]


def types(run: Path) -> list[str]:
    with opened(run, read_only=True) as j:
        return [event.type for event in j.events() if not event.type.startswith("journal.")]


def add(run: Path, data: bytes) -> None:
    with (run / "log.txt").open("ab") as file:
        file.write(data)


def quarantined(run: Path) -> list[bytes]:
    folder = run / "quarantine"
    return [path.read_bytes() for path in sorted(folder.iterdir())] if folder.is_dir() else []


FOREIGN = b'{"by":  "somebody"}\n'


def test_each_event_appends_its_line_in_place(run: Path) -> None:
    inode = (run / "log.txt").stat().st_ino
    with opened(run) as j:
        j.append(Noted("four"))
        j.append(Silent())
        j.append_batch([Noted("five"), Noted("six")])
    assert texts(run) == ["one", "two", "three", "four", "five", "six"]
    assert (run / "log.txt").stat().st_ino == inode


@pytest.mark.parametrize("while_open", [False, True])
def test_a_foreign_line_is_adopted_once_and_keeps_its_bytes(run: Path, while_open: bool) -> None:
    with opened(run) as j:
        if while_open:
            add(run, FOREIGN)
            j.append(Noted("four"))
    if not while_open:
        add(run, FOREIGN)
        with opened(run) as j:
            j.append(Noted("four"))
    whole = (run / "log.txt").read_bytes()
    assert whole.count(FOREIGN) == 1
    for _ in range(3):
        with opened(run) as j:
            j.append(Silent())
    assert types(run).count("line_taken") == 1
    assert (run / "log.txt").read_bytes() == whole
    with opened(run) as j:
        assert "log.txt" in j.rebuild().equal


def test_the_same_foreign_line_twice_is_two_events(run: Path) -> None:
    add(run, FOREIGN + FOREIGN)
    with opened(run):
        pass
    assert types(run).count("line_taken") == 2
    assert (run / "log.txt").read_bytes().count(FOREIGN) == 2


def test_a_foreign_line_without_its_lf_waits_and_is_ended_by_the_next_of_ours(run: Path) -> None:
    add(run, FOREIGN[:-1])
    with opened(run) as j:
        assert "line_taken" not in [event.type for event in j.events()]
        j.append(Noted("four"))
        j.append(Noted("five"))
    assert types(run).count("line_taken") == 1
    assert texts(run) == ["one", "two", "three", {"by": "somebody"}, "four", "five"]


def test_a_foreign_line_that_comes_between_look_and_append_is_not_lost(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_to = durable.append_to

    def late(path: Path, data: bytes, *, line_end: bool) -> os.stat_result:
        monkeypatch.setattr(durable, "append_to", append_to)
        add(run, FOREIGN)
        return append_to(path, data, line_end=line_end)

    with opened(run) as j:
        monkeypatch.setattr(durable, "append_to", late)
        j.append(Noted("four"))
        j.append(Noted("five"))
    assert types(run).count("line_taken") == 1
    assert texts(run) == ["one", "two", "three", {"by": "somebody"}, "four", "five"]


def test_a_kill_between_the_append_of_lines_and_the_witness_writes_no_line_twice(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    witness = (run / "witness.json").read_bytes()
    with opened(run) as j:
        j.append_batch([Noted("four"), Noted("five")])
    whole = (run / "log.txt").read_bytes()
    (run / "witness.json").write_bytes(witness)
    with opened(run) as j:
        j.append(Silent())
    assert (run / "log.txt").read_bytes() == whole
    assert types(run).count("line_taken") == 0


def test_without_a_witness_a_healthy_file_is_kept_as_it_is(run: Path) -> None:
    add(run, FOREIGN)
    with opened(run):
        pass
    whole = (run / "log.txt").read_bytes()
    inode = (run / "log.txt").stat().st_ino
    (run / "witness.json").unlink()
    with opened(run):
        pass
    assert (run / "log.txt").read_bytes() == whole
    assert (run / "log.txt").stat().st_ino == inode
    assert types(run) == ["noted", "noted", "noted", "line_taken"]


def test_a_file_that_stood_there_before_the_journal_is_taken_in_line_by_line(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    before = b'{"a": 1}\n\n{"b":2}\n{"a": 1}\n'
    (run / "log.txt").write_bytes(before)
    with journal.init(run, projection=PROJECTION) as j:
        j.append(Noted("ours"))
    assert types(run) == ["line_taken"] * 3 + ["noted"]
    assert (run / "log.txt").read_bytes().startswith(before)
    assert not quarantined(run)


def damages(whole: bytes) -> Iterator[tuple[str, bytes]]:
    lines = whole.splitlines(keepends=True)
    yield "missing line", b"".join([lines[0], lines[2]])
    yield "cut in a line", whole[:-5]
    yield "last LF gone", whole[:-1]
    yield "changed byte", whole.replace(b"two", b"tw\0")
    yield "line cut short", whole.replace(lines[1], lines[1][:9] + b"\n")
    yield "garbage", b"\xff\xfe garbage\nmore\n"
    yield "nul", b"\0" * 64
    yield "empty", b""
    yield "bad line behind", whole + b"not json\n"
    yield "bad and good behind", whole + b"not json\n" + FOREIGN
    yield "conflict markers", b"<<<<<<< a\n" + whole + b"=======\n>>>>>>> b\n"


@pytest.mark.parametrize("while_open", [False, True])
@pytest.mark.parametrize("kind", [name for name, _ in damages(b"1\n2\n3\n")])
def test_a_damaged_file_is_whole_again_good_lines_stay_bad_ones_are_kept(
    run: Path, kind: str, while_open: bool
) -> None:
    whole = (run / "log.txt").read_bytes()
    damaged = dict(damages(whole))[kind]
    if while_open:
        with opened(run) as j:
            (run / "log.txt").write_bytes(damaged)
            j.append(Silent())
    else:
        (run / "log.txt").write_bytes(damaged)
        with opened(run):
            pass
    # An LF that is gone comes back with the next line.
    found = [part + b"\n" for part in (run / "log.txt").read_bytes().splitlines()]
    for good in whole.splitlines(keepends=True):
        assert found.count(good) == 1
    kept = b"".join(quarantined(run)) + b"".join(
        path.read_bytes() for path in run.glob("log.txt.corrupt.*")
    )
    for bad in damaged.splitlines(keepends=True):
        assert bad.rstrip(b"\n") + b"\n" in found or bad.rstrip(b"\n") in kept
    assert (FOREIGN in damaged) == ("line_taken" in types(run))
    assert ("mended" in types(run)) == (kind != "last LF gone")
    with opened(run) as j:
        assert j.verify().ok
        assert types(run).count("mended") <= 1
        assert "log.txt" in j.rebuild().equal


def test_a_file_without_one_good_line_is_kept_beside_it(run: Path) -> None:
    (run / "log.txt").write_bytes(b"garbage\nmore")
    with opened(run):
        pass
    (kept,) = run.glob("log.txt.corrupt.*")
    assert kept.read_bytes() == b"garbage\nmore"
    assert not quarantined(run)


def test_without_that_wish_it_goes_to_quarantine(run: Path) -> None:
    (run / "log.txt").write_bytes(b"garbage\nmore\n")
    with journal.open(run, projection=make(beside=False)):
        pass
    assert not list(run.glob("log.txt.corrupt.*"))
    assert quarantined(run) == [b"garbage\nmore\n"]


def test_a_deleted_file_is_written_again_and_noted(run: Path) -> None:
    whole = (run / "log.txt").read_bytes()
    (run / "log.txt").unlink()
    with opened(run) as j:
        assert any("missing" in message for message in j.messages)
    assert (run / "log.txt").read_bytes().startswith(whole)
    assert types(run)[-1] == "mended"


@pytest.mark.parametrize("kind", ["folder", "symlink"])
def test_a_file_that_cannot_be_written_stops_nothing_and_is_healed_later(
    run: Path, kind: str
) -> None:
    whole = (run / "log.txt").read_bytes()
    (run / "log.txt").rename(run / "elsewhere")
    if kind == "folder":
        (run / "log.txt").mkdir()
    else:
        (run / "log.txt").symlink_to("elsewhere")
    with opened(run) as j:
        j.append(Noted("four"))
        assert any("log.txt" in message for message in j.messages)
    if kind == "folder":
        (run / "log.txt").rmdir()
    else:
        (run / "log.txt").unlink()
    (run / "elsewhere").rename(run / "log.txt")
    with opened(run):
        pass
    assert (run / "log.txt").read_bytes().startswith(whole)
    assert texts(run) == ["one", "two", "three", "four"]


def test_lines_of_other_code_stay_as_they_were_written(run: Path) -> None:
    whole = (run / "log.txt").read_bytes()
    inode = (run / "log.txt").stat().st_ino
    with journal.open(run, projection=make("2")) as j:
        j.append(Noted("four"))
    assert (run / "log.txt").read_bytes().startswith(whole)
    assert texts(run) == ["one", "two", "three", "four"]
    assert (run / "log.txt").stat().st_ino == inode


def test_a_line_that_cannot_become_an_event_stops_nothing(run: Path) -> None:
    add(run, FOREIGN)
    with journal.open(run, projection=make(adopt=lambda _: ("no_such", {}))) as j:
        j.append(Noted("four"))
        assert any("not adopted" in message for message in j.messages)
    assert types(run)[-1] == "noted"


def test_verify_tells_missing_and_damaged_lines(run: Path) -> None:
    whole = (run / "log.txt").read_bytes()
    lines = whole.splitlines(keepends=True)
    for data, word in ((lines[0] + lines[2], "lacks 1"), (whole + b"junk\n", "damaged")):
        (run / "log.txt").write_bytes(data)
        with opened(run, read_only=True) as j:
            found = j.verify()
        assert not found.ok
        assert word in found.problems[0].message
    (run / "log.txt").write_bytes(whole + FOREIGN)
    with opened(run, read_only=True) as j:
        found = j.verify()
    assert found.ok
    assert "somebody else" in found.notes[0]


def test_events_of_some_types_are_found_without_the_others(run: Path) -> None:
    add(run, FOREIGN)
    with opened(run) as j:
        assert [e.type for e in j.events(types=["line_taken"])] == ["line_taken"]
        assert [e.seq for e in j.events(types=["noted", "silent"])] == [2, 3, 4]
        assert not list(j.events(types=["not"]))


def write_some(run: Path, name: str, number: int, *, foreign: bool) -> None:
    for n in range(number):
        if foreign:
            add(run, json.dumps({"by": name, "i": n}).encode() + b"\n")
        else:
            try:
                with opened(run) as j:
                    j.append(Noted(f"{name}-{n}"))
            except JournalError:
                os._exit(3)


@pytest.mark.slow
def test_writers_and_a_foreign_appender_at_once_lose_and_double_nothing(run: Path) -> None:
    context = multiprocessing.get_context("fork")
    jobs = [
        context.Process(target=write_some, args=(run, name, 15), kwargs={"foreign": name == "f"})
        for name in ("a", "b", "f")
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(60)
        assert job.exitcode == 0
    with opened(run) as j:
        j.append(Silent())
        assert j.verify().ok
    found = texts(run)
    assert sorted(t for t in found if isinstance(t, str) and "-" in t) == sorted(
        f"{name}-{n}" for name in "ab" for n in range(15)
    )
    assert [t["i"] for t in found if isinstance(t, dict)] == list(range(15))
    assert types(run).count("line_taken") == 15
    assert "mended" not in types(run)
