"""The commands of a whole run: beat, resume, complete, escalate, fail."""

from typing import Annotated

import typer

from journal.cli import given, output, parsing
from journal.cli.pipeline.reach import (
    Actor,
    Profile,
    Reason,
    Root,
    Run,
    Tier,
    opened,
    put_state,
)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(app, "beat", beat, "journal pipeline beat RUN")
    parsing.add(
        app,
        "resume",
        resume,
        "journal pipeline resume RUN --choose resume",
        "journal pipeline resume RUN --confirm --tier codex --profile codex.json",
    )
    parsing.add(app, "complete", complete, "journal pipeline complete RUN")
    parsing.add(app, "escalate", escalate, "journal pipeline escalate RUN --reason 'needs a key'")
    parsing.add(app, "fail", fail, "journal pipeline fail RUN --reason 'the tests do not pass'")


def beat(run: Run, root: Root = None, actor: Actor = "") -> None:
    """Say that a run is alive; changes no field."""
    with opened(run, root) as found:
        found.beat(actor=actor)
        put_state(found)


def resume(
    run: Run,
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
    tier: Tier = None,
    profile: Profile = None,
    reason: Annotated[
        str | None, typer.Option(metavar="T", help="Why it is aborted.", show_default=False)
    ] = None,
    root: Root = None,
    actor: Actor = "",
) -> None:
    """Resume a run that crashed, was escalated or failed.

    A run heard of within the last hour is active and refused. One that crashed needs --choose; one
    that was escalated or failed, or whose file was damaged, needs --confirm.
    """
    value = None if profile is None else given.read_value(profile)
    with opened(run, root) as found:
        events = found.resume(
            choose=choose, confirm=confirm, tier=tier, profile=value, reason=reason, actor=actor
        )
        if not events:
            output.say(f"{found.place.file}: the run is completed; nothing was changed")
        put_state(found)


def complete(run: Run, root: Root = None, actor: Actor = "") -> None:
    """Complete a run; every phase must be done."""
    with opened(run, root) as found:
        found.complete(actor=actor)
        put_state(found)


def escalate(run: Run, reason: Reason, root: Root = None, actor: Actor = "") -> None:
    """Hand a run to a person, who alone lets it go on."""
    with opened(run, root) as found:
        found.escalate(reason, actor=actor)
        put_state(found)


def fail(run: Run, reason: Reason, root: Root = None, actor: Actor = "") -> None:
    """End a run as failed; only a person lets it go on."""
    with opened(run, root) as found:
        found.fail(reason, actor=actor)
        put_state(found)
