"""Pictures for the README: bars for a measure, lines for a cost by the length or size of something.

I1  Each is one SVG file that needs nothing else. It has no ground of its own and takes its
    colours from what the reader's system prefers, so that it can be read by day and by night.
"""

import html
import math
from pathlib import Path

from bench import table
from bench.table import Line

_STYLE = """
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:#57606a}
.t{font-weight:600;fill:#1f2328}.e{text-anchor:end}.m{text-anchor:middle}
.g{stroke:#8c959f;stroke-opacity:.3;fill:none}
.c0{--c:#2f6db3}.c1{--c:#b7791f}.c2{--c:#2e8b57}.c3{--c:#c0392b}.c4{--c:#7d62ad}.r{--c:#9aa5b1}
rect.f,circle{fill:var(--c)}path.l{stroke:var(--c);stroke-width:2.2;fill:none}text.n{fill:var(--c)}
@media(prefers-color-scheme:dark){text{fill:#98a2ae}.t{fill:#e6e8eb}
.c0{--c:#79aeea}.c1{--c:#e4b35a}.c2{--c:#5fc58d}.c3{--c:#f08377}.c4{--c:#b39be0}.r{--c:#737d89}}
"""
_WIDTH = 780
_LEFT, _RIGHT, _TOP, _PLOT = 64, 200, 44, 220
_OURS = ("journal", "document")


def write(lines: list[Line], folder: Path) -> list[Path]:
    """Write one picture for each measure; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for line in lines:
        path = folder / f"{line.name}.svg"
        path.write_text(curves(line) if line.lines else bars(line), encoding="utf-8")
        written.append(path)
    return written


def _svg(line: Line, height: float, more: str, parts: list[str]) -> str:
    title = html.escape(f"{line.title} ({line.unit}, {more})")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" '
            f'width="{_WIDTH}" height="{height:.0f}" role="img" aria-label="{title}">',
            f"<style>{_STYLE}</style>",
            f'<text class="t" x="8" y="20">{title}</text>',
            *parts,
            "</svg>\n",
        ]
    )


def bars(line: Line) -> str:
    """Return a bar for each system."""
    costs = [(name, table.median(line.rounds, name)) for name in line.rounds[0]]
    shown = [(name, cost) for name, cost in costs if cost is not None]
    largest = max((cost for _, cost in shown), default=1.0) or 1.0
    parts = []
    for number, (name, cost) in enumerate(shown):
        y = 34 + 26 * number
        width = max(1.0, 380 * cost / largest)
        colour = "c0" if name.split(" ", 1)[0] in _OURS else "r"
        parts += [
            f'<text x="8" y="{y + 15}">{html.escape(name)}</text>',
            f'<rect class="f {colour}" x="230" y="{y}" width="{width:.1f}" height="20" rx="3"/>',
            f'<text x="{238 + width:.1f}" y="{y + 15}">{cost:,.3g}</text>',
        ]
    return _svg(line, 44 + 26 * len(shown), "lower is better", parts)


Point = tuple[float, float]


def series(line: Line) -> dict[str, list[Point]]:
    """Return the points of each system: the number in its label, and its cost."""
    found: dict[str, list[Point]] = {}
    for name in line.rounds[0]:
        system, _, label = name.partition(" ")
        cost = table.median(line.rounds, name)
        if cost and label.isdecimal():
            found.setdefault(system, []).append((float(label), cost))
    return found


def curves(line: Line) -> str:
    """Return a curve for each system, both axes logarithmic."""
    found = series(line)
    points = [point for curve in found.values() for point in curve]
    if not points:
        return _svg(line, 60, "not measured", [])
    across = _Axis([x for x, _ in points], _LEFT, _WIDTH - _RIGHT)
    upward = _Axis([y for _, y in points], _TOP + _PLOT, _TOP, tens=True)
    parts = []
    for value in upward.marks:
        y = upward.place(value)
        parts.append(f'<path class="g" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text class="e" x="{_LEFT - 8}" y="{y + 4:.1f}">{_short(value)}</text>')
    base = _TOP + _PLOT + 22
    for value in sorted({x for x, _ in points}):
        parts.append(
            f'<text class="m" x="{across.place(value):.1f}" y="{base}">{_short(value)}</text>'
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text class="m" x="{middle}" y="{base + 20}">{html.escape(line.lines)}</text>')
    ends = _apart([upward.place(curve[-1][1]) for curve in found.values()])
    for number, (name, curve) in enumerate(found.items()):
        places = [(across.place(x), upward.place(y)) for x, y in curve]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<g class="c{number % 5}"><path class="l" d="M{path}"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>' for x, y in places]
        shown = f"{name} {_short(curve[-1][1])}"
        at = places[-1][0] + 10
        y = ends[number] + 4
        parts.append(f'<text class="n" x="{at:.1f}" y="{y:.1f}">{html.escape(shown)}</text></g>')
    return _svg(line, base + 30, "both axes logarithmic, lower is better", parts)


class _Axis:
    """From values to places, logarithmic; `tens`: from a power of ten to one."""

    def __init__(self, values: list[float], start: float, end: float, *, tens: bool = False):
        low, high = math.log10(min(values)), math.log10(max(values))
        if tens:
            low, high = math.floor(low), math.ceil(high)
        self._low, self._span = low, (high - low) or 1.0
        self._start, self._end = start, end
        self.marks = [10.0**power for power in range(math.floor(low), math.ceil(high) + 1)]

    def place(self, value: float) -> float:
        """Return where a value is."""
        part = (math.log10(value) - self._low) / self._span
        return self._start + (self._end - self._start) * part


def _apart(places: list[float]) -> list[float]:
    """Move labels down until none lies on another."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    moved, last = list(places), -math.inf
    for number in order:
        moved[number] = last = max(places[number], last + 16)
    return moved


def _short(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:.3g}M"
    if value >= 1e4:
        return f"{value / 1e3:.3g}k"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
