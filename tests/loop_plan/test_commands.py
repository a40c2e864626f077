"""The command line of plans: a whole life, the text's one-liners, and how commands fail."""

import importlib
import sys
from pathlib import Path

import orjson
import pytest

from journal.cli.plan import app
from tests.cli.command import Ran
from tests.loop_plan import command
from tests.loop_plan.command import help_of
from tests.loop_plan.life import GOAL, SLUG, STATEMENT, begin, read_state, tree, write_old
from tests.loop_plan.test_history import CLARIFICATION, EXPLORATION, GAP, RESEARCH

COMMANDS = [info.name for info in app.registered_commands]
ONE_LINERS = {
    "current phase": ".current_phase",
    "iteration": ".iteration",
    "last choice": '.loop_gate_history[-1].choice // "none yet"',
    "reasons": "[.research_history[].reject_reasons] | flatten | .[]",
    "all": r'"\(.slug)\t\(.current_phase)\t\(.iteration)"',
}


@pytest.fixture
def plans(tmp_path: Path) -> Path:
    begin(tmp_path, "5").close()
    return tmp_path


def run(*args: str, folder: Path, stdin: object = None) -> Ran:
    data = b"" if stdin is None else orjson.dumps(stdin)
    return command.run(*args, folder=folder, stdin=data)


@pytest.mark.slow
def test_whole_life_on_the_command_line(tmp_path: Path) -> None:
    verdict = tmp_path / "verdict.yaml"
    verdict.write_text("status: passed\nscore: 2/2\ngaps: []\n")
    (tmp_path / "c.md").write_text("# constitution\n")
    life: list[tuple[tuple[str, ...], object]] = [
        (("init", STATEMENT, "--actor", "ann"), None),
        (("set", SLUG, "constitution", str(tmp_path / "c.md")), None),
        (("phase", SLUG, "1"), None),
        (("add", SLUG, "exploration", "-"), EXPLORATION),
        (("phase", SLUG, "2"), None),
        (("rigor", SLUG, "full"), None),
        (("add", SLUG, "clarification", "-"), CLARIFICATION),
        (("goal", SLUG, "-"), GOAL),
        (("phase", SLUG, "3"), None),
        (("add", SLUG, "gap", "-"), GAP),
        (("add", SLUG, "research", "-"), RESEARCH),
        (("phase", SLUG, "3b"), None),
        (("inventory", SLUG, "failed", "--error", "no tool"), None),
        (("resume", SLUG, "--choose", "retry"), None),
        (("inventory", SLUG, "ok"), None),
        (("phase", SLUG, "5"), None),
        (("gate", SLUG, "More research"), None),
        (("phase", SLUG, "4"), None),
        (("phase", SLUG, "5"), None),
        (("gate", SLUG, "go", "--source", "keyword"), None),
        (("drift", SLUG, "-"), {"scope": "grew"}),
        (("override", SLUG, "--category", "scope", "--why", "agreed"), None),
        (("phase", SLUG, "7a"), None),
        (("set", SLUG, "stages", "-"), [{"id": "s1", "exit_criteria": ["3 pass"]}]),
        (("execute", SLUG, "--log", "log.md"), None),
        (("stage", "start", SLUG, "s1"), None),
        (("add", SLUG, "test", "-"), {"task_id": "T1"}),
        (("task-done", SLUG, "T1"), None),
        (("stage", "verify", SLUG, "s1", "-"), {"status": "human_needed"}),
        (("stage", "sign-off", SLUG, "s1", "--by", "Ann", "--note", "ok"), None),
        (("verify", SLUG, "-"), {"status": "human_needed"}),
        (("sign-off", SLUG, "--by", "Ann", "--note", "ok"), None),
        (("verify", SLUG, str(verdict)), None),
        (("ship", SLUG), None),
    ]
    for args, stdin in life:
        ran = run(*args, folder=tmp_path, stdin=stdin)
        assert ran.code == 0, (args, ran.err)
        assert ran.out.startswith((f"{SLUG}: ", f"Resuming {SLUG}")), args
    state = read_state(tmp_path)
    assert (state["current_phase"], state["completion_state"]) == ("done", "shipped")
    assert state["constitution_path"] == str(tmp_path / "c.md")
    assert state["verification"] == {"status": "passed", "score": "2/2", "gaps": []}


def test_init_prints_the_file_and_a_second_one_points_to_resume(tmp_path: Path) -> None:
    ran = run("init", STATEMENT, folder=tmp_path)
    assert str(tmp_path / f"{SLUG}.state.json") in ran.out
    again = run("init", STATEMENT, folder=tmp_path)
    assert (again.code, again.out) == (2, "")
    assert f"journal plan resume {SLUG}" in again.err


# --- looking -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ONE_LINERS)
def test_one_liner_of_the_text_works_as_pasted_and_on_the_file(plans: Path, name: str) -> None:
    jq = importlib.import_module("jq")
    program = ONE_LINERS[name]
    with begin(plans / "b", "1") as plan:
        plan.add("research", RESEARCH)
        assert plan.engine is not None
        plan.engine.append("gate_chosen", {"iteration": 1, "choice": "Ship it"})
    wanted = {
        "current phase": ["1"],
        "iteration": ["1"],
        "last choice": ["Ship it"],
        "reasons": ["undated"],
        "all": [f"{SLUG}\t1\t1"],
    }[name]
    ran = run("get", SLUG, program, folder=plans / "b")
    assert (ran.code, ran.out.splitlines()) == (0, wanted)
    assert run("get", SLUG, "-r", program, folder=plans / "b").out == ran.out
    text = (plans / "b" / f"{SLUG}.state.json").read_text()
    assert [str(value) for value in jq.compile(program).input_text(text)] == wanted


def test_last_choice_of_a_new_plan_is_none_yet(plans: Path) -> None:
    assert run("get", SLUG, ONE_LINERS["last choice"], folder=plans).out == "none yet\n"


def test_get_prints_values_as_jq_does_and_as_json_lines(plans: Path) -> None:
    assert run("get", SLUG, ".verification", folder=plans).out.startswith('{\n  "status": null')
    assert run("get", SLUG, ".slug", "--json", folder=plans).out == f'"{SLUG}"\n'
    assert run("get", SLUG, folder=plans).out == (plans / f"{SLUG}.state.json").read_text()


def test_get_with_a_program_that_is_none_is_a_wrong_call(plans: Path) -> None:
    ran = run("get", SLUG, ".[", folder=plans)
    assert (ran.code, ran.out) == (2, "")


def test_get_without_the_package_jq_says_what_to_install(
    plans: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jq", None)
    ran = run("get", SLUG, ".slug", folder=plans)
    assert ran.code == 1
    assert "journal-engine[jq]" in ran.err


def test_status_in_words_and_as_json(plans: Path) -> None:
    ran = run("status", SLUG, folder=plans)
    assert ran.code == 0
    assert ran.out.startswith(f"{SLUG}: {STATEMENT}\nphase 5, iteration 1, ")
    assert f'next: journal plan gate {SLUG} "Ship it"' in ran.out
    assert "the plan's text is not there" in ran.err
    found = run("status", SLUG, "--json", folder=plans).json
    assert (found["slug"], found["phase"], found["iteration"]) == (SLUG, "5", 1)
    assert found["last_action"] == "none yet"


def test_list_prints_slug_phase_and_iteration_with_tabs(plans: Path) -> None:
    write_old(plans, {"current_phase": "7c", "iteration": 3}, "old")
    (plans / "broken.state.json").write_text("{")
    ran = run("list", folder=plans)
    assert ran.out == f"{SLUG}\t5\t1\nold\t7c\t3\n"
    assert "broken.state.json" in ran.err
    assert [one["slug"] for one in run("list", "--json", folder=plans).json] == [SLUG, "old"]


def test_resume_announces_and_asks_and_changes_nothing(plans: Path) -> None:
    before = tree(plans)
    ran = run("resume", SLUG, folder=plans)
    assert ran.out == (
        f"Resuming {SLUG} from iteration 1, phase 5. Last action: none yet.\n"
        "Resume from phase 5, restart the current iteration, or start fresh? "
        f"`journal plan resume {SLUG} --choose resume|restart|fresh --plans-dir {plans}`\n"
    )
    assert "the plan's text is not there" in ran.err
    changed = {name for name, data in tree(plans).items() if before.get(name) != data}
    assert {Path(name).name for name in changed} <= {"witness.json"}


def test_resume_goes_on_as_the_user_chose(plans: Path) -> None:
    assert "phase 5" in run("resume", SLUG, "--choose", "resume", folder=plans).out
    assert "phase 1" in run("resume", SLUG, "--choose", "restart", folder=plans).out
    ran = run("resume", SLUG, "--choose", "fresh", folder=plans)
    assert "phase 0" in ran.out
    assert f"{SLUG}.state.json.bak-" in ran.err


def test_audit_in_words_as_json_and_marking(tmp_path: Path) -> None:
    old = {
        "slug": "idle",
        "version": 1,
        "iteration": 2,
        "current_phase": "4",
        "last_active_at": "2020-01-01T00:00:00Z",
        "gap_acknowledged": [
            {
                "phase": "3",
                "iteration": 1,
                "reason": "stalled",
                "fallback": "",
                "timestamp": "2020-01-01",
            }
        ],
    }
    write_old(tmp_path, old, "idle")
    unknown = {**old, "slug": "unknown", "last_update_at": "2020-01-01T00:00:00Z"}
    del unknown["last_active_at"]
    write_old(tmp_path, unknown, "unknown")
    (tmp_path / "broken.state.json").write_text("{")
    ran = run("audit", "--suggest-resume", "idle", folder=tmp_path)
    assert ran.code == 0
    assert "idle     abandoned-candidate" in ran.out
    assert "unknown: no last_active_at" in ran.out
    assert "broken.state.json  damaged" in ran.out
    assert "agents stalled: 2 in phase 3" in ran.out
    assert "journal plan resume idle --choose restart" in ran.out
    found = run("audit", "--json", "--mark-abandoned", folder=tmp_path).json
    assert found["marked"] == {"marked": ["idle"], "unknown": ["unknown"], "refused": []}
    assert {one["slug"]: one["class"] for one in found["plans"]} == {
        "idle": "abandoned-candidate",
        "unknown": "abandoned-candidate",
    }
    assert run("audit", "--json", folder=tmp_path).json.keys() == found.keys()
    again = run("audit", "--mark-abandoned", folder=tmp_path)
    assert "unknown, not marked: unknown" in again.out
    assert "abandoned            phase 4" in again.out


def test_audit_of_nothing(tmp_path: Path) -> None:
    ran = run("audit", folder=tmp_path / "nowhere")
    assert (ran.code, ran.out) == (1, "")
    assert "no such folder" in ran.err
    assert "no plans" in run("audit", folder=tmp_path).err
    ran = run("audit", "--suggest-resume", "x", folder=tmp_path)
    assert ran.code == 2


# --- failing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("phase", SLUG, "7b"), 2, "gate"),
        (("phase", "no-such", "1"), 2, "journal plan list"),
        (("phase", "../x", "1"), 2, "slug"),
        (("rigor", SLUG, "strict"), 2, "minimal, tdd-only, full"),
        (("add", SLUG, "story", "-"), 2, "exploration"),
        (("set", SLUG, "mood", "-"), 2, "decisions"),
        (("stage", "stop", SLUG, "s1"), 2, "start, verify, sign-off"),
        (("stage", "verify", SLUG, "s1"), 2, "FILE"),
        (("goal", SLUG, "nowhere.json"), 1, "nowhere.json"),
        (("verify", SLUG, "nowhere.yaml"), 1, "nowhere.yaml"),
        (("set", SLUG, "constitution", "nowhere.md"), 1, "nowhere.md"),
        (("get", SLUG, ".", "--raw", "--json"), 2, "exclude"),
    ],
)
def test_command_that_fails_says_why_and_changes_nothing(
    plans: Path, args: tuple[str, ...], code: int, said: str
) -> None:
    before = (plans / f"{SLUG}.state.json").read_bytes()
    ran = run(*args, folder=plans, stdin={})
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert (plans / f"{SLUG}.state.json").read_bytes() == before


@pytest.mark.parametrize("args", [("goal", SLUG, "-"), ("add", SLUG, "gap", "-")])
def test_text_that_is_no_json_is_a_wrong_call(plans: Path, args: tuple[str, ...]) -> None:
    ran = command.run(*args, folder=plans, stdin='{"a": 1, "a": 2}')
    assert (ran.code, ran.out) == (2, "")
    assert "twice" in ran.err


def test_yaml_that_is_none_is_a_wrong_call(plans: Path, tmp_path: Path) -> None:
    path = tmp_path / "verdict.yaml"
    path.write_text("a: 1\na: 2\n")
    ran = run("verify", SLUG, str(path), folder=plans)
    assert ran.code == 2
    assert "verdict.yaml" in ran.err


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"{", 5), (b'{"version": 2}', 6), (b'{"iteration": 0, "current_phase": "1"}', 5)],
)
def test_file_of_before_that_cannot_be_read_has_the_code_of_its_error(
    tmp_path: Path, data: bytes, code: int
) -> None:
    (tmp_path / "old.state.json").write_bytes(data)
    for args in (("status", "old"), ("resume", "old"), ("get", "old"), ("phase", "old", "1")):
        ran = run(*args, folder=tmp_path)
        assert (ran.code, ran.out) == (code, ""), args
        assert "old.state.json" in ran.err


def test_drift_is_exit_code_7(plans: Path) -> None:
    path = plans / f"{SLUG}.state.json"
    path.write_bytes(path.read_bytes().replace(b'"iteration": 1', b'"iteration": 0'))
    for args in (("status", SLUG), ("gate", SLUG, "Ship it")):
        ran = run(*args, folder=plans)
        assert (ran.code, ran.out) == (7, "")
        assert "iteration" in ran.err


# --- help ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*COMMANDS, ""])
def test_help_ends_with_an_example(name: str) -> None:
    found = help_of(name) if name else help_of()
    last = found.rstrip().splitlines()[-1]
    assert "journal plan" in last


def test_every_verb_is_there() -> None:
    assert set(COMMANDS) == {
        *("init", "status", "get", "list", "resume", "phase", "rigor", "goal", "add", "set"),
        *("gate", "drift", "override", "inventory", "execute", "task-done", "stage", "verify"),
        *("sign-off", "ship", "abort", "audit"),
    }


def test_a_command_that_is_advised_names_the_folder_of_the_plans_and_works(tmp_path: Path) -> None:
    folder = tmp_path / "my plans"
    assert run("init", "Cache the feed", "--slug", SLUG, folder=folder).code == 0
    assert run("init", "Cache the feed", "--slug", SLUG, folder=folder).code == 2
    said = run("init", "Cache the feed", "--slug", SLUG, folder=folder).err
    place = f"--plans-dir '{folder}'"
    assert f"`journal plan resume {SLUG} {place}`" in said
    assert f"`journal plan list {place}`" in run("status", "none", folder=folder).err
    assert f"next: journal plan phase {SLUG} 1 {place}\n" in run("status", SLUG, folder=folder).out
    asked = run("resume", SLUG, folder=folder).out
    assert f"--choose resume|restart|fresh {place}`" in asked


def test_what_does_not_fit_is_told_in_words_of_json(plans: Path, tmp_path: Path) -> None:
    path = tmp_path / "gap.json"
    for text, words in (
        ('{"fallback": "f"}', "gap: reason is missing"),
        ('{"reason": 1, "fallback": "f"}', "gap: reason is a whole number, text is expected"),
        ('{"reason": "r", "fallback": "f", "x": 1}', "gap: x is not known"),
    ):
        path.write_text(text)
        said = run("add", SLUG, "gap", str(path), folder=plans)
        assert (said.code, said.out) == (2, "")
        assert words in said.err
