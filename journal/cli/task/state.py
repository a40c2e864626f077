"""The commands on the state of a thread."""

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from journal.cli import given, output, parsing
from journal.cli.options import AsJson
from journal.cli.task.reach import (
    Actor,
    Depth,
    Merge,
    Root,
    Thread,
    opened,
    put_answer,
    read_depth,
)
from journal.errors import UsageError

if TYPE_CHECKING:
    from projections.task_state.task_state import MergeData, Outcome


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(
        app,
        "init",
        init,
        "journal task init --thread main",
        "journal task init --thread main --from state.json",
    )
    parsing.add(app, "status", status, "journal task status --thread main --json")
    parsing.add(app, "recall", recall, "journal task recall --thread main --budget 800")
    parsing.add(app, "store", store, "journal task store --thread main --depth 0")
    parsing.add(app, "artifact", artifact, "journal task artifact report.md --thread main")
    parsing.add(
        app,
        "set",
        set_data,
        """journal task set phase '"plan"' --thread main""",
        "journal task set result - --thread main < result.json",
    )
    parsing.add(app, "spawn", spawn, "journal task spawn worker-1 --thread main")
    parsing.add(
        app,
        "return",
        take_back,
        "journal task return worker-1 --thread main --merge-data namespace",
        "journal task return worker-1 --thread main --state worker.json",
    )
    parsing.add(app, "complete", complete, "journal task complete success --thread main --depth 0")
    parsing.add(app, "threads", threads, "journal task threads --json")


def init(
    thread: Thread,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Begin with the state in this file; - is stdin.",
            show_default=False,
        ),
    ] = "",
    root: Root = None,
    actor: Actor = "",
) -> None:
    """Load the state of a thread, or begin one; it says which.

    A state.json that lies in the thread's folder already is taken over.
    """
    value = _read_state(source) if source else None
    with opened(thread, root, actor) as task:
        answer = task.begin(value)
        found = task.state or {}
    words = (
        f"{thread}: {answer.message}; {output.count(len(found['checkpoints']), 'checkpoint')}, "
        f"{output.count(len(found['files']), 'file')}, {output.count(len(found['data']), 'key')}"
    )
    output.put(output.plain(words))


def _read_state(path: str) -> dict[str, Any]:
    value = given.read_value(path)
    if not isinstance(value, dict):
        raise UsageError(f"{path}: a state is an object with checkpoints, files, data", key="state")
    return cast("dict[str, Any]", value)


def status(thread: Thread, root: Root = None, as_json: AsJson = False) -> None:
    """Say what the state of a thread holds."""
    from projections.task_state.summary import summarize

    with opened(thread, root) as task:
        state = task.state
    found = summarize(thread, state)
    if as_json:
        output.put_report(found)
        return
    if not found.exists:
        output.put(output.plain(f"{thread}: no state yet"))
        return
    newest = (
        "" if found.newest is None else f", the newest of {found.newest} at depth {found.depth}"
    )
    keys = ", ".join(found.data_keys)
    lines = [
        f"{thread}: {output.count(found.checkpoints, 'checkpoint')}{newest}",
        f"{output.count(found.files, 'file')}; {output.count(len(found.data_keys), 'key')}"
        + (f": {keys}" if keys else ""),
        f"outcome: {found.outcome or 'none yet'}; {output.count(found.tokens, 'token')} as a whole",
    ]
    for line in lines:
        output.put(output.plain(line))


def recall(
    thread: Thread,
    budget: Annotated[
        str, typer.Option(metavar="N", help="Tokens that it may take; 0: all that it takes.")
    ] = "800",
    root: Root = None,
) -> None:
    """Print the state as the text that a model is given, within a budget of tokens.

    The oldest checkpoints are left out first; nothing is printed for a thread without a state.
    """
    tokens = _read_budget(budget)
    with opened(thread, root) as task:
        text = task.recall(tokens)
    if text is None:
        output.say(f"{thread}: no state yet")
    else:
        output.put(text)


def _read_budget(text: str) -> int:
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) < 16:
        return int(text)
    raise UsageError(f"budget: {text!r} is not a number of tokens", key="budget")


def store(thread: Thread, depth: Depth, root: Root = None, actor: Actor = "") -> None:
    """Add a checkpoint of now; the newest 50 are kept."""
    number = read_depth(depth)
    with opened(thread, root, actor) as task:
        answer = task.store(number)
    put_answer(answer)


def artifact(
    path: Annotated[str, typer.Argument(metavar="PATH", show_default=False)],
    thread: Thread,
    root: Root = None,
    actor: Actor = "",
) -> None:
    """Note a file that was produced; twice is as good as once."""
    with opened(thread, root, actor) as task:
        answer = task.record_artifact(path)
    put_answer(answer)


def set_data(
    key: Annotated[str, typer.Argument(metavar="KEY", show_default=False)],
    value: Annotated[
        str, typer.Argument(metavar="JSON", help="- reads it from stdin.", show_default=False)
    ],
    thread: Thread,
    root: Root = None,
    actor: Actor = "",
) -> None:
    """Set a key of the task's data to a JSON value.

    The reserved key __outcome is refused, as a normal answer (exit 0): `complete` writes it.
    """
    wanted = _read_json(value)
    with opened(thread, root, actor) as task:
        answer = task.set_task_data(key, wanted)
    put_answer(answer)


def _read_json(text: str) -> Any:
    try:
        return given.read_data(text)
    except UsageError as error:
        raise UsageError(
            error.message,
            key="value",
            advice="""Give one JSON value; a text stands in double quotes: '"plan"'.""",
        ) from error


def spawn(
    child: Annotated[str, typer.Argument(metavar="CHILD", show_default=False)],
    thread: Thread,
    root: Root = None,
    actor: Actor = "",
) -> None:
    """Begin the thread CHILD with a copy of this one's state."""
    with opened(thread, root, actor) as task:
        answer = task.spawn(child)
    put_answer(answer)


def take_back(
    *,
    child: Annotated[str, typer.Argument(metavar="CHILD", show_default=False)],
    thread: Thread,
    state: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="The child's state; - is stdin; else that of the thread CHILD.",
            show_default=False,
        ),
    ] = "",
    merge: Merge = "shallow",
    root: Root = None,
    actor: Actor = "",
) -> None:
    """Merge what a child brings back: its checkpoints, its files, its data."""
    value = _read_state(state) if state else None
    how = cast("MergeData", merge)
    with opened(thread, root, actor) as task:
        if value is None:
            answer = task.take_back(child, how)
        else:
            answer = task.on_return(value, child, how)
    put_answer(answer)


def complete(
    outcome: Annotated[str, typer.Argument(metavar="success|failure|aborted", show_default=False)],
    thread: Thread,
    depth: Depth,
    root: Root = None,
    actor: Actor = "",
) -> None:
    """Note how the execution ended, with a last checkpoint; without a state do nothing."""
    number = read_depth(depth)
    with opened(thread, root, actor) as task:
        answer = task.on_complete(cast("Outcome", outcome), number)
    put_answer(answer)


def threads(root: Root = None, as_json: AsJson = False) -> None:
    """List the threads that have a state."""
    from projections.task_state.places import find_threads

    found = find_threads(root)
    if as_json:
        output.put_json(found)
        return
    for name in found:
        output.put(output.plain(name))
