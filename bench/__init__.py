"""Benchmarks: the engine beside the least that Python can do, and beside its peers.

    python -m bench [--quick | --full | --long] [--only NAME …] [--json FILE] [--svg FOLDER]
                    [--markdown FILE]

workload   the events, the same for every system, from a seed; and the reference fold
systems/   one file for each system: the floor, the journal, its peers
measures   what is measured, for whom, of what size
wants      which ratio is wanted of it, and which it is held to
running    every measurement in a fresh process, in turn
worker     one measurement
table      what was found and how it is judged: text, JSON; markdown, pictures

I1  Every measurement runs in a process of its own, the systems of a measure in turn, round by
    round; only ratios within a round are judged, milliseconds are reported.
I2  A measurement waits (for a bounded time, then it is marked busy) for an idle core.
I3  Every state that is replayed is compared with the reference digest; a wrong one is an error.
"""
