"""When the engine takes a snapshot by itself.

I1  One is due when the log has grown, since the newest snapshot, by `log_ratio` times that one's
    size and by `min_bytes`. It depends on these sizes alone: no clock, no counter to lose.

Why this rule. Let the snapshots have the sizes S1, S2, … Sn and let the ratio be r.

Space: between snapshot k and k + 1 the log grew by at least r · Sk. Summed up, all snapshots but
the newest take at most 1/r of the log, however the state grows or shrinks: with r = 4 a quarter.
Cost of writing: so each byte of the log pays for 1/r bytes of snapshots, however long the log is.
Replay: after the newest snapshot stand at most max(r · Sn, min_bytes) bytes of log and the append
that crossed that line. Reading a state of S bytes costs in proportion to S anyway, so folding r · S
more is a constant factor, and it is no more for a time travel (until the older ones are thinned).
`min_bytes` keeps small states from a snapshot every few events: folding 64 KiB costs less than a
sync.

It reads no files and does not say which snapshots stay; see `snapshots.retention`.
"""

from journal.config import SnapshotsConfig


def is_due(log_bytes_since_newest: int, newest_bytes: int, config: SnapshotsConfig) -> bool:
    """Say whether the log has grown enough for another snapshot.

    `log_bytes_since_newest` are the bytes of log after the seq of the newest usable snapshot, of
    whatever type, and `newest_bytes` is the size of its file; without one, all of the log and 0.
    """
    grown = log_bytes_since_newest
    return grown > 0 and grown >= config.min_bytes and grown >= config.log_ratio * newest_bytes
