"""`journal doctor`: a folder looked at from outside, whatever it is.

run          one look: which of the answers it is, and what stands in it
remedies     the ways out, in order, each with what it would do, lose and cost
contents     what lies in a journal's folder, name by name
loose        journals below a folder, and state that no journal keeps yet
report       what is answered
"""
