"""`journal log`: the events as they stand in the log, of any length, also of a damaged one.

I1  It needs the log alone: no state is folded and no projection loaded, so that it works where
    those fail; only `--touching` and `--stat` ask for both (`effects`). Reading goes by blocks;
    `-n` starts from the end and reads no more than it must.
I2  Every good event that was asked for is printed; then the damage is raised as `Corrupt`.
I3  `--follow` goes on over a rotation, a writer that starts again and a repaired segment.
"""

import contextlib
import itertools
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from journal import codec, config
from journal.cli import finding, opening, output, parsing
from journal.cli.columns import Columns
from journal.cli.effects import Effects, Line
from journal.cli.gist import gist
from journal.cli.options import AsJson, Folder, read_count, read_seq
from journal.cli.wanted import NO_END, Sought, Wanted
from journal.errors import Corrupt, UsageError
from journal.event import Event, format_time, not_before, now_ms, read_time, time_to_ms
from journal.log.history import FOLDER_NAME, History
from journal.log.reader import Reader
from journal.recovery import corrupt, missing_end
from journal.sifting import Damage
from journal.witness import WitnessFile

_FIRST_WINDOW = 256
_POLL_S = 0.2
_USUAL_ACTOR = len("planner")
_STAT_COLUMNS = len("+10 -10 ~10")

Show = Callable[[Line], None]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    parsing.add(
        app,
        "log",
        log,
        "journal log -n 20",
        "journal log --type set --since 2026-03-01 --json | jq .data",
        "journal log --since '2 hours ago' --touching /tasks --stat",
        "journal log --after 120 --follow",
    )


def log(
    *,
    folder: Folder = None,
    after: Annotated[
        str, typer.Option(metavar="SEQ", help="Events after this one.", show_default=False)
    ] = "0",
    upto: Annotated[
        str, typer.Option(metavar="SEQ", help="Up to and with this one.", show_default=False)
    ] = "",
    since: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="From this time on; '2 hours ago' is one.", show_default=False
        ),
    ] = "",
    until: Annotated[
        str, typer.Option(metavar="TIME", help="Up to and with this time.", show_default=False)
    ] = "",
    types: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Of this type (repeatable).")
    ] = None,
    actors: Annotated[
        list[str] | None, typer.Option("--actor", metavar="A", help="By this actor (repeatable).")
    ] = None,
    grep: Annotated[
        str,
        typer.Option(metavar="REGEX", help="With this in the line of the log.", show_default=False),
    ] = "",
    touching: Annotated[
        str | None,
        typer.Option(metavar="POINTER", help="That changed what is there.", show_default=False),
    ] = None,
    stat: Annotated[
        bool, typer.Option("--stat", help="Count the leaves that each added, removed, changed.")
    ] = False,
    newest: Annotated[
        str | None, typer.Option("-n", metavar="N", help="Only the newest N of these.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what is appended from now on.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the events, one a line.

    With --json the lines of the log as they are stored. A time without a zone is UTC. Where the log
    is damaged, every good event is listed, the damage is told on stderr and the exit code is 5.
    """
    if stat and as_json:
        raise UsageError("--stat is for people: --json prints the lines as they are stored")
    path = finding.find(folder)
    config.read(path)
    wanted = Wanted(
        after=read_seq(after),
        upto=read_seq(upto) if upto else NO_END,
        types=frozenset(types or ()),
        actors=frozenset(actors or ()),
        grep=_read_regex(grep) if grep else None,
    )
    number = None if newest is None else read_count(newest, "-n")
    with contextlib.ExitStack() as opened:
        source = opened.enter_context(_Log(path))
        now = not_before(source.history.tail.time, now_ms)
        wanted = wanted._replace(
            since=read_time(since, now) if since else "",
            until=read_time(until, now) if until else "",
        )
        effects = None
        if touching is not None or stat:
            # After the log, so that the engine has every line that is asked about.
            engine = opened.enter_context(opening.for_reading(folder))
            effects = Effects(engine, touching, count=stat)
        history = source.history
        sought = Sought()
        narrowed = _narrowed(history, wanted)
        if not as_json:
            narrowed = narrowed._replace(sought=sought)
        show = _put_stored if as_json else _Shown(history.tail.seq, effects if stat else None)
        nothing = not (as_json or follow or number == 0)
        for found in select(history, narrowed, number, effects):
            show(found)
            nothing = False
        source.check(wanted)
        if nothing:
            output.say(sought.describe(wanted, touching, history))
        if follow:
            output.flush()
            source.follow(wanted, show, effects)


def _read_regex(text: str) -> "re.Pattern[str]":
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(f"--grep {text!r}: {error}", key="grep") from error


# --- selecting -----------------------------------------------------------------------------------


def select(
    history: History,
    wanted: Wanted,
    newest: int | None = None,
    effects: Effects | None = None,
) -> Iterator[Line]:
    """Yield the events that are wanted, oldest first; of them the newest so many, if given.

    Raises `Corrupt` at the end where a part of the stretch is damaged.
    """
    if newest is None:
        lines = good_lines(history, wanted)
        if effects is None:
            yield from (found for found in lines if wanted.takes(found))
        else:
            yield from effects.sift(lines, wanted.after, wanted.takes)
        return
    upto = min(wanted.upto, history.tail.seq)
    window = max(_FIRST_WINDOW, newest)
    found: list[Line] = []
    damage: Corrupt | None = None
    while len(found) < newest and upto > wanted.after:
        after = max(wanted.after, upto - window)
        part = deque[Line](maxlen=newest - len(found))
        try:
            inside = wanted._replace(after=after, upto=upto)
            part.extend(select(history, inside, effects=effects))
        except Corrupt as error:
            damage = error
        found = [*part, *found]
        upto, window = after, window * 4
    yield from found
    if damage is not None:
        raise damage


def _narrowed(history: History, wanted: Wanted) -> Wanted:
    """Look the times up, so that only their stretch is read; where that fails all of it is."""
    with contextlib.suppress(Corrupt):
        if wanted.since:
            before = format_time(time_to_ms(wanted.since) - 1)
            wanted = wanted._replace(after=max(wanted.after, history.find_time(before)))
        if wanted.until:
            wanted = wanted._replace(upto=min(wanted.upto, history.find_time(wanted.until)))
    return wanted


def good_lines(history: History, wanted: Wanted) -> Iterator[Line]:
    """Yield every good event of a stretch, and raise `Corrupt` behind the last if some are not."""
    reached, damage = wanted.after, None
    upto = min(wanted.upto, history.tail.seq)
    try:
        for block in history.blocks(wanted.after, upto):
            yield from _cut_up(block.data)
            reached = block.after.seq
    except (Corrupt, ValueError):
        for piece in history.good_lines(reached, upto):
            if isinstance(piece, Damage):
                damage = damage or corrupt(piece)
                continue
            for event, line in _cut_up(piece.data):
                if reached < event.seq <= upto:
                    yield event, line
    if damage is not None:
        raise damage


def _cut_up(lines: bytes) -> Iterator[Line]:
    """Return the events of a block; raises `ValueError`, before the first, where one is none."""
    events = codec.decode_events(lines)
    return zip(events, (part + b"\n" for part in lines.split(b"\n")[:-1]), strict=True)


# --- the log -------------------------------------------------------------------------------------


class _Log:
    """The log of a journal: what there is of it now, and what comes."""

    def __init__(self, path: Path) -> None:
        # Before the log, which only grows: what was on disk then has to be there.
        with contextlib.closing(WitnessFile(path, write=False)) as witness:
            known = None
            try:
                known = witness.read()
            except OSError as error:
                output.say(
                    f"{witness.path}: {error.strerror}; whether the log's end is there, "
                    "is not known"
                )
        self._known_seq = 0 if known is None else known.synced_seq
        self._reader = Reader(path / FOLDER_NAME)
        self._fault: Corrupt | None = None
        try:
            self._reader.seek(NO_END)
            for _ in self._reader.advance():
                pass
        except Corrupt as error:
            self._fault = error
            self._reader.pass_over_damage()
        self.history = self._reader.history

    def __enter__(self) -> "_Log":
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    def check(self, wanted: Wanted) -> None:
        """Raise `Corrupt` where the end of the log is damaged or gone."""
        if self._fault is not None:
            raise self._fault
        if self._known_seq > self.history.tail.seq and not wanted.ends_before(self.history.tail):
            raise missing_end(self._reader.last, self._known_seq)

    def follow(self, wanted: Wanted, show: Show, effects: Effects | None = None) -> None:
        """Show what is appended from now on, until the end that is wanted or Ctrl-C."""
        if wanted.ends_before(self.history.tail):
            return
        seen = self.history.tail.seq
        every = following(self._reader, lambda: time.sleep(_POLL_S))
        lines = itertools.takewhile(lambda found: not wanted.is_behind(found[0]), every)
        taken: Iterator[tuple[Event, bytes]]
        if effects is None:
            taken = (found for found in lines if wanted.takes(found))
        else:
            taken = effects.sift(lines, seen, wanted.takes)
        for found in taken:
            show(found)
            output.flush()


def following(reader: Reader, wait: Callable[[], None]) -> Iterator[Line]:
    """Yield what is appended behind the reader's tail, for ever; `wait` is called between looks.

    Raises `Corrupt` for damage in what was appended.
    """
    while True:
        for block in reader.advance():
            yield from _cut_up(block.data)
        wait()
        if _was_replaced(reader):
            reader = _open_again(reader)


def _was_replaced(reader: Reader) -> bool:
    """Say whether another file stands in the place of the one that is read: a repair."""
    ours = reader.last.stat()
    found = os.stat(reader.last.path, follow_symlinks=False)
    return (ours.st_dev, ours.st_ino) != (found.st_dev, found.st_ino)


def _open_again(reader: Reader) -> Reader:
    seen = reader.tail.seq
    reader.close()
    again = Reader(reader.folder)
    again.seek(seen)
    return again


def last_seq(path: Path) -> int:
    """Return the last seq in the log of the journal at `path`."""
    with contextlib.closing(Reader(path / FOLDER_NAME)) as reader:
        reader.seek(NO_END)
        return reader.tail.seq


# --- showing -------------------------------------------------------------------------------------


def _put_stored(found: Line) -> None:
    output.put_bytes(found[1])


class _Shown:
    """Events in columns for people: seq, time, type, actor, data as far as the line goes."""

    def __init__(self, last_seq: int, effects: Effects | None = None) -> None:
        self._columns = Columns(last_seq, actor_width=_USUAL_ACTOR)
        self._effects = effects

    def __call__(self, found: Line) -> None:
        """Print the line of an event."""
        event, _ = found
        head = (event.seq, event.time, event.type, event.actor)
        words = ""
        if self._effects is not None:
            words = f"{self._effects.describe(event):<{_STAT_COLUMNS}}  "
        room = self._columns.room(*head) - len(words)
        self._columns.put(*head, words + gist(event, room))
