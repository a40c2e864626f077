"""`journal task storage …`: values by key, each with its history, in the journal <root>/storage.

I1  With --thread a key is one of that thread's scope: `layers/task-state/T/KEY` as a whole.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from journal import regular
from journal.cli import given, output, parsing
from journal.cli.options import AsJson
from journal.cli.task.reach import Actor, Root
from journal.errors import JournalError

if TYPE_CHECKING:
    from projections.task_state.journal_storage import JournalStorage

_Key = Annotated[str, typer.Argument(metavar="KEY", show_default=False)]
_Thread = Annotated[
    str,
    typer.Option("--thread", metavar="T", help="KEY is one of this thread's.", show_default=False),
]


def add_to(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        cls=parsing.Group,
        help="Values by key, each with its history.",
        no_args_is_help=True,
        rich_markup_mode=None,
        epilog="\b\nExample:\n  journal task storage set plan '{\"step\": 1}' --thread main",
    )
    parsing.add(group, "get", get, "journal task storage get plan --thread main")
    parsing.add(
        group, "set", set_value, """journal task storage set plan '{"step": 1}' --thread main"""
    )
    parsing.add(group, "delete", delete, "journal task storage delete plan --thread main")
    parsing.add(group, "list", list_keys, "journal task storage list layers/ --json")
    app.add_typer(group, name="storage")


@contextmanager
def _opened(root: str | None, actor: str = "") -> Generator["JournalStorage"]:
    from projections.task_state.journal_storage import JournalStorage
    from projections.task_state.places import root_of

    folder = root_of(root) / "storage"
    regular.check_folder(folder)
    with JournalStorage(folder, actor=actor, on_message=output.say) as storage:
        yield storage


def _scope(thread: str) -> str:
    from projections.task_state.places import check_thread, state_key

    return state_key(check_thread(thread)).removesuffix("state") if thread else ""


def get(key: _Key, thread: _Thread = "", root: Root = None) -> None:
    """Print the value of a key as JSON on one line; exit 1 where it has none."""
    with _opened(root) as storage:
        value = storage.get(_scope(thread) + key)
    if value is None:
        raise JournalError(
            f"{_scope(thread)}{key}: this key has no value",
            advice="`journal task storage list` names those that have one.",
        )
    output.put_json(value)


def set_value(
    key: _Key,
    value: Annotated[
        str, typer.Argument(metavar="JSON", help="- reads it from stdin.", show_default=False)
    ],
    thread: _Thread = "",
    root: Root = None,
    actor: Actor = "",
) -> None:
    """Give a key a value: any JSON but null."""
    wanted = given.read_data(value)
    with _opened(root, actor) as storage:
        storage.set(_scope(thread) + key, wanted)


def delete(key: _Key, thread: _Thread = "", root: Root = None, actor: Actor = "") -> None:
    """Take the value of a key away; its history stays."""
    with _opened(root, actor) as storage:
        storage.delete(_scope(thread) + key)


def list_keys(
    prefix: Annotated[
        str, typer.Argument(metavar="PREFIX", help="What keys begin with.", show_default=False)
    ] = "",
    thread: _Thread = "",
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """List the keys that have a value; with --thread without what names the thread."""
    scope = _scope(thread)
    with _opened(root) as storage:
        found = [key.removeprefix(scope) for key in storage.list(scope + prefix)]
    if as_json:
        output.put_json(found)
        return
    for key in found:
        output.put(output.plain(key))
