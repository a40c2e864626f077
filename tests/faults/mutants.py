"""Known bugs, to be switched on: each must be caught by a law that the engine as it is keeps.

A mutant names where it is looked for: workloads of `tests.faults.workloads`, or sorts of file of
`tests.faults.row_damage` (`damage: segment`, or `damage: segment, no witness`). A bug that nothing
catches is a law that is missing.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

from journal import codec, durable, keys, recovery, sifting
from journal.durable import Replacement
from journal.engine.core import Core
from journal.engine.drift import DriftKeeper
from journal.engine.publishing import Publisher
from journal.engine.snapshotting import Snapshotter
from journal.locks import FolderLock
from journal.log.group_commit import GroupCommit
from journal.log.writer import Writer
from journal.segment import Segment
from journal.witness import WitnessFile
from snapshots import snapshot
from snapshots.store import Store

Patch = Callable[[], AbstractContextManager[object]]


class Mutant(NamedTuple):
    """A bug: its name, how it is switched on, and where it must be caught."""

    name: str
    patch: Patch
    where: tuple[str, ...]


def _nothing(*args: object, **options: object) -> None:
    """Do nothing, whatever is asked for."""


def _replace(owner: object, name: str, new: object) -> Patch:
    return lambda: mock.patch.object(owner, name, new)


# --- durable -------------------------------------------------------------------------------------


_sync = durable.sync


def _sync_again(fd: int) -> None:
    try:
        _sync(fd)
    except OSError:
        _sync(fd)


class _UnsyncedReplacement(Replacement):
    """Renames what is not on disk; its folder is synced."""

    def __init__(self, path: Any, data: bytes, *, synced: bool, **options: Any) -> None:
        super().__init__(path, data, synced=False, **options)
        self._synced = synced


def _write_once(fd: int, data: bytes | memoryview, offset: int) -> None:
    os.pwrite(fd, data, offset)


def _overwrite(path: Any, data: bytes, **options: Any) -> os.stat_result:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.pwrite(fd, data, 0)
        os.fsync(fd)
        return os.fstat(fd)
    finally:
        os.close(fd)


# --- the log -------------------------------------------------------------------------------------


def _check_nothing(block: bytes, crc: int) -> int | None:
    tail = codec.read_tail(block[-256:])
    return None if tail is None else codec.crc_after(tail.crc)


_tail: Callable[..., bytes] = codec.tail


def _tail_without_unsynced(*members: Any) -> bytes:
    return _tail(*members[:-1], 0)


_rotate = Writer.rotate


def _rotate_unsynced(self: Writer) -> Any:
    with mock.patch.object(durable, "sync", _nothing):
        return _rotate(self)


def _sync_only(self: Writer, start: int) -> None:
    durable.sync(self.last.fd)


def _last_line_only(self: Segment, start: int, size: int) -> int:
    return self.last_line_end(start, size)


_recover = Writer.recover


def _recover_without_snapshots(self: Writer, synced: Any, **options: Any) -> Any:
    return _recover(self, synced)


_damage = sifting._damage


def _damage_without_holes(*args: Any) -> Any:
    found = _damage(*args)
    known = {name: getattr(found, name) for name in found.__struct_fields__}
    return sifting.Damage(**{**known, "holes": False})


# --- views, witness, snapshots -------------------------------------------------------------------


_commit = Publisher.commit


def _publish_before_sync(self: Publisher, seq: int) -> None:
    with mock.patch.object(Publisher, "_may_show", return_value=True):
        self.publish()
    _commit(self, seq)


@contextmanager
def _snapshots_of_what_is_not_synced() -> Iterator[None]:
    take = Snapshotter.take

    def take_unsynced(self: Snapshotter) -> None:
        with mock.patch.object(Writer, "sync", _nothing):
            take(self)

    with mock.patch.object(Snapshotter, "take", take_unsynced):
        yield


def _any_snapshot(find: Callable[..., Any]) -> Callable[..., Any]:
    def newest(self: Store, upto: int, **wanted: Any) -> Any:
        return find(self, 2**62, **wanted)

    return newest


class _AnyDigest(str):
    """A digest that every other one is equal to."""

    __slots__ = ()

    def __eq__(self, _: object) -> bool:
        return True

    def __ne__(self, _: object) -> bool:
        return False

    __hash__ = str.__hash__


_read_snapshot = snapshot.read


def _read_unchecked(path: Any, **options: Any) -> Any:
    agreeable = SimpleNamespace(**{**vars(codec), "sha256": lambda _: _AnyDigest()})
    with mock.patch.object(snapshot, "codec", agreeable):
        return _read_snapshot(path, **options)


def _keys_of_the_open_segment(find: Callable[..., Any]) -> Callable[..., Any]:
    def find_here(self: keys.Keys, key: str, segments: Any, last: Segment, tail: Any) -> Any:
        return find(self, key, (), last, tail)

    return find_here


MUTANTS = (
    Mutant("no fsync", _replace(durable, "sync", _nothing), ("append",)),
    Mutant("no folder fsync", _replace(durable, "sync_folder", _nothing), ("rotation", "snapshot")),
    Mutant(
        "rename before fsync",
        _replace(durable, "Replacement", _UnsyncedReplacement),
        ("rotation", "snapshot"),
    ),
    Mutant("overwritten in place", _replace(durable, "write_file", _overwrite), ("first start",)),
    Mutant("fsync tried again", _replace(durable, "sync", _sync_again), ("failed sync",)),
    Mutant(
        "tail trusted after a failed fsync",
        _replace(Writer, "_rewrite", _sync_only),
        ("failed sync",),
    ),
    Mutant("short write ignored", _replace(durable, "write_at", _write_once), ("short writes",)),
    Mutant("lock skipped", _replace(FolderLock, "acquire", _nothing), ("two writers at once",)),
    Mutant(
        "acknowledged before the fsync", _replace(GroupCommit, "wait_for", _nothing), ("batch",)
    ),
    Mutant(
        "closed segment left writable",
        _replace(durable, "close_file", _nothing),
        ("two writers, rotation",),
    ),
    Mutant(
        "rotation unsynced", _replace(Writer, "rotate", _rotate_unsynced), ("mode os, rotation",)
    ),
    Mutant("check skipped", _replace(codec, "check_block", _check_nothing), ("damage: segment",)),
    Mutant(
        "tail eaten in the middle",
        _replace(recovery, "_refuse_by_table", _nothing),
        ("damage: segment, no witness",),
    ),
    Mutant(
        "blocks that never arrived taken for damage",
        _replace(sifting, "_damage", _damage_without_holes),
        ("append",),
    ),
    Mutant(
        "lines that prove too much",
        _replace(codec, "tail", _tail_without_unsynced),
        ("mode os",),
    ),
    Mutant("half an append kept", _replace(Segment, "complete_end", _last_line_only), ("batch",)),
    Mutant("witness ignored", _replace(WitnessFile, "read", _nothing), ("damage: segment",)),
    Mutant(
        "torn bytes thrown away",
        _replace(recovery, "save", lambda *_, name: Path(name)),
        ("append",),
    ),
    Mutant(
        "view before the fsync", _replace(Publisher, "commit", _publish_before_sync), ("append",)
    ),
    Mutant(
        "own older view taken for drift",
        _replace(DriftKeeper, "_is_ours", lambda *_: False),
        ("append",),
    ),
    Mutant(
        "stat believed after a power cut",
        _replace(Core, "by_stat", property(lambda _: True)),
        ("append",),
    ),
    Mutant(
        "lost events still vouched for",
        _replace(DriftKeeper, "forget_lost", _nothing),
        ("recovery of a view ahead of the log",),
    ),
    Mutant("snapshot before the fsync", _snapshots_of_what_is_not_synced, ("mode os, snapshots",)),
    Mutant(
        "snapshot's digest not checked",
        _replace(snapshot, "read", _read_unchecked),
        ("damage: snapshot",),
    ),
    Mutant(
        "later snapshot used for an earlier seq",
        _replace(Store, "newest", _any_snapshot(Store.newest)),
        ("snapshot",),
    ),
    Mutant(
        "temporary files left",
        _replace(durable, "remove_leftovers", lambda *_: 0),
        ("first start",),
    ),
    Mutant(
        "keys of closed segments forgotten",
        _replace(keys.Keys, "find", _keys_of_the_open_segment(keys.Keys.find)),
        ("rotation",),
    ),
)
