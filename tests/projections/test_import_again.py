"""An import that runs again: it goes on where it stopped, also where it was cut off."""

import json
import os
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import journal
from journal.errors import Conflict, UsageError
from projections.document import importing
from projections.document.importing import import_versions
from projections.document.version import Version
from projections.projection import Projection

MISSING: Any = object()


def version(n: int, data: Any = MISSING, /, **changes: Any) -> Version:
    """Version `n` at minute `n`, of JSON data unless it gets a content."""
    given: dict[str, Any] = {} if data is MISSING else {"content": json.dumps(data).encode()}
    when = f"2025-01-31T12:{n:02}:00Z"
    members = {"n": n, "time": when, "author": "ann", "path": "s.json", **given, **changes}
    return Version(**members)


def counted(count: int) -> list[Version]:
    return [version(n, {"n": n, "kept": [n // 2]}) for n in range(1, count + 1)]


def events(path: Path) -> list[journal.Event]:
    with journal.open(path, read_only=True) as engine:
        return [event for event in engine.events() if event.type == "imported"]


def states(path: Path) -> list[Any]:
    with journal.open(path, read_only=True) as engine:
        return [engine.state_at(event.seq) for event in events(path)]


# --- again, and on -------------------------------------------------------------------------------


def test_import_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for count in (1, 4, 4, 9):
        before = len(events(tmp_path / "j")) if (tmp_path / "j").exists() else 0
        report = import_versions(tmp_path / "j", counted(count))
        assert (report.already, report.imported) == (before, count - before)
    assert [state["n"] for state in states(tmp_path / "j")] == list(range(1, 10))
    shorter = import_versions(tmp_path / "j", counted(3))
    assert (shorter.already, shorter.imported, shorter.ok) == (3, 0, True)


def test_import_goes_on_after_changes_by_hand(tmp_path: Path) -> None:
    import_versions(tmp_path / "j", counted(2))
    with journal.open(tmp_path / "j") as engine:
        engine.append("set", {"path": "/by_hand", "value": True})
        report = import_versions(engine, counted(4))
        assert (report.already, report.imported, report.seq) == (2, 2, engine.seq)
    assert states(tmp_path / "j")[2] == {"n": 3, "kept": [1]}


def first_versions() -> list[Version]:
    """A history with a version of each kind."""
    return [
        version(1, {"a": 1}, message="one"),
        version(2, content=b"{", message="two"),
        version(3, content=None),
        version(4, {"a": 4}),
    ]


@pytest.mark.parametrize(
    ("index", "changes", "field"),
    [
        (0, {"message": "other"}, "message is 'one' there and 'other' here"),
        (0, {"author": "bob"}, "author is 'ann' there and 'bob' here"),
        (0, {"path": "t.json"}, "path"),
        (0, {"time": "2025-01-31T12:01:01Z"}, "source_time"),
        (0, {"content": None}, "content differs"),
        (1, {"content": b"[", "message": "two"}, "content differs"),
        (2, {"content": b"{}"}, "content differs"),
        (3, {"content": b'{"a":4.0}'}, "content differs"),
        (3, {"content": b"{"}, "content differs"),
    ],
)
def test_another_source_is_refused_and_nothing_is_imported(
    tmp_path: Path, index: int, changes: dict[str, Any], field: str
) -> None:
    import_versions(tmp_path / "j", first_versions())
    other = first_versions()
    other[index] = version(
        index + 1, **{"content": other[index].content, "message": other[index].message, **changes}
    )
    for source in (other, [*other, version(5, 5)]):
        with pytest.raises(UsageError) as refused:
            import_versions(tmp_path / "j", source)
        assert f"version {index + 1} is not the one that the journal has" in str(refused.value)
        assert field in str(refused.value)
    assert len(events(tmp_path / "j")) == 4


def test_same_values_in_another_format_are_the_same_source(tmp_path: Path) -> None:
    import_versions(tmp_path / "j", first_versions())
    other = [*first_versions()[:3], version(4, content=b'{\n"a": 4}'), version(5, 5)]
    assert import_versions(tmp_path / "j", other).imported == 1


def test_version_that_would_go_into_the_past_is_left_out(tmp_path: Path) -> None:
    versions = counted(5)
    import_versions(tmp_path / "j", [*versions[:2], *versions[3:]])
    report = import_versions(tmp_path / "j", versions)
    assert (report.already, report.imported, report.problem_count) == (4, 0, 1)
    assert "history only grows at its end" in report.problems[0].why


def test_journal_of_another_projection_is_refused(tmp_path: Path) -> None:
    other = Projection("other", events={}, initial=dict, revision="1")
    with (
        journal.init(tmp_path / "j", projection=other) as engine,
        pytest.raises(UsageError, match="projection is 'other'"),
    ):
        import_versions(engine, counted(1))


# --- cut off -------------------------------------------------------------------------------------


def in_child(work: Callable[[], object]) -> int:
    """Run `work` in a process of its own and return how it ended."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("killed_at", [1, 2, 3, 4, 5, 7, 8])
def test_killed_import_leaves_whole_versions_and_the_next_run_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    monkeypatch.setattr(importing, "BATCH_VERSIONS", 3)

    def kill(done: int, total: int | None) -> None:
        if done == killed_at:
            os._exit(9)

    assert in_child(lambda: import_versions(tmp_path / "j", counted(8), progress=kill)) == 9
    if (tmp_path / "j").exists():
        assert len(events(tmp_path / "j")) == (killed_at - 1) // 3 * 3
    import_versions(tmp_path / "j", counted(8))
    assert [state["n"] for state in states(tmp_path / "j")] == list(range(1, 9))
    with journal.open(tmp_path / "j", read_only=True) as engine:
        assert engine.verify().ok


def test_error_in_the_middle_of_the_source_leaves_the_batches_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH_VERSIONS", 2)

    def torn() -> Iterator[Version]:
        yield from counted(5)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        import_versions(tmp_path / "j", torn())
    assert len(events(tmp_path / "j")) == 4


def test_batches_are_bounded_by_bytes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "BATCH_BYTES", 1000)
    source = [version(n, {"text": str(n) * 600}) for n in range(1, 6)]
    import_versions(tmp_path / "j", source)
    assert [event.part for event in events(tmp_path / "j")] == [
        (1, 2),
        (2, 2),
        (1, 2),
        (2, 2),
        (1, 1),
    ]


def test_change_by_somebody_else_meanwhile_is_never_overrun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH_VERSIONS", 2)

    def meddle(done: int, total: int | None) -> None:
        assert total == 6
        if done == 5:
            with journal.open(tmp_path / "j") as other:
                other.append("set", {"path": "/meddled", "value": 1})

    with pytest.raises(Conflict, match="it goes on where it stopped"):
        import_versions(tmp_path / "j", counted(6), progress=meddle)
    assert len(events(tmp_path / "j")) == 4
    assert import_versions(tmp_path / "j", counted(6)).imported == 2
    assert [state["n"] for state in states(tmp_path / "j")] == [1, 2, 3, 4, 5, 6]


# --- memory ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_memory_depends_on_the_batch_and_not_on_the_length_of_the_history(tmp_path: Path) -> None:
    def source(count: int) -> Iterator[Version]:
        for n in range(1, count + 1):
            content = json.dumps([f"{n:06}" * 30_000]).encode()
            yield Version(n=n, time="2025-01-31", path="s.json", content=content)

    peaks: list[int] = []
    for count in (75, 300):
        tracemalloc.start()
        assert import_versions(tmp_path / str(count), source(count)).imported == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    short, long = peaks
    assert long < short * 1.1
