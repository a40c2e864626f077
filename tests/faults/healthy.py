"""A healthy journal, closed, every event of it promised: what damage is done to."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import journal
from journal.event import Event
from tests.faults.laws import plain
from tests.faults.story import FOLDER, Script
from tests.faults.tree import File, Tree, read_tree, write_tree


class Healthy(NamedTuple):
    """Its folder, its files, its events by seq, and the states after some of them."""

    root: Path
    tree: Tree
    events: dict[int, bytes]
    states: dict[int, bytes]

    @property
    def folder(self) -> Path:
        """The journal's folder."""
        return self.root / FOLDER

    @property
    def last_seq(self) -> int:
        """The seq of the last event."""
        return max(self.events)

    def data(self, path: str) -> bytes:
        """Return the bytes of a file, by its path below the root."""
        file = self.tree[path]
        assert file is not None
        return file.data

    def segments(self) -> list[str]:
        """Return the paths of the segments."""
        return [path for path in self.tree if path.endswith(".jsonl")]

    def files(self) -> list[str]:
        """Return the paths of all files."""
        return [path for path, file in self.tree.items() if file is not None]

    def put(self, path: str, data: bytes) -> None:
        """Give a file other bytes, and an inode and time of its own."""
        file = self.tree[path]
        assert file is not None
        target = self.root / path
        target.unlink()
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(fd, data)
            os.fchmod(fd, file.mode)
        finally:
            os.close(fd)

    def with_file(self, path: str, data: bytes) -> Tree:
        """Return the tree as it is with other bytes in one file."""
        file = self.tree[path]
        assert file is not None
        return {**self.tree, path: File(data, file.mode)}

    def without_witness(self) -> "Healthy":
        """Return it as a power cut may leave it: without its witness."""
        (self.folder / "witness.json").unlink()
        tree = {path: file for path, file in self.tree.items() if not path.endswith("witness.json")}
        return self._replace(tree=tree)

    def restore(self) -> None:
        """Put everything back. The views are told from their bytes then, their inodes are new."""
        write_tree(str(self.root), self.tree)


def make(root: Path, *, appends: int = 4, **options: Any) -> Healthy:
    """Make a journal below `root` with single events, batches, keys, checkpoints."""
    os.mkdir(root)
    script = Script(root, **options)
    script.make()
    engine = script.open()
    for n in range(appends):
        script.append(engine, id=f"key {n}")
        script.append(engine, 2 + n % 2, size=3 * n)
        if n == appends // 2:
            script.snapshot(engine)
    engine.append("set", {"path": "/text", "value": {"ü\u2028": [1, 1.0, -0.0, None, True]}})
    script.close(engine)
    with journal.open(script.folder, read_only=True) as found:
        events = {event.seq: tell(event) for event in found.events()}
        states = {seq: plain(found.state_at(seq)) for seq in range(found.seq + 1)}
    return Healthy(root, read_tree(str(root)), events, states)


def tell(event: Event) -> bytes:
    """Write an event so that equal bytes are equal events."""
    return plain(msgspec.to_builtins(event))
