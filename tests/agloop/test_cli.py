"""`journal agloop …`: a whole life, every verb, its output and its exit code."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agloop.command import at, help_of, run
from tests.agloop.life import (
    FAIL,
    FEATURE,
    OBJECTION,
    PASS,
    RESULT,
    checkpoints,
    executing,
    files,
    folder_of,
    foreign_state,
    put_state,
    read_log,
    read_state,
    reopen,
    task,
    types,
    write_plan,
)

VERBS = [
    ["init"],
    ["status"],
    ["next"],
    ["feature"],
    ["phase"],
    ["reset"],
    ["plan", "check"],
    ["plan", "adopt"],
    ["task", "start"],
    ["task", "retry"],
    ["task", "result"],
    ["task", "verify"],
    ["task", "fail"],
    ["objection", "add"],
    ["objection", "answer"],
    ["context", "set"],
    ["checkpoint"],
    ["checkpoints"],
    ["recover"],
    ["log"],
    ["log", "add"],
    ["hook"],
]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_that_ends_with_an_example(verb: list[str]) -> None:
    shown = help_of(*verb)
    assert "Example" in shown
    assert f"journal agloop {' '.join(verb)}" in shown.split("Example")[1]


@pytest.mark.slow
def test_a_whole_life_on_the_command_line(tmp_path: Path) -> None:
    def ok(*args: str, stdin: Any = "") -> str:
        text = stdin if isinstance(stdin, str) else json.dumps(stdin)
        found = at(tmp_path, *args, stdin=text)
        assert found.code == 0, found
        return found.out

    assert ok("init") == f"{folder_of(tmp_path)}: a loop in phase init\n"
    refused = at(tmp_path, "phase", "research")
    assert (refused.code, refused.out) == (2, "")
    assert "feature_name is empty" in refused.err
    ok("feature", FEATURE, "--description", "over titles", "--complexity", "complex")
    assert ok("phase", "research", "--agent", "coordinator").startswith("phase_entered: phase rese")
    ok("context", "set", "research_digest", "there is an index already")
    ok(
        "log",
        "add",
        "searched",
        "--output",
        "42 files",
        "--agent",
        "researcher",
        "--metadata",
        '{"files": 42}',
    )
    ok("phase", "plan")
    write_plan(tmp_path, task(1), task(2, 1))
    assert ok("plan", "check") == (
        "plan-20260301-144500: 2 tasks, status approved; 2 new: task-001, task-002\n"
    )
    ok("plan", "adopt", "--agent", "planner")
    ok("phase", "critique")
    ok("objection", "add", "-", stdin=OBJECTION)
    ok("objection", "answer", "1", "--response", "there is one", "--resolved")
    ok("phase", "execute", "--task", "task-001")
    assert ok("next") == "task-001: Deliver part 1 (it needs no other)\n"
    ok("task", "start", "task-001", "--agent", "executor")
    ok("task", "result", "task-001", "-", stdin=RESULT)
    ok("task", "verify", "task-001", "-", stdin=FAIL)
    ok("task", "retry", "task-001", "--reason", "page 2")
    ok("task", "start", "task-001")
    ok("task", "result", "task-001", "-", stdin=RESULT)
    ok("task", "verify", "task-001", "-", stdin=PASS)
    refused = at(tmp_path, "phase", "complete")
    assert refused.code == 2
    ok("task", "start", "task-002")
    ok("task", "fail", "task-002", "--reason", "no such API")
    ok("phase", "verify")
    file = ok("checkpoint", "pre-compact").strip().removeprefix("checkpoints/")
    assert file in checkpoints(tmp_path)
    ok("phase", "complete")
    status = json.loads(ok("status", "--json"))
    assert (status["phase"], status["tasks"]["done"], status["tasks"]["failed"]) == (
        "complete",
        1,
        1,
    )
    assert (status["retries"], status["compactions"], status["seq"] > 20) == (1, 1, True)
    ok("reset", "--reason", "next feature")
    listed = json.loads(ok("checkpoints", "--json"))
    assert [one["type"] for one in listed[:2]] == ["reset", "phase-transition"]
    name = next(one["file"] for one in listed if one["type"] == "reset")
    ok("recover", "--from", str(folder_of(tmp_path) / "checkpoints" / name))
    assert read_state(tmp_path)["current_phase"] == "complete"
    entries = [json.loads(line) for line in ok("log", "--json").splitlines()]
    assert entries == read_log(tmp_path)
    assert ok("log", "-n", "1", "--action", "searched").endswith("searched  42 files\n") or (
        "42 files" in ok("log", "-n", "1", "--action", "searched")
    )
    with reopen(tmp_path) as loop:
        assert loop.engine.verify().ok
        assert {e.actor for e in loop.engine.events(types=["plan_adopted"])} == {"planner"}


def test_status_in_words_and_as_json(tmp_path: Path) -> None:
    with executing(tmp_path, task(1), task(2, 1)) as loop:
        loop.start_task("task-001")
        loop.set_context("pending_decision", "Postgres?")
    words = at(tmp_path, "status").out
    for part in (
        "phase execute, iteration 1",
        "feature: Add search API (medium)",
        "tasks: 0/2 done (1 in_progress, 1 pending)",
        "next: task-001 (it is in progress)",
        "plan: plan-20260301-144500, status approved",
        "pending decision: Postgres?",
    ):
        assert part in words
    found = at(tmp_path, "status", "--json").json
    assert list(found) == [
        "folder",
        "journal",
        "seq",
        "phase",
        "iteration",
        "feature",
        "complexity",
        "tasks",
        "current_task_id",
        "next",
        "next_why",
        "blocked",
        "cycles",
        "retries",
        "open_objections",
        "stop_hook_active",
        "compactions",
        "pending_decision",
        "last_action",
        "plan",
        "plan_note",
        "checkpoints",
    ]


def test_status_changes_nothing_where_nothing_is_to_be_mended(tmp_path: Path) -> None:
    executing(tmp_path).close()
    before = files(tmp_path)
    assert at(tmp_path, "status").code == 0
    assert files(tmp_path) == before


def test_status_mends_a_damaged_state_and_a_missing_plan_and_says_so(tmp_path: Path) -> None:
    executing(tmp_path).close()
    (folder_of(tmp_path) / "state.json").write_bytes(b"")
    (folder_of(tmp_path) / "plan.yaml").unlink()
    found = at(tmp_path, "status")
    assert found.code == 0
    assert "State recovered from the journal (seq " in found.err
    assert "plan.yaml was missing" in found.err
    assert (folder_of(tmp_path) / "plan.yaml").exists()
    assert read_state(tmp_path)["current_phase"] == "execute"


def test_status_of_a_folder_that_is_not_taken_over_writes_nothing(tmp_path: Path) -> None:
    put_state(tmp_path, foreign_state(current_phase="research"))
    before = files(tmp_path)
    found = at(tmp_path, "status", "--json")
    assert (found.json["phase"], found.json["journal"], found.json["seq"]) == ("research", False, 0)
    assert "takes the folder over" in found.err
    assert files(tmp_path) == before


def test_status_tells_an_edit_that_breaks_a_rule_and_how_the_journal_has_it(
    tmp_path: Path,
) -> None:
    executing(tmp_path).close()
    state = read_state(tmp_path)
    state["current_phase"] = "done"
    (folder_of(tmp_path) / "state.json").write_text(json.dumps(state))
    found = at(tmp_path, "status")
    assert found.code == 0
    assert "phase execute" in found.out
    assert "current_phase" in found.err
    refused = at(tmp_path, "phase", "verify")
    assert refused.code == 7
    mended = at(tmp_path, "recover")
    assert mended.code == 0
    assert "State recovered from the journal" in mended.err
    assert at(tmp_path, "phase", "verify").code == 0


def test_next_tells_what_is_blocked_and_in_circles(tmp_path: Path) -> None:
    with executing(tmp_path, task(1), task(2, 1)) as loop:
        loop.fail_task("task-001", "no")
    found = at(tmp_path, "next")
    assert found.out == "none: every pending task waits for one that is not done\n"
    assert "task-002 waits for task-001, which failed" in found.err
    as_json = at(tmp_path, "next", "--json").json
    assert (as_json["task"], as_json["blocked"]) == (None, {"task-002": ["task-001"]})


def test_plan_check_lists_every_fault_and_changes_nothing(tmp_path: Path) -> None:
    executing(tmp_path, task(1)).close()
    path = tmp_path / "bad.yaml"
    path.write_text("plan_id: x\ntasks: []\n")
    before = files(folder_of(tmp_path))
    for verb in ("check", "adopt"):
        found = at(tmp_path, "plan", verb, str(path))
        assert (found.code, found.out) == (2, "")
        assert found.err.count(f"{path}, line ") >= 8
        assert "Nothing was changed" in found.err
    missing = at(tmp_path, "plan", "check", str(tmp_path / "none.yaml"))
    assert missing.code == 1
    assert files(folder_of(tmp_path)) == before


def test_plan_adopt_as_json_and_with_warnings(tmp_path: Path) -> None:
    executing(tmp_path, task(1)).close()
    one = {k: v for k, v in task(2).items() if k != "title"}
    write_plan(tmp_path, one)
    found = at(tmp_path, "plan", "check")
    assert "warning: " in found.err
    assert "task-002 has no title" in found.err
    report = at(tmp_path, "plan", "adopt", "--json").json
    assert (report["adopted"], report["new"], report["gone"]) == (True, ["task-002"], ["task-001"])
    assert at(tmp_path, "plan", "adopt", "--json").json["adopted"] is False


def test_context_takes_texts_and_json(tmp_path: Path) -> None:
    executing(tmp_path, task(1)).close()
    for given, expected in (
        ("plain text", "plain text"),
        ("17", "17"),
        ('{"agent": "executor"}', {"agent": "executor"}),
        ("[1, 2]", [1, 2]),
        ("null", None),
    ):
        assert at(tmp_path, "context", "set", "last_delegation", given).code == 0
        assert read_state(tmp_path)["compaction_context"]["last_delegation"] == expected
    assert at(tmp_path, "context", "set", "last_delegation", "{bad").code == 2


def test_log_filters_and_the_options_of_add_stand_behind_it(tmp_path: Path) -> None:
    executing(tmp_path, task(1)).close()
    at(tmp_path, "log", "add", "searched", "--agent", "researcher", "--status", "skipped")
    lines = at(tmp_path, "log", "--agent", "researcher").out.splitlines()
    assert len(lines) == 1
    assert "researcher  execute  searched  skipped" in lines[0]
    assert len(at(tmp_path, "log", "-n", "2").out.splitlines()) == 2
    wrong = run("log", "--dir", str(tmp_path), "add", "searched")
    assert wrong.code == 2
    assert at(tmp_path, "log", "add", "x", "--metadata", "[1]").code == 2
    assert at(tmp_path, "log", "-n", "many").code == 2


def test_an_asked_for_checkpoint_is_of_one_type_only(tmp_path: Path) -> None:
    executing(tmp_path, task(1)).close()
    found = at(tmp_path, "checkpoint", "reset")
    assert found.code == 2
    assert "allowed: pre-compact" in found.err


def test_recover_says_what_it_wrote_or_that_nothing_was_to_do(tmp_path: Path) -> None:
    executing(tmp_path, task(1)).close()
    assert at(tmp_path, "recover").out == (
        "nothing to recover: every file is as the journal has it\n"
    )
    gone = checkpoints(tmp_path)[0]
    (folder_of(tmp_path) / "checkpoints" / gone).write_text("changed")
    assert at(tmp_path, "recover").out == f"written again: checkpoints/{gone}\n"
    for bad in ("none.json", "state.json"):
        assert at(tmp_path, "recover", "--from", str(folder_of(tmp_path) / bad)).code in (1, 2)


def test_the_folder_is_named_found_or_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JOURNAL_DIR", raising=False)
    executing(tmp_path, task(1)).close()
    loop = folder_of(tmp_path)
    for named in (tmp_path, loop, loop / "journal"):
        assert run("status", "--dir", str(named), "--json").json["phase"] == "execute"
        monkeypatch.setenv("JOURNAL_DIR", str(named))
        assert run("status", "--json").json["phase"] == "execute"
        monkeypatch.delenv("JOURNAL_DIR")
    below = tmp_path / "src" / "api"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert run("status", "--json").json["folder"] == str(loop)
    monkeypatch.chdir(tmp_path)
    assert run("status", "--json").json["folder"] == ".agloop"
    other = tmp_path / "empty"
    other.mkdir()
    missing = run("phase", "plan", "--dir", str(other))
    assert missing.code == 1
    assert "journal agloop init" in missing.err
    assert list(other.iterdir()) == []


def test_init_begins_in_the_folder_it_is_run_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", "--feature", FEATURE, "--complexity", "simple").code == 0
    assert read_state(tmp_path)["complexity_level"] == "simple"
    again = run("init")
    assert again.code == 2
    assert "a loop here already" in again.err
    wrong = run("init", "--complexity", "huge", "--dir", str(tmp_path / "other"))
    assert wrong.code == 2
    assert not (tmp_path / "other").exists()


def test_what_a_mutation_was_is_said_with_where_the_loop_stands(tmp_path: Path) -> None:
    executing(tmp_path, task(1)).close()
    assert at(tmp_path, "task", "start", "task-001").out == (
        "task_started: phase execute, iteration 1, 0/1 tasks done, current task task-001\n"
    )
    assert at(tmp_path, "feature", FEATURE).out == (
        "nothing to do, it is so already: phase execute, iteration 1, 0/1 tasks done, current "
        "task task-001\n"
    )
    with reopen(tmp_path) as loop:
        assert types(loop.engine.events())[-1] == "task_started"


def test_papers_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with executing(tmp_path, task(1)) as loop:
        loop.start_task("task-001")
    before = files(tmp_path)
    for stdin in ("", "{", "[]", '{"summary": "x"}'):
        assert at(tmp_path, "task", "result", "task-001", "-", stdin=stdin).code == 2
    assert at(tmp_path, "task", "result", "task-001", str(tmp_path / "none.json")).code == 1
    assert files(tmp_path) == before


def test_a_log_that_is_missing_or_damaged_is_told_with_the_way_out(tmp_path: Path) -> None:
    at(tmp_path, "init", "--feature", "x")
    log = tmp_path / ".agloop" / "log.json"
    whole = log.read_bytes()
    log.write_bytes(b"\0" * 40 + b"\n" + whole)
    ran = at(tmp_path, "log")
    assert (ran.code, len(ran.out.splitlines())) == (0, 1)
    assert "1 line passed over" in ran.err
    assert "journal agloop recover" in ran.err
    assert at(tmp_path, "recover").code == 0
    log.unlink()
    ran = at(tmp_path, "log")
    assert (ran.code, ran.out.splitlines()[0].split()[3]) == (0, "initialized")
    assert "log.json was missing; it is written again from the log" in ran.err
    assert at(tmp_path, "log").err == ""
    (tmp_path / "other").mkdir()
    assert at(tmp_path / "other", "log").code == 1


CELLS: dict[str, tuple[bytes | None, int, str]] = {
    "deleted": (None, 0, "State recovered from the journal (seq 2)"),
    "cut short": (b'{\n  "$sch', 0, "State recovered from the journal (seq 2)"),
    "NULs": (b"\0" * 64, 0, "State recovered from the journal (seq 2)"),
    "conflict markers": (b"<<<<<<< a\n{}\n>>>>>>> b\n", 0, "State recovered from the journal"),
    "a valid edit": (b"medium/complex", 0, "adopted as event"),
    "an invalid edit": (b"medium/huge", 7, "journal agloop recover"),
}


@pytest.mark.parametrize("cell", CELLS)
def test_each_cell_of_the_drift_table_is_told_in_words_with_what_is_next(
    tmp_path: Path, cell: str
) -> None:
    damage, code, words = CELLS[cell]
    at(tmp_path, "init", "--feature", "x")
    state = tmp_path / ".agloop" / "state.json"
    if damage is None:
        state.unlink()
    elif damage.startswith(b"medium/"):
        old, new = damage.split(b"/")
        state.write_bytes(state.read_bytes().replace(old, new))
    else:
        state.write_bytes(damage)
    before = state.read_bytes() if code else b""
    ran = at(tmp_path, "phase", "research")
    assert ran.code == code, ran
    assert words in ran.err
    if code:
        assert state.read_bytes() == before
        assert at(tmp_path, "recover").code == 0
        assert at(tmp_path, "phase", "research").code == 0
    assert json.loads(state.read_bytes())["current_phase"] == "research"
