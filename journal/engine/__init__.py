"""The code that operates a journal: `Engine`, and the two ways to get one.

core         what one open journal holds: log, state, witness, locks
hold         a lock that Ctrl-C does not leave behind
states       the state at any seq, from the nearest snapshot
encoding     what a caller gives, checked, encoded and read back
appending    the walk from a caller's events to acknowledged lines
growth       how large the state may have become between two measures
publishing   after the commit point: witness, views, snapshots
drift        views that somebody else changed: told, adopted or put back
lines        the same for views of lines
beginning    init
opening      open
verifying    verify
rebuilding   rebuild
repairing    repair
doctor       doctor
engine       the public face
"""

from typing import TYPE_CHECKING

from journal.engine.beginning import TakeOver, init_journal
from journal.engine.engine import Engine
from journal.engine.opening import open_journal

if TYPE_CHECKING:  # Loaded when somebody asks the doctor.
    from journal.engine.doctor.report import DoctorReport as DoctorReport

__all__ = ["Engine", "TakeOver", "init_journal", "open_journal"]
