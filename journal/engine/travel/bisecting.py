"""The first event after which something is true of the state.

I1  Without a promise the state after every event is looked at, in order, but for those of events
    that can change nothing the predicate `reads`. With `monotone` (once true, it stays true) the
    search halves the history: first between the snapshots, which cost no fold, then between two of
    them. It looks at some twenty states of a million.
I2  Halving goes on from the nearest state before that is known, so that all its folds together
    are no more than two between the two snapshots.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from journal import codec
from journal.engine.core import Core
from journal.engine.states import Live
from journal.engine.travel.looking import Places
from journal.engine.travel.walking import find_event, walk
from journal.errors import UsageError
from journal.event import Event

Progress = Callable[[int, int], None]
Predicate = Callable[[Any], bool]
"""Says whether a state has it; it must not change the state."""

_TELL_EVERY = 1000


class Bisected(msgspec.Struct, frozen=True, kw_only=True):
    """The first event after which it is true, None if there is none; `states`: how many were seen.

    `from_start`: it was true before that event already, as of the beginning of the search.
    """

    seq: int | None
    event: Event | None
    states: int
    from_start: bool = False


def bisect(
    core: Core,
    predicate: Predicate,
    *,
    after: int,
    upto: int,
    monotone: bool,
    reads: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Bisected:
    """Return the first event in (`after`, `upto`] after which `predicate` is true (I1)."""
    places = None if reads is None else Places(reads)
    start = core.states.at(core.history, after)
    from_start = _ask(predicate, start.state, after)
    if after >= upto:
        return Bisected(seq=None, event=None, states=1, from_start=from_start)
    if monotone and not from_start:
        seq, looked = _halve(core, predicate, start, upto, progress)
    elif from_start:
        # The state of the next event counts, whatever it changes.
        seq, looked = _scan(core, predicate, start, upto, progress)
    else:
        seq, looked = _scan(core, predicate, start, upto, progress, places=places)
    return Bisected(
        seq=seq,
        event=None if seq is None else find_event(core, seq),
        states=looked + 1,
        from_start=from_start,
    )


def _scan(
    core: Core,
    predicate: Predicate,
    start: Live,
    upto: int,
    progress: Progress | None,
    *,
    places: Places | None = None,
) -> tuple[int | None, int]:
    after, looked = start.seq, 0
    for event, state in walk(core, start, upto):
        if places is None or places.may_be_touched(core.projection.touched(event)):
            looked += 1
            if _ask(predicate, state, event.seq):
                return event.seq, looked
        if progress is not None and event.seq % _TELL_EVERY == 0:
            progress(event.seq - after, upto - after)
    return None, looked


class _Known(NamedTuple):
    """A state at which it is not true yet, as JSON, to go on from (I2)."""

    seq: int
    state: bytes


def _halve(
    core: Core, predicate: Predicate, start: Live, upto: int, progress: Progress | None
) -> tuple[int | None, int]:
    low, high = _Known(start.seq, codec.encode_state(start.state)), upto
    if not _ask(predicate, core.states.at(core.history, high).state, high):
        return None, 1
    low, high, looked = _halve_snapshots(core, predicate, low, high)
    while high - low.seq > 1:
        if progress is not None:
            progress(looked, looked + (high - low.seq).bit_length())
        base = Live(codec.decode_value(low.state), low.seq)
        middle = core.states.fold(core.history, base, (low.seq + high) // 2)
        looked += 1
        if _ask(predicate, middle.state, middle.seq):
            high = middle.seq
        else:
            low = _Known(middle.seq, codec.encode_state(middle.state))
    return high, looked + 1


def _halve_snapshots(
    core: Core, predicate: Predicate, low: _Known, high: int
) -> tuple[_Known, int, int]:
    """Halve between the snapshots; return the last state before, the end, and the states seen."""
    looked = 0
    seqs = [entry.seq for entry in core.store.list() if low.seq < entry.seq < high]
    while seqs:
        middle = core.states.base(seqs[len(seqs) // 2])
        if middle.seq <= low.seq:
            # Those up to there cannot be used: damaged, or made by other code.
            seqs = seqs[len(seqs) // 2 + 1 :]
            continue
        looked += 1
        if _ask(predicate, middle.state, middle.seq):
            high = middle.seq
        else:
            low = _Known(middle.seq, codec.encode_state(middle.state))
        seqs = [seq for seq in seqs if low.seq < seq < high]
    return low, high, looked


def _ask(predicate: Predicate, state: Any, seq: int) -> bool:
    """Ask about the state after event `seq`; a refusal names it."""
    try:
        return predicate(state)
    except UsageError as error:
        raise UsageError(
            f"as of event {seq}: {error.message}", key=error.key, advice=error.advice
        ) from error
