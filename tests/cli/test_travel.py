"""The commands of time travel: what they print for people, and the shape of their JSON."""

import pty
from pathlib import Path

import orjson
import pytest

import journal as journals
from journal.cli import output
from journal.errors import UsageError
from journal.event import time_to_ms
from tests.cli.command import Ran, Run
from tests.cli.test_commands import damage

HOUR_MS = 3_600_000
TASKS = [{"id": 1, "done": False}, {"id": 2, "done": False}]


@pytest.fixture
def story(run: Run) -> Run:
    """Make a journal `run`: a plan (2), tasks (3), one done (4), a checkpoint (5), a merge (6)."""
    now = [time_to_ms("2026-01-01T12:00:00.000Z")]
    with journals.init("run", clock=lambda: now[0]) as engine:
        for kind, data, actor in (
            ("set", {"path": "/phase", "value": "plan"}, "planner"),
            ("set", {"path": "/tasks", "value": TASKS}, "ann"),
            ("set", {"path": "/tasks/0/done", "value": True}, "bob"),
        ):
            now[0] += HOUR_MS
            engine.append(kind, data, actor=actor)
        engine.snapshot(trigger="before the risky step")
        now[0] += HOUR_MS
        engine.append(
            "merge", {"patch": {"phase": "execute", "note": "hi\x1b[31m"}}, actor="planner"
        )

    def run_on(name: str, *args: str, stdin: str | bytes = b"") -> Ran:
        return run(name, "-d", "run", *args, stdin=stdin)

    return run_on


@pytest.fixture
def coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything be a terminal."""
    monkeypatch.setattr(output, "is_terminal", lambda stream: True)
    monkeypatch.setenv("COLUMNS", "60")


# --- diff ----------------------------------------------------------------------------------------


def test_diff_is_a_patch_with_the_old_values(story: Run) -> None:
    assert story("diff", "2", "4", "--json").json == [
        {"op": "add", "path": "/tasks", "value": [{"id": 1, "done": True}, TASKS[1]]}
    ]
    assert story("diff", "3", "head", "--json").json == [
        {"op": "replace", "path": "/phase", "old": "plan", "value": "execute"},
        {"op": "replace", "path": "/tasks/0/done", "old": False, "value": True},
        {"op": "add", "path": "/note", "value": "hi\x1b[31m"},
    ]
    assert story("diff", "3", "2", "--json").json == [
        {"op": "remove", "path": "/tasks", "old": TASKS}
    ]


def test_diff_for_people_has_a_line_a_change_and_no_control_characters(story: Run) -> None:
    shown = story("diff", "3", "head")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == (
        '~ /phase         "plan" -> "execute"\n'
        "~ /tasks/0/done  false -> true\n"
        '+ /note          "hi\\u001b[31m"\n'
    )


def test_equal_states_say_so(story: Run) -> None:
    assert story("diff", "4", "5").out == "equal: nothing differs between event 4 and event 5\n"
    assert story("diff", "4", "5", "--json").json == []
    same = story("diff", "4", "head", "/tasks")
    assert same.out == "equal: nothing at /tasks differs between event 4 and event 6\n"


@pytest.mark.parametrize(
    ("a", "seq"),
    [
        ("2026-01-01T14:30", 3),
        ("before the risky step", 4),
        ("head~2", 4),
        ("./run@3", 3),
        ("manual", 4),
    ],
)
def test_diff_takes_every_name_of_a_place(story: Run, a: str, seq: int) -> None:
    assert story("diff", a, "6", "--json") == story("diff", str(seq), "6", "--json")


def test_diff_across_journals_shows_what_would_have_been(story: Run, run: Run) -> None:
    assert story("fork", "whatif", "--drop", "4").code == 0
    shown = run("diff", "run@head", "whatif@head", "--json")
    assert shown.json == [{"op": "replace", "path": "/tasks/0/done", "old": True, "value": False}]
    assert "of whatif" in run("diff", "whatif@head", "whatif@now").out
    said = run("diff", "-d", "run", "gone@2", "head")
    assert (said.code, "nor is 'gone' a folder" in said.err) == (2, True)


def test_diff_with_a_pointer_to_nothing_is_a_wrong_call(story: Run) -> None:
    asked = story("diff", "2", "3", "/never")
    assert (asked.code, asked.out) == (2, "")


def test_diff_is_coloured_and_cut_for_a_terminal_only(
    story: Run, coloured: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    story("append", "set", '{"path": "/long", "value": "%s"}' % ("x" * 200))
    shown = story("diff", "6", "head").out
    assert shown.startswith("\x1b[32m+ /long")
    assert len(shown) < 80
    assert "…" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    assert story("diff", "6", "head").out.startswith("+ /long")
    assert story("diff", "6", "head", "--json").json[0]["value"] == "x" * 200


# --- blame ---------------------------------------------------------------------------------------


def test_blame_is_a_list_newest_first(story: Run) -> None:
    found = story("blame", "/phase", "--json").json
    assert [list(one) for one in found] == [
        ["seq", "time", "actor", "type", "old", "new"],
        ["seq", "time", "actor", "type", "new"],
    ]
    assert found[0] == {
        "seq": 6,
        "time": "2026-01-01T16:00:00.000Z",
        "actor": "planner",
        "type": "merge",
        "old": "plan",
        "new": "execute",
    }
    assert found[1]["seq"] == 2
    assert story("blame", "/phase", "-n", "1", "--json").json == found[:1]
    assert story("blame", "/phase", "-n", "0", "--json").json == []
    assert story("blame", "/phase", "--after", "2", "--json").json == found[:1]
    assert story("blame", "/phase", "--upto", "2026-01-01T15:00", "--json").json == found[1:]
    assert [one["seq"] for one in story("blame", "", "--json").json] == [6, 4, 3, 2]


def test_blame_for_people_has_a_line_a_change(story: Run) -> None:
    lines = story("blame", "/tasks/0/done").out.splitlines()
    assert [line.split() for line in lines] == [
        ["4", "2026-01-01T15:00:00.000Z", "set", "bob", "false", "->", "true"],
        ["3", "2026-01-01T14:00:00.000Z", "set", "ann", "+", "false"],
    ]


def test_blame_of_what_never_was_says_so(story: Run) -> None:
    asked = story("blame", "/never")
    assert (asked.code, asked.out) == (0, "")
    assert "no event from 1 to 6 changed what is at '/never'" in asked.err
    assert story("blame", "/never", "--json").json == []
    assert story("blame", "never").code == 2


def test_blame_of_the_whole_state_is_as_git_does_for_lines(story: Run) -> None:
    found = story("blame", "--json").json
    assert [list(one) for one in found] == [
        ["pointer", "seq", "time", "actor", "type", "value"]
    ] * 3
    assert {one["pointer"]: one["seq"] for one in found} == {"/phase": 6, "/tasks": 4, "/note": 6}
    deep = story("blame", "--depth", "3", "--json").json
    assert {one["pointer"]: (one["seq"], one["value"]) for one in deep}["/tasks/0/done"] == (
        4,
        True,
    )
    below = story("blame", "/tasks", "--depth", "2", "--upto", "3").out.splitlines()
    assert [line.split()[0] for line in below] == ["3"] * 4
    assert "/tasks/1/id" in below[2]
    assert story("blame", "-n", "1").code == 2
    assert story("blame", "/never", "--depth", "1").code == 2


# --- bisect --------------------------------------------------------------------------------------


@pytest.mark.parametrize("monotone", [[], ["--monotone"]])
def test_bisect_gives_the_first_event(story: Run, monotone: list[str]) -> None:
    found = story("bisect", "--when", ".tasks | length > 1", "--json", *monotone)
    stored = story("log", "--json", "--after", "2", "--upto", "3").json
    assert found.code == 0
    assert found.json == {"seq": 3, "event": stored}
    assert "looked at" in found.err
    shown = story("bisect", "--when", ".tasks | length > 1", *monotone)
    assert shown.out.split()[:4] == ["3", "2026-01-01T14:00:00.000Z", "set", "ann"]


def test_bisect_of_what_is_never_true_exits_1_in_the_same_shape(story: Run) -> None:
    found = story("bisect", "--when", ".never", "--json")
    assert (found.code, found.json) == (1, {"seq": None, "event": None})
    assert story("bisect", "--when", ".phase", "--upto", "1").code == 1


def test_bisect_looks_behind_a_place_and_says_what_was_true_before(story: Run) -> None:
    found = story("bisect", "--when", '.phase == "plan"', "--after", "3", "--json")
    assert found.json["seq"] == 4
    assert "true before" in found.err


@pytest.mark.parametrize("program", [".phase |", ".phase.x"])
def test_bisect_with_a_program_that_fails_is_a_wrong_call(story: Run, program: str) -> None:
    asked = story("bisect", "--when", program)
    assert (asked.code, asked.out) == (2, "")
    assert program in asked.err


def test_what_a_program_gives_last_decides(story: Run) -> None:
    for program, seq in (("false, 1", 1), ("1, null", None), ("empty", None), ("0", 1)):
        assert story("bisect", "--when", program, "--json").json["seq"] == seq


# --- compare, fork, restore ----------------------------------------------------------------------

OWN = """
from projections import patch
from projections.document.projection import PROJECTION, Merge, Set
from projections.projection import Projection

def merge(state, event):
    return state

NEW = Projection("document", events={**PROJECTION.events, Merge: merge}, initial=dict, revision="n")
"""


def test_compare_names_the_first_event_and_the_paths(story: Run) -> None:
    Path("own_projection.py").write_text(OWN)
    found = story("compare", "--with", "own_projection:NEW", "--json")
    assert found.code == 1
    keys = ["seq", "type", "time", "changes", "failed", "events"]
    assert list(found.json) == keys
    assert (found.json["seq"], found.json["type"]) == (6, "merge")
    shown = story("compare", "--with", "own_projection:NEW")
    assert "differs first after event 6 (merge" in shown.out
    assert '  ~ /phase  "execute" -> "plan"\n' in shown.out
    same = story("compare", "--with", "document")
    assert (same.code, same.out[:6]) == (0, "equal:")
    assert list(story("compare", "--with", "document", "--json").json) == keys
    assert story("compare", "--with", "never").code == 2


def test_fork_makes_a_journal_and_says_what_is_in_it(story: Run, run: Run) -> None:
    made = story("fork", "copy", "--at", "4", "--json")
    assert list(made.json) == ["path", "id", "shared", "own", "linked", "left_out", "appended"]
    assert (made.json["shared"], made.json["own"]) == (4, 1)
    assert run("state", "-d", "copy", "--json").out == story("state", "--at", "4", "--json").out
    assert run("verify", "-d", "copy").code == 0
    shown = story("fork", "again", "--at", "2026-01-01T14:00")
    assert shown.out == "again: 3 events shared, 1 event of its own: journal.forked\n"


def test_fork_takes_drops_edits_and_inserts(story: Run, run: Run) -> None:
    edit = orjson.dumps({"type": "set", "data": {"path": "/phase", "value": "think"}}).decode()
    insert = orjson.dumps({"type": "set", "data": {"path": "/x", "value": [1, 2]}}).decode()
    made = story("fork", "whatif", "--drop", "6", "--edit", f"2={edit}", "--insert", f"3={insert}")
    assert made.code == 0
    assert run("state", "-d", "whatif", "--json").json == {
        "phase": "think",
        "tasks": [{"id": 1, "done": True}, TASKS[1]],
        "x": [1, 2],
    }


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--drop", "x"], "SEQ is wanted"),
        (["--edit", "2"], """--edit '2={"type": "set", """),
        (["--edit", '2={"type": "set"}'], "data"),
        (["--edit", '2={"type": "set", "data": {}, "dta": 1}'], "dta"),
        (["--insert", '2={"type": "set", "data": NaN}'], "NaN"),
        (["--drop", "99"], "not among"),
        (["--drop", "3"], "event 4 (set)"),
        (["--at", "99"], "there is no event 99"),
    ],
)
def test_fork_refuses_and_leaves_nothing(story: Run, args: list[str], why: str) -> None:
    before = sorted(Path().iterdir())
    asked = story("fork", "whatif", *args)
    assert (asked.code, asked.out) == (2, "")
    assert why in asked.err
    assert sorted(Path().iterdir()) == before


def test_restore_appends_and_prints_the_event(story: Run) -> None:
    done = story("restore", "before the risky step", "--reason", "as it was")
    assert (done.json["type"], done.json["seq"]) == ("journal.restored", 7)
    assert done.json["data"]["reason"] == "as it was"
    assert story("state", "--json").json == story("state", "--at", "4", "--json").json
    assert story("restore", "2").json["seq"] == 8
    assert story("state", "--json").json == {"phase": "plan"}
    assert story("restore", "never").code == 2


# --- step ----------------------------------------------------------------------------------------


def test_step_does_what_is_read_from_a_pipe(story: Run) -> None:
    shown = story("step", stdin="n\nnext\nj 4\nb\n6\nd\nq\nn\n")
    titles = [line.split()[1] for line in shown.out.splitlines() if line.startswith("event ")]
    assert titles == ["1", "2", "4", "3", "6", "6"]
    assert '  ~ /phase  "plan" -> "execute"' in shown.out
    assert shown.out.splitlines()[1] == "  nothing changed"
    assert (shown.code, "\x1b" in shown.out) == (0, False)


def test_step_without_commands_goes_through_everything(story: Run) -> None:
    shown = story("step")
    titles = [line for line in shown.out.splitlines() if line.startswith("event ")]
    assert [title.split()[1] for title in titles] == ["1", "2", "3", "4", "5", "6"]
    assert titles[3] == "event 4  2026-01-01T15:00:00.000Z  set  bob"
    assert story("step", "5").out.startswith("event 5")
    only = story("step", "4", "/tasks/1")
    assert "nothing changed" in only.out


def test_step_as_json_is_a_line_a_step(story: Run) -> None:
    lines = story("step", "2", "--json").lines
    assert [list(line) for line in lines] == [["event", "changes"]] * 5
    assert lines[1]["changes"] == [{"op": "add", "path": "/tasks", "value": TASKS}]
    assert lines[1]["event"] == story("log", "--json", "--after", "2", "--upto", "3").json


def test_step_shows_state_and_event(story: Run) -> None:
    shown = story("step", "--json", stdin="3\ns\ne\n").lines
    assert shown[1] == {"phase": "plan", "tasks": TASKS}
    assert shown[2]["seq"] == 3
    assert '"phase": "plan"' in story("step", stdin="3\ns\n").out


def test_step_at_the_ends_says_so(story: Run) -> None:
    shown = story("step", stdin="1\nb\nhead\nn\n?\ns\n")
    assert "nothing before event 1" in shown.err
    assert "event 6 is the last" in shown.err
    assert "n next" in shown.err
    assert shown.code == 0


def test_step_ends_a_pipe_at_what_is_no_command(story: Run) -> None:
    shown = story("step", stdin="n\nwhat\nn\n")
    assert shown.code == 2
    assert shown.out.count("event ") == 1
    assert "n next" in shown.err


@pytest.mark.slow
def test_step_on_a_terminal_asks_and_goes_on_after_a_mistake(story: Run) -> None:
    import os
    import subprocess
    import sys

    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "journal", "step", "-d", "run"],
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"},
    )
    os.write(leader, b"\nwhat\nj 4\n\x04")
    out, err = process.communicate(timeout=30)
    os.close(leader)
    os.close(follower)
    titles = [line.split()[1] for line in out.splitlines() if line.startswith(b"event ")]
    assert titles == [b"1", b"2", b"4"]
    assert b"1 of 6>" in err
    assert b"what" in err
    assert process.returncode == 0


# --- damage --------------------------------------------------------------------------------------


@pytest.fixture
def damaged(story: Run) -> Run:
    """The same with a bad byte in event 3; a checkpoint stands behind it, at event 4."""
    damage(3)
    return story


@pytest.mark.parametrize(
    "args",
    [
        ("diff", "2", "3"),
        ("blame", "/phase"),
        ("bisect", "--when", ".note"),
        ("fork", "copy"),
        ("step", "3"),
        ("restore", "2"),
    ],
)
def test_damage_in_the_way_is_exit_5_with_its_place(damaged: Run, args: tuple[str, ...]) -> None:
    asked = damaged(*args)
    assert asked.code == 5
    assert "line 3" in asked.err


def test_what_lies_before_the_damage_can_be_asked(damaged: Run) -> None:
    assert damaged("diff", "1", "2", "--json").json[0]["path"] == "/phase"
    assert damaged("blame", "/phase", "--upto", "2", "--json").json[0]["seq"] == 2
    assert damaged("bisect", "--when", ".phase", "--upto", "2", "--json").json["seq"] == 2
    assert damaged("fork", "copy", "--at", "2").code == 0
    stepped = damaged("step", "2", stdin="s\n")
    assert (stepped.code, stepped.out.splitlines()[0].split()[1]) == (0, "2")


def test_what_lies_behind_the_damage_and_a_checkpoint_can_be_asked(damaged: Run) -> None:
    assert damaged("diff", "4", "head", "--json").json[0]["path"] == "/phase"
    assert damaged("blame", "/note", "-n", "1", "--json").json[0]["seq"] == 6
    assert damaged("bisect", "--when", ".note", "--after", "4", "--json").json["seq"] == 6


def test_usage_errors_have_exit_code_2() -> None:
    assert UsageError.exit_code == 2
