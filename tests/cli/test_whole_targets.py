"""A file that a command was told to write is whole, or it is as it was before."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from journal.cli.targets import open_target
from tests.cli.command import Run
from tests.cli.test_commands import damage
from tests.cli.test_process import environment

GOOD = b"what was there\n"
FORMATS = ("jsonl", "csv", "cloudevents", "parquet")


def names() -> set[str]:
    """What stands in the working folder, hidden files too."""
    return set(os.listdir())


@pytest.fixture
def out(journal: Run) -> Iterator[Path]:
    """A file that stands there already; afterwards nothing else does."""
    path = Path("out")
    path.write_bytes(GOOD)
    before = names()
    yield path
    assert names() == before


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_that_meets_damage_leaves_the_file_as_it_was(
    journal: Run, out: Path, form: str
) -> None:
    damage(3)
    inode = out.stat().st_ino
    done = journal("export", "--format", form, "-o", "out")
    assert done.code == 5
    assert "out was not written; it is as it was before" in done.err
    assert (out.read_bytes(), out.stat().st_ino) == (GOOD, inode)
    # On stdout every good event still comes first.
    if form == "jsonl":
        assert [event["seq"] for event in journal("export").lines] == [1, 2, 4]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError, SystemExit])
def test_whatever_ends_the_writing_leaves_the_file_as_it_was(
    out: Path, error: type[BaseException]
) -> None:
    def write() -> None:
        with open_target("out") as file:
            file.write(b"a part")
            file.flush()
            raise error

    with pytest.raises(error):
        write()
    assert out.read_bytes() == GOOD


def test_a_new_file_that_failed_is_not_there(journal: Run) -> None:
    before = names()
    damage(3)
    assert journal("export", "-o", "new").code == 5
    assert names() == before


@pytest.mark.slow
def test_a_full_disk_leaves_the_file_as_it_was(out: Path) -> None:
    code = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "from journal.cli import main\n"
        "import sys\n"
        "sys.argv = ['journal', 'export', '-d', 'run', '-o', 'out']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "journal: out: File too large" in done.stderr
    assert out.read_bytes() == GOOD


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_command_leaves_nothing_behind(
    out: Path, number: signal.Signals
) -> None:
    def write() -> None:
        with open_target("out") as file:
            file.write(b"a part")
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as ended:
        write()
    assert ended.value.code == 128 + number
    assert signal.getsignal(number) == before
    assert out.read_bytes() == GOOD


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640, 0o755])
def test_a_file_that_was_there_keeps_its_mode(journal: Run, out: Path, mode: int) -> None:
    out.chmod(mode)
    assert journal("export", "-o", "out").code == 0
    assert out.read_text() == journal("export").out
    assert stat.S_IMODE(out.stat().st_mode) == mode


def test_a_new_file_has_the_mode_that_the_umask_leaves(journal: Run) -> None:
    old = os.umask(0o027)
    try:
        assert journal("audit", "-o", "a.md").code == 0
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(old)
    assert stat.S_IMODE(Path("a.md").stat().st_mode) == 0o640


def test_a_fifo_is_written_to_as_it_stands(journal: Run) -> None:
    os.mkfifo("fifo")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(Path("fifo").read_bytes()), daemon=True)
    with os.fdopen(os.open("fifo", os.O_RDONLY | os.O_NONBLOCK)):  # so that one reads from now on
        reader.start()
        assert journal("export", "-o", "fifo").code == 0
    reader.join(5)
    assert read[0].decode() == journal("export").out
    assert stat.S_ISFIFO(os.lstat("fifo").st_mode)


@pytest.mark.slow
def test_a_descriptor_is_written_to_as_it_stands(journal: Run) -> None:
    command = [sys.executable, "-m", "journal", "export", "-d", "run", "-o", "/dev/stdout"]
    with Path("out").open("wb") as file:
        subprocess.run(command, env=environment(), stdout=file, check=True)
    assert Path("out").read_text() == journal("export").out
    piped = subprocess.run(command, env=environment(), capture_output=True, check=True)
    assert piped.stdout.decode() == journal("export").out


def test_what_could_be_planted_and_what_forbids_writing_are_left_alone(journal: Run) -> None:
    Path("file").write_bytes(GOOD)
    Path("link").symlink_to("file")
    os.link("file", "other")
    before = names()
    for target, said in (("link", "is a symlink"), ("other", "hard links"), (".", "irectory")):
        done = journal("export", "-o", target)
        assert (done.code, said in done.err, target in done.err) == (1, True, True), done.err
    assert journal("export", "-o", "nowhere/out").err.count("nowhere/out: No such file") == 1
    assert Path("file").read_bytes() == GOOD
    assert names() == before


@pytest.mark.slow
def test_bench_keeps_the_page_that_was_there_where_it_fails(
    journal: Run, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> str:
        raise OSError("no")

    monkeypatch.setattr("journal.engine.benching.page.render", fail)
    assert journal("bench", "--html", "out").code == 1
    assert out.read_bytes() == GOOD
