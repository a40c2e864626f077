"""The account of a journal as one HTML file that can be handed on.

I1  It needs nothing else: no script, no font, no picture from elsewhere; its own policy forbids
    all of it. It is read by day and by night, as the reader's system says.
I2  Every word that comes from the log goes through `escaping`.
"""

from collections.abc import Iterable, Sequence

from journal.engine.audit import picture
from journal.engine.audit.collecting import to_ms
from journal.engine.audit.escaping import text
from journal.engine.audit.report import OTHERS, Audit, Named
from journal.engine.audit.style import STYLE
from journal.engine.audit.wording import counted, duration, when, who
from journal.engine.reports import Problem, Verified
from journal.event import CHECKPOINT, is_engine_type

_MOST_ROWS = 25
_MOST_PAIRS = 4
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_TAGS = {
    "journal.recovered": "bad",
    "journal.lost": "bad",
    "journal.repaired": "bad",
    "journal.adopted": "note",
    "journal.restored": "note",
    "journal.taken_over": "note",
    "journal.forked": "note",
    "journal.created": "good",
}


def render(account: Audit, verified: Verified | None = None) -> str:
    """Return the page; `verified` is what `verify` found, if it was run."""
    name = account.path.rstrip("/").rpartition("/")[2] or account.path
    parts = [
        _header(account, name),
        _figures(account, verified),
        _checks(account, verified),
        _pictures(account),
        _happenings(account),
        _names(account, "Types", "What was appended, and by whom.", account.types, "by"),
        _names(account, "Actors", "Who appended, and what.", account.actors, "what"),
        _gaps(account),
        _segments(account),
        _footer(account),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>Audit of {text(name)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body><main>\n{chr(10).join(filter(None, parts))}\n</main></body>\n</html>\n"
    )


def _section(title: str, words: str, *content: str) -> str:
    body = "".join(content)
    return f'<section><h2>{title}</h2><p class="soft">{words}</p>{body}</section>'


def _header(account: Audit, name: str) -> str:
    return (
        '<header><div class="kicker">Audit of a journal</div>'
        f"<h1>{text(name)}</h1>"
        f'<p class="soft">{text(account.path)} · projection {text(account.projection)} · '
        f"format {account.format} · durability {text(account.durability)}</p>"
        f'<p class="soft">journal <span class="mono">{text(account.id)}</span> · made '
        f"{when(account.made)} · all times are UTC</p></header>"
    )


def _figures(account: Audit, verified: Verified | None) -> str:
    problems = account.problems if verified is None else verified.problems
    span = ""
    if account.first_time:
        span = duration(to_ms(account.last_time) - to_ms(account.first_time))
    own = sum(not is_engine_type(one.name) for one in account.types)
    figures = [
        (f"{account.events:,}", "events"),
        (f"{sum(bool(one.name) for one in account.actors):,}", "actors"),
        (f"{own:,}", "types of events"),
        (span or "—", "from first to last"),
        (_size(account.log_bytes), f"in {counted(len(account.segments), 'segment')}"),
        (f"{len(problems):,}", "problems" if verified is None else "problems, verified"),
    ]
    boxes = [f'<div class="figure"><b>{b}</b><span>{s}</span></div>' for b, s in figures]
    return f'<div class="figures">{"".join(boxes)}</div>'


def _size(size_bytes: int) -> str:
    amount = float(size_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def _checks(account: Audit, verified: Verified | None) -> str:
    problems = account.problems if verified is None else verified.problems
    if problems:
        tag = f'<span class="tag bad">{len(problems):,} problems</span>'
        words = "What follows is about the events that can be read."
    elif verified is None:
        tag = '<span class="tag good">every line checks</span>'
        words = "The chain, snapshots and views were not compared; verify does that."
    else:
        tag = '<span class="tag good">verified</span>'
        words = "Every byte of the log, its chain, the snapshots and the views."
    listed = "".join(f"<li>{text(_say(problem))}</li>" for problem in problems)
    notes = "" if verified is None else "".join(f"<li>{text(note)}</li>" for note in verified.notes)
    lists = f'<ul class="plain">{listed}{notes}</ul>' if listed or notes else ""
    head = ""
    if account.head is not None:
        head = (
            f'<p class="soft">Head: <span class="mono">{account.head.seq}:{account.head.sha256}'
            "</span>. Noted elsewhere, it proves later that nothing up to there was changed.</p>"
        )
    return _section(f"Whole? {tag}", words, lists, head)


def _say(problem: Problem) -> str:
    place = " ".join(
        part
        for part in (
            problem.segment,
            "" if problem.line is None else f"line {problem.line}",
            "" if problem.offset is None else f"byte {problem.offset}",
        )
        if part
    )
    return f"{problem.kind}: {place}{': ' if place else ''}{problem.message}"


# --- pictures ------------------------------------------------------------------------------------


def _pictures(account: Audit) -> str:
    if not account.events:
        return ""
    legend = [
        _legend(f"c{number}" if name else "c0", name or "the rest")
        for number, (name, _) in enumerate(picture.series(account), 1)
    ]
    marks = {_TAGS.get(one.type, "small") for one in account.happenings}
    named = (("bad", "damage and repairs"), ("note", "views, forks, restores"), ("good", "made"))
    legend += [_legend(f"diamond {style}", words) for style, words in named if style in marks]
    return "\n".join(
        (
            _section(
                "What happened when",
                "Events over time by type. Above it stands what happened to the journal itself.",
                f'<div class="wide">{picture.timeline(account)}</div>',
                f'<ul class="legend">{"".join(legend)}</ul>',
            ),
            _section(
                "Who was at work when",
                "The stronger the colour, the more events; each lane by itself.",
                f'<div class="wide">{picture.lanes(account)}</div>',
            ),
            _section(
                "The rhythm of the week",
                "Events by weekday and hour.",
                f'<div class="wide">{picture.rhythm(account)}</div>',
            ),
        )
    )


def _legend(style: str, words: str) -> str:
    variable = style.rpartition(" ")[2]
    shape = " diamond" if style.startswith("diamond") else ""
    return (
        f'<li><span class="dot{shape}" style="background: var(--{variable})"></span>'
        f"{text(words)}</li>"
    )


# --- tables --------------------------------------------------------------------------------------


def _table(heads: Sequence[str], rows: Iterable[str]) -> str:
    names = "".join(
        f'<th class="right">{head[1:]}</th>' if head.startswith(">") else f"<th>{head}</th>"
        for head in heads
    )
    return f'<div class="wide"><table><tr>{names}</tr>{"".join(rows)}</table></div>'


def _happenings(account: Audit) -> str:
    told = [one for one in account.happenings if one.type != CHECKPOINT]
    rows = [
        f'<tr><td class="right">{one.seq:,}</td><td class="time">{when(one.time)}</td>'
        f'<td><span class="tag {_TAGS.get(one.type, "small")}">'
        f"{text(one.type.removeprefix('journal.').replace('_', ' '))}</span></td>"
        f'<td class="words">{text(one.words)}</td></tr>'
        for one in told
    ]
    checkpoints = account.told.get(CHECKPOINT, 0)
    older = sum(account.told.values()) - checkpoints - len(told)
    more = f"{older:,} older ones are not listed. " if older else ""
    return _section(
        "What happened to the journal",
        f"{more}{counted(checkpoints, 'checkpoint')} recorded.",
        _table((">event", "time", "what", ""), rows),
    )


def _names(account: Audit, title: str, words: str, found: list[Named], other: str) -> str:
    colours = {name: n for n, (name, _) in enumerate(picture.series(account), 1) if name}
    dots = colours if other == "by" else {}
    rows = [_row(account, one, dots) for one in found[:_MOST_ROWS]]
    rest = len(found) - len(rows)
    more = f" The {_MOST_ROWS} busiest of {len(found):,}." if rest > 0 else ""
    heads = ("name", ">events", "share", "first", "last", other)
    return _section(title, f"{words}{more}", _table(heads, rows))


def _row(account: Audit, one: Named, dots: dict[str, int]) -> str:
    share = one.count / max(account.events, 1)
    colour = f"--c{dots.get(one.name, 0)}"
    dot = f'<span class="dot" style="background: var({colour})"></span>' if dots else ""
    pairs = [
        f"{text(who(name))} {count:,}"
        for name, count in list(one.with_whom.items())[:_MOST_PAIRS]
        if name != OTHERS
    ]
    more = len(one.with_whom) - len(pairs)
    others = f" and {more:,} more" if more > 0 else ""
    return (
        f'<tr><td class="words name">{dot}{text(who(one.name))}</td>'
        f'<td class="right">{one.count:,}</td>'
        f'<td title="{share:.1%}"><span class="bar"><i style="width: {share:.1%}'
        f'{f"; background: var({colour})" if dots else ""}"></i></span></td>'
        f'<td class="time">{when(one.first_time)}</td><td class="time">{when(one.last_time)}</td>'
        f'<td class="words soft">{", ".join(pairs)}{others}</td></tr>'
    )


def _gaps(account: Audit) -> str:
    if not account.gaps:
        return ""
    longest = account.gaps[0].length_ms
    rows = [
        f"<tr><td>{duration(gap.length_ms)}</td>"
        f'<td><span class="bar"><i style="width: {gap.length_ms / longest:.1%}"></i></span></td>'
        f'<td class="time">{when(gap.from_time)}</td><td class="time">{when(gap.to_time)}</td>'
        f'<td class="right">{gap.after_seq:,}</td></tr>'
        for gap in account.gaps
    ]
    return _section(
        "Longest gaps",
        "Times in which nothing was appended.",
        _table(("length", "", "from", "to", ">after event"), rows),
    )


def _segments(account: Audit) -> str:
    rows = [
        f'<tr><td class="mono">{text(one.name)}</td>'
        f'<td class="right">{one.first_seq:,} – {one.last_seq:,}</td>'
        f'<td class="right">{_size(one.size_bytes)}</td>'
        f'<td class="mono soft">{text(one.sha256) or "still open"}</td></tr>'
        for one in account.segments
    ]
    return _section(
        "Segments",
        "Each names the one before it by its sha256: the head stands for all of them.",
        _table(("file", ">events", ">size", "sha256"), rows),
    )


def _footer(account: Audit) -> str:
    if account.head is None:
        return ""
    head = account.head
    return (
        "<footer><p>To check the head without this program, in the journal's folder: "
        f"<code>head -c {head.offset} log/{text(head.segment)} | sha256sum</code></p></footer>"
    )
