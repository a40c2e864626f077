"""The group `journal plan`: the state of plans that are made in a loop (projection `loop_plan`).

    reach      which plan is meant, and how it is opened; the options in common
    looking    status, get, list, resume, audit
    working    init and the commands of the phases 0 to 6
    executing  the commands of the phases 7a and 7b, and the end

I1  A command parses, calls `LoopPlan` and prints; the system itself is imported when it is wanted.
"""

import typer

from journal.cli import parsing
from journal.cli.plan import executing, looking, working

app = typer.Typer(
    cls=parsing.Group,
    help="Plans that are made in a loop: <slug>.state.json beside the plan's text.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="\b\nExample:\n  journal plan init 'Add offline caching to the feed' --slug feed\n"
    "  journal plan phase feed 1 && journal plan status feed",
)

for _commands in (working, executing, looking):
    _commands.add_to(app)
