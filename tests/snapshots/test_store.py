"""The folder of snapshots: the newest usable one is found, the others are passed over and said."""

import os
import stat
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journal import durable
from journal.errors import Corrupt, UsageError
from snapshots import snapshot
from snapshots.store import Entry, Store

TIME = "2026-03-01T14:45:00.000Z"


def made(seq: int, *, type: str = "auto", projection: str = "p", revision: str = "r") -> bytes:
    return snapshot.encode(
        type=type,
        timestamp=TIME,
        trigger="",
        seq=seq,
        projection=projection,
        revision=revision,
        state_bytes=orjson.dumps({"k": seq}),
    )


def name(seq: int, type: str = "auto") -> str:
    return snapshot.name_of(seq, type)


class Folder:
    """A store with what it said."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.said: list[str] = []
        self.store = Store(path, self.said.append)

    def put(self, seq: int, data: bytes | None = None, **changes: Any) -> Path:
        """Write a file as it is, without waiting for the disk."""
        path = self.path / name(seq, changes.get("type", "auto"))
        path.write_bytes(made(seq, **changes) if data is None else data)
        return path

    def newest_seq(self, upto: int) -> int | None:
        found = self.store.newest(upto, projection="p", revision="r")
        if found is None:
            return None
        assert found.state() == {"k": found.seq}
        return found.seq


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    path = tmp_path / "snapshots"
    path.mkdir()
    return Folder(path)


# --- the newest usable one -----------------------------------------------------------------------


class Kept(NamedTuple):
    type: str
    projection: str
    revision: str
    damage: str


KEPT = st.builds(
    Kept,
    st.sampled_from(["auto", "manual"]),
    st.sampled_from("ppq"),
    st.sampled_from("rrs"),
    st.sampled_from(["", "", "", "cut", "flipped", "NUL", "empty"]),
)


def damaged(data: bytes, damage: str) -> bytes:
    match damage:
        case "cut":
            return data[: len(data) // 2]
        case "flipped":
            return data[:-4] + bytes([data[-4] ^ 1]) + data[-3:]
        case "NUL":
            return b"\0" * len(data)
        case "empty":
            return b""
        case _:
            return data


@settings(max_examples=40)
@given(
    st.dictionaries(st.integers(1, 30), KEPT, max_size=8), st.lists(st.integers(0, 31), min_size=1)
)
def test_the_newest_whole_one_of_the_same_projection_and_revision_is_used(
    kept: dict[int, Kept], asked: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(Path(path))
        for seq, (type, projection, revision, damage) in kept.items():
            data = made(seq, type=type, projection=projection, revision=revision)
            folder.put(seq, damaged(data, damage), type=type)
        usable = [seq for seq, each in kept.items() if each[1:] == ("p", "r", "")]
        for upto in asked:
            wanted = max((seq for seq in usable if seq <= upto), default=None)
            assert folder.newest_seq(upto) == wanted
        assert (
            len(folder.said) == len(set(folder.said)) <= sum(bool(k.damage) for k in kept.values())
        )


def test_a_damaged_newest_one_is_passed_over_with_one_message_and_the_older_used(
    folder: Folder,
) -> None:
    folder.put(2)
    damaged_path = folder.put(4, made(4)[:100])
    assert [folder.newest_seq(5) for _ in range(3)] == [2, 2, 2]
    assert folder.said == [
        f"{damaged_path}: this snapshot is passed over (the file is cut off); "
        "an older one is used, or the log alone"
    ]


def test_where_all_are_damaged_there_is_none_and_each_is_named(folder: Folder) -> None:
    paths = [folder.put(seq, b"\0" * 100) for seq in (2, 4)]
    assert folder.newest_seq(5) is None
    assert [text.split(": ")[0] for text in folder.said] == [str(paths[1]), str(paths[0])]


def test_a_state_that_is_not_the_one_of_the_header_is_passed_over(folder: Folder) -> None:
    folder.put(2)
    folder.put(4, made(4).replace(b'"state":{"k":4}', b'"state":{}'))
    assert folder.newest_seq(5) == 2
    assert "sha256" in folder.said[0]


def test_others_are_passed_over_in_silence_and_an_empty_revision_matches_nothing(
    folder: Folder,
) -> None:
    folder.put(2)
    folder.put(3, projection="other")
    folder.put(4, revision="older code")
    folder.put(5, revision="")
    assert folder.newest_seq(9) == 2
    assert folder.store.newest(9, projection="p", revision="") is None
    assert folder.said == []


@pytest.mark.parametrize("plant", ["symlink", "dangling", "folder", "fifo"])
def test_what_is_planted_at_a_name_is_not_followed_but_passed_over(
    folder: Folder, plant: str
) -> None:
    folder.put(2)
    planted = folder.path / name(4)
    match plant:
        case "symlink":
            (folder.path.parent / "elsewhere").write_bytes(made(4))
            planted.symlink_to(folder.path.parent / "elsewhere")
        case "dangling":
            planted.symlink_to("nowhere")
        case "folder":
            planted.mkdir()
        case _:
            os.mkfifo(planted)
    assert folder.newest_seq(5) == 2
    assert len(folder.said) == 1
    assert str(planted) in folder.said[0]
    assert [entry.seq for entry in folder.store.list()] == [2, 4]


def test_one_that_another_process_removes_meanwhile_is_no_damage(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.put(2)
    folder.put(4)
    read = snapshot.read

    def read_too_late(path: Path) -> snapshot.Snapshot:
        if path.name == name(4):
            path.unlink()
        return read(path)

    monkeypatch.setattr(snapshot, "read", read_too_late)
    assert folder.newest_seq(5) == 2
    assert folder.said == []


def test_a_missing_folder_is_empty_and_one_that_leads_elsewhere_is_said(tmp_path: Path) -> None:
    missing = Folder(tmp_path / "missing")
    assert (missing.store.list(), missing.store.beyond(0), missing.newest_seq(9)) == ([], [], None)
    assert missing.said == []
    target = Folder(tmp_path)
    target.put(2)
    (tmp_path / "link").symlink_to(tmp_path)
    linked = Folder(tmp_path / "link")
    assert [linked.newest_seq(9), linked.newest_seq(9)] == [None, None]
    assert len(linked.said) == 1
    for act in (linked.store.list, lambda: linked.store.write(made(3))):
        with pytest.raises(OSError, match="symlink"):
            act()


# --- which there are -----------------------------------------------------------------------------


def test_the_list_is_in_order_of_seq_and_knows_no_foreign_names(folder: Folder) -> None:
    seqs = [10, 9, 100, 10**18, 1]
    for seq in seqs:
        folder.put(seq)
    folder.put(10, type="manual")
    durable.Replacement(folder.path / name(7), b"half", synced=False)  # as a kill leaves it
    for foreign in ("LATEST", "README.md", "7.auto.json", f"{name(7)}.tmp", name(7, "UPPER")):
        (folder.path / foreign).write_text("00000009.json")
    assert folder.store.list() == [
        Entry(1, "auto", name(1)),
        Entry(9, "auto", name(9)),
        Entry(10, "auto", name(10)),
        Entry(10, "manual", name(10, "manual")),
        Entry(100, "auto", name(100)),
        Entry(10**18, "auto", name(10**18)),
    ]
    assert (folder.newest_seq(99), folder.newest_seq(8)) == (10, 1)
    assert folder.said == []


def test_the_seqs_of_one_type_are_those_that_the_list_has(folder: Folder) -> None:
    for seq in (1, 7, snapshot.MAX_SEQ):
        folder.put(seq, b"")
        folder.put(seq + 1 if seq < 9 else 40, b"", type="manual")
    others = [f"{0:020d}", f"{10**19}", "7", "0" * 19 + "٧", "1_000".rjust(20, "0"), " " * 19 + "7"]
    for other in others:
        (folder.path / f"{other}.auto.json").write_bytes(b"")
    for kind in ("auto", "manual", "none"):
        listed = [entry.seq for entry in folder.store.list() if entry.type == kind]
        assert sorted(folder.store.seqs_of(kind)) == listed
    assert sorted(folder.store.seqs_of("auto")) == [1, 7, snapshot.MAX_SEQ]


def test_of_others_only_the_first_is_read_whole(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.put(1)
    for seq in range(2, 12):
        folder.put(seq, revision="older")
    whole: list[object] = []
    real = snapshot.read

    def counted(path: Any) -> snapshot.Snapshot:
        whole.append(path)
        return real(path)

    monkeypatch.setattr(snapshot, "read", counted)
    assert folder.newest_seq(20) == 1
    assert whole == [folder.path / name(11), folder.path / name(1)]


def test_those_beyond_the_end_of_the_log_are_found_whole_or_not(folder: Folder) -> None:
    for seq in (3, 4, 5):
        folder.put(seq)
    folder.put(42, b"\0" * 10)
    assert [entry.seq for entry in folder.store.beyond(4)] == [5, 42]
    assert folder.store.beyond(42) == []


def test_thousands_are_listed_without_opening_or_asking_for_any(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seq in range(1, 3001):
        os.symlink("nowhere", folder.path / name(seq))
    asked: list[object] = []

    def watch(call: str) -> None:
        real = getattr(os, call)

        def watched(path: object, *rest: Any, **more: Any) -> Any:
            asked.append(path)
            return real(path, *rest, **more)

        monkeypatch.setattr(os, call, watched)

    for call in ("open", "stat", "lstat"):
        watch(call)
    assert len(folder.store.list()) == 3000
    assert len(asked) <= 1
    assert folder.newest_seq(1) is None
    assert asked[-1] == folder.path / name(1)


# --- writing and removing ------------------------------------------------------------------------


def test_what_is_written_is_private_durable_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def noted(fd: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{fd}")).name)
        fsync(fd)

    folder = Folder(tmp_path / "snapshots")
    monkeypatch.setattr(os, "fsync", noted)
    assert folder.store.write(made(7, type="manual")) == Entry(7, "manual", name(7, "manual"))
    # The folder's own name, then the file before it gets its name, then that name.
    assert [synced[0], synced[1].endswith(".journal-tmp"), *synced[2:]] == [
        tmp_path.name,
        True,
        "snapshots",
    ]
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder.path / name(7, "manual")).stat().st_mode) == 0o600
    assert folder.newest_seq(7) == 7
    assert os.listdir(folder.path) == [name(7, "manual")]


def test_what_is_not_a_snapshot_is_not_written(folder: Folder) -> None:
    for data in (b"", b"{}\n", made(7)[:-1], made(7).replace(b":7,", b":8,")):
        with pytest.raises(Corrupt):
            folder.store.write(data)
    assert os.listdir(folder.path) == []


def test_a_failed_write_leaves_the_older_bytes_and_no_other_file(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder.put(7, b"older")

    def full(fd: int, data: bytes, offset: int) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space"):
        folder.store.write(made(7))
    assert os.listdir(folder.path) == [path.name]
    assert path.read_bytes() == b"older"


def test_writing_replaces_a_planted_symlink_and_leaves_its_target_alone(folder: Folder) -> None:
    victim = folder.path.parent / "victim"
    victim.write_text("mine")
    (folder.path / name(7)).symlink_to(victim)
    folder.store.write(made(7))
    assert victim.read_text() == "mine"
    assert folder.newest_seq(7) == 7


def test_a_damaged_one_that_was_written_again_is_named_when_it_is_damaged_again(
    folder: Folder,
) -> None:
    for round_number in (1, 2):
        folder.put(7, b"\0")
        assert folder.newest_seq(7) is None
        assert len(folder.said) == round_number
        folder.store.write(made(7))
        assert folder.newest_seq(7) == 7


def test_removing_takes_the_named_ones_and_one_that_is_gone_is_no_error(folder: Folder) -> None:
    for seq in (1, 2, 3, 4):
        folder.put(seq)
    folder.store.remove(name(1))
    folder.store.remove(name(1), name(3), name(9))
    assert [entry.seq for entry in folder.store.list()] == [2, 4]
    folder.store.remove()
    Folder(folder.path / "missing").store.remove(name(1))


def test_one_that_cannot_be_removed_does_not_keep_the_others(folder: Folder) -> None:
    (folder.path / name(1)).mkdir()
    folder.put(2)
    with pytest.raises(OSError, match=name(1)):
        folder.store.remove(name(1), name(2))
    assert os.listdir(folder.path) == [name(1)]


@pytest.mark.parametrize("wrong", ["../victim", "LATEST", "", ".", f"../snapshots/{name(1)}"])
def test_nothing_but_a_snapshot_is_ever_removed(folder: Folder, wrong: str) -> None:
    kept = folder.put(1)
    with pytest.raises(UsageError, match="not the name of a snapshot"):
        folder.store.remove(kept.name, wrong)
    assert kept.exists()
