"""The command that a coding client runs at its events: hook NAME, with the client's JSON on stdin.

I1  Exit 2 only blocks stopping. Whatever else happens, an unknown name or option among it, is
    told on stderr, and the exit code is 0.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from journal.cli import given, output, parsing


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    parsing.add(
        app,
        "hook",
        hook,
        "journal agloop hook session-start < client.json",
        """echo '{"cwd": "/srv/shop", "stop_hook_active": false}' | journal agloop hook stop""",
    )
    # What is typed is for us to judge, and no reason to keep the client from its work (I1).
    app.registered_commands[-1].context_settings = {"ignore_unknown_options": True}


def hook(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME [--agent AGENT]",
            help="session-start, pre-compact, stop, subagent-start, subagent-stop or user-prompt.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run a hook on the client's JSON on stdin.

    The loop is the .agloop/ under its "cwd", else its "workspaceFolder", else here; where there
    is none nothing happens. `stop` blocks (exit 2, the reason on stderr) while a task is not done.
    AGENT stands for the hook's name in the log.
    """
    from projections.agloop import hooks

    name, agent, rest = _read(list(words or ()))
    if rest:
        output.say_error(f"hook {name}: unknown: {' '.join(rest)}; nothing was done")
        return
    answer = hooks.run(name, _read_stdin(), here=Path.cwd(), agent=agent)
    for said in answer.said:
        output.say(said)
    if answer.out:
        output.put(answer.out)
    if answer.exit_code:
        raise typer.Exit(answer.exit_code)


def _read(words: list[str]) -> tuple[str, str, list[str]]:
    """Return the name, the agent, and what is neither."""
    agent = ""
    if "--agent" in words[:-1]:
        at = words.index("--agent")
        agent = words[at + 1]
        words = words[:at] + words[at + 2 :]
    name, rest = (words[0], words[1:]) if words else ("", [])
    return name, agent, rest


def _read_stdin() -> bytes:
    # What is longer is cut, is then no JSON, and the hook says so: it breaks no session.
    return b"" if sys.stdin.isatty() else sys.stdin.buffer.read(given.MAX_BYTES)
