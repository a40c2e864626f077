"""Events in columns for people: seq, time, type, actor, and words about each for the rest.

I1  A column grows with what comes, up to a width; what is longer pushes its own line only. So a
    line can be printed as soon as its event is known.
I2  On a terminal a line is cut to its width; elsewhere what follows may be cut by who asks. On one
    so narrow that nothing would be left for the words, they stand on a line of their own with who.
"""

import shutil
import sys

from journal.cli import output
from journal.cli.widths import cut, fill, width_of

_FALLBACK_COLUMNS = 120
_USUAL_TYPE = len("journal.checkpoint")
_WIDEST_NAME = 24
_NARROW_COLUMNS = 120
_LEAST_ROOM = 20
_INDENT = "    "
_TIME = len("2026-03-01T14:45:00.000Z")
_TO_SECOND = len("2026-03-01T14:45:00")


class Columns:
    """The columns of one listing."""

    def __init__(
        self,
        last_seq: int,
        *,
        type_width: int = _USUAL_TYPE,
        actor_width: int = 0,
        least_room: int = _LEAST_ROOM,
    ) -> None:
        """Know the largest seq that is likely, and how wide type and actor are at least.

        Where there is little room, they are as wide as what comes. Where less than `least_room` is
        left for the words, they get a line of their own (I2).
        """
        self._least_room = least_room
        self.width = shutil.get_terminal_size((_FALLBACK_COLUMNS, 24)).columns
        self._seq = len(str(last_seq))
        narrow = self.width < _NARROW_COLUMNS
        self._type, self._actor = (0, 0) if narrow else (type_width, actor_width)

    def put(self, seq: int, time: str, kind: str, actor: str, words: str) -> None:
        """Print a line; `words` come without control characters."""
        head, taken = self._head(seq, time, kind, actor)
        if self._is_broken(taken):
            short = time if len(time) < _TIME else f"{time[:_TO_SECOND]}Z"
            title = cut(f"{seq:>{self._seq}}  {short}  {output.plain(kind)}", self.width)
            output.put(output.paint(title, "name", sys.stdout))
            output.put(f"{_INDENT}{self._who(actor)}{words}".rstrip())
        else:
            output.put(f"{head}{words}".rstrip())

    def room(self, seq: int, time: str, kind: str, actor: str) -> int:
        """Return how many columns are left for words."""
        taken = self._head(seq, time, kind, actor)[1]
        if self._is_broken(taken):
            taken = len(_INDENT) + width_of(self._who(actor))
        return self.width - taken

    def _is_broken(self, taken: int) -> bool:
        """Say whether the words stand on a line of their own (I2)."""
        return output.is_terminal(sys.stdout) and self.width - taken < self._least_room

    def _who(self, actor: str) -> str:
        """Return who, as it stands before the words on a line of their own."""
        who = cut(output.plain(actor), self.width // 3)
        return f"{who}  " if who else ""

    def _head(self, seq: int, time: str, kind: str, actor: str) -> tuple[str, int]:
        """Return the start of a line, and how many columns it takes."""
        kind, actor = output.plain(kind), output.plain(actor)
        self._seq = max(self._seq, len(str(seq)))
        self._type = max(self._type, min(width_of(kind), _WIDEST_NAME))
        self._actor = max(self._actor, min(width_of(actor), _WIDEST_NAME))
        start = f"{seq:>{self._seq}}  {time:<{_TIME}}  "
        name = fill(kind, self._type)
        end = f"  {fill(actor, self._actor)}  " if self._actor else "  "
        taken = len(start) + width_of(name) + width_of(end)
        return start + output.paint(name, "name", sys.stdout) + end, taken
