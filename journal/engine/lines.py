"""Views of lines that somebody else appended to: good lines become events, damage is noted.

    a line of the fold, of a seq after the voucher's     ours, wherever it stands
    another good line, once its LF is there              adopted: an event that makes the same bytes
    the same without its LF                              left, it may still be written
    anything else                                        bad: taken out and kept (by `Viewer`)

I1  A line is adopted once: from then on the fold has it.
I2  Nothing here stops an append or an opening: what cannot be read or adopted is said.
I3  The caller holds the append lock; the view lock is taken for a look that the stat does not
    settle, so that no write of ours is seen half done.
"""

from typing import Any

from journal.engine.appending import Appender
from journal.engine.core import Core
from journal.engine.viewing import Viewer
from journal.errors import JournalError
from journal.event import Draft
from journal.witness import ViewRecord
from projections import view as views
from projections.view_kinds import LinesView

_MOST_EVENTS = 2000
_MOST_BYTES = 4 << 20


class LineKeeper:
    """Takes in the foreign lines of one open journal."""

    def __init__(self, core: Core, appender: Appender, viewer: Viewer) -> None:
        """Take part in `core`."""
        self._core = core
        self._appender = appender
        self._viewer = viewer

    def take_in(self, view: LinesView) -> None:
        """Append an event for each whole line of somebody else's (I1), and note damage."""
        core = self._core
        try:
            place = views.place_of(core.path, view, core.config.views)
            record = core.read_witness().views.get(view.name)
            if not self._is_as_vouched(place, record):
                with core.viewing():
                    record = core.read_witness().views.get(view.name)
                    found = views.look_at_lines(place, record, by_stat=core.by_stat)
                self._settle(view, record, found)
        except (OSError, JournalError) as error:
            if core.log.is_dead:
                raise
            core.say(f"{view.file}: what somebody else wrote is not adopted: {error}")

    def _is_as_vouched(self, place: views.Place, record: ViewRecord | None) -> bool:
        found = views.look_at_lines(place, record, by_stat=self._core.by_stat)
        return found.voucher is not None and not found.extra

    def _settle(
        self,
        view: LinesView,
        record: ViewRecord | None,
        found: views.Found,
    ) -> None:
        if found.status == "missing":
            if record is not None:
                self._note(view, found.why)
            return
        voucher = found.voucher
        tail = self._core.history.tail.seq
        due = self._viewer.fold_lines(view, 0 if voucher is None else voucher.seq, tail)
        stretch = found.data if voucher is None else found.extra
        # After a power cut nobody is left to finish a line.
        ended = voucher is None or not self._core.by_stat
        sifted = views.sift(view, stretch, due, ended=ended)
        # Not said: such a view is made for others to append to.
        self._adopt([adopted for _, adopted in sifted.foreign])
        if sifted.bad:
            count = len(sifted.bad)
            self._note(view, f"{count} damaged {'line' if count == 1 else 'lines'}")
        elif voucher is None and record is not None and sifted.missing:
            self._note(view, found.why)

    def _adopt(self, events: list[tuple[str, Any]]) -> None:
        """Append in parts, each of which is kept whatever comes after."""
        part: list[Draft] = []
        size_bytes = 0
        for event_type, data in events:
            part.append(Draft(type=event_type, data=data))
            size_bytes += len(str(data))
            if len(part) == _MOST_EVENTS or size_bytes > _MOST_BYTES:
                self._appender.add(part)
                part, size_bytes = [], 0
        if part:
            self._appender.add(part)

    def _note(self, view: LinesView, why: str) -> None:
        noted = None if view.note_repair is None else view.note_repair(why)
        if noted is not None:
            self._appender.add([Draft(type=noted[0], data=noted[1])])
