"""A real journal on disk, and ways to damage its bytes: what every file in this folder starts from.

`make(tmp_path, 5)` is a closed journal of the projection `document` whose log holds
`journal.created` as event 1 and then `set /k` to 2, 3, 4, 5: after event n the state is {"k": n}.
The clock stands still, so that times are equal from run to run.

A fault is either what a crash or a disk does (bytes cut, zeroed, put in: the checks do not fit any
more) or a forgery (`sealed=True`: every crc is computed anew, as somebody with time would do).
"""

import contextlib
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson
import pytest

import journal
from journal import codec
from journal.engine import Engine
from journal.errors import Corrupt, JournalError
from journal.event import Event, time_to_ms
from journal.segment import name_of

Refusal = TypeVar("Refusal", bound=JournalError)

NOW = "2026-03-01T14:45:00.000Z"


def clock() -> int:
    """The time that always is."""
    return time_to_ms(NOW)


class File(NamedTuple):
    """What stands under one name: its bytes, or where a symlink leads, and its mode."""

    data: bytes
    mode: int


def files(folder: Path) -> dict[str, File]:
    """Return everything below a folder, to be compared with what is there later."""
    found = {}
    for path in sorted(folder.rglob("*")):
        at_once = path.lstat()
        if stat.S_ISLNK(at_once.st_mode):
            data = os.fsencode(os.readlink(path))
        else:
            data = path.read_bytes() if stat.S_ISREG(at_once.st_mode) else b""
        found[str(path.relative_to(folder))] = File(data, at_once.st_mode)
    return found


class Made:
    """A journal folder that nobody has open."""

    def __init__(self, path: Path) -> None:
        self.path = path

    # --- its files -------------------------------------------------------------------------------

    @property
    def log(self) -> Path:
        """The newest segment."""
        return max((self.path / "log").glob("*.jsonl"))

    @property
    def state(self) -> Path:
        return self.path / "state.json"

    @property
    def witness(self) -> Path:
        return self.path / "witness.json"

    @property
    def quarantined(self) -> dict[str, bytes]:
        """The files in quarantine by name."""
        found = (self.path / "quarantine").glob("*")
        return {path.name: path.read_bytes() for path in found}

    def snapshot(self, seq: int, kind: str = "manual") -> Path:
        return self.path / "snapshots" / f"{seq:020d}.{kind}.json"

    def segment(self, first_seq: int) -> Path:
        return self.path / "log" / name_of(first_seq)

    def lines(self, path: Path | None = None) -> list[bytes]:
        """Return the lines of the newest (or the given) segment, each with its LF."""
        return (path or self.log).read_bytes().splitlines(keepends=True)

    def offset(self, line: int) -> int:
        """Return where line `line` (from 1) starts in the newest segment."""
        return sum(map(len, self.lines()[: line - 1]))

    # --- damage ----------------------------------------------------------------------------------

    def put(self, data: bytes | Iterable[bytes], path: Path | None = None) -> None:
        """Let these be the bytes of the newest (or the given) segment, whatever its mode."""
        target = path or self.log
        mode = target.stat().st_mode
        target.chmod(0o600)
        target.write_bytes(data if isinstance(data, bytes) else b"".join(data))
        target.chmod(mode)

    def add(self, data: bytes) -> None:
        """Put bytes behind the log, as a writer did who was killed, or another program."""
        self.put(self.log.read_bytes() + data)

    def replace(self, line: int, data: bytes, *, sealed: bool = False) -> None:
        """Put `data` in the place of one line, from 1."""
        lines = self.lines()
        lines[line - 1] = data
        self.put(seal(lines) if sealed else lines)

    def insert(self, line: int, data: bytes) -> None:
        """Put bytes in front of one line, from 1."""
        lines = self.lines()
        self.put([*lines[: line - 1], data, *lines[line - 1 :]])

    def edit(self, line: int, old: bytes, new: bytes, *, sealed: bool = False) -> None:
        """Change a part of one line, from 1."""
        before = self.lines()[line - 1]
        assert before.count(old) == 1
        self.replace(line, before.replace(old, new), sealed=sealed)

    def forget(self) -> None:
        """Lose the witness, as a power cut may: what was synced is then not known."""
        self.witness.unlink(missing_ok=True)

    def next_line(self, data: bytes = b'{"path":"/k","value":99}', *, type: str = "set") -> bytes:
        """Return the whole line of the event that would come next."""
        last = codec.decode_event(self.lines()[-1])
        tail = codec.read_tail(self.lines()[-1])
        assert tail is not None
        event = Event(seq=last.seq + 1, time=last.time, type=type, data=None)
        line, _ = codec.seal([codec.encode_body(event, data)], codec.crc_after(tail.crc))
        return bytes(line)

    # --- use -------------------------------------------------------------------------------------

    def open(self, **options: Any) -> Engine:
        return journal.open(self.path, **{"clock": clock, **options})

    def read(self) -> Engine:
        return self.open(read_only=True)

    def log_on(self, value: int = 100) -> None:
        """See that the journal takes appends and has them when it is opened again."""
        with self.open() as engine:
            seq = engine.append("set", {"path": "/k", "value": value}).seq
        with self.open() as engine:
            assert (engine.seq, engine.state["k"]) == (seq, value)
            assert engine.verify().ok


def make(tmp_path: Path, events: int = 5, **options: Any) -> Made:
    """Make a journal whose last event is number `events`, and close it."""
    made = Made(tmp_path / "run")
    with journal.init(made.path, **{"clock": clock, **options}) as engine:
        append_to(engine, events)
    return made


def append_to(engine: Engine, upto: int) -> None:
    """Append `set /k` to the seq until that is `upto`."""
    while engine.seq < upto:
        engine.append("set", {"path": "/k", "value": engine.seq + 1})


def make_segments(tmp_path: Path, events: int = 12, each: int = 4) -> Made:
    """Make a journal whose log has a segment of `each` events, and then another."""
    made = make(tmp_path, 1)
    with made.open() as engine:
        while engine.seq < events:
            if engine.seq % each == 0:
                with engine._core.appending():
                    engine.appender.take_in(engine._core.log.rotate())
            else:
                engine.append("set", {"path": "/k", "value": engine.seq + 1})
    return made


def seal(lines: Iterable[bytes]) -> bytes:
    """Give each line the crc that fits, as a forger does; a line that has none gets one."""
    bodies = []
    for line in lines:
        body = line.removesuffix(b"\n")
        if codec.LINE_TAIL.search(line):
            body = line[: -codec.SUFFIX_BYTES]
        bodies.append(body)
    return bytes(codec.seal(bodies, 0)[0])


# --- verdicts ------------------------------------------------------------------------------------


@contextlib.contextmanager
def unchanged(made: Made) -> Iterator[None]:
    """See that a block changes nothing below the journal's folder."""
    before = files(made.path)
    yield
    assert files(made.path) == before


def refused(made: Made, kind: type[Refusal], exit_code: int, **options: Any) -> Refusal:
    """See that opening for writing is refused and changes nothing; return the error."""
    with unchanged(made), pytest.raises(kind) as caught:
        made.open(**options).close()
    assert type(caught.value) is kind
    assert caught.value.exit_code == exit_code
    assert caught.value.advice, "an error says what to do next"
    return caught.value


def refused_as_corrupt(
    made: Made, *, line: int | None, offset: int | None, path: Path | None = None
) -> Corrupt:
    """See that a writer is refused with this place; return the error."""
    error = refused(made, Corrupt, 5)
    assert (error.path, error.line, error.offset) == (str(path or made.log), line, offset)
    return error


class Readable(NamedTuple):
    """What a reader got: the seqs of the events in order, and the damage report if there is one."""

    seqs: list[int]
    damage: Corrupt | None


def readable(made: Made) -> Readable:
    """Read every event as a reader does, who changes nothing."""
    with unchanged(made), made.read() as engine:
        events: list[Event] = []
        damage = None
        try:
            for event in engine.events():
                events.append(event)  # One by one: those before the error are wanted, too.
        except Corrupt as error:
            damage = error
    return Readable([event.seq for event in events], damage)


def recovered(made: Made) -> tuple[Event, bytes]:
    """Return the newest `journal.recovered` and the bytes that it names in quarantine."""
    with made.read() as engine:
        event = [event for event in engine.events() if event.type == "journal.recovered"][-1]
    return event, made.quarantined[event.data["quarantine"]]


@contextlib.contextmanager
def no_file_over(size: int) -> Iterator[None]:
    """Let the kernel refuse every byte behind this one, in every file, as a full disk does."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


# --- other processes -----------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]


def start_python(program: str, *arguments: object) -> "subprocess.Popen[str]":
    """Start a Python program that can import this checkout; its stdout is a pipe."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


# --- another user --------------------------------------------------------------------------------

NOBODY = 65534


def owned_by_nobody(made: Made) -> None:
    """Let a user without rights own the journal, if this user may give it away."""
    if os.geteuid() == 0:
        for path in (made.path, *made.path.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


class Child:
    """A forked process that runs an action; `result` waits for what it returned or raised.

    The answer is JSON: the value, or {"error": class, "exit_code", "path", "message"}.
    """

    def __init__(self, action: Callable[[], object], *, rights: bool = True) -> None:
        read_end, write_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                if not rights and os.geteuid() == 0:
                    os.setgroups([])
                    os.setgid(NOBODY)
                    os.setuid(NOBODY)
                os.write(write_end, orjson.dumps(_answer(action)))
            finally:
                os._exit(0)
        os.close(write_end)
        self._pipe = os.fdopen(read_end, "rb")

    def result(self) -> Any:
        with self._pipe:
            raw = self._pipe.read()
        os.waitpid(self.pid, 0)
        return orjson.loads(raw)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.close()

    def close(self) -> None:
        """Close the pipe of a child that is gone already."""
        self._pipe.close()


def as_nobody(action: Callable[[], object]) -> Any:
    """Run `action` in a process without root's rights; return its answer."""
    return Child(action, rights=False).result()


def _answer(action: Callable[[], object]) -> object:
    try:
        return action()
    except (JournalError, OSError) as error:
        path = getattr(error, "path", None) or getattr(error, "filename", None)
        return {
            "error": type(error).__name__,
            "exit_code": getattr(error, "exit_code", None),
            "path": str(path),
            "message": str(error),
        }
