"""The append-only part of a journal: its segments, its tail, and the one way to add to it.

history       reads a known stretch of the log by seq and by time
reader        follows the tail without a lock
writer        brings the end in order after a crash, appends, rotates
group_commit  lets callers that wait share one sync
"""
