"""One file as it is now: a history of a single version.

Nothing is invented: the version's time is the file's own mtime, its author and message are empty.
"""

import os
from pathlib import Path

from journal import regular
from journal.event import format_time
from projections.document.version import Version


def read_file(path: str | os.PathLike[str], *, n: int = 1) -> list[Version]:
    """Read a file as version `n`, named by its last path component.

    Raises `OSError` with the path where it cannot be read.
    """
    file = Path(path)
    with open(regular.open_given(file), "rb") as opened:
        # Of the open file, so that content and time belong together.
        time_ms = os.fstat(opened.fileno()).st_mtime_ns // 1_000_000
        content = opened.read()
    return [
        Version(n=n, time=format_time(time_ms), path=file.name, content=content, place=str(file))
    ]
