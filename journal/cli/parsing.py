"""Commands whose parameters are texts and flags, as they were typed.

I1  A text reaches its command as it is, and the command reads it, with the engine's words where
    it is no seq, no time, no number. typer's own conversion, even of what was not given, loads a
    library for validation that costs more than everything else a command does at its start.
I2  Flags that are given, missing arguments and `--help` are typer's.
"""

from collections.abc import Callable
from typing import Any, cast

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption


class Command(TyperCommand):
    """A command whose parameters are `str`, `str | None`, `list[str] | None` and `bool` only."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its parameters, `--help` among them, each reading texts as they are."""
        return [_with_texts(param) for param in super().get_params(ctx)]


class Group(TyperGroup):
    """A group of such commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its parameters, `--help` among them, each reading texts as they are."""
        return [_with_texts(param) for param in super().get_params(ctx)]


def _with_texts(param: Any) -> Any:
    # typer makes them, of its own classes; ours differ by one method and hold nothing.
    if type(param) is TyperOption:
        param.__class__ = _Option
    elif type(param) is TyperArgument:
        param.__class__ = _Argument
    return param


class _Option(TyperOption):
    def process_value(self, ctx: Any, value: Any) -> Any:
        """Leave a text, and what was not given, alone (I1)."""
        if not _needs_nothing(self, value):
            return super().process_value(ctx, value)
        if value is None and self.multiple:
            return ()
        return value if self.callback is None else self.callback(ctx, self, value)


class _Argument(TyperArgument):
    def process_value(self, ctx: Any, value: Any) -> Any:
        """Leave a text, and what was not given, alone (I1)."""
        return value if _needs_nothing(self, value) else super().process_value(ctx, value)


def _needs_nothing(param: TyperOption | TyperArgument, value: object) -> bool:
    if value is None:
        return not param.required
    texts = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    return all(isinstance(text, str) for text in texts)


def add(app: typer.Typer, name: str, run: Callable[..., None], *examples: str) -> None:
    """Add a command; its help is the docstring of `run`, and the examples at the end."""
    heading = "Example:" if len(examples) == 1 else "Examples:"
    epilog = "\b\n" + "\n".join([heading, *(f"  {line}" for line in examples)])
    app.command(name, cls=Command, epilog=epilog)(run)
