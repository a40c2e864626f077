"""`journal bench`: how fast a journal is, where the time goes, what other snapshots would cost.

I1  The journal is only read; what appends works on a private fork, which is removed.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from journal.cli import finding, opening, output, parsing
from journal.cli.options import AsJson, Folder, read_count
from journal.cli.progress import Bar
from journal.cli.targets import open_target, refuse_own
from journal.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from journal.engine.benching.report import Benched, Breakdown, PolicyCost, Timed


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    parsing.add(
        app,
        "bench",
        bench,
        "journal bench run --html bench.html",
        "journal bench run --snapshots min_bytes=16384,keep=100",
        "journal bench --events 100000",
    )


def bench(
    *,
    place: Annotated[
        str | None,
        typer.Argument(metavar="DIR", help="The journal, as --dir.", show_default=False),
    ] = None,
    folder: Folder = None,
    events: Annotated[
        str,
        typer.Option(
            metavar="N", help="Make one up, of so many events, instead.", show_default=False
        ),
    ] = "",
    page: Annotated[
        str,
        typer.Option("--html", metavar="FILE", help="Write it as a page, too.", show_default=False),
    ] = "",
    snapshots: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,…",
            help="Compare this policy, too, as log_ratio=8,min_bytes=16384,keep=100 (more than "
            "once, for several).",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how fast this journal is, here.

    Replay, verify, cold open, the state at any event, rebuild and appends are timed; a replay and
    an append are taken apart; other snapshot policies are compared. The journal is only read:
    its own last events are appended again to a copy beside it, which is removed.
    """
    from journal.engine.benching import run

    if events and (place is not None or folder is not None):
        raise UsageError("--events makes a journal up: it goes with no journal", key="events")
    if place is not None and folder is not None:
        raise UsageError("the journal is named twice, as DIR and with --dir", key="dir")
    if page:
        refuse_own(page)
    asked = [read_settings(text) for text in snapshots or ()]
    with _Stages() as stage:
        if events:
            count = read_count(events, "--events")
            found = run.bench_made_up(count, snapshots=asked, stage=stage)
        else:
            opening.let_own_projections_in()
            found = run.bench(finding.find(place or folder), snapshots=asked, stage=stage)
    if page:
        from journal.engine.benching.page import render

        with open_target(page) as file:
            file.write(render(found).encode())
        output.say(f"written: {page}")
    if as_json:
        output.put_report(found)
    else:
        _put(found)


def read_settings(text: str) -> dict[str, float]:
    """Read settings written as KEY=VALUE,…; raises `UsageError` for what is not written so."""
    found: dict[str, float] = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        try:
            found[key.strip()] = int(value) if value.strip().isdecimal() else float(value)
        except ValueError:
            raise UsageError(
                f"--snapshots: {part!r} is not a key and a number",
                key="snapshots",
                advice="Write it like log_ratio=8,min_bytes=16384,keep=100.",
            ) from None
    return found


class _Stages:
    """A bar for one stage after another."""

    def __init__(self) -> None:
        self._bar: Bar | None = None

    def __call__(self, what: str) -> Bar:
        self.__exit__()
        self._bar = Bar(what)
        return self._bar

    def __enter__(self) -> "_Stages":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)


# --- for people ----------------------------------------------------------------------------------


def _put(found: "Benched") -> None:
    what = "a journal that was made up" if found.made_up else found.path
    output.put(
        output.plain(
            f"{what}: {output.count(found.events, 'event')}, {output.size(found.log_bytes)} of "
            f"log, a state of {output.size(found.state_bytes)}"
        )
    )
    output.put("")
    output.put(f"{'':<42}{'median':>10}{'p99':>10}{'an event':>12}{'runs':>6}")
    for one in found.timed:
        output.put(_timed(one))
    for taken in found.breakdowns:
        output.put("")
        output.put(f"where the time of {taken.name} goes")
        for line in _shares(taken):
            output.put(line)
    output.put("")
    output.put("what other snapshots would cost (snapshots in journal.yaml; * is now)")
    names = policy_names(found.policies)
    width = max(map(len, names), default=0)
    output.put(
        f"  {'log_ratio':<{width}}{'every':>9}{'kept':>7}{'size':>10}{'of log':>8}"
        f"{'state-at p50':>14}{'p99':>9}{'newest':>9}"
    )
    for name, cost in zip(names, found.policies, strict=True):
        output.put(f"{'*' if cost.is_own else ' '} {name:<{width}}{_policy(cost)}")
    for note in found.notes:
        output.say(note)


def _timed(one: "Timed") -> str:
    each = f"{one.each_us:.2f} us" if one.per else ""
    shown = f"{milliseconds(one.median_ms):>10}{milliseconds(one.p99_ms):>10}"
    return f"{one.name:<42}{shown}{each:>12}{one.runs:>6}"


def _shares(taken: "Breakdown") -> list[str]:
    whole = sum(share.ms for share in taken.shares) or 1.0
    return [
        f"  {share.name:<14}{milliseconds(share.ms):>10}{share.ms / whole:>6.0%}  "
        f"{'#' * round(40 * share.ms / whole)}".rstrip()
        for share in taken.shares
    ]


def policy_names(costs: "Sequence[PolicyCost]") -> list[str]:
    """Name each policy by its ratio, and by what else differs from the journal's own."""
    own = next(cost for cost in costs if cost.is_own)
    names = []
    for cost in costs:
        name = f"{cost.log_ratio:g}"
        if cost.min_bytes != own.min_bytes:
            name += f", min_bytes {output.size(cost.min_bytes)}"
        if cost.keep != own.keep:
            name += f", keep {cost.keep:,}"
        names.append(name.ljust(len("log_ratio")))
    return names


def _policy(cost: "PolicyCost") -> str:
    return (
        f"{cost.every:>9,}{cost.snapshots:>7,}{output.size(cost.size_bytes):>10}{cost.of_log:>8.0%}"
        f"{milliseconds(cost.state_at_p50_ms):>14}{milliseconds(cost.state_at_p99_ms):>9}"
        f"{milliseconds(cost.newest_ms):>9}"
    )


def milliseconds(ms: float) -> str:
    """Return a time for people: microseconds, milliseconds or seconds."""
    if ms >= 1000:
        return f"{ms / 1000:.2f} s"
    return f"{ms:.1f} ms" if ms >= 10 else f"{ms:.2f} ms" if ms >= 1 else f"{ms * 1000:.0f} us"
