"""What the enumeration of crashes and the sweep of damage found, each with its case."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import msgspec
import pytest

import journal
from journal import durable, regular, witness
from journal.engine import repairing
from journal.errors import Corrupt, Drift
from journal.segment import name_of
from projections import view as views
from tests.faults import healthy, lines_projection
from tests.faults.story import fixed_clock
from tests.faults.tree import read_tree


@contextmanager
def another_boot() -> Iterator[None]:
    """Let the machine have been started anew: there may have been a power cut."""
    with mock.patch.object(durable, "boot_id", return_value="another boot"):
        yield


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Path:
    """A journal whose view was replaced once with each of three events."""
    run = tmp_path / "run"
    with journal.init(run, clock=fixed_clock) as j:
        for n in range(3):
            j.append("set", {"path": "/n", "value": n})
    return run


def set_back(run: Path, seq: int) -> None:
    """Put the view back to what it was at `seq`, as a power cut may: nothing syncs it."""
    with journal.open(run, read_only=True) as j:
        state = j.state_at(seq)
    (run / "state.json").write_bytes(msgspec.json.encode(state))


# --- a view older than the witness says ----------------------------------------------------------


def test_view_older_than_both_vouchers_is_ours_after_a_power_cut(run: Path) -> None:
    set_back(run, 2)
    with another_boot(), journal.open(run, clock=fixed_clock) as j:
        assert j.state == {"n": 2}
        assert any("written again" in said for said in j.messages)
    assert msgspec.json.decode((run / "state.json").read_bytes()) == {"n": 2}


def test_view_that_is_set_back_in_the_same_boot_is_drift(run: Path) -> None:
    set_back(run, 2)
    with pytest.raises(Drift):
        journal.open(run, clock=fixed_clock)


def test_foreign_view_is_drift_after_a_power_cut_too(run: Path) -> None:
    (run / "state.json").write_bytes(b'{"n": "of somebody else"}')
    with another_boot(), pytest.raises(Drift):
        journal.open(run, clock=fixed_clock)


# --- a view that has its stat and not its bytes --------------------------------------------------


def test_view_with_the_stat_that_was_vouched_for_and_other_bytes_is_written_again(
    run: Path,
) -> None:
    view = run / "state.json"
    whole, found = view.read_bytes(), view.stat()
    with view.open("r+b") as file:
        file.write(bytes(len(whole)))
    os.utime(view, ns=(found.st_atime_ns, found.st_mtime_ns))
    with another_boot(), journal.open(run, clock=fixed_clock) as j:
        assert any("NUL" in said for said in j.messages)
    assert view.read_bytes() == whole


@pytest.mark.parametrize("data", [b"{" + bytes(99), bytes(100), b"7\0", b"{}" + bytes(50)])
def test_view_with_a_run_of_nul_is_broken_and_not_utf_16(data: bytes) -> None:
    assert views.broken(data)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_view_in_utf_16_is_no_broken_one(encoding: str) -> None:
    assert not views.broken('{"n": 1}'.encode(encoding))


# --- a view ahead of the log ---------------------------------------------------------------------


def test_view_of_a_lost_event_never_passes_for_the_state_of_the_one_that_takes_its_seq(
    tmp_path: Path,
) -> None:
    """The log lost event 3, and its seq is taken; view and witness are as they were before."""
    run = tmp_path / "run"
    with journal.init(run, durability="os", clock=fixed_clock) as j:
        j.append("set", {"path": "/n", "value": 1})
        j.flush()
        log = run / "log" / name_of(1)
        kept = log.stat().st_size
        j.append("set", {"path": "/n", "value": "lost"})
        j.refresh()
        stale = {name: (run / name).read_bytes() for name in ("state.json", witness.FILE_NAME)}
        j._core.close()
    with log.open("r+b") as file:
        file.truncate(kept)
    on_disk = stale[witness.FILE_NAME]
    sync = durable.sync

    def sync_and_look(fd: int) -> None:
        nonlocal on_disk
        sync(fd)
        if os.fstat(fd).st_ino == (run / witness.FILE_NAME).stat().st_ino:
            on_disk = (run / witness.FILE_NAME).read_bytes()

    with another_boot(), mock.patch.object(durable, "sync", sync_and_look):
        j = journal.open(run, clock=fixed_clock)
        assert any("shows event 3" in said and "lost" in said for said in j.messages)
        left = on_disk
        j.append("set", {"path": "/m", "value": 1})
        j.close()
    # The power fails again: of view and witness only what was synced before the append is there.
    (run / "state.json").write_bytes(stale["state.json"])
    (run / witness.FILE_NAME).write_bytes(left)
    with journal.open(run, read_only=True) as j:
        assert j.state == {"n": 1, "m": 1}


# --- views of lines ------------------------------------------------------------------------------


def test_line_that_a_power_cut_left_half_written_is_taken_out(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with journal.init(run, projection=lines_projection.PROJECTION, clock=fixed_clock) as j:
        j.append("set", {"path": "/n", "value": 1})
    lines = run / lines_projection.LINES
    whole = lines.read_bytes()
    lines.write_bytes(whole + b'{"path":"/n","val' + bytes(20))
    with (
        another_boot(),
        journal.open(run, projection=lines_projection.PROJECTION, clock=fixed_clock) as j,
    ):
        assert any("damaged" in said for said in j.messages)
    assert lines.read_bytes() == whole


# --- the log -------------------------------------------------------------------------------------


def test_byte_in_a_time_that_is_no_ascii_is_refused_with_its_line(run: Path) -> None:
    log = run / "log" / name_of(1)
    data = bytearray(log.read_bytes())
    line = data.rindex(b'{"seq":')
    data[line + len(b'{"seq":4,"time":"20')] |= 0x80
    log.write_bytes(data)
    with pytest.raises(Corrupt) as caught:
        journal.open(run, clock=fixed_clock)
    assert (caught.value.path, caught.value.offset) == (str(log), line)
    with journal.open(run, read_only=True) as j, pytest.raises(Corrupt):
        list(j.events())


def test_segment_that_does_not_follow_is_told_to_readers(run: Path) -> None:
    log = run / "log"
    (log / name_of(900)).write_bytes((log / name_of(1)).read_bytes())
    with journal.open(run, read_only=True) as j, pytest.raises(Corrupt) as caught:
        list(j.events())
    end = (log / name_of(1)).stat().st_size
    assert (caught.value.path, caught.value.offset) == (str(log / name_of(1)), end)
    assert "events 5 to 899" in caught.value.why


def test_promised_batch_that_is_cut_at_a_line_is_named_there_and_its_lines_are_read(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    with journal.init(run, clock=fixed_clock) as j:
        j.append_batch([("set", {"path": "/n", "value": n}) for n in range(3)])
    log = run / "log" / name_of(1)
    whole = log.read_bytes()
    cut = whole.rindex(b'{"seq":')
    log.write_bytes(whole[:cut])
    with pytest.raises(Corrupt) as caught:
        journal.open(run, clock=fixed_clock)
    assert (caught.value.offset, caught.value.seq) == (cut, 4)
    seqs: list[int] = []
    with journal.open(run, read_only=True) as j, pytest.raises(Corrupt) as told:
        seqs.extend(event.seq for event in j.events())
    assert seqs == [1, 2, 3]
    assert told.value.offset == cut


def test_closed_segment_that_ends_early_is_named_at_its_end(tmp_path: Path) -> None:
    subject = healthy.make(tmp_path / "j", segment_bytes=900)
    path = subject.segments()[0]
    whole = subject.data(path)
    cut = whole.rindex(b'{"seq":')
    subject.put(path, whole[:cut])
    with pytest.raises(Corrupt) as caught:
        journal.open(subject.folder, clock=fixed_clock)
    assert (caught.value.path, caught.value.offset) == (str(subject.root / path), cut)
    with journal.open(subject.folder, read_only=True) as j, pytest.raises(Corrupt) as told:
        list(j.events())
    assert (told.value.path, told.value.offset) == (str(subject.root / path), cut)


def test_second_opening_changes_no_byte(run: Path) -> None:
    journal.open(run, clock=fixed_clock).close()
    before = read_tree(str(run))
    journal.open(run, clock=fixed_clock).close()
    assert read_tree(str(run)) == before


def test_repaired_journal_is_verified_clean_though_an_append_lost_a_part(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with journal.init(run, clock=fixed_clock) as j:
        j.append_batch([("set", {"path": "/n", "value": n}) for n in range(3)])
        j.snapshot()
    log = run / "log" / name_of(1)
    log.write_bytes(log.read_bytes().replace(b'"value":1}', b'"value":7}'))
    repairing.repair(run)
    with journal.open(run, clock=fixed_clock) as j:
        verified = j.verify()
        assert (verified.ok, verified.problems) == (True, [])
        assert j.state == {"n": 2}


def test_view_is_not_read_at_each_append_where_boots_have_no_names(run: Path) -> None:
    with (
        mock.patch.object(durable, "boot_id", return_value=""),
        journal.open(run, clock=fixed_clock) as j,
        mock.patch.object(regular, "read_file", side_effect=AssertionError("the view is read")),
    ):
        j.append("set", {"path": "/n", "value": 9})
        assert j.messages == []


def test_repair_leaves_no_descriptor_open(run: Path) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = count()
    for _ in range(3):
        repairing.plan(run)
        repairing.repair(run)
    assert count() == before
