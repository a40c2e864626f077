"""A process that appends and is killed in the middle of an append; `python -m … FOLDER COUNT`.

It appends COUNT events and prints the seq of each when the append returned, which is when its
caller may rely on it. Then it appends once more, and the kill comes while the line is being
written. A kill from outside hits that moment once in thousands of tries, so the moment is made
certain: the one system call that writes the line writes half of it, and SIGKILL follows at once.
What is left behind is what the kernel leaves of any process that dies there: half a line in the
log, a lock held by nobody, no clean-up run.
"""

import os
import signal
import sys
from typing import Any, NoReturn

import journal


def main(folder: str, count: int) -> None:
    """Append `count` events, then die in the middle of the next."""
    with journal.open(folder) as engine:
        for number in range(1, count + 1):
            event = engine.append("set", {"path": "/note", "value": f"append {number}"})
            print(event.seq, flush=True)
        whole = os.pwrite

        def half_then_die(fd: int, data: Any, offset: int) -> NoReturn:
            whole(fd, data[: len(data) // 2], offset)
            os.kill(os.getpid(), signal.SIGKILL)
            raise AssertionError("nobody survives SIGKILL")

        os.pwrite = half_then_die
        engine.append("set", {"path": "/note", "value": "nobody was told of this one"})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
