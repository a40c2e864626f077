"""The code that operates a journal: `Engine`, and the two ways to get one.

core         what one open journal holds: log, state, witness, locks
hold         a lock that Ctrl-C does not leave behind
states       the state at any seq, from the nearest snapshot
encoding     what a caller gives, checked, encoded and read back
appending    the walk from a caller's events to acknowledged lines
publishing   after the commit point: witness, views, snapshots
drift        views that somebody else changed: told, adopted or put back
lines        the same for views of lines
opening      init and open
verifying    verify
rebuilding   rebuild
repairing    repair
examining    doctor; contents: what lies in a folder, loose: state that no journal keeps
engine       the public face
"""

from typing import TYPE_CHECKING

from journal.engine.engine import Engine
from journal.engine.opening import TakeOver, init_journal, open_journal

if TYPE_CHECKING:  # Loaded when somebody asks the doctor.
    from journal.engine.examining import Examination as Examination

__all__ = ["Engine", "TakeOver", "init_journal", "open_journal"]
