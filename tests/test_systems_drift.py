"""The five systems and what befalls a state file: each cell of the table, on the command line.

    the file is           agloop    task      pipeline  plan      loop
    deleted               rebuilt   rebuilt   rebuilt   rebuilt   rebuilt
    cut short             rebuilt   rebuilt   rebuilt   rebuilt   rebuilt
    NUL bytes             rebuilt   rebuilt   rebuilt   rebuilt   rebuilt
    conflict markers      rebuilt   Drift     Drift     Drift     Drift
    edited validly        adopted   Drift     adopted   adopted   Drift
    edited invalidly      Drift     Drift     Drift     Drift     Drift

rebuilt: exit 0, said, the file as the log has it, the bytes in quarantine. adopted: exit 0, said,
an event. Drift: exit 7, neither file nor log touched, and the command that is named really helps.
"""

import hashlib
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from tests.cli.command import Ran, run

RUN = "review-20260301-144500"
PIPELINE = f".superpipelines/temp/review/{RUN}/pipeline-state"
THREAD = ".task-state/layers/task-state/t"
GAP = '{"reason": "it stalled", "fallback": "searched inline"}'


class System(NamedTuple):
    """A system: how a life begins, a verb, and where its state file and its journal lie."""

    name: str
    begin: list[str]
    verb: str
    file: str
    journal: str
    valid: tuple[str, str]
    invalid: tuple[str, str]
    rule: str
    """What is said of the invalid edit."""
    moves: tuple[str, ...] = ()
    """Members that recovering or adopting moves by itself, as an event that is logged does."""


SYSTEMS = {
    system.name: system
    for system in (
        System(
            "agloop",
            ["agloop init --feature cache", "agloop phase research"],
            "agloop context set plan_digest short",
            ".agloop/state.json",
            ".agloop/journal",
            ('"feature_name": "cache"', '"feature_name": "by hand"'),
            ('"current_phase": "research"', '"current_phase": "resaerch"'),
            "resaerch",
            ("last_action",),
        ),
        System(
            "task",
            ["task init --thread t", "task set k 1 --thread t"],
            "task artifact out.txt --thread t",
            f"{THREAD}/state.json",
            f"{THREAD}/journal",
            ('"k": 1', '"k": "by hand"'),
            ('"files": []', '"files": 7'),
            "files",
        ),
        System(
            "pipeline",
            [
                "pipeline init review --pattern 1 --phases phases.json --tier claude "
                f"--profile profile.json --plugin-version 2.1.0 --run-id {RUN}",
                f"pipeline start {RUN} 0",
            ],
            f"pipeline beat {RUN}",
            f"{PIPELINE}.json",
            f"{PIPELINE}.journal",
            ('"agent": "planner"', '"agent": "by hand"'),
            ('"pattern": "1"', '"pattern": "9"'),
            'pattern is "9"; it must be one of 1, 2, 2b, 3, 4, 5',
        ),
        System(
            "plan",
            [
                "plan init 'Cache the feed' --slug feed --plans-dir plans",
                "plan phase feed 1 --plans-dir plans",
            ],
            "plan add feed gap gap.json --plans-dir plans",
            "plans/feed.state.json",
            "plans/feed.journal",
            ('"goal": null', '"goal": "by hand"'),
            ('"current_phase": "1"', '"current_phase": "11"'),
            'current_phase: "11" is not allowed',
        ),
        System(
            "loop",
            [
                "loop init --file task.json --task t --objective o --max-attempts 3 "
                "--next-action n",
                "loop transition --file task.json --to running",
            ],
            "loop transition --file task.json --to verifying",
            "task.json",
            "task.journal",
            ('"nextAction": "n"', '"nextAction": "by hand"'),
            ('"attempts": 1', '"attempts": 2'),
            "attempts is 2; it must be 1",
        ),
    )
}
POWER_CUT = ("deleted", "cut short", "NUL bytes")
REBUILDS = [
    *((how, name) for how in POWER_CUT for name in SYSTEMS),
    ("conflict markers", "agloop"),
]
ADOPTS = ["agloop", "pipeline", "plan"]
DRIFTS = [
    *(("conflict markers", name) for name in SYSTEMS if name != "agloop"),
    *(("edited validly", name) for name in SYSTEMS if name not in ADOPTS),
    *(("edited invalidly", name) for name in SYSTEMS),
]


def journal(words: str) -> Ran:
    """Run `journal WORDS`."""
    return run(*shlex.split(words))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JOURNAL_DIR", raising=False)
    Path("phases.json").write_text('[{"name": "plan", "agent": "planner"}]')
    Path("profile.json").write_text("{}")
    Path("gap.json").write_text(GAP)


def begin(name: str) -> System:
    system = SYSTEMS[name]
    for words in system.begin:
        found = journal(words)
        assert found.code == 0, found.err
    return system


def swap(old: str, new: str) -> Callable[[bytes], bytes]:
    def swapped(data: bytes) -> bytes:
        assert old.encode() in data, data
        return data.replace(old.encode(), new.encode(), 1)

    return swapped


def conflict(data: bytes) -> bytes:
    first, line, *rest = data.split(b"\n")
    theirs = [b"<<<<<<< HEAD", line, b"=======", line, b">>>>>>> theirs"]
    return b"\n".join([first, *theirs, *rest])


def damage(system: System, how: str) -> bytes | None:
    """Do to the state file what the row says; return the bytes that then stand there."""
    file = Path(system.file)
    if how == "deleted":
        file.unlink()
        return None
    ways: dict[str, Callable[[bytes], bytes]] = {
        "cut short": lambda data: data[: len(data) // 2],
        "NUL bytes": lambda data: bytes(len(data)),
        "conflict markers": conflict,
        "edited validly": swap(*system.valid),
        "edited invalidly": swap(*system.invalid),
    }
    # Written as most editors do: into a new file, renamed over the old one.
    data = ways[how](file.read_bytes())
    Path("new").write_bytes(data)
    Path("new").replace(file)
    return data


def state(system: System) -> Any:
    return orjson.loads(Path(system.file).read_bytes())


def still(system: System, value: Any) -> Any:
    """Return a state without what recovering itself moves."""
    return {name: one for name, one in value.items() if name not in system.moves}


def log_of(system: System) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(Path(system.journal, "log").glob("*")))


def quarantined(system: System) -> list[bytes]:
    return [path.read_bytes() for path in Path(system.journal, "quarantine").glob("*")]


@pytest.mark.parametrize(("how", "name"), REBUILDS)
def test_what_a_power_cut_may_leave_is_written_again_at_once_and_said(how: str, name: str) -> None:
    system = begin(name)
    before, seq = state(system), log_of(system).count(b"\n")
    bad = damage(system, how)
    verified = journal(f"verify -d {system.journal}")
    assert verified.code == 5
    assert Path(system.file).name in verified.out
    assert "journal adopt" not in verified.err
    found = journal(system.verb)
    assert found.code == 0, found.err
    assert "written again from the log" in found.err
    assert ("missing" in found.err) == (how == "deleted")
    if name == "agloop":
        assert "State recovered from the journal (seq 4)" in found.err
    if bad is not None:
        assert quarantined(system) == [bad]
        assert f"{Path(system.journal, 'quarantine')}/" in found.err
    # The verb came on top of the state that was: so says the log at the seq before the damage.
    then = journal(f"state -d {system.journal} --at {seq}")
    assert orjson.loads(then.out) == before
    end = b"}" if name in ("agloop", "pipeline") else b"}\n"
    written = Path(system.file).read_bytes()
    assert written.startswith(b"{")
    assert written.endswith(end)
    assert journal(f"verify -d {system.journal}").code == 0


@pytest.mark.parametrize(("how", "name"), REBUILDS)
def test_looking_alone_puts_the_file_back_byte_for_byte(how: str, name: str) -> None:
    system = begin(name)
    before, bytes_before = state(system), Path(system.file).read_bytes()
    damage(system, how)
    found = journal(LOOKS[name])
    assert found.code == 0, found.err
    assert "written again from the log" in found.err
    assert still(system, state(system)) == still(system, before)
    if not system.moves:
        assert Path(system.file).read_bytes() == bytes_before
    assert journal(f"verify -d {system.journal}").code == 0


@pytest.mark.parametrize("how", POWER_CUT)
def test_a_pipeline_remembers_that_its_file_was_damaged(how: str) -> None:
    system = begin("pipeline")
    damage(system, how)
    assert "damaged  the file was found so, and written again" in journal(LOOKS["pipeline"]).out
    assert b'"type":"state_rebuilt"' in log_of(system).splitlines()[-1]
    assert "damaged  the file was found so" in journal(LOOKS["pipeline"]).out


@pytest.mark.parametrize("name", ADOPTS)
def test_a_valid_edit_is_adopted_as_an_event_and_said(name: str) -> None:
    system = begin(name)
    before = state(system)
    damage(system, "edited validly")
    advice = journal(f"verify -d {system.journal}")
    assert (advice.code, "journal adopt" in advice.err) == (5, True)
    found = journal(system.verb)
    assert found.code == 0, found.err
    assert "was changed by somebody else; adopted as event" in found.err
    lines = [orjson.loads(line) for line in log_of(system).splitlines()]
    adopted = [line["type"] for line in lines].index("journal.adopted")
    # The edit, and after it the verb.
    assert adopted < len(lines) - 1
    after = state(system)
    assert "by hand" in Path(system.file).read_text()
    assert "by hand" not in orjson.dumps(before).decode()
    assert set(before) == set(after)
    assert journal(f"verify -d {system.journal}").code == 0


@pytest.mark.parametrize(("how", "name"), DRIFTS)
def test_drift_stops_the_verb_touches_nothing_and_names_the_way_out(how: str, name: str) -> None:
    system = begin(name)
    before, bytes_before = state(system), Path(system.file).read_bytes()
    log_before = log_of(system)
    bad = damage(system, how)
    found = journal(system.verb)
    assert found.code == 7
    assert found.out == ""
    assert Path(system.file).read_bytes() == bad
    assert log_of(system) == log_before
    if how == "conflict markers":
        assert "git conflict markers at lines 2-6" in found.err
        assert "by hand" in found.err
    elif how == "edited validly":
        assert "changed by somebody else: replace at" in found.err
        assert "adopt" in found.err
    else:
        assert system.rule in found.err
        assert "by hand" in found.err
    if name == "loop":
        assert found.err.count("\n") == 1
        assert "stop for review" in found.err
    helps = re.search(r"`journal ((?:loop )?rebuild [^`]+|agloop recover [^`]+)`", found.err)
    assert helps is not None, found.err
    rebuilt = journal(helps[1])
    assert rebuilt.code == 0, rebuilt.err
    assert still(system, state(system)) == still(system, before)
    if not system.moves:
        assert Path(system.file).read_bytes() == bytes_before
    assert bad in quarantined(system)
    assert journal(f"verify -d {system.journal}").code == 0
    assert journal(system.verb).code == 0


@pytest.mark.parametrize("name", ["task", "loop"])
def test_a_valid_edit_that_is_not_adopted_unasked_is_adopted_when_asked(name: str) -> None:
    system = begin(name)
    bad = damage(system, "edited validly")
    helps = re.search(r"`journal ((?:loop )?adopt [^`]+)`", journal(system.verb).err)
    assert helps is not None
    adopted = journal(helps[1])
    assert adopted.code == 0, adopted.err
    assert Path(system.file).read_bytes() == bad
    assert b'"journal.adopted"' in log_of(system).splitlines()[-1]
    assert journal(system.verb).code == 0
    assert "by hand" in Path(system.file).read_text()


@pytest.mark.parametrize("name", SYSTEMS)
def test_an_edit_that_breaks_a_rule_is_not_adopted_though_asked(name: str) -> None:
    system = begin(name)
    bad, log_before = damage(system, "edited invalidly"), log_of(system)
    for words in (f"adopt -d {system.journal}", f"status -d {system.journal}"):
        found = journal(words)
        assert found.code == (7 if words.startswith("adopt") else 0)
        assert "by hand" in found.err + found.out
    assert "journal adopt" not in journal(f"verify -d {system.journal}").err
    assert Path(system.file).read_bytes() == bad
    assert log_of(system) == log_before


LOOKS = {
    "agloop": "agloop status",
    "task": "task status --thread t",
    "pipeline": f"pipeline status {RUN}",
    "plan": "plan status feed --plans-dir plans",
    "loop": "loop status --file task.json",
}


TAKEOVERS = {
    "pipeline": f"pipeline init {PIPELINE}.json",
    "plan": SYSTEMS["plan"].verb,
    "loop": "loop takeover --file task.json",
}


@pytest.mark.parametrize("name", TAKEOVERS)
def test_a_state_file_alone_is_taken_over_as_one_event_and_nothing_is_invented(name: str) -> None:
    system = begin(name)
    folder, bytes_before = Path(system.journal), Path(system.file).read_bytes()
    before = state(system)
    shutil.rmtree(folder)
    assert journal(LOOKS[name]).code == 0
    assert not folder.exists()
    found = journal(TAKEOVERS[name])
    assert found.code == 0, found.err
    created, taken, *rest = (orjson.loads(line) for line in log_of(system).splitlines())
    assert (created["type"], taken["type"]) == ("journal.created", "journal.taken_over")
    assert taken["data"]["path"] == Path(system.file).name
    assert taken["data"]["sha256"] == hashlib.sha256(bytes_before).hexdigest()
    assert orjson.loads(journal(f"state -d {folder} --at 2").out) == before
    # What a plan needs a change for is the change; no other event is there.
    assert [event["type"] for event in rest] == (["gap_acknowledged"] if name == "plan" else [])


@pytest.mark.parametrize("name", TAKEOVERS)
def test_an_empty_folder_in_the_place_of_the_journal_is_no_journal(name: str) -> None:
    system = begin(name)
    before = state(system)
    shutil.rmtree(system.journal)
    Path(system.journal).mkdir()
    assert journal(TAKEOVERS[name]).code == 0
    assert orjson.loads(journal(f"state -d {system.journal} --at 2").out) == before
    assert journal(f"verify -d {system.journal}").code == 0


def test_a_view_of_lines_that_is_ahead_of_the_log_is_not_said_to_be_damaged() -> None:
    system = begin("agloop")
    segment = max(Path(system.journal, "log").glob("*.jsonl"))
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(lines[:-1]))
    found = journal(f"verify -d {system.journal}")
    assert found.code == 5
    assert "damaged line" not in found.out
    assert f"and the log ends at event {len(lines) - 1}" in found.out
