"""Files whose times say nothing: every file and folder of a journal ten years older, or of 2106.

I1  Neither the state nor what stands in a view, a snapshot or the log is judged by a file's time:
    the journal is healthy, whole and quiet, whatever the times are.
I2  What was changed in a view is found though its time and size are as they were.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import journal
from journal import config as configs
from journal.config import SnapshotsConfig
from journal.errors import Drift
from tests.faults.row import Violation

MOMENTS_S: Mapping[str, int] = {
    "ten years back": 1_480_000_000,
    "ten years on": 2_110_000_000,
    "1970": 0,
    "before 1970": -86_400 * 365,
    "the end of 32 bits": 2**31 - 1,
    "2106, the end of 32 bits without a sign": 2**32,
    "in the year 2400": 13_569_465_600,
}
"""What the times of files are set to, in seconds since 1970."""


def set_times(folder: Path, moment_s: int) -> None:
    """Set the times of everything in a folder, and its own; nothing behind a link."""
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.utime(os.path.join(root, name), (moment_s, moment_s), follow_symlinks=False)
    os.utime(folder, (moment_s, moment_s))


def age_often(folder: Path) -> int:
    """Let a journal live under every time of its files; return how many times. Raises."""
    count = 0
    for name, moment_s in MOMENTS_S.items():
        age(folder / f"{count}", name, moment_s)
        count += 1
    return count


def age(path: Path, name: str, moment_s: int) -> None:
    """Append, set the times, and go on: opened before, and opened after. Raises `Violation`."""
    journal.init(path).close()
    settings = configs.read(path)
    settings.segment_bytes, settings.snapshots = 1500, SnapshotsConfig(min_bytes=400, keep=3)
    configs.write(path, settings)
    wanted: dict[str, int] = {}
    with journal.open(path) as engine:
        _append(engine, wanted, 20)
        engine.snapshot(trigger="asked for")
        set_times(path, moment_s)
        _append(engine, wanted, 20)
    for _ in range(2):
        set_times(path, moment_s)
        said: list[str] = []
        with journal.open(path, read_only=True, on_message=said.append) as engine:
            _check(engine, wanted, name)
        with journal.open(path, on_message=said.append) as engine:
            _append(engine, wanted, 5)
            _check(engine, wanted, name)
            if written := engine.rebuild().written:
                raise Violation(f"file times {name}: {written} differed (I1)")
        if said:
            raise Violation(f"file times {name}: it says {said} (I1)")
        if (found := journal.doctor(path)).problems:
            raise Violation(f"file times {name}: the doctor finds {found.problems} (I1)")
    _check_edit(path, wanted, name)


def _append(engine: journal.Engine, wanted: dict[str, int], count: int) -> None:
    for n in range(count):
        wanted[f"k{n % 7}"] = seq = engine.seq
        engine.append("set", {"path": f"/k{n % 7}", "value": seq})


def _check(engine: journal.Engine, wanted: dict[str, int], name: str) -> None:
    if engine.state != wanted or engine.replay() != wanted:
        raise Violation(f"file times {name}: the state is {engine.state}, not {wanted} (I1)")
    if not (report := engine.verify()).ok:
        raise Violation(f"file times {name}: {report.problems} (I1)")


def _check_edit(path: Path, wanted: dict[str, int], name: str) -> None:
    """Change a view in its place, and put size and time back (I2)."""
    view = path / "state.json"
    found, data = view.stat(), view.read_bytes()
    with open(view, "r+b") as file:
        file.write(data.replace(b"k", b"x"))
    os.utime(view, ns=(found.st_atime_ns, found.st_mtime_ns))
    try:
        with journal.open(path) as engine:
            engine.append("set", {"path": "/k0", "value": 1})
    except Drift:
        return
    raise Violation(f"file times {name}: a view that was changed is not told (I2)")
