"""What was set aside, and what each file is: by the events that name it, else by its name.

    20260301T144500000Z-00000000000000000001.jsonl-1432.torn   the end that a crash left (writer)
    00000000000000000001.jsonl.3f2a9c01d4e7.damaged            a segment before a repair (repairing)
    20260301T144500000Z-state.json                             what stood in a view's place (views)
    repair.json                                                a repair that is not done

and, beside a view of lines that wants it so:

    log.json.corrupt.2026-03-01T14-45-00-000Z                  what stood in its place (viewing)

I1  Only names, sizes and times are looked at; nothing is opened, and no link is followed.
I2  Memory is bounded: of many files the newest are kept, by name, and all are counted.
"""

import contextlib
import heapq
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from journal import regular
from journal.engine.audit.report import Kept
from journal.event import RECOVERED, REPAIRED, Event, facts, format_time

_MOST = 200
_STAMPED = re.compile(
    r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-(?:\d{1,6}-)?(.+)", re.DOTALL
)
_BESIDE = ".corrupt."
_REPAIR_NOTE = "repair.json"


class Quarantine:
    """The files of one quarantine folder, if it is there, and those set aside beside `views`."""

    def __init__(self, folder: Path, views: Iterable[Path] = ()) -> None:
        """Look at the folder; one that cannot be read is said in the place of its files."""
        found: list[tuple[os.stat_result, str]] = []
        self._unread = ""
        try:
            regular.check_folder(folder)
            with os.scandir(folder) as entries:
                found = [(entry.stat(follow_symlinks=False), entry.name) for entry in entries]
        except FileNotFoundError:
            pass
        except OSError as error:
            self._unread = f"cannot be looked at: {error.strerror}"
        for view in views:
            found += _set_beside(view)
        self.count = len(found) or bool(self._unread)
        newest = heapq.nlargest(
            _MOST, ((_time_of(name, at), name, at.st_size) for at, name in found)
        )
        self._files = {name: (time, size) for time, name, size in reversed(newest)}
        self._told: dict[str, tuple[int, str]] = {}

    def explain(self, event: Event) -> None:
        """Take note of the files that an engine event names, whatever is in its data."""
        # A line may check that the engine did not write.
        with contextlib.suppress(TypeError, KeyError):
            if event.type == RECOVERED:
                name = facts(event)["quarantine"]
                self._note(name, event.seq, "the torn end that was set aside")
            elif event.type == REPAIRED:
                for repair in facts(event)["repairs"]:
                    name = repair["quarantine"]
                    self._note(name, event.seq, "the segment as it was before the repair")

    def _note(self, name: Any, seq: int, words: str) -> None:
        if isinstance(name, str) and name in self._files:
            self._told[name] = (seq, words)

    def kept(self) -> list[Kept]:
        """Return the newest files, the oldest of them first."""
        if self._unread:
            return [Kept(name="quarantine", size_bytes=0, time="", words=self._unread)]
        found: list[Kept] = []
        for name, (time, size) in self._files.items():
            seq, words = self._told.get(name, (None, _words_for(name)))
            found.append(Kept(name=name, size_bytes=size, time=time, seq=seq, words=words))
        return found


def _set_beside(view: Path) -> list[tuple[os.stat_result, str]]:
    """Return the files that were set aside beside a view."""
    found: list[tuple[os.stat_result, str]] = []
    with contextlib.suppress(OSError), os.scandir(view.parent) as entries:
        for entry in entries:
            if entry.name.startswith(f"{view.name}{_BESIDE}"):
                found.append((entry.stat(follow_symlinks=False), entry.name))
    return found


def _time_of(name: str, found: os.stat_result) -> str:
    """Return when a file was put there: its stamp, or its own time."""
    if (stamp := _STAMPED.fullmatch(name)) is None:
        return format_time(found.st_mtime_ns // 1_000_000)
    year, month, day, hour, minute, second, millisecond, _ = stamp.groups()
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}.{millisecond}Z"


def _words_for(name: str) -> str:
    """Say what a file is that no event names."""
    if name == _REPAIR_NOTE:
        return "a repair that was not finished: run `journal repair` again"
    if name.endswith(".torn"):
        return "a torn end; no event in the log tells of it"
    if name.endswith(".damaged"):
        return "a segment as it was before a repair; no event in the log tells of it"
    if (stamp := _STAMPED.fullmatch(name)) is not None:
        return f"what stood in the place of {stamp[8]}, which was then written again from the log"
    if (view := name.partition(_BESIDE))[1]:
        return f"what stood in the place of {view[0]}, which was written again; it lies beside it"
    return "not put there by the engine"
