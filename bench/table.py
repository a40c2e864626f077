"""The report: a table for people, JSON for programs, pictures for the README.

Costs are medians over the rounds. A ratio is the median of the ratios within each round.
"""

import html
import statistics
from pathlib import Path
from typing import Any

import msgspec

from bench.measures import Measure, Wanted

Round = dict[str, dict[str, Any]]
"""System -> its result in one round."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One wanted ratio, and the one that was measured."""

    system: str
    other: str
    wanted: float
    guarded: float
    measured: float

    @property
    def met(self) -> bool:
        """Whether the ratio is as wanted."""
        return self.measured <= self.wanted

    @property
    def broken(self) -> bool:
        """Whether it is worse than wanted, or than reached before, by more than half."""
        return self.measured > self.guarded * 1.5


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One measure with its rounds."""

    name: str
    title: str
    unit: str
    rounds: list[Round]
    judged: list[Judged]
    busy: bool
    parameters: dict[str, Any]


def make_line(
    measure: Measure, rounds: list[Round], *, busy: bool, parameters: dict[str, Any]
) -> Line:
    """Judge the rounds of a measure."""
    judged = [found for wanted in measure.wanted if (found := _judge(wanted, rounds)) is not None]
    return Line(
        name=measure.name,
        title=measure.title,
        unit=measure.unit,
        rounds=rounds,
        judged=judged,
        busy=busy,
        parameters=parameters,
    )


def _judge(wanted: Wanted, rounds: list[Round]) -> Judged | None:
    ratios = [
        one[wanted.system]["value"] / one[wanted.other]["value"]
        for one in rounds
        if "value" in one.get(wanted.system, {}) and "value" in one.get(wanted.other, {})
    ]
    if not ratios:
        return None
    return Judged(
        system=wanted.system,
        other=wanted.other,
        wanted=wanted.at_most,
        guarded=wanted.guarded,
        measured=statistics.median(ratios),
    )


def text(line: Line) -> str:
    """Return one measure as lines of text."""
    size = ", ".join(f"{name} {value}" for name, value in line.parameters.items())
    out = [f"{line.title} ({size}), {line.unit}{'  [busy]' if line.busy else ''}"]
    costs = {name: _median(line.rounds, name) for name in line.rounds[0]}
    first = next((cost for cost in costs.values() if cost is not None), None)
    for name, cost in costs.items():
        if cost is None:
            out.append(f"    {name:<28} {'-':>12}  {line.rounds[0][name].get('missing', '')}")
            continue
        ratio = "" if first is None else f"{cost / first:7.2f} x"
        detail = _detail(line.rounds, name)
        out.append(f"    {name:<28} {cost:>12.3f}  {ratio}  {detail}".rstrip())
    for one in line.judged:
        mark = "met" if one.met else "BROKEN" if one.broken else "not met"
        out.append(
            f"    {one.system} / {one.other}: {one.measured:.3f}, wanted at most "
            f"{one.wanted:.3f}: {mark}"
        )
    return "\n".join(out)


def _median(rounds: list[Round], name: str) -> float | None:
    found = [one[name]["value"] for one in rounds if "value" in one.get(name, {})]
    return statistics.median(found) if found else None


def _detail(rounds: list[Round], name: str) -> str:
    keys = rounds[0][name].get("detail", {})
    medians = {
        key: statistics.median(one[name]["detail"][key] for one in rounds if "value" in one[name])
        for key in keys
    }
    return ", ".join(f"{key} {value:.3g}" for key, value in medians.items())


def write_pictures(lines: list[Line], folder: Path) -> list[Path]:
    """Write a bar chart for each measure as SVG; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for line in lines:
        path = folder / f"{line.name}.svg"
        path.write_text(_bars(line), encoding="utf-8")
        written.append(path)
    return written


def _bars(line: Line) -> str:
    costs = [(name, _median(line.rounds, name)) for name in line.rounds[0]]
    shown = [(name, cost) for name, cost in costs if cost is not None]
    largest = max((cost for _, cost in shown), default=1.0) or 1.0
    height = 40 + 26 * len(shown)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        f'<text x="8" y="20" font-weight="bold">{html.escape(line.title)} '
        f"({html.escape(line.unit)}, lower is better)</text>",
    ]
    for number, (name, cost) in enumerate(shown):
        y = 32 + 26 * number
        width = max(1.0, 400 * cost / largest)
        colour = "#2b7a4b" if name.startswith("journal") else "#9aa5b1"
        out.append(f'<text x="8" y="{y + 15}">{html.escape(name)}</text>')
        out.append(f'<rect x="210" y="{y}" width="{width:.1f}" height="20" fill="{colour}"/>')
        out.append(f'<text x="{218 + width:.1f}" y="{y + 15}">{cost:,.3g}</text>')
    return "\n".join([*out, "</svg>\n"])
