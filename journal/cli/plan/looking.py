"""The commands that look at plans: status, get, list, audit; and resume, which then goes on."""

from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from journal.cli import output, parsing
from journal.cli.options import AsJson
from journal.cli.plan.reach import (
    Actor,
    PlansDir,
    Slug,
    located,
    looked_at,
    opened,
    put_change,
)
from journal.errors import UsageError

if TYPE_CHECKING:
    from projections.loop_plan.audit import Audit, Marked
    from projections.loop_plan.summary import Summary


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(
        app, "status", status, "journal plan status feed", "journal plan status feed --json"
    )
    parsing.add(
        app,
        "get",
        get,
        "journal plan get feed .current_phase",
        """journal plan get feed '.loop_gate_history[-1].choice // "none yet"'""",
    )
    parsing.add(app, "list", list_plans, "journal plan list", "journal plan list --json")
    parsing.add(
        app,
        "resume",
        resume,
        "journal plan resume feed",
        "journal plan resume feed --choose restart",
    )
    parsing.add(
        app,
        "audit",
        audit,
        "journal plan audit",
        "journal plan audit --mark-abandoned",
        "journal plan audit --suggest-resume feed",
    )


def status(slug: Slug, plans_dir: PlansDir = None, as_json: AsJson = False) -> None:
    """Say where a plan stands, what it lacks, and what may come next."""
    from journal.event import now_ms
    from projections.loop_plan.summary import summarize

    with looked_at(slug, plans_dir) as plan:
        found = summarize(plan.state, now_ms())
        missing_text = plan.missing_text()
    if as_json:
        output.put_report(found)
        return
    _put_summary(found, plans_dir)
    if missing_text:
        output.say(f"{missing_text}: the plan's text is not there")


def _put_summary(found: "Summary", plans_dir: str | None) -> None:
    idle = "" if found.idle_days is None else f", idle for {found.idle_days} days"
    lines = [
        f"{found.slug}: {found.task_statement}",
        f"phase {found.phase}, iteration {found.iteration}, {found.kind}{idle}",
        f"rigor {found.rigor or 'not set'}; goal {found.goal or 'not captured'}",
        f"last action: {found.last_action}",
    ]
    if found.exit_signal:
        lines.append(f"exit: {found.exit_signal}")
    if found.tasks_completed or found.blockers or found.verification:
        tasks = output.count(found.tasks_completed, "task")
        lines.append(
            f"execution: {tasks} done, {output.count(found.blockers, 'blocker')}, verification "
            f"{found.verification or 'none yet'}"
        )
    lines += [
        f"stage {stage.id}: {'started' if stage.started else 'not started'}, "
        f"{stage.approval or stage.verification}"
        for stage in found.stages
    ]
    lines += [f"missing: {what}" for what in found.missing]
    lines += [f"next: {located(what, plans_dir)}" for what in found.next]
    for line in lines:
        output.put(output.plain(line))


def get(
    slug: Slug,
    query: Annotated[
        str, typer.Argument(metavar="JQ", help="A jq program.", show_default=False)
    ] = ".",
    raw: Annotated[
        bool, typer.Option("--raw", "-r", help="Print texts without quotes, as without --json.")
    ] = False,
    plans_dir: PlansDir = None,
    as_json: AsJson = False,
) -> None:
    """Print what a jq program gives of a plan's state, as `jq -r` does (needs the package jq).

    With --json each value stands on one line of JSON.
    """
    if raw and as_json:
        raise UsageError("--raw and --json exclude each other")
    from journal.cli.querying import query as run

    with looked_at(slug, plans_dir) as plan:
        state = plan.state
    for value in run(query, state):
        if as_json:
            output.put_json(value)
        elif isinstance(value, str):
            output.put(value)
        else:
            options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
            output.put_bytes(orjson.dumps(value, option=options))


def list_plans(plans_dir: PlansDir = None, as_json: AsJson = False) -> None:
    """List every plan: slug, phase, iteration, with tabs between."""
    from projections.loop_plan.audit import audit as run

    found = run(plans_dir)
    if as_json:
        output.put_report(found.plans)
    else:
        for one in found.plans:
            output.put(
                "\t".join(output.plain(str(v)) for v in (one.slug, one.phase, one.iteration))
            )
    _say_damaged(found)


def _say_damaged(found: "Audit") -> None:
    for one in found.damaged:
        output.say(f"damaged: {one.file}: {one.why}")


def resume(
    slug: Slug,
    choose: Annotated[
        str,
        typer.Option(
            metavar="CHOICE",
            help="resume, restart or fresh; for a failed inventory retry or skip.",
            show_default=False,
        ),
    ] = "",
    plans_dir: PlansDir = None,
    actor: Actor = "",
) -> None:
    """Say where a plan stands, and take it up again as the user chose.

    resume goes on in its phase; restart goes to phase 1 of the same iteration; fresh keeps the
    state as SLUG.state.json.bak-TIME and begins at phase 0.
    """
    from projections.loop_plan.resuming import ask

    if not choose:
        with looked_at(slug, plans_dir) as plan:
            words, question, missing = plan.announce(), ask(plan.state), plan.missing_text()
        _put_announcement(words, missing)
        output.put(output.plain(located(question, plans_dir)))
        return
    with opened(slug, plans_dir, actor) as plan:
        words, missing = plan.announce(), plan.missing_text()
        events = plan.resume(choose)
        state = plan.state
    _put_announcement(words, missing)
    if choose == "fresh":
        output.say(f"the state before is kept as {events[-1].data['backup']}")
    put_change(state, events)


def _put_announcement(words: str, missing_text: str) -> None:
    output.put(output.plain(words))
    if missing_text:
        output.say(f"{missing_text}: the plan's text is not there")


def audit(
    plans_dir: PlansDir = None,
    mark_abandoned: Annotated[
        bool,
        typer.Option("--mark-abandoned", help="Mark the abandoned-candidates; see `list`."),
    ] = False,
    suggest_resume: Annotated[
        str,
        typer.Option(
            metavar="SLUG", help="Say how this plan is best taken up again.", show_default=False
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Look at every plan: which are active, stalled, or candidates for being abandoned.

    Idle counts from last_active_at, else from last_update_at. Marking leaves alone what has no
    last_active_at: it is listed as unknown.
    """
    from projections.loop_plan import audit as audits
    from projections.loop_plan.plan import LoopPlan

    found = audits.audit(plans_dir)
    suggestion = _suggest(found, suggest_resume) if suggest_resume else ""

    def abandon(slug: str) -> None:
        with LoopPlan.open(slug, plans_dir, on_message=output.say) as plan:
            plan.abandon()

    marked = audits.mark_abandoned(found, abandon) if mark_abandoned else None
    if as_json:
        _put_audit_json(found, marked, suggestion)
        return
    _put_audit(found)
    if marked is not None:
        _put_marked(marked)
    if suggestion:
        output.put(output.plain(suggestion))


def _suggest(found: "Audit", slug: str) -> str:
    from projections.loop_plan.audit import suggest_resume

    for entry in found.plans:
        if entry.slug == slug:
            return suggest_resume(entry)
    names = ", ".join(entry.slug for entry in found.plans) or "none"
    raise UsageError(
        f"there is no readable plan {slug!r} in {found.folder}",
        key="slug",
        advice=f"Allowed: {names}.",
    )


def _put_audit_json(found: "Audit", marked: "Marked | None", suggestion: str) -> None:
    import msgspec

    report: dict[str, Any] = msgspec.to_builtins(found)
    report["marked"] = None if marked is None else msgspec.to_builtins(marked)
    report["suggestion"] = suggestion or None
    output.put_json(report)


def _put_audit(found: "Audit") -> None:
    width = max((len(one.slug) for one in found.plans), default=1)
    kind_width = max((len(one.kind) for one in found.plans), default=1)
    for one in found.plans:
        idle = "idle unknown" if one.idle_days is None else f"idle {one.idle_days:.1f} days"
        unknown = ", unknown: no last_active_at" if one.unknown else ""
        gaps = f", {output.count(one.gaps, 'gap')}" if one.gaps else ""
        words = f"phase {one.phase}, iteration {one.iteration}, {idle}{unknown}{gaps}"
        output.put(output.plain(f"{one.slug:<{width}}  {one.kind:<{kind_width}}  {words}"))
    for damaged in found.damaged:
        output.put(output.plain(f"{damaged.file}  damaged  {damaged.why}"))
    for what, counts in (("gaps acknowledged", found.gaps), ("agents stalled", found.stalls)):
        if counts:
            phases = ", ".join(f"{count} in phase {phase}" for phase, count in counts.items())
            output.put(output.plain(f"{what}: {phases}"))
    if not found.plans and not found.damaged:
        output.say(f"{found.folder}: no plans")


def _put_marked(marked: "Marked") -> None:
    for slug in marked.marked:
        output.put(output.plain(f"marked as abandoned: {slug}"))
    for slug in marked.unknown:
        output.put(output.plain(f"unknown, not marked: {slug} (no last_active_at)"))
    for one in marked.refused:
        output.put(output.plain(f"not marked: {one.file}: {one.why}"))
    if not marked.marked and not marked.unknown and not marked.refused:
        output.say("nothing to mark")
