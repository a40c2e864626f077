"""Row 11, names and pointers that somebody made up: each is refused clearly, or stays confined.

I1  A name that a file or another program brings (a view's path in `journal.yaml`, a thread, a run,
    a slug, a key, a checkpoint) leads nowhere but into the folder that it belongs to.
I2  A name that a person gives to write to changes that place and no other.
I3  A refusal is an error of the tree and says something; no name and no pointer is a fault.
I4  The journal is whole afterwards, and has what was acknowledged, character by character.
"""

import codecs
import contextlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import journal
from projections.agloop.agloop import AgLoop
from projections.task_state.file_storage import FileStorage
from projections.task_state.task_state import TaskState
from tests.faults.commanding import Act, Exited, give_away, run_acts, run_command
from tests.faults.row import Violation
from tests.faults.systems import PIPELINE, put
from tests.faults.tree import Tree, differences, read_tree

NAMES: Mapping[str, str] = {
    "up": "..",
    "up and away": "../../outside/new.json",
    "away by itself": "{outside}/new.json",
    "a file that is there": "{outside}/file.json",
    "inside, by itself": "{work}/inside.json",
    "down and up": "x/../../../outside/new.json",
    "the root": "/",
    "here": ".",
    "nothing": "",
    "a space": " ",
    "NUL": "a\0b",
    "a new line": "a\nb",
    "a tab": "a\tb",
    "an escape": "\x1b[31ma",
    "256 bytes": "a" * 256,
    "256 bytes of two each": "ä" * 128,
    "a path that is too long": "a/" * 2500 + "a",
    "home": "~",
    "a file at home": "~/new.json",
    "nobody's home": "~nobody-of-that-name/x",
    "half a surrogate pair": "a\ud800b",
    "a byte that is no text": "a\udcffb",
    "a device of Windows": "CON",
    "a stream of Windows": "a:b",
    "a drive of Windows": "C:\\x",
    "a path of Windows": "..\\..\\outside\\new.json",
    "a dot at the end": "a.",
    "a space at the end": "a ",
    "hidden": ".x",
    "an option": "-x",
    "percent": "%2e%2e%2f%2e%2e%2foutside%2fnew.json",
    "a pattern": "*",
    "a variable": "$HOME",
    "right to left": "a\u202eb",
    "composed": "e\u0301",
    "the journal's own": "journal.yaml",
    "the log": "log/00000000000000000001.jsonl",
    "the witness": "witness.json",
    "deep": "x/" * 40 + "new.json",
    "a circle of links": "../../../circle/new.json",
}

POINTERS: Mapping[str, str] = {
    "the whole": "",
    "an empty key": "/",
    "two empty keys": "//",
    "no slash": "a",
    "an unknown escape": "/a~2",
    "half an escape": "/a~",
    "an escape alone": "~",
    "the end of a list": "/list/-",
    "behind the end": "/list/-/x",
    "an index with a nought": "/list/01",
    "an index below nought": "/list/-1",
    "an index that is large": "/list/99999999999999999999",
    "an index of other digits": "/list/\u0661",
    "into text": "/text/0",
    "into a number": "/n/0",
    "missing": "/missing/more",
    "NUL": "/a\0b",
    "a new line": "/a\nb",
    "half a surrogate pair": "/a\ud800",
    "a byte that is no text": "/a\udcff",
    "up": "/../..",
    "very long": "/" + "a" * 100_000,
    "very deep": "/a" * 5000,
    "a fragment": "#/n",
    "jq": ".n",
}


class Use(NamedTuple):
    """What is done with a name: it runs in the working folder; `given`: it is a person's (I2).

    `words`: it is a word of a command, which the system hands over without a NUL, and as bytes.
    """

    act: Callable[[Path, str], object]
    given: bool = False
    words: bool = True


def cli(*words: str, stdin: bytes = b"") -> Callable[[Path, str], object]:
    """Return what runs a command with the name in the place of NAME."""

    def act(_work: Path, name: str) -> str:
        return run_command([word.replace("NAME", name) for word in words], stdin)

    return act


def _view_path(work: Path, name: str) -> None:
    """Let journal.yaml put the view somewhere, then append."""
    path = work / "run/journal.yaml"
    before = path.read_bytes()
    settings = before.decode().partition("views:")[0]
    text = f"{settings}\nviews:\n  files: {{state: {json.dumps(name)}}}\n"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        with journal.open(work / "run", on_drift="replace") as engine:
            engine.append("set", {"path": "/n", "value": 2})
    finally:
        path.write_bytes(before)


def _init_view(work: Path, name: str) -> None:
    number = len(os.listdir(work))
    journal.init(work / f"run-{number}", view_files={"state": name}).close()


def _projection(work: Path, name: str) -> None:
    path = work / "run/journal.yaml"
    before = path.read_bytes()
    text = before.decode().replace("projection: document", f"projection: {json.dumps(name)}")
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        journal.open(work / "run").close()
    finally:
        path.write_bytes(before)


def _prune(work: Path, name: str) -> None:
    with journal.open(work / "run") as engine:
        engine._core.store.remove(name)


def _snapshot(work: Path, name: str) -> None:
    with journal.open(work / "run") as engine:
        engine.append("set", {"path": "/n", "value": 3})
        engine.snapshot(type=name)


def _stored(work: Path, name: str) -> None:
    storage = FileStorage(work / "run-files")
    storage.set(name, 1)
    if storage.get(name) != 1 or name not in storage.list(name):
        raise Violation(f"key {name!r} is kept under another name (I4)")


USES: Mapping[str, Use] = {
    "a view's path in journal.yaml": Use(_view_path, words=False),
    "a view's path at init": Use(_init_view, words=False),
    "a projection in journal.yaml": Use(_projection, words=False),
    "a checkpoint that is pruned": Use(_prune, words=False),
    "a checkpoint's type": Use(_snapshot, words=False),
    "checkpoint --trigger": Use(cli("checkpoint", "-d", "run", "--trigger", "NAME")),
    "a place in history": Use(cli("state", "-d", "run", "--at", "NAME")),
    "a place to restore": Use(cli("restore", "-d", "run", "NAME")),
    "an event's type": Use(cli("append", "-d", "run", "NAME", "{}")),
    "an actor": Use(cli("append", "-d", "run", "merge", '{"patch":{}}', "--actor", "NAME")),
    "an id": Use(cli("append", "-d", "run", "merge", '{"patch":{}}', "--id", "NAME")),
    "a thread": Use(cli("task", "init", "--dir", "run-task", "--thread", "NAME")),
    "a child": Use(cli("task", "spawn", "NAME", "--dir", "run-task", "--thread", "main")),
    "a key": Use(cli("task", "storage", "set", "NAME", "1", "--dir", "run-task")),
    "a key of a file": Use(_stored, words=False),
    "a pipeline": Use(
        cli(
            *("pipeline", "init", "NAME", "--pattern", "1", "--phases", "phases.json"),
            *("--tier", "claude", "--profile", "profile.json", "--plugin-version", "1.0.0"),
            *("--root", "run-runs"),
        )
    ),
    "a run id": Use(
        cli(
            *("pipeline", "init", "review", "--pattern", "1", "--phases", "phases.json"),
            *("--tier", "claude", "--profile", "profile.json", "--plugin-version", "1.0.0"),
            *("--root", "run-runs", "--run-id", "NAME"),
        )
    ),
    "a run": Use(cli("pipeline", "status", "NAME", "--root", "run-runs")),
    "a slug": Use(cli("plan", "init", "x", "--slug", "NAME", "--plans-dir", "run-plans")),
    "a statement": Use(cli("plan", "init", "NAME", "--plans-dir", "run-plans")),
    "a plan": Use(cli("plan", "status", "NAME", "--plans-dir", "run-plans")),
    "a task of a loop": Use(cli("agloop", "task", "start", "NAME", "--dir", "run-loop")),
    "a checkpoint to recover from": Use(
        cli("agloop", "recover", "--from", "NAME", "--dir", "run-loop")
    ),
    "a transcript": Use(
        lambda work, name: run_command(
            ["agloop", "hook", "pre-compact"],
            json.dumps({"cwd": f"{work}/run-loop", "transcript_path": name}).encode(),
        ),
        words=False,
    ),
    "a hook's folder": Use(
        lambda _, name: run_command(["agloop", "hook", "stop"], json.dumps({"cwd": name}).encode()),
        words=False,
    ),
    "export -o": Use(cli("export", "-d", "run", "-o", "NAME"), given=True),
    "audit -o": Use(cli("audit", "-d", "run", "-o", "NAME"), given=True),
    "fork": Use(cli("fork", "NAME", "--at", "head", "-d", "run"), given=True),
    "init": Use(cli("init", "NAME"), given=True),
    "a loop's file": Use(
        cli(
            *("loop", "init", "--file", "NAME", "--task", "t", "--objective", "o"),
            *("--max-attempts", "3", "--next-action", "n"),
        ),
        given=True,
    ),
    "-d": Use(cli("status", "-d", "NAME")),
    "import file": Use(cli("import", "file", "NAME", "-d", "run-imported")),
    "verify --anchors": Use(cli("verify", "-d", "run", "--anchors", "NAME")),
    "append --batch": Use(cli("append", "-d", "run", "--batch", "NAME")),
}

POINTER_USES: Mapping[str, Use] = {
    "blame": Use(cli("blame", "-d", "run", "NAME")),
    "diff": Use(cli("diff", "-d", "run", "1", "head", "NAME")),
    "log --touching": Use(cli("log", "-d", "run", "--touching", "NAME", "--stat")),
    "set": Use(lambda work, name: _change(work, "set", name), words=False),
    "remove": Use(lambda work, name: _change(work, "remove", name), words=False),
    "patch": Use(lambda work, name: _change(work, "patch", name), words=False),
}


def _change(work: Path, kind: str, pointer: str) -> None:
    """Append in an own journal, and take back what was done, so that each meets the same state."""
    data = {
        "set": {"path": pointer, "value": 1},
        "remove": {"path": pointer},
        "patch": {"patch": [{"op": "copy", "from": pointer, "path": "/copied"}]},
    }[kind]
    with journal.open(work / "run") as engine:
        before = engine.seq
        engine.append(kind, data)
        if engine.state_at(engine.seq) != engine.state or engine.replay() != engine.state:
            raise Violation(f"{kind} at {pointer[:50]!r} is folded to another state (I4)")
        engine.restore(before)


# --- trying --------------------------------------------------------------------------------------


def try_hostile(folder: Path) -> tuple[int, str]:
    """Try every name and pointer in every use; return how many, and a note."""
    import_all(folder / "healthy")
    tried = 0
    for uses, values in ((USES, NAMES), (POINTER_USES, POINTERS)):
        for number, (use, how) in enumerate(uses.items()):
            tried += try_use(folder / f"{number}-{len(values)}", use, how, values)
    note = f"{len(NAMES)} hostile names in {len(USES)} uses, "
    return tried, note + f"{len(POINTERS)} pointers in {len(POINTER_USES)}"


def import_all(root: Path) -> None:
    """Use a name that is none of these once: a child without root's rights may not import."""
    codecs.lookup("unicode_escape")
    work = make(root)
    with contextlib.chdir(work):
        for how in (*USES.values(), *POINTER_USES.values()):
            with contextlib.suppress(Exited, journal.JournalError):
                how.act(work, "new/fine")


def try_use(root: Path, use: str, how: Use, values: Mapping[str, str]) -> int:
    """Try every value in one use, in a child; return how many. Raises `Violation`."""
    work = make(root)
    acts = {
        what: _confined(root, how, value)
        for what, value in values.items()
        if not (how.words and what in ("NUL", "half a surrogate pair"))
    }
    give_away(root)
    for what, outcome, words in run_acts(work, acts, use):
        said = f"{use} that is {what}: {outcome}: {words[:500]}"
        if "fault in journal itself" in words or outcome not in _OUTCOMES:
            raise Violation(f"{said} (I3)")
        if outcome != "ok" and not words.strip():
            raise Violation(f"{said} (I3: it says nothing)")
    with journal.open(work / "run", on_drift="replace") as engine:
        if engine.state.get("text") != "kept" or not (report := engine.verify()).ok:
            raise Violation(f"{use}: afterwards {engine.state}, {report.problems} (I4)")
    return len(acts)


_OUTCOMES = {"ok", *(f"exit {code}" for code in range(1, 8))} | {
    *("UsageError", "Corrupt", "OSError", "UnsupportedFormat", "Drift", "JournalError"),
}


def make(root: Path) -> Path:
    """Make the working folder with a journal `run`, what lies outside, and a home; return it."""
    work = root / "a/work"
    work.mkdir(parents=True)
    for outside in (root / "outside", root / "home"):
        outside.mkdir()
        (outside / "file.json").write_text("{}")
    put(work, PIPELINE.given)
    AgLoop.init(work / "run-loop/.agloop", feature_name="x").close()
    with TaskState("main", root=work / "run-task") as task:
        task.init()
    if not os.path.lexists(root.parent / "circle"):
        (root.parent / "circle").symlink_to("circle")
    with journal.init(work / "run") as engine:
        engine.append("set", {"path": "", "value": {"n": 1, "text": "kept", "list": [1, 2]}})
    return work


def _confined(root: Path, how: Use, value: str) -> Act:
    """Return what uses the value, and sees that nothing changed where it must not (I1, I2)."""
    work = root / "a/work"
    name = value.replace("{outside}", str(root / "outside")).replace("{work}", str(work))

    def act(_: Path) -> str:
        os.chdir(work)
        os.environ["HOME"] = str(root / "home")
        before = _read(root)
        try:
            how.act(work, name)
            return "done"
        except Exited as error:
            return _pass_on(error)
        finally:
            changes = differences(before, _read(root))
            if wrong := [said for said in changes if not _may_change(said, how, name, root)]:
                raise Violation(f"{name[:80]!r} changed {wrong[:5]} (I1, I2)")

    return act


def _read(root: Path) -> Tree:
    try:
        return read_tree(str(root))
    except OSError as error:
        raise Violation(f"what was made cannot be read: {error}") from error


def _pass_on(error: Exited) -> str:
    raise error


def _may_change(said: str, how: Use, name: str, root: Path) -> bool:
    """Say whether a change (as `differences` words it) is in the journal, or the person's (I2)."""
    path = said.removesuffix(" appeared").partition(" differs")[0]
    if path.startswith("a/work/run"):
        return True
    if not how.given:
        return False
    as_written = root / "a/work" / name  # where x is missing, it is made on the way of x/../y
    target = os.path.relpath(os.path.normpath(as_written), root).removesuffix(".json")
    return path.startswith(target) or any(root / path == parent for parent in as_written.parents)
