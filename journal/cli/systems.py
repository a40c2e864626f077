"""The groups of the five systems: known by name, loaded when one is used.

I1  `journal --help` and the commands of the engine import none of them.
"""

import importlib
from typing import Any

import typer.main

from journal.cli.failing import Commands

GROUPS = {
    "agloop": ("journal.cli.agloop", "An agentic loop in .agloop/: state, plan, log, checkpoints."),
    "task": ("journal.cli.task", "Checkpoints, artifacts and data of long tasks, by thread."),
    "pipeline": ("journal.cli.pipeline", "Runs of a pipeline: pipeline-state.json of each run."),
    "plan": ("journal.cli.plan", "Plans that are made in a loop: <slug>.state.json."),
    "loop": ("journal.cli.loop", "A checkpointed loop: one task, attempts, evidence, one file."),
}
"""Name -> the module that has the group's `app`, and its line in the help."""


class WithSystems(Commands):
    """The commands of the engine, and the groups of the systems after them."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Return every name, the systems' last."""
        return [*super().list_commands(ctx), *GROUPS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; a system's group is loaded here, unless it is only listed (I1)."""
        if cmd_name not in GROUPS:
            return super().get_command(ctx, cmd_name)
        module, words = GROUPS[cmd_name]
        if self._listing:
            return typer.main.get_command(_named(words))
        return _load(module, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands for `--help`."""
        self._listing = True
        try:
            super().format_commands(ctx, formatter)
        finally:
            self._listing = False


def _load(module: str, name: str) -> Any:
    """Import the module of a group and return the group: its `app`, or what `add_to` adds."""
    root = typer.Typer(add_completion=False, rich_markup_mode=None)
    found = importlib.import_module(module)
    if hasattr(found, "app"):
        root.add_typer(found.app, name=name)
    else:
        found.add_to(root)
    return typer.main.get_group(root).commands[name]


def _named(words: str) -> typer.Typer:
    """Make a group of which only the help is wanted."""
    app = typer.Typer(help=words, add_completion=False, rich_markup_mode=None)
    app.callback()(_nothing)
    return app


def _nothing() -> None: ...
