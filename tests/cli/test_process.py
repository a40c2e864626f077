"""What only a whole process shows: its streams, pipes, signals and how little it imports."""

import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
JOURNAL = (sys.executable, "-m", "journal")
WAIT_S = 60
# A child of a shell's background job inherits that SIGINT is ignored, and Python then leaves it so.
HEARS_CTRL_C = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
STOPPABLE = (sys.executable, "-c", HEARS_CTRL_C + "from journal.cli import main; main()")


def environment(**more: str) -> dict[str, str]:
    # Buffered, as users have it: what is left in the buffer at the end has to be cared for.
    buffered = {"PYTHONUNBUFFERED": "", "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    return {**os.environ, **buffered, **more}


def process(*args: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*JOURNAL, *args],
        env=environment(**more),
        capture_output=True,
        check=False,
        timeout=WAIT_S,
    )


@pytest.fixture
def made() -> Path:
    """A journal `run` with two events behind the first."""
    import journal

    with journal.init("run") as engine:
        engine.append("set", {"path": "/n", "value": 1})
        engine.append("set", {"path": "/n", "value": "é" * 50_000})
    return Path("run")


@pytest.mark.slow
def test_results_are_on_stdout_and_words_on_stderr(made: Path) -> None:
    with (made / "log/00000000000000000001.jsonl").open("ab") as file:
        file.write(b'{"seq":4')
    done = process("append", "-d", "run", "set", '{"path": "/n", "value": 2}')
    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 1
    assert done.stdout.startswith(b'{"seq":5,')
    assert done.stderr.startswith(b"journal: ")


@pytest.mark.slow
def test_an_error_is_one_line_advice_and_its_code_without_a_traceback() -> None:
    done = process("state", "-d", "gone")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"journal: gone: there is no such folder\n")
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_json_is_utf_8_whatever_the_locale(locale: str) -> None:
    done = process("state", "-d", "run", "--json", LC_ALL=locale, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "é".encode() in done.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("name", ["head", "state"])
def test_a_reader_that_goes_away_ends_the_command_quietly(name: str) -> None:
    command = [*JOURNAL, name, "-d", "run"]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 141


@pytest.mark.slow
@pytest.mark.usefixtures("made")
def test_a_full_disk_under_stdout_is_1_and_said() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*JOURNAL, "head", "-d", "run"],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=WAIT_S,
        )
    assert done.returncode == 1
    assert done.stderr == b"journal: standard output: No space left on device\n"


@pytest.mark.slow
@pytest.mark.usefixtures("made")
def test_what_was_appended_is_said_to_be_stored_where_only_printing_fails() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*JOURNAL, "append", "-d", "run", "set", '{"path": "/n", "value": 2}'],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=WAIT_S,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"journal: event 4 is stored; only printing failed")


@pytest.mark.slow
@pytest.mark.usefixtures("made")
def test_a_closed_stdout_is_refused_before_anything_is_opened() -> None:
    words = [*JOURNAL, "append", "-d", "run", "set", '{"path": "/n", "value": 2}']
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *words],
        env=environment(),
        stderr=subprocess.PIPE,
        check=False,
        timeout=WAIT_S,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(b"journal: standard output is closed\nNothing was done")
    assert process("head", "-d", "run").stdout.startswith(b"3:")


@pytest.mark.slow
@pytest.mark.usefixtures("made")
def test_follow_shows_what_another_process_appends_and_ctrl_c_ends_it_with_130() -> None:
    import journal

    with subprocess.Popen(
        [*STOPPABLE, "log", "-d", "run", "--follow", "-n", "1", "--type", "merge", "--type", "set"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        stop = threading.Timer(WAIT_S, child.kill)
        stop.start()
        assert child.stdout.readline().startswith(b"3  ")
        with journal.open("run") as engine:
            engine.append("merge", {"patch": {"a": 1}})
        assert child.stdout.readline().startswith(b"4  ")
        child.send_signal(signal.SIGINT)
        assert child.stderr.read() == b""
        stop.cancel()
    assert child.returncode == 130


@pytest.mark.slow
@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    ("more", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_is_for_terminals_only(more: dict[str, str], coloured: bool) -> None:
    assert b"\x1b" not in process("status", "-d", "run", **more).stdout
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [*JOURNAL, "status", "-d", "run"],
        env=environment(**more),
        stdout=theirs,
        check=False,
        timeout=WAIT_S,
    )
    os.close(theirs)
    shown = os.read(ours, 65536)
    os.close(ours)
    assert done.returncode == 0
    assert (b"\x1b[32mhealthy" in shown) == coloured
    assert b"healthy" in shown


@pytest.mark.slow
@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    ("args", "never"),
    [
        (("--help",), "journal.engine projections snapshots yaml rich pydantic"),
        (("log", "-d", "run", "-n", "1"), "journal.engine projections snapshots rich pydantic"),
        (("state", "-d", "run"), "rich pydantic jq projections.foreign"),
        (("append", "-d", "run", "set", '{"path": "/n", "value": 3}'), "rich pydantic jq"),
    ],
)
def test_a_command_imports_only_what_it_needs(args: tuple[str, ...], never: str) -> None:
    code = (
        "import atexit, sys, typer, msgspec\n"
        "bare = set(sys.modules)\n"
        "atexit.register(lambda: print(*set(sys.modules) - bare, file=sys.stderr))\n"
        f"sys.argv = ['journal', *{list(args)!r}]\n"
        "from journal.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stderr.split()).isdisjoint(never.split())
