"""`journal step`: through history event by event, with what each changed.

    n  next      b  back      j SEQ  jump (or only the SEQ; head~3, a time)      d  what it changed
    s  the state      e  the event as it is stored      q  quit      ?  these

I1  On a terminal it asks for each command. Otherwise commands are read from stdin, a line each,
    and what is read is what is done: no prompt, no colour, nothing moves. Without any command
    every event is stepped through to the end.
I2  A command that cannot be is said, and ends only a pipe's reading (exit code 2).
"""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import msgspec
import orjson
import typer

from journal.cli import changes, opening, output, parsing
from journal.cli.options import AsJson, Folder, read_place
from journal.errors import UsageError

if TYPE_CHECKING:
    from journal import Engine
    from journal.engine.travel.stepping import Step, Stepper

_HELP = (
    "n next   b back   j SEQ jump (or the SEQ alone; head~3, a time)   d what it changed   "
    "s state   e event   q quit"
)
_NAMES = {
    **dict.fromkeys(("", "n", "next"), "next"),
    **dict.fromkeys(("b", "back", "p", "prev"), "back"),
    **dict.fromkeys(("d", "diff"), "diff"),
    **dict.fromkeys(("s", "state"), "state"),
    **dict.fromkeys(("e", "event"), "event"),
    **dict.fromkeys(("q", "quit", "exit"), "quit"),
    **dict.fromkeys(("?", "h", "help"), "help"),
}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    parsing.add(
        app,
        "step",
        step,
        "journal step",
        "journal step 120 /tasks",
        "printf 'j 120\\nb\\ns\\n' | journal step",
    )


def step(
    place: Annotated[
        str,
        typer.Argument(metavar="SEQ|TIME", help="Where to begin.", show_default=False),
    ] = "",
    pointer: Annotated[
        str, typer.Argument(metavar="POINTER", help="Only what is there.", show_default=False)
    ] = "",
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Go through history event by event.

    Each event is shown with what it changed. On a terminal, Enter goes on, b goes back, j SEQ
    jumps, ? tells the rest. Without a terminal the commands are read from stdin, one a line; if
    there are none, every event is stepped through.
    """
    with opening.for_reading(folder) as engine:
        walk = _Walk(engine, engine.stepper(pointer), as_json)
        start = engine.seq_of(read_place(place)) if place else 0
        if output.is_terminal(sys.stdin):
            walk.go_to(max(start, 1))
            for command in _asked(walk):
                if not walk.try_it(command):
                    return
        else:
            walk.follow(_piped(), start)


def _asked(walk: "_Walk") -> Iterator[str]:
    """Yield what is typed, until the end of input."""
    while True:
        output.flush()
        sys.stderr.write(f"{walk.prompt} ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            sys.stderr.write("\n")
            return
        yield line.strip()


def _piped() -> Iterator[str]:
    for line in sys.stdin:
        yield line.strip()


class _Walk:
    """A stepper, and what is printed of it."""

    def __init__(self, engine: "Engine", stepper: "Stepper", as_json: bool) -> None:
        self._engine = engine
        self._stepper = stepper
        self._as_json = as_json
        self._shown: Step | None = None

    @property
    def prompt(self) -> str:
        """What to ask with."""
        return output.paint(f"{self._stepper.seq} of {self._stepper.last}>", "dim", sys.stderr)

    def follow(self, commands: Iterator[str], start: int) -> None:
        """Do what is read (I1); raises `UsageError` for what is no command, or cannot be."""
        first = next(commands, None)
        if first is None:
            for seq in range(max(start, 1), self._stepper.last + 1):
                self.go_to(seq)
            return
        if start:
            self.go_to(start)
        going = self.do(first)
        while going and (command := next(commands, None)) is not None:
            going = self.do(command)

    def try_it(self, command: str) -> bool:
        """Do a command, or say why it cannot be; return whether to go on."""
        try:
            return self.do(command)
        except UsageError as error:
            output.say_error(str(error))
            return True

    def do(self, command: str) -> bool:
        """Do a command; return whether to go on."""
        name = _NAMES.get(command.lower())
        seq = self._stepper.seq
        match name:
            case "quit":
                return False
            case "next" if seq == self._stepper.last:
                output.say(f"event {seq} is the last")
            case "next":
                self.go_to(seq + 1)
            case "back" if seq <= 1:
                output.say("there is nothing before event 1")
            case "back":
                self.go_to(seq - 1)
            case "diff":
                self._show()
            case "state":
                self._put_state()
            case "event":
                if self._shown is not None:
                    output.put_event(self._shown.event)
            case "help":
                output.say(_HELP)
            case _:
                self._jump(command)
        return True

    def _jump(self, command: str) -> None:
        word, _, rest = command.partition(" ")
        place = rest if word.lower() in ("j", "jump") and rest else command
        try:
            seq = self._engine.seq_of(read_place(place))
        except UsageError as error:
            raise UsageError(f"{error.message}; commands: {_HELP}") from error
        self.go_to(max(seq, 1))

    def go_to(self, seq: int) -> None:
        """Step to an event and show it."""
        self._shown = self._stepper.go_to(seq)
        self._show()

    def _show(self) -> None:
        shown = self._shown
        if shown is None:
            output.say("this is before the first event")
        elif self._as_json:
            line = output.stored_line(shown.event).rstrip(b"\n")
            body = orjson.dumps(shown.changes)
            output.put_bytes(b'{"event":%b,"changes":%b}\n' % (line, body))
        else:
            event = shown.event
            words = [f"event {event.seq}", event.time, event.type, event.actor]
            title = output.plain("  ".join(filter(None, words)))
            output.put(output.paint(title, "name", sys.stdout))
            changes.put_changes(shown.changes, "  ")
            if not shown.changes:
                output.put("  nothing changed")

    def _put_state(self) -> None:
        state = self._stepper.state()
        if state is msgspec.UNSET:
            output.say("there is nothing at the pointer")
        elif self._as_json:
            output.put_json(state)
        else:
            option = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
            output.put_bytes(orjson.dumps(state, option=option))
