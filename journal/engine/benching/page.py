"""What a bench measured as one HTML file that can be handed on.

I1  It needs nothing else: no script, no font, no picture from elsewhere; its own policy forbids
    all of it. It is read by day and by night, as the reader's system says.
I2  Every word that comes from the journal goes through `escaping`.
"""

import math
from collections.abc import Iterable, Sequence

from journal.engine.audit.escaping import text
from journal.engine.audit.style import STYLE
from journal.engine.benching.report import Benched, Breakdown, PolicyCost, Timed

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_WIDTH, _LEFT, _RIGHT, _TOP, _PLOT = 1000, 80, 120, 20, 220
_BAR = 34


def render(found: Benched) -> str:
    """Return the page."""
    name = "A journal that was made up" if found.made_up else _last_part(found.path)
    parts = [
        _header(found, name),
        _figures(found),
        *(_breakdown(one) for one in found.breakdowns),
        _timed(found),
        _policies(found.policies),
        _notes(found.notes),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>Bench of {text(name)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body><main>\n{chr(10).join(filter(None, parts))}\n</main></body>\n</html>\n"
    )


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2] or path


def _header(found: Benched, name: str) -> str:
    about = (
        f"{text(found.path)} · projection {text(found.projection)} · durability "
        f"{text(found.durability)} · views every {found.views_every_ms} ms"
    )
    if found.made_up:
        about = "A board of tasks whose notes and numbers change, from a fixed seed."
    return (
        '<header><div class="kicker">How fast a journal is</div>'
        f'<h1>{text(name)}</h1><p class="soft">{about}</p></header>'
    )


def _figures(found: Benched) -> str:
    timed = {one.name: one for one in found.timed}
    figures = [
        (f"{found.events:,}", "events"),
        (_size(found.log_bytes), "of log"),
        (_size(found.state_bytes), "of state"),
    ]
    wanted = ("replay", "cold open", "state at any event", "durable append")
    figures += [(_time(timed[name].median_ms), name) for name in wanted if name in timed]
    boxes = [f'<div class="figure"><b>{b}</b><span>{s}</span></div>' for b, s in figures]
    return f'<div class="figures">{"".join(boxes)}</div>'


def _section(title: str, words: str, *content: str) -> str:
    body = "".join(content)
    return f'<section><h2>{title}</h2><p class="soft">{words}</p>{body}</section>'


def _size(size_bytes: int) -> str:
    amount = float(size_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def _time(ms: float) -> str:
    if ms >= 1000:
        return f"{ms / 1000:.2f} s"
    return f"{ms:.1f} ms" if ms >= 10 else f"{ms:.2f} ms" if ms >= 1 else f"{ms * 1000:.0f} µs"


# --- where the time goes -------------------------------------------------------------------------


def _breakdown(one: Breakdown) -> str:
    whole = sum(share.ms for share in one.shares) or 1.0
    at = 0.0
    parts: list[str] = []
    legend: list[str] = []
    for number, share in enumerate(one.shares, 1):
        width = _WIDTH * share.ms / whole
        words = f"{share.name}: {_time(share.ms)}, {share.ms / whole:.0%}"
        parts.append(
            f'<rect class="c{number}" x="{at:.1f}" y="0" width="{max(width - 1.5, 0):.1f}" '
            f'height="{_BAR}" rx="3"><title>{words}</title></rect>'
        )
        legend.append(
            f'<li><span class="dot" style="background: var(--c{number})"></span>{words}</li>'
        )
        at += width
    picture = (
        f'<svg viewBox="0 0 {_WIDTH} {_BAR}" role="img" aria-label="{text(one.name)}">'
        f"{''.join(parts)}</svg>"
    )
    return _section(
        f"Where the time of {text(one.name)} goes",
        f"{_time(whole)} in all.",
        f'<div class="wide">{picture}</div><ul class="legend">{"".join(legend)}</ul>',
    )


# --- tables --------------------------------------------------------------------------------------


def _table(heads: Sequence[str], rows: Iterable[str]) -> str:
    names = "".join(
        f'<th class="right">{head[1:]}</th>' if head.startswith(">") else f"<th>{head}</th>"
        for head in heads
    )
    return f'<div class="wide"><table><tr>{names}</tr>{"".join(rows)}</table></div>'


def _cells(*cells: str) -> str:
    return "".join(f'<td class="right">{cell}</td>' for cell in cells)


def _timed(found: Benched) -> str:
    again = f" Appended were the {found.appended:,} newest events again." if found.appended else ""
    return _section(
        "What takes how long",
        f"Measured on this journal; what writes, on a private copy of it.{again}",
        _table(
            ("", ">median", ">99th percentile", ">an event", ">runs"), map(_timed_row, found.timed)
        ),
    )


def _timed_row(one: Timed) -> str:
    each = f"{one.each_us:.2f} µs" if one.per else ""
    cells = _cells(_time(one.median_ms), _time(one.p99_ms), each, f"{one.runs:,}")
    return f"<tr><td>{text(one.name)}</td>{cells}</tr>"


def _policies(costs: Sequence[PolicyCost]) -> str:
    rows = [
        f"<tr><td>{'<b>' if cost.is_own else ''}{cost.log_ratio:g}"
        f"{' · now</b>' if cost.is_own else ''}</td>"
        + _cells(
            _size(cost.min_bytes),
            f"{cost.keep:,}",
            f"{cost.every:,}",
            f"{cost.snapshots:,}",
            _size(cost.size_bytes),
            f"{cost.of_log:.0%}",
            _time(cost.state_at_p50_ms),
            _time(cost.state_at_p99_ms),
            _time(cost.newest_ms),
        )
        + "</tr>"
        for cost in costs
    ]
    heads = (
        *("log_ratio", ">min_bytes", ">keep", ">events between", ">kept", ">bytes", ">of the log"),
        *(">state at, p50", ">p99", ">newest state"),
    )
    return _section(
        "What other snapshots would cost",
        "A snapshot is due when the log has grown by so many times the newest one's size "
        ""
        "(<code>snapshots.log_ratio</code> in journal.yaml), and by <code>min_bytes</code>; beyond "
        "<code>keep</code> the older ones are thinned.",
        f'<div class="wide">{_curve(costs)}</div>',
        _table(heads, rows),
    )


def _curve(costs: Sequence[PolicyCost]) -> str:
    """Draw the time of a state in the past over the bytes of snapshots, both logarithmic."""
    shown = [cost for cost in costs if cost.size_bytes]
    if len(shown) < 2:
        return ""
    xs = [math.log10(cost.size_bytes) for cost in shown]
    times = [ms for cost in shown for ms in (cost.state_at_p50_ms, cost.state_at_p99_ms)]
    low, high = (math.log10(max(ms, 1e-6)) for ms in (min(times), max(times)))

    def place(cost: PolicyCost, ms: float) -> tuple[float, float]:
        across = (math.log10(cost.size_bytes) - min(xs)) / ((max(xs) - min(xs)) or 1.0)
        upward = (math.log10(max(ms, 1e-6)) - low) / ((high - low) or 1.0)
        width = _WIDTH - _LEFT - _RIGHT
        return _LEFT + width * across, _TOP + _PLOT * (1 - upward)

    parts = [f'<path class="axis" d="M{_LEFT} {_TOP}V{_TOP + _PLOT}H{_WIDTH - _RIGHT}"/>']
    for number, (name, times) in enumerate(
        (
            ("p99", [cost.state_at_p99_ms for cost in shown]),
            ("p50", [cost.state_at_p50_ms for cost in shown]),
        ),
        1,
    ):
        places = [place(cost, ms) for cost, ms in zip(shown, times, strict=True)]
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path style="stroke: var(--c{number}); fill: none" d="M{line}"/>')
        for (x, y), cost, ms in zip(places, shown, times, strict=True):
            words = f"log_ratio {cost.log_ratio:g}: {_time(ms)} at {name}"
            radius = 6 if cost.is_own else 4
            parts.append(
                f'<circle class="c{number}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}">'
                f"<title>{words}, {_size(cost.size_bytes)}</title></circle>"
            )
        x, y = max(places)
        parts.append(f'<text class="name" x="{x + 12:.1f}" y="{y + 4:.1f}">state at, {name}</text>')
    for ms, y in ((10**low, _TOP + _PLOT), (10**high, _TOP)):
        parts.append(f'<text class="end" x="{_LEFT - 8}" y="{y + 4}">{_time(ms)}</text>')
    for cost in shown:
        x, _ = place(cost, cost.state_at_p50_ms)
        words = f"{cost.log_ratio:g}: {_size(cost.size_bytes)}"
        parts.append(f'<text class="mid" x="{x:.1f}" y="{_TOP + _PLOT + 20}">{words}</text>')
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_TOP + _PLOT + 32}" role="img" '
        f'aria-label="Time of a state in the past over bytes of snapshots">{"".join(parts)}</svg>'
    )


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    listed = "".join(f"<li>{text(note)}</li>" for note in notes)
    return _section("Notes", "", f'<ul class="plain">{listed}</ul>')
