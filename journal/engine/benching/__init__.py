"""How fast is this journal, here: measured on it, never in it.

report    what is told
timing    reads, the folding of the log taken apart, appends to a private fork
policies  what another snapshot policy would cost
making    a journal that is made up, for who has none yet
run       all of it
page      the account as one HTML file

I1  The journal itself is opened for reading only. What writes works on a fork in a private folder
    beside it (so that it is the same disk), which is removed at the end.
I2  Places and events are chosen from a fixed seed, so two runs measure the same work.
"""
