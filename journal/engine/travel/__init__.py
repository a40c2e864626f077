"""Travelling through a history: what happened, when, by whom, and what if.

places     names for seqs: head~3, a time, a checkpoint
walking    folding event by event, backwards by stretches between snapshots
comparing  the difference of two states, and of two projections over a whole history
blaming    which events changed a value
bisecting  the first event after which something is true
forking    a new journal from an old one, as it was or as it might have been

None of it writes to the journal it looks at.
"""
