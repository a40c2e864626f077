"""Which run is meant and how it is opened; the options that the commands have in common."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from journal.cli import output

if TYPE_CHECKING:
    from projections.pipeline_state.run import Options, PipelineRun

Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The run's file, its folder, or its id under --root.",
        show_default=False,
    ),
]
Index = Annotated[
    str, typer.Argument(metavar="I", help="The phase's index, from 0 on.", show_default=False)
]
Root = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="The scope root, by default .superpipelines here.",
        show_default=False,
    ),
]
Actor = Annotated[
    str, typer.Option("--actor", metavar="A", help="Who does it.", show_default=False)
]
Reason = Annotated[str, typer.Option(metavar="T", help="Why.", show_default=False)]
Tier = Annotated[
    str | None, typer.Option(metavar="T", help="The tier that runs now.", show_default=False)
]
Profile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="The tier's platform profile, a JSON object.", show_default=False
    ),
]


def options() -> "Options":
    """Return how a run is opened here: what it says goes to stderr."""
    from projections.pipeline_state.run import Options

    return Options(on_message=output.say)


def opened(run: str, root: str | None) -> "PipelineRun":
    """Open a run to change it."""
    from projections.pipeline_state.run import PipelineRun

    return PipelineRun.open(run, root=root, options=options())


def put_state(run: "PipelineRun") -> None:
    """Print in one line how a run stands."""
    state = run.state
    phases: list[Any] = state["phases"]
    counted = sum(phase["status"] == "done" for phase in phases)
    words = f"{counted} of {output.count(len(phases), 'phase')} done"
    output.put(
        output.plain(f"{state['pipeline_name']} {state['run_id']}: {state['status']}, {words}")
    )
