"""The command line of task states."""

from pathlib import Path

import orjson
import pytest

from journal.cli.task import app
from projections.task_state.states import new_state
from tests.task_state.tasks import THREAD, folder_of, help_of, on_disk, read_state, run, tree

COMMANDS = [info.name for info in app.registered_commands]
STORAGE = ("get", "set", "delete", "list")
ON = ("--thread", THREAD)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    assert run("init", *ON, root=tmp_path).code == 0
    return tmp_path


@pytest.mark.slow
def test_whole_life_on_the_command_line(tmp_path: Path) -> None:
    child = tmp_path / "child.json"
    child.write_bytes(orjson.dumps({**new_state(), "files": ["from-file"]}))
    for args, said in (
        (("init", *ON), f"{THREAD}: begun; 0 checkpoints, 0 files, 0 keys"),
        (("store", *ON, "--depth", "0"), "a checkpoint at depth 0"),
        (("artifact", "a.txt", *ON), "recorded a.txt"),
        (("artifact", "a.txt", *ON), "a.txt is recorded already"),
        (("set", "phase", '"plan"', *ON), "set phase"),
        (("spawn", "w", *ON), "'w' begins with a copy of the state"),
        (("artifact", "b.txt", "--thread", "w"), "recorded b.txt"),
        (("set", "result", "42", "--thread", "w"), "set result"),
        (("complete", "success", "--thread", "w", "--depth", "1"), "completed: success"),
        (("return", "w", *ON, "--merge-data", "namespace"), "merged namespace"),
        (("return", "x", *ON, "--state", str(child)), "merged shallow"),
        (("complete", "failure", *ON, "--depth", "0"), "completed: failure"),
        (("init", *ON), f"{THREAD}: there already; 3 checkpoints, 3 files, 3 keys"),
    ):
        ran = run(*args, root=tmp_path)
        assert ran.code == 0, (args, ran.err)
        assert said in ran.out, args
    state = read_state(tmp_path)
    assert state["files"] == ["a.txt", "b.txt", "from-file"]
    assert state["data"] == {
        "phase": "plan",
        "w": {"phase": "plan", "result": 42, "__outcome": "success"},
        "__outcome": "failure",
    }
    assert run("threads", root=tmp_path).out == "main\nw\n"
    assert run("threads", "--json", root=tmp_path).json == ["main", "w"]


def test_root_is_named_by_the_variable_or_lies_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JOURNAL_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert run("init", *ON).code == 0
    assert (folder_of(tmp_path / ".task-state") / "state.json").is_file()
    monkeypatch.setenv("JOURNAL_DIR", str(tmp_path / "elsewhere"))
    assert run("init", *ON).code == 0
    assert (folder_of(tmp_path / "elsewhere") / "state.json").is_file()


def test_init_from_a_file_begins_with_its_state(tmp_path: Path) -> None:
    given = orjson.dumps({"data": {"a": 1}})
    ran = run("init", *ON, "--from", "-", root=tmp_path, stdin=given)
    assert ran.code == 0
    assert read_state(tmp_path) == {**new_state(), "data": {"a": 1}}
    again = run("init", *ON, "--from", "-", root=tmp_path, stdin=given)
    assert again.code == 2
    assert "has a state already" in again.err


def test_recall_prints_the_text_within_its_budget(root: Path) -> None:
    for depth in range(9):
        run("store", *ON, "--depth", str(depth), root=root)
    whole = run("recall", *ON, "--budget", "0", root=root)
    assert whole.out.startswith("<task_state>\n{\n")
    assert whole.out.endswith("\n</task_state>\n")
    with on_disk(root) as task:
        assert whole.out == f"{task.recall(0)}\n"
        assert run("recall", *ON, root=root).out == f"{task.recall()}\n"
    short = run("recall", *ON, "--budget", "100", root=root)
    assert len(short.out) <= 401
    assert run("recall", *ON, "--budget", "-1", root=root).out == whole.out


def test_thread_without_a_state_is_said_and_nothing_is_made(tmp_path: Path) -> None:
    for args in (("recall",), ("complete", "success", "--depth", "0"), ("status",)):
        ran = run(*args, *ON, root=tmp_path)
        assert ran.code == 0
        assert "no state" in ran.out + ran.err
    assert run("status", *ON, "--json", root=tmp_path).json["exists"] is False
    assert run("threads", root=tmp_path).out == ""
    assert tree(tmp_path) == {}


def test_reserved_key_is_refused_as_an_answer(root: Path) -> None:
    before = read_state(root)
    for args in (
        ("set", "__outcome", '"success"'),
        ("return", "__outcome"),
        ("spawn", "__outcome"),
    ):
        ran = run(*args, *ON, root=root)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith("refused: ")
    assert read_state(root) == before


def test_status_in_words_and_as_json(root: Path) -> None:
    run("store", *ON, "--depth", "2", root=root)
    run("set", "phase", '"plan"', *ON, root=root)
    ran = run("status", *ON, root=root)
    assert ran.out.startswith("main: 1 checkpoint, the newest of ")
    assert "1 key: phase" in ran.out
    found = run("status", *ON, "--json", root=root).json
    assert (found["checkpoints"], found["depth"], found["data_keys"]) == (1, 2, ["phase"])


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("store", *ON, "--depth", "-1"), 2, "depth"),
        (("store", *ON, "--depth", "x"), 2, "depth"),
        (("store", *ON), 2, "--depth"),
        (("store", "--depth", "0"), 2, "--thread"),
        (("store", "--thread", "", "--depth", "0"), 2, "thread"),
        (("store", "--thread", "nobody", "--depth", "0"), 2, "journal task init"),
        (("artifact", "", *ON), 2, "path"),
        (("set", "a", "{", *ON), 2, "DATA"),
        (("return", "w", *ON), 2, "no thread 'w'"),
        (("return", "w", *ON, "--merge-data", "deep", "--state", "-"), 2, "shallow, namespace"),
        (("return", "w", *ON, "--state", "nowhere.json"), 1, "nowhere.json"),
        (("complete", "done", *ON, "--depth", "0"), 2, "success, failure, aborted"),
        (("recall", *ON, "--budget", "many"), 2, "budget"),
        (("init", "--thread", "b", "--from", "nowhere.json"), 1, "nowhere.json"),
        (("storage", "get", "nothing"), 1, "no value"),
        (("storage", "set", "a", "null"), 2, "null"),
    ],
)
def test_command_that_fails_says_why_and_changes_nothing(
    root: Path, args: tuple[str, ...], code: int, said: str
) -> None:
    before = read_state(root)
    ran = run(*args, root=root, stdin=orjson.dumps(new_state()))
    assert (ran.code, ran.out) == (code, ""), ran.err
    assert said in ran.err
    assert read_state(root) == before


def test_state_that_is_no_object_is_a_wrong_call(root: Path) -> None:
    ran = run("return", "w", *ON, "--state", "-", root=root, stdin=b"[]")
    assert (ran.code, ran.out) == (2, "")


@pytest.mark.slow
def test_storage_keeps_values_by_key_and_thread(tmp_path: Path) -> None:
    def storage(*args: str, stdin: bytes = b"") -> str:
        ran = run("storage", *args, root=tmp_path, stdin=stdin)
        assert ran.code == 0, ran.err
        return ran.out

    assert storage("list") == ""
    assert tree(tmp_path) == {}
    assert storage("set", "plan", '{"step": 1}', *ON) == ""
    assert storage("set", "zero", "-", *ON, stdin=b"0") == ""
    assert storage("set", "plan", "true") == ""
    assert storage("get", "plan", *ON) == '{"step":1}\n'
    assert storage("get", "zero", *ON) == "0\n"
    assert storage("get", "plan") == "true\n"
    assert storage("list", *ON) == "plan\nzero\n"
    assert storage("list", "p", *ON, "--json") == '["plan"]\n'
    assert storage("list") == "layers/task-state/main/plan\nlayers/task-state/main/zero\nplan\n"
    assert storage("delete", "plan", *ON) == ""
    assert storage("delete", "plan", *ON) == ""
    assert storage("list", *ON) == "zero\n"


@pytest.mark.parametrize(
    "name", [(), ("storage",), *[(name,) for name in COMMANDS], *[("storage", n) for n in STORAGE]]
)
def test_help_ends_with_an_example(name: tuple[str, ...]) -> None:
    last = help_of(*name).rstrip().splitlines()[-1]
    assert "journal task" in last


def test_every_verb_is_there() -> None:
    assert set(COMMANDS) == {
        *("init", "status", "recall", "store", "artifact", "set", "spawn", "return"),
        *("complete", "threads"),
    }


@pytest.mark.parametrize("verb", ["return", "spawn"])
def test_thread_is_no_child_of_itself_and_nothing_changes(tmp_path: Path, verb: str) -> None:
    run("init", "--thread", THREAD, root=tmp_path)
    before = tree(tmp_path)
    ran = run(verb, THREAD, "--thread", THREAD, root=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert f'"{THREAD}" is this thread' in ran.err
    assert tree(tmp_path) == before


def test_value_that_is_no_json_gets_an_example_of_this_command(tmp_path: Path) -> None:
    run("init", "--thread", THREAD, root=tmp_path)
    ran = run("set", "phase", "plan", "--thread", THREAD, root=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert """'"plan"'""" in ran.err
    assert "/phase" not in ran.err


def test_edit_that_breaks_a_rule_is_told_by_field_value_and_what_is_allowed(
    tmp_path: Path,
) -> None:
    run("init", "--thread", THREAD, root=tmp_path)
    (folder_of(tmp_path) / "state.json").write_text('{"checkpoints":[],"files":[1],"data":{}}')
    ran = run("store", "--thread", THREAD, "--depth", "0", root=tmp_path)
    assert ran.code == 7
    assert "files[0]: 1 is not allowed; allowed: text" in ran.err
    assert "journal rebuild" in ran.err
