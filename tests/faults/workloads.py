"""The workloads of which every disk is tried that a power cut could leave.

Each is small: what matters is every step of it, and every order in which its bytes may arrive.
"""

import contextlib
from typing import Any
from unittest import mock

from journal import durable
from journal.config import SnapshotsConfig, ViewsConfig
from journal.errors import Locked
from projections.document import importing
from projections.document.version import Version
from tests.faults.lines_projection import PROJECTION
from tests.faults.story import Append, Script, Workload


def make_and_append(script: Script) -> None:
    """Make a journal with three appends, closed."""
    script.make()
    engine = script.open()
    for _ in range(3):
        script.append(engine)
    script.close(engine)


def _appends(script: Script) -> None:
    engine = script.open()
    for n in range(5):
        script.append(engine, size=8 + 40 * n)
    script.close(engine)


def _batches(script: Script) -> None:
    engine = script.open()
    for count in (3, 1, 5):
        script.append(engine, count)
    script.close(engine)


def _with_ids(script: Script) -> None:
    engine = script.open()
    for n in range(7):
        script.append(engine, id=f"k-{n}")
    script.close(engine)


def _snapshots(script: Script) -> None:
    engine = script.open()
    script.append(engine)
    script.snapshot(engine)
    for _ in range(4):
        script.append(engine, size=60)
    script.snapshot(engine)
    script.append(engine)
    script.close(engine)


def _first_start(script: Script) -> None:
    engine = script.init()
    script.append(engine)
    script.close(engine)


def _pages(script: Script) -> None:
    engine = script.open()
    script.append(engine, 30, size=300)
    script.append(engine)
    script.append(engine, 3, size=3000)
    script.close(engine)


def _flushes(script: Script) -> None:
    engine = script.open()
    for n in range(6):
        script.append(engine, 1 + n % 3)
        if n == 2:
            script.flush(engine)
    script.close(engine)


def _batch_mode(script: Script) -> None:
    """A sync every 100 ms; what the fourth append finds due, it promises."""
    engine = script.open()
    for n in range(6):
        if n == 3:
            script.now_s += 1
        script.append(engine)
        if n == 3:
            script.note(acked=len(script.appends))
    script.close(engine)


def _two_writers(script: Script) -> None:
    """While one waits for its sync the other appends behind it, and is done first."""
    one, two = script.open(), script.open()
    assert script.recorder is not None

    def append_meanwhile() -> None:
        # A rotation syncs under the append lock: then the other has to wait.
        with contextlib.suppress(Locked):
            script.append(two)

    for _ in range(3):
        script.recorder.before_sync = append_meanwhile
        script.append(one)
    script.append(two)
    script.append(one, 2)
    script.close(one)
    script.close(two)


def _two_at_once(script: Script) -> None:
    """While one is about to write its lines, the other wants to append."""
    one, two = script.open(), script.open()
    assert script.recorder is not None

    def append_meanwhile() -> None:
        with contextlib.suppress(Locked):
            script.append(two)

    for _ in range(2):
        script.recorder.before_lines = append_meanwhile
        script.append(one)
        script.append(two)
    script.close(one)
    script.close(two)


def _short_write(script: Script) -> None:
    """The kernel takes a part of an append; the rest is written after it."""
    engine = script.open()
    assert script.recorder is not None
    for bytes_written in (1, 20, 150):
        script.recorder.short_write = bytes_written
        script.append(engine, 2)
    script.close(engine)


def _two_writers_in_turn(script: Script) -> None:
    """Neither knows what the other has synced."""
    one, two = script.open(), script.open()
    for n in range(3):
        script.append(one)
        script.append(two, 1 + n)
    script.flush(one)
    script.append(two)
    script.append(one)
    script.close(one)
    script.close(two)


def _killed(script: Script) -> None:
    """Processes die without a word, the next one goes on; the power fails at last."""
    for n in range(3):
        engine = script.open()
        script.append(engine, 1 + n)
        script.append(engine)
        script.kill(engine)
    script.close(script.open())


def _failed_sync(script: Script) -> None:
    """A sync fails: nothing is promised until the journal is opened again."""
    engine = script.open()
    script.append(engine)
    assert script.recorder is not None
    script.recorder.sync_fails = True
    try:
        script.append(engine)
    except OSError:
        pass
    script.kill(engine)
    engine = script.open()
    script.append(engine)
    script.append(engine, 2)
    script.close(engine)


def _leave_a_mess(script: Script) -> None:
    """Leave what a crash could: a closed segment without a successor is the least of it."""
    make_and_append(script)
    log = script.folder / "log"
    last = sorted(log.glob("*.jsonl"))[-1]
    with last.open("ab") as file:
        file.write(b'{"seq":5,"time":"2026-02-25T06:13:20.000Z","type":"set","da')
    (script.folder / "state.json").write_bytes(b"\0" * 20)
    (log / ".x.journal-tmp").write_bytes(b"left")


def _recover(script: Script) -> None:
    engine = script.open()
    script.append(engine)
    script.close(engine)


def _lose_the_end(script: Script) -> None:
    """Leave what a power cut may in mode os: the view shows events that the log has lost."""
    make_and_append(script)
    log = script.folder / "log" / "00000000000000000001.jsonl"
    kept = log.stat().st_size
    engine = script.open()
    for _ in range(2):
        script.append(engine)
        script.foreign.append(script.state)
    script.kill(engine)
    del script.appends[3:]
    script.note(issued=3)
    with log.open("r+b") as file:
        file.truncate(kept + 10)


def _recover_after_a_boot(script: Script) -> None:
    with mock.patch.object(durable, "boot_id", return_value="the second boot"):
        _recover(script)


def _leave_a_closed_segment(script: Script) -> None:
    make_and_append(script)
    last = sorted((script.folder / "log").glob("*.jsonl"))[-1]
    last.chmod(0o444)
    (script.folder / "witness.json").write_bytes(b"broken")
    (script.folder / "state.json").unlink()


def _rebuild(script: Script) -> None:
    engine = script.open()
    script.append(engine)
    script.change_view({"changed": "by somebody else"})
    engine.rebuild()
    script.close(engine)


def _change_the_view(script: Script) -> None:
    """Somebody else writes into the view while the engine runs; the next append puts it back."""
    engine = script.open()
    script.append(engine)
    script.change_view({"changed": "by somebody else"})
    script.append(engine)
    script.append(engine)
    script.close(engine)


def _adopt(script: Script) -> None:
    """Somebody else changes the view, and it is taken over as an event."""
    engine = script.open()
    script.append(engine)
    value = {**script.state, "changed": "by somebody else"}
    script.change_view(value)
    script.ask(Append((("journal.adopted", None),), value), engine.adopt)
    script.append(engine)
    script.close(engine)


def _restore(script: Script) -> None:
    engine = script.open()
    script.append(engine)
    before = script.appends[1].state
    script.ask(Append((("journal.restored", None),), before), lambda: engine.restore(3))
    script.append(engine)
    script.close(engine)


def _prune(script: Script) -> None:
    engine = script.open()
    first = script.snapshot(engine)
    script.append(engine)
    second = script.snapshot(engine)
    script.append(engine)
    script.prune(engine, first)
    script.append(engine)
    script.prune(engine, second)
    script.close(engine)


def _fork(script: Script) -> None:
    engine = script.open()
    for _ in range(4):
        script.append(engine)
    script.fork(engine, engine.seq)
    script.append(engine)
    script.close(engine)


def _import(script: Script) -> None:
    """A history from elsewhere, by batches of two."""
    versions = [
        Version(n=n, time=f"2026-03-01T00:00:{n:02d}Z", value={"n": n, "text": "t" * 3 * n})
        for n in range(1, 8)
    ]
    engine = script.open()
    append_batch = engine.append_batch
    values = [version.value for version in versions]

    def append(drafts: Any, **options: Any) -> Any:
        events = tuple((draft.type, draft.data) for draft in drafts)
        found: list[Any] = []
        state = values[events[-1][1]["n"] - 1]
        script.ask(Append(events, state), lambda: found.extend(append_batch(drafts, **options)))
        return found

    with (
        mock.patch.object(engine, "append_batch", append),
        mock.patch.object(importing, "BATCH_VERSIONS", 2),
    ):
        importing.import_versions(engine, versions)
    script.close(engine)


_SMALL: dict[str, Any] = {"segment_bytes": 700}
_OFTEN: dict[str, Any] = {"snapshots": SnapshotsConfig(log_ratio=0.1, min_bytes=1, keep=3)}
_SELDOM: dict[str, Any] = {"views": ViewsConfig(every_ms=60_000)}
_OS: dict[str, Any] = {"durability": "os"}
# Not in mode os: a line of a lost event cannot be told from somebody else's, and is adopted.
_LINES: dict[str, Any] = {"projection": PROJECTION}

WORKLOADS = (
    Workload("append", make_and_append, _appends),
    Workload("batch", make_and_append, _batches),
    Workload("batch over many pages", make_and_append, _pages),
    Workload("rotation", make_and_append, _with_ids, _SMALL),
    Workload("snapshot", make_and_append, _snapshots),
    Workload("snapshots of the policy", make_and_append, _appends, {**_OFTEN, **_SMALL}),
    Workload("prune", make_and_append, _prune),
    Workload("views now and then", make_and_append, _flushes, _SELDOM),
    Workload("view changed by somebody else", make_and_append, _change_the_view),
    Workload("view adopted", make_and_append, _adopt),
    Workload("restore", make_and_append, _restore),
    Workload("rebuild", make_and_append, _rebuild),
    Workload("view of lines", make_and_append, _flushes, _LINES),
    Workload("view of lines, killed", make_and_append, _killed, _LINES),
    Workload("first start", lambda script: None, _first_start),
    Workload("fork", make_and_append, _fork, _SMALL),
    Workload("import", Script.make, _import),
    Workload("recovery of a torn tail and a broken view", _leave_a_mess, _recover),
    Workload("recovery of a rotation cut off", _leave_a_closed_segment, _recover),
    Workload("recovery of a view ahead of the log", _lose_the_end, _recover_after_a_boot, _OS),
    Workload("mode os", make_and_append, _flushes, _OS),
    Workload("mode os, rotation", make_and_append, _flushes, {**_OS, **_SMALL}),
    Workload("mode os, snapshots", make_and_append, _flushes, {**_OS, **_OFTEN}),
    Workload("mode os, views now and then", make_and_append, _flushes, {**_OS, **_SELDOM}),
    Workload("mode batch", make_and_append, _batch_mode, {"durability": "batch"}),
    Workload("two writers", make_and_append, _two_writers),
    Workload("two writers, rotation", make_and_append, _two_writers, _SMALL),
    Workload("two writers at once", make_and_append, _two_at_once),
    Workload("two writers, mode os", make_and_append, _two_writers_in_turn, _OS),
    Workload("killed and opened again", make_and_append, _killed),
    Workload("killed and opened again, mode os", make_and_append, _killed, _OS),
    Workload("short writes", make_and_append, _short_write),
    Workload("failed sync", make_and_append, _failed_sync),
)
