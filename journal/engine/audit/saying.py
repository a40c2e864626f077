"""What an account says, whatever it is written as: the same figures and words in each.

I1  Of a list that is cut it is said how many more there are.
I2  What is returned is plain text; who writes it makes it harmless.
"""

from collections.abc import Sequence
from typing import NamedTuple

from journal import plural
from journal.engine.audit.collecting import to_ms
from journal.engine.audit.report import (
    MOST_COUNTED,
    OTHERS,
    Audit,
    Gap,
    Happening,
    Named,
    SegmentLine,
)
from journal.engine.audit.wording import duration, moment, size, when, who
from journal.engine.reports import Problem, Verified
from journal.event import CHECKPOINT, CREATED, FORKED

_MOST_ROWS = 25
_SHORT_GAP_MS = 10_000
_MOST_CHECKPOINTS = 10


SET_ASIDE = (
    "Bytes that were put into quarantine/, or beside a view, before they were cut or replaced."
)
SEGMENTS = (
    "Each segment names the one before it by its sha256, so that the head stands for all of them. "
    "Of a closed one it stands here as the next one names it; sha256sum of an undamaged file that "
    "no repair has changed gives the same."
)
_NOT_OF_THE_LOG = frozenset({"anchor", "projection", "snapshot", "view", "witness"})


class Figure(NamedTuple):
    """A number, and what it is the number of."""

    number: str
    words: str


def figures(account: Audit, verified: Verified | None) -> list[Figure]:
    """Return the figures at the head of the account."""
    counts = account.counts
    unnamed = counts.without_actor
    without = f"; {plural.count(unnamed, 'event')} of the users without one" if unnamed else ""
    span = f"from {when(account.first_time)} to {when(account.last_time)}"
    length = "—"
    if account.first_time:
        length = duration(to_ms(account.last_time) - to_ms(account.first_time))
    problems = len(problems_of(account, verified))
    return [
        Figure(
            f"{account.events:,}",
            f"{_noun(account.events, 'event')}: {counts.own_events:,} of the users, "
            f"{counts.engine_events:,} of the engine",
        ),
        Figure(
            _number(counts.actors, counts.other_actors), _noun(counts.actors, "actor") + without
        ),
        Figure(
            _number(counts.own_types, counts.other_types),
            f"{_noun(counts.own_types, 'type')} of the users, "
            f"{counts.engine_types:,} of the engine",
        ),
        Figure(length, span if account.first_time else "no event"),
        Figure(
            size(account.log_bytes),
            f"in {plural.count(len(account.segments), 'segment')}; on disk up to event "
            f"{account.synced:,}, as far as is known",
        ),
        Figure(
            f"{problems:,}",
            f"{_noun(problems, 'problem')}; "
            + ("only the log was read" if verified is None else "all of it was verified"),
        ),
    ]


def _noun(number: int, one: str) -> str:
    return one if number == 1 else f"{one}s"


def _number(number: int, others: int) -> str:
    return f"{number:,}{' or more' if others >= MOST_COUNTED else ''}"


def problems_of(account: Audit, verified: Verified | None) -> list[Problem]:
    """Return what is wrong: what `verify` found, if it was run."""
    return account.problems if verified is None else verified.problems


def origin(account: Audit) -> str:
    """Say when this account was written, and how the journal began."""
    words = {CREATED: "created", FORKED: "forked"}
    born = [
        f"{words[one.type]} at {when(one.time)} (event {one.seq:,})"
        for one in account.happenings
        if one.type in words
    ]
    journal = f" The journal was {', '.join(born)}." if born else ""
    return f"This report was written at {when(account.made)}.{journal} All times are UTC."


# --- whole? --------------------------------------------------------------------------------------


def verdict(account: Audit, verified: Verified | None) -> list[str]:
    """Return sentences about how whole the journal is, and how that was found out."""
    problems = problems_of(account, verified)
    lines = ["Every line of the log was read, and checks."]
    if problems:
        lines = ["What follows is about the events that can be read."]
    if account.lost:
        lines.append(
            f"{plural.count(account.lost, 'event')} could not be read any more when the journal "
            "was repaired, and will not come back."
        )
    if verified is None:
        lines.append(
            "The chain of segments, the snapshots and the views were not compared: --verify does."
        )
    else:
        found = ", with the problems listed here" if problems else ""
        lines.append(
            f"Verified{found}: {plural.count(verified.events, 'event')}, the chain of "
            f"{plural.count(verified.segments, 'segment')}, the snapshots and the views."
        )
    return lines


def head(account: Audit) -> str:
    """Say what the head is good for."""
    damaged = any(problem.kind == "damage" for problem in account.problems)
    as_it_is = " (of the bytes as they are, the damage with them)" if damaged else ""
    return f"Noted elsewhere{as_it_is}, it proves later that nothing up to there was changed."


def anchors(given: Sequence[tuple[int, str]], verified: Verified | None) -> list[str]:
    """Return for each anchor that was given whether it holds."""
    if verified is None:
        return []
    bad = {problem.seq for problem in verified.problems if problem.kind == "anchor"}
    held = "nothing up to there was changed"
    if any(problem.kind not in _NOT_OF_THE_LOG for problem in verified.problems):
        # A digest proves what stands before its segment only where the chain leads there.
        held = "the digest is as noted; what stands before it may have the problems above"
    return [
        f"Anchor {seq}:{sha256}: {'does not hold, see above' if seq in bad else held}"
        for seq, sha256 in given
    ]


def place(problem: Problem) -> str:
    """Return where a problem is, as far as it has a place."""
    parts = (
        problem.segment,
        "" if problem.line is None else f"line {problem.line}",
        "" if problem.offset is None else f"byte {problem.offset}",
    )
    return ", ".join(filter(None, parts))


# --- lists ---------------------------------------------------------------------------------------


def shown_happenings(account: Audit) -> list[Happening]:
    """Return what is listed of what happened to the journal: of checkpoints only the newest."""
    checkpoints = [one for one in account.happenings if one.type == CHECKPOINT]
    hidden = {one.seq for one in checkpoints[:-_MOST_CHECKPOINTS]}
    return [one for one in account.happenings if one.seq not in hidden]


def more_happenings(account: Audit) -> str:
    """Say what of it is not listed (I1); empty where all is."""
    left = dict(account.told)
    for one in shown_happenings(account):
        left[one.type] -= 1
    parts = [
        plural.count(count, f"older {what(kind)} event")
        for kind, count in sorted(left.items())
        if count
    ]
    return f"… and {', '.join(parts)}" if parts else ""


def what(event_type: str) -> str:
    """Return the name of an engine type as a kind of happening."""
    return event_type.removeprefix("journal.").replace("_", " ")


def shown_names(found: list[Named], most: int = _MOST_ROWS) -> list[Named]:
    """Return the types or actors that are listed."""
    return found[:most]


def more_names(found: list[Named], others: int, noun: str, most: int = _MOST_ROWS) -> str:
    """Say how many types or actors are not listed (I1); empty where all are."""
    shown = sum(one.name != OTHERS for one in shown_names(found, most))
    distinct = len(found) - any(one.name == OTHERS for one in found) + others
    left = distinct - shown
    least = " or more" if others >= MOST_COUNTED else ""
    return f"… and {left:,}{least} more {_noun(left, noun)}" if left else ""


def pairs(one: Named, most: int) -> list[str]:
    """Return the most frequent actors of a type, or types of an actor, and how many more (I1)."""
    named = [(name, count) for name, count in one.with_whom.items() if name != OTHERS]
    parts = [f"{who(name)} ({count:,})" for name, count in named[:most]]
    if left := one.with_count - len(parts):
        # Where names go together, one of what is counted is all of these.
        least = (
            " or more" if OTHERS in one.with_whom and one.with_count == len(one.with_whom) else ""
        )
        parts.append(f"… and {left:,}{least} more")
    return parts


def ends(gap: Gap) -> tuple[str, str]:
    """Return when a gap began and ended; a short one to the millisecond."""
    if gap.length_ms >= _SHORT_GAP_MS:
        return when(gap.from_time), when(gap.to_time)
    return moment(gap.from_time), moment(gap.to_time)


def more_gaps(account: Audit) -> str:
    """Say how many gaps are not listed (I1); empty where all are."""
    left = account.counts.gaps - len(account.gaps)
    if left <= 0:
        return ""
    shortest = duration(account.gaps[-1].length_ms)
    return f"… and {left:,} more, none longer than {shortest}"


def more_quarantined(account: Audit) -> str:
    """Say how many files in quarantine/ are not listed (I1); empty where all are."""
    left = account.quarantine_count - len(account.quarantine)
    return f"… and {left:,} older {_noun(left, 'file')}" if left else ""


def digest(account: Audit, one: SegmentLine) -> tuple[str, str]:
    """Return the sha256 of a segment and words about it; empty words for a closed one."""
    if one.sha256:
        return one.sha256, ""
    if one is not account.segments[-1]:
        return "", "none: no first line that can be read names it"
    head = account.head
    if head is None or head.segment != one.name:
        return "", "none: its end cannot be read"
    return head.sha256, f"so far, of its first {head.offset:,} bytes: it is still open"
