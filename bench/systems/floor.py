"""The floor: the least that any Python program can do, without an engine.

Appends: lines encoded beforehand, one write and one fdatasync. Reads: blocks, typed decoding, the
projection's own apply functions; no check, no chain, no recovery.
"""

import os
import time
from pathlib import Path
from typing import Any, Union

import msgspec
import orjson

from bench import workload
from journal import codec
from journal.event import Event

_BLOCK_BYTES = 256 << 10
_EVERY = 1000
"""Events from one snapshot of the floor to the next."""


def _line(event: type[Any], name: str) -> type[Any]:
    return msgspec.defstruct(
        "Line",
        [("seq", int), ("time", str), ("data", event), ("actor", str, "")],
        tag_field="type",
        tag=name,
        gc=False,
    )


LINES = {_line(event, name): workload.APPLY[event] for event, name in workload.NAMES.items()}
_decoder = msgspec.json.Decoder(Union[tuple(LINES)])  # noqa: UP007 - built at run time


def encode(number: int, event: workload.TaskEvent) -> bytes:
    """Return the line that the engine would write for this event."""
    envelope = Event(
        seq=number,
        time="2026-03-01T14:45:00.000Z",
        type=workload.NAMES[type(event)],
        actor="bench",
        data=None,
    )
    body = codec.encode_body(envelope, msgspec.json.encode(event))
    return body + codec.crc_suffix(number)


class Floor:
    """A file of lines, and states beside it at every thousandth event."""

    def __init__(self, folder: Path, tasks: int = workload.TASKS) -> None:
        self.folder = folder
        self._tasks = tasks
        self._path = folder / "events.jsonl"

    def fill(self, count: int) -> None:
        """Write a history and its snapshots."""
        self.folder.mkdir(parents=True, exist_ok=True)
        state = workload.initial(self._tasks)
        offsets: list[int] = []
        with self._path.open("wb") as out:
            for number, event in enumerate(workload.events(count, tasks=self._tasks), 1):
                out.write(encode(number, event))
                workload.change(state, event)
                if number % _EVERY == 0:
                    offsets.append(out.tell())
                    (self.folder / f"{number}.state").write_bytes(orjson.dumps(state))
        (self.folder / "offsets.json").write_bytes(orjson.dumps(offsets))

    # --- appending -------------------------------------------------------------------------------

    def append(self, count: int, *, durable: bool, **_: Any) -> list[float]:
        """Append one by one; return seconds for each."""
        found = workload.events(count, tasks=self._tasks)
        lines = [encode(n, e) for n, e in enumerate(found, 1)]
        return self._write([bytes(line) for line in lines], durable=durable)

    def batches(self, count: int, *, size: int, durable: bool) -> float:
        """Append batches of encoded lines; return seconds in all."""
        lines = [encode(n, e) for n, e in enumerate(workload.events(count), 1)]
        joined = [b"".join(lines[at : at + size]) for at in range(0, count, size)]
        return sum(self._write(joined, durable=durable))

    def _write(self, pieces: list[bytes], *, durable: bool) -> list[float]:
        self.folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        took = []
        try:
            for piece in pieces:
                start = time.perf_counter()
                os.write(fd, piece)
                if durable:
                    os.fdatasync(fd)
                took.append(time.perf_counter() - start)
        finally:
            os.close(fd)
        return took

    # --- reading ---------------------------------------------------------------------------------

    def replay(self) -> tuple[Any, float]:
        """Decode and fold everything; return the state and the seconds."""
        start = time.perf_counter()
        state = self._fold(workload.initial(self._tasks), 0, self._path.stat().st_size)
        return state, time.perf_counter() - start

    def _fold(self, state: Any, offset: int, end: int) -> Any:
        decode, table = _decoder.decode_lines, LINES
        fd = os.open(self._path, os.O_RDONLY)
        try:
            while offset < end:
                block = os.pread(fd, min(_BLOCK_BYTES, end - offset), offset)
                block = block[: block.rfind(b"\n") + 1]
                offset += len(block)
                for event in decode(block):
                    state = table[event.__class__](state, event)
        finally:
            os.close(fd)
        return state

    def cold_open(self) -> tuple[Any, float]:
        """Read the newest snapshot and fold the rest."""
        start = time.perf_counter()
        offsets = orjson.loads((self.folder / "offsets.json").read_bytes())
        state = orjson.loads((self.folder / f"{len(offsets) * _EVERY}.state").read_bytes())
        state = self._fold(state, offsets[-1], self._path.stat().st_size)
        return state, time.perf_counter() - start
