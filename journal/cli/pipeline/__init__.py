"""`journal pipeline …`: the runs of multi-agent pipelines, kept in `pipeline-state.json`.

    reach      which run is meant, and how it is opened; the options in common
    beginning  init, which takes a file over as well
    looking    list, status
    phasing    start, done, fail-phase, retry-phase
    running    beat, resume, and how a run ends
    noting     meta, models, prefs

I1  A verb parses, calls `PipelineRun`, and prints one line: how the run stands after it.
I2  The system is imported when one of its commands runs, not before.
"""

import typer

from journal.cli import parsing
from journal.cli.pipeline import beginning, looking, noting, phasing, running


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
    for commands in (beginning, looking, phasing, running, noting):
        commands.add_to(group)
    app.add_typer(group, name="pipeline")
