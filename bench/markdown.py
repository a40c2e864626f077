"""The table of the README: one row a measure, what is wanted of it and what was measured.

Under it stands the cost model, in words, with the figures of the same run.
"""

import orjson

from bench import table, workload
from bench.table import Judged, Line

_OURS = ("journal", "document")
_NAMES = {"bare": "floor", "document": "journal", "python": "python"}


def render(lines: list[Line], about: dict[str, str]) -> str:
    """Return the table as Markdown, with a line on what it was made."""
    out = [
        "| measure | journal | beside it | wanted | measured | |",
        "|---|--:|---|---|--:|---|",
        *(_row(line) for line in lines),
    ]
    return "\n".join([*out, "", *cost_model(lines), _made(about), ""])


def _row(line: Line) -> str:
    ours, theirs = [], []
    for name in line.rounds[0]:
        cost = table.median(line.rounds, name)
        system, _, label = name.partition(" ")
        if cost is None:
            theirs.append(f"{name} {'failed' if name in line.failed else '–'}")
        elif system in _OURS:
            ours.append(f"{label} {_figure(cost)}".strip())
        else:
            shown = f"{_NAMES.get(system, system)} {label}".strip()
            theirs.append(f"{shown} {_figure(cost)}")
    busy = " *busy*" if line.busy else ""
    cells = [
        f"{line.title}{_size(line)}, {line.unit}{busy}",
        "<br>".join(ours),
        "<br>".join(theirs),
        "<br>".join(_wanted(one) for one in line.judged),
        "<br>".join(_measured(one, line) for one in line.judged),
        "<br>".join(_mark(one) for one in line.judged),
    ]
    return f"| {' | '.join(cells)} |"


def _size(line: Line) -> str:
    count = line.parameters.get("events")
    return f" ({count:,} events)" if isinstance(count, int) and count >= 50_000 else ""


def _figure(cost: float) -> str:
    return f"{cost:,.0f}" if cost >= 100 else f"{cost:.3g}"


def _wanted(one: Judged) -> str:
    wanted = one.wanted
    system, other = _short(wanted.system, wanted.other)
    detail = "" if wanted.key == "value" else f" {_KEYS.get(wanted.key, wanted.key)}"
    if wanted.beyond:
        return f"{system} ≤ {other} + {wanted.at_most:g} ms".strip()
    if not wanted.other:
        return f"{detail.strip() or 'bytes'} ≤ {wanted.at_most:.3g}"
    if wanted.at_most < 1:
        return f"≥ {1 / wanted.at_most:.3g} × faster than {other}{detail}"
    return f"{system} ≤ {wanted.at_most:.3g} × {other}{detail}".strip()


_KEYS = {
    "p99_ms": "at p99",
    "grown_mb": "MB of memory beyond the start",
    "beyond_log": "bytes beside the log, of its own",
    "unfairness": "1 / Jain",
    "worst_ms": "slowest append in ms",
}


def _short(system: str, other: str) -> tuple[str, str]:
    """Leave out what both names share, and the journal's own."""
    first, _, label = system.partition(" ")
    second, _, other_label = other.partition(" ")
    if first == second:
        return label, other_label
    other_name = f"{_NAMES.get(second, second)} {other_label}".strip()
    return label if first in _OURS else system, other_name


def _measured(one: Judged, line: Line) -> str:
    if one.wanted.beyond:
        return f"{one.measured:.0f} {line.unit}"
    if not one.wanted.other:
        return f"{one.measured:.3g}"
    faster = one.wanted.at_most < 1
    return f"{1 / one.measured if faster else one.measured:.3g} ×"


def _mark(one: Judged) -> str:
    if one.met:
        return "met"
    return f"not yet: {one.wanted.why}" if one.wanted.why else "not yet"


def cost_model(lines: list[Line]) -> list[str]:
    """Return what an event, a sync and a byte of state cost, in words; none if not measured."""
    costs = {line.name: table.median(line.rounds, "journal") for line in lines}
    event, durable, view = (costs.get(f"append-{n}") for n in ("os", "durable", "view"))
    replay = costs.get("replay")
    if event is None or durable is None or view is None or replay is None:
        return []
    kilobytes = len(orjson.dumps(workload.initial())) / 1000
    return [
        f"- **An event** costs {event:.3g} us to append, however long the history and however "
        f"large the state, and {replay:.2g} us to replay.",
        f"- **A sync** costs {max(durable - event, 0):,.0f} us here; it is nearly all of a durable "
        "append, and one is enough for a batch, or for all threads and processes that wait.",
        f"- **A kilobyte of state** costs {max(view - durable, 0) / kilobytes:.2g} us each time "
        f"that a view is written (at {kilobytes:.0f} kB); `views.every_ms` says how often that is.",
        "",
    ]


def _made(about: dict[str, str]) -> str:
    return (
        f"`{about['command']}` on {about['cores']} cores ({about['processor']}), "
        f"{about['system']}, Python {about['python']}; SQLite {about['sqlite']}, "
        f"eventsourcing {about['eventsourcing']}, langgraph-checkpoint-sqlite "
        f"{about['langgraph-checkpoint-sqlite']}, Redis {about['redis-server']}. "
        "Costs are medians, lower is better; ratios are within the run."
    )
