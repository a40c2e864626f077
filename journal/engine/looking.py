"""The views as they stand, for a report: what each is, why, and what helps.

    healthy      the log's newest state, or its lines
    behind       an older one; the next append brings it up to date
    reformatted  the newest state in other bytes; the next append writes it anew
    missing, broken, changed, unreadable         see `journal.engine.drift`

I1  It looks only: nothing is locked, written or said.
"""

import contextlib
import os
from typing import Any

from journal.engine.core import Core
from journal.engine.drift import DriftKeeper, is_adoptable
from journal.engine.reports import ViewStatus
from journal.engine.viewing import Viewer
from journal.errors import Corrupt, Drift, JournalError, ProjectionError, UsageError
from projections import view as views
from projections.patch import equal
from projections.view_kinds import DocumentView, LinesView, View

_REBUILD = "`journal rebuild` puts it back as the log has it"
_ADOPT = f"`journal adopt` records the difference as an event; {_REBUILD}"
_MEND = f"as it is it cannot be adopted: mend it by hand, or {_REBUILD}"
_FOLDER = "Move it away: the view is written in its place at the next opening."
_OF_NOBODY = f"whose it is nobody can tell without the witness: {_REBUILD}"
_REFORMATTED = "the next append writes it anew, and these bytes are kept in quarantine/"


def look_at_views(core: Core, viewer: Viewer, drift: DriftKeeper) -> list[ViewStatus]:
    """Return what each view of the projection is."""
    state, known = None, False
    with contextlib.suppress(Corrupt, UsageError), core.using():  # said elsewhere
        state, known = core.fresh().state, True
    found: list[ViewStatus] = []
    for view in core.projection.views:
        path = os.path.normpath(core.path / core.config.views.files.get(view.name, view.file))
        try:
            found.append(_look(core, viewer, drift, view, state, known=known))
        except IsADirectoryError:
            found.append(_unreadable(view, path, "it is a folder", _FOLDER))
        except Drift as error:
            found.append(_unreadable(view, path, error.why, error.advice))
        except JournalError as error:
            found.append(_unreadable(view, path, error.message, error.advice))
        except OSError as error:
            found.append(_unreadable(view, path, error.strerror or str(error)))
    return found


def _unreadable(view: View, path: str, why: str, advice: str = "") -> ViewStatus:
    return ViewStatus(name=view.name, path=path, status="unreadable", why=why, advice=advice)


def _look(
    core: Core, viewer: Viewer, drift: DriftKeeper, view: View, state: Any, *, known: bool
) -> ViewStatus:
    witness = core.read_witness()
    place = views.place_of(core.path, view, core.config.views)
    look = views.look_at_lines if isinstance(view, LinesView) else views.look
    by_stat = witness.is_of_this_boot and core.by_stat
    seen = look(place, witness.views.get(view.name), by_stat=by_stat)
    seq = None if seen.voucher is None else seen.voucher.seq
    status, why, advice = (
        {"ours": "healthy", "foreign": "changed"}.get(seen.status, seen.status),
        "",
        "",
    )
    if seq is not None and seq < core.history.tail.seq:
        status = "behind"
    elif status in ("missing", "broken"):
        why, advice = seen.why, _REBUILD
    elif status == "changed":
        known_before = witness.views.get(view.name) is not None
        why, advice = seen.why, _ADOPT if known_before else _OF_NOBODY
        if isinstance(view, DocumentView) and known:
            with contextlib.suppress(ProjectionError):
                status, why, advice = _compare(core, viewer, drift, (place, seen), state)
    return ViewStatus(
        name=view.name, path=str(place.path), status=status, seq=seq, why=why, advice=advice
    )


def _compare(
    core: Core,
    viewer: Viewer,
    drift: DriftKeeper,
    looked: tuple[views.Place, views.Found],
    state: Any,
) -> tuple[str, str, str]:
    """Tell bytes that nobody vouches for from the log's; raises `Drift` where they do not read."""
    place, seen = looked
    if viewer.render(state).get(place.name) == seen.data:
        return "healthy", "", ""
    value = drift.read(place, seen)
    if equal(value, state):
        return "reformatted", "it has the log's data in other bytes", _REFORMATTED
    if core.read_witness().views.get(place.name) is None:
        return "changed", seen.why, _OF_NOBODY
    return "changed", seen.why, _ADOPT if is_adoptable(core, state, value) else _MEND
