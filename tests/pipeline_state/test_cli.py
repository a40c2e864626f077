"""`journal pipeline …`: a whole life, every verb, exit codes, and the shape of --json."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import orjson
import pytest
import typer
from typer.testing import CliRunner

from journal.cli import failing, pipeline
from tests.cli.command import Ran
from tests.pipeline_state.making import PHASES, PROFILE, UUID, Desk, foreign_state

app = typer.Typer(cls=failing.Commands, rich_markup_mode=None)
pipeline.add_to(app)

VERBS = [
    *("init", "list", "status", "start", "done", "fail-phase", "retry-phase", "beat", "resume"),
    *("complete", "escalate", "fail", "meta", "models", "prefs"),
]
OLD = "2020-01-01T00:00:00Z"


def run(*args: str, stdin: bytes = b"") -> Ran:
    """Run `journal pipeline` with these arguments."""
    result = CliRunner().invoke(app, ["pipeline", *args], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def files(desk: Desk) -> None:
    """The files that an `init` names."""
    for name, value in (("phases", PHASES), ("profile", PROFILE), ("codex", {"name": "codex"})):
        (desk.folder / f"{name}.json").write_bytes(orjson.dumps(value))


def begin(*args: str, name: str = "review") -> Ran:
    """Begin a run of UUID with the usual options and further ones."""
    usual = ("--pattern", "1", "--phases", "phases.json", "--tier", "claude")
    more = ("--profile", "profile.json", "--plugin-version", "2.1.0", "--run-id", UUID)
    return run("init", name, *usual, *more, *args)


def state_of(name: str = "review") -> dict[str, object]:
    """What the state file of the run holds."""
    file = Path(".superpipelines", "temp", name, UUID, "pipeline-state.json")
    found: dict[str, object] = orjson.loads(file.read_bytes())
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("files")
def test_a_whole_life_on_the_command_line(desk: Desk) -> None:
    made = begin("--actor", "ann")
    file = desk.root / "temp" / "review" / UUID / "pipeline-state.json"
    assert (made.code, made.out) == (0, f"run {UUID} of review: {file}\n")
    (desk.folder / "models.json").write_bytes(b'{"plan": {"model": "large"}}')
    (desk.folder / "prefs.md").write_bytes(b"be brief")
    steps = [
        ("models", UUID, "models.json", "--tiers-version", "2026-03-01"),
        ("prefs", UUID, "--workspace", "prefs.md"),
        ("meta", UUID, "ticket", '"A-7"'),
        ("start", UUID, "0"),
        ("fail-phase", UUID, "0", "--error", "no answer"),
        ("retry-phase", UUID, "0"),
        ("start", UUID, "0"),
        ("beat", UUID),
        ("done", UUID, "0", "--output", "plan.md", "--output", "notes.md"),
        ("start", UUID, "1"),
        ("escalate", UUID, "--reason", "a key is missing"),
        ("resume", UUID, "--confirm", "--tier", "codex", "--profile", "codex.json"),
        ("start", UUID, "1"),
        ("done", UUID, "1"),
        ("complete", UUID),
    ]
    for step in steps:
        done = run(*step)
        assert (done.code, done.err) == (0, ""), step
        assert done.out.startswith(f"review {UUID}: ")
    shown = run("beat", UUID)
    assert (shown.code, "the run is completed, and beat is for" in shown.err) == (2, True)
    assert run("resume", UUID).out == f"review {UUID}: completed, 2 of 2 phases done\n"
    state = orjson.loads(file.read_bytes())
    assert state["phases"][0]["outputs"] == ["plan.md", "notes.md"]
    assert state["metadata"]["tier_changes"][0]["to"] == "codex"
    assert state["metadata"]["ticket"] == "A-7"
    again = run("resume", UUID)
    assert again.code == 0
    assert "is completed; nothing was changed" in again.err


@pytest.mark.usefixtures("files")
def test_the_first_byte_of_the_file_is_a_brace_as_the_texts_own_check_wants(desk: Desk) -> None:
    begin()
    file = desk.root / "temp" / "review" / UUID / "pipeline-state.json"
    if shutil.which("od") is None:
        pytest.skip("there is no od here")
    for _ in range(2):
        checked = subprocess.run(
            ["od", "-An", "-tx1", "-N1", str(file)], capture_output=True, text=True, check=True
        )
        assert checked.stdout == " 7b\n"
        run("start", str(file), "0")


@pytest.mark.usefixtures("files")
def test_phases_come_from_stdin_and_json_is_printed_when_asked(desk: Desk) -> None:
    usual = ("--pattern", "2b", "--tier", "claude", "--profile", "profile.json", "--json")
    made = run(
        *("init", "review", "--phases", "-", "--plugin-version", "2.1.0", *usual),
        stdin=orjson.dumps(PHASES),
    )
    assert list(made.json) == ["name", "run_id", "file", "root", "seq"]
    assert made.json["root"] == str(desk.root)
    assert Path(made.json["file"]).is_file()


@pytest.mark.usefixtures("files")
def test_status_and_list_have_words_and_json_of_one_shape(desk: Desk) -> None:
    assert run("list").out == ""
    assert run("list", "--json").json == []
    begin()
    words = run("status", UUID).out
    assert f"review  {UUID}  live; 0 of 2 phases done" in words
    assert "phase 0  plan, agent planner: pending" in words
    assert "next     start 0 (plan)" in words
    status = run("status", UUID, "--json").json
    (listed,) = run("list", "--json").json
    assert {name: status[name] for name in listed if name != "age_ms"} == {
        name: value for name, value in listed.items() if name != "age_ms"
    }
    assert status["state"] == state_of()
    assert (status["status"], status["condition"], status["current_phase"]) == (
        "running",
        "live",
        0,
    )
    foreign = desk.write(foreign_state(), name="other")
    assert list(run("status", str(foreign), "--json").json) == list(status)
    assert "journal  none yet" in run("status", str(foreign)).out


@pytest.mark.usefixtures("files")
def test_words_show_reasons_warnings_damage_and_moves(desk: Desk) -> None:
    (desk.folder / "profile.json").write_bytes(b'{"degradation_warnings": ["one", "two"]}')
    begin()
    run("start", UUID, "0")
    run("fail-phase", UUID, "0", "--error", "no answer")
    run("fail", UUID, "--reason", "no key")
    file = desk.root / "temp" / "review" / UUID / "pipeline-state.json"
    file.write_bytes(b"{")
    shown = run("status", UUID)
    assert "it is written again from the log" in shown.err
    for words in (
        "phase 0  plan, agent planner: failed: no answer",
        "warning  one; two",
        "failure_reason: no key",
        "damaged  the file was found so",
        "next     resume --confirm",
    ):
        assert words in shown.out
    moved = desk.folder / "backup" / "x" / "y" / "z"
    moved.parent.mkdir(parents=True)
    file.parent.rename(moved)
    shown = run("status", str(moved))
    assert "moved    scope_root_dir is '.superpipelines'" in shown.out
    assert "moved    pipeline_name is 'review' and its folder 'y'" in shown.out


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("start", UUID, "7"), 2, "there is no phase 7"),
        (("start", UUID, "x"), 2, "'x' is not a number"),
        (("done", UUID, "0"), 2, "phase 0 (plan) is pending"),
        (("complete", UUID), 2, "complete needs every phase done"),
        (("resume", UUID), 2, "active run detected"),
        (("resume", UUID, "--choose", "x"), 2, "the choice is 'x'"),
        (("meta", UUID, "source_tier", '"x"'), 2, "belongs to the schema"),
        (("meta", UUID, "mine", "{"), 2, "DATA"),
        (("prefs", UUID), 2, "no preference file is named"),
        (("start", "nothing", "0"), 1, "there is no run 'nothing'"),
        (("init", "Bad"), 2, "a new run needs --pattern"),
        (("init", "review", "--pattern", "1"), 2, "needs --phases, --tier, --profile"),
        (("init", "nowhere.json"), 1, "there is no run 'nowhere.json'"),
    ],
)
def test_a_refusal_has_its_exit_code_and_says_why_on_stderr(
    desk: Desk, args: tuple[str, ...], code: int, words: str
) -> None:
    begin()
    before = desk.bytes()
    refused = run(*args)
    assert (refused.code, refused.out) == (code, "")
    assert words in refused.err
    assert desk.bytes() == before


@pytest.mark.usefixtures("files")
def test_a_live_run_refuses_a_second_init_and_a_crashed_one_is_settled_first(desk: Desk) -> None:
    file = desk.write(foreign_state(started_at=OLD))
    os.utime(file, (1, 1))
    refused = run(
        *("init", "review", "--pattern", "1", "--phases", "phases.json", "--tier", "claude"),
        *("--profile", "profile.json", "--plugin-version", "2.1.0"),
    )
    assert refused.code == 2
    assert "is not settled" in refused.err
    assert run("resume", UUID).code == 2
    assert run("resume", UUID, "--choose", "abort", "--reason", "too old").code == 0
    found = orjson.loads(file.read_bytes())
    assert (found["status"], found["metadata"]["abort_reason"]) == ("failed", "too old")
    assert begin(name="other").code == 0
    again = begin(name="other")
    assert (again.code, "there is a run here already" in again.err) == (2, True)


def test_a_state_file_is_taken_over_by_init_with_its_path_or_its_run_id(desk: Desk) -> None:
    first, second = desk.write(foreign_state()), desk.write(foreign_state(), run="other")
    taken = run("init", str(first), "--json")
    assert (taken.code, taken.json["seq"]) == (0, 2)
    assert run("init", "review", "--run-id", "other").code == 0
    assert second.with_name("pipeline-state.journal").is_dir()
    again = run("init", str(first))
    assert (again.code, "has a journal already" in again.err) == (2, True)


@pytest.mark.parametrize("verb", [("status",), ("beat",), ("resume",), ("init",)])
def test_a_damaged_file_is_exit_5_for_every_verb_and_not_touched(
    desk: Desk, verb: tuple[str, ...]
) -> None:
    file = desk.write(b'{"pipeline_id": "x", ')
    before = desk.bytes()
    refused = run(*verb, str(file))
    assert (refused.code, refused.out) == (5, "")
    assert "byte" in refused.err
    assert desk.bytes() == before
    listed = run("list")
    assert (listed.code, "damaged" in listed.out) == (0, True)


@pytest.mark.usefixtures("files")
def test_drift_is_exit_7_and_says_the_ways_out(desk: Desk) -> None:
    begin()
    file = desk.root / "temp" / "review" / UUID / "pipeline-state.json"
    file.write_bytes(b"<<<<<<< a\n{}\n=======\n{}\n>>>>>>> b\n")
    for args in (("beat", UUID), ("status", UUID), ("resume", UUID)):
        refused = run(*args)
        assert refused.code == 7
        assert "journal rebuild" in refused.err


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_that_ends_with_an_example(verb: str) -> None:
    shown = run(verb, "--help")
    assert shown.code == 0
    last = shown.out.strip().splitlines()[-1].strip()
    assert last.startswith(f"journal pipeline {verb} ") or last == f"journal pipeline {verb}"


def test_the_groups_help_lists_every_verb_uncut_and_ends_with_an_example() -> None:
    shown = run("--help").out
    listed, _, example = shown.partition("Commands:")[2].partition("Example:")
    assert re.findall(r"^  (\S+)", listed, flags=re.MULTILINE) == VERBS
    assert "..." not in listed
    assert example.split()[:3] == ["journal", "pipeline", "init"]
