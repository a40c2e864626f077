"""The same faults from outside: a writing process whose C library fails a call (`shim.c`).

A check on `tests.faults.faultpoint`, which fails Python's functions: here it is the real process,
with its real exit. Laws: it ends by itself with nothing but refusals, and after it those of
`tests.faults.counting` hold.
"""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import journal
from tests.faults.counting import PATH, Tally, make_journal, number_in
from tests.faults.row import Violation

SOURCE = Path(__file__).with_name("shim.c")
FAULTS = {
    "pwrite": (errno.ENOSPC, errno.EIO, 0),
    "fdatasync": (errno.EIO,),
    "fsync": (errno.EIO, errno.ENOSPC),
    "rename": (errno.EIO, errno.EACCES),
    "ftruncate": (errno.EIO,),
    "unlink": (errno.EROFS,),
}
_APPENDS = 12
_MET = b"fault met"


def build(folder: Path) -> Path | None:
    """Compile the shim; None where there is no compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    library = folder / "shim.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return library


def fail_from_outside(folder: Path, library: Path, limit: int) -> int:
    """Run a writer for each call and errno, the first `limit` of each call; return how many."""
    count = 0
    for call, errnos in FAULTS.items():
        for wrong in errnos:
            for number in range(1, limit + 1):
                fault = f"{call}:{number}:{wrong}"
                if not _run_once(folder / fault, library, fault):
                    break
                count += 1
    return count


def _run_once(path: Path, library: Path, fault: str) -> bool:
    """Run a writer with one fault; say whether it met it. Raises `Violation`."""
    make_journal(path, segment_bytes=1000)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.shimmed", str(path)],
        env={
            **os.environ,
            "LD_PRELOAD": str(library),
            "FAULT_ROOT": str(path),
            "FAULT": fault,
            "PYTHONPATH": str(root),
        },
        capture_output=True,
        check=False,
        timeout=60,
    )
    said = done.stderr.decode(errors="replace")
    if done.returncode:
        raise Violation(f"{fault}: the writer ended with {done.returncode}: {said}")
    tally = Tally()
    tally.hear(done.stdout.decode().splitlines())
    try:
        with journal.open(path, lock_timeout_s=0.0) as engine:
            tally.check(engine)
            if not (report := engine.verify()).ok:
                raise Violation(f"verify finds {report.problems}")
        tally.check_view(path)
    except (Violation, journal.JournalError, OSError) as error:
        raise Violation(f"{fault}: {error}") from error
    return _MET in done.stderr


def _count(path: Path) -> Iterator[str]:
    """Count on, and once more after a refusal; what is refused for good ends it."""
    refusals = 0
    engine: journal.Engine | None = None
    while refusals < 3:
        try:
            if engine is None:
                engine = journal.open(path)
            number = number_in(engine.state)
            while number < _APPENDS:
                number += 1
                event = engine.append("set", {"path": PATH, "value": number}, id=f"n{number}")
                yield f"append {number} {number} {event.seq}"
            engine.close()
            return
        except (journal.JournalError, OSError) as error:
            refusals += 1
            if engine is not None and "appends nothing more" in str(error):
                engine.close()
                engine = None


if __name__ == "__main__":
    for line in _count(Path(sys.argv[1])):
        print(line, flush=True)
