"""`journal pipeline …`: the runs of multi-agent pipelines, kept in `pipeline-state.json`.

I1  A verb parses, calls `PipelineRun`, and prints one line: how the run stands after it.
I2  The system is imported when one of its commands runs, not before.
"""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journal.cli import given, output, parsing
from journal.cli.options import AsJson, read_count
from journal.errors import UsageError

if TYPE_CHECKING:
    from projections.pipeline_state.listing import RunReport, RunStatus
    from projections.pipeline_state.run import Options, PipelineRun

_Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The run's file, its folder, or its id under --root.",
        show_default=False,
    ),
]
_Index = Annotated[
    str, typer.Argument(metavar="I", help="The phase's index, from 0 on.", show_default=False)
]
_Root = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="The scope root, by default .superpipelines here.",
        show_default=False,
    ),
]
_Actor = Annotated[
    str, typer.Option("--actor", metavar="A", help="Who does it.", show_default=False)
]
_Reason = Annotated[str, typer.Option(metavar="T", help="Why.", show_default=False)]
_Tier = Annotated[
    str | None, typer.Option(metavar="T", help="The tier that runs now.", show_default=False)
]
_Profile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="The tier's platform profile, a JSON object.", show_default=False
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(
        cls=parsing.Group,
        help="Keep the state of pipeline runs in pipeline-state.json.",
        no_args_is_help=True,
        rich_markup_mode=None,
        epilog="\b\nExample:\n  journal pipeline init review --pattern 1 --phases phases.json "
        "--tier claude --profile profile.json --plugin-version 2.1.0",
    )
    parsing.add(
        group,
        "init",
        init,
        "journal pipeline init review --pattern 1 --phases phases.json --tier claude "
        "--profile profile.json --plugin-version 2.1.0",
        "journal pipeline init .superpipelines/temp/review/RUN/pipeline-state.json",
    )
    parsing.add(group, "list", list_, "journal pipeline list")
    parsing.add(group, "status", status, "journal pipeline status RUN --json")
    parsing.add(group, "start", start, "journal pipeline start RUN 0")
    parsing.add(group, "done", done, "journal pipeline done RUN 0 --output plan.md")
    parsing.add(
        group, "fail-phase", fail_phase, "journal pipeline fail-phase RUN 0 --error 'no answer'"
    )
    parsing.add(group, "retry-phase", retry_phase, "journal pipeline retry-phase RUN 0")
    parsing.add(group, "beat", beat, "journal pipeline beat RUN")
    parsing.add(
        group,
        "resume",
        resume,
        "journal pipeline resume RUN --choose resume",
        "journal pipeline resume RUN --confirm --tier codex --profile codex.json",
    )
    parsing.add(group, "complete", complete, "journal pipeline complete RUN")
    parsing.add(group, "escalate", escalate, "journal pipeline escalate RUN --reason 'needs a key'")
    parsing.add(group, "fail", fail, "journal pipeline fail RUN --reason 'the tests do not pass'")
    parsing.add(group, "meta", meta, """journal pipeline meta RUN ticket '"A-7"'""")
    parsing.add(
        group,
        "models",
        models,
        "journal pipeline models RUN models.json --tiers-version 2026-03-01",
    )
    parsing.add(
        group, "prefs", prefs, "journal pipeline prefs RUN --user '~/prefs.md' --workspace prefs.md"
    )
    app.add_typer(group, name="pipeline")


# --- a run begins --------------------------------------------------------------------------------


def init(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The pipeline, 1 to 48 of a-z, 0-9 and -.", show_default=False
        ),
    ],
    *,
    pattern: Annotated[
        str | None, typer.Option(metavar="P", help="1, 2, 2b, 3, 4 or 5.", show_default=False)
    ] = None,
    phases: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-",
            help="A JSON list of phases, each with name and agent; - is stdin.",
            show_default=False,
        ),
    ] = None,
    tier: _Tier = None,
    profile: _Profile = None,
    root: _Root = None,
    layout: Annotated[
        str, typer.Option(metavar="data|legacy", help="Where the run lies under the root.")
    ] = "data",
    run_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="A UUID v4 or NAME-YYYYMMDD-HHMMSS.", show_default=False),
    ] = None,
    plugin_version: Annotated[
        str | None,
        typer.Option(metavar="V", help="The plugin's version, like 2.1.0.", show_default=False),
    ] = None,
    manifest: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The plugin's manifest, which has its version; else the one of the profile.",
            show_default=False,
        ),
    ] = None,
    actor: _Actor = "",
    as_json: AsJson = False,
) -> None:
    """Begin a new run, and print where its state file lies.

    A run of the name that is live refuses; one that crashed must be settled first. With the path
    of a state file for NAME, and nothing else, that file is taken over as it is.
    """
    from projections.pipeline_state.run import PipelineRun

    if pattern is None and phases is None and tier is None and profile is None:
        _take_over(name, root, run_id, as_json=as_json)
        return
    wanted = {"--pattern": pattern, "--phases": phases, "--tier": tier, "--profile": profile}
    if missing := [option for option, value in wanted.items() if value is None]:
        raise UsageError(f"a new run needs {', '.join(missing)}", key=missing[0])
    with PipelineRun.init(
        name,
        pattern=pattern or "",
        phases=given.read_value(phases or ""),
        tier=tier or "",
        profile=given.read_value(profile or ""),
        root=root,
        layout=layout,
        run_id=run_id,
        plugin_version=plugin_version,
        manifest=manifest,
        actor=actor,
        options=_options(),
    ) as run:
        _put_begun(run, as_json=as_json)


def _take_over(name: str, root: str | None, run_id: str | None, *, as_json: bool) -> None:
    from projections.pipeline_state.run import PipelineRun

    if os.sep not in name and not name.endswith(".json") and run_id is None:
        raise UsageError(
            "a new run needs --pattern, --phases, --tier and --profile",
            key="--pattern",
            advice="To take over a state file that is there, give its path for NAME.",
        )
    with PipelineRun.open(run_id or name, root=root, options=_options()) as run:
        if not run.take_over():
            raise UsageError(f"{run.place.file} has a journal already", key="NAME")
        _put_begun(run, as_json=as_json)


def _put_begun(run: "PipelineRun", *, as_json: bool) -> None:
    state = run.state
    if as_json:
        begun = {
            "name": state["pipeline_name"],
            "run_id": state["run_id"],
            "file": str(run.place.file),
            "root": str(run.place.root),
            "seq": run.engine.seq,
        }
        output.put_json(begun)
    else:
        words = f"run {state['run_id']} of {state['pipeline_name']}: {run.place.file}"
        output.put(output.plain(words))


# --- reading -------------------------------------------------------------------------------------


def list_(root: _Root = None, as_json: AsJson = False) -> None:
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


def status(run: _Run, root: _Root = None, as_json: AsJson = False) -> None:
    """Say how a run stands and what to do next.

    A state file that was damaged is written again from the log, one that somebody else changed is
    adopted, as by any other verb.
    """
    from projections.pipeline_state import listing

    found = listing.read_status(run, root=root, options=_options())
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


# --- phases --------------------------------------------------------------------------------------


def start(run: _Run, index: _Index, root: _Root = None, actor: _Actor = "") -> None:
    """Start a pending phase."""
    with _open(run, root) as opened:
        opened.start(read_count(index, "I"), actor=actor)
        _put_state(opened)


def done(
    run: _Run,
    index: _Index,
    outputs: Annotated[
        list[str] | None,
        typer.Option(
            "--output", metavar="PATH", help="What it made (repeatable).", show_default=False
        ),
    ] = None,
    root: _Root = None,
    actor: _Actor = "",
) -> None:
    """Finish a running phase."""
    with _open(run, root) as opened:
        opened.done(read_count(index, "I"), outputs or (), actor=actor)
        _put_state(opened)


def fail_phase(
    run: _Run,
    index: _Index,
    error: Annotated[str, typer.Option(metavar="T", help="What went wrong.", show_default=False)],
    root: _Root = None,
    actor: _Actor = "",
) -> None:
    """Fail a running phase."""
    with _open(run, root) as opened:
        opened.fail_phase(read_count(index, "I"), error, actor=actor)
        _put_state(opened)


def retry_phase(run: _Run, index: _Index, root: _Root = None, actor: _Actor = "") -> None:
    """Make a failed phase pending again."""
    with _open(run, root) as opened:
        opened.retry_phase(read_count(index, "I"), actor=actor)
        _put_state(opened)


# --- the run -------------------------------------------------------------------------------------


def beat(run: _Run, root: _Root = None, actor: _Actor = "") -> None:
    """Say that a run is alive; changes no field."""
    with _open(run, root) as opened:
        opened.beat(actor=actor)
        _put_state(opened)


def resume(
    run: _Run,
    *,
    choose: Annotated[
        str | None,
        typer.Option(
            metavar="resume|restart|abort",
            help="What to do with a crashed run.",
            show_default=False,
        ),
    ] = None,
    confirm: Annotated[
        bool,
        typer.Option("--confirm", help="A person says so: escalated, failed, or damaged."),
    ] = False,
    tier: _Tier = None,
    profile: _Profile = None,
    reason: Annotated[
        str | None, typer.Option(metavar="T", help="Why it is aborted.", show_default=False)
    ] = None,
    root: _Root = None,
    actor: _Actor = "",
) -> None:
    """Resume a run that crashed, was escalated or failed.

    A run heard of within the last hour is active and refused. One that crashed needs --choose; one
    that was escalated or failed, or whose file was damaged, needs --confirm.
    """
    value = None if profile is None else given.read_value(profile)
    with _open(run, root) as opened:
        events = opened.resume(
            choose=choose, confirm=confirm, tier=tier, profile=value, reason=reason, actor=actor
        )
        if not events:
            output.say(f"{opened.place.file}: the run is completed; nothing was changed")
        _put_state(opened)


def complete(run: _Run, root: _Root = None, actor: _Actor = "") -> None:
    """Complete a run; every phase must be done."""
    with _open(run, root) as opened:
        opened.complete(actor=actor)
        _put_state(opened)


def escalate(run: _Run, reason: _Reason, root: _Root = None, actor: _Actor = "") -> None:
    """Hand a run to a person, who alone lets it go on."""
    with _open(run, root) as opened:
        opened.escalate(reason, actor=actor)
        _put_state(opened)


def fail(run: _Run, reason: _Reason, root: _Root = None, actor: _Actor = "") -> None:
    """End a run as failed; only a person lets it go on."""
    with _open(run, root) as opened:
        opened.fail(reason, actor=actor)
        _put_state(opened)


# --- metadata ------------------------------------------------------------------------------------


def meta(
    run: _Run,
    key: Annotated[str, typer.Argument(metavar="KEY", show_default=False)],
    value: Annotated[
        str, typer.Argument(metavar="JSON", help="A JSON value; - is stdin.", show_default=False)
    ],
    root: _Root = None,
    actor: _Actor = "",
) -> None:
    """Set a member of metadata, not the schema's own."""
    read = given.read_data(value)
    with _open(run, root) as opened:
        opened.set_metadata(key, read, actor=actor)
        _put_state(opened)


def models(
    run: _Run,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A JSON object: step id to resolved model.", show_default=False
        ),
    ],
    tiers_version: Annotated[
        str, typer.Option(metavar="D", help="The date of the model tiers.", show_default=False)
    ],
    root: _Root = None,
    actor: _Actor = "",
) -> None:
    """Record which model each step gets."""
    read = given.read_value(file)
    with _open(run, root) as opened:
        opened.record_models(read, tiers_version, actor=actor)
        _put_state(opened)


def prefs(
    run: _Run,
    user: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The user's preferences.", show_default=False),
    ] = None,
    workspace: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The workspace's preferences.", show_default=False),
    ] = None,
    root: _Root = None,
    actor: _Actor = "",
) -> None:
    """Record which preference files were consulted.

    Their content is hashed now. A path that is not given is the one recorded before.
    """
    with _open(run, root) as opened:
        opened.record_preferences(user, workspace, actor=actor)
        _put_state(opened)


# --- how -----------------------------------------------------------------------------------------


def _options() -> "Options":
    from projections.pipeline_state.run import Options

    return Options(on_message=output.say)


def _open(run: str, root: str | None) -> "PipelineRun":
    from projections.pipeline_state.run import PipelineRun

    return PipelineRun.open(run, root=root, options=_options())


def _put_state(run: "PipelineRun") -> None:
    state = run.state
    phases: list[Any] = state["phases"]
    counted = sum(phase["status"] == "done" for phase in phases)
    words = f"{counted} of {output.count(len(phases), 'phase')} done"
    output.put(
        output.plain(f"{state['pipeline_name']} {state['run_id']}: {state['status']}, {words}")
    )
