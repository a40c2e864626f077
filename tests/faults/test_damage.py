"""Damage: the kinds themselves, and a few of them on every file of a healthy journal."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import healthy, whole_files
from tests.faults.damage import BYTE_KINDS, LINE_KINDS, common_prefix, damages
from tests.faults.healthy import Healthy
from tests.faults.quick import settings_parsed_once
from tests.faults.row_damage import kind_of, try_file
from tests.faults.row_order import try_orders, workloads
from tests.faults.story import Workload, tell
from tests.faults.tree import memory_folder

KINDS = ["segment", "snapshot", "view", "witness", "keys", "settings"]


@pytest.fixture(name="subject", scope="module")
def _subject() -> Iterator[Healthy]:
    with memory_folder() as folder:
        yield healthy.make(folder / "j", segment_bytes=900)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_of_a_file_is_silently_wrong(subject: Healthy, kind: str) -> None:
    with settings_parsed_once():
        for path in subject.files():
            if kind_of(path) == kind:
                assert try_file(subject, path, limit=40) == 40


@pytest.mark.slow
def test_whole_files_missing_exchanged_or_foreign_are_told_or_harmless(subject: Healthy) -> None:
    with settings_parsed_once():
        assert whole_files.try_all(subject) > 80
        subject.restore()


@pytest.mark.slow
@pytest.mark.parametrize("workload", list(workloads()), ids=lambda workload: workload.name)
def test_unsynced_appends_may_arrive_in_any_order(workload: Workload) -> None:
    with settings_parsed_once(), memory_folder() as folder:
        story = tell(workload, folder / "told")
        assert try_orders(story, folder / "left", pairs=10, sets_of=3)


def test_kinds_of_damage_change_something_at_every_byte_and_line() -> None:
    data = b"one\ntwo\nthree\n"
    found = list(damages(data))
    assert {damaged.kind for damaged in found} == {*BYTE_KINDS, *LINE_KINDS}
    assert {damaged.at for damaged in found} == set(range(len(data)))
    assert all(damaged.data != data for damaged in found)
    assert (len(BYTE_KINDS), len(LINE_KINDS)) == (15, 7)


@pytest.mark.parametrize(
    ("a", "b", "length"), [(b"", b"x", 0), (b"ab", b"ab", 2), (b"abc", b"abd", 2), (b"a", b"ab", 1)]
)
def test_common_prefix_is_as_long_as_the_bytes_are_equal(a: bytes, b: bytes, length: int) -> None:
    assert common_prefix(a, b) == common_prefix(b, a) == length


def test_healthy_journal_is_one(tmp_path: Path) -> None:
    subject = healthy.make(tmp_path / "j", segment_bytes=900)
    assert len(subject.segments()) == 3
    assert sorted(subject.events) == list(range(1, subject.last_seq + 1))
    assert {kind_of(path) for path in subject.files()} == set(KINDS)
