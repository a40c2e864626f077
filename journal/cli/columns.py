"""Events in columns for people: seq, time, type, actor, and words about each for the rest.

I1  A column grows with what comes, up to a width; what is longer pushes its own line only. So a
    line can be printed as soon as its event is known.
I2  On a terminal a line is cut to its width; elsewhere what follows may be cut by who asks.
"""

import shutil
import sys

from journal.cli import output

_FALLBACK_COLUMNS = 120
_USUAL_TYPE = len("journal.checkpoint")
_WIDEST_NAME = 24


class Columns:
    """The columns of one listing."""

    def __init__(
        self, last_seq: int, *, type_width: int = _USUAL_TYPE, actor_width: int = 0
    ) -> None:
        """Know the largest seq that is likely, and how wide type and actor are at least."""
        self.width = shutil.get_terminal_size((_FALLBACK_COLUMNS, 24)).columns
        self._seq = len(str(last_seq))
        self._type, self._actor = type_width, actor_width

    def put(self, seq: int, time: str, kind: str, actor: str, words: str) -> None:
        """Print a line; `words` come without control characters."""
        head, _ = self._head(seq, time, kind, actor)
        output.put(f"{head}{words}".rstrip())

    def room(self, seq: int, time: str, kind: str, actor: str) -> int:
        """Return how many columns are left for words."""
        return self.width - self._head(seq, time, kind, actor)[1]

    def _head(self, seq: int, time: str, kind: str, actor: str) -> tuple[str, int]:
        """Return the start of a line, and how many columns it takes."""
        kind, actor = output.plain(kind), output.plain(actor)
        self._seq = max(self._seq, len(str(seq)))
        self._type = max(self._type, min(len(kind), _WIDEST_NAME))
        self._actor = max(self._actor, min(len(actor), _WIDEST_NAME))
        start = f"{seq:>{self._seq}}  {time:<24}  "
        name = f"{kind:<{self._type}}"
        end = f"  {actor:<{self._actor}}  " if self._actor else "  "
        taken = len(start) + len(name) + len(end)
        return start + output.paint(name, "name", sys.stdout) + end, taken
