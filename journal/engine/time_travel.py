"""What can be asked about the past of an open journal; `Engine` is made on top of it.

I1  Nothing here writes to the journal, or needs it open for writing.
I2  A place in history is a seq, `head`, `head~3`, a time, "2 hours ago" or a checkpoint, wherever
    `int | str` is asked for; `state_at` alone takes a text for a time and nothing else.
I3  What `journal.engine.travel` and `journal.engine.audit` do is loaded when it is asked for.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from journal import codec
from journal.engine import arguments
from journal.engine.core import Core
from journal.errors import UsageError
from journal.event import parse_time
from projections.projection import Projection

if TYPE_CHECKING:
    from journal.engine.audit.report import Audit
    from journal.engine.glancing import Glance
    from journal.engine.travel.bisecting import Bisected
    from journal.engine.travel.blaming import Change, LastChange
    from journal.engine.travel.comparing import Difference
    from journal.engine.travel.forking import Change as ForkChange
    from journal.engine.travel.forking import Forked
    from journal.engine.travel.stepping import Stepper
    from journal.engine.travel.watching import Watch

Progress = Callable[[int, int], None]
"""(events done, events in all)."""


class TimeTravel:
    """The past of one open journal."""

    def __init__(self, core: Core, open_journal: Callable[..., Any]) -> None:
        """Look at `core`; `open_journal` opens another one, which a fork has to be."""
        self._core = core
        self._open_journal = open_journal

    @property
    def seq(self) -> int:
        """The last seq that this engine has folded."""
        return self._core.history.tail.seq

    def state_at(self, at: int | str) -> Any:
        """Return the state after event `at` (a seq), or after the last event by the time `at`.

        Raises `UsageError` for a seq that is not there, `Corrupt` where events are lost.
        """
        arguments.check(at=at)
        self._core.check_usable()
        seq = self.seq_at(at) if isinstance(at, str) else at
        if not 0 <= seq <= self.seq:
            raise UsageError(
                f"there is no event {codec.show(seq)}: history is from 1 to {self.seq} "
                "(0 is before the first)",
                key="at",
            )
        return self._core.states.at(self._core.history, seq).state

    def seq_at(self, time: str) -> int:
        """Return the last seq whose time is at most `time`, 0 if there is none."""
        arguments.check(time=time)
        self._core.check_usable()
        return self._core.history.find_time(parse_time(time))

    def seq_of(self, place: int | str) -> int:
        """Return the seq that a place names (I2); raises `UsageError` for what names none."""
        from journal.engine.travel.places import find_seq

        arguments.check(place=place)
        self._core.check_usable()
        return find_seq(self._core, place)

    def glance(self) -> "Glance":
        """Return what a look at both ends of each segment finds wrong, and how much was read.

        Nothing is, where damage was met at opening: then that was said. `verify` reads every byte.
        """
        from journal.engine.glancing import Glance, glance

        core = self._core
        core.check_usable()
        if core.damage is not None:
            return Glance([], core.read_after)
        found = glance(core.history)
        return found._replace(read_after=min(found.read_after, core.read_after))

    # --- what changed ----------------------------------------------------------------------------

    def diff(self, a: int | str, b: int | str, pointer: str = "") -> list[dict[str, Any]]:
        """Return the operations that lead from the state at `a` to the one at `b`, in order.

        Each has `op` (add, remove, replace) and `path`, `old` where a value goes and `value` where
        one comes: an RFC 6902 patch that can be turned round. None if the states are equal; items
        of a list are matched by a key that they have. `pointer` narrows both states to the value
        there. Raises `UsageError` where neither has one.
        """
        from journal.engine.travel.comparing import diff_states

        arguments.check(a=a, b=b, pointer=pointer)
        return diff_states(self.state_at(self.seq_of(a)), self.state_at(self.seq_of(b)), pointer)

    def blame(self, pointer: str, *, after: int = 0, upto: int | None = None) -> "Iterator[Change]":
        """Yield every event that changed the value at `pointer` or below it, newest first.

        `pointer` is a JSON Pointer, "" the whole state. Only what is taken is looked for, from the
        newest event backwards, so the last change costs little however long the history is.
        Raises `Corrupt` behind the changes that are known, where events are lost.
        """
        from journal.engine.travel.blaming import blame

        arguments.check(pointer=pointer, after=after, upto=upto)
        self._core.check_usable()
        return blame(self._core, pointer, after=after, upto=self._upto(upto))

    def blame_all(
        self, pointer: str = "", *, depth: int = 1, upto: int | None = None
    ) -> "list[LastChange]":
        """Return every value `depth` levels below `pointer`, with its last change."""
        from journal.engine.travel.blaming import blame_all

        arguments.check(pointer=pointer, depth=depth, upto=upto)
        self._core.check_usable()
        return blame_all(self._core, pointer, depth=depth, upto=self._upto(upto))

    def watch(self, after: int, *, pointer: str | None = None, count: bool = False) -> "Watch":
        """Return a fold from event `after` on that says of each event what it changed.

        `pointer`: whether the value there; `count`: how many values of the whole state.
        """
        from journal.engine.travel.watching import Watch

        arguments.check(after=after, watched=pointer, count=count)
        self._core.check_usable()
        return Watch(self._core, after, pointer=pointer, count=count)

    def stepper(self, pointer: str = "") -> "Stepper":
        """Return what goes through history event by event, forwards and backwards."""
        from journal.engine.travel.stepping import Stepper

        arguments.check(pointer=pointer)
        self._core.check_usable()
        return Stepper(self._core, pointer)

    # --- since when, and what if -----------------------------------------------------------------

    def bisect(
        self,
        predicate: Callable[[Any], bool],
        *,
        after: int = 0,
        upto: int | None = None,
        monotone: bool = False,
        reads: Iterable[str] | None = None,
        progress: Progress | None = None,
    ) -> "Bisected":
        """Return the first event in (`after`, `upto`] after which `predicate(state)` is true.

        The predicate looks at the state and must not change it. `monotone` promises that once true
        it stays true: then some twenty states are looked at instead of all. `reads` promises that
        nothing but what is at these JSON Pointers, and below, is looked at: the states of events
        that cannot change any of it are then passed over. See `Bisected`.
        """
        from journal.engine.travel.bisecting import bisect

        arguments.check(predicate=predicate, after=after, upto=upto, monotone=monotone)
        if reads is not None:
            arguments.check_iterable("reads", reads, "a list of JSON Pointers")
            reads = [*reads]
            arguments.check_each("reads", reads, str)
        arguments.check(progress=progress)
        self._core.check_usable()
        return bisect(
            self._core,
            predicate,
            after=after,
            upto=self._upto(upto),
            monotone=monotone,
            reads=reads,
            progress=progress,
        )

    def compare(self, other: Projection, progress: Progress | None = None) -> "Difference":
        """Fold the whole history with `other` too; return where the two first differ, and how."""
        from journal.engine.travel.comparing import compare

        arguments.check(progress=progress)
        if not isinstance(other, Projection):
            raise arguments.refusal("other", other, "a Projection")
        self._core.check_usable()
        return compare(self._core, other, progress)

    def fork(
        self,
        destination: str | Path,
        *,
        at: int | str | None = None,
        changes: "Iterable[ForkChange]" = (),
        progress: Progress | None = None,
    ) -> "Forked":
        """Make a new journal with the history up to `at` (default: all of it); return what it is.

        `changes` are `Drop`, `Edit` and `Insert` of `journal.engine.travel.forking`: then it is
        the history as it would have been. This journal is only read; its closed segments are
        shared where the file system can link. Raises `UsageError` where something is at
        `destination`, or where the changed history cannot be.
        """
        from journal.engine.travel.forking import Drop, Edit, Insert, fork

        arguments.check(destination=destination, at_or_end=at, progress=progress)
        arguments.check_iterable("changes", changes, "a list of Drop, Edit and Insert")
        changes = [*changes]
        arguments.check_each("changes", changes, Drop, Edit, Insert)
        for change in changes:
            arguments.check(**{"seq of a change": change.seq})
        self._core.check_usable()
        seq = self.seq if at is None else self.seq_of(at)
        return fork(
            self._core,
            destination,
            at=seq,
            changes=changes,
            open_journal=self._open_journal,
            progress=progress,
        )

    def audit(self, progress: Progress | None = None) -> "Audit":
        """Read the whole log once and return who did what and when; folds nothing."""
        from journal.engine.audit.collecting import collect

        self._core.check_usable()
        return collect(self._core, progress)

    def _upto(self, upto: int | None) -> int:
        return self.seq if upto is None else min(upto, self.seq)
