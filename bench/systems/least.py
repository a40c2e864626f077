"""The least: Python that keeps the engine's promises for an append, and does nothing else.

Encode, read back typed and compare, make the line with its crc, apply, write, answer; one by one
also take the kernel's lock, look whether the tail is still the end, and give the lock back. No
refusal is worded, Ctrl-C may come badly, there are no views, no keys, no rotation, no snapshots. No
engine that keeps these promises in Python can be faster: it says what a target can be.
"""

import fcntl
import os
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import msgspec

from bench import workload
from journal import codec
from journal.event import Event

_TIME = "2026-03-01T14:45:00.000Z"
_STAMP = _TIME.encode()
_ACTOR = "bench"
_HEADS = {event: codec.head(name, _ACTOR) for event, name in workload.NAMES.items()}
_READ = {event: msgspec.json.Decoder(event).decode for event in workload.NAMES}
_LINES = {
    event: msgspec.defstruct(
        "Line", [("seq", int), ("time", str), ("data", event), ("actor", str)], gc=False
    )
    for event in workload.NAMES
}
_encode = msgspec.json.Encoder().encode


class Least:
    """A log of one file in a folder, whose lock is on the folder."""

    def __init__(self, folder: Path, tasks: int = workload.TASKS) -> None:
        self.folder = folder
        self._tasks = tasks
        self._path = str(folder / "log.jsonl")

    def append(self, count: int, *, durable: bool) -> list[float]:
        """Append one by one; return seconds for each."""
        self.folder.mkdir(parents=True, exist_ok=True)
        state = workload.initial(self._tasks)
        events = list(workload.events(count, tasks=self._tasks))
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        lock = os.open(self.folder, os.O_RDONLY)
        mutex = threading.RLock()
        offset = crc = 0
        took: list[float] = []
        for seq, event in enumerate(events, 1):
            start = time.perf_counter()
            kind = event.__class__
            data = _encode(event)
            typed = _READ[kind](data)
            if typed != event:
                raise AssertionError("it does not come back as it was")
            with mutex:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.lstat(self._path).st_size != offset:
                    raise AssertionError("somebody else has appended")
                body = b'{"seq":%d,"time":"%b%b%b' % (seq, _STAMP, _HEADS[kind], data)
                crc = zlib.crc32(body, crc)
                suffix = b',"crc":"%08x"}\n' % crc
                state = workload.APPLY[kind](state, _LINES[kind](seq, _TIME, typed, _ACTOR))
                offset += os.pwrite(fd, body + suffix, offset)
                self._answer(seq, event, typed, crc)
                crc = zlib.crc32(suffix, crc)
                fcntl.flock(lock, fcntl.LOCK_UN)
            if durable:
                os.fdatasync(fd)
            took.append(time.perf_counter() - start)
        os.close(fd)
        os.close(lock)
        return took

    def _answer(self, seq: int, event: Any, typed: Any, crc: int) -> Event:
        return Event(
            seq=seq,
            time=_TIME,
            type=workload.NAMES[event.__class__],
            actor=_ACTOR,
            data=msgspec.to_builtins(typed),
            crc=f"{crc:08x}",
        )

    def batches(self, count: int, *, size: int, durable: bool) -> float:
        """Append batches, each one write and one sync; return seconds in all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        state = workload.initial(self._tasks)
        events = list(workload.events(count, tasks=self._tasks))
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        offset = crc = seq = 0
        start = time.perf_counter()
        for at in range(0, count, size):
            part = events[at : at + size]
            datas = [_encode(event) for event in part]
            typed = [_READ[event.__class__](data) for event, data in zip(part, datas, strict=True)]
            if typed != part:
                raise AssertionError("they do not come back as they were")
            pieces: list[bytes] = []
            for number, (event, data) in enumerate(zip(typed, datas, strict=True), 1):
                seq += 1
                kind = event.__class__
                piece = b',"crc":"%08x"}\n{"seq":%d,"time":"%b%b%b,"part":[%d,%d]' % (
                    *(crc, seq, _STAMP, _HEADS[kind], data, number, size),
                )
                crc = zlib.crc32(piece, crc)
                pieces.append(piece)
                state = workload.APPLY[kind](state, _LINES[kind](seq, _TIME, event, _ACTOR))
            offset += os.pwrite(fd, b"".join(pieces), offset)
            if durable:
                os.fdatasync(fd)
        took = time.perf_counter() - start
        os.close(fd)
        return took
