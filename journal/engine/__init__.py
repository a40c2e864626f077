"""The code that operates a journal: `Engine`, and the two ways to get one.

core         what one open journal holds: log, state, witness, locks
states       the state at any seq, from the nearest snapshot
appending    the walk from a caller's events to acknowledged lines
publishing   after the commit point: witness, views, snapshots
drift        views that somebody else changed: told, adopted or put back
lines        the same for views of lines
opening      init and open
verifying    verify
rebuilding   rebuild
repairing    repair
engine       the public face
"""

from journal.engine.engine import Engine
from journal.engine.opening import TakeOver, init_journal, open_journal

__all__ = ["Engine", "TakeOver", "init_journal", "open_journal"]
