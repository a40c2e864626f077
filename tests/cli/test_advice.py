"""What a newcomer is told where something is wrong: what it is, and what helps."""

import os
from pathlib import Path

import pytest

from projections import catalog
from tests.cli.command import Run

LOG = Path("run/log/00000000000000000001.jsonl")
STATE = Path("run/state.json")
MODULE = """\
import msgspec
from journal import UsageError
from projections.projection import Projection


class Added(msgspec.Struct):
    n: int


def add(state, event):
    if event.data.n == 13:
        raise ValueError("no thirteen")
    return {"n": state["n"] + event.data.n}


def check(state):
    if state["n"] > 20:
        raise UsageError("n is over 20")
    if state["n"] > 10:
        raise ValueError("n is over 10")


NEW = Projection("own", events={Added: add}, initial=lambda: {"n": 0}, check=check, revision="1")
"""


def cut_off_last_event() -> None:
    LOG.write_bytes(b"".join(LOG.read_bytes().splitlines(keepends=True)[:-1]))


# --- projections ---------------------------------------------------------------------------------


def test_a_built_in_projection_that_is_not_whole_keeps_nobody_from_the_others(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(catalog.BUILT_IN, "agloop", "projections.gone:PROJECTION")
    ran = run("projections")
    assert ran.code == 0
    assert "set" in ran.out
    assert "task_state: " in ran.out
    assert "install journal-engine again" in ran.err
    assert "PYTHONPATH" not in ran.err
    assert {"name": "agloop", "module": "projections.gone:PROJECTION", "events": []} in run(
        "projections", "--json"
    ).json


def test_the_events_of_document_are_explained_with_examples_that_work(run: Run) -> None:
    ran = run("projections")
    examples = [line.strip() for line in ran.out.splitlines() if "journal append" in line]
    assert [line.split()[2] for line in examples] == ["set", "remove", "merge", "patch"]
    assert 'which "" makes the whole state' in ran.out
    run("init", "run")
    run("append", "-d", "run", "merge", '{"patch": {"tasks": [1], "note": 1}}')
    for line in examples[:2] + examples[3:] + examples[2:3]:
        _, _, kind, data = line.split(None, 3)
        assert run("append", "-d", "run", kind, data.strip("'")).code == 0


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("def broken(:\n", "own_broken.py, line 1: "),
        ("x = 1\ny = x / 0\n", "own_broken.py, line 2: ZeroDivisionError: division by zero"),
        ("from journal import nothing\n", "own_broken.py, line 1: ImportError"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told_with_its_line(
    run: Run, module: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("own_broken.py").write_text(module)
    monkeypatch.syspath_prepend(os.getcwd())
    ran = run("init", "run", "--projection", "own_broken:NEW")
    assert ran.code == 2
    assert said in ran.err
    assert "PYTHONPATH" not in ran.err


def test_a_rule_that_fails_is_a_fault_of_the_projection_and_told_as_such(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("own_rules.py").write_text(MODULE)
    monkeypatch.syspath_prepend(os.getcwd())
    assert run("init", "run", "--projection", "own_rules:NEW").code == 0
    ran = run("append", "-d", "run", "added", '{"n": 11}')
    assert ran.code == 1
    assert "projection 'own': its check raised ValueError: n is over 10" in ran.err
    assert "journal.UsageError" in ran.err
    ran = run("append", "-d", "run", "added", '{"n": 13}')
    assert ran.code == 1
    assert "projection 'own' failed on event 2 (added): ValueError: no thirteen" in ran.err
    assert "journal.UsageError" in ran.err
    assert run("append", "-d", "run", "added", '{"n": 21}').code == 2


# --- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ("--json",), ("-n", "2")])
def test_log_tells_that_its_end_is_gone(journal: Run, more: tuple[str, ...]) -> None:
    cut_off_last_event()
    ran = journal("log", *more)
    assert ran.code == 5
    assert "event 4 missing at the end" in ran.err or "event 4 is missing at the end" in ran.err
    assert "journal repair" in ran.err
