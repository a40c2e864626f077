"""The group `journal task`: checkpoints, artifacts, data of long tasks (projection `task_state`).

    reach     which thread is meant; the options in common
    state     init, status, recall, store, artifact, set, spawn, return, complete, threads
    storage   storage get, set, delete, list

I1  A command parses, calls `TaskState` or `JournalStorage` and prints; the system itself is
    imported when it is wanted.
"""

import typer

from journal.cli import parsing
from journal.cli.task import state, storage

app = typer.Typer(
    cls=parsing.Group,
    help="Checkpoints, artifacts and data of long tasks, by thread.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="\b\nExample:\n  journal task init --thread main && journal task store --thread main "
    "--depth 0\n  journal task recall --thread main",
)

for _commands in (state, storage):
    _commands.add_to(app)
