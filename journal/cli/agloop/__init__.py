"""The group `journal agloop`: an agentic loop in `.agloop/` (projection `agloop`).

    reach      which loop is meant, and how it is opened; the options in common
    beginning  init, feature, phase, reset, context, objection
    working    next, task
    planning   plan
    looking    status, checkpoints, log
    keeping    checkpoint, recover
    hooking    hook

I1  A command parses, calls `AgLoop` and prints; the system itself is imported when it is wanted.
"""

import typer

from journal.cli import parsing
from journal.cli.agloop import beginning, hooking, keeping, looking, planning, working

app = typer.Typer(
    cls=parsing.Group,
    help="An agentic loop in .agloop/: state.json, plan.yaml, log.json and checkpoints.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="\b\nExample:\n  journal agloop init --feature 'Add search API'\n"
    "  journal agloop phase research && journal agloop status",
)

for _commands in (beginning, planning, working, looking, keeping, hooking):
    _commands.add_to(app)
