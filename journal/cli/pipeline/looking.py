"""The commands that look at runs: list, status."""

from typing import TYPE_CHECKING, Any

import typer

from journal.cli import output, parsing
from journal.cli.options import AsJson
from journal.cli.pipeline.reach import Root, Run, options

if TYPE_CHECKING:
    from projections.pipeline_state.listing import RunReport, RunStatus


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(app, "list", list_, "journal pipeline list")
    parsing.add(app, "status", status, "journal pipeline status RUN --json")


def list_(root: Root = None, as_json: AsJson = False) -> None:
    """List the runs under the root, and how they stand.

    Marked are those that look complete but were never finished, and those that are damaged.
    """
    from projections.pipeline_state import listing

    found = listing.list_runs(root)
    if as_json:
        output.put_report(found)
        return
    for report in found:
        output.put(output.plain(_say_report(report)))
    if not found:
        output.say("there are no runs here")


def _say_report(report: "RunReport") -> str:
    from projections.pipeline_state.resuming import say_age

    parts = [f"{report.name}  {report.run_id}  {report.condition}"]
    if report.phases:
        parts.append(f"{report.phases_done} of {output.count(report.phases, 'phase')} done")
    if report.age_ms is not None:
        parts.append(f"heard of {say_age(report.age_ms)} ago")
    if report.looks_complete:
        parts.append("looks complete, but was never completed")
    if report.problem:
        parts.append(report.problem.replace("\n", " "))
    return "; ".join(parts)


def status(run: Run, root: Root = None, as_json: AsJson = False) -> None:
    """Say how a run stands and what to do next.

    A state file that was damaged is written again from the log, one that somebody else changed is
    adopted, as by any other verb.
    """
    from projections.pipeline_state import listing

    found = listing.read_status(run, root=root, options=options())
    if as_json:
        output.put_report(found)
        return
    for line in _describe(found):
        output.put(output.plain(line))


def _describe(found: "RunStatus") -> list[str]:
    state: dict[str, Any] = found.state
    lines = [_say_report(found), f"  file     {found.file}"]
    lines.append(f"  root     {found.root} (layout {found.layout})")
    lines.append(f"  since    {found.since}")
    for phase in state["phases"]:
        agent = f", agent {phase['agent']}" if phase["agent"] else ""
        error = f": {phase['error']}" if phase["error"] else ""
        lines.append(f"  phase {phase['index']}  {phase['name']}{agent}: {phase['status']}{error}")
    metadata = state["metadata"]
    lines.append(f"  tier     {metadata.get('runtime_tier', 'not known')}")
    if metadata.get("isolation_warning"):
        lines.append(f"  warning  {metadata['isolation_warning']}".replace("\n", "; "))
    for reason in ("abort_reason", "escalation_reason", "failure_reason"):
        if reason in metadata:
            lines.append(f"  {reason}: {metadata[reason]}")
    if found.damaged:
        lines.append(f"  damaged  the file was found so, and written again: {found.damaged}")
    lines += [f"  moved    {words}" for words in (found.moved, found.renamed) if words]
    if not found.taken_over:
        lines.append("  journal  none yet; the first change takes the file over")
    return [*lines, f"  next     {found.next}"]
