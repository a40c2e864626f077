"""What a newcomer is told where something is wrong: what it is, and what helps."""

import os
import subprocess
from pathlib import Path

import pytest

import journal as journal_package
from journal.cli import failing
from projections import catalog, view
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


def test_a_log_that_is_gone_is_told_with_both_ways_and_repair_makes_it_again(journal: Run) -> None:
    LOG.unlink()
    said = journal("append", "set", '{"path": "/a", "value": 1}')
    assert said.code == 5
    assert "back from a copy" in said.err
    assert "journal repair --dry-run" in said.err
    LOG.parent.rmdir()
    assert "journal repair --dry-run" in journal("log").err
    assert journal("repair").code == 0
    assert journal("verify").code == 0
    assert journal("state", "--json").json == {"n": 2}


def test_a_foreign_line_behind_the_last_event_is_not_said_to_be_a_lost_one(journal: Run) -> None:
    with LOG.open("ab") as file:
        file.write(b"hello\n")
    assert "lost here: what stood there from event 5 on, if anything did" in journal("verify").out


def test_one_lost_event_is_not_events(journal: Run) -> None:
    cut_off_last_event()
    out = journal("verify").out
    assert "event 4 is missing at the end" in out
    assert "events 4" not in out


# --- verify, status ------------------------------------------------------------------------------


def test_verify_advises_by_kind_and_never_a_rebuild_of_rewritten_history(journal: Run) -> None:
    STATE.write_text('{"n": 9}')
    said = journal("verify")
    assert "journal adopt" in said.err
    assert "journal repair" not in said.err
    said = journal("verify", "--anchor", f"2:{'a' * 64}")
    assert "Keep this folder as it is" in said.err
    for advice in ("journal adopt", "journal rebuild", "journal repair"):
        assert advice not in said.err
    (one,) = journal("verify", "--anchor", f"2:{'a' * 64}", "--json").json["advice"]
    assert "either the anchor was noted wrongly" in one
    assert "or history was rewritten" in one


def test_verify_names_an_unfinished_append_and_is_ok(journal: Run) -> None:
    size = LOG.stat().st_size
    with LOG.open("ab") as file:
        file.write(b'{"seq":5')
    said = journal("verify")
    assert said.code == 0
    assert f"line 5, byte {size}: 8 bytes that are no whole append" in said.out


def test_status_of_a_view_that_nobody_vouches_for_compares_it_with_the_log(journal: Run) -> None:
    Path("run/witness.json").unlink()
    found = journal("status", "--json").json
    assert (found["views"][0]["status"], found["healthy"]) == ("healthy", True)
    STATE.write_text('{"n":2}')
    said = journal("status")
    assert "state.json: reformatted" in said.out
    assert "the next append writes it anew" in said.out
    assert "\nhealthy" in said.out


@pytest.mark.parametrize(
    ("text", "why"),
    [('<<<<<<< a\n{"n": 1}\n=======\n{"n": 2}\n>>>>>>> b\n', "conflict marker"), ("{,}", "line 1")],
)
def test_status_of_a_view_that_does_not_read_advises_no_adoption(
    journal: Run, text: str, why: str
) -> None:
    STATE.write_text(text)
    said = journal("status")
    assert "state.json is unreadable" in said.out
    assert why in said.out
    assert "journal adopt" not in said.out
    assert journal("status", "--json").json["healthy"] is False


def test_status_of_a_folder_in_the_place_of_a_view_says_what_to_do(journal: Run) -> None:
    STATE.unlink()
    STATE.mkdir()
    said = journal("status")
    assert "state.json is unreadable: it is a folder\n  Move it away" in said.out
    assert "Errno" not in said.out


def test_status_of_a_damaged_log_does_not_know_the_size_of_the_state(journal: Run) -> None:
    LOG.write_bytes(LOG.read_bytes().replace(b'"value":1', b'"value":7'))
    STATE.unlink()
    assert "state    not known" in journal("status").out


# --- views ---------------------------------------------------------------------------------------


def make_link() -> None:
    STATE.rename("run/real.json")
    STATE.symlink_to("real.json")


def test_adopt_records_where_a_symlink_leads(journal: Run) -> None:
    make_link()
    said = journal("append", "set", '{"path": "/n", "value": 7}')
    assert (said.code, "journal adopt" in said.err) == (7, True)
    for command in ("status", "verify"):
        assert "\\n" not in journal(command).out
    said = journal("adopt")
    assert said.code == 0
    assert "journal.yaml records it now" in said.err
    assert "state: real.json" in Path("run/journal.yaml").read_text()
    assert journal("append", "set", '{"path": "/n", "value": 7}').code == 0
    assert STATE.is_symlink()
    assert '"n": 7' in Path("run/real.json").read_text()
    assert journal("verify").code == 0


def test_rebuild_puts_a_plain_file_in_the_place_of_a_symlink_that_nobody_recorded(
    journal: Run,
) -> None:
    make_link()
    Path("run/real.json").write_text("precious")
    said = journal("rebuild")
    assert (said.code, "plain file" in said.err) == (0, True)
    assert not STATE.is_symlink()
    assert Path("run/real.json").read_text() == "precious"
    assert journal("verify").code == 0


def test_rebuild_reports_a_changed_view_as_written_again(journal: Run) -> None:
    STATE.write_text('{"n": 9}')
    said = journal("rebuild")
    assert "written again  state.json" in said.out
    assert "kept as run/quarantine/" in said.err
    assert journal("status", "--json").json["healthy"] is True


def test_an_edit_that_a_rule_refuses_is_advised_to_be_mended_before_it_is_adopted(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("own_edit.py").write_text(MODULE)
    monkeypatch.syspath_prepend(os.getcwd())
    assert run("init", "run", "--projection", "own_edit:NEW").code == 0
    STATE.write_text('{"n": 21}')
    for command in (("append", "-d", "run", "added", '{"n": 1}'), ("adopt", "-d", "run")):
        said = run(*command)
        assert said.code == 7
        assert "n is over 20" in said.err
        assert "Mend the file by hand, then `journal adopt -d run` records" in said.err
        assert "journal rebuild" in said.err


# --- settings, appending, importing --------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("always\n", "allways\n", "durability is 'allways'; it is one of always, batch, os"),
        ("durability: always\n", "durabilty: os\n", "durabilty is no setting; there are format,"),
        ("batch_ms: 100", "batch_ms: x", "batch_ms is text, a whole number is expected"),
        ("views: {}", "views: {files: {a: 5}}", "views.files[...] is a whole number, text is"),
        ("views: {}", "views: {every: 1}", "views.every is no setting; there are every_ms, files"),
    ],
)
def test_a_typo_in_the_settings_is_told_with_its_line_and_what_there_is(
    journal: Run, old: str, new: str, said: str
) -> None:
    path = Path("run/journal.yaml")
    before, found, after = path.read_text().partition(old)
    assert found
    path.write_text(f"{before}{new}{after}")
    line = before.count("\n") + 1
    assert f"journal.yaml, line {line}: {said}" in journal("status").err


def test_an_id_that_was_edited_is_said_and_the_log_s_holds(journal: Run) -> None:
    path = Path("run/journal.yaml")
    known = journal("status", "--json").json["id"]
    path.write_text(path.read_text().replace(known, "abc"))
    said = journal("append", "set", '{"path": "/n", "value": 7}')
    assert said.code == 0
    assert f"id is 'abc', but the log is that of journal {known}" in said.err
    assert journal("status", "--json").json["id"] == known


def test_an_empty_id_is_a_wrong_call(journal: Run) -> None:
    assert journal("append", "set", '{"path": "/n", "value": 7}', "--id", "").code == 2


def test_data_that_does_not_fit_is_told_in_words_of_json(journal: Run) -> None:
    said = journal("append", "set", "[1]")
    assert "set: data is a list, an object is expected" in said.err
    assert "Its data has: path, value." in said.err
    assert "set: data.path is missing" in journal("append", "set").err


def test_a_test_that_fails_shows_both_values(journal: Run) -> None:
    patch = '{"patch": [{"op": "test", "path": "/n", "value": "x"}]}'
    said = journal("append", "patch", patch)
    assert "data.patch[0]" in said.err
    assert "(a number, 2) is not the one that was expected (text" in said.err


def test_the_state_before_the_first_event_is_said_to_be_that(journal: Run) -> None:
    said = journal("state", "--at", "2001-01-01T00:00:00Z")
    assert said.out == "{}\n"
    assert "before the first event" in said.err


def test_a_view_that_cannot_be_written_is_said_once(
    journal: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", "run/state.json")

    monkeypatch.setattr(view, "prepare", refuse)
    said = journal("append", "set", '{"path": "/n", "value": 7}')
    assert said.code == 0
    assert said.err.count("could not be written") == 1


def test_another_file_s_version_is_not_mixed_in(run: Run) -> None:
    Path("a.json").write_text('{"a": 1}')
    Path("b.json").write_text('{"b": 1}')
    assert run("import", "file", "a.json", "-d", "new").code == 0
    said = run("import", "file", "b.json", "-d", "new", "--n", "2")
    assert said.code == 2
    assert "has the history of 'a.json'" in said.err
    assert run("import", "file", "a.json", "-d", "new", "--n", "2").code == 0


def test_a_last_segment_that_nobody_may_write_is_said(journal: Run) -> None:
    LOG.chmod(0o400)
    said = journal("append", "set", '{"path": "/n", "value": 7}')
    assert said.code == 0
    assert "a new segment goes on" in said.err


def test_the_columns_of_the_log_stand_still_where_the_first_actor_comes(journal: Run) -> None:
    lines = journal("log").out.splitlines()
    assert "a0" not in lines[0].split()
    assert lines[0].index('{"format"') == lines[1].index('{"path"')


def test_a_file_of_ours_that_its_mode_forbids_is_told_with_what_helps(tmp_path: Path) -> None:
    file = tmp_path / "shut"
    file.touch(mode=0o000)
    file.chmod(0)
    said = failing.say_os_error(PermissionError(13, "Permission denied", str(file)))
    assert said.startswith(f"{file}: Permission denied (it is yours, and its mode is 0)")
    assert f"`chmod u+rw {file}`" in said


def test_git_is_told_to_lack_the_revision_and_not_to_be_no_repository(run: Run) -> None:
    subprocess.run(["git", "init", "-q", "."], check=True, timeout=60)
    said = run("import", "git", ".", "state.json", "--revision", "nope", "-d", "new")
    assert said.code == 2
    assert "there is no revision 'nope'" in said.err
    assert "Give a local git repository" not in said.err


def test_help_of_the_package_names_the_engine() -> None:
    assert "journal.Engine" in (journal_package.__doc__ or "")
