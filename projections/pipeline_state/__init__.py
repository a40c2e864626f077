"""The pipeline state system: one run of a multi-agent pipeline, kept in `pipeline-state.json`.

    projection.py   PROJECTION: the events and what they do to the state
    events.py       the events' data
    schema.py       the fields of the state file: their order, and `check`
    reading.py      a file that others wrote: read strictly, old values as new ones
    commands.py     the verbs of a run: validated before they are recorded
    resuming.py     the resume table: live, crashed, completed, escalated, failed
    facts.py        what only the log knows: how old a run is, whether its file was damaged
    inputs.py       what callers bring: profile, manifest, models, preference files
    places.py       names, run ids, layouts, and the scope root found again
    run.py          PipelineRun: one run, as a Python program uses it
    starting.py     a new run, under the lock of its name
    listing.py      the runs under a root, and the status of one

README.md tells its users what it keeps and what happens after a crash.
"""
