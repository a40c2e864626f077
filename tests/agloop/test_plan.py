"""plan.yaml: every rule broken once, each fault with its line, one verdict by both parsers."""

import copy
import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from journal.errors import UsageError
from projections.agloop.plan import Plan, read_plan
from projections.agloop.plan_error import PlanError
from tests.agloop.life import plan_of, task

WHOLE = """\
plan_id: plan-20260301-144500
feature: Add search API
created_at: 2026-03-01T14:45:00Z
updated_at: 2026-03-01T15:00:00+01:00
status: draft
pre_mortem:
  overall_risk_level: low
  critical_failure_modes: [it is slow]
  assumptions: [there is data]
tasks:
  - id: task-001
    title: Index
    description: An index of titles
    depends_on: []
    acceptance_criteria: [it is built]
    estimated_effort: small
    failure_modes:
      - {mode: full disk, likelihood: low, impact: high, mitigation: check first}
  - id: task-002
    title: Endpoint
    description: GET /api/search
    depends_on: [task-001]
    acceptance_criteria:
      - returns 200
    estimated_effort: medium
    failure_modes: []
dag_edges: [[task-001, task-002]]
critique_history: []
"""
# 15:00 in that zone is 14:00 UTC, before created_at.
WHOLE = WHOLE.replace("15:00:00+01:00", "16:00:00+01:00")


def read(text: str) -> Plan:
    return read_plan(text.encode(), "plan.yaml")


def faults(text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(PlanError) as raised:
        read(text)
    assert isinstance(raised.value, UsageError)
    assert raised.value.line == raised.value.faults[0].line
    for fault in raised.value.faults[:20]:
        assert fault.why in str(raised.value)
    return [(fault.line, fault.why) for fault in raised.value.faults]


def fault(text: str) -> tuple[int | None, str]:
    (found,) = faults(text)
    return found


@pytest.fixture(params=["C", "Python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Read with the parser in C, then without it: the verdicts are the same."""
    if request.param == "Python":
        monkeypatch.setattr("projections.foreign.yaml_text.parser_class", lambda: yaml.SafeLoader)
    return str(request.param)


def test_a_whole_plan_is_read_without_a_warning(parser: str) -> None:
    found = read(WHOLE)
    assert found.warnings == []
    assert (found.plan_id, found.status) == ("plan-20260301-144500", "draft")
    assert found.text == WHOLE
    assert [one["id"] for one in found.tasks] == ["task-001", "task-002"]
    assert found.tasks[1]["depends_on"] == ["task-001"]
    assert found.lines == {"task-001": 11, "task-002": 19}


MISSING = [
    "plan_id",
    "feature",
    "created_at",
    "updated_at",
    "status",
    "pre_mortem",
    "tasks",
    "dag_edges",
    "critique_history",
]


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_field_is_named(name: str) -> None:
    plan = plan_of(task(1))
    del plan[name]
    line, why = fault(json.dumps(plan))
    assert why.startswith(f"{name} is missing; allowed: ")
    assert line == 1


WRONG: list[tuple[str, Any, str]] = [
    ("plan_id", "plan-1", "allowed: plan-YYYYMMDD-HHmmss"),
    ("plan_id", "plan-20261301-000000", "allowed: plan-YYYYMMDD-HHmmss"),
    ("feature", " ", "feature is"),
    ("created_at", "2025-02-30", "created_at is"),
    ("updated_at", "soon", "updated_at is"),
    ("updated_at", "2026-03-01T14:44:59Z", "allowed: created_at"),
    ("status", "done", "allowed: draft | under_review | approved | in_progress | completed"),
    ("pre_mortem", [], "allowed: an object"),
    ("pre_mortem", {}, "pre_mortem.overall_risk_level is missing"),
    ("tasks", [], "allowed: a list of at least 1"),
    ("tasks", {"id": "task-001"}, "tasks is"),
    ("tasks", ["task-001"], "tasks[0] is"),
    ("dag_edges", {}, "dag_edges is"),
    ("dag_edges", [["task-001"]], "allowed: an edge [from_id, to_id]"),
    ("dag_edges", [["task-001", ["x"]]], "allowed: an edge"),
    ("dag_edges", [["task-001", "task-009"]], "dag_edges[0] names 'task-009', which is no task"),
    ("critique_history", None, "critique_history is null"),
]


@pytest.mark.parametrize(("name", "value", "words"), WRONG)
def test_a_field_that_breaks_its_rule_is_named(name: str, value: Any, words: str) -> None:
    found = faults(json.dumps(plan_of(task(1), **{name: value})))
    assert any(words in why for _, why in found), found


@pytest.mark.parametrize("name", ["critical_failure_modes", "assumptions"])
def test_a_pre_mortem_without_entries_is_refused(name: str) -> None:
    plan = plan_of(task(1))
    plan["pre_mortem"][name] = []
    assert f"pre_mortem.{name} is []; allowed: a list of at least 1" in fault(json.dumps(plan))[1]
    plan = plan_of(task(1))
    plan["pre_mortem"]["overall_risk_level"] = "huge"
    assert "allowed: low | medium | high | critical" in fault(json.dumps(plan))[1]


TASK_WRONG: list[tuple[str, Any, str]] = [
    ("id", "task-1", "allowed: task- and at least three digits"),
    ("id", "Task-001", "tasks[0].id is"),
    ("depends_on", None, "tasks[0].depends_on is null"),
    ("depends_on", "task-002", "tasks[0].depends_on is"),
    ("acceptance_criteria", [], "allowed: a list of at least 1"),
    ("acceptance_criteria", [""], "acceptance_criteria[0] is"),
    ("estimated_effort", "tiny", "allowed: small | medium | large"),
    ("title", ["x"], "tasks[0].title is"),
    ("description", None, "tasks[0].description is null"),
    ("failure_modes", [{"mode": "x"}], "failure_modes[0].likelihood is missing"),
]


@pytest.mark.parametrize(("name", "value", "words"), TASK_WRONG)
def test_a_task_that_breaks_a_rule_is_named(name: str, value: Any, words: str) -> None:
    found = faults(json.dumps(plan_of(task(1, **{name: value}), dag_edges=[])))
    assert any(words in why for _, why in found), found


@pytest.mark.parametrize("name", ["id", "depends_on", "acceptance_criteria", "estimated_effort"])
def test_a_task_without_a_needed_field_is_refused(name: str) -> None:
    one = task(1)
    del one[name]
    plan = plan_of(dag_edges=[])
    plan["tasks"] = [one]
    assert fault(json.dumps(plan))[1].startswith(f"tasks[0].{name} is missing")


def test_what_may_be_left_out_is_filled_in_with_a_warning() -> None:
    one = {k: v for k, v in task(1).items() if k not in ("title", "description", "failure_modes")}
    found = read(json.dumps(plan_of(one)))
    assert found.tasks[0]["title"] == "task-001"
    assert (found.tasks[0]["description"], found.tasks[0]["failure_modes"]) == ("", [])
    assert len(found.warnings) == 3
    assert all("plan.yaml, line 1: task-001 has no " in text for text in found.warnings)


def test_edges_that_differ_from_depends_on_are_a_warning_that_lists_them() -> None:
    text = WHOLE.replace("[[task-001, task-002]]", "[[task-002, task-001]]")
    found = read(text)
    assert found.tasks[1]["depends_on"] == ["task-001"]
    assert len(found.warnings) == 2
    assert "line 27: not among dag_edges" in found.warnings[0]
    assert "[task-001, task-002]" in found.warnings[0]
    assert "[task-002, task-001]" in found.warnings[1]


def test_unknown_keys_are_kept() -> None:
    found = read(json.dumps(plan_of(task(1, owner="ann", estimated_effort="large"), budget=7)))
    assert (found.tasks[0]["owner"], found.tasks[0]["estimated_effort"]) == ("ann", "large")
    assert found.warnings == []


# --- faults that people really met ---------------------------------------------------------------


def test_q01_a_tab_is_refused_with_line_and_column(parser: str) -> None:
    text = WHOLE.replace("  overall_risk_level", "\toverall_risk_level")
    assert fault(text) == (7, "column 1: tab used for indentation")
    line, why = fault(WHOLE.replace("status: draft", "status:\tdraft"))
    assert line == 5
    assert "tab" in why


def test_q02_a_key_that_stands_twice_is_refused_with_both_lines_and_merging_is_fine(
    parser: str,
) -> None:
    line, why = fault(WHOLE.replace("status: draft", "status: draft\nstatus: approved"))
    assert line == 6
    assert "5" in why
    line, why = fault(
        WHOLE.replace(
            "    depends_on: [task-001]", "    depends_on: []\n    depends_on: [task-001]"
        )
    )
    assert line == 23
    assert "22" in why
    merged = WHOLE.replace("  - id: task-001", "  - &one\n    id: task-001").replace(
        "  - id: task-002", "  - <<: *one\n    id: task-002"
    )
    assert [one["id"] for one in read(merged).tasks] == ["task-001", "task-002"]


def test_q04_dates_stay_text_and_a_bad_one_is_refused_with_its_line(parser: str) -> None:
    text = WHOLE.replace("    title: Index", "    title: 2025-01-02\n    due: 2025-02-30")
    found = read(text)
    assert found.tasks[0]["title"] == "2025-01-02"
    assert found.tasks[0]["due"] == "2025-02-30"
    line, why = fault(WHOLE.replace("created_at: 2026-03-01T14:45:00Z", "created_at: 2026-02-30"))
    assert line == 3
    assert "allowed: an ISO 8601 time" in why


def test_q05_numbers_stay_text_where_text_is_due(parser: str) -> None:
    text = WHOLE.replace("[it is built]", "[1.10, yes, 007]").replace("title: Index", "title: 1.10")
    found = read(text).tasks[0]
    assert found["acceptance_criteria"] == ["1.10", "yes", "007"]
    assert found["title"] == "1.10"
    line, why = fault(WHOLE.replace("depends_on: [task-001]", "depends_on: [1.10]"))
    assert line == 22
    assert "depends on '1.10', which is no task" in why
    assert 'tasks[0].id is "1"' in faults(WHOLE.replace("id: task-001", "id: 1"))[0][1]


@pytest.mark.slow
def test_q07_bombs_and_loops_are_refused_before_anything_is_copied(parser: str) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
    )
    began = time.perf_counter()
    assert "alias" in faults(bomb)[0][1]
    assert "inside what it names" in faults("a: &a [*a]\n")[0][1]
    assert time.perf_counter() - began < 5


def test_q08_one_document_is_expected(parser: str) -> None:
    line, why = fault(WHOLE + "---\nplan_id: x\n")
    assert line == WHOLE.count("\n") + 1
    assert why == f"2 documents, expected 1 (the second starts at line {line})"
    assert read("---\n" + WHOLE + "...\n").warnings == []


def test_q10_all_faults_of_the_graph_are_listed_at_once_with_their_lines(parser: str) -> None:
    text = (
        WHOLE.replace("    depends_on: []", "    depends_on: [task-001, task-0O2]")
        .replace("    depends_on: [task-001]", "    depends_on: [task-003]")
        .replace(
            "dag_edges: [[task-001, task-002]]",
            """\
  - id: task-003
    title: A
    description: ""
    depends_on: [task-004]
    acceptance_criteria: [x]
    estimated_effort: small
    failure_modes: []
  - id: task-004
    title: B
    description: ""
    depends_on: [task-002]
    acceptance_criteria: [x]
    estimated_effort: small
    failure_modes: []
  - id: task-002
    title: again
    description: ""
    depends_on: []
    acceptance_criteria: [x]
    estimated_effort: small
    failure_modes: []
dag_edges: []""",
        )
    )
    found = faults(text)
    assert found == [
        (14, "task-001 depends on itself"),
        (14, "task-001 depends on 'task-0O2', which is no task; did you mean 'task-002'?"),
        (19, "tasks depend on each other in a circle: task-002 → task-003 → task-004 → task-002"),
        (41, "tasks[4].id is 'task-002', as of tasks[1]; ids are unique"),
    ]


@pytest.mark.slow
def test_q10_forward_references_and_a_chain_of_thousands_are_legal() -> None:
    forward = plan_of(task(1, 2), task(2))
    assert read(json.dumps(forward)).warnings == []
    chain = plan_of(*(task(n, n + 1) for n in range(1, 3000)), task(3000))
    assert len(read(json.dumps(chain)).tasks) == 3000


def test_q10_an_unknown_key_that_is_near_to_one_is_warned_of() -> None:
    text = WHOLE.replace("    title: Endpoint", "    title: Endpoint\n    depend_on: [task-001]")
    found = read(text)
    assert found.warnings == [
        "plan.yaml, line 21: 'depend_on' is not a key of the plan's; did you mean 'depends_on'?"
    ]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" \n# only a comment\n",
        b"- a\n- list\n",
        b"just text\n",
        b"key: [1, 2\n",
        b"key: {a: 1\n",
        b"key: 'no end\n",
        b"key: *nowhere\n",
        b"key: !!python/object:os.system x\n",
        b"? [a, b]\n: c\n",
        b"a: \xff\xfe\n",
        b"\xff\xfea\x00:\x00",
        b"a: b\0c\n",
        b'a: "\\ud83d"\n',
        b"a: 99999999999999999999\n",
        b"a: 1e999\n",
        b"a: \x07\n",
        b"%YAML 9.9\n---\na: 1\n",
        b"<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> other\n",
        pytest.param(b"[" * 3000 + b"]" * 3000, marks=pytest.mark.slow),
    ],
)
def test_q11_whatever_is_wrong_is_one_error_with_file_line_and_reason(
    raw: bytes, parser: str
) -> None:
    with pytest.raises(PlanError) as raised:
        read_plan(raw, "some/plan.yaml")
    assert raised.value.path == "some/plan.yaml"
    assert str(raised.value).startswith("some/plan.yaml, line ")
    assert raised.value.line is not None
    assert raised.value.exit_code == 2
    assert "Nothing was changed" in raised.value.advice


def test_q13_plain_text_that_is_no_plain_yaml_gets_a_line_and_a_hint(parser: str) -> None:
    for bad in ("title: Fix: the index", "title: @home", "title: `x`", "title: [a"):
        with pytest.raises(PlanError) as raised:
            read(WHOLE.replace("title: Index", bad))
        assert raised.value.line in (12, 13)
        assert "not YAML" in str(raised.value)
    lost = read(WHOLE.replace("title: Index", "title: Index #2"))
    assert lost.tasks[0]["title"] == "Index"
    assert len(lost.warnings) == 1
    assert "line 12" in lost.warnings[0]
    assert "comment" in lost.warnings[0]


def test_the_text_of_the_plan_comes_back_byte_for_byte_a_bom_with_it() -> None:
    raw = b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode()
    found = read_plan(raw, "plan.yaml")
    assert found.text.encode() == raw


@pytest.mark.slow
def test_a_fault_for_each_of_thousands_of_tasks_is_found_in_time_and_told_in_short() -> None:
    plan = plan_of(*(task(n) for n in range(1, 2001)))
    for one in plan["tasks"]:
        one["depends_on"] = ["nothing"]
    began = time.perf_counter()
    with pytest.raises(PlanError) as raised:
        read(json.dumps(plan))
    assert len(raised.value.faults) == 2000
    assert str(raised.value).count("\n") < 30
    assert time.perf_counter() - began < 5


@pytest.mark.slow
def test_a_plan_of_five_megabytes_takes_at_most_a_few_seconds() -> None:
    text = yaml_plan(5000, "x" * 850)
    assert len(text) > 5_000_000
    began = time.perf_counter()
    assert len(read(text).tasks) == 5000
    assert time.perf_counter() - began < 10  # about 1 s on an idle machine


def yaml_plan(count: int, description: str) -> str:
    head = WHOLE[: WHOLE.index("tasks:")] + "tasks:\n"
    tasks = [
        f"  - id: task-{n:03d}\n    title: Part {n}\n    description: {description}\n"
        f"    depends_on: [{'' if n == 1 else f'task-{n - 1:03d}'}]\n"
        f"    acceptance_criteria:\n      - GET /api/{n} returns 200\n"
        "    estimated_effort: small\n    failure_modes: []\n"
        for n in range(1, count + 1)
    ]
    edges = [f"  - [task-{n - 1:03d}, task-{n:03d}]\n" for n in range(2, count + 1)]
    return head + "".join(tasks) + "dag_edges:\n" + "".join(edges) + "critique_history: []\n"


def test_reading_a_plan_changes_nothing_of_what_it_is_given() -> None:
    plan = plan_of(task(1))
    before = copy.deepcopy(plan)
    found = read(json.dumps(plan))
    found.tasks[0]["title"] = "changed"
    assert plan == before


def test_the_path_may_be_any_path(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=f"{tmp_path.name}/p.yaml, line 1"):
        read_plan(b"", tmp_path / "p.yaml")
