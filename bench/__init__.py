"""Benchmarks: the engine beside the least that Python can do, and beside its peers.

    python -m bench [--quick] [--only NAME …] [--json FILE] [--svg FOLDER]

workload   the events, the same for every system, from a seed; and the reference fold
systems/   one file for each system: the floor, the journal, its peers
measures   what is measured, for whom, and which ratio is wanted
worker     one measurement in one fresh process
table      the report: table, JSON, pictures

I1  Every measurement runs in a process of its own, the systems of a measure in turn, round by
    round; only ratios within a round are judged, milliseconds are reported.
I2  A measurement waits (for a bounded time, then it is marked busy) for an idle core.
I3  Every state that is replayed is compared with the reference digest; a wrong one is an error.
"""
