"""The command that begins a run, or takes a state file over."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from journal.cli import given, output, parsing
from journal.cli.options import AsJson
from journal.cli.pipeline.reach import Actor, Profile, Root, Tier, options
from journal.errors import UsageError

if TYPE_CHECKING:
    from projections.pipeline_state.run import PipelineRun


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(
        app,
        "init",
        init,
        "journal pipeline init review --pattern 1 --phases phases.json --tier claude "
        "--profile profile.json --plugin-version 2.1.0",
        "journal pipeline init .superpipelines/temp/review/RUN/pipeline-state.json",
    )


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
    tier: Tier = None,
    profile: Profile = None,
    root: Root = None,
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
    actor: Actor = "",
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
        options=options(),
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
    with PipelineRun.open(run_id or name, root=root, options=options()) as run:
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
