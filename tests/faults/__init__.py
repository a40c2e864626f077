"""Faults and laws: what a journal may be put through, and what must hold afterwards.

    python -m tests.faults                  the quick tier of every row, in a few minutes
    python -m tests.faults --full           the full tier
    python -m tests.faults --rows 1,2,15    some rows only; a table of what was tried at the end

row      one row of the table: a number, a title, how it is run, what came of it
disk     a recording of disk operations, and every disk state that a crash could leave of it

Each row is a module `row_*.py` that names itself in a constant `ROW`.
"""
