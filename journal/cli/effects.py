"""What the listed events did to the state: for `log --touching` and `log --stat`.

I1  All lines of a stretch go through here, wanted or not, since the state goes on with each. Only
    then is the state folded; a `log` without these options folds nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from journal.event import Event

if TYPE_CHECKING:
    from journal import Engine
    from journal.engine.travel.tallying import Tally

Line = tuple[Event, bytes]


class Effects:
    """Passes on the lines that changed what is at `pointer` (None: all), and counts leaves."""

    def __init__(self, engine: "Engine", pointer: str | None, *, count: bool) -> None:
        """Look with `engine`, which has all the lines that will be asked about at first."""
        self._engine = engine
        self._pointer = pointer
        self._count = count
        self._tallies: dict[int, Tally] = {}

    def sift(
        self, lines: Iterable[Line], after: int, takes: Callable[[Line], bool]
    ) -> Iterator[Line]:
        """Yield those of the lines behind event `after` that `takes` takes and that changed it.

        Raises `Corrupt` where lines are missing in between.
        """
        watch = self._engine.watch(
            min(after, self._engine.seq), pointer=self._pointer, count=self._count
        )
        for found in lines:
            taken = takes(found)
            changed = watch.feed(found[1], count=taken)
            if taken and (changed or self._pointer is None):
                if self._count:
                    self._tallies[found[0].seq] = watch.tally
                yield found

    def describe(self, event: Event) -> str:
        """Return how many leaves an event that was just passed on added, removed and changed."""
        tally = self._tallies.pop(event.seq, None)
        if tally is None or not any(tally):
            return ""
        return " ".join(f"{sign}{n}" for sign, n in zip("+-~", tally, strict=True) if n)
