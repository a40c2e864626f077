"""Verify: the log, its chain, every event, the snapshots against a replay, views and witness.

verifier     one run over a journal: what is looked at, in which order
decoding     the blocks of a segment, decoded once for all checks
chain        digests: each segment names the one before; anchors noted elsewhere
anchors      whose digest an anchor has that fails
matching     snapshots and views against the states of the replay
findings     what was found so far
"""
