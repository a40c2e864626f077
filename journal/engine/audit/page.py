"""The account of a journal as one HTML file that can be handed on.

I1  It needs nothing else: no script, no font, no picture from elsewhere; its own policy forbids
    all of it. It is read by day and by night, as the reader's system says.
I2  Every word that comes from the log goes through `escaping`.
"""

from collections.abc import Iterable, Sequence

from journal import plural
from journal.engine.audit import picture, saying
from journal.engine.audit.escaping import text
from journal.engine.audit.report import Audit, Named
from journal.engine.audit.style import STYLE
from journal.engine.audit.wording import duration, size, when, who
from journal.engine.reports import Problem, Verified

Anchors = Sequence[tuple[int, str]]

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


def render(account: Audit, verified: Verified | None = None, anchors: Anchors = ()) -> str:
    """Return the page; `verified` is what `verify` found, `anchors` what was given to it."""
    name = account.path.rstrip("/").rpartition("/")[2] or account.path
    parts = [
        _header(account, name),
        _figures(account, verified),
        _checks(account, verified, anchors),
        _pictures(account),
        _happenings(account),
        _types(account),
        _actors(account),
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
        f'<p class="soft">journal <span class="mono">{text(account.id)}</span></p>'
        f'<p class="soft">{text(saying.origin(account))}</p></header>'
    )


def _figures(account: Audit, verified: Verified | None) -> str:
    boxes = [
        f'<div class="figure"><b>{text(one.number)}</b> <span>{text(one.words)}</span></div>'
        for one in saying.figures(account, verified)
    ]
    return f'<div class="figures">{"".join(boxes)}</div>'


def _checks(account: Audit, verified: Verified | None, anchors: Anchors) -> str:
    problems = saying.problems_of(account, verified)
    tag = '<span class="tag good">verified</span>'
    if problems:
        tag = f'<span class="tag bad">{plural.count(len(problems), "problem")}</span>'
    elif verified is None:
        tag = '<span class="tag good">every line checks</span>'
    said = [_say(problem) for problem in problems]
    if verified is not None:
        said += verified.advice + saying.anchors(anchors, verified) + verified.notes
    lists = "".join(f"<li>{text(words)}</li>" for words in said)
    head = ""
    if account.head is not None:
        head = (
            f'<p class="soft">Head: <span class="mono">{account.head.seq}:{account.head.sha256}'
            f"</span>. {text(saying.head(account))}</p>"
        )
    words = text(" ".join(saying.verdict(account, verified)))
    return _section(f"Whole? {tag}", words, lists and f'<ul class="plain">{lists}</ul>', head)


def _say(problem: Problem) -> str:
    place = saying.place(problem)
    return f"{problem.kind}: {place}{': ' if place else ''}{problem.message}"


# --- pictures ------------------------------------------------------------------------------------


def _pictures(account: Audit) -> str:
    if not account.events:
        return ""
    legend = [
        _legend(f"c{number}" if name else "c0", name or "the rest")
        for number, (name, _) in enumerate(picture.series(account), 1)
    ]
    others = account.counts.other_actors
    lanes_left = saying.more_names(account.actors, others, "actor", picture.LANES)
    marks = {_TAGS.get(one.type, "small") for one in account.happenings}
    named = (("bad", "damage and repairs"), ("note", "views, forks, restores"), ("good", "created"))
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
                _more(lanes_left),
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
    body = "".join(_name_cells(row, heads) for row in rows)
    return f'<div class="wide"><table><tr>{names}</tr>{body}</table></div>'


def _name_cells(row: str, heads: Sequence[str]) -> str:
    """Give each cell the name of its column, which stands before it where the page is narrow."""
    start, *cells = row.split("<td")  # no word from the log has a mark of HTML left
    named = [
        f'<td data-name="{head.removeprefix(">")}"{cell}'
        for head, cell in zip(heads, cells, strict=True)
    ]
    return start + "".join(named)


def _more(words: str) -> str:
    """Return the line below a table that is cut."""
    return f'<p class="soft more">{text(words)}.</p>' if words else ""


def _happenings(account: Audit) -> str:
    rows = [
        f'<tr><td class="right">{one.seq:,}</td><td class="time">{when(one.time)}</td>'
        f'<td><span class="tag {_TAGS.get(one.type, "small")}">'
        f"{text(saying.what(one.type))}</span></td>"
        f'<td class="who soft">{text(who(one.actor))}</td>'
        f'<td class="words">{text(one.words)}</td></tr>'
        for one in saying.shown_happenings(account)
    ]
    return _section(
        "What happened to the journal",
        "What the engine recorded of it, in its own events.",
        _table((">event", "time", "what", "by", ""), rows),
        _more(saying.more_happenings(account)),
        _quarantine(account),
    )


def _quarantine(account: Audit) -> str:
    rows = [
        f'<tr><td class="mono long">{text(one.name)}</td>'
        f'<td class="right">{size(one.size_bytes)}</td>'
        f'<td class="time">{when(one.time)}</td>'
        f'<td class="right">{"" if one.seq is None else f"{one.seq:,}"}</td>'
        f'<td class="words">{text(one.words)}</td></tr>'
        for one in account.quarantine
    ]
    words = saying.SET_ASIDE if rows else "Nothing lies in quarantine/."
    table = _table(("file", ">size", "put there", ">told by event", "what it is"), rows)
    return (
        f'<h3>What was set aside</h3><p class="soft">{words}</p>{table if rows else ""}'
        f"{_more(saying.more_quarantined(account))}"
    )


def _types(account: Audit) -> str:
    colours = {name: n for n, (name, _) in enumerate(picture.series(account), 1) if name}
    rows = [_row(account, one, colours) for one in saying.shown_names(account.types)]
    more = saying.more_names(account.types, account.counts.other_types, "type")
    return _section("Types", "What was appended, and by whom.", _names("by", rows), _more(more))


def _actors(account: Audit) -> str:
    rows = [_row(account, one, {}) for one in saying.shown_names(account.actors)]
    more = saying.more_names(account.actors, account.counts.other_actors, "actor")
    return _section("Actors", "Who appended, and what.", _names("what", rows), _more(more))


def _names(other: str, rows: Iterable[str]) -> str:
    return _table(("name", ">events", "share", "first", "last", other), rows)


def _row(account: Audit, one: Named, dots: dict[str, int]) -> str:
    share = one.count / max(account.events, 1)
    colour = f"--c{dots.get(one.name, 0)}"
    dot = f'<span class="dot" style="background: var({colour})"></span>' if dots else ""
    return (
        f'<tr><td class="words name">{dot}{text(who(one.name))}</td>'
        f'<td class="right">{one.count:,}</td>'
        f'<td title="{share:.1%}"><span class="bar"><i style="width: {share:.1%}'
        f'{f"; background: var({colour})" if dots else ""}"></i></span></td>'
        f'<td class="time">{when(one.first_time)}</td><td class="time">{when(one.last_time)}</td>'
        f'<td class="words soft">{text(", ".join(saying.pairs(one, _MOST_PAIRS)))}</td></tr>'
    )


def _gaps(account: Audit) -> str:
    if not account.gaps:
        return ""
    longest = account.gaps[0].length_ms
    rows = [
        f"<tr><td>{duration(gap.length_ms)}</td>"
        f'<td><span class="bar"><i style="width: {gap.length_ms / longest:.1%}"></i></span></td>'
        f'<td class="time">{saying.ends(gap)[0]}</td><td class="time">{saying.ends(gap)[1]}</td>'
        f'<td class="right">{gap.after_seq:,}</td></tr>'
        for gap in account.gaps
    ]
    return _section(
        "Longest gaps",
        "Times in which nothing was appended.",
        _table(("length", "", "from", "to", ">after event"), rows),
        _more(saying.more_gaps(account)),
    )


def _segments(account: Audit) -> str:
    rows: list[str] = []
    for one in account.segments:
        sha256, words = saying.digest(account, one)
        rows.append(
            f'<tr><td class="mono">{text(one.name)}</td>'
            f'<td class="right">{one.first_seq:,} – {one.last_seq:,}</td>'
            f'<td class="right">{size(one.size_bytes)}</td>'
            f'<td class="long soft"><span class="mono">{sha256}</span> {text(words)}</td></tr>'
        )
    return _section(
        "Segments",
        saying.SEGMENTS,
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
