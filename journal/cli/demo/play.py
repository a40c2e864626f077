"""The demo's five scenes, each told in words and checked.

I1  A check that does not hold ends the demo with an error; nothing is claimed that was not looked
    at. What is simulated is said to be.
"""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import journal
from journal import codec
from journal.cli import output
from journal.engine.reports import CheckpointInfo
from journal.errors import Drift, JournalError
from journal.log.history import Head
from journal.segment import Segment, list_names
from projections.document.importing import import_versions
from projections.document.translation import parse
from projections.document.version import Version
from projections.document.versions import read_versions
from projections.patch import equal

if TYPE_CHECKING:
    from journal import Engine

HISTORY = Path(__file__).parent / "session-state.jsonl.gz"
_ACKNOWLEDGED = 3
_SCRIBBLED = ("memory", "rules_count")

Tell = Callable[[str], None]


def play(folder: Path, tell: Tell) -> None:
    """Play all scenes in a journal at `folder`; raises `JournalError` where a check fails."""
    started = time.monotonic()
    stage = _Stage(folder, tell)
    history = _a_history_becomes_a_journal(stage)
    _a_writer_is_killed(stage)
    _somebody_scribbles(stage)
    _all_but_the_log_is_deleted(stage, history.checkpoint)
    _travel_back(stage, history)
    seconds = time.monotonic() - started
    tell("")
    tell(f"All {stage.checks} checks hold ({seconds:.1f} s).")


class _Stage:
    """Where the demo plays, and how it tells and checks."""

    def __init__(self, folder: Path, tell: Tell) -> None:
        self.folder = folder
        self.tell = tell
        self.checks = 0
        self._scenes = 0

    def scene(self, title: str, *lines: str) -> None:
        """Begin a scene."""
        self._scenes += 1
        if self._scenes > 1:
            self.tell("")
        self.tell(f"{self._scenes}. {title}")
        for line in lines:
            self.tell(f"   {line}")

    def check(self, what: str, holds: bool) -> None:
        """Tell what was found to hold; raises `JournalError` if it does not."""
        if not holds:
            raise JournalError(
                f"the demo failed in scene {self._scenes}: it does not hold that {what}",
                advice="That is a fault in journal; `journal demo DIR` keeps the folder.",
            )
        self.checks += 1
        self.tell(f"   {output.paint('ok', 'good', sys.stdout)}  {what}")

    def says(self, text: str) -> None:
        """Tell what the engine said."""
        short = output.plain(text.replace(f"{self.folder}{os.sep}", ""))
        for line in textwrap.wrap(f"the engine says: {short}", 88, break_on_hyphens=False):
            self.tell(f"       {line}")

    def open(self, **options: Any) -> "Engine":
        """Open the journal; what the engine says is told."""
        return journal.open(self.folder, on_message=self.says, **options)

    @property
    def state_file(self) -> Path:
        """The view that everybody reads."""
        return self.folder / "state.json"


class _History(NamedTuple):
    versions: list[Version]
    head: Head
    checkpoint: CheckpointInfo


# --- 1 -------------------------------------------------------------------------------------------


def _a_history_becomes_a_journal(stage: _Stage) -> _History:
    versions = [found for found in read_versions(HISTORY) if isinstance(found, Version)]
    content_bytes = sum(len(v.content) for v in versions if isinstance(v.content, bytes))
    first, last = versions[0].time[:10], versions[-1].time[:10]
    stage.scene(
        "A history becomes a journal",
        f"An agent kept its session in state.json and committed it {len(versions)} times,",
        f"{first} to {last}. Each version becomes one event that holds what changed in it.",
    )
    report = import_versions(stage.folder, versions)
    stage.check(f"{len(versions)} versions are {report.imported} events", report.ok)
    with stage.open() as engine:
        checkpoint = engine.snapshot("manual", "the end of the history")
        verified, head, log_bytes = engine.verify(), engine.head(), engine.status().log_bytes
        stage.check(
            f"{output.size(content_bytes)} of versions are a log of {output.size(log_bytes)}",
            log_bytes < content_bytes,
        )
        stage.check("`verify` reads every byte and finds it sound", verified.ok)
        shown = stage.state_file.read_bytes() == _as_view(engine.state)
        stage.check("state.json shows the newest version", shown)
    stage.tell(f"       for later we note the head of history: {head.seq}:{head.sha256[:16]}…")
    return _History(versions, head, checkpoint)


def _as_view(state: Any) -> bytes:
    from projections.view_kinds import render_json

    return render_json(state)


# --- 2 -------------------------------------------------------------------------------------------


def _a_writer_is_killed(stage: _Stage) -> None:
    stage.scene(
        "A writer is killed in the middle of an append",
        f"Another process appends {_ACKNOWLEDGED} events. In its next append it gets SIGKILL when",
        "half of the line is in the file. (A kill from outside hits that moment once in thousands",
        "of tries, so the process cuts its own write short and kills itself; the rest is real.)",
    )
    killed, acknowledged = _run_victim(stage.folder)
    stage.check(f"it was told {_ACKNOWLEDGED} times that its event is stored", killed.told)
    stage.check("then it died of signal 9, with no chance to clean up", killed.by_signal)
    with Segment(stage.folder / "log" / killed.segment) as segment:
        torn = segment.read(segment.last_line_end(0, segment.size()), segment.size())
    stage.check(f"the log ends with half a line: {len(torn)} bytes", len(torn) > 0)
    with stage.open() as engine:
        stored = [event.seq for event in engine.events(after=acknowledged[0] - 1)]
        recovered = [event.seq for event in engine.events() if event.type == "journal.recovered"]
        stage.check(
            f"every event it was told of is there: {', '.join(map(str, acknowledged))}; "
            f"event {stored[-1]} says what was found",
            stored == [*acknowledged, *recovered] and len(recovered) == 1,
        )
        event = engine.append("remove", {"path": "/note"}, actor="demo")
        stage.check(f"appending goes on with event {event.seq}", event.seq == stored[-1] + 1)
    kept = [path.read_bytes() for path in (stage.folder / "quarantine").iterdir()]
    stage.check("the half line is kept in quarantine/, nothing was thrown away", torn in kept)


class _Killed(NamedTuple):
    told: bool
    by_signal: bool
    segment: str


def _run_victim(folder: Path) -> tuple[_Killed, list[int]]:
    code = Path(journal.__file__).parent.parent
    paths = os.pathsep.join(filter(None, [str(code), os.environ.get("PYTHONPATH", "")]))
    ran = subprocess.run(
        [sys.executable, "-m", "journal.cli.demo.victim", str(folder), str(_ACKNOWLEDGED)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    acknowledged = [int(line) for line in ran.stdout.split()]
    killed = _Killed(
        told=len(acknowledged) == _ACKNOWLEDGED,
        by_signal=ran.returncode == -signal.SIGKILL,
        segment=list_names(folder / "log")[-1],
    )
    if not killed.told:
        raise JournalError(f"the process that was to be killed failed first: {ran.stderr.strip()}")
    return killed, acknowledged


# --- 3 -------------------------------------------------------------------------------------------


def _somebody_scribbles(stage: _Stage) -> None:
    stage.scene(
        "Somebody scribbles over state.json",
        "A program that knows nothing of the journal writes a number of its own into the view.",
    )
    before = stage.state_file.read_bytes()
    state = codec.decode_value(before)
    state[_SCRIBBLED[0]][_SCRIBBLED[1]] = 999_999
    scribble = _as_view(state)
    stage.state_file.write_bytes(scribble)
    try:
        stage.open().close()
        refused = None
    except Drift as error:
        refused = error
        stage.says(error.message)
    pointer = "" if refused is None else refused.pointer
    stage.check(
        "a writer refuses to go on over it, and says where it differs",
        pointer == "/" + "/".join(_SCRIBBLED),
    )
    with stage.open(on_drift="replace") as engine:
        engine.rebuild()
    stage.check(
        "`rebuild` puts state.json back byte for byte", stage.state_file.read_bytes() == before
    )
    kept = [path.read_bytes() for path in (stage.folder / "quarantine").iterdir()]
    stage.check("the scribble is kept in quarantine/", scribble in kept)


# --- 4 -------------------------------------------------------------------------------------------


def _all_but_the_log_is_deleted(stage: _Stage, checkpoint: CheckpointInfo) -> None:
    stage.scene(
        "Everything but the log is deleted",
        "state.json, the snapshots, the engine's own notes: all of it, but log/ and journal.yaml.",
    )
    kept_as = stage.folder / "snapshots" / checkpoint.file
    before = stage.state_file.read_bytes(), kept_as.read_bytes()
    for path in stage.folder.iterdir():
        if path.is_dir() and path.name != "log":
            shutil.rmtree(path)
        elif path.is_file() and path.name != "journal.yaml":
            path.unlink()
    with stage.open() as engine:
        engine.rebuild()
    after = stage.state_file.read_bytes(), kept_as.read_bytes()
    stage.check("state.json is back byte for byte", before[0] == after[0])
    stage.check(
        f"the checkpoint taken at event {checkpoint.seq} is back byte for byte",
        before[1] == after[1],
    )


# --- 5 -------------------------------------------------------------------------------------------


def _travel_back(stage: _Stage, history: _History) -> None:
    stage.scene(
        "Travel back",
        "Any state can be had again, by the number of an event or by a time.",
    )
    with stage.open(read_only=True) as engine:
        for version in (history.versions[0], history.versions[len(history.versions) // 2]):
            state = engine.state_at(version.time)
            rules = state["memory"]["rules_count"]
            stage.tell(f"       at {version.time} the agent knew {rules} rules")
        stage.tell(f"       now it knows {engine.state['memory']['rules_count']}")
        count = _compare_all(engine, history.versions)
        stage.check(f"all {count} versions that parse are had back exactly, as data", count > 0)
        anchor = (history.head.seq, history.head.sha256)
        verified = engine.verify([anchor])
    stage.check(
        f"the head noted in scene 1 holds: nothing up to event {history.head.seq} has changed",
        verified.ok,
    )


def _compare_all(engine: "Engine", versions: list[Version]) -> int:
    """Compare each version with the state after its event; return how many parse."""
    by_number = {version.n: version for version in versions}
    count = 0
    for event in engine.events():
        if event.type != "imported":
            continue
        version = by_number[event.data["n"]]
        if version.content is None or (parsed := parse(version)).why:
            continue
        if not equal(parsed.value, engine.state_at(event.seq)):
            raise JournalError(f"the state at event {event.seq} is not version {version.n}")
        count += 1
    return count
