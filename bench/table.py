"""The report: what was measured, how it is judged, as text and as JSON.

I1  The cost that is shown is the median over the rounds, a ratio the median of those within the
    rounds. A detail is the median, too.
I2  A ratio is broken only where both that median and the ratio of the two best rounds are worse
    than the guard by more than half: a busy moment of the machine spoils one of them at most.
I3  A round in which the machine was busy counts only where there is no other. Such a measure is
    marked busy and its ratios break nothing: a sync then takes as long as a turn at the processor.
"""

import statistics
from pathlib import Path
from typing import Any

import msgspec

from bench.measures import Measure
from bench.wants import Wanted

Round = dict[str, dict[str, Any]]
"""System -> its result in one round."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wanted, and what was measured; `best` is of the best rounds.

    `held`: whether the run is held to it.
    """

    wanted: Wanted
    measured: float
    ratio: float
    best: float
    held: bool = True

    @property
    def met(self) -> bool:
        """Whether it is as wanted."""
        return self.measured <= self.wanted.at_most

    @property
    def broken(self) -> bool:
        """Whether it is worse than its guard by more than half (I2)."""
        return self.held and min(self.ratio, self.best) > self.wanted.guard * 1.5

    @property
    def verdict(self) -> str:
        """Say it in a word or two."""
        return "met" if self.met else "BROKEN" if self.broken else "not met"


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One measure with its rounds; `left_out` are those in which the machine was busy (I3)."""

    name: str
    title: str
    unit: str
    rounds: list[Round]
    judged: list[Judged]
    busy: bool
    parameters: dict[str, Any]
    lines: str = ""
    left_out: list[Round] = []

    @property
    def failed(self) -> list[str]:
        """The systems of which a measurement failed."""
        rounds = [*self.rounds, *self.left_out]
        return sorted({name for one in rounds for name in one if one[name].get("failed")})


def make_line(
    measure: Measure, rounds: list[Round], *, busy: list[bool], parameters: dict[str, Any]
) -> Line:
    """Judge the rounds of a measure; `busy` says of each whether the machine was (I3)."""
    idle = [one for one, was_busy in zip(rounds, busy, strict=True) if not was_busy]
    left_out = [one for one, was_busy in zip(rounds, busy, strict=True) if was_busy]
    if not idle:
        idle, left_out = rounds, []
    judged = [
        found
        for wanted in measure.wanted
        if (found := judge(wanted, idle, busy=all(busy))) is not None
    ]
    return Line(
        name=measure.name,
        title=measure.title,
        unit=measure.unit,
        rounds=idle,
        judged=judged,
        busy=all(busy),
        left_out=left_out,
        parameters=parameters,
        lines=measure.lines,
    )


def judge(wanted: Wanted, rounds: list[Round], *, busy: bool = False) -> Judged | None:
    """Judge one thing that is wanted; None where a system of it was not measured.

    `busy`: there was no idle round (I3).
    """
    ours = [_of(one.get(wanted.system, {}), wanted.key) for one in rounds]
    theirs = [_of(one.get(wanted.other, {}), wanted.key) for one in rounds]
    if not wanted.other:
        theirs = [1.0] * len(rounds)
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a is not None and b]
    if not pairs:
        return None
    ratio = statistics.median(a / b for a, b in pairs)
    beyond = statistics.median(a - b for a, b in pairs)
    best = min(a for a, _ in pairs) / min(b for _, b in pairs)
    measured = beyond if wanted.beyond else ratio
    held = not wanted.told and not (busy and wanted.other)
    return Judged(wanted=wanted, measured=measured, ratio=ratio, best=best, held=held)


def _of(result: dict[str, Any], key: str) -> float | None:
    found = result.get("value") if key == "value" else result.get("detail", {}).get(key)
    return None if found is None else float(found)


def median(rounds: list[Round], name: str, key: str = "value") -> float | None:
    """Return the median of a system over the rounds; None if it was not measured."""
    found = [_of(one.get(name, {}), key) for one in rounds]
    known = [value for value in found if value is not None]
    return statistics.median(known) if known else None


# --- text ----------------------------------------------------------------------------------------


def text(line: Line) -> str:
    """Return one measure as lines of text."""
    size = ", ".join(f"{name} {value}" for name, value in line.parameters.items())
    about = f" ({size})" if size else ""
    busy = "  [busy]" if line.busy else ""
    if line.left_out:
        busy = f"  [{len(line.left_out)} busy rounds left out]"
    out = [f"{line.title}{about}, {line.unit}{busy}"]
    costs = {name: median(line.rounds, name) for name in line.rounds[0]}
    first = next((cost for cost in costs.values() if cost), None)
    for name, cost in costs.items():
        if cost is None:
            out.append(f"    {name:<28} {'-':>12}  {line.rounds[0][name].get('missing', '')}")
            continue
        ratio = "" if first is None else f"{cost / first:7.2f} x"
        out.append(f"    {name:<28} {cost:>12.3f}  {ratio}  {_detail(line.rounds, name)}".rstrip())
    out += [f"    {say(one, line.unit)}" for one in line.judged]
    return "\n".join(out)


def say(one: Judged, unit: str) -> str:
    """Say what was wanted and what was measured, on one line."""
    wanted = one.wanted
    key = "" if wanted.key == "value" else f" {wanted.key}"
    if wanted.beyond:
        shown = f"{wanted.system}{key} beyond {wanted.other}: {one.measured:.1f} {unit}"
    elif wanted.other:
        shown = f"{wanted.system} / {wanted.other}{key}: {one.measured:.3f}"
    else:
        shown = f"{wanted.system}{key}: {one.measured:.3g}"
    why = f" ({wanted.why})" if wanted.why and not one.met else ""
    return f"{shown}, wanted at most {wanted.at_most:.3g}: {one.verdict}{why}"


def _detail(rounds: list[Round], name: str) -> str:
    keys = rounds[0][name].get("detail", {})
    found = {key: median(rounds, name, key) for key in keys}
    return ", ".join(f"{key} {value:.3g}" for key, value in found.items() if value is not None)


def summary(lines: list[Line]) -> str:
    """Say how much is met, and name what is broken."""
    judged = [(line, one) for line in lines for one in line.judged]
    met = sum(one.met for _, one in judged)
    broken = [f"  {line.name}: {say(one, line.unit)}" for line, one in judged if one.broken]
    head = f"{met} of {len(judged)} met, {len(broken)} broken by more than half"
    failed = [f"  {line.name}: {name} FAILED" for line in lines for name in line.failed]
    busy = [line.name for line in lines if line.busy]
    if busy:
        head += f"; the machine was busy during {', '.join(busy)}"
    return "\n".join([head, *broken, *failed])


# --- JSON ----------------------------------------------------------------------------------------


def write_json(lines: list[Line], about: dict[str, str], path: Path) -> None:
    """Write every round and every verdict."""
    plain = [
        {
            **msgspec.to_builtins(line),
            "judged": [{**msgspec.to_builtins(one), "verdict": one.verdict} for one in line.judged],
        }
        for line in lines
    ]
    path.write_bytes(msgspec.json.format(msgspec.json.encode({"about": about, "lines": plain})))
