"""`journal loop …`: the flags, outputs and errors that its users' scripts know."""

import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import orjson
import pytest
import typer
from typer.testing import CliRunner

from journal.cli import failing, loop
from projections.checkpointed_loop import projection
from tests.checkpointed_loop.making import Desk, foreign
from tests.cli.command import Ran
from tests.cli.command import run as whole

app = typer.Typer(cls=failing.Commands, rich_markup_mode=None)
loop.add_to(app)

ROOT = Path(__file__).parents[2]
F = "deep/task.json"
INIT = (
    *("init", "--file", F, "--task", "data-migration", "--objective", "Move the users"),
    *("--max-attempts", "3", "--next-action", "Inspect the fixture"),
)
VERBS = ["init", "transition", "evidence", "status", "takeover", "rebuild", "adopt"]
PAGE = (Path(projection.__file__).parent / "README.md").read_text(encoding="utf-8")


def run(*args: str) -> Ran:
    """Run `journal loop` with these arguments."""
    result = CliRunner().invoke(app, ["loop", *args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def test_a_success_prints_the_whole_checkpoint_as_it_stands_in_the_file(desk: Desk) -> None:
    steps = [
        INIT,
        ("transition", "--file", F, "--to", "running"),
        ("transition", "--file", F, "--to", "verifying", "--next-action", "Run the test"),
        ("evidence", "--file", F, "--check", "npm test", "--outcome", "failed"),
        ("transition", "--file", F, "--to", "running", "--reason", "a null row"),
        ("transition", "--file", F, "--to", "verifying"),
        (
            "evidence",
            "--file",
            F,
            "--check",
            "npm test",
            "--outcome",
            "passed",
            "--artifact",
            "o.txt",
        ),
        ("transition", "--file", F, "--to", "succeeded"),
        ("status", "--file", F),
        ("status", "--file", F, "--format", "json"),
        ("status", "--file", F, "--json"),
    ]
    for step in steps:
        done = run(*step)
        assert (done.code, done.err) == (0, ""), step
        assert done.out == Path(F).read_text(encoding="utf-8")
    state = orjson.loads(Path(F).read_bytes())
    assert (state["state"], state["attempts"], len(state["evidence"])) == ("succeeded", 2, 2)
    assert run("status", "--file", F, "--format", "summary").out == (
        "data-migration: succeeded; attempts 2/3; evidence 2; next: Run the test\n"
    )


def test_the_last_of_a_repeated_flag_wins(desk: Desk) -> None:
    assert run(*INIT, "--task", "other", "--max-attempts", "5").code == 0
    state = orjson.loads(Path(F).read_bytes())
    assert (state["taskId"], state["maxAttempts"]) == ("other", 5)


def test_a_value_may_look_like_a_flag(desk: Desk) -> None:
    assert run(*INIT, "--objective", "--force").code == 0
    assert orjson.loads(Path(F).read_bytes())["objective"] == "--force"


@pytest.mark.parametrize(
    "number", ["0", "-1", "+3", "3.0", "1e3", "0x3", " 3", "3 ", "", "three", "٣", "9" * 30, "NaN"]
)
def test_max_attempts_is_a_positive_number_in_decimal_digits_only(desk: Desk, number: str) -> None:
    refused = run(*INIT, "--max-attempts", number)
    assert (refused.code, refused.out) == (2, "")
    assert "max attempts is" in refused.err
    assert desk.bytes() == {}


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (INIT, 2, "there is a checkpoint here already"),
        (("init", "--file", "x.json"), 2, "Missing option"),
        (("transition", "--file", F), 2, "Missing option '--to'"),
        (("transition", "--to", "running"), 2, "Missing option '--file'"),
        (("transition", "--file", F, "--to"), 2, "requires an argument"),
        (("transition", "--file", F, "--to", "done"), 2, "no transition leads from planned"),
        (("transition", "--file", F, "--to", "verifying"), 2, "From planned it goes to running"),
        (("transition", "--file", F, "--to", "running", "--reason", " "), 2, "reason is empty"),
        (
            ("evidence", "--file", F, "--check", "x", "--outcome", "passed"),
            2,
            "only while verifying",
        ),
        (("status", "--file", "nowhere.json"), 1, "there is no checkpoint here"),
        (("status", "--file", F, "--format", "yaml"), 2, "the format is 'yaml'"),
        (("status", "--file", F, "more"), 2, "extra"),
        (("status", "--file", F, "--colour"), 2, "--colour"),
        (("status", "--file", "folder"), 1, "folder"),
        (("resume", "--file", F), 2, "resume"),
        (("--file", F, "status"), 2, "--file"),
        (("takeover", "--file", F), 2, "has a journal already"),
        (("status", "--file", "damaged.json"), 5, "stop for review"),
        (("takeover", "--file", "newer.json"), 6, "format 2"),
        (("status", "--file", "changed.json"), 7, "stop for review"),
    ],
)
def test_an_error_is_one_line_on_stderr_with_nothing_on_stdout_and_its_exit_code(
    desk: Desk, args: tuple[str, ...], code: int, words: str
) -> None:
    run(*INIT)
    run(*INIT, "--file", "changed.json")
    Path("changed.json").write_text("{}", encoding="utf-8")
    Path("damaged.json").write_text('{"taskId": ', encoding="utf-8")
    Path("newer.json").write_bytes(orjson.dumps(foreign(schemaVersion=2)))
    Path("folder").mkdir()
    before = desk.bytes()
    refused = run(*args)
    assert (refused.code, refused.out) == (code, "")
    assert refused.err.count("\n") == 1
    assert refused.err.startswith("journal: ")
    assert words in refused.err
    assert desk.bytes() == before


def test_an_exhausted_budget_is_said_in_the_words_of_the_text(desk: Desk) -> None:
    run(*INIT, "--max-attempts", "1")
    run("transition", "--file", F, "--to", "running")
    run("transition", "--file", F, "--to", "verifying")
    refused = run("transition", "--file", F, "--to", "running")
    assert "attempt budget exhausted" in refused.err


def test_takeover_rebuild_adopt_and_force(desk: Desk) -> None:
    Path("task.json").write_bytes(orjson.dumps(foreign()))
    assert orjson.loads(run("takeover", "--file", "task.json").out) == foreign()
    whole = Path("task.json").read_bytes()
    changed = orjson.dumps(foreign(objective="Move all"))
    Path("task.json").write_bytes(changed)
    assert run("status", "--file", "task.json").code == 7
    assert run("rebuild", "--file", "task.json").code == 0
    assert Path("task.json").read_bytes() == whole
    Path("task.json").write_bytes(changed)
    adopted = run("adopt", "--file", "task.json")
    assert (adopted.code, orjson.loads(adopted.out)["objective"]) == (0, "Move all")
    forced = run(*INIT, "--file", "task.json", "--force")
    assert (forced.code, orjson.loads(forced.out)["state"]) == (0, "planned")


def test_a_file_that_is_gone_is_written_back_and_that_is_said_on_stderr(desk: Desk) -> None:
    whole = run(*INIT).out
    Path(F).unlink()
    shown = run("status", "--file", F)
    assert (shown.code, shown.out) == (0, whole)
    assert "was missing; it is written again from the log" in shown.err
    assert Path(F).read_text(encoding="utf-8") == whole


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_that_ends_with_an_example(verb: str) -> None:
    shown = run(verb, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.strip().splitlines()[-1].strip().startswith(f"journal loop {verb} ")


def test_the_groups_help_lists_every_verb_uncut_and_ends_with_an_example() -> None:
    shown = run("--help").out
    listed, _, example = shown.partition("Commands:")[2].partition("Example:")
    assert re.findall(r"^  (\S+)", listed, flags=re.MULTILINE) == VERBS
    assert "..." not in listed
    assert example.split()[:2] == ["journal", "loop"]
    assert run().code == 2


# --- several at once -----------------------------------------------------------------------------

PROGRAM = """
import sys
from journal.errors import JournalError
from projections.checkpointed_loop.loop import CheckpointedLoop
sys.stdin.readline()
loop = CheckpointedLoop("task.json")
try:
    {verb}
    print("done")
except JournalError as error:
    print(type(error).__name__, error.message)
"""


def together(folder: Path, verbs: list[str]) -> list[str]:
    """Run each verb in a process of its own, all let go at once; return what they said."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(verb=verb)],
            cwd=folder,
            env={"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for verb in verbs
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60)[0].strip() for process in processes]
    assert all(said), said
    return said


@pytest.mark.slow
@pytest.mark.parametrize("taken_over", [False, True])
def test_twelve_evidence_commands_at_once_keep_twelve_records(desk: Desk, taken_over: bool) -> None:
    if taken_over:
        desk.stand_at("verifying")
    else:
        desk.write(foreign(evidence=[]))
    verbs = [f"loop.evidence('check {n}', 'passed')" for n in range(12)]
    assert together(desk.folder, verbs) == ["done"] * 12
    checks = [entry["check"] for entry in desk.read()["evidence"]]
    assert sorted(checks) == sorted(f"check {n}" for n in range(12))
    assert Counter(desk.types())["journal.taken_over"] == (0 if taken_over else 1)


@pytest.mark.slow
def test_of_transitions_and_inits_at_once_each_is_applied_once_or_refused(desk: Desk) -> None:
    init = "loop.init(task='t', objective='o', max_attempts=1, next_action='n')"
    said = together(desk.folder, [init] * 4)
    assert Counter(words.split(" ")[0] for words in said) == {"done": 1, "UsageError": 3}
    assert sum("there is a checkpoint here already" in words for words in said) == 3
    said = together(desk.folder, ["loop.transition('running')"] * 4)
    assert Counter(words.split(" ")[0] for words in said) == {"done": 1, "UsageError": 3}
    assert desk.read()["attempts"] == 1


# --- the page ------------------------------------------------------------------------------------


def test_the_session_of_the_page_works_line_by_line(desk: Desk) -> None:
    (block,) = re.findall(r"from start to end\n\n```\n(.*?)```", PAGE, flags=re.DOTALL)
    done = 0
    for line in block.replace("\\\n", "").splitlines():
        words = shlex.split(line.removeprefix("$ "))
        if words[:2] == ["journal", "loop"]:
            shown = run(*words[2:])
            assert (shown.code, shown.err) == (0, ""), line
            assert shown.out
            done += 1
    assert done >= 8
    (looks,) = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in looks.splitlines():
        looked = whole(*shlex.split(line)[1:])
        assert (looked.code, bool(looked.out)) == (0, True), (line, looked.err)


def test_the_python_of_the_page_works(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert (
        capsys.readouterr().out == "data-migration: succeeded; attempts 1/3; evidence 1; next: x\n"
    )


def test_the_page_has_a_row_for_each_kind_of_damage() -> None:
    table = PAGE.partition("| the checkpoint was | then |")[2].partition("\n\n")[0]
    rows = ("deleted", "cut short", "NUL bytes", "conflict markers", "and valid", "and invalid")
    assert all(row in table for row in rows)


def test_the_actor_of_every_verb_is_in_the_log(desk: Desk) -> None:
    steps: list[tuple[str, ...]] = [
        INIT,
        ("transition", "--file", F, "--to", "running"),
        ("transition", "--file", F, "--to", "verifying"),
        ("evidence", "--file", F, "--check", "npm test", "--outcome", "failed"),
        (*INIT, "--force"),
    ]
    for number, args in enumerate(steps):
        assert run(*args, "--actor", f"agent-{number}").code == 0
    lines = [orjson.loads(line) for line in _log_of(desk)]
    assert [line.get("actor") for line in lines[1:]] == [f"agent-{n}" for n in range(5)]


def _log_of(desk: Desk) -> list[bytes]:
    (segment,) = (desk.folder / "deep/task.journal/log").glob("*.jsonl")
    return segment.read_bytes().splitlines()


@pytest.mark.parametrize(
    ("old", "new", "adopts"),
    [('"attempts": 0', '"attempts": 2', False), ('"objective": "M', '"objective": "N', True)],
)
def test_adopting_is_named_as_a_way_out_only_where_it_is_one(
    desk: Desk, old: str, new: str, adopts: bool
) -> None:
    assert run(*INIT).code == 0
    file = desk.folder / F
    file.write_text(file.read_text().replace(old, new))
    said = run("transition", "--file", F, "--to", "running")
    assert said.code == 7
    assert said.err.count("Nothing was changed") <= 1
    assert ("mend it by hand, and then `journal loop adopt" in said.err) is not adopts
    assert ("cannot be adopted: attempts is 2; it must be 0" in said.err) is not adopts
    assert (run("adopt", "--file", F).code == 0) is adopts


def test_a_refused_file_says_each_thing_once(desk: Desk) -> None:
    (desk.folder / "odd.json").write_bytes(orjson.dumps({**foreign(), "attempts": -1}))
    said = run("status", "--file", "odd.json")
    assert (said.code, said.out) == (5, "")
    for words in ("Nothing was changed", "stop for review", "odd.json", "attempts"):
        assert said.err.count(words) == 1, said.err


def test_a_file_that_cannot_be_a_checkpoint_is_named_for_what_it_is(desk: Desk) -> None:
    (desk.folder / "folder").mkdir()
    (desk.folder / "link.json").symlink_to("gone.json")
    rest = INIT[3:]
    for name, words in (("folder", "is a folder"), ("", "is a folder"), ("link.json", "not there")):
        said = run("init", "--file", name, *rest, "--force")
        assert (said.code, said.out) == (2, "")
        assert words in said.err
    assert sorted(path.name for path in desk.folder.iterdir()) == ["folder", "link.json"]


def test_a_budget_over_the_limit_is_told_the_limit(desk: Desk) -> None:
    said = run(*INIT, "--max-attempts", "9007199254740992")
    assert said.code == 2
    assert "from 1 to 9007199254740991" in said.err
