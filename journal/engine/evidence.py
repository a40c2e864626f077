"""What a verify compares with the log: witness, snapshots and views, as they stood at the start.

I1  It is gathered before the end of the log is looked for. Others may append meanwhile, and what
    they write of it comes later than what is gathered here: none of it is ahead of the log.
I2  A view is taken with a witness that vouches for it, or that did not change meanwhile: between
    two looks at it any number of writers may have replaced both.
I3  It takes no lock and changes nothing.
"""

import contextlib
import os

import msgspec

from journal import codec
from journal.engine.core import Core
from journal.errors import Corrupt, JournalError
from journal.log.history import History
from journal.log.reader import Reader
from journal.witness import ViewRecord, Voucher, Witness
from projections import view as views
from projections.view_kinds import LinesView, View
from snapshots.store import Entry

_TRIES = 50


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A view as it stood: its bytes and what the witness said of them, or why it cannot be read."""

    view: View
    data: bytes = b""
    record: ViewRecord | None = None
    voucher: Voucher | None = None
    problem: str = ""
    file: str


class Evidence(msgspec.Struct, frozen=True):
    """All of it; `history` is the log up to an end that was found afterwards (I1)."""

    witness: Witness
    snapshots: list[Entry]
    views: list[Seen]
    history: History


def gather(core: Core) -> Evidence:
    """Gather it; raises `OSError` where witness or folders cannot be read."""
    witness, snapshots = core.read_witness(), core.store.list()
    views = [_see(core, view) for view in core.projection.views]
    return Evidence(witness, snapshots, views, _newest_history(core))


def _see(core: Core, view: View) -> Seen:
    # What a system calls it, which is not what the projection does.
    file = os.path.basename(core.config.views.files.get(view.name, view.file))
    try:
        place = views.place_of(core.path, view, core.config.views)
        for _ in range(_TRIES):
            witness = core.read_witness()
            record = witness.views.get(view.name)
            data, _ = views.read(place)
            voucher = _vouching(view, data, record)
            seen = Seen(view=view, file=file, data=data, record=record, voucher=voucher)
            if seen.voucher is not None or core.read_witness() == witness:
                return seen
        why = f"{file} is replaced too often to be looked at"
    except FileNotFoundError:
        why = f"{file} is missing; `journal rebuild` writes it again"
    except IsADirectoryError:
        why = f"{file} is a folder; move it away"
    except (OSError, JournalError) as error:
        why = (
            error.message
            if isinstance(error, JournalError)
            else f"{file} {error.strerror or error}"
        )
    return Seen(view=view, file=file, problem=why)


def _vouching(view: View, data: bytes, record: ViewRecord | None) -> Voucher | None:
    """Return the voucher of exactly these bytes; one of lines vouches for how they begin."""
    if record is None:
        return None
    if isinstance(view, LinesView):
        return record.after
    return next((one for one in record.vouchers if one.sha256 == codec.sha256(data)), None)


def _newest_history(core: Core) -> History:
    """Follow the log from where the engine stands; where it is damaged, take what that knows."""
    ours = core.history
    with (
        contextlib.suppress(Corrupt),
        contextlib.closing(Reader(ours.folder, believed_id=core.config.id)) as reader,
    ):
        reader.seek(ours.tail.seq)
        for _ in reader.advance():
            pass
        if reader.tail.seq >= ours.tail.seq:
            return reader.history
    return ours
