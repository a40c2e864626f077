"""The floor of time travel: the journal's own snapshots and lines, without an engine.

The nearest snapshot is read with orjson, the lines from there to the place are decoded with typed
structs and folded with the same apply functions. No check, and the offsets of the lines are known
beforehand: nothing is searched for.
"""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Union

import msgspec
import orjson

from bench import workload
from bench.systems.floor import LINES
from bench.systems.journal_engine import seq_of


class _Rotated(msgspec.Struct, tag_field="type", tag="journal.rotated"):
    seq: int


class _Created(msgspec.Struct, tag_field="type", tag="journal.created"):
    seq: int


_TABLE: dict[type[Any], Any] = {
    **LINES,
    _Rotated: lambda state, _: state,
    _Created: lambda state, _: state,
}
_decoder = msgspec.json.Decoder(Union[tuple(_TABLE)])  # noqa: UP007 - built at run time


class Bare:
    """The files of a journal, read as bare as they are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._segments = sorted((folder / "log").glob("*.jsonl"))
        self._snapshots = sorted((folder / "snapshots").glob("*.json"))
        self._ends: dict[Path, list[int]] = {}

    def states_at(self, numbers: Iterable[int]) -> Iterator[tuple[Any, float]]:
        """Yield the state after each so-manieth event, and the seconds."""
        for number in numbers:
            yield self._state_at(seq_of(self.folder, number))

    def _state_at(self, seq: int) -> tuple[Any, float]:
        before = [path for path in self._snapshots if int(path.name[:20]) <= seq]
        after = int(before[-1].name[:20]) if before else 0
        pieces = list(self._pieces(after, seq))
        start = time.perf_counter()
        state = orjson.loads(before[-1].read_bytes())["state"] if before else workload.initial()
        for path, begin, end in pieces:
            fd = os.open(path, os.O_RDONLY)
            data = os.pread(fd, end - begin, begin)
            os.close(fd)
            for event in _decoder.decode_lines(data):
                state = _TABLE[event.__class__](state, event)
        return state, time.perf_counter() - start

    def _pieces(self, after: int, upto: int) -> Iterator[tuple[Path, int, int]]:
        """Yield (segment, start, end) of the lines after `after` up to and with `upto`."""
        for path in self._segments:
            first = int(path.stem)
            if first > upto:
                return
            ends = self._ends_of(path)
            if first + len(ends) - 2 > after:
                begin = ends[max(after - first + 1, 0)]
                end = ends[min(upto - first + 1, len(ends) - 1)]
                yield path, begin, end

    def _ends_of(self, path: Path) -> list[int]:
        """Return where each line ends, 0 before the first."""
        if path not in self._ends:
            ends, at = [0], 0
            with path.open("rb") as lines:
                for line in lines:
                    at += len(line)
                    ends.append(at)
            self._ends[path] = ends
        return self._ends[path]
