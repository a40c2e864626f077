"""Projections by name: the built-in ones, and those of the user's own as `package.module:NAME`."""

import importlib
import traceback

from journal.errors import UsageError
from projections.projection import Projection

BUILT_IN = {
    "document": "projections.document.projection:PROJECTION",
    "agloop": "projections.agloop.projection:PROJECTION",
    "loop_plan": "projections.loop_plan.projection:PROJECTION",
    "pipeline_state": "projections.pipeline_state.projection:PROJECTION",
    "task_state": "projections.task_state.projection:PROJECTION",
    "task_storage": "projections.task_state.storage_events:PROJECTION",
    "checkpointed_loop": "projections.checkpointed_loop.projection:PROJECTION",
}
"""Name -> where the projection is defined; imported when it is wanted."""


def find(name: str) -> Projection:
    """Return the projection of this name.

    Raises `UsageError` for a name that is not known, a module that cannot be imported, or a thing
    in it that is not a `Projection`.
    """
    where = BUILT_IN.get(name, name)
    module_name, colon, attribute = where.partition(":")
    if not colon or not module_name or not attribute:
        raise UsageError(
            f"there is no projection {name!r}",
            key="projection",
            advice=f"Built in: {', '.join(BUILT_IN)}. One of your own is named module:NAME.",
        )
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # a script without a guard may end the process
        raise _not_imported(name, module_name, error) from error
    found = getattr(module, attribute, None)
    if not isinstance(found, Projection):
        raise UsageError(
            f"projection {name!r}: {module_name} has no Projection named {attribute!r}",
            key="projection",
        )
    return found


def _not_imported(name: str, module: str, error: BaseException) -> UsageError:
    """Say why a module does not come, in which line of it, and what would help."""
    package = module.partition(".")[0]
    if name in BUILT_IN:
        advice = "It is built in: install journal-engine again, this copy is not whole."
    elif isinstance(error, ModuleNotFoundError) and error.name in (module, package):
        advice = "Run in the folder of the module, or put that folder on PYTHONPATH."
    else:
        advice = "Mend the module; nothing was changed."
    return UsageError(
        f"projection {name!r}: module {module!r} cannot be imported: {_say(error)}",
        key="projection",
        advice=advice,
    )


def _say(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError):
        return str(error)
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {error.msg}"
    last = [f for f in traceback.extract_tb(error.__traceback__) if f.filename[:1] != "<"][-1]
    return f"{last.filename}, line {last.lineno}: {type(error).__name__}: {error}"
