"""The commands that note what a run was given: meta, models, prefs."""

from typing import Annotated

import typer

from journal.cli import given, parsing
from journal.cli.pipeline.reach import Actor, Root, Run, opened, put_state


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(app, "meta", meta, """journal pipeline meta RUN ticket '"A-7"'""")
    parsing.add(
        app,
        "models",
        models,
        "journal pipeline models RUN models.json --tiers-version 2026-03-01",
    )
    parsing.add(
        app, "prefs", prefs, "journal pipeline prefs RUN --user '~/prefs.md' --workspace prefs.md"
    )


def meta(
    run: Run,
    key: Annotated[str, typer.Argument(metavar="KEY", show_default=False)],
    value: Annotated[
        str, typer.Argument(metavar="JSON", help="A JSON value; - is stdin.", show_default=False)
    ],
    root: Root = None,
    actor: Actor = "",
) -> None:
    """Set a member of metadata, not the schema's own."""
    read = given.read_data(value)
    with opened(run, root) as found:
        found.set_metadata(key, read, actor=actor)
        put_state(found)


def models(
    run: Run,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A JSON object: step id to resolved model.", show_default=False
        ),
    ],
    tiers_version: Annotated[
        str, typer.Option(metavar="D", help="The date of the model tiers.", show_default=False)
    ],
    root: Root = None,
    actor: Actor = "",
) -> None:
    """Record which model each step gets."""
    read = given.read_value(file)
    with opened(run, root) as found:
        found.record_models(read, tiers_version, actor=actor)
        put_state(found)


def prefs(
    run: Run,
    user: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The user's preferences.", show_default=False),
    ] = None,
    workspace: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The workspace's preferences.", show_default=False),
    ] = None,
    root: Root = None,
    actor: Actor = "",
) -> None:
    """Record which preference files were consulted.

    Their content is hashed now. A path that is not given is the one recorded before.
    """
    with opened(run, root) as found:
        found.record_preferences(user, workspace, actor=actor)
        put_state(found)
