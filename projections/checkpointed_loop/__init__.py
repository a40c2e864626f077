"""The checkpointed loop system: one task with a finite budget of attempts, kept in one file.

    projection.py   PROJECTION: the events and what they do to the checkpoint
    events.py       the events' data
    schema.py       the fields of the checkpoint: their order, and `check`
    commands.py     the verbs: validated before they are recorded
    reading.py      a checkpoint that others wrote, read strictly
    loop.py         CheckpointedLoop: one checkpoint, as a Python program uses it

README.md tells its users what it keeps and what happens after a crash.
"""
