"""Programs of jq that never end, and Ctrl-C: no Python runs while jq does."""

import signal
import subprocess
import time

import pytest

from journal.cli import querying
from tests.cli.command import Run
from tests.cli.test_process import STOPPABLE, environment

ENDLESS = "last(repeat(1))"


@pytest.mark.slow
@pytest.mark.parametrize("args", [["bisect", "--when", ENDLESS], ["state", "--query", ENDLESS]])
def test_a_query_that_never_ends_is_ended_by_ctrl_c(journal: Run, args: list[str]) -> None:
    pytest.importorskip("jq")
    assert journal("status").code == 0
    command = [*STOPPABLE, args[0], "-d", "run", *args[1:]]
    with subprocess.Popen(command, env=environment()) as process:
        time.sleep(1.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(5) in (-signal.SIGINT, 130)
        finally:
            process.kill()


def test_ctrl_c_is_python_s_own_again_after_a_query() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with querying.stoppable():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with querying.stoppable():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
