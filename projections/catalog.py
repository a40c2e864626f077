"""Projections by name: the built-in ones, and those of the user's own as `package.module:NAME`."""

import importlib

from journal.errors import UsageError
from projections.projection import Projection

BUILT_IN = {
    "document": "projections.document.projection:PROJECTION",
    "agloop": "projections.agloop.projection:PROJECTION",
    "loop_plan": "projections.loop_plan.projection:PROJECTION",
    "pipeline_state": "projections.pipeline_state.projection:PROJECTION",
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
    except ImportError as error:
        raise UsageError(
            f"projection {name!r}: module {module_name!r} cannot be imported: {error}",
            key="projection",
            advice="Run in the folder of the module, or put that folder on PYTHONPATH.",
        ) from error
    found = getattr(module, attribute, None)
    if not isinstance(found, Projection):
        raise UsageError(
            f"projection {name!r}: {module_name} has no Projection named {attribute!r}",
            key="projection",
        )
    return found
