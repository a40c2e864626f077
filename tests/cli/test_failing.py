"""How commands fail: the exit code of each class, one line and what to do next, no traceback."""

from pathlib import Path

import pytest

from journal.cli import failing
from journal.locks import FolderLock
from tests.cli.command import Run
from tests.cli.test_commands import damage, segment

SET = ("append", "set", '{"path": "/n", "value": 7}')

PROJECTION = """\
import msgspec
from projections.projection import Projection

class Counted(msgspec.Struct):
    by: int

def count(state, event):
    if event.data.by == 13:
        raise KeyError("thirteen")
    state["n"] = state.get("n", 0) + event.data.by
    return state

COUNTER = Projection("counter", events={Counted: count}, initial=dict)
"""


@pytest.fixture
def counter(run: Run) -> Run:
    """Make a journal of a projection of one's own, in a module of the working directory."""
    Path("counting_of_mine.py").write_text(PROJECTION)
    assert run("init", "run", "--projection", "counting_of_mine:COUNTER").code == 0
    return run


def test_no_journal_is_1_and_makes_nothing(run: Run) -> None:
    for args in (("state",), ("state", "-d", "gone"), ("append", "set", "{}")):
        done = run(*args)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("journal: ")
        assert "journal init" in done.err
    assert list(Path().iterdir()) == []


def test_an_unreadable_file_is_1_with_its_path(journal: Run) -> None:
    done = journal("append", "--batch", "gone.jsonl")
    assert (done.code, done.out) == (1, "")
    assert done.err == "journal: gone.jsonl: No such file or directory\n"


def test_a_folder_in_the_place_of_a_segment_is_1_with_its_path(journal: Run) -> None:
    segment().rename("aside")
    segment().mkdir()
    done = journal("head")
    assert done.code == 1
    assert str(segment()) in done.err
    assert list(segment().iterdir()) == []


def test_a_forbidden_file_is_1_and_says_whose_it_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    error = PermissionError(13, "Permission denied", str(tmp_path / "not" / "there"))
    assert failing.explain(error) == 1
    said = capsys.readouterr().err
    assert f"{tmp_path}/not/there: Permission denied (it is yours, and its mode is 700)" in said


def test_a_failing_projection_is_1_with_its_name_and_nothing_is_written(counter: Run) -> None:
    assert counter("append", "-d", "run", "counted", '{"by": 2}').code == 0
    before = segment().read_bytes()
    done = counter("append", "-d", "run", "counted", '{"by": 13}')
    assert (done.code, done.out) == (1, "")
    assert "counter" in done.err
    assert "thirteen" in done.err
    assert segment().read_bytes() == before
    assert counter("state", "-d", "run", "--json").json == {"n": 2}


def test_a_wrong_call_is_2(journal: Run) -> None:
    for args in (
        ("append", "unheard_of", "{}"),
        ("append", "set", '{"path": "/a"}'),
        ("append", "set", '{"path": "/a", "value": 1}', "--expect", "-1"),
        ("append",),
        ("append", "set", "--batch", "x"),
        ("append", "journal.repaired", "{}"),
        ("checkpoint", "--type", "NOT A TYPE"),
        ("checkpoint", "--lock-timeout", "soon"),
        ("state", "--at", "5"),
        ("state", "--at", "yesterday"),
        ("state", "--at", "-1"),
        ("state", "--at", "9" * 5000),
        ("head", "--at", "0"),
        ("log", "-n", "x"),
        ("log", "--since", "x"),
        ("verify", "--anchor", "4"),
    ):
        done = journal(*args)
        assert (done.code, done.out) == (2, ""), args
        assert done.err.startswith("journal: "), args
        assert "Traceback" not in done.err
    assert journal("verify").out.startswith("ok: 4 events")


def test_an_unknown_option_or_command_is_2(journal: Run, run: Run) -> None:
    for args in (("state", "--what"), ("head", "one"), ("log", "--after")):
        done = journal(*args)
        assert (done.code, done.out) == (2, "")
    assert run("unheard-of").code == 2
    assert run("init").code == 2
    assert run("init", "other", "--durability", "never").code == 2
    assert run("init", "other", "--views-every-ms", "-1").code == 2
    assert run("init", "other", "--projection", "no.such:THING").code == 2
    assert not Path("other").exists()


def test_another_seq_than_expected_is_3(journal: Run) -> None:
    done = journal(*SET, "--expect", "2")
    assert (done.code, done.out) == (3, "")
    assert "seq 2 was expected, the journal is at 4" in done.err
    assert journal(*SET, "--expect", "4").code == 0


def test_an_id_with_other_content_is_3(journal: Run) -> None:
    assert journal(*SET, "--id", "k").code == 0
    assert journal("append", "set", '{"path": "/n", "value": 8}', "--id", "k").code == 3


def test_a_held_lock_is_4_and_names_the_last_writer(journal: Run) -> None:
    lock = FolderLock("run/log")
    with lock, lock.held(1):
        done = journal(*SET, "--lock-timeout", "0.05")
        assert journal("state", "--json").json == {"n": 2}
    assert (done.code, done.out) == (4, "")
    assert "pid " in done.err
    assert journal(*SET).code == 0


def test_a_damaged_log_is_5_for_a_writer_and_nothing_is_changed(journal: Run) -> None:
    damage(line=3)
    before = segment().read_bytes()
    done = journal(*SET)
    assert (done.code, done.out) == (5, "")
    assert f"{segment()}, line 3, byte " in done.err
    assert "journal repair --dry-run" in done.err
    assert segment().read_bytes() == before


def test_damage_in_the_way_of_a_reader_is_5_and_said_once(journal: Run) -> None:
    damage(line=3)
    Path("run/state.json").unlink()
    done = journal("state")
    assert (done.code, done.out) == (5, "")
    assert done.err.count(f"{segment()}, line 3, byte ") == 1
    assert journal("state", "--at", "2", "--json").json == {"n": 0}
    assert journal("state", "--at", "3").code == 5


def test_a_newer_format_is_6_with_both_numbers(journal: Run) -> None:
    config = Path("run/journal.yaml")
    config.write_text(config.read_text().replace("format: 1", "format: 2"))
    for args in (("state",), ("log",), ("verify",), SET):
        done = journal(*args)
        assert (done.code, done.out) == (6, "")
        assert "format 2" in done.err
        assert "format 1" in done.err


def test_a_changed_view_is_7_for_a_writer_and_stays_as_it_is(journal: Run) -> None:
    view = Path("run/state.json")
    view.write_text('{"n": 999}')
    done = journal(*SET)
    assert (done.code, done.out) == (7, "")
    assert "'/n'" in done.err
    assert "journal adopt" in done.err
    assert view.read_text() == '{"n": 999}'


def test_a_recovery_is_said_and_is_no_failure(journal: Run) -> None:
    with segment().open("ab") as file:
        file.write(b'{"seq":5,"ti')
    done = journal(*SET)
    assert done.code == 0
    assert done.json["seq"] == 6
    assert done.err.startswith("journal: ")
    assert "12 bytes" in done.err
    assert "quarantine/" in done.err


def test_ctrl_c_is_130_and_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert failing.explain(KeyboardInterrupt()) == 130
    assert capsys.readouterr() == ("", "")


def test_too_little_memory_is_said_as_that(capsys: pytest.CaptureFixture[str]) -> None:
    assert failing.explain(MemoryError()) == 1
    assert "memory" in capsys.readouterr().err


def test_a_fault_of_ours_is_called_one_and_has_no_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert failing.explain(KeyError("x")) == 1
    said = capsys.readouterr().err
    assert "a fault in journal itself: KeyError: 'x'" in said
    assert "JOURNAL_DEBUG=1" in said
    assert "Traceback" not in said


def test_debug_shows_the_traceback(journal: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOURNAL_DEBUG", "1")
    done = journal("state", "--at", "99")
    assert done.code == 2
    assert "Traceback" in done.err
    assert done.err.splitlines()[-1].startswith("journal: there is no event 99")


def test_control_characters_of_a_file_do_not_reach_the_terminal(journal: Run) -> None:
    journal("append", "set", '{"path": "/a", "value": 1}', "--actor", "\x1b[31mred\u202e")
    for args in (("log",), ("append", "--batch", "gone\x1b[2J")):
        done = journal(*args)
        assert "\x1b" not in done.out + done.err
        assert "\u202e" not in done.out + done.err
    assert "\\x1b[31mred\\u202e" in journal("log").out


@pytest.mark.parametrize(
    "command",
    [
        ["append", "set", '{"path": "/n", "value": 1}'],
        *(["state"], ["log"], ["head"], ["status"], ["checkpoint"], ["checkpoints"], ["audit"]),
        *(["verify"], ["rebuild"], ["adopt"], ["repair"], ["export", "events"], ["restore", "1"]),
        *(["diff", "1", "2"], ["blame", "/n"], ["step"], ["fork", "copy", "--at", "1"]),
    ],
    ids=lambda command: command[0],
)
def test_a_folder_that_is_not_there_is_named_and_not_made(run: Run, command: list[str]) -> None:
    done = run(command[0], "-d", "gone", *command[1:])
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("journal: gone: there is no such folder\n`journal init gone`")
    assert not Path("gone").exists()


def test_a_file_is_no_place_for_a_journal(run: Run) -> None:
    Path("state.json").write_text("{}")
    done = run("init", "state.json")
    assert done.code == 2
    assert "a file, not a folder" in done.err
    assert "`journal import file state.json -d DIR`" in done.err
    assert Path("state.json").read_text() == "{}"
