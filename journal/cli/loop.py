"""`journal loop …`: checkpoints of tasks with a finite budget of attempts.

I1  Flags, outputs and errors are those that the scripts of its users know: a success prints the
    whole checkpoint as JSON; an error is one line on stderr, with nothing on stdout, and not 0.
I2  The last of a repeated flag wins.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from journal.cli import output, parsing
from journal.errors import JournalError, UsageError

if TYPE_CHECKING:
    from projections.checkpointed_loop.loop import CheckpointedLoop

_File = Annotated[
    str, typer.Option("--file", metavar="F", help="The checkpoint.", show_default=False)
]
_NextAction = Annotated[
    str | None, typer.Option(metavar="A", help="What comes next.", show_default=False)
]
_Actor = Annotated[
    str, typer.Option("--actor", metavar="NAME", help="Who does it.", show_default=False)
]


class _Loop(parsing.Group):
    """The group: whatever goes wrong, in a verb or in its flags, is one line (I1)."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what stands before the verb; nothing at all is answered with the help."""
        if not args:
            return super().parse_args(ctx, args)
        with _failing_in_one_line():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; raises `typer.Exit` with the code where it fails."""
        with _failing_in_one_line():
            return super().invoke(ctx)


@contextmanager
def _failing_in_one_line() -> Generator[None]:
    try:
        yield
    except (typer.Exit, BrokenPipeError):
        raise
    except (JournalError, OSError) as error:
        _fail(error)
    except Exception as error:
        # typer's own refusal of a flag, told by what it has: it is not public under a name.
        if not hasattr(error, "format_message"):
            raise
        _fail(error)


def _fail(error: Any) -> NoReturn:
    code: int
    words: str
    if isinstance(error, JournalError):
        code, words = error.exit_code, str(error)
    elif isinstance(error, OSError):
        code, words = JournalError.exit_code, f"{error.filename}: {error.strerror}"
    else:
        code, words = UsageError.exit_code, str(error.format_message())
    output.say_error("; ".join(line.strip().rstrip(".") for line in words.splitlines()))
    raise typer.Exit(code) from error


def add_to(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(
        cls=_Loop,
        help="Keep checkpoints of tasks with a finite budget of attempts.",
        no_args_is_help=True,
        rich_markup_mode=None,
        epilog="\b\nExample:\n  journal loop status --file .agent/task.json --format summary",
    )
    parsing.add(
        group,
        "init",
        init,
        "journal loop init --file .agent/task.json --task migration --objective 'Move the users' "
        "--max-attempts 3 --next-action 'Inspect the fixture'",
    )
    parsing.add(
        group,
        "transition",
        transition,
        "journal loop transition --file .agent/task.json --to running",
        "journal loop transition --file .agent/task.json --to blocked --reason 'needs an owner'",
    )
    parsing.add(
        group,
        "evidence",
        evidence,
        "journal loop evidence --file .agent/task.json --check 'npm test' --outcome passed "
        "--artifact artifacts/test.txt",
    )
    parsing.add(
        group,
        "status",
        status,
        "journal loop status --file .agent/task.json",
        "journal loop status --file .agent/task.json --format summary",
    )
    for name, run in (("takeover", takeover), ("rebuild", rebuild), ("adopt", adopt)):
        parsing.add(group, name, run, f"journal loop {name} --file .agent/task.json")
    app.add_typer(group, name="loop")


# --- verbs ---------------------------------------------------------------------------------------


def init(
    *,
    file: _File,
    task: Annotated[str, typer.Option(metavar="T", help="The task's id.", show_default=False)],
    objective: Annotated[
        str, typer.Option(metavar="O", help="What is to be reached.", show_default=False)
    ],
    max_attempts: Annotated[
        str, typer.Option(metavar="N", help="The budget, from 1 on.", show_default=False)
    ],
    next_action: Annotated[
        str, typer.Option(metavar="A", help="What comes next.", show_default=False)
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Begin anew; the history stays in the log.")
    ] = False,
    actor: _Actor = "",
) -> None:
    """Begin a checkpoint, and make the folders above it."""
    _put(
        _at(file, actor).init(
            task=task,
            objective=objective,
            max_attempts=_read_attempts(max_attempts),
            next_action=next_action,
            force=force,
        )
    )


def _read_attempts(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 20:
        raise UsageError(
            f"max attempts is {text[:40]!r}",
            key="max-attempts",
            advice="It is a positive integer, in decimal digits only.",
        )
    return int(text)


def transition(
    *,
    file: _File,
    to: Annotated[str, typer.Option(metavar="S", help="The state to go to.", show_default=False)],
    next_action: _NextAction = None,
    reason: Annotated[
        str | None,
        typer.Option(metavar="R", help="Why; failed and blocked need it.", show_default=False),
    ] = None,
    actor: _Actor = "",
) -> None:
    """Go to another state; entering running uses an attempt."""
    _put(_at(file, actor).transition(to, next_action=next_action, reason=reason))


def evidence(
    *,
    file: _File,
    check: Annotated[
        str, typer.Option(metavar="C", help="The check that was run.", show_default=False)
    ],
    outcome: Annotated[
        str, typer.Option(metavar="passed|failed", help="How it ended.", show_default=False)
    ],
    artifact: Annotated[
        str | None, typer.Option(metavar="P", help="What it left.", show_default=False)
    ] = None,
    actor: _Actor = "",
) -> None:
    """Record how a check ended, while verifying.

    The check is not run here.
    """
    _put(_at(file, actor).evidence(check, outcome, artifact=artifact))


def status(
    *,
    file: _File,
    form: Annotated[
        str, typer.Option("--format", metavar="json|summary", help="How it is printed.")
    ] = "json",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Print the checkpoint."""
    from projections.checkpointed_loop.loop import summarize

    if form not in ("json", "summary"):
        raise UsageError(f"the format is {form!r}", key="format", advice="It is json or summary.")
    state = _at(file).status()
    if form == "summary" and not as_json:
        output.put(output.plain(summarize(state)))
    else:
        _put(state)


def takeover(*, file: _File) -> None:
    """Take a checkpoint of another tool over, as it is."""
    _put(_at(file).take_over())


def rebuild(*, file: _File) -> None:
    """Put the file back as the log has it.

    The bytes that stood there are kept in quarantine/ of the checkpoint's journal.
    """
    _put(_at(file).rebuild())


def adopt(*, file: _File) -> None:
    """Record what somebody changed in the file as an event."""
    _put(_at(file).adopt())


# --- how -----------------------------------------------------------------------------------------


def _at(file: str, actor: str = "") -> "CheckpointedLoop":
    from projections.checkpointed_loop.loop import CheckpointedLoop

    return CheckpointedLoop(file, on_message=output.say, actor=actor)


def _put(state: Any) -> None:
    from projections.checkpointed_loop import schema

    output.put_bytes(schema.render(state))
