"""The account of a journal as Markdown, for people and for what they paste it into.

I1  What comes from the log cannot break out of its cell: no line break, bar, or mark of Markdown
    or HTML in it works.
"""

import re
from collections.abc import Iterable, Sequence

from journal.engine.audit import saying
from journal.engine.audit.escaping import plain
from journal.engine.audit.report import Audit, Named
from journal.engine.audit.wording import duration, size, when, who
from journal.engine.reports import Verified

Anchors = Sequence[tuple[int, str]]

_MOST_PAIRS = 4
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#+!|~&])")


def render(account: Audit, verified: Verified | None = None, anchors: Anchors = ()) -> str:
    """Return the account as Markdown; `verified` is what `verify` found, if it was run.

    `anchors` are those that were given to it.
    """
    parts = [
        _title(account, verified),
        _checks(account, verified, anchors),
        _happenings(account),
        _quarantine(account),
        _names("Types", "by", account.types, account.counts.other_types),
        _names("Actors", "what", account.actors, account.counts.other_actors),
        _gaps(account),
        _anchors(account),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _title(account: Audit, verified: Verified | None) -> str:
    lines = [
        f"# Audit of {text(account.path)}",
        "",
        f"Journal `{account.id}`, projection {text(account.projection)}, format {account.format}, "
        f"durability {account.durability}. {text(saying.origin(account))}",
        "",
    ]
    lines += [f"- **{text(f.number)}** {text(f.words)}" for f in saying.figures(account, verified)]
    if account.head is not None:
        lines.append(
            f"- head `{account.head.seq}:{account.head.sha256}`. {text(saying.head(account))}"
        )
    return "\n".join(lines)


def _checks(account: Audit, verified: Verified | None, anchors: Anchors) -> str:
    lines = ["## Whole?", ""]
    for problem in saying.problems_of(account, verified):
        place = saying.place(problem)
        words = f"{place}: {problem.message}" if place else problem.message
        lines.append(f"- **{problem.kind}**: {text(words)}")
    if verified is not None:
        lines += [f"- {text(advice)}" for advice in verified.advice]
    lines += [f"- {text(words)}" for words in saying.anchors(anchors, verified)]
    lines += ["", text(" ".join(saying.verdict(account, verified)))]
    if verified is not None:
        lines += ["", *(f"- {text(note)}" for note in verified.notes)]
    return "\n".join(lines).rstrip().replace("\n\n\n", "\n\n")


def _happenings(account: Audit) -> str:
    rows = [
        (
            f"{one.seq:,}",
            when(one.time),
            text(saying.what(one.type)),
            text(who(one.actor)),
            text(one.words),
        )
        for one in saying.shown_happenings(account)
    ]
    table = _table("What happened to the journal", ("event", "time", "what", "by", ""), rows)
    return _with_more(table, saying.more_happenings(account))


def _quarantine(account: Audit) -> str:
    rows = [
        (
            text(one.name),
            size(one.size_bytes),
            when(one.time),
            "" if one.seq is None else f"{one.seq:,}",
            text(one.words),
        )
        for one in account.quarantine
    ]
    names = ("file", "size", "put there", "told by event", "what it is")
    table = _table("What was set aside", names, rows, level=3)
    more = saying.more_quarantined(account)
    return _with_more(f"{table}\n\n{text(saying.SET_ASIDE)}" if rows else table, more)


def _names(title: str, other: str, found: list[Named], others: int) -> str:
    rows = [
        (
            text(who(one.name)),
            f"{one.count:,}",
            when(one.first_time),
            when(one.last_time),
            text(", ".join(saying.pairs(one, _MOST_PAIRS))),
        )
        for one in saying.shown_names(found)
    ]
    table = _table(title, ("name", "events", "first", "last", other), rows)
    noun = title.lower().removesuffix("s")
    return _with_more(table, saying.more_names(found, others, noun))


def _gaps(account: Audit) -> str:
    rows = [
        (duration(gap.length_ms), *saying.ends(gap), f"{gap.after_seq:,}") for gap in account.gaps
    ]
    table = _table("Longest gaps", ("length", "from", "to", "after event"), rows)
    return _with_more(table, saying.more_gaps(account))


def _anchors(account: Audit) -> str:
    rows = [
        (
            one.name,
            f"{one.first_seq:,} to {one.last_seq:,}",
            f"{one.size_bytes:,}",
            " ".join(filter(None, saying.digest(account, one))),
        )
        for one in account.segments
    ]
    table = _table("Segments", ("file", "events", "bytes", "sha256"), rows)
    return f"{table}\n\n{text(saying.SEGMENTS)}"


def _with_more(table: str, more: str) -> str:
    return f"{table}\n\n{text(more)}." if more else table


def _table(
    title: str, names: Iterable[str], rows: Iterable[Iterable[str]], *, level: int = 2
) -> str:
    head = list(names)
    body = [f"| {' | '.join(row)} |" for row in rows]
    if not body:
        return f"{'#' * level} {title}\n\nnone"
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *body]
    return "\n".join([f"{'#' * level} {title}", "", *lines])


def text(found: str) -> str:
    """Return words from the log so that they are words and nothing else (I1)."""
    return _SPECIAL.sub(r"\\\1", plain(found))
