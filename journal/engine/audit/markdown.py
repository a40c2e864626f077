"""The account of a journal as Markdown, for people and for what they paste it into.

I1  What comes from the log cannot break out of its cell: no line break, bar, or mark of Markdown
    or HTML in it works.
"""

import re
from collections.abc import Iterable

from journal.engine.audit.report import Audit, Named
from journal.engine.audit.wording import counted, duration, when, who
from journal.engine.reports import Verified
from journal.event import CHECKPOINT

_MOST_ROWS = 25
_MOST_PAIRS = 3
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+!|~&])")


def render(account: Audit, verified: Verified | None = None) -> str:
    """Return the account as Markdown; `verified` is what `verify` found, if it was run."""
    parts = [
        _title(account),
        _checks(account, verified),
        _happenings(account),
        _names("Types", "by", account.types),
        _names("Actors", "what", account.actors),
        _gaps(account),
        _anchors(account),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _title(account: Audit) -> str:
    lines = [
        f"# Audit of {text(account.path)}",
        "",
        f"Journal `{account.id}`, projection {text(account.projection)}, format {account.format}, "
        f"durability {account.durability}. Made {when(account.made)} UTC; all times are UTC.",
        "",
        f"- **{account.events:,} events** from {when(account.first_time) or 'never'} to "
        f"{when(account.last_time) or 'never'}",
        f"- **{counted(len(account.actors), 'actor')}**, **{counted(len(account.types), 'type')}**",
        f"- **{counted(len(account.segments), 'segment')}**, {account.log_bytes:,} bytes; on disk "
        f"up to event {account.synced:,}, as far as is known",
    ]
    if account.head is not None:
        lines.append(f"- head `{account.head.seq}:{account.head.sha256}`")
    return "\n".join(lines)


def _checks(account: Audit, verified: Verified | None) -> str:
    lines = ["## Whole?", ""]
    problems = account.problems if verified is None else verified.problems
    for problem in problems:
        place = f"{problem.segment} " if problem.segment else ""
        byte = "" if problem.offset is None else f"byte {problem.offset}: "
        lines.append(f"- **{problem.kind}**: {text(place + byte + problem.message)}")
    if not problems:
        lines.append("Every line of the log was read and checks.")
    if verified is None:
        lines.append("\nThe chain of segments, snapshots and views were not compared (`--verify`).")
    else:
        head = verified.head
        done = "All of it was verified" if verified.ok else "Verified, with the problems above"
        lines.append(f"\n{done}: {verified.events:,} events, head `{head.seq}:{head.sha256}`.")
        lines += [f"- {text(note)}" for note in verified.notes]
    return "\n".join(lines)


def _happenings(account: Audit) -> str:
    told = [one for one in account.happenings if one.type != CHECKPOINT]
    checkpoints = account.told.get(CHECKPOINT, 0)
    rows = [
        (f"{one.seq:,}", when(one.time), text(one.type.removeprefix("journal.")), text(one.words))
        for one in told
    ]
    table = _table("What happened to it", ("event", "time", "what", ""), rows)
    many = sum(account.told.values()) - checkpoints - len(told)
    more = f"\n\nand {many:,} older ones." if many else ""
    return f"{table}{more}\n\n{counted(checkpoints, 'checkpoint')} recorded."


def _names(title: str, other: str, found: list[Named]) -> str:
    rows = [
        (
            text(who(one.name)),
            f"{one.count:,}",
            when(one.first_time),
            when(one.last_time),
            ", ".join(
                f"{text(who(name))} {count:,}"
                for name, count in list(one.with_whom.items())[:_MOST_PAIRS]
            ),
        )
        for one in found[:_MOST_ROWS]
    ]
    table = _table(title, ("name", "events", "first", "last", other), rows)
    rest = len(found) - len(rows)
    return f"{table}\n\nand {rest:,} more." if rest > 0 else table


def _gaps(account: Audit) -> str:
    rows = [
        (duration(gap.length_ms), when(gap.from_time), when(gap.to_time), f"{gap.after_seq:,}")
        for gap in account.gaps
    ]
    return _table("Longest gaps", ("length", "from", "to", "after event"), rows)


def _anchors(account: Audit) -> str:
    rows = [
        (one.name, f"{one.first_seq:,} to {one.last_seq:,}", f"{one.size_bytes:,}", one.sha256)
        for one in account.segments
    ]
    return _table("Segments", ("file", "events", "bytes", "sha256"), rows)


def _table(title: str, names: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(names)
    body = [f"| {' | '.join(row)} |" for row in rows]
    if not body:
        return f"## {title}\n\nnone"
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *body]
    return "\n".join([f"## {title}", "", *lines])


def text(found: str) -> str:
    """Return words from the log so that they are words and nothing else (I1)."""
    one_line = "".join(c if c.isprintable() else " " for c in found)
    return _SPECIAL.sub(r"\\\1", one_line)
