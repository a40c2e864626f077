"""The state of a plan that is made in a loop: `<slug>.state.json` beside the plan's text.

    slug.py          the name of a plan, and which one a command means
    schema.py        every field of the state, in the text's order, and what it may hold
    rules.py         the kinds of rule that `schema` is written in
    states.py        a new plan's state; which lists only grow
    events.py        what can happen to a plan
    applying.py      what each event does to the state
    outcome.py       the same, from the drift check to the end
    projection.py    PROJECTION
    guards.py        what several commands ask for before they do anything
    placeholders.py  sentences that promise nothing that can be checked
    phases.py        commands: the phases, the gate at 5, the inventory at 3b
    goal.py          commands: rigor, and the goal with its criteria
    given.py         what a caller gives as JSON, read as an event's data
    history.py       commands: what is added to lists, and what is set whole
    execution.py     commands: tasks, stages, verification, ship and abort
    resuming.py      commands: resume, restart, start afresh; the announcement
    old_file.py      a state file of before, read and normalized
    places.py        where a plan's files lie
    rehearsal.py     what events would make of a state
    verbs.py         what can be done to a plan, each one command
    plan.py          LoopPlan: one plan, as Python programs and the command line use it
    audit.py         every plan of a folder at a glance, and which were abandoned
    summary.py       a plan in short, and what may come next

`projection.py` imports only what gives the events their meaning, so that its revision changes
with that alone.
"""
