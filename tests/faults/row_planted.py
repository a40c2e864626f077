"""Row 11: links, FIFOs, folders, devices and forbidden files at every name that a journal opens.

The same in the folders of the five systems is `planted_systems`; names and pointers that somebody
made up are `hostile_names`.


I1  Nothing is followed (but a state file that `journal.yaml` records as a link, a link that a
    person names to be read, and one to a folder named as a journal's), nothing outside the
    journal is read out or written, and nobody's file is deleted.
I2  Nothing waits: every command ends within seconds.
I3  A refusal is a `JournalError`, or an `OSError` with a path, and names what is in the way.
I4  What can be had from the log is had: only its own files and `journal.yaml` may stop a reader.
I5  Once the plant is taken away the journal is whole, with every event that was acknowledged.

Commands run in a forked child, without root's rights where root starts the row: nothing is
forbidden to root.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import journal
from journal import config as configs
from journal.engine import Engine
from tests.faults.commanding import Act, Exited, Told, give_away, run_acts, run_command
from tests.faults.hostile_names import try_hostile
from tests.faults.lines_projection import LINES, PROJECTION
from tests.faults.planted_systems import try_systems
from tests.faults.planting import KEPT, MARK, Outside, plants, take_away
from tests.faults.row import Outcome, Row, Tier, Violation
from tests.faults.tree import memory_folder

_EVENTS = 6

NAMES = {
    "journal.yaml": "journal.yaml",
    "the log's folder": "log",
    "the first segment": "log/00000000000000000001.jsonl",
    "the last segment": "last",
    "the next segment": "next",
    "a segment's keys": "log/00000000000000000001.ids",
    "a leftover in the log": "log/.00000000000000000009.jsonl.0123456789abcdef.journal-tmp",
    "witness.json": "witness.json",
    "the snapshots' folder": "snapshots",
    "a checkpoint": "checkpoint",
    "the next checkpoint": "snapshots/next",
    "a leftover among snapshots": "snapshots/.x.json.0123456789abcdef.journal-tmp",
    "the quarantine": "quarantine",
    "state.json": "state.json",
    "a leftover of state.json": ".state.json.0123456789abcdef.journal-tmp",
    "a view of lines": LINES,
}
"""What is in the way -> the name in the journal's folder, or a word for one that varies."""

GIVEN = "given.json"
"""The name beside the journal that a person gives a command, to read from or to write to."""

_TRUTH = {"journal.yaml", "the log's folder", "the first segment", "the last segment"}
_AHEAD = {"the next segment"}


def run(tier: Tier) -> Outcome:
    """Plant everything at every name of a journal, and of the five systems; run every command."""
    count, places = 0, 0
    with memory_folder() as folder:
        folder.chmod(0o755)
        check_healthy(folder / "healthy")
        for name in NAMES:
            for kind in plants():
                for way, acts in WAYS.items():
                    count += try_one(folder / f"{places}", name, kind, way, acts)
                    places += 1
        for kind in plants():
            for way, acts in GIVEN_WAYS.items():
                count += try_given(folder / f"{places}", kind, way, acts)
                places += 1
        note = f"a journal: {places} places times kinds of plants, {count} commands"
        planted, systems_note = try_systems(folder / "systems", tier)
        named, names_note = try_hostile(folder / "names")
    return Outcome(count + planted + named, notes=(note, systems_note, names_note))


# --- one plant -----------------------------------------------------------------------------------


def try_one(root: Path, name: str, kind: str, way: str, acts: "dict[str, Act]") -> int:
    """Plant one thing at one name and run commands; return how many. Raises `Violation`."""
    where = f"{kind} at {name}, {way}"
    root.mkdir()
    made = root / "run"
    _make(made)
    outside = Outside(root / "outside")
    path = _path_of(made, name)
    original = root / "original"
    if os.path.lexists(path):
        os.rename(path, original)
    elif not path.parent.exists():
        path.parent.mkdir(mode=0o700)
    plants()[kind](path, outside)
    give_away(root)
    planted = os.lstat(path)
    told = run_acts(made, _without_adopt(acts, path, kind), where)
    _check_said(told, where, path, name=name, kind=kind)
    if changes := outside.changes():
        raise Violation(f"{where}: outside of the journal {changes} (I1)")
    if kind == "a folder" and not any(root.rglob(KEPT)):
        raise Violation(f"{where}: somebody's file was deleted (I1)")
    if os.path.lexists(path) and os.lstat(path).st_ino == planted.st_ino:
        take_away(path)
    if original.exists() and not os.path.lexists(path):
        os.rename(original, path)
    if name not in _TRUTH or ("repair", "ok") not in {told_one[:2] for told_one in told}:
        _check_whole(made, _acknowledged(told), where)
    take_away(root)
    return len(acts)


def _without_adopt(acts: "dict[str, Act]", path: Path, kind: str) -> "dict[str, Act]":
    """Leave `adopt` out where it would record a view's link: then it is followed, as designed."""
    if "lin" in kind and path.name in ("state.json", LINES) and kind != "a hard link":
        return {name: act for name, act in acts.items() if name != "adopt"}
    return acts


def try_given(root: Path, kind: str, way: str, acts: "dict[str, Act]") -> int:
    """Plant one thing at a name that a person gives, and run commands. Raises `Violation`."""
    where = f"{kind} as a name that was given, {way}"
    root.mkdir()
    _make(root / "run")
    for name, act in acts.items():
        if kind == "a link to a folder" and name.startswith("init"):
            continue
        outside = Outside(root / "outside")
        path = root / GIVEN
        plants()[kind](path, outside)
        give_away(root)
        for _, outcome, words in run_acts(root / "run", {name: act}, where):
            said = f"{where}: {name}: {outcome}: {words}"
            if "fault in journal itself" in words or (outcome != "ok" and GIVEN not in words):
                raise Violation(f"{said} (I3)")
        if changes := outside.changes():
            raise Violation(f"{where}: {name}: outside of the journal {changes} (I1)")
        for left in set(root.iterdir()) - {root / "run"}:
            take_away(left)
    _check_whole(root / "run", set(), where)
    take_away(root)
    return len(acts)


def check_healthy(root: Path) -> None:
    """Run every command where nothing is planted; all say ok. It imports what they need, too.

    Without root's rights a child may not be able to.
    """
    for way, acts in (WAYS | GIVEN_WAYS).items():
        made, given = root / way / "run", root / way / GIVEN
        _make(made)
        for name, act in acts.items():
            take_away(given)
            if way == "to be read":
                given.write_text(READABLE[name] or _anchor(made))
            try:
                act(made)
            except (Exited, journal.JournalError) as error:
                raise Violation(f"with nothing planted, {way}: {name}: {error}") from error


def _anchor(made: Path) -> str:
    with journal.open(made, read_only=True) as engine:
        head = engine.head()
    return f"{head.seq}:{head.sha256}"


def _make(path: Path) -> None:
    """Make a journal that has one of everything."""
    journal.init(path, projection=PROJECTION).close()
    settings = configs.read(path)
    settings.projection = "tests.faults.lines_projection:PROJECTION"
    settings.segment_bytes = 700
    configs.write(path, settings)
    with journal.open(path) as engine:
        for n in range(1, _EVENTS + 1):
            engine.append("set", {"path": "/n", "value": n}, id=f"k-{n}")
        engine.snapshot(trigger="asked for")
        engine.append("set", {"path": "/m", "value": 1}, id="k-0")
        engine._core.log.find_key("nobody")
    (path / "quarantine").mkdir(exist_ok=True, mode=0o700)


def _path_of(made: Path, name: str) -> Path:
    segments = sorted((made / "log").glob("*.jsonl"))
    match NAMES[name]:
        case "last":
            return segments[-1]
        case "next":
            with journal.open(made, read_only=True) as engine:
                return made / "log" / journal.segment.name_of(engine.seq + 2)
        case "checkpoint":
            return min((made / "snapshots").glob("*.json"))
        case "snapshots/next":
            with journal.open(made, read_only=True) as engine:
                return made / "snapshots" / f"{engine.seq + 1:020d}.manual.json"
        case file:
            return made / file


# --- what is run ---------------------------------------------------------------------------------


def command(*arguments: str) -> Act:
    """Return what runs a command of the command line; the answer is all that it said."""

    def act(made: Path) -> str:
        given = str(made.parent / GIVEN)
        argv = [word.replace("GIVEN", given) for word in arguments]
        if "-d" not in argv and "init" not in argv:
            argv += ["-d", str(made)]
        return run_command(argv)

    return act


def reading(act: "Callable[[Engine], object]") -> Act:
    """Open for reading and do something."""
    return lambda made: _with(made, act, read_only=True)


def writing(act: "Callable[[Engine], object]") -> Act:
    """Open for writing and do something; a view in the way is put back."""
    return lambda made: _with(made, act, on_drift="replace")


def _with(made: Path, act: "Callable[[Engine], object]", **options: Any) -> object:
    with journal.open(made, **options) as engine:
        return act(engine)


def _append(engine: Engine) -> str:
    """Append over a rotation; what is acknowledged is said."""
    seqs = [engine.append("set", {"path": f"/a{n}", "value": n}).seq for n in range(8)]
    return f"seqs {' '.join(map(str, seqs))}"


WAYS: dict[str, dict[str, Act]] = {
    "read by Python": {
        "state": reading(lambda j: j.state),
        "events": reading(lambda j: len(list(j.events()))),
        "state_at": reading(lambda j: j.state_at(4)),
        "verify": reading(lambda j: j.verify().problems),
        "status": reading(lambda j: j.status()),
        "snapshots": reading(lambda j: j.snapshots()),
        "head": reading(lambda j: j.head()),
        "blame": reading(lambda j: list(j.blame("/n"))),
        "audit": reading(lambda j: j.audit()),
    },
    "read by commands": {
        name: command(*name.split())
        for name in (
            "state",
            "log",
            "verify",
            "status",
            "checkpoints",
            "head",
            "audit",
            "export",
            "repair --dry-run",
        )
    },
    "written by Python": {
        "append": writing(_append),
        "snapshot": writing(lambda j: j.snapshot(trigger="again")),
        "rebuild": writing(lambda j: j.rebuild()),
        "key": writing(lambda j: j.append("set", {"path": "/n", "value": 1}, id="k-1")),
        "restore": writing(lambda j: j.restore(4)),
        "flush": writing(lambda j: j.flush()),
    },
    "written by commands": {
        name: command(*name.split())
        for name in (
            'append set {"path":"/c","value":1}',
            "checkpoint",
            "adopt",
            "rebuild",
            "repair",
            'append set {"path":"/c","value":2}',
        )
    },
}


READABLE = {
    "import file GIVEN -d GIVEN.file": "{}",
    "import versions GIVEN -d GIVEN.run": '{"n":1,"time":"2026-03-01T00:00:00Z","content":"{}"}',
    "append --batch GIVEN": '{"type":"set","data":{"path":"/g","value":1}}',
    "verify --anchors GIVEN": "",  # the journal's own head
    "repair --state GIVEN": "{}",
}
"""A command that reads what a person names -> what it reads well."""

GIVEN_WAYS: dict[str, dict[str, Act]] = {
    "to be read": {name: command(*name.split()) for name in READABLE},
    "to be written": {
        name: command(*name.split())
        for name in (
            "export -o GIVEN",
            "export --format csv -o GIVEN",
            "audit --json -o GIVEN",
            "fork GIVEN",
            "init GIVEN",
        )
    },
}


# --- what must hold ------------------------------------------------------------------------------


def _check_said(told: Told, where: str, path: Path, *, name: str, kind: str) -> None:
    for act, outcome, words in told:
        said = f"{where}: {act}: {outcome}: {words}"
        if MARK in words and kind != "a hard link":
            raise Violation(f"{said} (I1: it was followed)")
        if "fault in journal itself" in words:
            raise Violation(f"{said} (I3)")
        if outcome == "ok":
            continue
        if act != "repair" and path.name not in words and path.parent.name not in words:
            raise Violation(f"{said} (I3: {path.name} is not named)")
        if act in _PLAIN_READING and name not in _TRUTH | _AHEAD and not _is_claim(name, kind):
            raise Violation(f"{said} (I4)")


def _is_claim(name: str, kind: str) -> bool:
    """Say whether a regular file says by its name that an event is gone: that has to be told."""
    return name == "the next checkpoint" and kind in ("a hard link", "a forbidden file")


_PLAIN_READING = {"state", "events", "state_at", "blame", "head", "status", "log", "export"}


def _acknowledged(told: Told) -> set[int]:
    return {
        int(seq)
        for act, outcome, words in told
        if (act, outcome) == ("append", "ok") and words.startswith("seqs ")
        for seq in words.split()[1:]
    }


def _check_whole(made: Path, acknowledged: set[int], where: str) -> None:
    with _named(where), journal.open(made, on_drift="replace") as engine:
        if missing := acknowledged - {event.seq for event in engine.events()}:
            raise Violation(f"{where}: acknowledged events {missing} are gone (I5)")
        engine.append("set", {"path": "/z", "value": 0})
        engine.rebuild()
        report = engine.verify()
        if not report.ok:
            raise Violation(f"{where}: then {report.problems} (I5)")


@contextlib.contextmanager
def _named(where: str) -> Iterator[None]:
    try:
        yield
    except (journal.JournalError, OSError) as error:
        raise Violation(f"{where}: then it does not open: {error} (I5)") from error


ROW = Row(11, "links, FIFOs, folders, devices, forbidden files at every name; hostile names", run)
