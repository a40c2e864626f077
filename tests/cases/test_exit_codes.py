"""The cases on the command line: exit code, what is said, and that nothing was changed.

Results go to stdout and words to stderr; a recovery is said there, and is no failure.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases.made import Child, Made, files, make, make_segments, no_file_over, unchanged
from tests.cli.command import Ran, run

SET = ("append", "set", '{"path": "/k", "value": 6}')
READERS = ("state", "log", "head", "status", "verify", "checkpoints")
WRITERS: tuple[tuple[str, ...], ...] = (SET, ("checkpoint",), ("rebuild",), ("adopt",))


def on(made: Made, command: str, *arguments: str) -> Ran:
    return run(command, "-d", str(made.path), *arguments)


def say_nothing_bad(done: Ran) -> None:
    assert "Traceback" not in done.err
    assert "fault in journal itself" not in done.err


def test_a01_torn_tail_is_said_on_stderr_and_the_command_succeeds(tmp_path: Path) -> None:
    """The design gives a recovery the exit code 0: it is said, with file, offset and bytes."""
    made = make(tmp_path)
    offset = made.log.stat().st_size
    made.add(made.next_line()[:40])
    for command in READERS:
        with unchanged(made):
            done = on(made, command)
        assert done.code == 0, (command, done.err)
    assert on(made, "log", "--json").out.count("\n") == 5
    done = on(made, *SET)
    assert done.code == 0
    for fact in (str(made.log), "40 bytes", f"byte {offset}", "quarantine/"):
        assert fact in done.err
    assert '"seq":7' in done.out
    done = on(made, "state")
    assert (done.code, done.err) == (0, "")
    assert '"k": 6' in done.out


def test_a08_damaged_middle_fails_every_writer_and_readers_give_what_there_is(
    tmp_path: Path,
) -> None:
    made = make(tmp_path)
    made.edit(3, b'"value":3', b'"value":7')
    for arguments in WRITERS:
        with unchanged(made):
            done = on(made, *arguments)
        assert done.code == 5, arguments
        assert (done.out, "line 3" in done.err, "repair" in done.err) == ("", True, True)
    with unchanged(made):
        done = on(made, "log", "--json")
        assert (done.code, len(done.lines)) == (5, 4)
        assert "line 3" in done.err
        done = on(made, "verify", "--json")
        assert (done.code, done.json["ok"], done.json["events"]) == (5, False, 4)
        (problem,) = done.json["problems"]
        assert (problem["kind"], problem["line"], problem["seq"]) == ("damage", 3, 3)
        assert on(made, "state", "--at", "2").code == 0
        done = on(made, "state", "--at", "3")
        assert (done.code, "line 3" in done.err) == (5, True)
        assert on(made, "status").code == 0


Spoil = Callable[[Made], object]


def dangle(made: Made) -> None:
    made.state.unlink()
    made.state.symlink_to("gone")


REFUSED: dict[str, tuple[Spoil, int, str]] = {
    "C01 empty log": (lambda made: made.put(b""), 5, "events 1 to 5"),
    "C02 empty settings": (lambda made: (made.path / "journal.yaml").write_text(""), 5, "empty"),
    "C02 no settings": (lambda made: (made.path / "journal.yaml").unlink(), 1, "journal init"),
    "C07 wrong shape": (lambda made: made.insert(3, b"null\n"), 5, "line 3"),
    "D04 state ahead": (lambda made: made.put(made.lines()[:3]), 5, "events 4 to 5"),
    "D05 edited by hand": (lambda made: made.state.write_text('{"k": 7}'), 7, "/k"),
    "H07 dangling link": (
        dangle,
        7,
        "symlink",
    ),
    "H14 truncated": (lambda made: os.truncate(made.log, 0), 5, "events 1 to 5"),
    "I02 UTF-16": (
        lambda made: made.put(made.log.read_bytes().decode().encode("utf-16")),
        5,
        "UTF-16",
    ),
    "I07 CRLF": (lambda made: made.put(made.log.read_bytes().replace(b"\n", b"\r\n")), 5, "CRLF"),
    "J05 key twice": (lambda made: made.state.write_text('{"k": 1, "k": 2}'), 7, "twice"),
    "K04 a line gone": (lambda made: made.replace(3, b""), 5, "line 3"),
    "M02 newer format": (
        lambda made: made.edit(1, b'"format":1', b'"format":2', sealed=True),
        6,
        "format 2",
    ),
}


@pytest.mark.parametrize(("spoil", "code", "fact"), REFUSED.values(), ids=REFUSED.keys())
def test_refusal_has_the_exit_code_of_its_class_and_changes_nothing(
    tmp_path: Path, spoil: Spoil, code: int, fact: str
) -> None:
    made = make(tmp_path)
    spoil(made)
    with unchanged(made):
        done = on(made, *SET)
        assert (done.code, done.out) == (code, "")
        assert done.err.startswith("journal: ")
        assert fact in done.err
        say_nothing_bad(done)
        for command in READERS:
            say_nothing_bad(on(made, command))


def test_c05_journal_that_is_not_there_is_1_and_nothing_is_made(tmp_path: Path) -> None:
    path = tmp_path / "none"
    for command in (*READERS, "rebuild", "repair", "export"):
        done = run(command, "-d", str(path))
        assert (done.code, done.out) == (1, ""), command
        assert str(path) in done.err
    assert list(tmp_path.iterdir()) == []


def test_c08_import_with_a_bad_version_is_not_0_and_strict_imports_none(tmp_path: Path) -> None:
    source = tmp_path / "versions.jsonl"
    lines = [f'{{"n":{n},"time":"2026-03-01","value":{n}}}\n' for n in range(1, 11)]
    lines[5] = '{"time":"2026-03-01","value":6}\n'
    source.write_text("".join(lines))
    made = Made(tmp_path / "run")
    where = ("import", "versions", "-d", str(made.path), str(source))
    done = run(*where, "--strict")
    assert (done.code, made.path.exists()) == (2, False)
    assert "line 6" in done.err
    done = run(*where)
    assert done.code not in (0, 2)
    assert "line 6" in done.err
    with made.read() as engine:
        assert engine.seq == 10


@pytest.mark.parametrize(
    "data",
    ["{", "NaN", '{"path": "/k", "value": NaN}', '{"path":1}', "[]", '{"path":"k","value":1}'],
)
def test_d07_event_that_does_not_fit_is_2_and_changes_nothing(tmp_path: Path, data: str) -> None:
    made = make(tmp_path)
    before = files(made.path)
    done = on(made, "append", "set", data)
    assert (done.code, done.out) == (2, "")
    say_nothing_bad(done)
    after = files(made.path)
    assert {name for name in after if after[name] != before.get(name)} <= {"witness.json"}


def test_f02_belief_that_is_wrong_is_3(tmp_path: Path) -> None:
    made = make(tmp_path)
    done = on(made, *SET, "--expect", "4")
    assert (done.code, done.out) == (3, "")
    assert "seq 4 was expected" in done.err
    assert on(made, *SET, "--id", "one").code == 0
    done = on(made, "append", "set", '{"path": "/k", "value": 7}', "--id", "one")
    assert (done.code, "event 6" in done.err) == (3, True)


def test_h01_full_disk_is_1_with_the_system_s_words(tmp_path: Path) -> None:
    made = make(tmp_path)
    log = made.log.read_bytes()
    with no_file_over(made.log.stat().st_size):
        done = on(made, *SET)
    assert (done.code, done.out) == (1, "")
    assert "File too large" in done.err
    assert made.log.read_bytes() == log
    assert on(made, *SET).code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's file")
def test_h04_file_of_another_user_is_1_and_says_whose_it_is(shared_path: Path) -> None:
    made = make(shared_path)

    def try_it() -> list[object]:
        return list(on(made, "state"))

    with unchanged(made):
        code, out, err = Child(try_it, rights=False).result()
    assert (code, out) == (1, "")
    assert str(made.path) in err
    assert "Permission denied" in err
    assert "root" in err


def test_repair_asks_first_and_then_mends(tmp_path: Path) -> None:
    made = make_segments(tmp_path, 10)
    made.edit(1, b'"previous"', b'"preViouS"')
    with unchanged(made):
        done = on(made, "repair", "--dry-run")
        assert done.code in (0, 5)
        assert made.log.name in done.out + done.err
    assert on(made, "repair").code == 0
    assert on(made, "verify").code == 0
    assert on(made, *SET).code == 0
